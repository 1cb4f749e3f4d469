//! nvcc's options: the table of all of them, and a parser.
//!
//! The table has the options of the published documentation of CUDA 12.8 and 13.0, and those that nvcc
//! accepts without listing them. Each row says what becomes of the option here. Build scripts
//! (`kernel-build`), the program `ferrocm nvcc` and the page in the documentation read the same rows.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// How an option takes its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// It takes none.
    None,
    /// One value: the next word, or after `=`.
    One(&'static str),
    /// Values separated by commas. Repeated options add to the list.
    List(&'static str),
}

/// The output that an option selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Preprocessed text.
    Preprocess,
    /// The list of the files that a source reads, and nothing else.
    Dependencies,
    /// Code of one target, without host code.
    Cubin,
    /// Code of all targets, without host code.
    Fatbin,
    /// The same as text.
    Ptx,
    /// Object files.
    Compile,
    /// The linked device code of object files, as an object file.
    DeviceLink,
    /// A static library.
    Library,
    /// A program or a shared library.
    Link,
    /// The program's output.
    Run,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Selects the output. A build script selects it by the function that it calls.
    Phase(Phase),
    /// The place of the output, which a build script gets from its function.
    Place,
    /// Names NVIDIA's architectures, or targets of AMD's.
    Architecture,
    /// For the program `ferrocm nvcc`; without meaning in build scripts.
    Driver,
    /// For the host's compiler, linker or archiver; without meaning for device code.
    Host,
    /// These options of clang instead.
    Instead(&'static [&'static str]),
    /// An option of clang with the same values.
    Renamed(&'static str),
    /// These options of clang for `true`, and these for `false`.
    Switch(&'static [&'static str], &'static [&'static str]),
    /// Makes errors of kinds of warnings.
    Errors,
    /// Changes nothing, for the row's reason.
    Ignored,
    /// Cannot be done, for the row's reason.
    Refused,
}

/// What the documentation says of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has its effect.
    Used,
    /// It is accepted and changes nothing.
    Ignored,
    /// It is an error.
    Refused,
}

impl Role {
    /// What the documentation says of such an option.
    #[must_use]
    pub fn state(self) -> State {
        match self {
            Self::Ignored => State::Ignored,
            Self::Refused => State::Refused,
            _ => State::Used,
        }
    }
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The long name without `--`.
    pub long: &'static str,
    /// The short name without `-`. Empty if there is none.
    pub short: &'static str,
    /// Its argument.
    pub argument: Argument,
    /// Whether the argument may follow the short name directly: `-DX`.
    pub joined: bool,
    /// What becomes of it.
    pub role: Role,
    /// What it does here, or why it does nothing or is an error.
    pub note: &'static str,
}

/// nvcc's fast maths according to its manual: division and square root are approximate, products and sums are
/// contracted, and transcendental functions are the hardware's. NaN and infinity keep their meaning, so this
/// is not `-ffast-math`. Subnormal numbers stay.
pub const FAST_MATH: &[&str] =
    &["-fno-hip-fp32-correctly-rounded-divide-sqrt", "-ffp-contract=fast", "-fgpu-approx-transcendentals"];
/// Why no option flushes subnormal numbers. NVIDIA's flush f32's and leave those of halves. On AMD GPUs the
/// setting for f32 also flushes halves that `v_fma_mix` widens, which the compiler uses then: products of
/// halves below 2⁻¹⁴ would be 0. AMD GPUs compute with subnormal numbers at full speed.
const KEPT: &str =
    "f32's subnormal numbers stay: AMD's instructions of mixed formats would flush those of halves, too";
const APPROXIMATE: &[&str] = &["-fno-hip-fp32-correctly-rounded-divide-sqrt"];

use Argument::{List, None as NoArgument, One};
use Role::{
    Architecture, Driver, Errors, Host, Ignored, Instead, Phase as Makes, Place, Refused, Renamed, Switch,
};

const fn row(
    long: &'static str,
    short: &'static str,
    argument: Argument,
    role: Role,
    note: &'static str,
) -> Row {
    Row { long, short, argument, joined: false, role, note }
}

const fn joined(
    long: &'static str,
    short: &'static str,
    argument: Argument,
    role: Role,
    note: &'static str,
) -> Row {
    Row { long, short, argument, joined: true, role, note }
}

const ALWAYS: &str = "the compiler always does this";
const WINDOWS: &str = "for Windows only";
const NO_PTXAS: &str = "for NVIDIA's assembler, which is not used";
const NO_NVLINK: &str = "for NVIDIA's device linker, which is not used";
const NO_FRONT_END: &str = "for NVIDIA's front end, whose messages have other numbers";

