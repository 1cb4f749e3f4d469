//! Marks and ranges for profilers, which show what a program is doing.
//!
//! They are on this project's timeline, if one is written (`FERROCM_TRACE`), and go to AMD's profilers. AMD's
//! library for this (`librocprofiler-sdk-roctx`, `libroctx64`) is opened on first use; the variable
//! `FERROCM_ROCTX_LIBRARY` names another file. Without either, marks and ranges do nothing, so programs can
//! always keep them. [`available`] says which library is used, or why there is none.
//!
//! ```
//! let _step = hip::roctx::range("decode");
//! hip::roctx::mark("first token");
//! if let Err(reason) = hip::roctx::available() {
//!     println!("no profiler will see this: {reason}");
//! }
//! ```

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::mem::transmute;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::OnceLock;

use ::timeline::ranges::{self, Label};
use hip_sys::{Attempt, LoadError};
use sys_load::{Library, Search, Versioning};

/// The category of marks and ranges on the timeline.
const ROCTX: &str = "roctx";
/// Their domain: ROCTX has only one.
const DOMAIN: usize = 0;

const SEARCH: Search = Search {
    what: "AMD's library of profiler marks",
    variable: "FERROCM_ROCTX_LIBRARY",
    names: &[
        "librocprofiler-sdk-roctx.so.1",
        "librocprofiler-sdk-roctx.so.0",
        "librocprofiler-sdk-roctx.so",
        "libroctx64.so.4",
        "libroctx64.so",
    ],
    required: c"roctxRangePushA",
    versioning: Versioning::FileName { otherwise: None },
    stack: sys_load::Stack::Rocm,
};

/// The functions of the library.
struct Functions {
    mark: unsafe extern "C" fn(*const c_char),
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
    start: unsafe extern "C" fn(*const c_char) -> u64,
    stop: unsafe extern "C" fn(u64),
}

struct Loaded {
    functions: Functions,
    path: PathBuf,
}

/// The library; the search runs once.
fn library() -> &'static Result<Loaded, LoadError> {
    static LIBRARY: OnceLock<Result<Loaded, LoadError>> = OnceLock::new();
    // SAFETY: these are the names of AMD's library in every release, and its initialisers may run in any
    // process.
    LIBRARY.get_or_init(|| load(&unsafe { Library::find(&SEARCH) }?))
}

fn load(library: &Library) -> Result<Loaded, LoadError> {
    let find = |name: &CStr| {
        library.symbol(name).map(NonNull::as_ptr).ok_or_else(|| LoadError {
            what: SEARCH.what,
            variable: SEARCH.variable,
            attempts: vec![Attempt {
                place: library.path().display().to_string(),
                source: library.source(),
                reason: format!("has no symbol {}", name.to_string_lossy()),
            }],
        })
    };
    let [mark, push, pop] = [find(c"roctxMarkA")?, find(c"roctxRangePushA")?, find(c"roctxRangePop")?];
    let [start, stop] = [find(c"roctxRangeStartA")?, find(c"roctxRangeStop")?];
    // SAFETY: the functions have had these types in every version of either library, which is never closed.
    let functions = unsafe {
        Functions {
            mark: transmute::<*mut c_void, unsafe extern "C" fn(*const c_char)>(mark),
            push: transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> c_int>(push),
            pop: transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(pop),
            start: transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> u64>(start),
            stop: transmute::<*mut c_void, unsafe extern "C" fn(u64)>(stop),
        }
    };
    Ok(Loaded { functions, path: library.path().to_owned() })
}

fn functions() -> Option<&'static Functions> {
    library().as_ref().ok().map(|loaded| &loaded.functions)
}

/// The file of the library that receives marks and ranges.
///
/// # Errors
/// If there is no library, every place that was tried. Marks and ranges then do nothing.
pub fn available() -> Result<&'static Path, &'static LoadError> {
    library().as_ref().map(|loaded| loaded.path.as_path())
}

/// Marks this moment (`roctxMarkA`).
#[doc(alias = "roctxMark")]
#[doc(alias = "nvtxMark")]
pub fn mark(name: &str) {
    if ::timeline::is_on() {
        ranges::mark(&Label::new(ROCTX, name));
    }
    if let Some(functions) = functions() {
        functions.mark(name);
    }
}

/// Begins a range that ends when the result is dropped (`roctxRangePushA`, `roctxRangePop`). Ranges of a
/// thread are nested: they end in reverse order.
#[doc(alias = "roctxRangePush")]
#[doc(alias = "nvtxRangePush")]
pub fn range(name: &str) -> Range {
    Range::begin(functions(), name)
}

/// Begins a range that can end on any thread and overlap others (`roctxRangeStartA`, `roctxRangeStop`).
/// [`StartedRange::stop`], or dropping the result, ends it.
#[doc(alias = "roctxRangeStart")]
#[doc(alias = "nvtxRangeStart")]
pub fn start(name: &str) -> StartedRange {
    StartedRange::begin(functions(), name)
}

