//! Tests on AMD's own library of one release, in a sysroot; `cargo xtask test rocm` runs these.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use rocblas_sys::{
    Source, Table, Version, rocblas_diagonal, rocblas_fill, rocblas_operation, rocblas_side, rocblas_status,
};
use test_support::sysroot::{Sysroot, compare_symbols};

/// Each release, with the version of rocBLAS in the name of its headers' package and in its own counting.
/// Debian has no package for 5.2.
const VERSIONS: [(&str, (&str, Version)); 3] = [
    ("5.7", ("5.5.1", Version::new(2, 47, 0))),
    ("6.4", ("6.4.4", Version::new(4, 4, 1))),
    ("7.2", ("7.2.4", Version::new(5, 2, 0))),
];

fn find() -> Option<(Sysroot, &'static str, Version)> {
    let sysroot = Sysroot::find()?;
    let (version, own) = sysroot.pick("rocBLAS", &VERSIONS)?;
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
fn without_a_gpu_there_is_no_handle() {
    let Some((sysroot, version, _)) = find() else { return };
    if !sysroot.is_without_gpu() {
        return;
    }
    let table = Table::load().unwrap();
    let mut handle = null_mut();
    // SAFETY: the place is a handle's; no library takes a null handle for a real one.
    let (first, second, destroyed) = unsafe {
        (
            (table.rocblas_create_handle)(&mut handle),
            (table.rocblas_create_handle)(&mut handle),
            (table.rocblas_destroy_handle)(null_mut()),
        )
    };
    // rocBLAS has no code for a missing device, and misreads HIP 5.7's result of a process's first call.
    let first_expected = match version {
        "5.5.1" => rocblas_status::rocblas_status_invalid_handle,
        _ => rocblas_status::rocblas_status_internal_error,
    };
    assert_eq!(first, first_expected);
    assert_eq!(second, rocblas_status::rocblas_status_internal_error);
    assert!(handle.is_null());
    assert_eq!(destroyed, rocblas_status::rocblas_status_invalid_handle);
}

#[test]
fn statuses_have_the_names_that_the_library_gives_them() {
    if find().is_none() {
        return;
    }
    let table = Table::load().unwrap();
    let mut compared = 0;
    for code in 0..100 {
        let ours = format!("{:?}", rocblas_status(code));
        // SAFETY: the function takes any value and returns a string that lives as long as the library.
        let theirs = unsafe { CStr::from_ptr((table.rocblas_status_to_string)(rocblas_status(code))) };
        let theirs = theirs.to_str().unwrap();
        // A status that a library does not define may be newer than the library.
        if !theirs.starts_with('<') {
            assert_eq!(ours, theirs, "{code}");
            compared += 1;
        }
    }
    assert!(compared >= 14, "only {compared} names were compared");
}

#[test]
fn functions_that_the_version_lacks_are_stubs() {
    let Some((_, version, _)) = find() else { return };
    let table = Table::load().unwrap();
    let availability = table.availability("rocblas_sgemm_64").unwrap();
    assert_eq!(availability.provided, version != "5.5.1");
    assert_eq!(availability.versions().collect::<Vec<_>>(), ["6.4.4", "7.2.4"]);
    let none = rocblas_operation::rocblas_operation_none;
    // SAFETY: a stub reads none of its arguments, and the function refuses a null handle before it reads
    // others.
    let status = unsafe {
        (table.rocblas_sgemm_64)(
            null_mut(),
            none,
            none,
            1,
            1,
            1,
            null(),
            null(),
            1,
            null(),
            1,
            null(),
            null_mut(),
            1,
        )
    };
    let expected = match availability.provided {
        true => rocblas_status::rocblas_status_invalid_handle,
        false => rocblas_status::rocblas_status_not_implemented,
    };
    assert_eq!(status, expected);
}

#[test]
fn what_older_versions_have_in_another_form_is_there_in_the_newest() {
    if find().is_none() {
        return;
    }
    let table = Table::load().unwrap();
    assert!(table.has("rocblas_strmm"));
    let none = rocblas_operation::rocblas_operation_none;
    // SAFETY: the function refuses a null handle before it reads anything else.
    let status = unsafe {
        (table.rocblas_strmm)(
            null_mut(),
            rocblas_side::rocblas_side_left,
            rocblas_fill::rocblas_fill_upper,
            none,
            rocblas_diagonal::rocblas_diagonal_unit,
            1,
            1,
            null(),
            null(),
            1,
            null(),
            1,
            null_mut(),
            1,
        )
    };
    assert_eq!(status, rocblas_status::rocblas_status_invalid_handle);
}