/// All options, in the order of nvcc's own help.
#[rustfmt::skip]
pub const OPTIONS: &[Row] = &[
    // The phase.
    row("cuda", "cuda", NoArgument, Refused, "there is no intermediate C++ file with host code"),
    row("cubin", "cubin", NoArgument, Makes(Phase::Cubin), "writes the code object of one target"),
    row("fatbin", "fatbin", NoArgument, Makes(Phase::Fatbin), "writes a bundle of all targets' code objects"),
    row("ptx", "ptx", NoArgument, Makes(Phase::Ptx), "writes that bundle as text, which `cuModuleLoadData` of this project's library and cudarc load like PTX"),
    row("optix-ir", "optix-ir", NoArgument, Refused, "OptiX is for NVIDIA GPUs only"),
    row("ltoir", "ltoir", NoArgument, Refused, "NVIDIA's intermediate code; `-dc` writes LLVM's into the object file"),
    row("preprocess", "E", NoArgument, Makes(Phase::Preprocess), "as device code, like nvcc"),
    row("generate-dependencies", "M", NoArgument, Makes(Phase::Dependencies), "lists the headers that a source reads"),
    row("generate-nonsystem-dependencies", "MM", NoArgument, Makes(Phase::Dependencies), "the same without system headers"),
    row("generate-dependencies-with-compile", "MD", NoArgument, Driver, "compiles, and writes the list to a file"),
    row("generate-nonsystem-dependencies-with-compile", "MMD", NoArgument, Driver, "the same without system headers"),
    row("dependency-output", "MF", One("file"), Driver, "the list's file"),
    row("generate-dependency-targets", "MP", NoArgument, Driver, "adds an empty target for each header"),
    row("compile", "c", NoArgument, Makes(Phase::Compile), "writes object files"),
    row("device-c", "dc", NoArgument, Makes(Phase::Compile), "the same with relocatable device code"),
    row("device-w", "dw", NoArgument, Makes(Phase::Compile), "the same with complete device code"),
    row("device-link", "dlink", NoArgument, Makes(Phase::DeviceLink), "links relocatable device code into an object file"),
    row("link", "link", NoArgument, Makes(Phase::Link), "the default"),
    row("lib", "lib", NoArgument, Makes(Phase::Library), "writes a static library"),
    row("run", "run", NoArgument, Makes(Phase::Run), "links and runs the program"),
    // Files and paths.
    joined("output-file", "o", One("file"), Place, "the output's name"),
    row("pre-include", "include", List("file"), Renamed("-include"), "includes a header first"),
    row("objdir-as-tempdir", "objtemp", NoArgument, Ignored, "intermediate files are in a private folder"),
    joined("library", "l", List("library"), Host, "links a library"),
    joined("define-macro", "D", List("macro"), Renamed("-D"), "defines a macro"),
    joined("undefine-macro", "U", List("macro"), Renamed("-U"), "removes a macro"),
    joined("include-path", "I", List("folder"), Renamed("-I"), "searches a folder for headers; one that does not exist is a warning"),
    row("system-include", "isystem", List("folder"), Renamed("-isystem"), "the same, as system headers"),
    joined("library-path", "L", List("folder"), Host, "searches a folder for libraries"),
    row("output-directory", "odir", One("folder"), Place, "the outputs' folder"),
    row("compiler-bindir", "ccbin", One("path"), Host, "compiles C and C++ sources and links; `.cu` sources are always compiled by clang"),
    row("allow-unsupported-compiler", "allow-unsupported-compiler", NoArgument, Ignored, "no host compiler is refused"),
    row("archiver-binary", "arbin", One("path"), Host, "makes static libraries"),
    row("cudart", "cudart", One("none|shared|static"), Driver, "`none` links no runtime; the others link this project's or ROCm's HIP library"),
    row("cudadevrt", "cudadevrt", One("none|static"), Ignored, "kernels cannot launch kernels"),
    row("libdevice-directory", "ldir", One("folder"), Ignored, "AMD's device libraries are used"),
    row("target-directory", "target-dir", One("folder"), Ignored, "host code is for x86-64 Linux"),
    row("use-local-env", "use-local-env", NoArgument, Ignored, WINDOWS),
    row("force-cl-env-setup", "force-cl-env-setup", NoArgument, Ignored, WINDOWS),
    // Compiler and linker.
    row("profile", "pg", NoArgument, Host, "host code for gprof"),
    row("debug", "g", NoArgument, Instead(&["-g"]), "debug information"),
    row("device-debug", "G", NoArgument, Instead(&["-g"]), "debug information; device code stays optimised"),
    row("generate-line-info", "lineinfo", NoArgument, Driver, "line numbers; `Builder::source_lines` in build scripts"),
    row("optimization-info", "opt-info", List("inline"), Driver, "tells what is inlined"),
    joined("optimize", "O", One("level"), Renamed("-O"), "host code's level in a program; device code is compiled with `-O3`"),
    row("Ofast-compile", "Ofc", One("0|max|mid|min"), Ignored, "device code is always optimised"),
    row("dopt", "dopt", One("on"), Ignored, ALWAYS),
    row("dlink-time-opt", "dlto", NoArgument, Ignored, "relocatable device code is always optimised when it is linked"),
    row("lto", "lto", NoArgument, Ignored, "the same as `-dlto`"),
    row("gen-opt-lto", "gen-opt-lto", NoArgument, Ignored, ALWAYS),
    row("ftemplate-backtrace-limit", "ftemplate-backtrace-limit", One("limit"), Renamed("-ftemplate-backtrace-limit="), "clang's option"),
    row("ftemplate-depth", "ftemplate-depth", One("limit"), Renamed("-ftemplate-depth="), "clang's option"),
    row("no-exceptions", "noeh", NoArgument, Instead(&["-fno-exceptions"]), "host code without exceptions"),
    row("shared", "shared", NoArgument, Host, "links a shared library"),
    joined("x", "x", One("c|c++|cu"), Driver, "the language of the sources"),
    row("std", "std", One("standard"), Renamed("-std="), "the version of C++; clang's default is C++17"),
    row("no-host-device-initializer-list", "nohdinitlist", NoArgument, Ignored, "code that does without compiles the same"),
    row("no-host-device-move-forward", "nohdmoveforward", NoArgument, Ignored, "code that does without compiles the same"),
    row("expt-relaxed-constexpr", "expt-relaxed-constexpr", NoArgument, Ignored, ALWAYS),
    row("extended-lambda", "extended-lambda", NoArgument, Ignored, ALWAYS),
    row("expt-extended-lambda", "expt-extended-lambda", NoArgument, Ignored, ALWAYS),
    joined("machine", "m", One("64"), Driver, "64 only"),
    row("m64", "m64", NoArgument, Ignored, "host code has 64 bits"),
    // Options for the phases' own programs.
    row("compiler-options", "Xcompiler", List("options"), Host, "for the host's compiler and linker driver"),
    row("linker-options", "Xlinker", List("options"), Host, "for the host's linker"),
    row("archive-options", "Xarchive", List("options"), Host, "for the archiver"),
    row("ptxas-options", "Xptxas", List("options"), Ignored, NO_PTXAS),
    row("nvlink-options", "Xnvlink", List("options"), Ignored, NO_NVLINK),
    row("static-global-template-stub", "static-global-template-stub", One("true|false"), Ignored, "templates of kernels have one stub in a program, as in C++"),
    row("device-entity-has-hidden-visibility", "device-entity-has-hidden-visibility", One("true|false"), Ignored, "kernels are registered by address, whatever their visibility"),
    row("forward-unknown-to-host-compiler", "forward-unknown-to-host-compiler", NoArgument, Driver, "passes on unknown options"),
    row("forward-unknown-to-host-linker", "forward-unknown-to-host-linker", NoArgument, Driver, "passes on unknown options"),
    row("forward-unknown-opts", "forward-unknown-opts", NoArgument, Driver, "both of these"),
    row("dont-use-profile", "noprof", NoArgument, Ignored, "there is no file nvcc.profile"),
    // Guiding the driver.
    row("dryrun", "dryrun", NoArgument, Driver, "prints the commands without running them"),
    row("verbose", "v", NoArgument, Driver, "prints the commands; the compilers' messages stay as they are"),
    joined("threads", "t", One("number"), Driver, "compiles this many targets at once; 0 is one per core"),
    row("split-compile", "split-compile", One("number"), Ignored, "a target's code is compiled in one piece"),
    row("split-compile-extended", "split-compile-extended", One("number"), Ignored, "a target's code is compiled in one piece"),
    row("fdevice-syntax-only", "fdevice-syntax-only", NoArgument, Driver, "only checks device code"),
    row("fdevice-time-trace", "fdevice-time-trace", One("file"), Ignored, "clang's `-ftime-trace` traces its time"),
    row("keep", "keep", NoArgument, Place, "keeps intermediate files"),
    row("keep-dir", "keep-dir", One("folder"), Place, "keeps them in this folder"),
    row("save-temps", "save-temps", NoArgument, Place, "the same as `-keep`"),
    row("clean-targets", "clean", NoArgument, Driver, "removes what the same command line makes"),
    row("time", "time", One("file"), Driver, "appends the time of each step to a table"),
    row("run-args", "run-args", List("arguments"), Driver, "the program's arguments for `-run`"),
    row("input-drive-prefix", "idp", One("prefix"), Ignored, WINDOWS),
    row("dependency-drive-prefix", "ddp", One("prefix"), Ignored, WINDOWS),
    row("drive-prefix", "dp", One("prefix"), Ignored, WINDOWS),
    row("dependency-target-name", "MT", One("target"), Driver, "the target in the list of headers"),
    row("no-align-double", "", NoArgument, Refused, "it changes the layout of structures on 32-bit hosts only"),
    row("no-device-link", "nodlink", NoArgument, Driver, "leaves relocatable device code unlinked"),
    // Architectures.
    row("gpu-architecture", "arch", One("architecture"), Architecture, "names of NVIDIA's are accepted, and the code is for AMD's targets; `gfx1100`, `native` and others of AMD's name a target"),
    row("gpu-code", "code", List("architecture"), Architecture, "the same"),
    row("generate-code", "gencode", List("specification"), Architecture, "the same; `code=gfx1100` names a target"),
    row("relocatable-device-code", "rdc", One("true|false"), Driver, "whether device code calls functions of other sources"),
    row("entries", "e", List("kernel"), Ignored, "all kernels are compiled"),
    joined("maxrregcount", "maxrregcount", One("number"), Ignored, "AMD's registers are counted otherwise; `__launch_bounds__` has its effect"),
    row("use_fast_math", "use_fast_math", NoArgument, Instead(FAST_MATH), "clang's options for the same"),
    row("ftz", "ftz", One("true|false"), Ignored, KEPT),
    row("prec-div", "prec-div", One("true|false"), Switch(&[], APPROXIMATE), "exact division; clang has one option for this and the next"),
    row("prec-sqrt", "prec-sqrt", One("true|false"), Switch(&[], APPROXIMATE), "exact square roots"),
    row("fmad", "fmad", One("true|false"), Switch(&[], &["-ffp-contract=off"]), "contracts products and sums"),
    row("extra-device-vectorization", "extra-device-vectorization", NoArgument, Ignored, ALWAYS),
    row("default-stream", "default-stream", One("legacy|null|per-thread"), Driver, "`per-thread`: each host thread has its own default stream"),
    // Others.
    row("disable-warnings", "w", NoArgument, Instead(&["-w"]), "no warnings"),
    row("keep-device-functions", "keep-device-functions", NoArgument, Ignored, "`-dc` keeps functions for other sources"),
    row("source-in-ptx", "src-in-ptx", NoArgument, Ignored, "there is no PTX"),
    row("restrict", "restrict", NoArgument, Ignored, "it only allows optimisations"),
    row("Wreorder", "Wreorder", NoArgument, Instead(&["-Wreorder"]), "clang's warning"),
    row("Wdefault-stream-launch", "Wdefault-stream-launch", NoArgument, Ignored, "clang has no such warning"),
    row("Wmissing-launch-bounds", "Wmissing-launch-bounds", NoArgument, Ignored, "clang has no such warning"),
    row("Wext-lambda-captures-this", "Wext-lambda-captures-this", NoArgument, Ignored, "clang has no such warning"),
    row("Wno-deprecated-declarations", "Wno-deprecated-declarations", NoArgument, Instead(&["-Wno-deprecated-declarations"]), "clang's option"),
    row("Wno-deprecated-gpu-targets", "Wno-deprecated-gpu-targets", NoArgument, Ignored, "no target is deprecated"),
    row("Werror", "Werror", List("kind"), Errors, "`all-warnings`, `reorder` and `deprecated-declarations` as clang's; clang has none of the others"),
    row("resource-usage", "res-usage", NoArgument, Driver, "clang's report of each kernel's registers and memory"),
    row("extensible-whole-program", "ewp", NoArgument, Ignored, "each source's device code is complete without `-rdc=true`"),
    row("no-compress", "no-compress", NoArgument, Ignored, "code is not compressed"),
    row("qpp-config", "qpp-config", One("configuration"), Refused, "the compiler q++ is for QNX"),
    row("compile-as-tools-patch", "astoolspatch", NoArgument, Refused, "for NVIDIA's tools only"),
    row("list-gpu-code", "code-ls", NoArgument, Driver, "lists NVIDIA's architectures that are accepted"),
    row("list-gpu-arch", "arch-ls", NoArgument, Driver, "the same"),
    row("display-error-number", "err-no", NoArgument, Ignored, NO_FRONT_END),
    row("no-display-error-number", "no-err-no", NoArgument, Ignored, NO_FRONT_END),
    row("diag-error", "diag-error", List("number"), Ignored, NO_FRONT_END),
    row("diag-suppress", "diag-suppress", List("number"), Ignored, NO_FRONT_END),
    row("diag-warn", "diag-warn", List("number"), Ignored, NO_FRONT_END),
    row("host-linker-script", "hls", One("use-lcs|gen-lcs"), Ignored, "device code is small enough for the linker's own script"),
    row("augment-host-linker-script", "aug-hls", NoArgument, Ignored, "the same"),
    row("relocatable-link", "r", NoArgument, Refused, "`ld -r` joins object files, and keeps their relocatable device code"),
    row("brief-diagnostics", "brief-diag", One("true|false"), Switch(&["-fno-caret-diagnostics"], &[]), "messages without source lines"),
    row("jump-table-density", "jtd", One("number"), Ignored, "LLVM decides"),
    row("relocatable-ptx", "reloc-ptx", NoArgument, Ignored, "there is no PTX"),
    row("device-stack-protector", "device-stack-protector", One("true|false"), Ignored, "the virtual GPU checks every access to memory"),
    row("compress-mode", "compress-mode", One("mode"), Ignored, "code is not compressed"),
    row("frandom-seed", "frandom-seed", One("seed"), Ignored, "equal inputs always give equal outputs"),
    row("sanitize", "sanitize", One("tool"), Ignored, "the virtual GPU checks every access to memory"),
    row("jobserver", "jobserver", NoArgument, Ignored, "`-threads` limits the number of compilers"),
    row("help", "h", NoArgument, Driver, "lists the options"),
    row("version", "V", NoArgument, Driver, "answers as nvcc 12.8, and says whose compiler it is"),
    row("options-file", "optf", List("file"), Driver, "reads options from a file; so does `@file`"),
    // Accepted by nvcc, but not in its help.
    row("cudafe-options", "Xcudafe", List("options"), Ignored, NO_FRONT_END),
    row("fatbin-options", "Xfatbin", List("options"), Ignored, "code is bundled without options"),
    row("cicc-options", "Xcicc", List("options"), Ignored, "for NVIDIA's compiler of device code, which is not used"),
    row("nvvm-options", "Xnvvm", List("options"), Ignored, "for NVIDIA's compiler of device code, which is not used"),
    row("m32", "m32", NoArgument, Refused, "host code has 64 bits"),
    row("offload-arch", "", List("target"), Architecture, "not nvcc's: names AMD's targets, as for hipcc"),
    row("toolkit", "", NoArgument, Driver, "not nvcc's: prints a folder laid out like CUDA's, with `bin/nvcc`"),
];

