//! Tables of function pointers: their symbols, and how a library fills them.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::{Attempt, Library, LoadError, Search, Source, Version};

/// A symbol of a table, and the position of its pointer.
#[derive(Debug, Clone, Copy)]
pub struct Symbol {
    /// The C name.
    pub name: &'static CStr,
    /// Byte offset of the function pointer in the table.
    pub offset: usize,
    /// Which known versions of the library export it: bit `i` stands for `VERSIONS[i]`, oldest first.
    pub versions: u8,
}

/// A struct of function pointers for the functions of one library; [`table_api!`](crate::table_api)
/// implements it.
///
/// # Safety
/// Each of [`Functions::symbols`] must have the offset of a different field of `Self`, which is a function
/// pointer of the C function's type. The symbols are sorted by name. [`Functions::SEARCH`] must describe the
/// library of these functions, as [`Library::find`] requires.
pub unsafe trait Functions: Sized + Sync + 'static {
    /// How the library is found.
    const SEARCH: Search;
    /// The versions of the library that are known, oldest first.
    const VERSIONS: &'static [&'static str];

    /// Every symbol of the table, sorted by name.
    fn symbols() -> &'static [Symbol];
    /// The one table in which every function is a stub.
    fn unsupported() -> &'static Self;
    /// A new table of stubs.
    ///
    /// # Safety
    /// Safe code calls the functions of a shared table and trusts their results. Before the table is shared,
    /// every function written into it must keep the contract of the vendor's function.
    unsafe fn stubs() -> Self;
    /// Where the functions come from, as far as known.
    fn origin(&self) -> &Origin;
    /// Like [`Functions::origin`], mutable.
    fn origin_mut(&mut self) -> &mut Origin;

    /// Replaces functions that the loaded version of the library lacks or has in another form by the
    /// project's own. It is called once, after the library's functions have been written into the table.
    ///
    /// Assign a function to make it work. Restore the stub of one that must not be called because it takes
    /// other arguments: `table.f = Table::unsupported().f`. `has` stays correct in both cases, because it
    /// compares the pointer with the stub's.
    fn bridge(table: &mut Self, library: &Library);
}

/// The index of `name` in a list sorted by name.
pub fn index_of(symbols: &[Symbol], name: &str) -> Option<usize> {
    symbols.binary_search_by(|symbol| symbol.name.to_bytes().cmp(name.as_bytes())).ok()
}

/// The pointer of a symbol in a table.
fn slot<T: Functions>(table: &T, symbol: &Symbol) -> *const c_void {
    // SAFETY: `Functions` promises that a function pointer is at the offset; it is read as the pointer it is.
    unsafe { (&raw const *table).byte_add(symbol.offset).cast::<*const c_void>().read() }
}

/// Replaces the pointer of a symbol in a table.
///
/// # Safety
/// `address` must be that of a function of the field's type, for as long as the process lives.
unsafe fn set_slot<T: Functions>(table: &mut T, symbol: &Symbol, address: NonNull<c_void>) {
    // SAFETY: `Functions` promises that a function pointer is at the offset, the caller that this is one of
    // its type; `table` is borrowed exclusively.
    unsafe { (&raw mut *table).byte_add(symbol.offset).cast::<NonNull<c_void>>().write(address) };
}

/// The table of the functions that `lookup` returns, bridged by `bridge`, with the set of real ones.
///
/// # Safety
/// `lookup` must return functions with the C type of that name, valid for as long as the process lives.
unsafe fn fill<T: Functions>(
    lookup: impl Fn(&CStr) -> Option<NonNull<c_void>>,
    bridge: impl FnOnce(&mut T),
) -> Box<T> {
    // SAFETY: only stubs, functions that the caller vouches for, and those of the trusted `Functions::bridge`
    // get into it.
    let mut table = Box::new(unsafe { T::stubs() });
    let stubs = T::unsupported();
    for symbol in T::symbols() {
        // Not the stubs that the table was created with: a function may have several addresses, and later
        // comparisons must recognise these.
        let address = lookup(symbol.name).or_else(|| NonNull::new(slot(stubs, symbol).cast_mut()));
        if let Some(address) = address {
            // SAFETY: the caller vouches for what was looked up; the stub is one of the field's type.
            unsafe { set_slot(&mut *table, symbol, address) };
        }
    }
    bridge(&mut table);
    let mut provided = Set::EMPTY;
    for (index, symbol) in T::symbols().iter().enumerate() {
        if slot(&*table, symbol) != slot(stubs, symbol) {
            provided.insert(index);
        }
    }
    table.origin_mut().provided = provided;
    table
}

