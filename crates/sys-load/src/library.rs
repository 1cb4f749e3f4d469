//! Opens libraries.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_void};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use crate::places::Places;
use crate::stack::Layout;
use crate::version::{Version, Versioning};
use crate::{Attempt, LoadError, Search, Source, process};

/// An open library, never closed.
#[derive(Debug)]
pub struct Library {
    handle: ManuallyDrop<libloading::Library>,
    path: PathBuf,
    version: Option<Version>,
    source: Source,
    passed_over: Vec<Attempt>,
}

impl Library {
    /// Finds the library in the environment of this process, in the order that [`the crate`](crate)
    /// documents.
    ///
    /// # Errors
    /// [`LoadError`] lists every place that was tried.
    ///
    /// # Safety
    /// Opening a library runs its initialisers, and a search may ask it for its version. `search` must
    /// describe a library whose initialisers may run in any process, its names in the searched places, and a
    /// way to ask that matches the library's own headers. [`Functions::SEARCH`](crate::Functions::SEARCH)
    /// does.
    pub unsafe fn find(search: &Search) -> Result<Library, LoadError> {
        Hunt::new(search, &Places::of_process()).run()
    }

    /// Like [`Library::find`], in an environment that the caller provides.
    ///
    /// # Errors
    /// [`LoadError`] lists every place that was tried.
    ///
    /// # Safety
    /// Opening a library runs its initialisers. Every file in `places` with the right name must be the
    /// library that `search` describes.
    pub unsafe fn find_in(search: &Search, places: &Places) -> Result<Library, LoadError> {
        Hunt::new(search, places).run()
    }

    /// Opens exactly the file at `path`.
    ///
    /// # Errors
    /// [`LoadError`] with the one attempt.
    ///
    /// # Safety
    /// Opening a library runs its initialisers; the file must be the library that `search` describes.
    pub unsafe fn open(search: &Search, path: &Path) -> Result<Library, LoadError> {
        let places = Places::of_process();
        Hunt::new(search, &places).only(path, Source::Caller)
    }

    /// The address of a symbol, if the library or one of its dependencies has it.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the pointer is only copied, as an address; what it points to is for the caller to know.
        let symbol = unsafe { self.handle.get::<*mut c_void>(name.to_bytes_with_nul()) }.ok()?;
        NonNull::new(*symbol)
    }

    /// The library's file, with symbolic links resolved if possible.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The library's version, if its file name or the library itself tells it.
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// How the library was found.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The places that were tried before it, in order.
    pub fn passed_over(&self) -> &[Attempt] {
        &self.passed_over
    }
}

/// One search under way.
struct Hunt<'a> {
    search: &'a Search,
    places: &'a Places,
    attempts: Vec<Attempt>,
    /// Folders that were searched, links resolved: many places are links to the same folder.
    seen: BTreeSet<PathBuf>,
    /// Libraries of the process that were rejected: each appears under several names.
    refused: BTreeSet<Identity>,
}

impl<'a> Hunt<'a> {
    fn new(search: &'a Search, places: &'a Places) -> Self {
        Hunt { search, places, attempts: Vec::new(), seen: BTreeSet::new(), refused: BTreeSet::new() }
    }

    fn run(mut self) -> Result<Library, LoadError> {
        let variable = self.search.variable;
        if let Some(file) = self.places.variable(variable) {
            return self.only(Path::new(&file), Source::Variable(variable));
        }
        match self.anywhere() {
            Some(library) => Ok(Library { passed_over: self.attempts, ..library }),
            None => Err(self.failed()),
        }
    }

    /// The one file, or nothing.
    fn only(mut self, path: &Path, source: Source) -> Result<Library, LoadError> {
        self.open(path, source, false).ok_or_else(|| self.failed())
    }

    fn failed(self) -> LoadError {
        LoadError { what: self.search.what, variable: self.search.variable, attempts: self.attempts }
    }

    fn anywhere(&mut self) -> Option<Library> {
        if let Some(library) = self.loaded() {
            return Some(library);
        }
        let layout = self.search.stack.layout();
        for folder in layout.map(folders_of_loaded).unwrap_or_default() {
            if let Some(library) = self.folder(&folder, Source::Beside) {
                return Some(library);
            }
        }
        for name in self.search.names {
            if let Some(library) = self.open(Path::new(name), Source::Loader, false) {
                return Some(library);
            }
        }
        let layout = layout?;
        for (folder, source) in self.places.installations(layout) {
            if let Some(library) = self.folder(&folder, source) {
                return Some(library);
            }
        }
        for (folder, source, wrong) in self.places.wheels(self.search.stack) {
            match wrong {
                Some(reason) => self.passed(&folder, source, reason),
                None => {
                    if let Some(library) = self.folder(&folder, source) {
                        return Some(library);
                    }
                }
            }
        }
        None
    }

    /// The library, if the process has it under one of its names or as a file with the same stem.
    fn loaded(&mut self) -> Option<Library> {
        let before = self.attempts.len();
        for name in self.search.names {
            if let Some(library) = self.open(Path::new(name), Source::Process, true) {
                return Some(library);
            }
        }
        let objects = process::objects();
        for name in self.search.names {
            let stem = process::stem(name);
            for object in objects.iter().filter(|object| process::is_library(object, stem)) {
                if let Some(library) = self.open(object, Source::Process, true) {
                    return Some(library);
                }
            }
        }
        if self.attempts.len() == before {
            self.passed(Path::new(&self.names()), Source::Process, "not in the process".to_owned());
        }
        None
    }

