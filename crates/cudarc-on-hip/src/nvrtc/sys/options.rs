//! Which compiler a program goes to, for which target, with which options: NVRTC's options, in the words of
//! AMD's compiler if it is that one.

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

/// Options for AMD's compiler.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    /// The target, if one of AMD's is named.
    target: Option<String>,
    options: Vec<String>,
}

/// Options with a value, in each spelling.
const VALUED: &[(&[&str], Value)] = &[
    (&["--gpu-architecture", "-arch"], Value::Architecture),
    (&["--ftz", "-ftz"], Value::FlushToZero),
    (&["--fmad", "-fmad"], Value::Contract),
    (&["--prec-div", "-prec-div"], Value::PreciseDivision),
    (&["--prec-sqrt", "-prec-sqrt"], Value::PreciseRoot),
    (&["--include-path", "-I"], Value::As("-I")),
    (&["--define-macro", "-D"], Value::As("-D")),
    (&["--undefine-macro", "-U"], Value::As("-U")),
    (&["--pre-include", "-include"], Value::As("-include")),
    (&["--std", "-std"], Value::As("-std=")),
    (&["--maxrregcount", "-maxrregcount"], Value::Ignored),
    (&["--split-compile", "-split-compile"], Value::Ignored),
    (&["--dopt", "-dopt"], Value::Ignored),
    (&["--builtin-move-forward", "-builtin-move-forward"], Value::Ignored),
    (&["--builtin-initializer-list", "-builtin-initializer-list"], Value::Ignored),
    (&["--device-int128", "-device-int128"], Value::Ignored),
];

/// Options without effect here.
const IGNORED: &[&str] = &[
    "--device-debug",
    "-G",
    "--generate-line-info",
    "-lineinfo",
    "--extra-device-vectorization",
    "-extra-device-vectorization",
    "--restrict",
    "-restrict",
    "--device-as-default-execution-space",
    "-default-device",
    "--device-int128",
    "-device-int128",
    "--relocatable-device-code=false",
    "-rdc=false",
];

#[derive(Clone, Copy)]
enum Value {
    Architecture,
    FlushToZero,
    Contract,
    PreciseDivision,
    PreciseRoot,
    As(&'static str),
    Ignored,
}

/// Translates options. A value may follow its option as a separate argument.
fn translate(given: &[String]) -> Options {
    let mut all = Options::default();
    // By default, neither is set otherwise.
    let (mut division, mut root) = (true, true);
    let mut given = given.iter().map(|option| option.trim()).filter(|option| !option.is_empty());
    while let Some(option) = given.next() {
        if IGNORED.contains(&option) {
            continue;
        }
        if matches!(option, "--use_fast_math" | "-use_fast_math") {
            all.options.extend(["-ffast-math", "-fgpu-flush-denormals-to-zero"].map(str::to_owned));
            (division, root) = (false, false);
            continue;
        }
        let Some((value, kind)) = value_of(option, &mut given) else {
            all.options.push(option.to_owned());
            continue;
        };
        match (kind, is_true(&value)) {
            (Value::Architecture, _) => {
                if value.starts_with("gfx") {
                    all.target = Some(value);
                }
            }
            (Value::FlushToZero, true) => all.options.push("-fgpu-flush-denormals-to-zero".to_owned()),
            (Value::FlushToZero, false) => all.options.push("-fno-gpu-flush-denormals-to-zero".to_owned()),
            (Value::Contract, true) => all.options.push("-ffp-contract=fast".to_owned()),
            (Value::Contract, false) => all.options.push("-ffp-contract=off".to_owned()),
            (Value::PreciseDivision, precise) => division = precise,
            (Value::PreciseRoot, precise) => root = precise,
            (Value::As("-include"), _) => all.options.extend(["-include".to_owned(), value]),
            (Value::As(name), _) => all.options.push(format!("{name}{value}")),
            (Value::Ignored, _) => {}
        }
    }
    if !division && !root {
        all.options.push("-fno-hip-fp32-correctly-rounded-divide-sqrt".to_owned());
    }
    all
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

fn is_true(value: &str) -> bool {
    matches!(value, "true" | "1")
}

/// The value of an option that has one.
fn value_of<'a>(option: &str, rest: &mut impl Iterator<Item = &'a str>) -> Option<(String, Value)> {
    for (names, kind) in VALUED {
        for name in *names {
            let Some(tail) = option.strip_prefix(name) else { continue };
            // `-I…`, `-D…` and `-U…` have their value attached.
            let together = name.len() == 2;
            let value = match tail.strip_prefix('=') {
                Some(value) => value.to_owned(),
                None if tail.is_empty() => rest.next().unwrap_or_default().to_owned(),
                None if together => tail.to_owned(),
                None => continue,
            };
            return Some((value, *kind));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[&str]) -> Vec<String> {
        translate(&given.iter().map(|option| (*option).to_owned()).collect::<Vec<_>>()).options
    }

    #[test]
    fn options_are_those_of_amds_compiler() {
        assert_eq!(
            options(&["--ftz=true", "--fmad=false"]),
            ["-fgpu-flush-denormals-to-zero", "-ffp-contract=off"]
        );
        assert_eq!(options(&["--include-path=/a", "-I/b", "-I", "/c"]), ["-I/a", "-I/b", "-I/c"]);
        assert_eq!(options(&["-DN=4", "--define-macro=M=1", "-D", "K"]), ["-DN=4", "-DM=1", "-DK"]);
        assert_eq!(options(&["--std=c++17", "-std=c++20"]), ["-std=c++17", "-std=c++20"]);
        assert_eq!(options(&["--pre-include=x.h"]), ["-include", "x.h"]);
        assert!(
            options(&["--maxrregcount=32", "-lineinfo", "-arch=sm_80", "-default-device", ""]).is_empty()
        );
        assert_eq!(options(&["--no-such-option"]), ["--no-such-option"], "the compiler refuses it");
    }

    #[test]
    fn division_and_root_are_precise_if_either_is() {
        let imprecise = "-fno-hip-fp32-correctly-rounded-divide-sqrt";
        assert!(options(&["--prec-div=false"]).is_empty());
        assert!(options(&["--prec-div=false", "--prec-sqrt=true"]).is_empty());
        assert_eq!(options(&["--prec-div=false", "--prec-sqrt=false"]), [imprecise]);
        assert!(options(&["--use_fast_math"]).contains(&imprecise.to_owned()));
    }

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
