//! Which virtual GPUs the environment asks for, where the virtual GPU replaces AMD's libraries.

use variables::{DEVICE, HSA_DEVICE, Variable};

use crate::DeviceConfig;

/// The devices named by `FERROCM_HSA_DEVICE`, or otherwise by `FERROCM_DEVICE` if that names virtual GPUs. If
/// neither is set, the default device.
///
/// # Errors
/// What is wrong with the variable, as text.
pub fn devices() -> Result<DeviceConfig, String> {
    // If both are set, the first one wins.
    let text = |variable: &Variable| variable.text().map_err(|error| error.to_string());
    let [own, shared] = [text(&HSA_DEVICE)?.unwrap_or_default(), text(&DEVICE)?.unwrap_or_default()];
    let parameters = parameters([(HSA_DEVICE.name, own.as_str()), (DEVICE.name, shared.as_str())])?;
    parameters.parse().map_err(|error: crate::ConfigError| format!("`{parameters}`: {error}"))
}

/// The parameters of the virtual GPUs in the variables, in order of precedence.
fn parameters<'a>([own, shared]: [(&str, &'a str); 2]) -> Result<&'a str, String> {
    let of_virtual = |uri: &'a str| match uri.strip_prefix("vgpu") {
        Some("") => Some(""),
        Some(rest) if rest.starts_with('?') => Some(rest),
        Some(rest) => rest.strip_prefix(':'),
        None => None,
    };
    match (own, of_virtual(shared.1)) {
        ((_, ""), Some(shared)) => Ok(shared),
        // Other values of the shared variable are meant for other code.
        ((_, ""), None) => Ok(""),
        ((name, uri), _) => of_virtual(uri).ok_or_else(|| {
            format!("{name}=`{uri}` does not name a virtual GPU; expected `vgpu` or `vgpu:gfx90a`")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen<'a>(own: &'a str, shared: &'a str) -> Result<&'a str, String> {
        parameters([("OWN", own), ("SHARED", shared)])
    }

    #[test]
    fn its_own_variable_holds_before_the_shared_one() {
        assert_eq!(chosen("vgpu:gfx90a", "vgpu:gfx1100"), Ok("gfx90a"));
        assert_eq!(chosen("vgpu?count=2", "amdgpu:0"), Ok("?count=2"));
        assert_eq!(chosen("vgpu", ""), Ok(""));
        assert_eq!(chosen("", "vgpu:gfx1100?count=2"), Ok("gfx1100?count=2"));
    }

    #[test]
    fn what_the_program_runs_on_may_be_amds_hip_over_this_library() {
        for uri in ["", "auto", "amdgpu", "amdgpu:0", "vgpux"] {
            assert_eq!(chosen("", uri), Ok(""), "{uri}");
        }
    }

    #[test]
    fn another_device_than_a_virtual_gpu_is_refused_where_only_one_is_meant() {
        for uri in ["amdgpu:0", "gfx90a", "vgpux"] {
            let error = chosen(uri, "").expect_err(uri);
            assert!(error.contains("OWN") && error.contains(uri), "{error}");
        }
    }
}
