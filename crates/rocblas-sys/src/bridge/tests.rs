use sys_load::Functions;

use super::*;
use crate::{SYMBOLS, VERSIONS, bindings::*, legacy};

fn exported(name: &str, version: &str) -> bool {
    let bit = VERSIONS.iter().position(|known| *known == version).expect("a known version");
    let symbol =
        SYMBOLS.iter().find(|symbol| symbol.name.to_str() == Ok(name)).expect("a function of the table");
    symbol.versions >> bit & 1 == 1
}

#[test]
fn every_function_that_an_older_library_has_otherwise_is_bridged() {
    let versions = [("5.5.1", &legacy::v5_5::AFFECTED[..]), ("6.4.4", &legacy::v6_4::AFFECTED[..])];
    assert_eq!(versions.len() + 1, VERSIONS.len(), "a version is missing here");
    for (version, affected) in versions {
        for name in affected {
            assert!(BRIDGED.contains(name) && version == "5.5.1", "{name} of {version} is not bridged");
        }
    }
}

#[test]
fn the_functions_with_c_are_exported_where_trmm_has_none_and_only_there() {
    for name in BRIDGED {
        let (start, form) = name.split_at("rocblas_strmm".len());
        let own = format!("{start}_outofplace{form}");
        let both = VERSIONS.map(|version| (exported(name, version), exported(&own, version)));
        assert_eq!(both, [(true, true), (true, false), (true, false)], "{name}");
    }
}

macro_rules! function {
    ($name:ident, $value:ident) => {
        unsafe extern "C" fn $name(
            _: rocblas_handle,
            _: rocblas_side,
            _: rocblas_fill,
            _: rocblas_operation,
            _: rocblas_diagonal,
            _: rocblas_int,
            _: rocblas_int,
            _: *const f32,
            _: *const f32,
            _: rocblas_int,
            _: *const f32,
            _: rocblas_int,
            _: *mut f32,
            _: rocblas_int,
        ) -> rocblas_status {
            rocblas_status::$value
        }
    };
}
function!(in_place, rocblas_status_internal_error);
function!(out_of_place, rocblas_status_success);

fn call(table: &Table) -> rocblas_status {
    let (side, fill) = (rocblas_side::rocblas_side_left, rocblas_fill::rocblas_fill_upper);
    let (operation, diagonal) =
        (rocblas_operation::rocblas_operation_none, rocblas_diagonal::rocblas_diagonal_unit);
    let (handle, c) = (std::ptr::null_mut(), std::ptr::null_mut());
    let (alpha, a, b) = (std::ptr::null(), std::ptr::null(), std::ptr::null());
    // SAFETY: the functions of these tests read none of their arguments.
    unsafe { (table.rocblas_strmm)(handle, side, fill, operation, diagonal, 0, 0, alpha, a, 0, b, 0, c, 0) }
}

#[test]
fn trmm_is_the_function_with_c() {
    // SAFETY: only this test calls its functions.
    let mut table = unsafe { <Table as Functions>::stubs() };
    table.rocblas_strmm = in_place;
    table.rocblas_strmm_outofplace = out_of_place;
    assert!(has_own_form(&table));
    install(&mut table);
    assert_eq!(call(&table), rocblas_status::rocblas_status_success);
}

#[test]
fn trmm_without_the_function_with_c_is_a_stub() {
    // SAFETY: only this test calls its functions.
    let mut table = unsafe { <Table as Functions>::stubs() };
    table.rocblas_strmm = in_place;
    assert!(!has_own_form(&table));
    install(&mut table);
    assert_eq!(call(&table), rocblas_status::rocblas_status_not_implemented);
}
