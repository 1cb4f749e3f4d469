//! A folder with ROCm's layout for build systems: hipcc, headers, the HIP library, CMake's packages.
//!
//! It contains links to the toolchain and the library, and scripts that call this program. Its name is a hash
//! of all contents, so it never changes.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use device_compiler::toolchain::Toolchain;
use sha2::{Digest, Sha256};

use super::{BUNDLER, Error, HIP_LIBRARY, LIBRARIES_VARIABLE, Parts, io_error};
use crate::debian::package::hex;

/// The CMake packages, below `lib/cmake`. `@VERSION@` stands for HIP's version.
const PACKAGES: [(&str, &str); 4] = [
    ("hip/hip-config.cmake", include_str!("cmake/hip-config.cmake")),
    ("hip/hip-config-version.cmake", include_str!("cmake/version.cmake")),
    ("hip-lang/hip-lang-config.cmake", include_str!("cmake/hip-lang-config.cmake")),
    ("hip-lang/hip-lang-config-version.cmake", include_str!("cmake/version.cmake")),
];
/// Programs that report this machine's targets: CMake calls the first, clang the others, for
/// `--offload-arch=native`.
const ENUMERATORS: [&str; 3] = ["bin/rocm_agent_enumerator", "llvm/bin/amdgpu-arch", "llvm/bin/offload-arch"];
/// Where the compiler is.
pub(super) const COMPILERS: &str = "llvm/bin";

/// An item in the folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A link to this place.
    Link(PathBuf),
    /// A file with this text.
    Text(String),
    /// A file with these bytes.
    Bytes(Vec<u8>),
    /// A shell script.
    Script(Vec<u8>),
}

/// Creates the folder below `cache`, unless it exists.
pub(super) fn make(cache: &Path, parts: &Parts<'_>) -> Result<PathBuf, Error> {
    place(&cache.join("hip"), &items(parts), "", |_| Ok(()))
}

/// Creates a folder of these items in `folder`, unless it exists. `finish` adds what is made from what `salt`
/// identifies.
pub(crate) fn place(
    folder: &Path,
    items: &[(String, Item)],
    salt: &str,
    finish: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<PathBuf, Error> {
    let place = folder.join(id(items, salt));
    if place.is_dir() {
        return Ok(place);
    }
    fs::create_dir_all(folder).map_err(io_error("create", folder))?;
    let staging = tempfile::Builder::new().prefix(".staging-").tempdir_in(folder);
    let staging = staging.map_err(io_error("create a folder in", folder))?;
    let tree = staging.path().join("tree");
    for (name, item) in items {
        let path = tree.join(name);
        let above = path.parent().unwrap_or(&tree);
        fs::create_dir_all(above).map_err(io_error("create", above))?;
        let made = match item {
            Item::Link(to) => symlink(to, &path),
            Item::Text(text) => fs::write(&path, text),
            Item::Bytes(bytes) => fs::write(&path, bytes),
            Item::Script(text) => fs::write(&path, text)
                .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755))),
        };
        made.map_err(io_error("write", &path))?;
    }
    finish(&tree)?;
    match fs::rename(&tree, &place) {
        // Another run may have created it in the meantime.
        Err(_) if place.is_dir() => Ok(place),
        Err(source) => Err(io_error("make", &place)(source)),
        Ok(()) => Ok(place),
    }
}

/// The contents of the folder, sorted by path.
fn items(parts: &Parts<'_>) -> Vec<(String, Item)> {
    let Parts { toolchain, library, program, .. } = *parts;
    let mut items = Vec::new();
    let mut add = |name: &str, item: Item| items.push((name.to_owned(), item));
    add("amdgcn/bitcode", Item::Link(toolchain.device_libs.clone()));
    for (name, to) in headers(toolchain) {
        add(&name, Item::Link(to));
    }
    let version = toolchain.hip_version;
    let (major, minor, patch) = (version.major, version.minor, version.patch);
    // In clang's format.
    let text = format!("HIP_VERSION_MAJOR={major}\nHIP_VERSION_MINOR={minor}\nHIP_VERSION_PATCH={patch}\n");
    add("share/hip/version", Item::Text(text));
    for (name, text) in PACKAGES {
        add(&format!("lib/cmake/{name}"), Item::Text(text.replace("@VERSION@", &version.to_string())));
    }
    if let Some(library) = library {
        add(&format!("lib/{HIP_LIBRARY}"), Item::Link(library.to_owned()));
        add("lib/libamdhip64.so", Item::Link(HIP_LIBRARY.into()));
    }
    let mut call = |name: &str, arguments: &str| {
        add(name, Item::Script(script(program, library.and_then(Path::parent), arguments)));
    };
    call("bin/hipcc", "hipcc");
    call("bin/hipconfig", "hipconfig");
    for name in ENUMERATORS {
        call(name, "hipconfig --targets");
    }
    for name in ["clang++", "amdclang++"] {
        call(&format!("{COMPILERS}/{name}"), "hipcc --as-clang++");
    }
    for name in ["clang", "amdclang"] {
        call(&format!("{COMPILERS}/{name}"), "hipcc --as-clang");
    }
    if !super::has_own_bundler(toolchain) {
        call(&format!("{COMPILERS}/{BUNDLER}"), &format!("hipcc --as-{BUNDLER}"));
    }
    items.sort_by(|a, b| a.0.cmp(&b.0));
    items
}

