//! Options of callers that name files, and whether the compiler reports these files.

use std::ffi::OsStr;
use std::path::Path;

/// Options whose files the compiler reports: it lists the headers, and the folders in which it looks for
/// them.
const FOLLOWED: [&str; 8] = [
    "-I",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isystem-after",
    "--include-directory",
    "-include",
    "--include",
];

/// Options whose values are plain texts, never files, whatever they look like.
const TEXTS: [&str; 10] = [
    "-D",
    "-U",
    "-ffile-prefix-map=",
    "-fdebug-prefix-map=",
    "-fmacro-prefix-map=",
    "-fcoverage-prefix-map=",
    "-fdebug-compilation-dir",
    "--offload-arch=",
    "-std=",
    "-cuid=",
];

/// Options that read files that the compiler does not report, present or missing.
const SILENT: [&str; 28] = [
    "@",
    "-F",
    "-iframework",
    "-iwith",
    "-iprefix",
    "-imacros",
    "-imultilib",
    "-isysroot",
    "-include-pch",
    "--sysroot",
    "--config",
    "--embed-dir",
    "-fmodule",
    "-fprebuilt-module",
    "-fbuild-session",
    "-fplugin",
    "-fpass-plugin",
    "-fprofile",
    "-fauto-profile",
    "-fsanitize-",
    "-fxray-",
    "-fembed-",
    "-fthinlto-index",
    "-ivfsoverlay",
    "-load",
    "--hip-device-lib",
    "-resource-dir",
    "-Wa,",
];

/// Whether the compiler reports every file that these options make it read. `folder` is its current folder.
pub(super) fn are_known(options: &[&OsStr], folder: &Path) -> bool {
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let Some(option) = option.to_str() else { return false };
        if matches!(option, "-D" | "-U") || FOLLOWED.contains(&option) {
            rest.next();
            continue;
        }
        if SILENT.iter().any(|start| option.starts_with(start)) {
            return false;
        }
        if FOLLOWED.iter().chain(&TEXTS).any(|start| option.starts_with(start)) {
            continue;
        }
        // An unknown option is accepted only if it names no file.
        let values = option.split(['=', ',']).chain([option]);
        if option.contains('/') || values.into_iter().any(|value| names_a_file(value, folder)) {
            return false;
        }
    }
    true
}

fn names_a_file(value: &str, folder: &Path) -> bool {
    !value.is_empty() && folder.join(value).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_name_other_files_than_headers_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let known =
            |options: &[&str]| are_known(&options.iter().map(OsStr::new).collect::<Vec<_>>(), folder.path());
        for options in [
            &["-O2", "-ffast-math", "-DPATH=\"/etc/passwd\"", "-D", "file"][..],
            &["-I/usr/include", "-I", "file", "-isystem", "/x", "-include", "/etc/hosts"],
            &["-mllvm", "-amdgpu-early-inline-all=true", "-w", "-Wno-everything"],
        ] {
            assert!(known(options), "{options:?}");
        }
        for options in [
            &["@file"][..],
            &["-fprofile-use=none"],
            &["-fplugin=x.so"],
            &["-mllvm", "-some-list=file"],
            &["-Wl,-T,file"],
            &["-Xlinker", "/some/script"],
            &["file"],
        ] {
            assert!(!known(options), "{options:?}");
        }
    }
}