/// A word of a command line, with its row.
#[derive(Debug, PartialEq, Eq)]
pub struct Given<'a> {
    /// The words that it takes up.
    pub words: &'a [OsString],
    /// What it is.
    pub kind: Kind,
}

/// What a word is.
#[derive(Debug)]
pub enum Kind {
    /// An option of the table, with its argument. `None` if it takes none, or if it is missing at the end.
    Option(&'static Row, Option<OsString>),
    /// An option that nvcc does not have.
    Unknown,
    /// A file.
    File,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Option(a, left), Self::Option(b, right)) => a.long == b.long && left == right,
            (Self::Unknown, Self::Unknown) | (Self::File, Self::File) => true,
            _ => false,
        }
    }
}

impl Eq for Kind {}

/// The row of a name, written with one or two hyphens.
#[must_use]
pub fn find(hyphens: usize, name: &str) -> Option<&'static Row> {
    let short = || OPTIONS.iter().find(|row| !row.short.is_empty() && row.short == name);
    let long = || OPTIONS.iter().find(|row| row.long == name && (hyphens == 2 || name.len() > 1));
    match hyphens {
        1 => short().or_else(long),
        // nvcc accepts some short names with two hyphens. A single letter would be a typing error.
        2 => long().or_else(|| short().filter(|row| row.short.len() > 1)),
        _ => None,
    }
}

