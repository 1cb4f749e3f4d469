//! Textures and surfaces of programs of `ferrocm nvcc`.

use crate::nvcc::nvcc;
use crate::{DEVICES, command, folder_with, succeeds};

const PROGRAM: (&str, &str) = ("images.cu", include_str!("../programs/images.cu"));

#[test]
fn textures_and_surfaces_are_as_in_a_model() {
    let folder = folder_with(&[PROGRAM]);
    let targets: [(&str, &[&str]); 2] = [("gfx1100", &[]), ("gfx90a", &["no filters between slices"])];
    for ((target, arguments), device) in targets.into_iter().zip(DEVICES) {
        let line = format!("-arch={target} -std=c++17 images.cu -o {target}");
        succeeds(&mut nvcc(folder.path(), &line));
        let mut program = command(folder.path().join(target), folder.path());
        program.args(arguments).env_remove("FERROCM_LIBRARIES").env("FERROCM_DEVICE", device);
        assert_eq!(succeeds(&mut program), "PASSED\n", "{device}");
    }
}
