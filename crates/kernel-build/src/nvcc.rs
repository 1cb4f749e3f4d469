//! nvcc options in build scripts: their translation for clang, so that the list can stay, and which of them
//! nvcc gets.

use std::ffi::{OsStr, OsString};

/// How to translate an nvcc option.
enum Meaning {
    /// Irrelevant to AMD's device code: not passed to clang.
    Nothing,
    /// The same, with a value, separate or after `=`.
    NothingWithValue,
    /// Output settings, which the builder makes itself: passed to neither compiler.
    Output,
    /// The same with a value.
    OutputWithValue,
    /// The same with a value that names NVIDIA's architectures.
    Architecture,
    /// Replaced by these options.
    Instead(&'static [&'static str]),
    /// Renamed; the value is separate or after `=`.
    Renamed(&'static str),
}
use Meaning::{Architecture, Instead, Nothing, NothingWithValue, Output, OutputWithValue, Renamed};

/// nvcc's fast maths according to its manual: subnormals are flushed, division and square root are
/// approximate, products and sums are contracted, and transcendental functions are the hardware's. NaN and
/// infinity keep their meaning, so this is not `-ffast-math`.
const FAST_MATH: &[&str] = &[
    "-fgpu-flush-denormals-to-zero",
    "-fno-hip-fp32-correctly-rounded-divide-sqrt",
    "-ffp-contract=fast",
    "-fgpu-approx-transcendentals",
];

/// One row per spelling. Options with one dash also exist in the other spelling.
const OPTIONS: &[(&str, Meaning)] = &[
    // Clang does this always.
    ("--expt-relaxed-constexpr", Nothing),
    ("--expt-extended-lambda", Nothing),
    ("--extended-lambda", Nothing),
    // Output settings and NVIDIA's targets.
    ("--compile", Output),
    ("-c", Output),
    ("--ptx", Output),
    ("--cubin", Output),
    ("--fatbin", Output),
    ("--lib", Output),
    ("--keep", Output),
    ("--generate-line-info", Nothing),
    ("-lineinfo", Nothing),
    ("--resource-usage", Nothing),
    ("--no-compress", Nothing),
    ("--restrict", Nothing),
    ("--gpu-architecture", Architecture),
    ("-arch", Architecture),
    ("--gpu-code", Architecture),
    ("-code", Architecture),
    ("--generate-code", Architecture),
    ("-gencode", Architecture),
    ("--threads", NothingWithValue),
    ("-t", NothingWithValue),
    ("-t0", Nothing),
    ("--split-compile", NothingWithValue),
    ("--default-stream", NothingWithValue),
    ("--relocatable-device-code", NothingWithValue),
    ("-rdc", NothingWithValue),
    ("--output-directory", OutputWithValue),
    ("-odir", OutputWithValue),
    ("--compiler-bindir", NothingWithValue),
    ("-ccbin", NothingWithValue),
    ("--machine", NothingWithValue),
    ("--keep-dir", OutputWithValue),
    ("--cudart", NothingWithValue),
    ("-cudart", NothingWithValue),
    // For NVIDIA's assembler, front end and host compiler.
    ("--ptxas-options", NothingWithValue),
    ("-Xptxas", NothingWithValue),
    ("--maxrregcount", NothingWithValue),
    ("-maxrregcount", NothingWithValue),
    ("-Xcudafe", NothingWithValue),
    ("--compiler-options", NothingWithValue),
    ("-Xcompiler", NothingWithValue),
    ("--linker-options", NothingWithValue),
    ("-Xlinker", NothingWithValue),
    ("--diag-suppress", NothingWithValue),
    ("-diag-suppress", NothingWithValue),
    ("--disable-warnings", Instead(&["-w"])),
    // Numbers and optimisation.
    ("--use_fast_math", Instead(FAST_MATH)),
    ("-use_fast_math", Instead(FAST_MATH)),
    ("--device-debug", Instead(&["-g"])),
    ("-G", Instead(&["-g"])),
    ("--debug", Instead(&["-g"])),
    ("-ftz=true", Instead(&["-fgpu-flush-denormals-to-zero"])),
    ("--ftz=true", Instead(&["-fgpu-flush-denormals-to-zero"])),
    ("-fmad=false", Instead(&["-ffp-contract=off"])),
    ("--fmad=false", Instead(&["-ffp-contract=off"])),
    ("-prec-div=false", Instead(&["-fno-hip-fp32-correctly-rounded-divide-sqrt"])),
    ("--prec-div=false", Instead(&["-fno-hip-fp32-correctly-rounded-divide-sqrt"])),
    ("-prec-sqrt=false", Instead(&["-fno-hip-fp32-correctly-rounded-divide-sqrt"])),
    ("--prec-sqrt=false", Instead(&["-fno-hip-fp32-correctly-rounded-divide-sqrt"])),
    // Already the default, unless the other value is given.
    ("-ftz", NothingWithValue),
    ("--ftz", NothingWithValue),
    ("-fmad", NothingWithValue),
    ("--fmad", NothingWithValue),
    ("-prec-div", NothingWithValue),
    ("--prec-div", NothingWithValue),
    ("-prec-sqrt", NothingWithValue),
    ("--prec-sqrt", NothingWithValue),
    // Other names.
    ("--optimize", Renamed("-O")),
    ("--define-macro", Renamed("-D")),
    ("--undefine-macro", Renamed("-U")),
    ("--include-path", Renamed("-I")),
    ("--pre-include", Renamed("-include")),
    ("--std", Renamed("-std=")),
];

/// A given option, with its row of the table.
struct Given<'a> {
    /// Its words.
    words: &'a [OsString],
    /// Its value, if its row takes one.
    value: Option<&'a OsStr>,
    meaning: Option<&'static Meaning>,
}

