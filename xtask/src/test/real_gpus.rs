//! The device tests on this machine's own GPUs.

use std::path::Path;

use anyhow::{Result, bail};
use test_skip::devices::Exception;

use super::shared::{DEVICE_TESTS, Shared, execute};
use super::steps::Outcome;
use crate::device_tests::EXCEPTIONS;
use crate::package_tests::packages;
use crate::tools;

/// GPUs of a vendor.
#[derive(Debug, PartialEq, Eq)]
struct Vendor {
    name: &'static str,
    /// A file that exists if the vendor's driver does.
    driver: &'static str,
    /// The first of them.
    device: &'static str,
    is_nvidia: bool,
}

const VENDORS: [Vendor; 2] = [
    Vendor { name: "AMD", driver: tools::AMD_DRIVER, device: "amdgpu:0", is_nvidia: false },
    Vendor { name: "NVIDIA", driver: "/dev/nvidiactl", device: "cuda:0", is_nvidia: true },
];

/// The tests of NVIDIA's GPUs that are no device tests.
const NVIDIA_TESTS: &str = "(package(ferrocm-hip) & binary(nvidia))";

/// Runs the tests on a GPU of each vendor.
pub(super) fn run(shared: &Shared) -> Result<Outcome> {
    for vendor in of_this_machine(Path::exists)? {
        let left_out: Vec<&Exception<'_>> =
            EXCEPTIONS.iter().filter(|row| row.holds(vendor.device, true)).collect();
        for row in &left_out {
            println!("left out on {}: {} {}: {}", vendor.device, row.package, row.test, row.reason);
        }
        println!("The tests on {} begin.", vendor.device);
        let mut command = shared.tests(&filter(vendor, &left_out), Some(vendor.device))?;
        if vendor.is_nvidia {
            // The kernels' own crate makes NVIDIA's code on request.
            command.args(["--features", "ferrocm-kernels/nvidia"]);
        }
        execute(command)?;
    }
    Ok(Outcome::Passed)
}

/// The vendors of this machine's GPUs.
fn of_this_machine(exists: impl Fn(&Path) -> bool) -> Result<Vec<&'static Vendor>> {
    let found: Vec<_> = VENDORS.iter().filter(|vendor| exists(Path::new(vendor.driver))).collect();
    if found.is_empty() {
        let missing = VENDORS.map(|vendor| format!("{} ({})", vendor.driver, vendor.name));
        bail!("no GPU here: there is neither {}", missing.join(" nor "));
    }
    Ok(found)
}

/// cargo-nextest's expression for the tests on a vendor's GPU. The virtual GPU's own tests, and those of code
/// for AMD's targets, are not about NVIDIA's.
fn filter(vendor: &Vendor, left_out: &[&Exception<'_>]) -> String {
    let all = match vendor.is_nvidia {
        true => {
            let packages: Vec<_> = packages().map(|package| format!("package({package})")).collect();
            format!("({DEVICE_TESTS} & ({})) | {NVIDIA_TESTS}", packages.join(" | "))
        }
        false => DEVICE_TESTS.to_owned(),
    };
    let rows: Vec<_> = left_out.iter().map(|row| row.filter()).collect();
    if rows.is_empty() { all } else { format!("({all}) - ({})", rows.join(" | ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_gpu_is_an_error_that_says_what_was_looked_for() {
        let error = of_this_machine(|_| false).unwrap_err().to_string();
        assert_eq!(error, "no GPU here: there is neither /dev/kfd (AMD) nor /dev/nvidiactl (NVIDIA)");
        let found = of_this_machine(|path| path == Path::new("/dev/nvidiactl")).unwrap();
        assert_eq!(found.iter().map(|vendor| vendor.device).collect::<Vec<_>>(), ["cuda:0"]);
        assert_eq!(of_this_machine(|_| true).unwrap().len(), 2);
    }

    #[test]
    fn what_a_device_cannot_run_is_left_out() {
        let [amd, nvidia] = &VENDORS;
        assert_eq!(filter(amd, &[]), "binary(/^device/)");
        let left_out: Vec<&Exception<'_>> = EXCEPTIONS.iter().take(1).collect();
        let filter = filter(nvidia, &left_out);
        assert!(filter.contains("binary(nvidia)") && filter.contains("package(cudarc)"), "{filter}");
        assert_eq!(filter.contains(") - ("), !left_out.is_empty(), "{filter}");
    }
}