/// The words of a command line one by one.
pub fn each(given: &[OsString]) -> impl Iterator<Item = Given<'_>> {
    let mut rest = given;
    std::iter::from_fn(move || {
        let (first, behind) = rest.split_first()?;
        let (kind, takes_next) = classify(first);
        let mut length = 1;
        let kind = match kind {
            Kind::Option(row, None) if takes_next => {
                length += usize::from(!behind.is_empty());
                Kind::Option(row, behind.first().cloned())
            }
            kind => kind,
        };
        let kind = match kind {
            // Of the option with the same name of other compilers, the next word is no argument.
            Kind::Option(Row { long: "Werror", .. }, value) if !is_kind(value.as_deref()) => {
                length = 1;
                Kind::Unknown
            }
            kind => kind,
        };
        let (words, others) = rest.split_at(length);
        rest = others;
        Some(Given { words, kind })
    })
}

/// The kinds of warnings that `-Werror` names.
const WARNINGS: [&str; 7] = [
    "all-warnings",
    "cross-execution-space-call",
    "default-stream-launch",
    "deprecated-declarations",
    "ext-lambda-captures-this",
    "missing-launch-bounds",
    "reorder",
];

/// Whether a value of `-Werror` is nvcc's.
fn is_kind(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| values(value).iter().all(|kind| WARNINGS.iter().any(|known| kind == known)))
}

