//! The functions of AMD's loader extension. No library exports them; the runtime returns them in a table.
//!
//! The headers declare `hsa_ven_amd_loader_*` like any other function, but a program can get them only
//! through `hsa_system_get_major_extension_table`, once the runtime is initialised. The entries of a loaded
//! library's table query that table at each call. So they work as soon as the runtime does, and return the
//! runtime's error before.

use std::ffi::c_void;
use std::sync::OnceLock;

use sys_load::Library;

use crate::Table;
use crate::bindings::*;

/// `hsa_system_get_major_extension_table`.
type GetTable = unsafe extern "C" fn(u16, u16, usize, *mut c_void) -> hsa_status_t;

/// How many libraries with the extension may be loaded in one process. Beyond that, its entries are stubs.
const SLOTS: usize = 4;

static HELD: [OnceLock<GetTable>; SLOTS] = [const { OnceLock::new() }; SLOTS];

/// The current functions of the extension in the library of a slot.
fn extension<const SLOT: usize>() -> Result<hsa_ven_amd_loader_1_03_pfn_t, hsa_status_t> {
    let get = HELD[SLOT].get().ok_or(hsa_status_t::HSA_STATUS_ERROR_NOT_SUPPORTED)?;
    // An older runtime fills only a part; the rest stays empty.
    let mut table = hsa_ven_amd_loader_1_03_pfn_t::default();
    // SAFETY: the table has the length given, and its functions are of the major version asked for.
    let status = unsafe {
        get(
            hsa_extension_t::HSA_EXTENSION_AMD_LOADER.0 as u16,
            1,
            size_of::<hsa_ven_amd_loader_1_03_pfn_t>(),
            (&raw mut table).cast(),
        )
    };
    if status == hsa_status_t::HSA_STATUS_SUCCESS { Ok(table) } else { Err(status) }
}

macro_rules! loader {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        mod calls {
            use super::*;

            $(pub(super) unsafe extern "C" fn $name<const SLOT: usize>($($argument: $type),*) -> hsa_status_t {
                match extension::<SLOT>() {
                    // SAFETY: the caller keeps the contract of the function, whose type is the headers'.
                    Ok(hsa_ven_amd_loader_1_03_pfn_t { $name: Some(function), .. }) => unsafe { function($($argument),*) },
                    Ok(_) => hsa_status_t::HSA_STATUS_ERROR_NOT_SUPPORTED,
                    Err(status) => status,
                }
            })*
        }

        /// Makes the extension's entries call the library in a slot.
        fn install<const SLOT: usize>(table: &mut Table) {
            $(table.$name = calls::$name::<SLOT>;)*
        }

        /// The entries that are bridged.
        #[cfg(test)]
        const BRIDGED: &[&str] = &[$(stringify!($name)),*];
    };
}

loader! {
    hsa_ven_amd_loader_query_host_address(device_address: *const c_void, host_address: *mut *const c_void);
    hsa_ven_amd_loader_query_segment_descriptors(
        segment_descriptors: *mut hsa_ven_amd_loader_segment_descriptor_t,
        num_segment_descriptors: *mut usize
    );
    hsa_ven_amd_loader_query_executable(device_address: *const c_void, executable: *mut hsa_executable_t);
    hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
        executable: hsa_executable_t,
        callback: Option<
            unsafe extern "C" fn(hsa_executable_t, hsa_loaded_code_object_t, *mut c_void) -> hsa_status_t,
        >,
        data: *mut c_void
    );
    hsa_ven_amd_loader_loaded_code_object_get_info(
        loaded_code_object: hsa_loaded_code_object_t,
        attribute: hsa_ven_amd_loader_loaded_code_object_info_t,
        value: *mut c_void
    );
    hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(
        file: hsa_file_t,
        offset: usize,
        size: usize,
        code_object_reader: *mut hsa_code_object_reader_t
    );
    hsa_ven_amd_loader_iterate_executables(
        callback: Option<unsafe extern "C" fn(hsa_executable_t, *mut c_void) -> hsa_status_t>,
        data: *mut c_void
    );
}

