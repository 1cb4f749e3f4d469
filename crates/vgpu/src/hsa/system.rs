//! The runtime as a whole: initialisation and shutdown, system attributes, status texts, extension tables.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use hsa_sys::*;

use super::{S, call, call_always, image, loader_amd, write};
use crate::machine::now_ns;

/// The number of `hsa_init` calls without a matching `hsa_shut_down`.
static USERS: AtomicU32 = AtomicU32::new(0);

const HSA_VERSION: (u16, u16) = (1, 1);
/// The version of the AMD extensions that are implemented.
const AMD_VERSION: (u16, u16) = (1, 7);

/// Prefix of the build version.
pub(super) const BUILD: &str = "ferrocm virtual GPU";

pub(super) fn is_initialised() -> bool {
    USERS.load(Ordering::Acquire) != 0
}

unsafe extern "C" fn init() -> S {
    call_always(|| {
        let counted = USERS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |users| {
            if users == i32::MAX as u32 { None } else { Some(users + 1) }
        });
        counted.map(|_| ()).map_err(|_| S::HSA_STATUS_ERROR_REFCOUNT_OVERFLOW)
    })
}

unsafe extern "C" fn shut_down() -> S {
    // All objects stay until the process ends. The next user of the runtime may be a library that does not
    // know about the previous one.
    call_always(|| {
        let counted = USERS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |users| users.checked_sub(1));
        counted.map(|_| ()).map_err(|_| S::HSA_STATUS_ERROR_NOT_INITIALIZED)
    })
}

