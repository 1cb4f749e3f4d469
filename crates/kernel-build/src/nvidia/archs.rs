//! Lists of architectures: the caller's, those of variables, the default ones.

use crate::Error;
use crate::cuda_arch::CudaArch;

/// The default architectures of PTX and cubins: the oldest one with everything that the kernels of inference
/// engines use, including bf16. Its PTX runs on everything newer.
pub const DEFAULT_CUDA_ARCHS: &[&str] = &["sm_80"];

/// Variables with lists of architectures. The second is used by other crates that compile CUDA.
pub(super) const VARIABLES: [&str; 2] = [variables::CUDA_ARCHS.name, "CUDA_COMPUTE_CAP"];

/// Reads a list of architectures, dropping repetitions. `origin` is who wrote it.
pub(crate) fn parse<S: AsRef<str>>(
    origin: &'static str,
    names: impl IntoIterator<Item = S>,
) -> Result<Vec<CudaArch>, Error> {
    let mut archs = Vec::new();
    for name in names {
        let arch: CudaArch = name.as_ref().parse().map_err(|error| Error::CudaArch { origin, error })?;
        if !archs.contains(&arch) {
            archs.push(arch);
        }
    }
    Ok(archs)
}

/// The architectures in the variables, else the default ones.
pub(super) fn from_env(default: &[String]) -> Result<Vec<CudaArch>, Error> {
    let named = variables::CUDA_ARCHS.text()?;
    let value = |name: &str| {
        if name == variables::CUDA_ARCHS.name { named.clone() } else { std::env::var(name).ok() }
    };
    from_values(value, default)
}

fn from_values<S: AsRef<str>>(
    value: impl Fn(&str) -> Option<String>,
    default: &[S],
) -> Result<Vec<CudaArch>, Error> {
    for name in VARIABLES {
        let value = value(name).unwrap_or_default();
        let mut names = value.split(',').map(str::trim).filter(|name| !name.is_empty()).peekable();
        if names.peek().is_some() {
            return parse(name, names);
        }
    }
    parse("the default architectures", default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_says_something_counts() {
        let names = |set: &[(&str, &str)]| {
            let value = |name: &str| Some(set.iter().find(|(key, _)| *key == name)?.1.to_owned());
            let archs = from_values(value, DEFAULT_CUDA_ARCHS);
            archs.map(|archs| archs.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), DEFAULT_CUDA_ARCHS);
        assert_eq!(names(&[("CUDA_COMPUTE_CAP", "86")]).unwrap(), ["sm_86"]);
        let both = [("FERROCM_CUDA_ARCHS", "sm_80, sm_90a,80,"), ("CUDA_COMPUTE_CAP", "75")];
        assert_eq!(names(&both).unwrap(), ["sm_80", "sm_90a"]);
        assert_eq!(names(&[("FERROCM_CUDA_ARCHS", " "), both[1]]).unwrap(), ["sm_75"]);
        let error = names(&[("CUDA_COMPUTE_CAP", "ampere")]).unwrap_err().to_string();
        assert!(error.starts_with("CUDA_COMPUTE_CAP: bad architecture `ampere`"), "{error}");
    }
}
