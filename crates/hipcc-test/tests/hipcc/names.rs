//! The names of CUDA's runtime and driver API: each has a state, which a page lists and compilers judge.

mod data;
mod page;
mod sources;
mod state;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::nvcc::{nvcc, told};
use crate::{DEVICES, command, folder_with, succeeds};
use state::{State, States};

/// What programs ask of `CUDART_VERSION`.
const VERSIONS: [&str; 2] = ["12080", "13000"];
const PAGE: &str = "docs/generated/cuda-names.md";

fn read(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn program(text: &str) -> TempDir {
    folder_with(&[("names.cu", text), ("names.cpp", text), ("names.c", text)])
}

#[test]
fn the_page_has_the_state_of_each_name() {
    let names = data::names();
    let text = page::text(&names, &States::of(&names));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    if std::env::var_os("FERROCM_BLESS").is_some() {
        fs::write(&file, &text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(found == text, "{PAGE} is not what the headers say; FERROCM_BLESS=1 writes it");
}

#[test]
fn every_name_compiles_with_cudas_number_and_size_for_both_versions() {
    let names = data::names();
    let folder = program(&sources::mentions(&names, &States::of(&names), sources::Language::Cuda));
    for version in VERSIONS {
        let line = format!("-arch=gfx1100 -DCUDART_VERSION={version} -c names.cu -o names.o");
        succeeds(&mut nvcc(folder.path(), &line));
    }
}

#[test]
fn names_of_the_host_compile_as_plain_c_and_cpp() {
    let names = data::names();
    let states = States::of(&names);
    for (language, file) in [(sources::Language::C, "names.c"), (sources::Language::Cpp, "names.cpp")] {
        let folder = program(&sources::mentions(&names, &states, language));
        for version in VERSIONS {
            let line = format!("-DCUDA_VERSION={version} -c {file} -o names.o");
            succeeds(&mut nvcc(folder.path(), &line));
        }
    }
}

#[test]
fn functions_that_are_not_supported_say_so() {
    let names = data::names();
    let states = States::of(&names);
    let folder = program(&sources::refused(&states));
    succeeds(&mut nvcc(folder.path(), "-arch=gfx1100 names.cu -o names"));
    let mut run = command(folder.path().join("names"), folder.path());
    assert_eq!(succeeds(run.env("FERROCM_DEVICE", DEVICES[0])).trim(), "PASSED");
}

#[test]
fn what_cannot_be_declared_is_an_error_with_its_reason() {
    let names = data::names();
    let states = States::of(&names);
    let unavailable: Vec<(&str, &str)> = names
        .iter()
        .filter_map(|name| match states.get(&name.name) {
            State::Error(reason) if name.header == "cuda_device_runtime_api.h" => {
                Some((name.name.as_str(), reason.as_str()))
            }
            _ => None,
        })
        .collect();
    assert!(unavailable.len() > 5);
    let uses: String = unavailable
        .iter()
        .map(|(name, _)| format!("__device__ auto f_{name}() {{ return &{name}; }}\n"))
        .collect();
    let error = told(&mut nvcc(program(&uses).path(), "-arch=gfx1100 -c names.cu"), false);
    for (name, reason) in unavailable {
        assert!(error.contains(&format!("'{name}' is unavailable: {reason}")), "{name}: {error}");
    }
    for header in state::ERROR_HEADERS {
        let folder = program(&format!("#include <{header}>\n"));
        let error = told(&mut nvcc(folder.path(), "-arch=gfx1100 -c names.cu"), false);
        assert!(error.contains(&format!("{header} has no counterpart")), "{error}");
    }
}

#[test]
fn functions_made_of_hips_do_what_cuda_says() {
    let text = read("crates/hipcc-test/tests/programs/names.cu");
    for version in VERSIONS {
        let folder = program(&text);
        succeeds(&mut nvcc(
            folder.path(),
            &format!("-arch=gfx1100 -DCUDART_VERSION={version} names.cu -o names"),
        ));
        let mut run = command(folder.path().join("names"), folder.path());
        assert_eq!(succeeds(run.env("FERROCM_DEVICE", DEVICES[0])).trim(), "PASSED");
    }
}

#[test]
fn programs_may_have_names_that_only_hip_has() {
    let folder = program(&read("crates/hipcc-test/tests/programs/own_hip_names.cu"));
    succeeds(&mut nvcc(folder.path(), "-arch=gfx1100 -Xcompiler -Wall,-Werror -c names.cu"));
}
