//! The devices that tests run on, and the kernels' targets for them.

use std::process::Command;

use crate::tools::{self, TARGETS};

/// The virtual devices that tests run on: one of each generation.
pub(crate) const VIRTUAL_DEVICES: [&str; 5] =
    ["vgpu:gfx1100", "vgpu:gfx90a", "vgpu:gfx942", "vgpu:gfx1030", "vgpu:gfx1201"];
/// Of them, one for each size of waves: those of every run. The others take a suite of their own, `devices`,
/// as most of the time of a run with them would go into compiling kernels.
pub(crate) const WAVE_SIZE_DEVICES: [&str; 2] = ["vgpu:gfx1100", "vgpu:gfx90a"];

/// The other processors that builds are for. Only the device tests of the kernels run on them, in the suite
/// `related`: they differ from one of the others in a few instructions.
pub(crate) fn related_devices() -> Vec<String> {
    let devices = kernel_build::DEFAULT_TARGETS.iter().map(|target| format!("vgpu:{target}"));
    devices.filter(|device| !VIRTUAL_DEVICES.contains(&device.as_str())).collect()
}

/// The targets of virtual devices.
pub(crate) fn targets_of(devices: &[impl AsRef<str>]) -> Vec<String> {
    devices.iter().map(|device| target_of(device.as_ref()).to_owned()).collect()
}

/// The target of a virtual device.
pub(crate) fn target_of(device: &str) -> &str {
    device.strip_prefix("vgpu:").unwrap_or(device)
}

/// Makes kernels be compiled for the devices of every run, or for all test devices if the command is for
/// another one, unless the command or the environment chooses targets. Each target takes minutes, and a
/// change of targets between steps recompiles the kernels.
pub(crate) fn for_test_devices(command: &mut Command) {
    let others = || VIRTUAL_DEVICES.iter().filter(|device| !WAVE_SIZE_DEVICES.contains(device));
    let is_for_another = command.get_envs().any(|(name, value)| {
        [variables::DEVICE, variables::HSA_DEVICE].iter().any(|variable| name == variable.name)
            && others().any(|device| value.is_some_and(|value| value == *device))
    });
    compile_for(command, if is_for_another { &VIRTUAL_DEVICES } else { &WAVE_SIZE_DEVICES });
}

/// Makes kernels be compiled for all test devices, unless the command or the environment chooses targets.
pub(crate) fn for_all_test_devices(command: &mut Command) {
    compile_for(command, &VIRTUAL_DEVICES);
}

fn compile_for(command: &mut Command, devices: &[&str]) {
    if tools::variable(TARGETS).is_none() && !command.get_envs().any(|(name, _)| name == TARGETS) {
        command.env(TARGETS, targets_of(devices).join(","));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_of_a_build_has_device_tests() {
        let mut tested = targets_of(&VIRTUAL_DEVICES);
        tested.extend(targets_of(&related_devices()));
        tested.sort_unstable();
        let mut built = kernel_build::DEFAULT_TARGETS.to_vec();
        built.sort_unstable();
        assert_eq!(tested, built);
    }

    #[test]
    fn every_size_of_waves_has_all_device_tests() {
        let is_wave64 = |device: &str| device.starts_with("vgpu:gfx9");
        for wave64 in [false, true] {
            let of = |devices: &[&str]| devices.iter().any(|device| is_wave64(device) == wave64);
            assert!(of(&VIRTUAL_DEVICES) && of(&WAVE_SIZE_DEVICES));
        }
        assert!(WAVE_SIZE_DEVICES.iter().all(|device| VIRTUAL_DEVICES.contains(device)));
    }

    #[test]
    fn kernels_are_compiled_for_the_devices_that_a_command_runs_on() {
        let compiled = |variable: Option<(&str, &str)>| {
            let mut command = Command::new("cargo");
            command.envs(variable);
            for_test_devices(&mut command);
            let found = command.get_envs().find(|(name, _)| *name == TARGETS).unwrap();
            found.1.unwrap().to_str().unwrap().to_owned()
        };
        if tools::variable(TARGETS).is_some() {
            // The environment chooses the targets.
            return;
        }
        let [few, all] =
            [&WAVE_SIZE_DEVICES[..], &VIRTUAL_DEVICES].map(|devices| targets_of(devices).join(","));
        for (variable, targets) in [
            (None, &few),
            (Some(("FERROCM_DEVICE", "vgpu:gfx90a")), &few),
            (Some(("FERROCM_DEVICE", "amdgpu")), &few),
            (Some(("FERROCM_DEVICE", "vgpu:gfx1201")), &all),
            (Some(("FERROCM_HSA_DEVICE", "vgpu:gfx942")), &all),
        ] {
            assert_eq!(&compiled(variable), targets, "{variable:?}");
        }
    }
}
