//! Virtual GPUs of this project's HIP library, `libamdhip64`, for programs built without their own.

use std::ffi::{CString, c_char, c_int};

use hip_sys::Table;

use super::{Backend, Opened, device_count};
use crate::error::Result;
use crate::uri::{DeviceUri, VirtualGpu};

/// More bytes than any URI or reason needs.
const TEXT: usize = 4096;

/// Opens virtual GPUs with these parameters in the library that the program loads.
pub(crate) fn open(gpu: &VirtualGpu) -> Result<Opened> {
    const WITHOUT: &str =
        "this program is built without the virtual GPU, the feature `virtual` of the crate `hip`";
    let unavailable = |reason: String| Backend::Virtual.unavailable(format!("{WITHOUT}; {reason}"));
    let table = Table::load().map_err(|error| unavailable(error.to_string()))?;
    if table.ext.open_virtual.is_none() {
        let path = table.path().map_or_else(|| "the HIP library".into(), |path| path.display().to_string());
        return Err(unavailable(format!("{path} has no virtual GPU either")));
    }
    open_in(table, gpu)
}

/// Opens virtual GPUs of a table that offers them.
pub(super) fn open_in(table: &'static Table, gpu: &VirtualGpu) -> Result<Opened> {
    let backend = Backend::Virtual;
    let not_there = || backend.unavailable("the HIP library has no virtual GPU");
    let open = table.ext.open_virtual.ok_or_else(not_there)?;
    let wanted = DeviceUri::Virtual(gpu.clone());
    let text = CString::new(wanted.to_string()).map_err(|error| backend.unavailable(error))?;
    let (mut first, mut count): (c_int, c_int) = (0, 0);
    let mut told = vec![0_u8; TEXT];
    let told_at = told.as_mut_ptr().cast::<c_char>();
    // SAFETY: the URI ends in a NUL, the results are places to write to, and the text's buffer has this many
    // bytes.
    let opened = unsafe { open(text.as_ptr(), &raw mut first, &raw mut count, told_at, told.len()) };
    let end = told.iter().position(|byte| *byte == 0).unwrap_or(told.len());
    let told = String::from_utf8_lossy(&told[..end]).into_owned();
    if !opened {
        return Err(backend.unavailable(format!("the HIP library reports: {told}")));
    }
    let each = match told.parse()? {
        DeviceUri::Virtual(gpu) => VirtualGpu { count: None, ..gpu },
        other => return Err(backend.unavailable(format!("the HIP library opened `{other}` instead"))),
    };
    let uri = DeviceUri::Virtual(each);
    let there = device_count(table).map_err(|error| backend.unavailable(error))?;
    let end = first.checked_add(count).filter(|end| first >= 0 && count > 0 && *end <= there);
    let Some(end) = end else {
        let reason = format!("the HIP library has {there} devices, not {count} from ordinal {first} on");
        return Err(backend.unavailable(reason));
    };
    Ok(Opened { backend, table, devices: (first..end).map(|ordinal| (ordinal, uri.clone())).collect() })
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use hip_sys::{Builder, Extensions, hipError_t};

    use super::*;

    unsafe extern "C" fn init(_: u32) -> hipError_t {
        hipError_t::hipSuccess
    }

    unsafe extern "C" fn count(out: *mut c_int) -> hipError_t {
        // SAFETY: the caller gives a place.
        unsafe { *out = 3 };
        hipError_t::hipSuccess
    }

    /// Opens as many devices as the URI says, from the second on.
    unsafe extern "C" fn opens(
        uri: *const c_char,
        first: *mut c_int,
        count: *mut c_int,
        text: *mut c_char,
        size: usize,
    ) -> bool {
        // SAFETY: the caller gives a text that ends in a NUL.
        let uri = unsafe { CStr::from_ptr(uri) }.to_str().unwrap();
        let (said, good, many) = match uri {
            "vgpu:gfx90a?count=2" => (c"vgpu:gfx90a?cus=4&memory=1GiB", true, 2),
            "vgpu:gfx90a?count=9" => (c"vgpu:gfx90a?cus=4&memory=1GiB", true, 9),
            "vgpu" => (c"not a URI", true, 1),
            _ => (c"no such target", false, 0),
        };
        let said = said.to_bytes_with_nul();
        assert!(said.len() <= size);
        // SAFETY: the caller gives places for all of it.
        unsafe {
            (*first, *count) = (1, many);
            text.cast::<u8>().copy_from(said.as_ptr(), said.len());
        }
        good
    }

    fn opened(uri: &str) -> Result<Opened> {
        let mut builder = Builder::new("fake", "0");
        builder.hipInit(init).hipGetDeviceCount(count);
        builder.extensions(Extensions { open_virtual: Some(opens), ..Extensions::NONE });
        // SAFETY: the functions do what the headers say, as far as this test needs.
        let table = unsafe { builder.finish() };
        let DeviceUri::Virtual(gpu) = uri.parse().unwrap() else { panic!("{uri}") };
        open_in(table, &gpu)
    }

    #[test]
    fn the_library_says_which_devices_it_has_made() {
        let devices = opened("vgpu:gfx90a?count=2").unwrap();
        let found: Vec<_> =
            devices.devices.iter().map(|(ordinal, uri)| (*ordinal, uri.to_string())).collect();
        let uri = "vgpu:gfx90a?cus=4&memory=1GiB";
        assert_eq!(found, [(1, uri.to_owned()), (2, uri.to_owned())]);
        assert_eq!(devices.backend, Backend::Virtual);
        let failed = |uri: &str| opened(uri).err().unwrap().to_string();
        assert!(failed("vgpu:gfx1100").contains("no such target"));
        assert!(failed("vgpu:gfx90a?count=9").contains("3 devices"));
        assert!(failed("vgpu").contains("not a URI"));
        let none = open_in(Table::unsupported(), &VirtualGpu::default()).err().unwrap();
        assert!(none.to_string().contains("has no virtual GPU"), "{none}");
    }
}