    /// The first usable file in a folder, by the order of the names.
    fn folder(&mut self, folder: &Path, source: Source) -> Option<Library> {
        if !self.seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.to_owned())) {
            return None;
        }
        if !folder.is_dir() {
            self.passed(folder, source, "no such folder".to_owned());
            return None;
        }
        let mut there = false;
        for name in self.search.names {
            let file = folder.join(name);
            if file.exists() {
                there = true;
                if let Some(library) = self.open(&file, source, false) {
                    return Some(library);
                }
            }
        }
        if !there {
            let reason = format!("has none of {}", self.names());
            self.passed(folder, source, reason);
        }
        None
    }

    /// Opens a library and checks that it is the right one. A lookup in the process records no attempt if the
    /// library is not loaded.
    fn open(&mut self, path: &Path, source: Source, only_if_loaded: bool) -> Option<Library> {
        let (handle, identity) = match open_handle(path, only_if_loaded) {
            Ok(opened) => opened,
            Err(_) if only_if_loaded => return None,
            Err(reason) => {
                self.passed(path, source, reason);
                return None;
            }
        };
        if only_if_loaded && self.refused.contains(&identity) {
            return None;
        }
        let library =
            Library { handle, path: path.to_owned(), version: None, source, passed_over: Vec::new() };
        let Some(address) = library.symbol(self.search.required) else {
            self.refused.insert(identity);
            let reason = format!("has no symbol {}", self.search.required.to_string_lossy());
            self.passed(path, library.source, reason);
            return None;
        };
        let path = file_of(address).unwrap_or_else(|| path.to_owned());
        let library = Library { path: path.canonicalize().unwrap_or(path), ..library };
        Some(Library { version: version_of(&library, self.search.versioning), ..library })
    }

    fn passed(&mut self, place: &Path, source: Source, reason: String) {
        let place = place.to_string_lossy().into_owned();
        // The loader's messages start with the file's name.
        let reason = reason
            .strip_prefix(&place)
            .and_then(|rest| rest.strip_prefix(": "))
            .unwrap_or(&reason)
            .to_owned();
        self.attempts.push(Attempt { place, source, reason });
    }

    fn names(&self) -> String {
        self.search.names.join(", ")
    }
}

/// The folders that the stack's libraries in this process were loaded from.
fn folders_of_loaded(layout: &Layout) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for object in process::objects() {
        if layout.libraries.iter().any(|stem| process::is_library(&object, stem)) {
            let file = object.canonicalize().unwrap_or(object);
            if let Some(folder) = file.parent().filter(|folder| folder.is_absolute())
                && !folders.iter().any(|known| known == folder)
            {
                folders.push(folder.to_owned());
            }
        }
    }
    folders
}

fn version_of(library: &Library, versioning: Versioning) -> Option<Version> {
    match versioning {
        Versioning::FileName { otherwise } => {
            let name = library.path.file_name().unwrap_or_default().to_string_lossy();
            Version::in_file_name(&name).or_else(|| otherwise.and_then(|ask| ask(library)))
        }
        Versioning::Ask(ask) => ask(library),
    }
}

/// Distinguishes open libraries.
type Identity = usize;

/// Opens a library and never closes it.
#[cfg(unix)]
fn open_handle(
    path: &Path,
    only_if_loaded: bool,
) -> Result<(ManuallyDrop<libloading::Library>, Identity), String> {
    use libloading::os::unix;
    let flags = unix::RTLD_NOW | unix::RTLD_LOCAL | if only_if_loaded { libc::RTLD_NOLOAD } else { 0 };
    // SAFETY: the callers of `Library::find`, `Library::find_in` and `Library::open` vouch for what is
    // opened.
    let library = unsafe { unix::Library::open(Some(path), flags) }.map_err(|error| reason(&error))?;
    let raw = library.into_raw();
    // SAFETY: the handle was taken out of the library one line above.
    let library = unsafe { unix::Library::from_raw(raw) };
    Ok((ManuallyDrop::new(library.into()), raw.addr()))
}

/// Opens a library and never closes it.
#[cfg(windows)]
fn open_handle(
    path: &Path,
    only_if_loaded: bool,
) -> Result<(ManuallyDrop<libloading::Library>, Identity), String> {
    use libloading::os::windows;
    let library = if only_if_loaded {
        windows::Library::open_already_loaded(path)
    } else {
        // SAFETY: as on unix.
        unsafe { windows::Library::new(path) }
    };
    let raw = library.map_err(|error| reason(&error))?.into_raw();
    // SAFETY: the handle was taken out of the library one line above.
    let library = unsafe { windows::Library::from_raw(raw) };
    Ok((ManuallyDrop::new(library.into()), raw as usize))
}

#[cfg(not(any(unix, windows)))]
fn open_handle(_: &Path, _: bool) -> Result<(ManuallyDrop<libloading::Library>, Identity), String> {
    Err("this system has no shared libraries".to_owned())
}

/// The loader's own message.
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
    // SAFETY: dladdr succeeded, so dli_fname is a NUL-terminated string that lives as long as the library,
    // forever.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}

#[cfg(not(unix))]
fn file_of(_: NonNull<c_void>) -> Option<PathBuf> {
    None
}