unsafe extern "C" fn get_info(attribute: hsa_system_info_t, value: *mut c_void) -> S {
    use hsa_system_info_t as I;
    call(|| {
        // SAFETY: the caller's pointer is null or valid for a write of the attribute's type.
        unsafe {
            match attribute {
                I::HSA_SYSTEM_INFO_VERSION_MAJOR => write(value.cast(), HSA_VERSION.0),
                I::HSA_SYSTEM_INFO_VERSION_MINOR => write(value.cast(), HSA_VERSION.1),
                I::HSA_SYSTEM_INFO_TIMESTAMP => write(value.cast(), now_ns()),
                I::HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY => write(value.cast(), 1_000_000_000u64),
                I::HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT => write(value.cast(), u64::MAX),
                I::HSA_SYSTEM_INFO_ENDIANNESS => write(value.cast(), hsa_endianness_t::HSA_ENDIANNESS_LITTLE),
                I::HSA_SYSTEM_INFO_MACHINE_MODEL => {
                    write(value.cast(), hsa_machine_model_t::HSA_MACHINE_MODEL_LARGE)
                }
                I::HSA_SYSTEM_INFO_EXTENSIONS => {
                    write(value.cast(), extension_mask(EXTENSIONS.iter().map(|extension| extension.kind)))
                }
                I::HSA_AMD_SYSTEM_INFO_BUILD_VERSION => {
                    static VERSION: &str = concat!("ferrocm virtual GPU ", env!("CARGO_PKG_VERSION"), "\0");
                    write(value.cast(), VERSION.as_ptr())
                }
                I::HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED
                | I::HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT
                | I::HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED
                | I::HSA_AMD_SYSTEM_INFO_XNACK_ENABLED => write(value.cast(), false),
                I::HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED
                | I::HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED => write(value.cast(), true),
                I::HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR => write(value.cast(), AMD_VERSION.0),
                I::HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR => write(value.cast(), AMD_VERSION.1),
                _ => Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    })
}

macro_rules! texts {
    ($($name:ident => $text:literal,)*) => {
        /// The text of a status. The strings are static because callers keep them.
        fn text(status: S) -> Option<&'static CStr> {
            Some(match status {
                $(S::$name => match CStr::from_bytes_with_nul(
                    concat!(stringify!($name), ": ", $text, "\0").as_bytes(),
                ) {
                    Ok(text) => text,
                    Err(_) => return None,
                },)*
                _ => return None,
            })
        }
    };
}

texts! {
    HSA_STATUS_SUCCESS => "the function has been executed successfully",
    HSA_STATUS_INFO_BREAK => "a traversal was ended by the application",
    HSA_STATUS_ERROR => "an error that has no code of its own",
    HSA_STATUS_ERROR_INVALID_ARGUMENT => "an argument does not have a valid value",
    HSA_STATUS_ERROR_INVALID_QUEUE_CREATION => "a queue of this kind cannot be created",
    HSA_STATUS_ERROR_INVALID_ALLOCATION => "this allocation is not allowed",
    HSA_STATUS_ERROR_INVALID_AGENT => "the agent is invalid",
    HSA_STATUS_ERROR_INVALID_REGION => "the memory region is invalid",
    HSA_STATUS_ERROR_INVALID_SIGNAL => "the signal is invalid",
    HSA_STATUS_ERROR_INVALID_QUEUE => "the queue is invalid",
    HSA_STATUS_ERROR_OUT_OF_RESOURCES => "there is not enough memory, or another resource is used up",
    HSA_STATUS_ERROR_INVALID_PACKET_FORMAT => "a packet in the queue is malformed",
    HSA_STATUS_ERROR_RESOURCE_FREE => "a resource could not be freed",
    HSA_STATUS_ERROR_NOT_INITIALIZED => "the runtime has not been initialised with hsa_init",
    HSA_STATUS_ERROR_REFCOUNT_OVERFLOW => "a reference count is at its maximum",
    HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS => "the arguments do not go together",
    HSA_STATUS_ERROR_INVALID_INDEX => "the index is invalid",
    HSA_STATUS_ERROR_INVALID_ISA => "the instruction set is invalid",
    HSA_STATUS_ERROR_INVALID_ISA_NAME => "the name of the instruction set is invalid",
    HSA_STATUS_ERROR_INVALID_CODE_OBJECT => "the code object is invalid",
    HSA_STATUS_ERROR_INVALID_EXECUTABLE => "the executable is invalid",
    HSA_STATUS_ERROR_FROZEN_EXECUTABLE => "the executable is frozen",
    HSA_STATUS_ERROR_INVALID_SYMBOL_NAME => "there is no symbol of this name",
    HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED => "the variable is defined already",
    HSA_STATUS_ERROR_VARIABLE_UNDEFINED => "a variable is not defined",
    HSA_STATUS_ERROR_EXCEPTION => "a kernel ended with an exception",
    HSA_STATUS_ERROR_INVALID_CODE_SYMBOL => "the code object's symbol is invalid",
    HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL => "the executable's symbol is invalid",
    HSA_STATUS_ERROR_INVALID_FILE => "the file is invalid",
    HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER => "the code object reader is invalid",
    HSA_STATUS_ERROR_INVALID_CACHE => "the cache is invalid",
    HSA_STATUS_ERROR_INVALID_WAVEFRONT => "the wavefront is invalid",
    HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP => "the signal group is invalid",
    HSA_STATUS_ERROR_INVALID_RUNTIME_STATE => "the runtime is in the wrong state for this",
    HSA_STATUS_ERROR_FATAL => "the queue cannot go on",
    HSA_STATUS_ERROR_INVALID_MEMORY_POOL => "the memory pool is invalid",
    HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION => "a kernel accessed memory it must not",
    HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION => "a kernel executed an illegal instruction",
    HSA_STATUS_ERROR_MEMORY_FAULT => "a kernel accessed memory that is not there",
    HSA_STATUS_CU_MASK_REDUCED => "the mask was set, without compute units that are not to be used",
    HSA_STATUS_ERROR_OUT_OF_REGISTERS => "the kernel needs more registers than there are",
    HSA_STATUS_ERROR_RESOURCE_BUSY => "the resource is in use",
    HSA_STATUS_ERROR_NOT_SUPPORTED => "this system does not support the request",
}

unsafe extern "C" fn status_string(status: S, string: *mut *const c_char) -> S {
    call_always(|| {
        let text = text(status).ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller's pointer is null or valid for a write.
        unsafe { write(string, text.as_ptr()) }
    })
}

/// An extension that is implemented.
struct Extension {
    kind: hsa_extension_t,
    name: &'static CStr,
    major: u16,
    /// The size of its function table in bytes, for each minor version.
    sizes: &'static [usize],
}

static EXTENSIONS: [Extension; 2] = [
    Extension {
        kind: hsa_extension_t::HSA_EXTENSION_IMAGES,
        name: c"HSA_EXTENSION_IMAGES",
        major: 1,
        sizes: &[size_of::<hsa_ext_images_1_00_pfn_t>(), size_of::<hsa_ext_images_1_pfn_t>()],
    },
    Extension {
        kind: hsa_extension_t::HSA_EXTENSION_AMD_LOADER,
        name: c"HSA_EXTENSION_AMD_LOADER",
        major: 1,
        sizes: &[
            size_of::<hsa_ven_amd_loader_1_00_pfn_t>(),
            size_of::<hsa_ven_amd_loader_1_01_pfn_t>(),
            size_of::<hsa_ven_amd_loader_1_02_pfn_t>(),
            size_of::<hsa_ven_amd_loader_1_03_pfn_t>(),
        ],
    },
];

impl Extension {
    fn with_number(number: u16) -> Option<&'static Extension> {
        EXTENSIONS.iter().find(|extension| extension.kind.0 == u32::from(number))
    }

    fn newest_minor(&self) -> u16 {
        self.sizes.len() as u16 - 1
    }
}

