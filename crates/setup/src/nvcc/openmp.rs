//! OpenMP in programs: clang's code calls LLVM's runtime library, which serves GCC's code, too.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use device_compiler::toolchain::Toolchain;

/// LLVM's library, by the name that programs ask the loader for.
const LIBRARY: &str = "libomp.so.5";
/// Where the system's loader finds it.
const SYSTEM: [&str; 4] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib/x86_64-linux-gnu"];

/// Whether an option turns OpenMP on.
pub(super) fn is_option(option: &OsString) -> bool {
    ["-fopenmp", "-fopenmp=libomp", "-fopenmp=libgomp"].iter().any(|known| option == known)
}

/// The linker's words for the library; `None` if it is not there.
pub(super) fn words(toolchain: &Toolchain) -> Option<Vec<OsString>> {
    let beside_clang = toolchain.clang.parent().and_then(Path::parent).map(|folder| folder.join("lib"));
    let own = toolchain.library_path.iter().cloned().chain(beside_clang);
    let folders = SYSTEM.into_iter().map(PathBuf::from).chain(own).chain(["/usr/local/lib".into()]);
    let found = folders.map(|folder| folder.join(LIBRARY)).find(|path| path.is_file())?;
    let mut words = vec![found.clone().into_os_string()];
    if let Some(folder) =
        found.parent().filter(|folder| !SYSTEM.iter().any(|known| *folder == Path::new(known)))
    {
        let mut path = OsString::from("-rpath=");
        path.push(folder);
        words.extend(["-Xlinker".into(), path]);
    }
    Some(words)
}
