//! The program `ferrocm`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ferrocm::main()
}
