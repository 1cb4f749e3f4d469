//! Chooses the devices of the library from a device URI. A program that uses `hip` without a virtual GPU of
//! its own passes the URI of the virtual GPU that it opens ([`open_virtual`]). Otherwise the URI is in the
//! environment variable `FERROCM_HIP_DEVICE`, else in `FERROCM_DEVICE`.
//!
//! There are two variables because such a program uses `FERROCM_DEVICE` for *its own* device, which may be
//! the second GPU of the library: `amdgpu:1`.
//!
//! | URI | means |
//! |---|---|
//! | `auto`, or nothing | AMD's HSA runtime if it is installed and has a GPU, else `vgpu` |
//! | `amdgpu` | AMD's HSA runtime |
//! | `amdgpu:0`, `amdgpu://0,1`, `amdgpu://GPU-<uuid>` | the same, with these of its GPUs |
//! | `vgpu`, `vgpu:gfx90a`, `vgpu:gfx1100?cus=4&memory=2GiB&count=2` | virtual GPUs |

use std::sync::OnceLock;

use hip_on_hsa::Visible;
use hip_sys::Table;

use crate::output;

/// The variables with the device URI; the first that is set is used.
const DEVICE_VARIABLES: [variables::Variable; 2] = [variables::HIP_DEVICE, variables::DEVICE];

/// The started back end, once there is one.
static STARTED: OnceLock<Started> = OnceLock::new();

/// The started back end.
#[derive(Debug)]
struct Started {
    table: &'static Table,
    /// Whether the GPUs are virtual ones of this library.
    is_virtual: bool,
}

impl Started {
    /// No back end: functions that need a device return an error.
    fn nothing() -> Self {
        Self { table: hip_on_hsa::unstarted(), is_virtual: false }
    }
}

/// The table behind the exported functions. The first call starts the back end.
///
/// If nothing can be started, the reason goes to standard error, and functions that need a device return
/// `hipErrorNotInitialized`.
pub(crate) fn table() -> &'static Table {
    STARTED.get_or_init(|| start(from_environment)).table
}

fn start(how: impl FnOnce() -> Result<Started, variables::Error>) -> Started {
    drop_in::log::start("libamdhip64");
    output::through_c();
    timeline::start().and_then(|_| how()).unwrap_or_else(|error| {
        tracing::error!("HIP cannot start: {error}");
        Started::nothing()
    })
}

fn from_environment() -> Result<Started, variables::Error> {
    for variable in DEVICE_VARIABLES {
        if let Some(uri) = variable.text()? {
            let started = Choice::of(&uri).and_then(|choice| choice.start());
            return started.map_err(|reason| variable.error(&uri, reason));
        }
    }
    Choice::Auto.start().map_err(|reason| variables::DEVICE.error("", reason))
}

/// Virtual GPUs opened by a program.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The ordinal of the first one.
    pub(crate) first: i32,
    pub(crate) count: i32,
    /// The URI of each, with all parameters.
    pub(crate) uri: String,
}

/// Makes the virtual GPUs that a URI names, or reuses equal ones. If nothing has been started yet, the
/// program sees these GPUs, whatever devices the environment names.
pub(crate) fn open_virtual(uri: &str) -> Result<Opened, String> {
    let Choice::Virtual(parameters) = Choice::of(uri)? else {
        return Err(format!("`{uri}` does not name a virtual GPU"));
    };
    let config = config_of(parameters)?;
    let start_here = || {
        Ok(match virtual_table(Visible::all()) {
            Ok(table) => Started { table, is_virtual: true },
            Err(reason) => {
                tracing::error!("HIP cannot start on virtual GPUs: {reason}");
                Started::nothing()
            }
        })
    };
    let first = vgpu::attach(&config).map_err(|error| error.to_string())?;
    if !STARTED.get_or_init(|| start(start_here)).is_virtual {
        return Err(
            "the library has already started with other GPUs, chosen by the environment or an earlier call"
                .to_owned(),
        );
    }
    let each = vgpu::DeviceConfig { count: 1, ..config.clone() };
    let first = i32::try_from(first).map_err(|error| error.to_string())?;
    let count = i32::try_from(config.count).map_err(|error| error.to_string())?;
    Ok(Opened { first, count, uri: format!("vgpu:{each}") })
}

/// The meaning of a device URI.
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
                Err(format!("`{scheme}` is not a kind of device; expected `auto`, `amdgpu` or `vgpu`"))
            }
        }
    }

    fn start(self) -> Result<Started, String> {
        let real = |table| Started { table, is_virtual: false };
        match self {
            Self::Virtual(parameters) => start_virtual(parameters),
            Self::Amd(list) => {
                let hsa = hsa_sys::Table::load().map_err(|error| error.to_string())?;
                let visible = Visible::from_env(hsa);
                let visible = match list {
                    Some(list) => visible.and_of_these(list),
                    None => visible,
                };
                hip_on_hsa::table_of(hsa, visible).map(real).map_err(|error| error.to_string())
            }
            Self::Auto => match amd_with_gpu() {
                Ok(hsa) => {
                    let table = hip_on_hsa::table_of(hsa, Visible::from_env(hsa));
                    table.map(real).map_err(|error| error.to_string())
                }
                Err(reason) => {
                    tracing::info!("running on a virtual GPU: {reason}");
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
        // This is our drop-in HSA library in the place of AMD's. The virtual GPU of this process reports its
        // faults better.
        Ok(true) if vgpu::hsa::is_behind(hsa) => {
            Err("the installed HSA runtime is a virtual GPU's".to_owned())
        }
        Ok(true) => Ok(hsa),
        Ok(false) => Err("AMD's HSA runtime finds no GPU".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn start_virtual(parameters: &str) -> Result<Started, String> {
    vgpu::attach(&config_of(parameters)?).map_err(|error| error.to_string())?;
    let table = virtual_table(Visible::from_env(vgpu::hsa::table()))?;
    Ok(Started { table, is_virtual: true })
}

fn config_of(parameters: &str) -> Result<vgpu::DeviceConfig, String> {
    let config = parameters.parse::<vgpu::DeviceConfig>().map_err(|error| error.to_string())?;
    Ok(config.without_features())
}

fn virtual_table(visible: Visible) -> Result<&'static Table, String> {
    hip_on_hsa::table_of(vgpu::hsa::table(), visible).map_err(|error| error.to_string())
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