/// The options one by one. An option without its value can only be the last.
fn each(given: &[OsString]) -> impl Iterator<Item = Given<'_>> {
    let mut rest = given;
    std::iter::from_fn(move || {
        let (option, behind) = rest.split_first()?;
        let row = |name: &str| OPTIONS.iter().find(|(row, _)| *row == name).map(|(_, meaning)| meaning);
        let text = option.to_str().unwrap_or_default();
        // An option with a fixed value is checked before the same option with any value.
        let (meaning, value) = match text.split_once('=') {
            Some((name, value)) if row(text).is_none() => (row(name), Some(OsStr::new(value))),
            _ => (row(text), None),
        };
        let has_value =
            matches!(meaning, Some(NothingWithValue | OutputWithValue | Architecture | Renamed(_)));
        let own_word = has_value && value.is_none();
        let value = value.or_else(|| behind.first().filter(|_| own_word).map(OsString::as_os_str));
        let words = &rest[..(1 + usize::from(own_word)).min(rest.len())];
        rest = &rest[words.len()..];
        Some(Given { words, value, meaning })
    })
}

/// The options for clang, from options of nvcc and clang.
pub(crate) fn options(given: &[OsString]) -> Vec<OsString> {
    let mut out = Vec::with_capacity(given.len());
    for Given { words, value, meaning } in each(given) {
        match meaning {
            None => out.extend_from_slice(words),
            Some(Instead(instead)) => out.extend(instead.iter().map(OsString::from)),
            Some(Renamed(new)) => {
                let Some(value) = value else { continue };
                if *new == "-include" {
                    out.extend([OsString::from(new), value.to_owned()]);
                } else {
                    let mut whole = OsString::from(new);
                    whole.push(value);
                    out.push(whole);
                }
            }
            Some(Nothing | NothingWithValue | Output | OutputWithValue | Architecture) => {}
        }
    }
    out
}

/// The options for nvcc: unchanged, without those that the builder sets itself.
pub(crate) fn for_nvcc(given: &[OsString]) -> Vec<OsString> {
    each(given)
        .filter(|option| !matches!(option.meaning, Some(Output | OutputWithValue | Architecture)))
        .flat_map(|option| option.words)
        .cloned()
        .collect()
}

/// The architectures in options, as written; for `arch=compute_80,code=sm_80`, the latter.
pub(crate) fn archs(given: &[OsString]) -> Vec<String> {
    let mut named = Vec::new();
    for option in each(given) {
        let Some(value) =
            option.value.and_then(OsStr::to_str).filter(|_| matches!(option.meaning, Some(Architecture)))
        else {
            continue;
        };
        let code = value.split_once("code=").map_or(value, |(_, code)| code);
        let code = code.strip_prefix("arch=").unwrap_or(code);
        let names = code.trim_matches(['[', ']']).split(',').map(|name| name.trim_matches('"'));
        named.extend(names.map(str::to_owned));
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &[&str]) -> Vec<String> {
        let given: Vec<OsString> = given.iter().map(OsString::from).collect();
        options(&given).into_iter().map(|option| option.into_string().unwrap()).collect()
    }

    #[test]
    fn the_options_of_build_scripts_become_clangs() {
        let candle =
            ["--expt-relaxed-constexpr", "-std=c++17", "-O3", "-Xcompiler", "-fPIC", "-DNO_BF16_KERNEL"];
        assert_eq!(of(&candle), ["-std=c++17", "-O3", "-DNO_BF16_KERNEL"]);
        let others = [
            "-gencode=arch=compute_80,code=sm_80",
            "-arch",
            "sm_90",
            "--ptxas-options=-v",
            "--std=c++20",
            "--define-macro",
            "A=1",
            "-t0",
            "--fmad=false",
            "--fmad=true",
            "--threads",
            "4",
            "-diag-suppress=20012",
        ];
        assert_eq!(of(&others), ["-std=c++20", "-DA=1", "-ffp-contract=off"]);
        assert_eq!(of(&["--use_fast_math"]), FAST_MATH);
    }

    #[test]
    fn nvcc_gets_what_the_builder_does_not_say_itself() {
        let given: Vec<OsString> = [
            "-O3",
            "-std=c++17",
            "--expt-relaxed-constexpr",
            "--ptx",
            "-gencode=arch=compute_80,code=sm_80",
            "-odir",
            "out",
            "-Xcompiler",
            "-fPIC",
            "-arch",
            "sm_90",
            "--define-macro",
            "A=1",
            "--fmad=false",
            "--lib",
        ]
        .map(Into::into)
        .into();
        let kept = [
            "-O3",
            "-std=c++17",
            "--expt-relaxed-constexpr",
            "-Xcompiler",
            "-fPIC",
            "--define-macro",
            "A=1",
            "--fmad=false",
        ];
        assert_eq!(for_nvcc(&given), kept);
        assert_eq!(archs(&given), ["sm_80", "sm_90"]);
        assert_eq!(
            archs(&["-gencode".into(), "arch=compute_90,code=[sm_90,compute_90]".into()]),
            ["sm_90", "compute_90"]
        );
        assert_eq!(archs(&["-O3".into(), "-arch".into()]), [""; 0]);
    }

    #[test]
    fn an_option_without_its_value_ends_the_list() {
        assert_eq!(of(&["-O2", "-Xcompiler"]), ["-O2"]);
        assert_eq!(of(&["--std"]), [""; 0]);
    }

    #[test]
    fn no_option_has_two_rows() {
        for (i, (name, _)) in OPTIONS.iter().enumerate() {
            assert!(OPTIONS[..i].iter().all(|(other, _)| other != name), "{name}");
        }
    }
}
