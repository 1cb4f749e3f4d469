//! Code for NVIDIA GPUs, which only the driver reads: what it is, and where it ends.

use std::borrow::Cow;
use std::ffi::c_char;

use code_object::CodeObject;
use code_object::embedded::{self, CudaKind};
use hip_sys::{DriverCode, hipError_t, hipModule_t};

use crate::device::Device;
use crate::error::{Error, Result};

/// NVIDIA's machine in ELF headers.
const EM_CUDA: u16 = 190;
/// How a fatbin begins.
const FATBIN: u32 = 0xba55_ed50;
/// A section that has no bytes in the file.
const SHT_NOBITS: u32 = 8;

/// The code as the driver takes it, which gets no length: what ends where its own headers say, or PTX with a
/// NUL behind it.
///
/// # Errors
/// [`Error::WrongTarget`] for a code object of AMD's, [`Error::CodeObject`] for what is no code.
pub(super) fn image(device: &Device, name: &str, code: Cow<'_, [u8]>) -> Result<Box<[u8]>> {
    let bytes = &*code;
    if let Some(end) = end_of_cubin(bytes).or_else(|| end_of_fatbin(bytes)) {
        if end > bytes.len() as u64 {
            let what = "the code for NVIDIA's GPUs".to_owned();
            let source = code_object::Error::Truncated { what, end, len: bytes.len() as u64 };
            return Err(Error::CodeObject { module: name.to_owned(), source });
        }
        return Ok(code.into());
    }
    if is_ptx(bytes) {
        let mut text = code.into_owned();
        if text.last() != Some(&0) {
            text.push(0);
        }
        return Ok(text.into());
    }
    let module = name.to_owned();
    Err(match CodeObject::parse(bytes) {
        Ok(object) => Error::WrongTarget {
            module,
            device: device.target().to_string(),
            available: vec![object.target().to_string()],
        },
        Err(source) => Error::CodeObject { module, source },
    })
}

/// What the driver compiles PTX to, if that is kept on disk.
#[cfg(feature = "rtc")]
pub(super) fn compiled(device: &Device, image: &[u8]) -> Option<Box<[u8]>> {
    let code = super::ptx::cubin(device, is_ptx(image).then_some(image)?)?;
    // What the driver loads has no length.
    end_of_cubin(&code).is_some_and(|end| end <= code.len() as u64).then(|| code.into())
}

/// Without `rtc` there is no cache.
#[cfg(not(feature = "rtc"))]
pub(super) fn compiled(_: &Device, _: &[u8]) -> Option<Box<[u8]>> {
    None
}

/// PTX is a text that says its version first.
fn is_ptx(bytes: &[u8]) -> bool {
    let text = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    !text.contains(&0)
        && std::str::from_utf8(text)
            .is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with(".version")))
}

/// Where a cubin ends, by its headers; none if it is no cubin.
fn end_of_cubin(bytes: &[u8]) -> Option<u64> {
    let number = |at: usize, size: usize| -> Option<u64> {
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
        Some(u64::from_le_bytes(word))
    };
    // 64 bits, little-endian.
    if bytes.get(..6)? != b"\x7fELF\x02\x01" || number(18, 2)? != u64::from(EM_CUDA) {
        return None;
    }
    let table = |offset: usize, size: usize, count: usize| -> Option<(u64, u64, u64)> {
        Some((number(offset, 8)?, number(size, 2)?, number(count, 2)?))
    };
    // Without an end there is none that the bytes reach.
    let end = || -> Option<u64> {
        let mut end = 64;
        for ((start, size, count), at, length, least) in
            [(table(32, 54, 56)?, 8, 32, 56), (table(40, 58, 60)?, 24, 32, 64)]
        {
            if count == 0 {
                continue;
            }
            if size < least {
                return None;
            }
            end = end.max(start.checked_add(size.checked_mul(count)?)?);
            for index in 0..count {
                let entry = usize::try_from(start.checked_add(size.checked_mul(index)?)?).ok()?;
                if at == 24 && number(entry.checked_add(4)?, 4)? == u64::from(SHT_NOBITS) {
                    continue;
                }
                let (offset, length) =
                    (number(entry.checked_add(at)?, 8)?, number(entry.checked_add(length)?, 8)?);
                end = end.max(offset.checked_add(length)?);
            }
        }
        Some(end)
    };
    Some(end().unwrap_or(u64::MAX))
}

