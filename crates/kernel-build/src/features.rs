//! Features of the crate being built that select GPUs.

use crate::Error;

/// The names of the features.
#[derive(Debug)]
pub(crate) struct Features {
    pub(crate) amd: String,
    pub(crate) nvidia: String,
}

impl Features {
    /// Whether each is on, AMD's first, according to Cargo's variables for the build script.
    ///
    /// # Errors
    /// Neither is on, or this is not a build script.
    pub(crate) fn in_env(&self) -> Result<[bool; 2], Error> {
        if std::env::var_os("OUT_DIR").is_none() {
            return Err(Error::NotABuildScript { name: "OUT_DIR" });
        }
        self.chosen(|variable| std::env::var_os(variable).is_some())
    }

    fn chosen(&self, is_set: impl Fn(&str) -> bool) -> Result<[bool; 2], Error> {
        let on = [&self.amd, &self.nvidia].map(|feature| is_set(&variable(feature)));
        if on == [false; 2] {
            return Err(Error::NoFeature { amd: self.amd.clone(), nvidia: self.nvidia.clone() });
        }
        Ok(on)
    }
}

/// Whether a feature of the crate being built is on.
pub(crate) fn is_on(feature: &str) -> bool {
    std::env::var_os(variable(feature)).is_some()
}

/// The variable that Cargo sets if a feature is on.
fn variable(feature: &str) -> String {
    format!("CARGO_FEATURE_{}", feature.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_features_that_are_on_choose() {
        let features = Features { amd: "rocm".into(), nvidia: "nvidia-gpu".into() };
        let chosen = |set: &[&str]| features.chosen(|variable| set.contains(&variable));
        let both = ["CARGO_FEATURE_NVIDIA_GPU", "CARGO_FEATURE_ROCM"];
        assert_eq!(chosen(&both).unwrap(), [true, true]);
        assert_eq!(chosen(&both[..1]).unwrap(), [false, true]);
        assert_eq!(chosen(&both[1..]).unwrap(), [true, false]);
        let error = chosen(&["CARGO_FEATURE_CUDA"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "there is nothing to compile for: the features `rocm` (AMD GPUs) and `nvidia-gpu` (NVIDIA GPUs) are both off; turn on one or \
             both, for example with `--features rocm`"
        );
    }
}
