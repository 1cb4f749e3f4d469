//! The program `ferrocm`, for the tests of this crate.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ferrocm::main()
}
