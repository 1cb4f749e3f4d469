//! Compute capabilities: values that build scripts read and pass on.

use crate::pattern;
use crate::{Error, Result};

/// Overrides the capability that scripts get.
const VARIABLE: &str = "CUDA_COMPUTE_CAP";
/// The value of `__CUDA_ARCH__` in code for AMD GPUs, divided by ten.
const DEFAULT: usize = 89;

/// An architecture of NVIDIA GPUs: 8.9 is 89, 9.0a is 90 with a suffix.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GpuArch {
    /// Ten times the compute capability.
    pub base: usize,
    /// `a` (one architecture alone) or `f` (its family).
    pub suffix: Option<String>,
}

impl GpuArch {
    /// Without a suffix.
    #[must_use]
    pub fn new(base: usize) -> Self {
        Self { base, suffix: None }
    }

    /// With a suffix.
    #[must_use]
    pub fn with_suffix(base: usize, suffix: &str) -> Self {
        Self { base, suffix: Some(suffix.to_owned()) }
    }

    /// Reads `90`, `9`, `90a`, `sm_100f`. A number alone gets the suffix of
    /// [`auto_suffix`](Self::auto_suffix).
    ///
    /// # Errors
    /// [`Error::ComputeCapDetectionFailed`] for anything else.
    pub fn parse(s: &str) -> Result<Self> {
        let text = s.trim().to_lowercase();
        let text = text.strip_prefix("sm_").unwrap_or(&text);
        let suffix = ["a", "f"].into_iter().find(|suffix| text.ends_with(suffix));
        let number = suffix.and_then(|suffix| text.strip_suffix(suffix)).unwrap_or(text);
        let number: usize = number.parse().map_err(|_| {
            Error::ComputeCapDetectionFailed(format!("`{s}` is not valid; use for example 89 or 90a"))
        })?;
        // 8 is 8.0.
        let base = if number < 20 { number * 10 } else { number };
        Ok(suffix.map_or_else(|| Self::auto_suffix(base), |suffix| Self::with_suffix(base, suffix)))
    }

    /// With the suffix that makes NVIDIA's compiler allow all instructions of an architecture: `a` from 9.0
    /// to 12.0, `f` beyond.
    #[must_use]
    pub fn auto_suffix(base: usize) -> Self {
        match base {
            ..90 => Self::new(base),
            90..=120 => Self::with_suffix(base, "a"),
            _ => Self::with_suffix(base, "f"),
        }
    }

    /// `sm_90a`.
    #[must_use]
    pub fn to_nvcc_arch(&self) -> String {
        format!("sm_{}", self.number())
    }

    /// `-gencode=arch=compute_90a,code=sm_90a`.
    #[must_use]
    pub fn to_gencode_arg(&self) -> String {
        format!("-gencode=arch=compute_{0},code=sm_{0}", self.number())
    }

    /// Ten times the compute capability.
    #[must_use]
    pub fn base(&self) -> usize {
        self.base
    }

    fn number(&self) -> String {
        format!("{}{}", self.base, self.suffix.as_deref().unwrap_or_default())
    }
}

impl From<usize> for GpuArch {
    fn from(base: usize) -> Self {
        Self::auto_suffix(base)
    }
}

/// The compute capability of a build, and those of single files. Nothing here changes how code for AMD GPUs
/// is compiled.
#[derive(Clone, Debug, Default)]
pub struct ComputeCapability {
    default: Option<GpuArch>,
    overrides: Vec<(String, GpuArch)>,
}

impl ComputeCapability {
    /// The capability that [`detect_compute_cap`] finds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The given capability.
    #[must_use]
    pub fn with_default(mut self, cap: usize) -> Self {
        self.default = Some(GpuArch::auto_suffix(cap));
        self
    }

    /// The given capability, [as text](GpuArch::parse). Invalid text changes nothing.
    #[must_use]
    pub fn with_default_arch(mut self, arch: &str) -> Self {
        self.default = GpuArch::parse(arch).ok().or(self.default);
        self
    }

    /// Another capability for files whose names match: `sm90_*.cu`.
    #[must_use]
    pub fn with_override(mut self, pattern: &str, cap: usize) -> Self {
        self.overrides.push((pattern.to_owned(), GpuArch::auto_suffix(cap)));
        self
    }

    /// Another capability for files whose names match, [as text](GpuArch::parse). Invalid text changes
    /// nothing.
    #[must_use]
    pub fn with_override_arch(mut self, pattern: &str, arch: &str) -> Self {
        self.overrides.extend(GpuArch::parse(arch).ok().map(|arch| (pattern.to_owned(), arch)));
        self
    }