/// Where a fatbin ends, by its header; none if it is none.
fn end_of_fatbin(bytes: &[u8]) -> Option<u64> {
    let head: [u8; 16] = bytes.get(..16)?.try_into().ok()?;
    let magic = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    let header = u16::from_le_bytes([head[6], head[7]]);
    let size =
        u64::from_le_bytes([head[8], head[9], head[10], head[11], head[12], head[13], head[14], head[15]]);
    (magic == FATBIN).then(|| size.saturating_add(header.into()))
}

/// A failure to load, with what the driver's compiler says.
pub(super) fn explain(error: Error, device: &Device, name: &str, driver: &DriverCode) -> Error {
    let target = device.target();
    // SAFETY: the function does what `text` asks.
    let log = unsafe { text(|buffer, size| (driver.load_failure)(buffer, size)) };
    let reason = match error.code() {
        Some(hipError_t::hipErrorNoBinaryForGpu) => format!("it has no code for {target}"),
        _ => error.to_string(),
    };
    match error.code() {
        Some(
            hipError_t::hipErrorNoBinaryForGpu
            | hipError_t::hipErrorInvalidKernelFile
            | hipError_t::hipErrorInvalidImage
            | hipError_t::hipErrorInvalidSource,
        ) => Error::Unsupported {
            what: format!("module `{name}` on {device}"),
            instead: if log.is_empty() { reason } else { format!("{reason}: {log}") },
        },
        _ => error,
    }
}

/// The names of a module's kernels, as far as the driver tells them.
///
/// # Safety
/// The module is loaded.
pub(super) unsafe fn kernels(module: hipModule_t, driver: &DriverCode) -> Vec<String> {
    // SAFETY: the caller's promise; the function does what `text` asks.
    let names = unsafe { text(|buffer, size| (driver.kernels)(module, buffer, size)) };
    let mut names: Vec<String> = names.lines().map(str::to_owned).collect();
    names.sort();
    names
}