/// Extensions as bits of a mask.
pub(super) fn extension_mask(kinds: impl IntoIterator<Item = hsa_extension_t>) -> [u8; 128] {
    let mut mask = [0u8; 128];
    for kind in kinds {
        mask[kind.0 as usize / 8] |= 1 << (kind.0 % 8);
    }
    mask
}

unsafe extern "C" fn extension_get_name(extension: u16, name: *mut *const c_char) -> S {
    call(|| {
        let extension = Extension::with_number(extension).ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller's pointer is null or valid for a write.
        unsafe { write(name, extension.name.as_ptr()) }
    })
}

unsafe extern "C" fn extension_supported(number: u16, major: u16, minor: u16, result: *mut bool) -> S {
    call(|| {
        let found = Extension::with_number(number);
        let has = found.is_some_and(|found| major == found.major && minor <= found.newest_minor());
        // SAFETY: the caller's pointer is null or valid for a write.
        unsafe { write(result, has) }
    })
}

unsafe extern "C" fn major_extension_supported(
    number: u16,
    major: u16,
    minor: *mut u16,
    result: *mut bool,
) -> S {
    call(|| {
        let found = Extension::with_number(number).filter(|found| found.major == major);
        // SAFETY: the caller's pointers are null or valid for a write.
        unsafe {
            if let Some(found) = found {
                write(minor, found.newest_minor())?;
            }
            write(result, found.is_some())
        }
    })
}

/// # Safety
/// `table` is valid for writes of `length` bytes. The functions are plain pointers.
unsafe fn give<T>(functions: T, length: usize, table: *mut c_void) {
    let length = length.min(size_of::<T>());
    // SAFETY: the caller's promise; the source is at least as long.
    unsafe { std::ptr::copy_nonoverlapping((&raw const functions).cast::<u8>(), table.cast(), length) };
}

unsafe extern "C" fn major_extension_table(number: u16, major: u16, length: usize, table: *mut c_void) -> S {
    call(|| {
        let found = Extension::with_number(number).filter(|found| found.major == major);
        let found = found.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        if table.is_null() || length == 0 {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller's buffer has `length` bytes.
        unsafe {
            match found.kind {
                hsa_extension_t::HSA_EXTENSION_IMAGES => give(image::extension_table(), length, table),
                _ => give(loader_amd::extension_table(), length, table),
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn extension_table(number: u16, major: u16, minor: u16, table: *mut c_void) -> S {
    let sizes = Extension::with_number(number).map_or(&[][..], |found| found.sizes);
    let length = sizes.get(usize::from(minor)).or(sizes.last()).copied().unwrap_or(0);
    // SAFETY: this function's contract: the caller's table has the version that it names.
    unsafe { major_extension_table(number, major, length, table) }
}

unsafe extern "C" fn enable_logging(_: *mut u8, _: *mut c_void) -> S {
    call(|| Ok(()))
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_init(init).hsa_shut_down(shut_down).hsa_system_get_info(get_info);
    builder.hsa_status_string(status_string).hsa_extension_get_name(extension_get_name);
    builder.hsa_system_extension_supported(extension_supported);
    builder.hsa_system_major_extension_supported(major_extension_supported);
    builder.hsa_system_get_major_extension_table(major_extension_table);
    builder.hsa_system_get_extension_table(extension_table);
    builder.hsa_amd_enable_logging(enable_logging);
}
