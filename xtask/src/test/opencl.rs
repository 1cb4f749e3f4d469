//! `cargo xtask test opencl`: AMD's OpenCL over virtual GPUs, tested with pyopencl's own tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use setup::run;
use shared_commands::libraries::Own;
use shared_commands::rocm::program::Place;
use shared_commands::rocm::run::variables;
use tempfile::TempDir;

use super::steps::{Outcome, Step};
use crate::rocm::{self, additions, sysroot};
use crate::test_devices::{WAVE_SIZE_DEVICES, target_of};
use crate::{dropin, tools};

/// The release of OpenCL.
const RELEASE: &str = "7.2";
/// The addition to its sysroot with OpenCL, Python, pyopencl and pytest.
const ADDITION: &str = "opencl";
/// pyopencl's version there. Its tests are in the source package of the same version, on PyPI.
const VERSION: &str = "2025.1";
/// Tests that fail, and why.
const EXPECTED: [(&str, &str); 8] = [
    (
        "test_array.py::test_xdg_cache_home",
        "looks for pyopencl's own cache where Debian's pyopencl has none; no device takes part",
    ),
    (
        "test_clmath.py::test_atan",
        "is off by 2 units in the last place; OpenCL allows 5, and the test less than 2",
    ),
    ("test_wrapper.py::test_enqueue_copy_array", IMAGES),
    ("test_wrapper.py::test_enqueue_copy_array_2", IMAGES),
    ("test_wrapper.py::test_get_info", IMAGES),
    ("test_wrapper.py::test_image_2d", IMAGES),
    ("test_wrapper.py::test_image_3d", IMAGES),
    ("test_wrapper.py::test_int_ptr", IMAGES),
];
const IMAGES: &str = "makes an image, because OpenCL of ROCm 7.2 says that there are images";

/// Fetches everything, queries the devices, and runs the tests on each.
pub(super) fn steps<'a>() -> Vec<Step<'a>> {
    let fetch = Step::new("AMD's OpenCL and pyopencl's tests", || {
        println!("{}", tests(&tools::target_folder().join(ADDITION))?.display());
        place().map(|_| Outcome::Passed)
    });
    let each = WAVE_SIZE_DEVICES.into_iter().flat_map(|device| {
        [
            Step::new(format!("what OpenCL says of {device}"), move || describe(device)),
            Step::new(format!("pyopencl's tests on {device}"), move || run_tests(device)),
        ]
    });
    std::iter::once(fetch).chain(each).collect()
}

/// The sysroot with the addition, preceded by the virtual GPU's libraries.
fn place() -> Result<Place> {
    let release = sysroot::releases(&[RELEASE.to_owned()])?;
    let release = release.first().context("the table of releases has it")?;
    let sysroot = sysroot::make(release, &sysroot::folder())?;
    let addition = additions::named(&[ADDITION.to_owned()], RELEASE)?;
    let addition = addition.first().context("the table of additions has it")?;
    let tree = addition.make(&sysroot)?;
    Ok(rocm::place(sysroot, vec![tree], dropin::before_amds(false, Own::NONE)?))
}

/// A command in this place, on a device.
fn command(place: &Place, program: &str, device: &str) -> Result<Command> {
    let mut command = place.command(&place.find(program.as_ref())?)?;
    command.envs(variables(Some(device), Own::NONE));
    Ok(command)
}

/// Checks that the device exists and that kernels get no images. (`CL_DEVICE_IMAGE_SUPPORT` is still true:
/// OpenCL of ROCm 7.2 asks its compiler, which knows only the target.)
fn describe(device: &str) -> Result<Outcome> {
    let text = run::capture(&mut command(&place()?, "clinfo", device)?)?;
    for (name, expected) in [
        ("Number of devices", "1"),
        ("Device Name", target_of(device)),
        ("Max number of read image args", "0"),
        ("Max number of read/write image args", "0"),
    ] {
        let values: BTreeSet<&str> = text.lines().filter_map(|line| value(line, name)).collect();
        if !values.iter().any(|value| value.split(':').next() == Some(expected)) {
            bail!("clinfo says \"{name}\" is {values:?}, and not {expected}");
        }
    }
    Ok(Outcome::Passed)
}

