//! The steps on libraries of others: AMD's, Open MPI and lavapipe, which are fetched.

use test_skip::Lack;

use super::{
    CHECK_VARIABLE, DEVICE_TESTS, MEASURE, Outcome, Shared, Step, VIRTUAL_DEVICES, WAVE_SIZE_DEVICES,
    execute, headers_folder, nextest_command, skips,
};
use crate::rocm::headers;
use crate::rocm::{Release, kernels, lavapipe, openmpi, rccl, sysroot, test_tools};
use crate::{dropin, tools};

/// Integration tests in files named so need AMD's libraries; nextest runs them once per release.
const LIBRARY_TESTS: &str = "rocm*";
/// The releases whose HIP loads the code objects that the device tests compile: of version 6.
const DEVICE_TEST_RELEASES: [&str; 2] = ["6.4", "7.2"];
/// Compiled host code with its kernels, plain and compressed, and the releases whose HIP loads them.
const HOST_CODE_TESTS: &str = "package(host-code-test) and binary(launchers)";
const HOST_CODE_RELEASES: [&str; 3] = ["5.7", "6.4", "7.2"];
/// The device tests of `rocblas`, the releases whose rocBLAS they run on, too, with the virtual devices that Debian's has kernels for, and
/// what tells them to.
const ROCBLAS_TESTS: &str = "package(ferrocm-rocblas) and binary(/^device/)";
const ROCBLAS_RELEASES: [(&str, &[&str]); 2] =
    [("6.4", &["vgpu:gfx1100", "vgpu:gfx90a", "vgpu:gfx1030"]), ("7.2", &VIRTUAL_DEVICES)];
const ROCBLAS_VARIABLES: [(&str, &str); 2] = [
    ("FERROCM_ROCBLAS", "amd"),
    // Kernels of rocBLAS read LDS beyond what they asked for, and get 0, as on hardware.
    (CHECK_VARIABLE, ""),
];

/// The integration test that decodes the kernels of rocBLAS.
const KERNEL_TEST: &str = "rocblas_kernels";

/// The tests of ranks that `mpirun` starts, and what names that program to them.
const MPI_TESTS: &str = "package(ferrocm-rccl) and test(/^mpirun::/)";
const MPIRUN_VARIABLE: &str = "FERROCM_TEST_MPIRUN";

/// The test of memory that Vulkan and HIP share.
const VULKAN_TEST: &str = "vulkan";
/// The release whose HIP they run on as well, on the first of these.
const VULKAN_RELEASE: &str = "7.2";

/// Fetches a release's libraries, and runs the tests that load them, and the device tests on its HIP over the virtual GPU.
pub(super) fn library_steps<'a>(release: &'static Release, shared: &'a Shared) -> Vec<Step<'a>> {
    let folder = sysroot::folder();
    let fetch = {
        let folder = folder.clone();
        move || {
            let sysroot = sysroot::make(release, &folder)?;
            println!("The libraries of ROCm {} are in {}", release.name, sysroot.folder().display());
            for line in &sysroot.differences {
                println!("note: not the package that these tests were made with: {line}");
            }
            Ok(Outcome::Passed)
        }
    };
    let test = {
        let folder = folder.clone();
        move || {
            let mut command = nextest_command(shared)?;
            command.args(["run", "--workspace", "--test", LIBRARY_TESTS, "--no-fail-fast"]);
            sysroot::make(release, &folder)?.apply(&mut command, None)?;
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
            let mut command = nextest_command(shared)?;
            // Of the whole workspace, as in the other steps: for one package, the virtual GPU would be compiled once more.
            command.args(["run", "--workspace", "--filterset", &tests, "--no-fail-fast"]);
            command.env("FERROCM_DEVICE", "amdgpu").env(dropin::HSA_DEVICE_VARIABLE, device);
            command.envs(variables.iter().copied());
            // AMD's run-time compilers lack some of HIP's types, which the headers of their release have.
            command.env(headers::FOLDER_VARIABLE, headers_folder(shared)?);
            sysroot::make(release, &folder)?.apply(&mut command, Some(&hsa))?;
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
            let mut command = nextest_command(shared)?;
            command.args(["run", "--workspace", "--features", MEASURE, "--test", VULKAN_TEST]);
            command.args(["--no-fail-fast"]).env("FERROCM_DEVICE", "amdgpu");
            command.env(dropin::HSA_DEVICE_VARIABLE, WAVE_SIZE_DEVICES[0]);
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

/// Fetches Open MPI, and runs the tests of ranks that it starts.
pub(super) fn mpi_steps<'a>(shared: &'a Shared) -> Vec<Step<'a>> {
    let fetch = || {
        println!("{}", openmpi::mpirun(&sysroot::folder())?.display());
        Ok(Outcome::Passed)
    };
    let test = || {
        let mut command = nextest_command(shared)?;
        // Of the whole workspace, as in the other steps: for one package, the virtual GPU would be compiled once more.
        command.args(["run", "--workspace", "--test", "processes", "--filterset", MPI_TESTS]);
        command.args(["--run-ignored", "only", "--no-fail-fast", "--test-threads", "1"]);
        command.env(MPIRUN_VARIABLE, openmpi::mpirun(&sysroot::folder())?).env_remove("FERROCM_DEVICE");
        execute(command)
    };
    vec![Step::new("Open MPI", fetch), Step::new("ranks under mpirun", test)]
}

/// Fetches lavapipe, and runs the tests of memory that it shares with virtual GPUs, with waves of 32 and of 64 lanes.
pub(super) fn vulkan_steps<'a>(shared: &'a Shared) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    for version in &lavapipe::VERSIONS {
        steps.push(Step::new(format!("lavapipe of Mesa {}", version.mesa), || {
            println!("{}", version.fetch(&sysroot::folder())?.display());
            Ok(Outcome::Passed)
        }));
        steps.extend(WAVE_SIZE_DEVICES.map(|device| {
            Step::new(format!("{device} and Vulkan of Mesa {}", version.mesa), move || {
                // The test is the only one of that name. Of the whole workspace, as in the other steps.
                let mut command = nextest_command(shared)?;
                command.args(["run", "--workspace", "--features", MEASURE, "--test", VULKAN_TEST]);
                command.args(["--no-fail-fast"]).env("FERROCM_DEVICE", device);
                version.apply(&mut command, &sysroot::folder())?;
                execute(command)
            })
        }));
    }
    steps
}

/// Fetches a release's rocBLAS, and runs the test that decodes its kernels.
pub(super) fn kernel_steps<'a>(release: &'static Release, shared: &'a Shared) -> [Step<'a>; 2] {
    let folder = tools::target_folder().join("rocblas-kernels");
    let fetch = {
        let folder = folder.clone();
        move || {
            println!("The kernels are in {}", kernels::make(release, &folder)?.display());
            Ok(Outcome::Passed)
        }
    };
    let test = move || {
        let mut command = nextest_command(shared)?;
        // Of the whole workspace, as in the other steps: for one package, the virtual GPU would be compiled once more.
        command.args(["run", "--workspace", "--test", KERNEL_TEST, "--no-capture"]);
        command.env(kernels::FOLDER_VARIABLE, kernels::make(release, &folder)?);
        test_tools::offer(&mut command, &test_tools::folder()?);
        skips::require(&mut command, &[Lack::Tool]);
        execute(command)
    };
    [
        Step::new(format!("rocBLAS's kernels of ROCm {}", release.name), fetch),
        Step::new(format!("decoding rocBLAS's kernels of ROCm {}", release.name), test),
    ]
}
