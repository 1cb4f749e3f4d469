//! Finds and opens a vendor's shared library at run time, and remembers every attempt.
//!
//! The `-sys` crates describe a library with [`Search`], open it with [`Library::find`] and copy its symbols into
//! their table of function pointers with [`fill`]. A library once opened stays in the process: its functions may be
//! called by threads and exit handlers that nobody can wait for.
#![warn(missing_docs)]

use std::ffi::{CStr, OsString, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    /// What people call the library, as in "the HIP runtime".
    pub what: &'static str,
    /// Environment variable that names the one file to use instead of searching.
    pub variable: &'static str,
    /// File names, newest version first.
    pub names: &'static [&'static str],
    /// A symbol that every version has; a file without it is some other library.
    pub required: &'static CStr,
}

/// One place that was tried, and why it did not serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The file name or path, with where it came from.
    pub place: String,
    /// The reason it was passed over.
    pub reason: String,
}

/// No usable library was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct LoadError {
    /// What was looked for.
    pub what: &'static str,
    /// The variable that would name a file.
    pub variable: &'static str,
    /// Every place that was tried, in order.
    pub attempts: Vec<Attempt>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was not found (set {} to name its file); tried:", self.what, self.variable)?;
        for attempt in &self.attempts {
            write!(f, "\n  {}: {}", attempt.place, attempt.reason)?;
        }
        Ok(())
    }
}

/// An open library, which stays open.
#[derive(Debug)]
pub struct Library {
    handle: std::mem::ManuallyDrop<libloading::Library>,
    path: PathBuf,
}

impl Library {
    /// Finds the library: the file that the variable names and no other, else one that is already in the process, else
    /// what the system's loader finds by name, else `ROCM_PATH/lib`, else `/opt/rocm*/lib`.
    ///
    /// # Errors
    /// [`LoadError`] lists every place that was tried.
    pub fn find(search: &Search) -> Result<Library, LoadError> {
        let mut attempts = Vec::new();
        if let Some(file) = std::env::var_os(search.variable).filter(|file| !file.is_empty()) {
            let path = PathBuf::from(file);
            return match open(&path, search.required, false) {
                Ok(library) => Ok(library),
                Err(reason) => {
                    attempts
                        .push(Attempt { place: format!("{} ({})", path.display(), search.variable), reason });
                    Err(LoadError { what: search.what, variable: search.variable, attempts })
                }
            };
        }
        for name in search.names {
            if let Ok(library) = open(Path::new(name), search.required, true) {
                return Ok(library);
            }
        }
        let by_name = search.names.iter().map(|name| (PathBuf::from(name), "the system's loader"));
        let in_folders = folders().into_iter().flat_map(|(folder, origin)| {
            search.names.iter().map(move |name| (folder.join(name), origin)).collect::<Vec<_>>()
        });
        for (path, origin) in by_name.chain(in_folders) {
            let missing = path.is_absolute() && !path.exists();
            let result =
                if missing { Err("no such file".to_owned()) } else { open(&path, search.required, false) };
            match result {
                Ok(library) => return Ok(library),
                Err(reason) => {
                    attempts.push(Attempt { place: format!("{} ({origin})", path.display()), reason })
                }
            }
        }
        Err(LoadError { what: search.what, variable: search.variable, attempts })
    }

    /// Opens exactly the file at `path`.
    ///
    /// # Errors
    /// [`LoadError`] with the one attempt.
    ///
    /// # Safety
    /// Opening a library runs its initialisers; the file must be the library that `search` describes.
    pub unsafe fn open(search: &Search, path: &Path) -> Result<Library, LoadError> {
        open(path, search.required, false).map_err(|reason| LoadError {
            what: search.what,
            variable: search.variable,
            attempts: vec![Attempt { place: path.display().to_string(), reason }],
        })
    }

    /// The address of a symbol, if the library has it.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the pointer is only copied, as an address; what it points to is for the caller to know.
        let symbol = unsafe { self.handle.get::<*mut c_void>(name.to_bytes_with_nul()) }.ok()?;
        NonNull::new(*symbol)
    }

    /// The library's file, with symbolic links followed where that is possible.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The folders that ROCm is installed in, with where each was learnt.
fn folders() -> Vec<(PathBuf, &'static str)> {
    let mut folders = Vec::new();
    for variable in ["ROCM_PATH", "HIP_PATH"] {
        if let Some(root) = std::env::var_os(variable).filter(|root| !root.is_empty()) {
            folders.push((Path::new(&root).join(if cfg!(windows) { "bin" } else { "lib" }), variable));
        }
    }
    if cfg!(unix) {
        let mut versions: Vec<OsString> = std::fs::read_dir("/opt")
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name())
            .filter(|name| name.to_string_lossy().starts_with("rocm-"))
            .collect();
        versions.sort_by_key(|name| std::cmp::Reverse(version_key(&name.to_string_lossy())));
        let installed =
            versions.into_iter().map(|name| (Path::new("/opt").join(name).join("lib"), "installed"));
        folders.push((PathBuf::from("/opt/rocm/lib"), "installed"));
        folders.extend(installed);
    }
    folders
}

