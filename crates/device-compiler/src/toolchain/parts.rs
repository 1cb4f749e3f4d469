//! Checks the parts of a toolchain.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Version, entries};

/// Version of the HIP headers in `root/include/hip`.
pub(super) fn hip_headers(root: &Path) -> Result<Version, String> {
    let header = root.join("include/hip/hip_version.h");
    if !root.join("include/hip/hip_runtime.h").is_file() {
        return Err("no include/hip/hip_runtime.h".into());
    }
    let from_file = |path: &Path, major: &str, minor: &str, patch: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        let value = |name: &str| {
            text.lines().find_map(|line| {
                let rest = line.trim().trim_start_matches("#define ").trim_start().strip_prefix(name)?;
                let rest = rest.strip_prefix([' ', '=', '\t'])?;
                rest.trim().trim_matches('"').parse().ok()
            })
        };
        Some(Version { major: value(major)?, minor: value(minor)?, patch: value(patch)? })
    };
    from_file(&header, "HIP_VERSION_MAJOR", "HIP_VERSION_MINOR", "HIP_VERSION_PATCH")
        .or_else(|| {
            let version = root.join("share/hip/version");
            from_file(&version, "HIP_VERSION_MAJOR", "HIP_VERSION_MINOR", "HIP_VERSION_PATCH")
        })
        .ok_or_else(|| "the version is in neither include/hip/hip_version.h nor share/hip/version".into())
}

/// Whether clang of this version can read these headers.
pub(super) fn headers_suit(clang: Version, headers: Version) -> Result<(), String> {
    if clang.major >= 22 && headers.major < 7 {
        return Err(format!("HIP {headers} headers are too old for clang {}: 7 or later", clang.major));
    }
    Ok(())
}

/// Whether a folder contains the device libraries.
pub(super) fn device_libs(folder: &Path) -> Result<(), String> {
    for name in ["ocml.bc", "ockl.bc", "oclc_isa_version_1100.bc"] {
        if !folder.join(name).is_file() {
            return Err(format!("no {name}"));
        }
    }
    Ok(())
}

/// The options for C and C++ headers, given the folders that clang searches itself, and the folder of the C++
/// headers.
pub(super) fn cxx_headers(
    include_dirs: &[PathBuf],
    prefix: &Path,
) -> Result<(Vec<OsString>, PathBuf), String> {
    let find = |file: &str| include_dirs.iter().find(|dir| dir.join(file).is_file());
    let missing = |what: &str, place: &Path| {
        Err(format!("{what} is in none of clang's folders and not in {}", place.display()))
    };
    let mut args = Vec::new();
    let include = prefix.join("usr/include");
    let found = match find("cmath") {
        Some(dir) => dir.clone(),
        None => {
            let newest = entries(&include.join("c++"))
                .into_iter()
                .filter_map(|dir| Some((dir.file_name()?.to_str()?.parse::<u32>().ok()?, dir)))
                .filter(|(_, dir)| dir.join("cmath").is_file())
                .max_by_key(|(version, _)| *version);
            let Some((version, dir)) = newest else {
                return missing("cmath", &include.join("c++"));
            };
            // In this position, the standard library comes after clang's own wrappers, as they require.
            let machine = include.join("x86_64-linux-gnu/c++").join(version.to_string());
            for dir in [dir.clone(), machine] {
                args.extend([OsString::from("-stdlib++-isystem"), dir.into()]);
            }
            dir
        }
    };
    if find("stdlib.h").is_none() {
        if !include.join("stdlib.h").is_file() {
            return missing("stdlib.h", &include);
        }
        for dir in [include.join("x86_64-linux-gnu"), include] {
            args.extend([OsString::from("-idirafter"), dir.into()]);
        }
    }
    Ok((args, found))
}
