//! The driver's API of CUDA, with addresses that are numbers.

use crate::nvcc::nvcc;
use crate::{DEVICES, command, folder_with, succeeds};

/// What a program prints.
fn output(name: &str, text: &str) -> String {
    let folder = folder_with(&[(name, text)]);
    succeeds(&mut nvcc(folder.path(), &format!("-arch=gfx1100 {name} -o program -lcuda")));
    let mut program = command(folder.path().join("program"), folder.path());
    succeeds(program.env_remove("FERROCM_LIBRARIES").env("FERROCM_DEVICE", DEVICES[0]))
}

#[test]
fn addresses_of_the_drivers_api_are_numbers() {
    assert_eq!(output("addresses.cu", include_str!("../programs/addresses.cu")), "PASSED\n");
}

#[test]
fn functions_of_the_driver_have_types_of_pointers() {
    let text = include_str!("../programs/typedefs.cu");
    assert_eq!(output("typedefs.cu", text), "kernel 5\nPASSED\n");
}
