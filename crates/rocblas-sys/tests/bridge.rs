//! `trmm` on fake libraries, made by a C compiler, from before and after it got its third matrix.

use std::path::Path;
use std::process::Command;
use std::ptr::without_provenance_mut;

use rocblas_sys::*;
use test_skip::{Lack, skip};

/// The common part of both libraries. A status of 1000 means that the function that overwrites B was called.
const COMMON: &str = r#"
#include <stdint.h>
typedef void *pointer;
int rocblas_create_handle(pointer *handle) { return 2; }
int rocblas_get_version_string(char *text, uint64_t size) {
    const char *from = VERSION;
    while ((*text++ = *from++)) {
    }
    return 0;
}
#define ARGUMENTS pointer handle, int side, int fill, int operation, int diagonal, int m, int n, \
    const float *alpha, const float *a, int lda
#define EXPECTED ((uintptr_t)handle == 1 && side == 141 && fill == 121 && operation == 112 && diagonal == 132 \
    && m == 2 && n == 3 && (uintptr_t)alpha == 4 && (uintptr_t)a == 5 && lda == 6)
"#;

const OLD: &str = r#"
int rocblas_strmm(ARGUMENTS, float *b, int ldb) { return 1000; }
int rocblas_dtrmm(ARGUMENTS, double *b, int ldb) { return 1000; }
int rocblas_strmm_outofplace(ARGUMENTS, const float *b, int ldb, float *c, int ldc) {
    return EXPECTED && (uintptr_t)b == 7 && ldb == 8 && (uintptr_t)c == 9 && ldc == 10 ? 0 : 1001;
}
"#;

const NEW: &str = r#"
int rocblas_strmm(ARGUMENTS, const float *b, int ldb, float *c, int ldc) {
    return EXPECTED && (uintptr_t)b == 7 && ldb == 8 && (uintptr_t)c == 9 && ldc == 10 ? 0 : 1001;
}
"#;

/// A library of a version. `None`, with the reason printed, if it cannot be made.
fn library(version: &str, functions: &str) -> Option<&'static Table> {
    if cfg!(miri) || !cfg!(target_os = "linux") {
        skip(Lack::Machine, "the fake libraries are made for Linux, and Miri cannot open them");
        return None;
    }
    // The library stays open; its file is not needed any more.
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (source, library) = (folder.path().join("fake.c"), folder.path().join("libfake.so"));
    std::fs::write(&source, format!("{COMMON}{functions}")).expect("the source can be written");
    if let Err(error) = compile(version, &source, &library) {
        skip(Lack::Tool, format_args!("no C compiler: cc: {error}"));
        return None;
    }
    // SAFETY: the file is what the compiler has just made; it has no initialisers.
    Some(unsafe { Table::load_from(&library) }.expect("the library opens"))
}

fn compile(version: &str, source: &Path, library: &Path) -> std::io::Result<()> {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-shared", "-fPIC", "-w"]).arg(format!("-DVERSION=\"{version}\""));
    let output = compiler.arg("-o").args([library, source]).output()?;
    assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// A pointer that is only compared.
fn at<T>(address: usize) -> *mut T {
    without_provenance_mut(address)
}

fn call(table: &Table) -> rocblas_status {
    // SAFETY: the fakes and the stubs only compare their arguments.
    unsafe {
        (table.rocblas_strmm)(
            at(1),
            rocblas_side::rocblas_side_left,
            rocblas_fill::rocblas_fill_upper,
            rocblas_operation::rocblas_operation_transpose,
            rocblas_diagonal::rocblas_diagonal_unit,
            2,
            3,
            at(4),
            at(5),
            6,
            at(7),
            8,
            at(9),
            10,
        )
    }
}

#[test]
fn trmm_of_an_old_library_is_its_function_with_three_matrices() {
    let Some(table) = library("2.47.0.", OLD) else { return };
    assert!(table.has("rocblas_strmm"));
    assert_eq!(call(table), rocblas_status::rocblas_status_success);
    // A caller of the newest trmm does not expect it to overwrite B.
    assert!(!table.has("rocblas_dtrmm"), "there is no function with three matrices for it");
}

#[test]
fn trmm_of_a_new_library_is_its_own() {
    let Some(table) = library("4.0.0.", NEW) else { return };
    assert!(table.has("rocblas_strmm"));
    assert_eq!(call(table), rocblas_status::rocblas_status_success);
}

#[test]
fn trmm_of_an_old_library_without_the_other_function_is_a_stub() {
    let Some(table) = library("2.36.0.", "int rocblas_strmm(ARGUMENTS, float *b, int ldb) { return 1000; }")
    else {
        return;
    };
    assert!(!table.has("rocblas_strmm"));
    assert_eq!(call(table), rocblas_status::rocblas_status_not_implemented);
}