/// What ROCm's include folder has for HIP programs: HIP and HSA, and the templates of hipCUB, rocPRIM and
/// rocThrust.
const INCLUDES: [&str; 5] = ["hip", "hipcub", "hsa", "rocprim", "thrust"];

/// The headers to link: all of a ROCm's; from a folder that also has the C library's, only HIP's own.
fn headers(toolchain: &Toolchain) -> Vec<(String, PathBuf)> {
    let include = toolchain.hip_path.join("include");
    match include.join("stdio.h").is_file() {
        false => vec![("include".to_owned(), include)],
        true => {
            let own = INCLUDES.map(|name| (format!("include/{name}"), include.join(name)));
            own.into_iter().filter(|(_, path)| path.is_dir()).collect()
        }
    }
}

/// A program that calls this one.
pub(crate) fn script(program: &Path, libraries: Option<&Path>, arguments: &str) -> Vec<u8> {
    let mut text = b"#!/bin/sh\n".to_vec();
    if let Some(libraries) = libraries {
        // A user's setting takes precedence.
        text.extend(format!("[ -n \"${LIBRARIES_VARIABLE}\" ] || {LIBRARIES_VARIABLE}=").bytes());
        text.extend(quoted(libraries.as_os_str()));
        text.extend(format!("\nexport {LIBRARIES_VARIABLE}\n").bytes());
    }
    text.extend(b"exec ");
    text.extend(quoted(program.as_os_str()));
    text.extend(format!(" {arguments} \"$@\"\n").bytes());
    text
}

/// A quoted word for `sh`.
fn quoted(word: &OsStr) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            _ => text.push(*byte),
        }
    }
    text.push(b'\'');
    text
}

/// A name for the folder that identifies its contents.
fn id(items: &[(String, Item)], salt: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(salt.as_bytes());
    for (name, item) in items {
        let (kind, bytes) = match item {
            Item::Link(to) => (b'l', to.as_os_str().as_bytes()),
            Item::Text(text) => (b't', text.as_bytes()),
            Item::Bytes(bytes) => (b'b', bytes.as_slice()),
            Item::Script(text) => (b's', text.as_slice()),
        };
        for part in [name.as_bytes(), &[kind], bytes] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hex(&hash.finalize())[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::hipcc::fixtures;

    #[test]
    fn headers_of_rocm_are_linked_without_the_c_librarys() {
        let prefix = tempfile::tempdir().expect("folder");
        let include = prefix.path().join("include");
        for name in ["hip", "hipcub", "rocprim", "thrust", "c++"] {
            fs::create_dir_all(include.join(name)).expect("a folder");
        }
        let toolchain = Toolchain { hip_path: prefix.path().to_owned(), ..fixtures::toolchain() };
        let names = || headers(&toolchain).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(), ["include"]);
        fs::write(include.join("stdio.h"), "").expect("write");
        assert_eq!(names(), ["include/hip", "include/hipcub", "include/rocprim", "include/thrust"]);
    }

    #[test]
    fn a_folder_like_rocms_is_made_once() {
        let cache = tempfile::tempdir().expect("folder");
        let toolchain = fixtures::toolchain();
        let program = cache.path().join("it's a program");
        fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$FERROCM_LIBRARIES\" \"$@\"\n").expect("write");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("mode");
        let library = Path::new("/some where/lib/libamdhip64.so.7");
        let parts = Parts { toolchain: &toolchain, library: Some(library), program: &program, targets: &[] };
        let place = make(cache.path(), &parts).expect("made");
        assert_eq!(make(cache.path(), &parts).expect("found"), place);
        assert_eq!(fs::read_link(place.join("lib/libamdhip64.so.7")).expect("a link"), library);
        assert_eq!(
            fs::read_link(place.join("lib/libamdhip64.so")).expect("a link"),
            Path::new("libamdhip64.so.7")
        );
        for (name, arguments) in [
            ("bin/hipcc", "hipcc|"),
            ("bin/rocm_agent_enumerator", "hipconfig|--targets|"),
            ("llvm/bin/clang++", "hipcc|--as-clang++|"),
            ("llvm/bin/clang-offload-bundler", "hipcc|--as-clang-offload-bundler|"),
        ] {
            let mut command = Command::new(place.join(name));
            let told = command.arg("a b").env_remove(LIBRARIES_VARIABLE).output().expect("starts").stdout;
            assert_eq!(String::from_utf8(told).expect("UTF-8"), format!("/some where/lib|{arguments}a b|"));
            let told = command.env(LIBRARIES_VARIABLE, "/mine").output().expect("starts").stdout;
            assert_eq!(String::from_utf8(told).expect("UTF-8"), format!("/mine|{arguments}a b|"));
        }
        let config = fs::read_to_string(place.join("lib/cmake/hip/hip-config-version.cmake")).expect("text");
        assert!(config.contains("\"7.2.4\"") && !config.contains('@'), "{config}");
        let without = Parts { library: None, ..parts };
        let other = make(cache.path(), &without).expect("made");
        assert!(other != place && !other.join("lib/libamdhip64.so").exists());
    }
}
