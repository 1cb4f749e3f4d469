//! nvcc's options for clang, so that a build script's list of options need not change.

use std::ffi::{OsStr, OsString};

/// What becomes of an option of nvcc's.
enum Meaning {
    /// It says nothing about AMD's device code: left out.
    Nothing,
    /// Left out with the value that is its own word, or behind `=`.
    NothingWithValue,
    /// These instead.
    Instead(&'static [&'static str]),
    /// Another name; the value is its own word, or behind `=`.
    Renamed(&'static str),
}
use Meaning::{Instead, Nothing, NothingWithValue, Renamed};

/// nvcc's fast maths as its manual has it: subnormals are flushed, division and square root are approximate, products and sums are
/// contracted, and transcendental functions are the hardware's. NaN and infinity keep their meaning, so this is not `-ffast-math`.
const FAST_MATH: &[&str] = &[
    "-fgpu-flush-denormals-to-zero",
    "-fno-hip-fp32-correctly-rounded-divide-sqrt",
    "-ffp-contract=fast",
    "-fgpu-approx-transcendentals",
];

/// One row per spelling. Options with one dash have the other spelling, too.
const OPTIONS: &[(&str, Meaning)] = &[
    // Clang does this always.
    ("--expt-relaxed-constexpr", Nothing),
    ("--expt-extended-lambda", Nothing),
    ("--extended-lambda", Nothing),
    // How and where nvcc writes its output, and for which of NVIDIA's targets.
    ("--compile", Nothing),
    ("-c", Nothing),
    ("--ptx", Nothing),
    ("--cubin", Nothing),
    ("--fatbin", Nothing),
    ("--lib", Nothing),
    ("--keep", Nothing),
    ("--generate-line-info", Nothing),
    ("-lineinfo", Nothing),
    ("--resource-usage", Nothing),
    ("--no-compress", Nothing),
    ("--restrict", Nothing),
    ("--gpu-architecture", NothingWithValue),
    ("-arch", NothingWithValue),
    ("--gpu-code", NothingWithValue),
    ("-code", NothingWithValue),
    ("--generate-code", NothingWithValue),
    ("-gencode", NothingWithValue),
    ("--threads", NothingWithValue),
    ("-t", NothingWithValue),
    ("-t0", Nothing),
    ("--split-compile", NothingWithValue),
    ("--default-stream", NothingWithValue),
    ("--relocatable-device-code", NothingWithValue),
    ("-rdc", NothingWithValue),
    ("--output-directory", NothingWithValue),
    ("-odir", NothingWithValue),
    ("--compiler-bindir", NothingWithValue),
    ("-ccbin", NothingWithValue),
    ("--machine", NothingWithValue),
    ("--keep-dir", NothingWithValue),
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
    // What is so already unless the other value is given.
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

/// Clang's options for those of nvcc's and clang's own.
pub(crate) fn options(given: &[OsString]) -> Vec<OsString> {
    let mut out = Vec::with_capacity(given.len());
    let mut given = given.iter();
    while let Some(option) = given.next() {
        let Some(text) = option.to_str() else {
            out.push(option.clone());
            continue;
        };
        // A whole option with its value comes before the option that has a value.
        let row = |name: &str| OPTIONS.iter().find(|(row, _)| *row == name).map(|(_, meaning)| meaning);
        let (name, value) = match text.split_once('=') {
            Some((name, value)) if row(text).is_none() => (name, Some(OsStr::new(value))),
            _ => (text, None),
        };
        match row(name) {
            None => out.push(option.clone()),
            Some(Nothing) => {}
            Some(Instead(instead)) => out.extend(instead.iter().map(OsString::from)),
            Some(NothingWithValue) => {
                if value.is_none() {
                    given.next();
                }
            }
            Some(Renamed(new)) => {
                let Some(value) = value.or_else(|| given.next().map(OsString::as_os_str)) else { continue };
                if *new == "-include" {
                    out.extend([OsString::from(new), value.to_owned()]);
                } else {
                    let mut whole = OsString::from(new);
                    whole.push(value);
                    out.push(whole);
                }
            }
        }
    }
    out
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