/// Adds the functions of the loader extension to the table of a loaded library, unless the library exports
/// them itself.
pub(crate) fn apply(table: &mut Table, _: &Library) {
    let stubs = Table::unsupported();
    let get = table.hsa_system_get_major_extension_table;
    let has_table = get as usize != stubs.hsa_system_get_major_extension_table as usize;
    let has_own = table.hsa_ven_amd_loader_query_host_address as usize
        != stubs.hsa_ven_amd_loader_query_host_address as usize;
    if !has_table || has_own {
        return;
    }
    // A library that is opened again uses its old slot.
    let slot = HELD.iter().position(|held| *held.get_or_init(|| get) as usize == get as usize);
    match slot {
        Some(0) => install::<0>(table),
        Some(1) => install::<1>(table),
        Some(2) => install::<2>(table),
        Some(3) => install::<3>(table),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SYMBOLS;

    unsafe extern "C" fn query(device: *const c_void, host: *mut *const c_void) -> hsa_status_t {
        // SAFETY: the test gives a place for the answer.
        unsafe { host.write(device.wrapping_byte_add(1)) };
        hsa_status_t::HSA_STATUS_SUCCESS
    }

    /// A runtime of version 1.00, which fills only three functions.
    unsafe extern "C" fn old_runtime(
        extension: u16,
        major: u16,
        length: usize,
        table: *mut c_void,
    ) -> hsa_status_t {
        assert_eq!((extension, major), (0x201, 1));
        assert!(length >= size_of::<hsa_ven_amd_loader_1_00_pfn_t>());
        let functions = hsa_ven_amd_loader_1_00_pfn_t {
            hsa_ven_amd_loader_query_host_address: Some(query),
            ..Default::default()
        };
        // SAFETY: the table is as long as reported.
        unsafe { table.cast::<hsa_ven_amd_loader_1_00_pfn_t>().write_unaligned(functions) };
        hsa_status_t::HSA_STATUS_SUCCESS
    }

    unsafe extern "C" fn uninitialised(_: u16, _: u16, _: usize, _: *mut c_void) -> hsa_status_t {
        hsa_status_t::HSA_STATUS_ERROR_NOT_INITIALIZED
    }

    #[test]
    fn calls_go_through_the_table_that_the_runtime_hands_out() {
        HELD[3].get_or_init(|| old_runtime);
        let mut table = Table::STUBS;
        install::<3>(&mut table);
        let (at, mut host) = (0x1000 as *const c_void, std::ptr::null());
        // SAFETY: the function writes the one pointer.
        let status = unsafe { (table.hsa_ven_amd_loader_query_host_address)(at, &raw mut host) };
        assert_eq!((status, host.addr()), (hsa_status_t::HSA_STATUS_SUCCESS, 0x1001));
        // SAFETY: functions that the runtime lacks are never called.
        let status = unsafe { (table.hsa_ven_amd_loader_iterate_executables)(None, std::ptr::null_mut()) };
        assert_eq!(status, hsa_status_t::HSA_STATUS_ERROR_NOT_SUPPORTED);
    }

    #[test]
    fn what_the_runtime_says_before_it_is_initialised_is_passed_on() {
        HELD[2].get_or_init(|| uninitialised);
        let mut table = Table::STUBS;
        install::<2>(&mut table);
        // SAFETY: the runtime hands out no function.
        let status = unsafe { (table.hsa_ven_amd_loader_iterate_executables)(None, std::ptr::null_mut()) };
        assert_eq!(status, hsa_status_t::HSA_STATUS_ERROR_NOT_INITIALIZED);
    }

    #[test]
    fn every_function_that_no_library_exports_is_bridged() {
        let unexported = SYMBOLS
            .iter()
            .filter(|symbol| symbol.versions == 0)
            .filter_map(|symbol| symbol.name.to_str().ok());
        let mut bridged = BRIDGED.to_vec();
        bridged.sort_unstable();
        assert_eq!(unexported.collect::<Vec<_>>(), bridged);
    }
}