/// The table of an open library. It lives as long as the process.
///
/// # Safety
/// The library must be the one that `T::SEARCH` describes.
pub unsafe fn of_library<T: Functions>(library: &Library) -> &'static T {
    // SAFETY: the library is the one that `T::SEARCH` describes, so its functions have the C types of `T`'s
    // headers.
    let mut table: Box<T> = unsafe { fill(|name| library.symbol(name), |table| T::bridge(table, library)) };
    let origin = table.origin_mut();
    origin.path = Some(library.path().to_owned());
    origin.version = library.version();
    origin.source = Some(library.source());
    origin.passed_over = library.passed_over().to_vec();
    Box::leak(table)
}

/// Opens exactly the library at `path` and fills a table from it.
///
/// # Errors
/// [`LoadError`] with the one attempt.
///
/// # Safety
/// The file must be the library that `T::SEARCH` describes; opening it runs its initialisers.
pub unsafe fn load_from<T: Functions>(path: &Path) -> Result<&'static T, LoadError> {
    // SAFETY: the caller vouches for the file.
    let library = unsafe { Library::open(&T::SEARCH, path) }?;
    // SAFETY: it is the library that the caller vouches for.
    Ok(unsafe { of_library(&library) })
}

/// The process's only table of a library, filled on first use.
#[derive(Debug)]
pub struct Loaded<T: 'static> {
    table: OnceLock<&'static T>,
    loading: Mutex<()>,
}

impl<T: 'static> Loaded<T> {
    /// Nothing is loaded yet.
    #[expect(clippy::new_without_default, reason = "it is made in statics, where Default cannot be called")]
    pub const fn new() -> Loaded<T> {
        Loaded { table: OnceLock::new(), loading: Mutex::new(()) }
    }

    /// The table. The first successful call finds and opens the library; all later ones return the same
    /// table.
    ///
    /// # Errors
    /// [`LoadError`] lists every place that was tried. Failures are not remembered: the next call searches
    /// again.
    pub fn get_or_load(&self) -> Result<&'static T, LoadError>
    where
        T: Functions,
    {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have loaded it in the meantime.
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        // SAFETY: `Functions` promises that the search describes the library whose functions `T` has, so that
        // it may be opened, and that what is found has them. Where nothing is found, nothing is called.
        let table = unsafe { of_library(&Library::find(&T::SEARCH)?) };
        Ok(self.table.get_or_init(|| table))
    }
}

/// Whether a table has a symbol, and which versions of the library do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Availability {
    /// Whether the table's function is real, not a stub.
    pub provided: bool,
    known: &'static [&'static str],
    versions: u8,
}

impl Availability {
    /// The availability of a symbol in a table; `None` if the headers lack the symbol.
    pub fn of<T: Functions>(table: &T, name: &str) -> Option<Availability> {
        let index = index_of(T::symbols(), name)?;
        let versions = T::symbols().get(index)?.versions;
        Some(Availability { provided: table.origin().provided.contains(index), known: T::VERSIONS, versions })
    }

    /// The known versions of the library that export the symbol, oldest first.
    pub fn versions(&self) -> impl Iterator<Item = &'static str> + use<> {
        let versions = self.versions;
        self.known.iter().zip(0..8).filter(move |(_, bit)| versions >> bit & 1 == 1).map(|(name, _)| *name)
    }
}

impl fmt::Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.provided { "provided" } else { "not provided" })?;
        let versions: Vec<_> = self.versions().collect();
        match versions.as_slice() {
            [] => f.write_str("; no known version exports it"),
            names => write!(f, "; exported by {}", names.join(", ")),
        }
    }
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
    /// The library's version, if it is a file and tells its version.
    pub version: Option<Version>,
    /// How the library was found, if it is a file.
    pub source: Option<Source>,
    /// The places that were tried before.
    pub passed_over: Vec<Attempt>,
    /// Name and version of an implementation in this process, if it is one.
    pub implementation: Option<(String, String)>,
}

impl Origin {
    /// The origin of a table of stubs.
    pub const NONE: Origin = Origin {
        provided: Set::EMPTY,
        path: None,
        version: None,
        source: None,
        passed_over: Vec::new(),
        implementation: None,
    };
}

#[cfg(test)]
mod tests;
