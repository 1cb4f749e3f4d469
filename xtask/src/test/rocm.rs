//! `cargo xtask test rocm`: tests on AMD's own libraries, which are fetched.

mod rccl;

use anyhow::Result;

use super::shared::{CHECK_VARIABLE, DEVICE_TESTS, Shared, execute};
use super::steps::{Only, Outcome, Step};
use super::vulkan;
use crate::dropin;
use crate::rocm::{Release, headers, lavapipe, sysroot};
use crate::test_devices::{VIRTUAL_DEVICES, WAVE_SIZE_DEVICES};
use crate::tools::WHOLE;

/// Integration tests in files with this name need AMD's libraries; nextest runs them once per release.
const LIBRARY_TESTS: &str = "rocm*";
/// The releases whose HIP loads the code objects of the device tests, which have version 6.
const DEVICE_TEST_RELEASES: [&str; 2] = ["6.4", "7.2"];
/// Compiled host code with its kernels, plain and compressed, and the releases whose HIP loads them.
const HOST_CODE_TESTS: &str = "package(host-code-test) and binary(launchers)";
const HOST_CODE_RELEASES: [&str; 3] = ["5.7", "6.4", "7.2"];
/// The device tests of `rocblas`, the releases whose rocBLAS they also run on, with the virtual devices that
/// Debian's has kernels for, and the variables for this.
const ROCBLAS_TESTS: &str = "package(ferrocm-rocblas) and binary(/^device/)";
const ROCBLAS_RELEASES: [(&str, &[&str]); 2] =
    [("6.4", &["vgpu:gfx1100", "vgpu:gfx90a", "vgpu:gfx1030"]), ("7.2", &VIRTUAL_DEVICES)];
const ROCBLAS_VARIABLES: [(&str, &str); 2] = [
    ("FERROCM_ROCBLAS", "amd"),
    // Kernels of rocBLAS read LDS beyond their allocation, and get 0, as on hardware.
    (CHECK_VARIABLE, ""),
];

/// The release of HIP for the tests of memory shared with Vulkan, on the first of these devices.
const VULKAN_RELEASE: &str = "7.2";

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Releases: 5.2, 5.7, 6.4 and 7.2, separated by commas or spaces, or all
    #[arg(value_name = "RELEASE", value_delimiter = ',', required = true)]
    releases: Vec<String>,
    #[command(flatten)]
    pub(super) only: Only,
}

pub(super) fn steps<'a>(options: &Options, shared: &'a Shared) -> Result<Vec<Step<'a>>> {
    let releases = sysroot::releases(&options.releases)?;
    Ok(releases.into_iter().flat_map(|release| of(release, shared)).collect())
}

/// Fetches a release's libraries, and runs the tests that load them, and the device tests on its HIP over the
/// virtual GPU.
fn of<'a>(release: &'static Release, shared: &'a Shared) -> Vec<Step<'a>> {
    let folder = sysroot::folder();
    let fetch = {
        let folder = folder.clone();
        move || {
            let sysroot = sysroot::make(release, &folder)?;
            println!("The libraries of ROCm {} are in {}", release.name, sysroot.folder().display());
            for line in &sysroot.differences {
                println!("note: not the package that these tests were written for: {line}");
            }
            Ok(Outcome::Passed)
        }
    };
    let test = {
        let folder = folder.clone();
        move || {
            let mut command = shared.nextest()?;
            command.arg("run").args(WHOLE).args(["--test", LIBRARY_TESTS, "--no-fail-fast"]);
            sysroot::apply(&sysroot::make(release, &folder)?, &mut command, None)?;
            execute(command)
        }
    };
    let mut steps = vec![
        Step::new(format!("libraries of ROCm {}", release.name), fetch),
        Step::new(format!("tests on ROCm {}", release.name), test),
    ];
    type Variables = &'static [(&'static str, &'static str)];
    let on_virtual = |what: &str, tests: String, device: &'static str, variables: Variables| {
        let folder = folder.clone();
        Step::new(format!("{what} on ROCm {} over {device}", release.name), move || {
            let hsa = dropin::hsa(false)?;
            let mut command = shared.nextest()?;
            command.arg("run").args(WHOLE).args(["--filterset", &tests, "--no-fail-fast"]);
            command.env("FERROCM_DEVICE", "amdgpu").env(variables::HSA_DEVICE.name, device);
            command.envs(variables.iter().copied());
            // AMD's run-time compilers lack some of HIP's types, which are in the headers of their release.
            command.env(headers::FOLDER_VARIABLE, shared.headers_folder()?);
            sysroot::apply(&sysroot::make(release, &folder)?, &mut command, Some(&hsa))?;
            execute(command)
        })
    };
    if DEVICE_TEST_RELEASES.contains(&release.name) {
        let tests = format!("package(ferrocm-hip) and {DEVICE_TESTS}");
        steps.extend(
            WAVE_SIZE_DEVICES.map(|device| on_virtual("device tests of hip", tests.clone(), device, &[])),
        );
    }
    if HOST_CODE_RELEASES.contains(&release.name) {
        let tests = HOST_CODE_TESTS.to_owned();
        steps.push(on_virtual("compiled host code", tests, WAVE_SIZE_DEVICES[0], &[]));
    }
    if release.name == VULKAN_RELEASE {
        let (folder, [_, mesa]) = (folder.clone(), &lavapipe::VERSIONS);
        let name =
            format!("memory shared with Vulkan on ROCm {} over {}", release.name, WAVE_SIZE_DEVICES[0]);
        steps.push(Step::new(name, move || {
            let mut command = shared.nextest()?;
            command.arg("run").args(WHOLE).args(["--test", vulkan::PROGRAM]);
            command.args(["--no-fail-fast"]).env("FERROCM_DEVICE", "amdgpu");
            command.env(variables::HSA_DEVICE.name, WAVE_SIZE_DEVICES[0]);
            let sysroot = sysroot::make(release, &folder)?;
            mesa.apply_in(&mut command, &folder, &sysroot, &dropin::hsa(false)?)?;
            execute(command)
        }));
    }
    for (_, devices) in ROCBLAS_RELEASES.iter().filter(|(name, _)| *name == release.name) {
        steps.extend(devices.iter().map(|device| {
            on_virtual("device tests of rocblas", ROCBLAS_TESTS.to_owned(), device, &ROCBLAS_VARIABLES)
        }));
    }
    if release.name == rccl::RELEASE {
        steps.extend(rccl::RUNS.iter().map(move |run| {
            let name = format!("tests of rccl on ROCm {} {}", release.name, run.what);
            Step::new(name, move || run.run(release).map(|()| Outcome::Passed))
        }));
    }
    steps
}