/// A text of the driver's.
///
/// # Safety
/// The function copies a text to a buffer of the size given, cut to it and NUL-terminated, and returns the
/// length that it has without the NUL.
unsafe fn text(read: impl Fn(*mut c_char, usize) -> usize) -> String {
    let mut bytes = vec![0_u8; 4096];
    loop {
        let length = read(bytes.as_mut_ptr().cast(), bytes.len());
        if length < bytes.len() {
            bytes.truncate(length);
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        bytes.resize(length + 1, 0);
    }
}

/// What an embedded module has code for, of both vendors.
pub(super) fn available(module: &embedded::Module) -> Vec<String> {
    let cuda = module.cuda.iter().map(|image| match image.kind {
        CudaKind::Ptx => format!("{} (PTX)", image.arch),
        CudaKind::Cubin => image.arch.to_owned(),
    });
    module.targets().map(str::to_owned).chain(cuda).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cubin of one section.
    fn cubin() -> Vec<u8> {
        let mut bytes = vec![0; 64 + 8 + 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&EM_CUDA.to_le_bytes());
        bytes[40..48].copy_from_slice(&72_u64.to_le_bytes());
        bytes[58..60].copy_from_slice(&64_u16.to_le_bytes());
        bytes[60..62].copy_from_slice(&1_u16.to_le_bytes());
        bytes[72 + 24..72 + 32].copy_from_slice(&64_u64.to_le_bytes());
        bytes[72 + 32..72 + 40].copy_from_slice(&8_u64.to_le_bytes());
        bytes
    }

    #[test]
    fn a_cubin_ends_where_its_headers_say() {
        let mut bytes = cubin();
        assert_eq!(end_of_cubin(&bytes), Some(136));
        bytes[72 + 32] = 200;
        assert_eq!(end_of_cubin(&bytes), Some(264));
        bytes[72 + 4] = SHT_NOBITS as u8;
        assert_eq!(end_of_cubin(&bytes), Some(136));
        bytes[60] = 2;
        assert_eq!(end_of_cubin(&bytes), Some(u64::MAX), "the second header is not there");
        bytes[18] = 224;
        assert_eq!(end_of_cubin(&bytes), None);
        assert_eq!(end_of_cubin(b"\x7fELF"), None);
    }

    #[test]
    fn a_fatbin_ends_where_its_header_says() {
        let mut bytes = FATBIN.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0, 100, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(end_of_fatbin(&bytes), Some(116));
        assert_eq!(end_of_fatbin(&bytes[..15]), None);
        assert_eq!(end_of_fatbin(&[0; 16]), None);
    }

    #[test]
    fn ptx_says_its_version() {
        assert!(is_ptx(b"//\n.version 8.0\n.target sm_80\n") && is_ptx(b".version 8.0\0"));
        assert!(!is_ptx(b".version\0 8.0\0") && !is_ptx(b"hello") && !is_ptx(b"\xff.version"));
    }

    /// A module with PTX for `sm_80` and cubins for `sm_80` and `sm_90a` in this bundle.
    fn embedded(bytes: &'static [u8], kinds: &[(&'static str, CudaKind)]) -> embedded::Module {
        let image = |&(arch, kind)| embedded::CudaImage { arch, kind, bytes, hash: "" };
        embedded::Module {
            id: 0,
            name: "m",
            source: "m.cu",
            kernels: &[],
            code_objects: &[],
            cuda: kinds.iter().map(image).collect::<Vec<_>>().leak(),
        }
    }

    #[test]
    fn an_embedded_module_is_unpacked_and_only_what_fits_is_loaded() {
        use code_object::bundle::{Entry, bundle, compressed, cuda_id};

        use crate::fake::driver;
        use crate::{LazyModule, Module};
        const PTX: &[u8] = b".version 9.0\n.target sm_80\n";
        const IMAGES: [(&str, CudaKind); 3] =
            [("sm_80", CudaKind::Ptx), ("sm_80", CudaKind::Cubin), ("sm_90a", CudaKind::Cubin)];
        let device = driver::device();
        let cubins = [80, 90].map(|mark| {
            let mut cubin = cubin();
            cubin[7] = mark;
            cubin
        });
        let contents = [PTX, &cubins[0], &cubins[1]];
        let ids = IMAGES.map(|(arch, kind)| cuda_id(arch, kind));
        let entries: Vec<_> =
            ids.iter().zip(contents).map(|(id, bytes)| Entry { id: id.as_str(), bytes }).collect();
        let packed: &'static [u8] = compressed(&bundle(&entries)).unwrap().leak();

        let all: &'static _ = Box::leak(Box::new(embedded(packed, &IMAGES)));
        let lazy = LazyModule::new(all);
        for _ in 0..2 {
            lazy.module(&device).unwrap();
        }
        assert_eq!(driver::loaded(), [b"\x7fELF\x02\x01\0\x5a"], "once, and of the three images one");
        Module::load_embedded(&device, &embedded(packed, &IMAGES[..1])).unwrap();
        assert_eq!(driver::loaded(), [PTX], "the text ends in a NUL");

        let failed = |bytes: &'static [u8], kinds: &[(&'static str, CudaKind)]| {
            Module::load_embedded(&device, &embedded(bytes, kinds)).unwrap_err()
        };
        // Cut off, damaged inside, of another size than its header says, and without the image.
        let mut damaged = packed.to_vec();
        damaged[packed.len() / 2] ^= 0x55;
        let mut longer = packed.to_vec();
        longer[12] ^= 1;
        for bytes in [packed[..packed.len() - 9].to_vec(), damaged, longer] {
            let error = failed(bytes.leak(), &IMAGES);
            assert!(matches!(&error, Error::CodeObject { module, .. } if module == "m"), "{error:?}");
        }
        let error = failed(packed, &[("sm_90", CudaKind::Cubin)]).to_string();
        assert!(error.contains("sm_80 (PTX), sm_80, sm_90a"), "{error}");
        assert_eq!(driver::loaded(), [b""; 0], "the driver gets nothing");
    }

    #[test]
    fn what_a_module_has_is_told_for_both_vendors() {
        use code_object::embedded::CudaImage;
        let module = embedded::Module {
            id: 0,
            name: "m",
            source: "m.cu",
            kernels: &[],
            code_objects: &[],
            cuda: &[CudaImage { arch: "sm_80", kind: CudaKind::Ptx, bytes: &[], hash: "" }],
        };
        assert_eq!(available(&module), ["sm_80 (PTX)"]);
    }
}
