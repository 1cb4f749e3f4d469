//! What the library runs on: `FERROCM_DEVICE`, a device URI.
//!
//! | value | means |
//! |---|---|
//! | `auto`, or nothing | AMD's HSA runtime if it is there and has a GPU, else `vgpu` |
//! | `amdgpu` | AMD's HSA runtime |
//! | `amdgpu:0`, `amdgpu://0,1`, `amdgpu://GPU-<uuid>` | the same, with these of its GPUs |
//! | `vgpu`, `vgpu:gfx90a`, `vgpu:gfx1100?cus=4&memory=2GiB&count=2` | virtual GPUs |

use std::sync::OnceLock;

use hip_on_hsa::Visible;
use hip_sys::Table;

use crate::output;

/// The functions behind the exported ones. The first call starts everything.
///
/// Where nothing can be started the reason goes to standard error, and functions that need a device return
/// `hipErrorNotInitialized`.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        drop_in_log::start("libamdhip64");
        output::through_c();
        let variable = variables::DEVICE;
        let uri = timeline::start().and_then(|_| variable.text());
        let started = uri.and_then(|uri| {
            let uri = uri.unwrap_or_default();
            let started = Choice::of(&uri).and_then(|choice| choice.start());
            started.map_err(|reason| variable.error(&uri, reason))
        });
        started.unwrap_or_else(|error| {
            tracing::error!("HIP cannot start with {error}");
            hip_on_hsa::unstarted()
        })
    })
}

/// What a device URI asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice<'a> {
    Auto,
    /// AMD's runtime, with these of its devices.
    Amd(Option<&'a str>),
    /// Virtual GPUs with these parameters.
    Virtual(&'a str),
}

impl<'a> Choice<'a> {
    fn of(uri: &'a str) -> Result<Self, String> {
        let end = uri.find([':', '?']).unwrap_or(uri.len());
        match uri.split_at(end) {
            ("" | "auto", "") => Ok(Self::Auto),
            ("amdgpu", "") => Ok(Self::Amd(None)),
            ("amdgpu", rest) => {
                let list = rest.strip_prefix("://").or_else(|| rest.strip_prefix(':')).unwrap_or_default();
                let is_device = |name: &str| {
                    name.parse::<u32>().is_ok() || name.strip_prefix("GPU-").is_some_and(|id| !id.is_empty())
                };
                match list.split(',').all(is_device) {
                    true => Ok(Self::Amd(Some(list))),
                    false => Err(format!(
                        "`{rest}` names no devices; expected `amdgpu`, `amdgpu:0`, `amdgpu://0,1` or \
                         `amdgpu://GPU-<uuid>`"
                    )),
                }
            }
            ("vgpu", rest) => Ok(Self::Virtual(rest.strip_prefix(':').unwrap_or(rest))),
            ("cuda", _) => Err("NVIDIA GPUs have no HSA runtime".to_owned()),
            (scheme, _) => {
                Err(format!("`{scheme}` is no kind of device; expected `auto`, `amdgpu` or `vgpu`"))
            }
        }
    }

    fn start(self) -> Result<&'static Table, String> {
        match self {
            Self::Virtual(parameters) => start_virtual(parameters),
            Self::Amd(list) => {
                let hsa = hsa_sys::Table::load().map_err(|error| error.to_string())?;
                let visible = Visible::from_env(hsa);
                let visible = match list {
                    Some(list) => visible.and_of_these(list),
                    None => visible,
                };
                hip_on_hsa::table_of(hsa, visible).map_err(|error| error.to_string())
            }
            Self::Auto => match amd_with_gpu() {
                Ok(hsa) => {
                    hip_on_hsa::table_of(hsa, Visible::from_env(hsa)).map_err(|error| error.to_string())
                }
                Err(reason) => {
                    tracing::info!("runs on a virtual GPU: {reason}");
                    start_virtual("")
                }
            },
        }
    }
}

/// AMD's runtime, if it has a GPU.
fn amd_with_gpu() -> Result<&'static hsa_sys::Table, String> {
    let hsa = hsa_sys::Table::load().map_err(|error| error.to_string())?;
    match hip_on_hsa::has_gpu(hsa) {
        // The drop-in HSA library is found where AMD's would be; the virtual GPU of this process says more of its faults.
        Ok(true) if vgpu::hsa::is_behind(hsa) => {
            Err("the HSA runtime that is there is a virtual GPU's".to_owned())
        }
        Ok(true) => Ok(hsa),
        Ok(false) => Err("AMD's HSA runtime sees no GPU".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn start_virtual(parameters: &str) -> Result<&'static Table, String> {
    let config: vgpu::DeviceConfig =
        parameters.parse().map_err(|error: vgpu::ConfigError| error.to_string())?;
    vgpu::attach(&config).map_err(|error| error.to_string())?;
    let hsa = vgpu::hsa::table();
    hip_on_hsa::table_of(hsa, Visible::from_env(hsa)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_uris_say_what_to_run_on() {
        for (uri, choice) in [
            ("", Choice::Auto),
            ("auto", Choice::Auto),
            ("amdgpu", Choice::Amd(None)),
            ("amdgpu:1", Choice::Amd(Some("1"))),
            ("amdgpu://0,1", Choice::Amd(Some("0,1"))),
            ("amdgpu://GPU-0e12865a3bf5b7ab", Choice::Amd(Some("GPU-0e12865a3bf5b7ab"))),
            ("vgpu", Choice::Virtual("")),
            ("vgpu:gfx90a", Choice::Virtual("gfx90a")),
            ("vgpu:gfx1100?cus=4&count=2", Choice::Virtual("gfx1100?cus=4&count=2")),
            ("vgpu?count=2", Choice::Virtual("?count=2")),
        ] {
            assert_eq!(Choice::of(uri), Ok(choice), "{uri}");
        }
    }

    #[test]
    fn bad_device_uris_name_the_bad_part() {
        for (uri, part) in [
            ("gpu", "`gpu`"),
            ("amdgpu:", "`:`"),
            ("amdgpu:x", "`:x`"),
            ("amdgpu://0,,1", "`://0,,1`"),
            ("amdgpu://GPU-", "`://GPU-`"),
            ("amdgpu?cus=1", "`?cus=1`"),
            ("cuda:0", "NVIDIA"),
            ("auto:1", "`auto`"),
        ] {
            let reason = Choice::of(uri).unwrap_err();
            assert!(reason.contains(part), "{uri}: {reason}");
        }
    }
}