/// What a word is, and whether its argument is the next word.
fn classify(word: &OsStr) -> (Kind, bool) {
    let bytes = word.as_bytes();
    let hyphens = bytes.iter().take_while(|byte| **byte == b'-').count();
    if hyphens == 0 || hyphens == bytes.len() {
        return (Kind::File, false);
    }
    let body = &bytes[hyphens..];
    let (name, value) = match body.iter().position(|byte| *byte == b'=') {
        Some(at) => (&body[..at], Some(OsString::from_vec(body[at + 1..].to_vec()))),
        None => (body, None),
    };
    if let Some(row) = std::str::from_utf8(name).ok().and_then(|name| find(hyphens, name)) {
        match (row.argument, value) {
            (NoArgument, None) => return (Kind::Option(row, None), false),
            // An option without an argument has no `=`.
            (NoArgument, Some(_)) => {}
            (_, Some(value)) => return (Kind::Option(row, Some(value)), false),
            (_, None) => return (Kind::Option(row, None), true),
        }
    }
    if hyphens == 1 {
        let starts = |row: &&Row| row.joined && body.starts_with(row.short.as_bytes());
        // Of `-m` and `-maxrregcount`, the longer one.
        if let Some(row) = OPTIONS.iter().filter(starts).max_by_key(|row| row.short.len()) {
            let value = OsString::from_vec(body[row.short.len()..].to_vec());
            let is_number = |value: &OsStr| value.as_bytes().iter().all(u8::is_ascii_digit);
            // `-fPIC`, `-march=native` and others are of other compilers.
            let fits = match row.short {
                "m" | "t" | "maxrregcount" => is_number(&value),
                "O" => value.len() == 1,
                "x" => ["c", "c++", "cu"].iter().any(|language| value == *language),
                "o" => false,
                _ => true,
            };
            if fits {
                return (Kind::Option(row, Some(value)), false);
            }
        }
    }
    (Kind::Unknown, false)
}

