//! The driver's API of CUDA, with addresses that are numbers.

use crate::nvcc::nvcc;
use crate::{DEVICES, command, folder_with, succeeds};

const PROGRAM: (&str, &str) = ("addresses.cu", include_str!("../programs/addresses.cu"));

#[test]
fn addresses_of_the_drivers_api_are_numbers() {
    let folder = folder_with(&[PROGRAM]);
    succeeds(&mut nvcc(folder.path(), "-arch=gfx1100 addresses.cu -o addresses -lcuda"));
    let mut program = command(folder.path().join("addresses"), folder.path());
    program.env_remove("FERROCM_LIBRARIES").env("FERROCM_DEVICE", DEVICES[0]);
    assert_eq!(succeeds(&mut program), "PASSED\n");
}
