//! The libraries loaded in this process.

use std::path::{Path, PathBuf};

/// The files of the shared objects in this process, by the names that the loader was given.
#[cfg(target_os = "linux")]
pub(crate) fn objects() -> Vec<PathBuf> {
    use std::ffi::{CStr, OsStr, c_int, c_void};
    use std::os::unix::ffi::OsStrExt;

    /// The loader holds a lock while it calls this, so it only copies. It cannot unwind.
    unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, paths: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid structure, whose name is null or a string that lives through the
        // call.
        let name = unsafe { (*info).dlpi_name };
        if !name.is_null() {
            // SAFETY: as above.
            let name = unsafe { CStr::from_ptr(name) }.to_bytes();
            // SAFETY: `objects` passes its vector, which nothing else touches during the walk.
            let paths = unsafe { &mut *paths.cast::<Vec<PathBuf>>() };
            if !name.is_empty() {
                paths.push(PathBuf::from(OsStr::from_bytes(name)));
            }
        }
        0
    }

    let mut paths: Vec<PathBuf> = Vec::new();
    // SAFETY: the callback gets the vector that outlives the call, and leaves the loader's structures alone.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut paths).cast()) };
    paths
}

/// Not supported on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn objects() -> Vec<PathBuf> {
    Vec::new()
}

/// Whether the file is a library with this stem, even if it was opened through a link with another name.
pub(crate) fn is_library(file: &Path, stem: &str) -> bool {
    let named = |file: &Path| {
        file.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_library_name(name, stem))
    };
    named(file) || file.canonicalize().is_ok_and(|target| named(&target))
}

/// Whether a file name is that of a library with this stem (`libamdhip64`), in any version, with or without
/// the checksum that wheel-repairing tools insert.
///
/// ```
/// use sys_load::is_library_name;
///
/// for name in ["libamdhip64.so", "libamdhip64.so.7.2.53211", "libamdhip64-0a1b2c3d.so.6"] {
///     assert!(is_library_name(name, "libamdhip64"));
/// }
/// assert!(!is_library_name("libamdhip64_stub.so", "libamdhip64"));
/// ```
pub fn is_library_name(name: &str, stem: &str) -> bool {
    let Some(rest) = name.strip_prefix(stem) else { return false };
    let rest = match rest.strip_prefix('-').and_then(|rest| rest.split_once('.')) {
        Some((checksum, rest)) if checksum.len() == 8 && checksum.bytes().all(|c| c.is_ascii_hexdigit()) => {
            return rest == "so" || rest.starts_with("so.");
        }
        _ => rest,
    };
    rest == ".so" || rest.starts_with(".so.")
}

/// The part of a library's name before `.so`.
pub(crate) fn stem(name: &str) -> &str {
    name.split_once(".so").map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_stem() {
        for (file, is) in [
            ("libamdhip64.so", true),
            ("libamdhip64.so.6.4.1", true),
            ("libamdhip64-0a1b2c3d.so.6", true),
            ("libamdhip64-0a1b2c3d.so", true),
            ("libamdhip64-other.so", false),
            ("libamdhip64_stub.so", false),
            ("libamdhip64.sodium", false),
            ("libamdhip64", false),
            ("libamdhip64-0a1b2c3d", false),
            ("", false),
        ] {
            assert_eq!(is_library_name(file, "libamdhip64"), is, "{file}");
        }
        assert_eq!(stem("libamdhip64.so.7"), "libamdhip64");
        assert_eq!(stem("amdhip64_7.dll"), "amdhip64_7.dll");
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no dynamic loader")]
    fn the_c_library_is_in_the_process() {
        assert!(objects().iter().any(|file| is_library(file, "libc")), "{:?}", objects());
    }
}
