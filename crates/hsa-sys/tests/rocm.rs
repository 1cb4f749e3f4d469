//! Tests on AMD's own library of one release, in a sysroot; `cargo xtask test rocm` runs these.

use hsa_sys::{Source, Table, hsa_status_t, hsa_system_info_t};
use test_support::sysroot::{Sysroot, compare_symbols};

/// Each release, with the version of HSA in its headers and the version in the file name.
const VERSIONS: [(&str, (&str, &str)); 4] = [
    ("5.2", ("5.2.3", "1.5.0")),
    ("5.7", ("6.1.2", "1.13.0")),
    ("6.4", ("6.4.3", "1.15.0")),
    ("7.2", ("7.2.4", "1.18.0")),
];

fn find() -> Option<(Sysroot, &'static str, &'static str)> {
    let sysroot = Sysroot::find()?;
    let (version, file) = sysroot.pick("HSA", &VERSIONS)?;
    Some((sysroot, version, file))
}

#[test]
fn the_library_of_the_release_is_found() {
    let Some((sysroot, _, file)) = find() else { return };
    let table = Table::load().unwrap();
    let path = table.path().unwrap();
    assert!(sysroot.holds(path), "{}", path.display());
    assert_eq!(table.source(), Some(Source::Loader));
    assert_eq!(table.version().map(|version| version.to_string()).as_deref(), Some(file));
}

#[test]
fn the_library_exports_what_the_bindings_say_and_no_more() {
    let Some((_, version, _)) = find() else { return };
    compare_symbols::<Table>(version).unwrap();
}

#[test]
fn without_a_gpu_every_answer_is_an_error_with_a_name() {
    let Some((sysroot, ..)) = find() else { return };
    if !sysroot.is_without_gpu() {
        return;
    }
    let table = Table::load().unwrap();
    let mut version = 0u16;
    // SAFETY: none of these needs an initialised runtime to report that it is not initialised, and the place
    // for the result has the size of this attribute's value.
    let (early, init, late, shut_down) = unsafe {
        let attribute = hsa_system_info_t::HSA_SYSTEM_INFO_VERSION_MAJOR;
        let place = (&raw mut version).cast();
        let early = (table.hsa_system_get_info)(attribute, place);
        let init = (table.hsa_init)();
        (early, init, (table.hsa_system_get_info)(attribute, place), (table.hsa_shut_down)())
    };
    assert_eq!(init, hsa_status_t::HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    for status in [early, late, shut_down] {
        assert_eq!(status, hsa_status_t::HSA_STATUS_ERROR_NOT_INITIALIZED);
    }
    assert_eq!(format!("{init:?}"), "HSA_STATUS_ERROR_OUT_OF_RESOURCES");
}

#[test]
fn functions_that_the_version_lacks_are_stubs() {
    let Some((_, version, _)) = find() else { return };
    let table = Table::load().unwrap();
    for (symbol, since) in [("hsa_amd_vmem_map", "6.1.2"), ("hsa_ven_amd_pcs_start", "6.4.3")] {
        let availability = table.availability(symbol).unwrap();
        assert_eq!(availability.provided, availability.versions().any(|v| v == version), "{symbol}");
        assert_eq!(availability.versions().next(), Some(since), "{symbol}");
    }
    if !table.has("hsa_ven_amd_pcs_start") {
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.hsa_ven_amd_pcs_start)(hsa_sys::hsa_ven_amd_pcs_t { handle: 0 }) };
        assert_eq!(status, hsa_status_t::HSA_STATUS_ERROR_NOT_SUPPORTED);
    }
}

#[test]
fn the_loader_extension_is_had_and_says_what_the_runtime_says() {
    let Some((sysroot, ..)) = find() else { return };
    let table = Table::load().unwrap();
    assert!(table.has("hsa_ven_amd_loader_query_host_address"));
    if !sysroot.is_without_gpu() {
        return;
    }
    // SAFETY: nothing is iterated over before the runtime is initialised.
    let status = unsafe { (table.hsa_ven_amd_loader_iterate_executables)(None, std::ptr::null_mut()) };
    assert_eq!(status, hsa_status_t::HSA_STATUS_ERROR_NOT_INITIALIZED);
}
