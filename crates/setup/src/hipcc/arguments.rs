//! Parses hipcc's command line and derives clang's.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::Error;

/// Options whose value is the next argument. A value may look like a source file (`-MT x.cpp`).
const WITH_VALUE: [&str; 39] = [
    "--config",
    "--include-directory",
    "--param",
    "--sysroot",
    "-A",
    "-B",
    "-D",
    "-F",
    "-I",
    "-L",
    "-MF",
    "-MJ",
    "-MQ",
    "-MT",
    "-T",
    "-U",
    "-Xarch_device",
    "-Xarch_host",
    "-Xassembler",
    "-Xclang",
    "-Xlinker",
    "-Xoffload-linker",
    "-Xpreprocessor",
    "-dumpbase",
    "-dumpdir",
    "-e",
    "-idirafter",
    "-imacros",
    "-include",
    "-iprefix",
    "-iquote",
    "-isysroot",
    "-isystem",
    "-l",
    "-mllvm",
    "-o",
    "-target",
    "-u",
    "-z",
];
/// Options after which nothing is linked.
const WITHOUT_LINK: [&str; 13] = [
    "--cuda-device-only",
    "--offload-device-only",
    "--precompile",
    "--preprocess",
    "-E",
    "-M",
    "-MM",
    "-S",
    "-c",
    "-emit-ast",
    "-fsyntax-only",
    "-r",
    "--analyze",
];
/// Extensions of HIP files, whatever clang would take them for: `.cu` would be CUDA.
const HIP: [&str; 2] = ["cu", "hip"];
/// Extensions of C++ sources, which hipcc compiles as HIP.
const CXX: [&str; 6] = ["C", "c++", "cc", "cp", "cpp", "cxx"];
/// The nesting limit of response files, because a cycle would never end.
const DEEPEST: usize = 20;

/// A question instead of compiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// The versions of HIP and clang.
    Version,
    /// The version of HIP only.
    ShortVersion,
}

/// The relevant facts of a command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Call {
    /// For clang: the given arguments, with languages before sources and without hipcc's own options.
    pub(super) arguments: Vec<OsString>,
    /// Only a version is wanted.
    pub(super) question: Option<Question>,
    /// Whether there is anything to compile or to link.
    pub(super) has_input: bool,
    /// Whether the result is linked.
    pub(super) links: bool,
    /// Whether targets are named.
    has_target: bool,
    /// The language forced for the next file; `None` if its name decides.
    language: Option<&'static str>,
    /// Whether a level of optimisation is named.
    has_level: bool,
    /// Whether kernels of several sources are linked with each other.
    pub(super) is_relocatable: bool,
    /// Whether there was a response file (`@`), which may hold more than a command line can.
    pub(super) has_response_file: bool,
}

impl Call {
    /// Reads a command line. `cxx_is_hip` says whether C++ sources are HIP.
    pub(super) fn parse(given: &[OsString], cxx_is_hip: bool) -> Result<Self, Error> {
        let mut call = Self { links: true, ..Self::default() };
        let mut words = Vec::new();
        call.has_response_file = expand(given, &mut words, 0)?;
        // The last language from `-x`; hipcc does not choose the language then.
        let mut language: Option<OsString> = None;
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let bytes = word.as_bytes();
            if !bytes.starts_with(b"-") || bytes == b"-" {
                call.file(word, language.is_some(), cxx_is_hip);
                continue;
            }
            let text = word.to_string_lossy().into_owned();
            match text.as_str() {
                "--version" => call.question = Some(Question::Version),
                "--short-version" => call.question = Some(Question::ShortVersion),
                // Only code objects, for hipModuleLoad.
                "--genco" => {
                    call.links = false;
                    call.arguments.push("--offload-device-only".into());
                    continue;
                }
                // Obsolete: how AMD's compiler treats functions in kernels.
                "--hipcc-func-supp" | "--hipcc-no-func-supp" => continue,
                "-fgpu-rdc" | "-fcuda-rdc" => call.is_relocatable = true,
                "-fno-gpu-rdc" | "-fno-cuda-rdc" => call.is_relocatable = false,
                _ => {}
            }
            call.links &= !WITHOUT_LINK.contains(&text.as_str());
            call.has_level |= text.starts_with("-O");
            call.has_input |= text.starts_with("-l");
            if let Some(targets) = text.strip_prefix("--amdgpu-target=") {
                call.has_target = true;
                call.arguments.push(format!("--offload-arch={targets}").into());
                continue;
            }
            call.has_target |= targets_of(&word).is_some();
            if text == "-x" {
                call.language = None;
                call.arguments.push(word);
                if let Some(name) = words.next() {
                    language = (name != "none").then(|| name.clone());
                    call.arguments.push(name);
                }
                continue;
            }
            if let Some(name) = text.strip_prefix("-x").filter(|name| !name.starts_with("arch")) {
                call.language = None;
                language = (name != "none").then(|| name.into());
            }
            call.arguments.push(word);
            if WITH_VALUE.contains(&text.as_str()) {
                call.arguments.extend(words.next());
            }
        }
        Ok(call)
    }

    fn file(&mut self, name: OsString, has_language: bool, cxx_is_hip: bool) {
        self.has_input = true;
        if !has_language {
            let extension = Path::new(&name).extension().and_then(OsStr::to_str).unwrap_or_default();
            self.switch_to(match extension {
                _ if HIP.contains(&extension) || cxx_is_hip && CXX.contains(&extension) => Some("hip"),
                // clang++ would take it for C++.
                "c" => Some("c"),
                _ => None,
            });
        }
        self.arguments.push(name);
    }

    /// Sets the language of the following files for clang, or lets the names decide. Never repeats an option,
    /// because clang warns about unused languages.
    fn switch_to(&mut self, language: Option<&'static str>) {
        if self.language != language {
            self.language = language;
            self.arguments.extend(["-x".into(), language.unwrap_or("none").into()]);
        }
    }

    /// hipcc's options before the given ones: targets, if none are named, and optimisation.
    pub(super) fn defaults(&self, targets: &[String]) -> Vec<OsString> {
        let mut defaults = Vec::new();
        if !self.has_input {
            return defaults;
        }
        if !self.has_target {
            defaults.extend(targets.iter().map(|target| format!("--offload-arch={target}").into()));
        }
        if !self.has_level {
            defaults.push("-O3".into());
        }
        defaults
    }

    /// Whether this machine's targets are used because no others are named.
    pub(super) fn needs_targets(&self) -> bool {
        self.has_input && !self.has_target
    }
}

