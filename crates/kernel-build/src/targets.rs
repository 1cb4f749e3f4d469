use std::fmt;

use code_object::TargetId;

use crate::{CudaArch, Error};

/// What a source is compiled for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// AMD GPUs.
    Amd(TargetId),
    /// NVIDIA GPUs.
    Nvidia(CudaArch),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Amd(target) => target.fmt(f),
            Self::Nvidia(arch) => arch.fmt(f),
        }
    }
}

// NEW-TARGET: its name.
/// What is built when nobody says otherwise: all targets that the virtual GPU executes.
pub const DEFAULT_TARGETS: &[&str] =
    &["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201"];

/// Names targets where the caller names none.
pub(crate) const VARIABLE: &str = "FERROCM_TARGETS";

/// Reads a list of target names, dropping repetitions. `origin` is who wrote it.
pub(crate) fn parse<S: AsRef<str>>(
    origin: &'static str,
    names: impl IntoIterator<Item = S>,
) -> Result<Vec<TargetId>, Error> {
    let mut targets = Vec::new();
    for name in names {
        let target: TargetId = name.as_ref().parse().map_err(|error| Error::Target { origin, error })?;
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    if targets.is_empty() {
        return Err(Error::NoTargets { origin });
    }
    Ok(targets)
}

/// The targets that `FERROCM_TARGETS` (separated by commas) or else the default names.
///
/// # Errors
/// [`Error::Target`] with what would be right, and [`Error::NoTargets`] for a list without a name.
pub fn targets_from_env() -> Result<Vec<TargetId>, Error> {
    from_value(std::env::var(VARIABLE).ok().as_deref())
}

fn from_value(value: Option<&str>) -> Result<Vec<TargetId>, Error> {
    match value.map(str::trim).filter(|value| !value.is_empty()) {
        Some(value) => {
            let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
            parse(VARIABLE, names)
        }
        None => parse("the default targets", DEFAULT_TARGETS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(value: Option<&str>) -> Result<Vec<String>, String> {
        from_value(value).map(|t| t.iter().map(ToString::to_string).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn the_variable_is_a_list() {
        assert_eq!(names(None).unwrap(), DEFAULT_TARGETS);
        assert_eq!(names(Some(" ")).unwrap(), DEFAULT_TARGETS);
        assert_eq!(names(Some("gfx1100, gfx90a:xnack-,gfx1100,")).unwrap(), ["gfx1100", "gfx90a:xnack-"]);
    }

    #[test]
    fn a_bad_name_says_what_would_be_right() {
        let error = names(Some("gfx1100,sm_80")).unwrap_err();
        assert!(error.starts_with("FERROCM_TARGETS: bad target id `sm_80`"), "{error}");
        assert!(error.contains("gfx1100, gfx11-generic"), "{error}");
    }

    #[test]
    fn a_list_without_a_name_is_an_error() {
        assert_eq!(names(Some(", ,")).unwrap_err(), "FERROCM_TARGETS: no target is named");
        let none: [&str; 0] = [];
        assert_eq!(
            parse("the caller's targets", none).unwrap_err().to_string(),
            "the caller's targets: no target is named"
        );
    }
}