/// A range of one thread: made by [`range`].
#[must_use = "the range ends when this is dropped"]
pub struct Range {
    functions: Option<&'static Functions>,
    /// Whether it is on the timeline.
    is_shown: bool,
    /// It ends on the thread that it began on.
    thread: PhantomData<*const ()>,
}

/// A range that is not bound to a thread: made by [`start`].
#[must_use = "the range ends when this is dropped"]
pub struct StartedRange {
    /// The library that knows the range, and its id there.
    id: Option<(&'static Functions, u64)>,
    /// Its id on the timeline.
    shown: Option<u64>,
}

impl Functions {
    fn mark(&self, name: &str) {
        // SAFETY: the text ends in NUL, and the library copies what it keeps.
        unsafe { (self.mark)(text(name).as_ptr()) };
    }
}

impl Range {
    fn begin(functions: Option<&'static Functions>, name: &str) -> Self {
        if let Some(functions) = functions {
            // SAFETY: the text ends in NUL, and the library copies what it keeps.
            unsafe { (functions.push)(text(name).as_ptr()) };
        }
        let is_shown = ::timeline::is_on();
        if is_shown {
            ranges::push(DOMAIN, Label::new(ROCTX, name));
        }
        Self { functions, is_shown, thread: PhantomData }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if self.is_shown {
            ranges::pop(DOMAIN);
        }
        if let Some(functions) = self.functions {
            // SAFETY: the call takes nothing, and this thread has begun a range.
            unsafe { (functions.pop)() };
        }
    }
}

impl StartedRange {
    fn begin(functions: Option<&'static Functions>, name: &str) -> Self {
        // SAFETY: the text ends in NUL, and the library copies what it keeps.
        let id = functions.map(|functions| (functions, unsafe { (functions.start)(text(name).as_ptr()) }));
        let shown = ::timeline::is_on().then(|| ranges::start(&Label::new(ROCTX, name)));
        Self { id, shown }
    }

    /// Ends the range.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for StartedRange {
    fn drop(&mut self) {
        if let Some(shown) = self.shown {
            ranges::end(shown);
        }
        if let Some((functions, id)) = self.id {
            // SAFETY: the number came from the library, and is passed back once.
            unsafe { (functions.stop)(id) };
        }
    }
}

impl std::fmt::Debug for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Range").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for StartedRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StartedRange").field("id", &self.id.map(|(_, id)| id)).finish()
    }
}

/// The name up to its first NUL, as a C string.
fn text(name: &str) -> CString {
    let end = name.find('\0').unwrap_or(name.len());
    CString::new(&name[..end]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

    fn saw(what: &str, name: *const c_char) {
        // SAFETY: the functions below get texts that end in NUL.
        let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap();
        SEEN.lock().unwrap().push(format!("{what} {name}"));
    }

    unsafe extern "C" fn record_mark(name: *const c_char) {
        saw("mark", name);
    }
    unsafe extern "C" fn record_push(name: *const c_char) -> c_int {
        saw("push", name);
        0
    }
    unsafe extern "C" fn record_pop() -> c_int {
        saw("pop", c"".as_ptr());
        0
    }
    unsafe extern "C" fn record_start(name: *const c_char) -> u64 {
        saw("start", name);
        42
    }
    unsafe extern "C" fn record_stop(id: u64) {
        SEEN.lock().unwrap().push(format!("stop {id}"));
    }

    #[test]
    fn marks_and_ranges_reach_the_library_in_order() {
        static FUNCTIONS: Functions = Functions {
            mark: record_mark,
            push: record_push,
            pop: record_pop,
            start: record_start,
            stop: record_stop,
        };
        let started = StartedRange::begin(Some(&FUNCTIONS), "load\0er");
        {
            let _outer = Range::begin(Some(&FUNCTIONS), "outer");
            let _inner = Range::begin(Some(&FUNCTIONS), "inner");
            FUNCTIONS.mark("here");
        }
        std::thread::spawn(move || started.stop()).join().unwrap();
        let seen = std::mem::take(&mut *SEEN.lock().unwrap());
        assert_eq!(seen, ["start load", "push outer", "push inner", "mark here", "pop ", "pop ", "stop 42"]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot open libraries")]
    fn without_a_library_nothing_happens_and_the_reason_is_known() {
        drop((Range::begin(None, "nobody"), StartedRange::begin(None, "nobody")));
        mark("maybe somebody");
        drop((range("maybe somebody"), start("maybe somebody")));
        match available() {
            Ok(path) => assert!(path.is_file(), "{path:?}"),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("libroctx64") && text.contains("FERROCM_ROCTX_LIBRARY"), "{text}");
            }
        }
    }
}
