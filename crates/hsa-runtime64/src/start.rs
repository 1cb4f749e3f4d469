//! Which virtual GPUs there are: a device URI.

use std::sync::OnceLock;

use hsa_sys::{Table, hsa_status_t};

/// Where both are set, the first one holds.
const VARIABLES: [&str; 2] = ["FERROCM_HSA_DEVICE", "FERROCM_DEVICE"];

/// The functions behind the exported ones. The first call makes the devices.
///
/// Where they cannot be made, the reason goes to standard error and every function returns
/// `HSA_STATUS_ERROR_NOT_SUPPORTED`, but for `hsa_init`, which returns `HSA_STATUS_ERROR_OUT_OF_RESOURCES` as AMD's library
/// does without a GPU.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        drop_in_log::start("libhsa-runtime64");
        let values = VARIABLES.map(|name| (name, std::env::var_os(name).unwrap_or_default()));
        let values = values.each_ref().map(|(name, value)| (*name, value.to_string_lossy()));
        let started =
            devices(values.each_ref().map(|(name, value)| (*name, value.as_ref()))).and_then(attach);
        match started {
            Ok(()) => vgpu::hsa::table(),
            Err(reason) => {
                tracing::error!("the virtual GPU cannot start: {reason}");
                let mut builder = hsa_sys::Builder::new("virtual GPU", env!("CARGO_PKG_VERSION"));
                builder.hsa_init(without_devices);
                // SAFETY: the one function given takes nothing and returns what the headers allow.
                unsafe { builder.finish() }
            }
        }
    })
}

unsafe extern "C" fn without_devices() -> hsa_status_t {
    hsa_status_t::HSA_STATUS_ERROR_OUT_OF_RESOURCES
}

/// The parameters of the virtual GPUs that the variables ask for, the first of them first.
fn devices<'a>([own, shared]: [(&str, &'a str); 2]) -> Result<&'a str, String> {
    let parameters = |uri: &'a str| match uri.strip_prefix("vgpu") {
        Some("") => Some(""),
        Some(rest) if rest.starts_with('?') => Some(rest),
        Some(rest) => rest.strip_prefix(':'),
        None => None,
    };
    match (own, parameters(shared.1)) {
        ((_, ""), Some(shared)) => Ok(shared),
        // What the program runs on is for others to read.
        ((_, ""), None) => Ok(""),
        ((name, uri), _) => parameters(uri)
            .ok_or_else(|| format!("{name}=`{uri}` names no virtual GPUs; expected `vgpu` or `vgpu:gfx90a`")),
    }
}

fn attach(parameters: &str) -> Result<(), String> {
    let config: vgpu::DeviceConfig =
        parameters.parse().map_err(|error: vgpu::ConfigError| format!("`{parameters}`: {error}"))?;
    vgpu::attach(&config).map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen<'a>(own: &'a str, shared: &'a str) -> Result<&'a str, String> {
        devices([("OWN", own), ("SHARED", shared)])
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
        let error = attach("gfx90a?cores=4").expect_err("no option");
        assert!(error.contains("`cores`"), "{error}");
    }
}
