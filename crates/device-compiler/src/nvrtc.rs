//! NVRTC's programs and options, for AMD's compiler.

use std::borrow::Cow;

use crate::nvcc::options::FAST_MATH;
use crate::{cuda, rewrites};

/// Division and square root are approximate.
const IMPRECISE: &str = "-fno-hip-fp32-correctly-rounded-divide-sqrt";

/// A program in CUDA C++ as AMD's compiler takes it, with [`cuda::DIALECT_OPTION`].
#[derive(Debug)]
pub struct Prepared<'a> {
    /// The source as clang reads it, without inline PTX. Line numbers in messages are those of the program's.
    pub source: String,
    /// The program's headers, and CUDA's that it does not provide itself, as pairs of name and text.
    pub headers: Vec<(&'a str, Cow<'a, str>)>,
}

/// Prepares a program. `prelude` are lines in front of its source, which have no numbers; `options` are those
/// of AMD's compiler.
///
/// AMD's library may not support names of headers with folders, so of CUDA's there are only those that the
/// program can include.
#[must_use]
pub fn prepare<'a>(
    prelude: &str,
    source: &str,
    headers: &'a [(String, String)],
    options: &[String],
) -> Prepared<'a> {
    let texts: Vec<&str> = [source].into_iter().chain(headers.iter().map(|(_, text)| &**text)).collect();
    let mut changed = rewrites::rewritten(&texts, options.iter().map(String::as_str)).into_iter();
    let rewritten = changed.next().flatten();
    let with_text = |((name, text), changed): (&'a (String, String), Option<String>)| {
        (&**name, changed.map_or(Cow::Borrowed(&**text), Cow::Owned))
    };
    let mut all: Vec<(&str, Cow<'_, str>)> = headers.iter().zip(changed).map(with_text).collect();
    for (name, text) in cuda::headers_for(texts) {
        if !headers.iter().any(|(own, _)| own == name) {
            all.push((name, Cow::Borrowed(text)));
        }
    }
    let source = rewritten.as_deref().unwrap_or(source);
    Prepared {
        source: format!("#include \"{}\"\n{prelude}#line 1\n{source}", cuda::RUNTIME_HEADER),
        headers: all,
    }
}

/// Declarations that NVRTC adds in front of each source, in addition to nvcc's.
pub const PRELUDE: &str = r"#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else
#define assert(...) ((__VA_ARGS__) ? (void)0 : __assert_fail(#__VA_ARGS__, __FILE__, __LINE__, __PRETTY_FUNCTION__))
#endif
";

/// Options for AMD's compiler.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The target, if one of AMD's is named.
    pub target: Option<String>,
    /// The others.
    pub options: Vec<String>,
}

/// Options with a value, in each spelling.
const VALUED: &[(&[&str], Value)] = &[
    (&["--gpu-architecture", "-arch"], Value::Architecture),
    // As with nvcc, f32's subnormal numbers stay.
    (&["--ftz", "-ftz"], Value::Ignored),
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
    Contract,
    PreciseDivision,
    PreciseRoot,
    As(&'static str),
    Ignored,
}

/// Translates NVRTC's options. A value may follow its option as a separate argument. NVIDIA's architectures
/// have no effect; unknown options are passed on to the compiler, which refuses them.
#[must_use]
pub fn translate(given: &[String]) -> Options {
    let mut all = Options::default();
    // By default, neither is set otherwise.
    let (mut division, mut root) = (true, true);
    let mut given = given.iter().map(|option| option.trim()).filter(|option| !option.is_empty());
    while let Some(option) = given.next() {
        if IGNORED.contains(&option) {
            continue;
        }
        if matches!(option, "--use_fast_math" | "-use_fast_math") {
            // As nvcc's: NaN and infinity keep their meaning. What follows may ask for precision again.
            all.options.extend(
                FAST_MATH.iter().filter(|option| **option != IMPRECISE).map(|option| (*option).to_owned()),
            );
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
        all.options.push(IMPRECISE.to_owned());
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
        assert_eq!(options(&["--ftz=true", "--fmad=false"]), ["-ffp-contract=off"]);
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
    fn fast_maths_is_nvccs_and_keeps_infinity() {
        let (mut found, mut nvccs) = (options(&["--use_fast_math"]), FAST_MATH.to_vec());
        found.sort_unstable();
        nvccs.sort_unstable();
        assert_eq!(found, nvccs);
        assert!(!options(&["--use_fast_math", "--prec-div=true"]).contains(&IMPRECISE.to_owned()));
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
    fn a_program_gets_the_headers_that_it_lacks_and_keeps_its_line_numbers() {
        let own = [("cuda_fp16.h".to_owned(), "// mine\n".to_owned())];
        let source = "#include <cuda_fp16.h>\n__global__ void k() { asm(\"bar.sync 0;\"); }\n";
        let Prepared { source, headers } = prepare(PRELUDE, source, &own, &[]);
        assert!(
            source.starts_with("#include \"cuda_runtime.h\"\n")
                && source.contains("#line 1\n#include <cuda_fp16.h>\n")
        );
        assert!(!source.contains("asm("), "{source}");
        let named: Vec<_> = headers.iter().filter(|(name, _)| *name == "cuda_fp16.h").collect();
        assert!(named.len() == 1 && named[0].1 == "// mine\n", "{named:?}");
        assert!(headers.iter().any(|(name, _)| *name == "cuda_runtime.h"));
    }
}
