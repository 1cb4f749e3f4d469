//! Which compiler a program goes to, for which target, with which options: NVRTC's options, in the words of
//! AMD's compiler if it is that one.

use device_compiler::nvrtc::{Options, translate};
use hip::TargetId;
use hip::code_object::cuda_arch::cubin_runs_on;

/// How a program is compiled.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Whether NVIDIA's compiler compiles it, else AMD's.
    pub(super) by_nvidia: bool,
    pub(super) target: TargetId,
    /// Options for that compiler, without the target.
    pub(super) options: Vec<String>,
}

/// Why a program is not compiled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is neither a device nor an architecture.
    NoTarget,
    /// The architecture is none of the compiler's.
    Architecture(String),
}

/// The compiler is that of the device, otherwise that of the architecture that the options name. `device` is
/// the device's target, and whether it is NVIDIA's.
///
/// For AMD's GPUs, NVIDIA's architectures have no effect. For NVIDIA's, the options stay as they are, except
/// that a program for another GPU than the device becomes PTX, as `nvrtcGetPTX` gives it; the driver compiles
/// that if the device can run it.
pub(super) fn plan(given: &[String], device: Option<(bool, &TargetId)>) -> Result<Plan, Refusal> {
    let (named, rest) = for_nvidia(given);
    let by_nvidia = match (device, &named) {
        (Some((is_nvidia, _)), _) => is_nvidia,
        (None, Some(name)) => !name.starts_with("gfx"),
        (None, None) => return Err(Refusal::NoTarget),
    };
    let device = device.map(|(_, target)| target);
    let of_device = || device.cloned().ok_or(Refusal::NoTarget);
    if by_nvidia {
        let target = match named {
            Some(name) => TargetId::nvidia(&on_device(name, device))
                .map_err(|error| Refusal::Architecture(error.to_string()))?,
            None => of_device()?,
        };
        return Ok(Plan { by_nvidia, target, options: rest });
    }
    let Options { target, options } = translate(given);
    let target = match target {
        Some(name) => name.parse().map_err(|error| Refusal::Architecture(format!("{name}: {error}")))?,
        None => of_device()?,
    };
    Ok(Plan { by_nvidia, target, options })
}

/// A name of an architecture whose code the device can load: the virtual one of another GPU (`compute_80`).
fn on_device(name: String, device: Option<&TargetId>) -> String {
    match device {
        Some(device) if !cubin_runs_on(&name, &device.processor) => name.replacen("sm_", "compute_", 1),
        _ => name,
    }
}

/// The architecture that the options name last, and the other options.
fn for_nvidia(given: &[String]) -> (Option<String>, Vec<String>) {
    let (mut named, mut others) = (None, Vec::new());
    let mut given = given.iter().map(|option| option.trim()).filter(|option| !option.is_empty());
    while let Some(option) = given.next() {
        let value = ["--gpu-architecture", "-arch"].iter().find_map(|name| option.strip_prefix(name));
        match value.map(|value| value.strip_prefix('=').unwrap_or(value)) {
            None => others.push(option.to_owned()),
            Some("") => named = Some(given.next().unwrap_or_default().to_owned()),
            Some(value) => named = Some(value.to_owned()),
        }
    }
    (named, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(given: &[&str], device: Option<(bool, &str)>) -> Result<(bool, String, Vec<String>), Refusal> {
        let given: Vec<String> = given.iter().map(|option| (*option).to_owned()).collect();
        let target = |(is_nvidia, name): (bool, &str)| match is_nvidia {
            true => (true, TargetId::nvidia(name).unwrap()),
            false => (false, name.parse().unwrap()),
        };
        let device = device.map(target);
        let device = device.as_ref().map(|(is_nvidia, target)| (*is_nvidia, target));
        plan(&given, device).map(|plan| (plan.by_nvidia, plan.target.to_string(), plan.options))
    }

    const H200: Option<(bool, &str)> = Some((true, "sm_90"));
    const MI250: Option<(bool, &str)> = Some((false, "gfx90a"));

    #[test]
    fn nvrtc_gets_its_own_options() {
        // As cubecl passes them.
        let given = ["--gpu-architecture=sm_90a", "--include-path=/cuda/include", "-lineinfo"];
        let rest = given[1..].iter().map(|&option| option.to_owned()).collect();
        assert_eq!(planned(&given, H200), Ok((true, "sm_90a".to_owned(), rest)));
        let given = ["--ftz=true", "-arch=sm_80", "-I", "/a", "--gpu-architecture", "compute_90a", "-G"];
        let rest = ["--ftz=true", "-I", "/a", "-G"].map(str::to_owned).to_vec();
        assert_eq!(planned(&given, H200), Ok((true, "compute_90a".to_owned(), rest)), "the last one");
    }

    #[test]
    fn code_for_nvidias_gpus_is_as_the_architecture_says() {
        let target = |named: &str, device| planned(&[&format!("-arch={named}")], device).unwrap().1;
        for (named, device, target_is) in [
            ("sm_90", H200, "sm_90"),
            ("compute_90", H200, "compute_90"),
            ("compute_80", H200, "compute_80"),
            ("sm_80", H200, "compute_80"),
            ("sm_120a", H200, "compute_120a"),
            ("sm_80", Some((true, "sm_86")), "sm_80"),
            ("sm_90a", None, "sm_90a"),
            ("compute_80", None, "compute_80"),
        ] {
            assert_eq!(target(named, device), target_is, "{named} on {device:?}");
        }
        assert_eq!(planned(&[], H200).unwrap().1, "sm_90");
    }

    #[test]
    fn the_device_chooses_the_compiler_or_else_the_architecture_does() {
        let by_nvidia = |option: &str, device| planned(&[option], device).map(|plan| plan.0);
        assert_eq!(by_nvidia("-arch=sm_80", MI250), Ok(false));
        assert_eq!(planned(&["-arch=sm_80"], MI250).unwrap().1, "gfx90a");
        assert_eq!(planned(&["-arch=gfx1100"], MI250).unwrap().1, "gfx1100");
        assert_eq!(by_nvidia("-arch=sm_80", None), Ok(true));
        assert_eq!(by_nvidia("-arch=compute_80", None), Ok(true));
        assert_eq!(by_nvidia("-arch=gfx90a", None), Ok(false));
        assert_eq!(by_nvidia("-lineinfo", None), Err(Refusal::NoTarget));
        for (option, device, part) in [
            ("-arch=gfx90a", H200, "`gfx90a`"),
            ("-arch=x", None, "`x`"),
            ("-arch=gfx9", None, "gfx9"),
            ("-arch=", H200, "``"),
        ] {
            let Err(Refusal::Architecture(reason)) = by_nvidia(option, device) else { panic!("{option}") };
            assert!(reason.contains(part), "{option}: {reason}");
        }
    }

    #[test]
    fn a_target_of_amds_is_one() {
        let target = |option: &str| translate(&[option.to_owned()]).target;
        assert_eq!(target("--gpu-architecture=gfx90a").as_deref(), Some("gfx90a"));
        assert_eq!(target("-arch=compute_80"), None);
    }
}