/// The numbers in a name, so that `rocm-7.10` sorts after `rocm-7.2`.
fn version_key(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn open(path: &Path, required: &CStr, only_if_loaded: bool) -> Result<Library, String> {
    let handle = open_handle(path, only_if_loaded)?;
    let library = Library { handle: std::mem::ManuallyDrop::new(handle), path: path.to_owned() };
    let Some(address) = library.symbol(required) else {
        return Err(format!("has no symbol {}", required.to_string_lossy()));
    };
    let path = file_of(address).unwrap_or_else(|| path.to_owned());
    let path = path.canonicalize().unwrap_or(path);
    Ok(Library { path, ..library })
}

#[cfg(unix)]
fn open_handle(path: &Path, only_if_loaded: bool) -> Result<libloading::Library, String> {
    use libloading::os::unix;
    let flags = unix::RTLD_NOW | unix::RTLD_LOCAL | if only_if_loaded { libc::RTLD_NOLOAD } else { 0 };
    // SAFETY: the names searched for are those of the vendor's runtime, whose initialisers may run in any process.
    let library = unsafe { unix::Library::open(Some(path), flags) };
    library.map(Into::into).map_err(|error| reason(&error))
}

#[cfg(not(unix))]
fn open_handle(path: &Path, only_if_loaded: bool) -> Result<libloading::Library, String> {
    if only_if_loaded {
        return Err("not asked on this system".to_owned());
    }
    // SAFETY: the names searched for are those of the vendor's runtime, whose initialisers may run in any process.
    unsafe { libloading::Library::new(path) }.map_err(|error| reason(&error))
}

/// What the loader itself said.
fn reason(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// The file that holds `address`.
#[cfg(unix)]
fn file_of(address: NonNull<c_void>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: all-zero is a valid Dl_info: null pointers only.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr takes any address and fills the structure it is given.
    let found = unsafe { libc::dladdr(address.as_ptr(), &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr succeeded, so dli_fname is a NUL-terminated string that lives as long as the library, forever.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}

#[cfg(not(unix))]
fn file_of(_: NonNull<c_void>) -> Option<PathBuf> {
    None
}

/// A symbol of a table and where in the table its pointer is.
#[derive(Debug, Clone, Copy)]
pub struct Symbol {
    /// The C name.
    pub name: &'static CStr,
    /// Byte offset of the function pointer in the table.
    pub offset: usize,
}

/// The index of `name` in a list sorted by name.
pub fn index_of(symbols: &[Symbol], name: &str) -> Option<usize> {
    symbols.binary_search_by(|symbol| symbol.name.to_bytes().cmp(name.as_bytes())).ok()
}

/// A set of small numbers: which symbols of a table are real.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Set(Vec<u64>);

impl Set {
    /// The empty set.
    pub const EMPTY: Set = Set(Vec::new());

    /// Adds `index`.
    pub fn insert(&mut self, index: usize) {
        let word = index / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (index % 64);
    }

    /// Whether `index` is in the set.
    pub fn contains(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// How many numbers are in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where the functions of a table come from.
#[derive(Debug, Clone)]
pub struct Origin {
    /// Which symbols are not stubs.
    pub provided: Set,
    /// The library's file, if it is one.
    pub path: Option<PathBuf>,
    /// Name of an implementation in this process, if it is one.
    pub implementation: Option<String>,
    /// Version, as far as it can be told without calling the library.
    pub version: Option<String>,
}

impl Origin {
    /// Of a table of stubs.
    pub const NONE: Origin = Origin { provided: Set::EMPTY, path: None, implementation: None, version: None };

    /// Of a library's file: the version is what follows `.so.` in its name.
    pub fn of_library(library: &Library) -> Origin {
        let name =
            library.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let version = name.split_once(".so.").map(|(_, version)| version.to_owned());
        Origin { path: Some(library.path.clone()), version, ..Origin::NONE }
    }
}

/// Writes the symbols that `library` has into `table`, leaving the others as they are, and returns which it has.
///
/// # Safety
/// Each symbol's offset must be that of a function-pointer field of `T` whose type is the type of the C function of
/// that name.
pub unsafe fn fill<T>(table: &mut T, symbols: &[Symbol], library: &Library) -> Set {
    let mut provided = Set::EMPTY;
    for (index, symbol) in symbols.iter().enumerate() {
        if let Some(address) = library.symbol(symbol.name) {
            // SAFETY: the caller vouches for the offset and for the type of the field, which is pointer-sized and
            // never null; `table` is borrowed exclusively.
            unsafe { (&raw mut *table).byte_add(symbol.offset).cast::<NonNull<c_void>>().write(address) };
            provided.insert(index);
        }
    }
    provided
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: Search = Search {
        what: "the test library",
        variable: "SYS_LOAD_TEST_NEVER_SET",
        names: &["libsys-load-test.so.2", "libsys-load-test.so.1"],
        required: c"test_symbol",
    };

    #[test]
    fn a_missing_library_lists_every_attempt() {
        let error = Library::find(&NOWHERE).unwrap_err();
        assert!(error.attempts.len() >= 4, "{error}");
        let text = error.to_string();
        for part in
            ["the test library", "SYS_LOAD_TEST_NEVER_SET", "libsys-load-test.so.2", "libsys-load-test.so.1"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_without_the_required_symbol_is_refused() {
        let search = Search { names: &["libc.so.6"], ..NOWHERE };
        let error = Library::find(&search).unwrap_err();
        assert!(error.to_string().contains("has no symbol test_symbol"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_loaded_library_gives_path_and_symbols() {
        let library =
            Library::find(&Search { names: &["libc.so.6"], required: c"malloc", ..NOWHERE }).unwrap();
        assert!(library.path().is_absolute(), "{library:?}");
        assert!(library.symbol(c"free").is_some());
        assert!(library.symbol(c"no_such_function").is_none());
    }

    #[test]
    fn versions_sort_by_number() {
        assert!(version_key("rocm-7.10.0") > version_key("rocm-7.2.4"));
    }

    #[test]
    fn sets_remember_what_was_put_in() {
        let mut set = Set::EMPTY;
        assert!(set.is_empty());
        set.insert(3);
        set.insert(200);
        assert!(set.contains(3) && set.contains(200) && !set.contains(4) && !set.contains(10_000));
        assert_eq!(set.len(), 2);
    }
}
