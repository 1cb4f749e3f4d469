//! A C program that uses this project's RCCL and HIP, with AMD's header if `FERROCM_ROCM_HEADERS` has it.

mod support;

use std::path::Path;

use support::{HIP, PLACE, RCCL};
use test_support::program::Program;

/// The folder of headers, which `cargo xtask test` fetches.
const HEADERS: &str = "FERROCM_ROCM_HEADERS";
const DEVICES: &str = "vgpu:gfx1100?cus=1&memory=64MiB&count=4";

fn program() -> Program {
    let source = Path::new(PLACE.krate).join("tests/programs/rccl.c");
    let headers = std::env::var_os(HEADERS).filter(|folder| !folder.is_empty());
    let include = headers.map(|folder| Path::new(&folder).join("7.2/usr/include"));
    let include = include.filter(|folder| folder.join("rccl/rccl.h").is_file());
    let mut options = vec!["-D__HIP_PLATFORM_AMD__".to_owned()];
    match &include {
        Some(folder) => options.push(format!("-isystem{}", folder.display())),
        None => println!("without AMD's header: {HEADERS} names no folder that has it"),
    }
    let libraries = [RCCL.library(), HIP.library()];
    let linked = libraries.each_ref().map(|path| &**path);
    let program = Program::link_c_with(&source, PLACE, &options, &linked, libraries[1].clone());
    let folders = std::env::join_paths(libraries.iter().filter_map(|path| path.parent())).unwrap();
    program.variable("LD_LIBRARY_PATH", folders.to_str().unwrap())
}

#[test]
fn ranks_of_one_process_work_together() {
    let run = program().succeeds(DEVICES);
    assert_eq!((run.output.as_str(), run.error.as_str()), ("done\n", ""));
}

#[test]
fn ranks_of_processes_work_together() {
    let run = program().arguments(["processes"]).succeeds(DEVICES);
    assert_eq!((run.output.as_str(), run.error.as_str()), ("done\n", ""));
}
