//! Translates NVRTC's options to those of AMD's compiler. For NVIDIA's GPUs, only the architecture is taken
//! out.

/// The parsed options.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// The target, if one of AMD's is named.
    pub(super) target: Option<String>,
    /// Options for the compiler.
    pub(super) options: Vec<String>,
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
pub(super) fn translate(given: &[String]) -> Options {
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

/// Options for NVRTC itself: all but the architecture, which becomes the target (`sm_90a`).
pub(super) fn for_nvidia(given: &[String]) -> Options {
    let mut all = Options::default();
    let mut given = given.iter().map(|option| option.trim()).filter(|option| !option.is_empty());
    while let Some(option) = given.next() {
        let value = ["--gpu-architecture", "-arch"].iter().find_map(|name| option.strip_prefix(name));
        let value = match value.map(|value| value.strip_prefix('=').unwrap_or(value)) {
            None => {
                all.options.push(option.to_owned());
                continue;
            }
            Some("") => given.next().unwrap_or_default(),
            Some(value) => value,
        };
        all.target = Some(value.replace("compute_", "sm_"));
    }
    all
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

    #[test]
    fn nvrtc_gets_its_own_options() {
        let given = ["--ftz=true", "-arch=compute_90a", "-I", "/a", "--gpu-architecture", "sm_80", "-G"];
        let all = for_nvidia(&given.map(str::to_owned));
        assert_eq!(all.options, ["--ftz=true", "-I", "/a", "-G"]);
        assert_eq!(all.target.as_deref(), Some("sm_80"));
        assert_eq!(
            for_nvidia(&given[..2].iter().map(|&text| text.to_owned()).collect::<Vec<_>>()).target.as_deref(),
            Some("sm_90a")
        );
    }

    #[test]
    fn a_target_of_amds_is_one() {
        let target = |option: &str| translate(&[option.to_owned()]).target;
        assert_eq!(target("--gpu-architecture=gfx90a").as_deref(), Some("gfx90a"));
        assert_eq!(target("-arch=compute_80"), None);
    }
}