/// The values in a list. Commas separate them, except in quotes and after a backslash, which are removed.
#[must_use]
pub fn values(list: &OsStr) -> Vec<OsString> {
    split(list, |byte| byte == b',')
}

/// The words in the values of `-Xcompiler` and its like, separated by commas or blanks.
#[must_use]
pub fn words(list: &OsStr) -> Vec<OsString> {
    split(list, |byte| byte == b',' || byte.is_ascii_whitespace())
}

/// As nvcc splits: separators behind a backslash and in double quotes belong to the word.
fn split(list: &OsStr, separates: impl Fn(u8) -> bool) -> Vec<OsString> {
    let mut found = Vec::new();
    let mut word = Vec::new();
    let mut quote = None;
    let mut is_quoted_inside = false;
    let mut bytes = list.as_bytes().iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match quote {
            Some(end) if byte == end => quote = None,
            Some(_) => word.push(byte),
            None if byte == b'\\' && bytes.peek().is_some_and(|next| separates(*next)) => {
                word.extend(bytes.next());
            }
            None if byte == b'\\' && bytes.peek() == Some(&b'"') => {
                word.push(byte);
                word.extend(bytes.next());
            }
            None if is_quoted_inside || byte == b'"' && !word.is_empty() => {
                // Quotes inside a word are the macro's text: -DNAME=\"x\".
                is_quoted_inside ^= byte == b'"';
                word.push(byte);
            }
            None if matches!(byte, b'"' | b'\'') && word.is_empty() => quote = Some(byte),
            None if separates(byte) => {
                if !word.is_empty() {
                    found.push(OsString::from_vec(std::mem::take(&mut word)));
                }
            }
            None => word.push(byte),
        }
    }
    if !word.is_empty() {
        found.push(OsString::from_vec(word));
    }
    found
}

