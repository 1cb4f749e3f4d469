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

/// Half of an array is filled; an argument says which row is read, between texels if it is a half.
const UNWRITTEN: (&str, &str) = ("unwritten.cu", include_str!("../programs/unwritten.cu"));

#[test]
fn a_filter_over_texels_that_nobody_wrote_is_reported() {
    let folder = folder_with(&[UNWRITTEN]);
    succeeds(&mut nvcc(folder.path(), "-arch=gfx1100 -std=c++17 unwritten.cu -o unwritten"));
    // Rows 0 and 1 were written. A filter of rows 1 and 2 depends on what was not.
    for (place, is_known) in [("0.5", true), ("1.0", true), ("1.5", true), ("1.75", false), ("2.5", false)] {
        let mut program = command(folder.path().join("unwritten"), folder.path());
        program.env_remove("FERROCM_LIBRARIES").env("FERROCM_VGPU_CHECK", "all");
        let output = program.arg(place).env("FERROCM_DEVICE", DEVICES[0]).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), is_known, "{place}: {err}");
        assert_eq!(err.contains("depends on a value that nobody wrote"), !is_known, "{place}: {err}");
    }
}