/// Options that name targets, and the word for this machine's. For the latter, clang would call a program
/// that only LLVM's packages contain.
const TARGET_OPTIONS: [&str; 2] = ["--offload-arch=", "--cuda-gpu-arch="];
const NATIVE: &str = "native";

/// The targets that an argument names.
fn targets_of(argument: &OsStr) -> Option<(&'static str, Vec<&str>)> {
    let text = argument.to_str()?;
    TARGET_OPTIONS.iter().find_map(|option| Some((*option, text.strip_prefix(option)?.split(',').collect())))
}

/// Whether an argument names the targets of this machine.
pub(super) fn is_native(argument: &OsStr) -> bool {
    targets_of(argument).is_some_and(|(_, names)| names.contains(&NATIVE))
}

/// The arguments with this machine's targets instead of the word for them.
pub(super) fn with_native(arguments: Vec<OsString>, native: &[String]) -> Vec<OsString> {
    let replaced = |argument: OsString| match targets_of(&argument) {
        Some((option, names)) if names.contains(&NATIVE) => {
            let own = native.iter().map(String::as_str);
            let mut all: Vec<&str> = names.into_iter().filter(|name| *name != NATIVE).chain(own).collect();
            all.sort_unstable();
            all.dedup();
            format!("{option}{}", all.join(",")).into()
        }
        _ => argument,
    };
    arguments.into_iter().map(replaced).collect()
}