/// Whether the value of a switch is `true`. `None` for a value that it does not have.
#[must_use]
pub fn is_on(value: &OsStr) -> Option<bool> {
    match value.to_str()? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The options of clang for a row with this argument, as device and host code get them. `None` if the option
/// is not clang's.
#[must_use]
pub fn for_clang(row: &Row, value: Option<&OsStr>) -> Option<Vec<OsString>> {
    match row.role {
        Role::Instead(options) => Some(options.iter().map(OsString::from).collect()),
        Role::Errors => {
            let kinds = values(value?);
            let option = |kind: &OsString| match kind.to_str()? {
                "all-warnings" => Some("-Werror".into()),
                kind @ ("reorder" | "deprecated-declarations") => Some(format!("-Werror={kind}").into()),
                _ => None,
            };
            Some(kinds.iter().filter_map(option).collect())
        }
        Role::Switch(on, off) => {
            let chosen = if value.and_then(is_on)? { on } else { off };
            Some(chosen.iter().map(OsString::from).collect())
        }
        Role::Renamed(name) => {
            let value = value?;
            let values = match row.argument {
                Argument::List(_) => values(value),
                _ => vec![value.to_owned()],
            };
            let mut options = Vec::new();
            for value in values {
                if name == "-include" || name == "-isystem" {
                    options.extend([OsString::from(name), value]);
                } else {
                    let mut whole = OsString::from(name);
                    whole.push(value);
                    options.push(whole);
                }
            }
            Some(options)
        }
        _ => None,
    }
}

/// The architectures that an option's value names, as written; for `arch=compute_80,code=sm_80`, the latter.
#[must_use]
pub fn architectures(value: &str) -> Vec<String> {
    let code = value.split_once("code=").map_or(value, |(_, code)| code);
    let code = code.strip_prefix("arch=").unwrap_or(code);
    let names = code.trim_matches(['[', ']']).split(',').map(|name| name.trim_matches(['"', '\'', '[', ']']));
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The page of the documentation: a table of all options.
#[must_use]
pub fn page() -> String {
    let mut text = String::from(
        "# nvcc's options\n\n<!-- Generated from crates/device-compiler/src/nvcc/options.rs by its tests with FERROCM_BLESS=1. Do not edit. -->\n\n\
         `ferrocm nvcc` knows every option of nvcc 12.8 and 13.0. Each is used, ignored or refused. Build scripts pass the same options to\n\
         `kernel-build`, where those that select the output or are for the host's compiler have no effect.\n\n",
    );
    for (state, title) in [
        (State::Used, "Used"),
        (State::Ignored, "Ignored: accepted, and nothing changes"),
        (State::Refused, "Refused: an error"),
    ] {
        text.push_str(&format!(
            "## {title}\n\n| option | short | what it does, or why not |\n|---|---|---|\n"
        ));
        for row in OPTIONS.iter().filter(|row| row.role.state() == state) {
            let argument = match row.argument {
                Argument::None => String::new(),
                Argument::One(name) => format!(" {name}"),
                Argument::List(name) => format!(" {name},…"),
            };
            let long = format!("--{}{argument}", row.long).replace('|', "\\|");
            let short = match row.short {
                "" => String::new(),
                short => format!("`-{short}`"),
            };
            text.push_str(&format!("| `{long}` | {short} | {} |\n", row.note));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &[&str]) -> Vec<String> {
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        let text = |given: Given<'_>| match given.kind {
            Kind::Option(row, Some(value)) => format!("{}={}", row.long, value.to_string_lossy()),
            Kind::Option(row, None) => row.long.to_owned(),
            Kind::Unknown => format!("?{}", given.words[0].to_string_lossy()),
            Kind::File => given.words[0].to_string_lossy().into_owned(),
        };
        each(&line).map(text).collect()
    }

    #[test]
    fn names_are_long_or_short_and_arguments_follow_or_are_joined() {
        assert_eq!(
            told(&["-arch=sm_80", "-arch", "sm_90", "--gpu-architecture=native", "a.cu", "-o", "b"]),
            [
                "gpu-architecture=sm_80",
                "gpu-architecture=sm_90",
                "gpu-architecture=native",
                "a.cu",
                "output-file=b"
            ]
        );
        assert_eq!(
            told(&[
                "-O3",
                "-DX=1",
                "-D",
                "Y",
                "-Iinc",
                "-lcudart",
                "-lineinfo",
                "-L/lib",
                "-xcu",
                "-t0",
                "-m64"
            ]),
            [
                "optimize=3",
                "define-macro=X=1",
                "define-macro=Y",
                "include-path=inc",
                "library=cudart",
                "generate-line-info",
                "library-path=/lib",
                "x=cu",
                "threads=0",
                "m64"
            ]
        );
        assert_eq!(
            told(&[
                "-Xcompiler=-fPIC,-Wall",
                "-Xptxas",
                "-v",
                "--ftz=true",
                "-maxrregcount=64",
                "-maxrregcount",
                "32",
                "-Ofc=mid"
            ]),
            [
                "compiler-options=-fPIC,-Wall",
                "ptxas-options=-v",
                "ftz=true",
                "maxrregcount=64",
                "maxrregcount=32",
                "Ofast-compile=mid"
            ]
        );
    }

    #[test]
    fn what_nvcc_does_not_have_is_unknown() {
        assert_eq!(
            told(&[
                "-fPIC",
                "-march=native",
                "-mavx2",
                "-pthread",
                "--what",
                "-Wall",
                "-Ofast",
                "--O3",
                "-verbose=1"
            ]),
            [
                "?-fPIC",
                "?-march=native",
                "?-mavx2",
                "?-pthread",
                "?--what",
                "?-Wall",
                "?-Ofast",
                "?--O3",
                "?-verbose=1"
            ]
        );
        assert_eq!(told(&["-", "--", "a"]), ["-", "--", "a"]);
        assert_eq!(told(&["-Xcompiler"]), ["compiler-options"], "without its argument");
    }

    #[test]
    fn every_option_that_takes_an_argument_takes_it_in_all_forms() {
        for row in OPTIONS {
            let forms = [format!("--{}", row.long), format!("-{}", row.short)];
            for form in forms.iter().filter(|form| form.len() > 1) {
                match row.argument {
                    _ if row.long == "Werror" => {}
                    Argument::None => assert_eq!(told(&[form, "x"]), [row.long, "x"], "{form}"),
                    _ => {
                        let whole = format!("{}=x", row.long);
                        assert_eq!(told(&[form, "x"]), [&*whole], "{form}");
                        assert_eq!(told(&[&format!("{form}=x")]), [&*whole], "{form}");
                    }
                }
            }
        }
    }

    #[test]
    fn lists_are_split_outside_quotes() {
        let all = |text: &str| values(OsStr::new(text));
        assert_eq!(all("a,b,,c"), ["a", "b", "c"]);
        assert_eq!(all("\"a,b\",c"), ["a,b", "c"]);
        assert_eq!(all("N=\\\"x\\\""), ["N=\\\"x\\\""], "a macro's text keeps its quotes");
        assert_eq!(all("N=\"x,y\",M=1"), ["N=\"x,y\"", "M=1"], "and its commas");
        assert_eq!(all("N='x,y'"), ["N='x", "y'"], "as nvcc 13 does");
        assert_eq!(all("f(x\\,y)=x"), ["f(x,y)=x"]);
        assert_eq!(words(OsStr::new("-Wall -Wextra,-fPIC")), ["-Wall", "-Wextra", "-fPIC"]);
        assert_eq!(words(OsStr::new("\"-fPIC\"")), ["-fPIC"]);
    }

    #[test]
    fn no_name_has_two_rows_and_every_row_has_a_reason() {
        for (i, row) in OPTIONS.iter().enumerate() {
            assert!(
                !row.note.is_empty() && !row.note.contains('|') && !row.note.ends_with('.'),
                "{}",
                row.long
            );
            for other in &OPTIONS[..i] {
                assert!(other.long != row.long, "{}", row.long);
                assert!(row.short.is_empty() || other.short != row.short, "{}", row.short);
            }
        }
    }

    #[test]
    fn architectures_are_those_of_the_code() {
        assert_eq!(architectures("arch=compute_80,code=sm_80"), ["sm_80"]);
        assert_eq!(architectures("arch=compute_90,code=[sm_90,compute_90]"), ["sm_90", "compute_90"]);
        assert_eq!(architectures("sm_80"), ["sm_80"]);
        assert_eq!(architectures("arch=compute_90"), ["compute_90"]);
    }

    /// Names of the options that `nvcc --help` of CUDA 13.0 lists, and those that only 12.8 has.
    const PUBLISHED: &str = include_str!("published.txt");

    #[test]
    fn every_published_option_has_a_row() {
        for line in PUBLISHED.lines().filter(|line| !line.starts_with('#')) {
            let (long, short) = line.split_once(' ').unwrap_or((line, ""));
            let row = OPTIONS.iter().find(|row| row.long == long);
            assert_eq!(row.map(|row| row.short), Some(short), "{long}");
        }
        assert!(PUBLISHED.lines().count() > 140);
    }

    #[test]
    fn the_page_of_the_documentation_is_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/generated/nvcc-options.md");
        // A published crate has no documentation beside it.
        let Ok(written) = std::fs::read_to_string(path) else { return };
        if std::env::var_os("FERROCM_BLESS").is_some() {
            std::fs::write(path, page()).expect("write");
        } else {
            assert!(written == page(), "docs/generated/nvcc-options.md: FERROCM_BLESS=1 writes it anew");
        }
    }
}
