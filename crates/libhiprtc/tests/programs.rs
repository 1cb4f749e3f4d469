//! A C program that compiles, links and launches kernels at run time, with this project's hiprtc and HIP.

mod support;

use std::path::Path;

use support::{HIP, HIPRTC, PLACE};
use test_support::program::Program;

const DEVICES: &str = "vgpu:gfx1100?cus=1&memory=64MiB";

fn program() -> Program {
    let source = Path::new(PLACE.krate).join("tests/programs/hiprtc.c");
    let libraries = [HIPRTC.library(), HIP.library()];
    let linked = libraries.each_ref().map(|path| &**path);
    let program = Program::link_c_with(&source, PLACE, &[], &linked, libraries[1].clone());
    let folders = std::env::join_paths(libraries.iter().filter_map(|path| path.parent())).unwrap();
    program.variable("LD_LIBRARY_PATH", folders.to_str().unwrap())
}

#[test]
fn kernels_are_compiled_linked_and_launched_by_a_c_program() {
    let run = program().succeeds(DEVICES);
    assert_eq!((run.output.as_str(), run.error.as_str()), ("done\n", ""));
}

#[test]
fn a_variable_that_says_no_limit_is_told_and_every_function_an_error() {
    let run = program().arguments(["broken"]).variable("FERROCM_RTC_MEMORY", "much").succeeds(DEVICES);
    assert_eq!(run.output, "done\n");
    assert!(run.error.contains("FERROCM_RTC_MEMORY") && run.error.contains("4GiB"), "{}", run.error);
}

#[test]
fn a_compiler_at_its_limit_is_ended_and_the_log_says_so() {
    let run = program().arguments(["endless"]).variable("FERROCM_RTC_TIMEOUT", "2").succeeds(DEVICES);
    assert!(
        run.output.contains("time limit") && run.output.contains("FERROCM_RTC_TIMEOUT"),
        "{}",
        run.output
    );
}