/// Expands response files (`@FILE`), as clang does: if there is no such file, the word stays. Returns whether
/// there was any.
fn expand(given: &[OsString], words: &mut Vec<OsString>, depth: usize) -> Result<bool, Error> {
    let mut found = false;
    for word in given {
        let Some(name) = word.as_bytes().strip_prefix(b"@").filter(|name| !name.is_empty()) else {
            words.push(word.clone());
            continue;
        };
        let path = PathBuf::from(OsStr::from_bytes(name));
        match fs::read(&path) {
            Ok(_) if depth == DEEPEST => return Err(Error::Nested { path }),
            Ok(bytes) => {
                found = true;
                expand(&split(&bytes), words, depth + 1)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => words.push(word.clone()),
            Err(source) => return Err(Error::Io { doing: "read", path, source }),
        }
    }
    Ok(found)
}

/// The words of a response file, separated by blanks. Quotes group words, and a backslash escapes the next
/// character, in quotes, too.
pub(super) fn split(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => {
                if let Some(next) = bytes.next() {
                    word.get_or_insert_default().push(next);
                }
            }
            (_, Some(end)) if byte == end => quote = None,
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, None) if byte.is_ascii_whitespace() => words.extend(word.take().map(OsString::from_vec)),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

/// The text of a response file with these words, readable by [`split`] and clang.
pub(super) fn join(words: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for word in words {
        text.push(b'"');
        for byte in word.as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        text.extend(b"\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call(line: &str) -> Call {
        Call::parse(&split(line.as_bytes()), true).expect("a command line")
    }

    fn told(line: &str) -> String {
        call(line).arguments.join(OsStr::new(" ")).into_string().expect("UTF-8")
    }

    #[test]
    fn sources_are_hip_and_other_files_are_not() {
        for name in ["a.hip", "a.cu", "dir/a.cpp", "a.cc", "a.cxx", "a.C"] {
            assert_eq!(told(name), format!("-x hip {name}"));
        }
        assert_eq!(told("a.c b.hip c.o"), "-x c a.c -x hip b.hip -x none c.o");
        for name in ["a.o", "liba.a", "a.s", "noext", "-"] {
            assert_eq!(told(name), name);
        }
        let c = Call::parse(&["a.cpp".into(), "b.hip".into()], false).expect("a command line");
        assert_eq!(c.arguments.join(OsStr::new(" ")), "a.cpp -x hip b.hip");
        assert_eq!(told("a.cpp b.hip -lm c.o d.cpp"), "-x hip a.cpp b.hip -lm -x none c.o -x hip d.cpp");
    }

    #[test]
    fn a_language_that_is_named_holds() {
        assert_eq!(told("-x c++ a.cpp -x none b.cpp"), "-x c++ a.cpp -x none -x hip b.cpp");
        assert_eq!(told("-xc++ a.hip"), "-xc++ a.hip");
        assert_eq!(told("-Xarch_device -O1 a.hip"), "-Xarch_device -O1 -x hip a.hip");
    }

    #[test]
    fn values_of_options_are_no_sources() {
        for option in WITH_VALUE {
            assert_eq!(told(&format!("{option} x.cpp -c")), format!("{option} x.cpp -c"));
        }
    }

    #[test]
    fn what_stops_before_the_linker_is_not_linked() {
        for option in WITHOUT_LINK.into_iter().chain(["--genco"]) {
            assert!(!call(&format!("{option} a.hip")).links, "{option}");
        }
        assert!(call("a.hip -o a").links && call("-shared a.o").links);
        assert_eq!(told("--genco a.hip -o a.co"), "--offload-device-only -x hip a.hip -o a.co");
    }

    #[test]
    fn targets_and_optimisation_have_defaults_where_something_is_compiled() {
        let targets = ["gfx1100".to_owned(), "gfx90a".to_owned()];
        let defaults =
            |line: &str| call(line).defaults(&targets).join(OsStr::new(" ")).into_string().expect("UTF-8");
        assert_eq!(defaults("a.hip"), "--offload-arch=gfx1100 --offload-arch=gfx90a -O3");
        assert_eq!(defaults("a.hip --offload-arch=gfx1030 -Og"), "");
        assert_eq!(defaults("--amdgpu-target=gfx1030 a.hip"), "-O3");
        assert_eq!(defaults("-v"), "");
        assert_eq!(defaults("-print-libgcc-file-name"), "");
        assert_eq!(told("--amdgpu-target=gfx1030 a.o"), "--offload-arch=gfx1030 a.o");
    }

    #[test]
    fn the_targets_of_this_machine_are_named() {
        let native = ["gfx1100".to_owned()];
        let line = [
            "--offload-arch=native",
            "--cuda-gpu-arch=gfx90a,native,gfx1100",
            "--offload-arch=gfx942",
            "native",
        ];
        assert!(is_native(line[0].as_ref()) && is_native(line[1].as_ref()));
        assert!(!is_native(line[2].as_ref()) && !is_native(line[3].as_ref()));
        let arguments = with_native(line.map(OsString::from).to_vec(), &native);
        let expected =
            ["--offload-arch=gfx1100", "--cuda-gpu-arch=gfx1100,gfx90a", "--offload-arch=gfx942", "native"];
        assert_eq!(arguments, expected);
    }

    #[test]
    fn questions_and_relocatable_code_are_noticed() {
        assert_eq!(call("--version").question, Some(Question::Version));
        assert_eq!(call("--short-version").question, Some(Question::ShortVersion));
        assert!(call("-fgpu-rdc a.hip").is_relocatable);
        assert!(!call("-fgpu-rdc -fno-gpu-rdc a.hip").is_relocatable);
    }

    #[test]
    fn response_files_are_read_where_they_stand() {
        let folder = tempfile::tempdir().expect("folder");
        let file = |name: &str| folder.path().join(name).into_os_string();
        let at = |name: &str| {
            let mut word = OsString::from("@");
            word.push(file(name));
            word
        };
        fs::write(file("outer"), format!("-DA=\"x y\" {}\n'b c.hip'", at("inner").display())).expect("write");
        fs::write(file("inner"), "-c \\\"q\\\"").expect("write");
        let call = Call::parse(&[at("outer"), "@no-such-file".into()], true).expect("read");
        let expected = ["-DA=x y", "-c", "\"q\"", "-x", "hip", "b c.hip", "-x", "none", "@no-such-file"];
        assert_eq!(call.arguments, expected);
        assert!(call.has_response_file && !call.links);
        fs::write(file("circle"), at("circle").as_bytes()).expect("write");
        let error = Call::parse(&[at("circle")], true).expect_err("endless").to_string();
        assert!(error.contains("circle"), "{error}");
    }

    proptest! {
        #[test]
        fn words_that_are_written_are_read_again(words in prop::collection::vec(prop::collection::vec(1u8.., 0..12), 0..6)) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
            prop_assert_eq!(split(&join(&words)), words);
        }

        #[test]
        fn any_words_make_a_call(words in prop::collection::vec("[-@a-zO=. ]{0,6}", 0..8)) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            let _ = Call::parse(&words, true);
        }
    }
}
