//! Tests on AMD's own library of one release, in a sysroot; `cargo xtask test rocm` runs these.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use rccl_sys::{Source, Table, Version, ncclResult_t};
use test_support::sysroot::{Sysroot, compare_symbols};

/// Each release, with the version of RCCL in the name of its headers' package and in its own counting. Debian
/// has no package for 5.2, and no separate one for 6.4.
const VERSIONS: [(&str, (&str, Version)); 2] =
    [("5.7", ("5.4.3", Version::new(2, 13, 4))), ("7.2", ("7.2.4", Version::new(2, 27, 7)))];

fn find() -> Option<(Sysroot, &'static str, Version)> {
    let sysroot = Sysroot::find()?;
    let (version, own) = sysroot.pick("RCCL", &VERSIONS)?;
    Some((sysroot, version, own))
}

#[test]
fn the_library_of_the_release_is_found() {
    let Some((sysroot, _, own)) = find() else { return };
    let table = Table::load().unwrap();
    let path = table.path().unwrap();
    assert!(sysroot.holds(path), "{}", path.display());
    assert_eq!(table.source(), Some(Source::Loader));
    assert_eq!(table.version(), Some(own));
}

#[test]
fn the_library_exports_what_the_bindings_say_and_no_more() {
    let Some((_, version, _)) = find() else { return };
    compare_symbols::<Table>(version).unwrap();
}

#[test]
fn without_a_gpu_there_is_no_communicator() {
    let Some((sysroot, ..)) = find() else { return };
    if !sysroot.is_without_gpu() {
        return;
    }
    let table = Table::load().unwrap();
    let mut communicator = null_mut();
    // SAFETY: there is a place for the one requested communicator, and a null list means the first devices.
    let status = unsafe { (table.ncclCommInitAll)(&mut communicator, 1, null()) };
    assert_eq!(status, ncclResult_t::ncclUnhandledCudaError);
    assert_eq!(format!("{status:?}"), "ncclUnhandledCudaError");
    assert!(communicator.is_null());
    // SAFETY: the function takes any value and returns a string that lives as long as the library.
    let text = unsafe { CStr::from_ptr((table.ncclGetErrorString)(status)) };
    assert!(text.to_str().unwrap().starts_with("unhandled cuda error"), "{text:?}");
}

#[test]
fn functions_that_the_version_lacks_are_stubs() {
    let Some((_, version, _)) = find() else { return };
    let table = Table::load().unwrap();
    for (symbol, versions) in
        [("ncclCommSplit", ["7.2.4"].as_slice()), ("ncclCommInitRankMulti", &["5.4.3"]), ("pncclSend", &[])]
    {
        let availability = table.availability(symbol).unwrap();
        assert_eq!(availability.versions().collect::<Vec<_>>(), versions, "{symbol}");
        assert_eq!(availability.provided, versions.contains(&version), "{symbol}");
    }
    if !table.has("ncclCommSplit") {
        let mut communicator = null_mut();
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.ncclCommSplit)(null_mut(), 0, 0, &mut communicator, null_mut()) };
        assert_eq!(status, ncclResult_t::ncclInternalError);
    }
}