/// The value in a line of clinfo for a name.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.trim_start().strip_prefix(name)?;
    rest.starts_with("  ").then(|| rest.trim())
}

fn run_tests(device: &str) -> Result<Outcome> {
    let tests = tests(&tools::target_folder().join(ADDITION))?;
    let mut pytest = command(&place()?, "python3", device)?;
    pytest.args(["-m", "pytest", "-p", "no:cacheprovider", "--quiet", "-rfE", "--tb=line", "."]);
    // Without the cache, programs from an earlier executor or compiler are compiled again.
    pytest.env("PYOPENCL_NO_CACHE", "1").current_dir(tests);
    let output = pytest.output().with_context(|| format!("cannot start {}", run::describe(&pytest)))?;
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    // The last line, pytest's summary.
    if !text.lines().any(|line| line.contains(" passed")) {
        bail!("pytest did not run: {}", String::from_utf8_lossy(&output.stderr));
    }
    let surprises = surprises(&text, &EXPECTED);
    if !surprises.is_empty() {
        bail!("not as expected:\n  {}", surprises.join("\n  "));
    }
    Ok(Outcome::Passed)
}

/// The differences of pytest's summary from the expectations.
fn surprises(text: &str, expected: &[(&str, &str)]) -> Vec<String> {
    let failed = |line: &str| {
        let line = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?;
        // The text in brackets names the device.
        Some(line.split(['[', ' ']).next().unwrap_or(line).trim_start_matches("./").to_owned())
    };
    let failed: BTreeSet<String> = text.lines().filter_map(failed).collect();
    let known = |name: &String| expected.iter().any(|(expected, _)| expected == name);
    let new = failed.iter().filter(|name| !known(name)).map(|name| format!("{name} fails"));
    let gone = expected.iter().filter(|(name, _)| !failed.contains(*name));
    new.chain(gone.map(|(name, why)| format!("{name} passes, and was expected to fail: {why}"))).collect()
}

/// The folder of pyopencl's tests, fetched below `folder` if missing.
fn tests(folder: &Path) -> Result<PathBuf> {
    let name = format!("pyopencl-{VERSION}");
    let place = folder.join(&name);
    if !place.is_dir() {
        fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        let work = TempDir::new_in(folder).context("a folder for a Python package")?;
        let python = |arguments: &[&str]| {
            let mut command = Command::new("python3");
            command.arg("-m").args(arguments).current_dir(work.path());
            command
        };
        let spec = format!("pyopencl=={VERSION}");
        let fetch =
            ["pip", "download", "--quiet", "--no-deps", "--no-binary", "pyopencl", "--dest", ".", &spec];
        run::capture(&mut python(&fetch)).with_context(|| {
            format!("fetch the sources of {spec}; that takes Python with pip (`apt-get install python3-pip`)")
        })?;
        let archive = format!("{name}.tar.gz");
        run::capture(&mut python(&["tarfile", "-e", &archive, "unpacked"])).context("unpack the sources")?;
        let unpacked = work.path().join("unpacked").join(&name);
        fs::rename(&unpacked, &place).with_context(|| format!("{archive} has no folder {name}"))?;
    }
    Ok(place.join("test"))
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn failures_are_compared_with_those_that_are_expected() {
        let text = "..F.E\nFAILED test_a.py::test_one[<device x>] - RuntimeError: why\nERROR ./test_b.py::test_two\n1 failed, 3 passed\n";
        let expected = [("test_a.py::test_one", "a reason"), ("test_b.py::test_three", "another")];
        let found = surprises(text, &expected);
        let told =
            ["test_b.py::test_two fails", "test_b.py::test_three passes, and was expected to fail: another"];
        assert_eq!(found, told);
        assert_eq!(surprises("5 passed\n", &[]), [""; 0]);
    }

    #[test]
    fn clinfos_lines_are_read_by_their_names() {
        assert_eq!(
            value("  Image support                                   No", "Image support"),
            Some("No")
        );
        assert_eq!(
            value("  Device Name        gfx90a:sramecc+:xnack-", "Device Name"),
            Some("gfx90a:sramecc+:xnack-")
        );
        assert_eq!(value("  Device Name Board  x", "Device Name"), None);
    }
}
