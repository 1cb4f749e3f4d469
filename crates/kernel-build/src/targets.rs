//! The targets of a build: the caller's, those of variables, the default ones.

use code_object::{PROCESSORS, TargetId};

use crate::Error;
use crate::select::Pattern;

/// What is built when nobody says otherwise: the rows of [`PROCESSORS`] that say so.
pub const DEFAULT_TARGETS: &[&str] = &{
    let mut names = [""; DEFAULT_COUNT];
    let (mut row, mut next) = (0, 0);
    while row < PROCESSORS.len() {
        if PROCESSORS[row].is_default {
            names[next] = PROCESSORS[row].name;
            next += 1;
        }
        row += 1;
    }
    names
};

const DEFAULT_COUNT: usize = {
    let (mut row, mut count) = (0, 0);
    while row < PROCESSORS.len() {
        count += PROCESSORS[row].is_default as usize;
        row += 1;
    }
    count
};

/// Names targets if the caller names none.
pub(crate) const VARIABLE: &str = variables::TARGETS.name;

/// Names targets of single sources, or that they have none, overriding the caller.
pub(crate) const VARIABLE_FOR: &str = variables::TARGETS_FOR.name;
/// Its word for no targets.
const NONE: &str = "none";

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

/// Like [`parse`], for single sources, which may also have no targets: `none`.
pub(crate) fn parse_or_none<S: AsRef<str>>(
    origin: &'static str,
    names: impl IntoIterator<Item = S>,
) -> Result<Vec<TargetId>, Error> {
    let names: Vec<S> = names.into_iter().collect();
    match names.as_slice() {
        [name] if name.as_ref() == NONE => Ok(Vec::new()),
        _ => parse(origin, names),
    }
}

/// The targets that `FERROCM_TARGETS` (separated by commas) or else the default names.
///
/// # Errors
/// [`Error::Target`] with the expected form, and [`Error::NoTargets`] for an empty list.
pub fn targets_from_env() -> Result<Vec<TargetId>, Error> {
    from_value(variables::TARGETS.text()?.as_deref())
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

/// Patterns of sources with the targets that `FERROCM_TARGETS_FOR` names for them: `mmq_*=none
/// moe_*=gfx1100,gfx90a`.
///
/// # Errors
/// [`Error::TargetsFor`], and those of [`targets_from_env`].
pub(crate) fn targets_for_from_env() -> Result<Vec<(Pattern, Vec<TargetId>)>, Error> {
    for_from_value(variables::TARGETS_FOR.text()?.as_deref().unwrap_or_default())
}

fn for_from_value(value: &str) -> Result<Vec<(Pattern, Vec<TargetId>)>, Error> {
    let read = |entry: &str| {
        let entry_of = || Error::TargetsFor { entry: entry.to_owned() };
        let (pattern, names) = entry.rsplit_once('=').ok_or_else(entry_of)?;
        let targets = parse_or_none(VARIABLE_FOR, names.split(',').filter(|name| !name.is_empty()))?;
        Ok((Pattern::new(pattern)?, targets))
    };
    value.split_whitespace().map(read).collect()
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

    fn names_for(value: &str) -> Result<Vec<String>, String> {
        let told = |(pattern, targets): (Pattern, Vec<TargetId>)| {
            let names: Vec<_> = targets.iter().map(ToString::to_string).collect();
            format!("{} {}", pattern.text(), names.join("+"))
        };
        for_from_value(value)
            .map(|all| all.into_iter().map(told).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn single_sources_have_targets_of_their_own_or_none() {
        assert!(names_for(" ").unwrap().is_empty());
        let value = "mmq_*=none\n moe/**=gfx1100,gfx90a, ";
        assert_eq!(names_for(value).unwrap(), ["mmq_* ", "moe/** gfx1100+gfx90a"]);
        assert!(names_for("a.cu").unwrap_err().starts_with("FERROCM_TARGETS_FOR: `a.cu` is not"));
        assert_eq!(names_for("a.cu=").unwrap_err(), "FERROCM_TARGETS_FOR: no target is named");
        assert!(
            names_for("a.cu=sm_80").unwrap_err().starts_with("FERROCM_TARGETS_FOR: bad target id `sm_80`")
        );
        assert!(names_for("/a.cu=none").is_err());
    }
}