    /// The capability of a file: the last override that matches, otherwise the default, otherwise the
    /// detected one.
    ///
    /// # Errors
    /// Those of [`detect_compute_cap`].
    pub fn get_for_file(&self, filename: &str) -> Result<GpuArch> {
        let fits = |(text, _): &&(String, GpuArch)| pattern::fits(text, filename);
        let found = self.overrides.iter().rev().find(fits).map(|(_, arch)| arch);
        found.map_or_else(|| self.get_default(), |arch| Ok(arch.clone()))
    }

    /// The default, otherwise the detected one.
    ///
    /// # Errors
    /// Those of [`detect_compute_cap`].
    pub fn get_default(&self) -> Result<GpuArch> {
        self.default.clone().map_or_else(detect_compute_cap, Ok)
    }

    /// Whether there are overrides for single files.
    #[must_use]
    pub fn has_overrides(&self) -> bool {
        !self.overrides.is_empty()
    }
}

/// The compute capability that scripts should assume: the one in `CUDA_COMPUTE_CAP`, otherwise 8.9, which
/// code for AMD GPUs sees in `__CUDA_ARCH__`, or the lowest of `FERROCM_CUDA_ARCHS` if that is lower.
///
/// # Errors
/// [`Error::ComputeCapDetectionFailed`] if a variable is invalid.
pub fn detect_compute_cap() -> Result<GpuArch> {
    match std::env::var(VARIABLE) {
        Ok(text) => GpuArch::parse(&text),
        Err(_) => {
            let archs = variables::CUDA_ARCHS.text();
            lowest(
                &archs
                    .map_err(|error| Error::ComputeCapDetectionFailed(error.to_string()))?
                    .unwrap_or_default(),
            )
        }
    }
}

/// The lowest compute capability of these architectures, separated by commas, and of AMD's code.
fn lowest(archs: &str) -> Result<GpuArch> {
    let mut lowest = GpuArch::new(DEFAULT);
    for name in archs.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let text = name.strip_prefix("compute_").unwrap_or(name).replace('.', "");
        let arch = GpuArch::parse(&text)?;
        if arch.base < lowest.base {
            lowest = arch;
        }
    }
    Ok(lowest)
}

/// nvcc's name for a compute capability: `sm_80` for 80, `sm_90a` for 90.
#[must_use]
pub fn get_gpu_arch_string(compute_cap: usize) -> String {
    GpuArch::auto_suffix(compute_cap).to_nvcc_arch()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_read_and_written() {
        for (text, name) in [
            ("80", "sm_80"),
            ("8", "sm_80"),
            (" sm_90 ", "sm_90a"),
            ("90A", "sm_90a"),
            ("100f", "sm_100f"),
            ("121", "sm_121f"),
        ] {
            assert_eq!(GpuArch::parse(text).unwrap().to_nvcc_arch(), name, "{text}");
        }
        assert_eq!(GpuArch::from(90).to_gencode_arg(), "-gencode=arch=compute_90a,code=sm_90a");
        let error = GpuArch::parse("ampere").unwrap_err().to_string();
        assert!(error.contains("`ampere` is not valid"), "{error}");
    }

    #[test]
    fn files_have_capabilities_of_their_own() {
        let caps = ComputeCapability::new().with_default(80).with_override("sm90_*.cu", 90);
        assert_eq!(caps.get_for_file("sm90_attention.cu").unwrap().base(), 90);
        assert_eq!(caps.get_for_file("attention.cu").unwrap().base(), 80);
        assert!(caps.has_overrides() && !ComputeCapability::new().has_overrides());
        assert_eq!(
            ComputeCapability::new()
                .with_default_arch("70")
                .with_default_arch("x")
                .get_default()
                .unwrap()
                .base,
            70
        );
    }

    #[test]
    fn a_script_assumes_what_all_code_has() {
        for (archs, base) in [("", 89), ("sm_90a,sm_100", 89), ("sm_90, 7.5", 75), ("compute_80,", 80)] {
            assert_eq!(lowest(archs).unwrap().base, base, "{archs}");
        }
        assert!(lowest("ampere").is_err());
    }

    #[test]
    fn the_default_is_what_device_code_sees() {
        let header =
            device_compiler::cuda::HEADERS.iter().find(|(name, _)| *name == "ferrocm_arch.h").unwrap().1;
        assert!(header.contains(&format!("#define __CUDA_ARCH__ {DEFAULT}0\n")), "{header}");
    }
}
