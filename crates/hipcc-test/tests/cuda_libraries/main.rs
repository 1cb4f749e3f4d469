//! The headers and the code of CUDA's libraries that are made from tables: each is what the tables say, and
//! `FERROCM_BLESS=1` writes it.

mod blas;
mod declare;
mod nccl;
mod page;
mod parse;

use std::fs;
use std::path::Path;

/// The folder of the sources of nvcc's libraries.
const FOLDER: &str = "crates/setup/src/nvcc/libraries";

/// Compares a file with what it has to be, or writes it.
fn is_written(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("FERROCM_BLESS").is_some() {
        fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(found == text, "{path} is not what the tables say; FERROCM_BLESS=1 writes it");
}

#[test]
fn headers_and_wrappers_are_what_the_tables_say() {
    let rows = blas::rows();
    is_written(&format!("{FOLDER}/include/ferrocm_cublas.h"), &blas::header(&rows));
    is_written(&format!("{FOLDER}/cublas_calls.h"), &blas::calls(&rows));
    is_written(&format!("{FOLDER}/cublas_wrappers.h"), &blas::wrappers(&rows));
    is_written(&format!("{FOLDER}/include/ferrocm_cublaslt.h"), &blas::lt_header());
    is_written(&format!("{FOLDER}/include/nccl.h"), &nccl::header());
    is_written(&format!("{FOLDER}/nccl.txt"), &nccl::names());
    is_written("docs/generated/cuda-libraries.md", &page::text(&rows));
}
