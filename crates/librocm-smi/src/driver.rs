//! `libferrocm-driver.so.1` imitates AMD's driver on machines without it. `rocminfo` and `rocm-smi` look at
//! `/sys/module/amdgpu` before they ask any library, and `rocminfo` opens `/dev/kfd`.
//!
//! The library is preloaded. Its functions intercept those of the C library, and pass every other path on. If
//! a program starts a program of the sysroot, as `rocm_agent_enumerator` starts `rocminfo`, that one is also
//! run with the sysroot's loader ([`RUN_VARIABLE`]). So that programs find their data, a path in `/usr` leads
//! to the sysroot's file if there is one, and `/proc/self/exe` to the program itself, because the kernel
//! would name the loader.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

/// The variable that says how to run programs of the sysroot. The first line has the sysroot's folders,
/// separated by colons; each further line has the loader or one of its arguments.
const RUN_VARIABLE: &str = "FERROCM_ROCM_RUN";

/// The imitated files, and their contents.
const FILES: [(&CStr, &str); 2] = [
    (c"/sys/module/amdgpu/initstate", "live\n"),
    (c"/sys/module/amdgpu/version", concat!("ferrocm ", env!("CARGO_PKG_VERSION"), "\n")),
];
/// The imitated folder.
const FOLDER: &CStr = c"/sys/module/amdgpu";
/// The imitated device. Nothing reads from it, because AMD's HSA library, which would, is not loaded.
const DEVICE: &CStr = c"/dev/kfd";

/// The C library's function of this name.
macro_rules! next {
    ($name:literal as $signature:ty) => {{
        // SAFETY: the name is a C string.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, $name.as_ptr()) };
        // SAFETY: the C library has it, with this signature; null is `None`.
        unsafe { std::mem::transmute::<*mut c_void, Option<$signature>>(found) }
    }};
}

/// The replacement of a path.
enum Stand {
    Text(&'static str),
    File(Cow<'static, CStr>),
}

/// The value of [`RUN_VARIABLE`].
struct Run {
    /// The folders whose programs run here.
    trees: Vec<PathBuf>,
    /// The loader, and its arguments before the program; empty without the variable.
    loader: Vec<CString>,
}

fn run() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| {
        let text = std::env::var_os(RUN_VARIABLE).unwrap_or_default();
        let mut lines = text.as_bytes().split(|byte| *byte == b'\n');
        let folders = lines.next().unwrap_or_default().split(|byte| *byte == b':');
        let folders = folders.filter(|folder| !folder.is_empty());
        Run {
            trees: folders.map(|folder| PathBuf::from(OsStr::from_bytes(folder))).collect(),
            // A variable has no NUL bytes.
            loader: lines.filter_map(|line| CString::new(line).ok()).collect(),
        }
    })
}

/// The file in one of the folders to which a path in `/usr` leads.
fn in_trees(path: &CStr) -> Option<CString> {
    let inside = path.to_bytes().strip_prefix(b"/")?;
    if !inside.starts_with(b"usr/") {
        return None;
    }
    let access = next!(c"access" as unsafe extern "C" fn(*const c_char, c_int) -> c_int)?;
    run().trees.iter().find_map(|tree| {
        let file = CString::new(tree.join(OsStr::from_bytes(inside)).into_os_string().into_vec()).ok()?;
        // SAFETY: the path is a C string.
        (unsafe { access(file.as_ptr(), libc::F_OK) } == 0).then_some(file)
    })
}

/// # Safety
/// `path` is null or a C string.
unsafe fn stand(path: *const c_char) -> Option<Stand> {
    if path.is_null() {
        return None;
    }
    // SAFETY: required by this function's contract.
    let path = unsafe { CStr::from_ptr(path) };
    if path == DEVICE {
        return Some(Stand::File(Cow::Borrowed(c"/dev/null")));
    }
    if path == FOLDER {
        return Some(Stand::File(Cow::Borrowed(c"/sys/module")));
    }
    let text = FILES.iter().find(|(file, _)| path == *file).map(|(_, text)| Stand::Text(text));
    text.or_else(|| in_trees(path).map(|file| Stand::File(Cow::Owned(file))))
}

fn failed(code: c_int) -> c_int {
    // SAFETY: the place of the thread's error number is always valid.
    unsafe { *libc::__errno_location() = code };
    -1
}

/// An unnamed file with the text.
fn file_of(text: &str) -> c_int {
    // SAFETY: the name is a C string, and the text is valid for its length.
    unsafe {
        let file = libc::memfd_create(c"ferrocm".as_ptr(), libc::MFD_CLOEXEC);
        if file >= 0 && libc::write(file, text.as_ptr().cast(), text.len()) >= 0 {
            libc::lseek(file, 0, libc::SEEK_SET);
        }
        file
    }
}

/// Functions with the signature of `open`. The mode is present only if the flags require it; it is passed on
/// unchanged.
macro_rules! open {
    ($($name:ident, $text:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
                let next = next!($text as unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int);
                let Some(next) = next else { return failed(libc::ENOSYS) };
                // SAFETY: the caller keeps the contract of `open`.
                unsafe {
                    match stand(path) {
                        Some(Stand::Text(text)) => file_of(text),
                        Some(Stand::File(file)) => next(file.as_ptr(), flags, mode),
                        None => next(path, flags, mode),
                    }
                }
            }
        )*
    };
}

open! {
    open, c"open";
    open64, c"open64";
}

/// Functions with the signature of `fopen`.
macro_rules! fopen {
    ($($name:ident, $text:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
                let next = next!($text as unsafe extern "C" fn(*const c_char, *const c_char) -> *mut libc::FILE);
                let Some(next) = next else { return ptr::null_mut() };
                // SAFETY: the caller keeps the contract of `fopen`.
                unsafe {
                    match stand(path) {
                        Some(Stand::Text(text)) => libc::fdopen(file_of(text), mode),
                        Some(Stand::File(file)) => next(file.as_ptr(), mode),
                        None => next(path, mode),
                    }
                }
            }
        )*
    };
}

fopen! {
    fopen, c"fopen";
    fopen64, c"fopen64";
}

/// Functions with the signature of `stat`.
macro_rules! stat {
    ($($name:ident, $text:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(path: *const c_char, into: *mut c_void) -> c_int {
                let next = next!($text as unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int);
                let Some(next) = next else { return failed(libc::ENOSYS) };
                // SAFETY: the caller keeps the contract of `stat`.
                unsafe {
                    match stand(path) {
                        Some(Stand::Text(_)) => next(c"/proc/version".as_ptr(), into),
                        Some(Stand::File(file)) => next(file.as_ptr(), into),
                        None => next(path, into),
                    }
                }
            }
        )*
    };
}

stat! {
    stat, c"stat";
    stat64, c"stat64";
}

/// Makes the folder of graphics cards, which rocm-smi lists, exist even if the kernel has no driver for any.
#[unsafe(no_mangle)]
unsafe extern "C" fn opendir(path: *const c_char) -> *mut libc::DIR {
    let next = next!(c"opendir" as unsafe extern "C" fn(*const c_char) -> *mut libc::DIR);
    let Some(next) = next else { return ptr::null_mut() };
    // SAFETY: the caller keeps the contract of `opendir`.
    unsafe {
        let found = match stand(path) {
            Some(Stand::File(file)) => next(file.as_ptr()),
            _ => next(path),
        };
        let is_cards = !path.is_null() && CStr::from_ptr(path) == c"/sys/class/drm";
        if found.is_null() && is_cards { next(c"/proc/self/fdinfo".as_ptr()) } else { found }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    let next = next!(c"access" as unsafe extern "C" fn(*const c_char, c_int) -> c_int);
    let Some(next) = next else { return failed(libc::ENOSYS) };
    // SAFETY: the caller keeps the contract of `access`.
    unsafe {
        match stand(path) {
            Some(Stand::Text(_)) => 0,
            Some(Stand::File(file)) => next(file.as_ptr(), mode),
            None => next(path, mode),
        }
    }
}

/// The file of this program. If a program was started through a loader, the kernel reports the loader
/// instead.
fn program() -> Option<CString> {
    // SAFETY: this only reads a number. The loader replaces the kernel's value, which describes the loader,
    // by the program's.
    let header = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
    let maps = std::fs::read("/proc/self/maps").ok()?;
    let file = maps.split(|byte| *byte == b'\n').find_map(|line| {
        let (range, rest) = line.split_at_checked(line.iter().position(|byte| *byte == b' ')?)?;
        let (from, to) = std::str::from_utf8(range).ok()?.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        let holds = (address(from)?..address(to)?).contains(&header);
        holds.then(|| rest.iter().position(|byte| *byte == b'/').map(|start| &rest[start..])).flatten()
    })?;
    CString::new(file).ok()
}

/// The file of this program, if a path asks for it.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn asked_for_program(path: *const c_char) -> Option<CString> {
    // SAFETY: required by this function's contract.
    let asks = !path.is_null() && unsafe { CStr::from_ptr(path) } == c"/proc/self/exe";
    asks.then(program).flatten()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readlink(path: *const c_char, into: *mut c_char, size: usize) -> isize {
    let next = next!(c"readlink" as unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> isize);
    let Some(next) = next else { return failed(libc::ENOSYS) as isize };
    // SAFETY: the caller keeps the contract of `readlink`.
    unsafe {
        match asked_for_program(path) {
            Some(program) => {
                let length = program.count_bytes().min(size);
                ptr::copy_nonoverlapping(program.as_ptr(), into, length);
                length as isize
            }
            None => next(path, into, size),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realpath(path: *const c_char, into: *mut c_char) -> *mut c_char {
    let next = next!(c"realpath" as unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut c_char);
    let Some(next) = next else { return ptr::null_mut() };
    // SAFETY: the caller keeps the contract of `realpath`.
    unsafe {
        let program = asked_for_program(path);
        next(program.as_ref().map_or(path, |program| program.as_ptr()), into)
    }
}

type Execve = unsafe extern "C" fn(*const c_char, *const *const c_char, *const *const c_char) -> c_int;

/// The arguments that make the sysroot's loader run a program, if the program belongs to the sysroot.
fn loaded(program: &CStr) -> Option<Vec<CString>> {
    let Run { trees, loader } = run();
    let path = Path::new(OsStr::from_bytes(program.to_bytes())).canonicalize().ok()?;
    let is_ours = trees.iter().any(|tree| path.starts_with(tree));
    let is_elf = || {
        let mut start = [0; 4];
        let mut file = std::fs::File::open(&path).ok()?;
        std::io::Read::read_exact(&mut file, &mut start).ok()?;
        Some(start == *b"\x7fELF")
    };
    if !is_ours || is_elf() != Some(true) {
        return None;
    }
    if loader.first()?.as_c_str() == program {
        return None;
    }
    Some(loader.iter().cloned().chain([program.to_owned()]).collect())
}

/// The program and arguments to start instead.
struct Started {
    /// Owns the texts that the pointers point to.
    _first: Vec<CString>,
    /// The arguments, and null.
    all: Vec<*const c_char>,
}

impl Started {
    /// The replacement for a program of the sysroot; nothing for other programs.
    ///
    /// # Safety
    /// `path` is null or a C string, `arguments` null or an array of such that ends in null.
    unsafe fn of(path: *const c_char, arguments: *const *const c_char) -> Option<Started> {
        if path.is_null() || arguments.is_null() {
            return None;
        }
        // SAFETY: required by this function's contract.
        let first = loaded(unsafe { CStr::from_ptr(path) })?;
        let mut all: Vec<*const c_char> = first.iter().map(|argument| argument.as_ptr()).collect();
        // The loader's arguments already have the program's own name.
        let mut index = 1;
        // SAFETY: required by this function's contract; nothing is read after the first null.
        unsafe {
            if !(*arguments).is_null() {
                while !(*arguments.add(index)).is_null() {
                    all.push(*arguments.add(index));
                    index += 1;
                }
            }
        }
        all.push(ptr::null());
        Some(Started { _first: first, all })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    let Some(next) = next!(c"execve" as Execve) else { return failed(libc::ENOSYS) };
    // SAFETY: the caller keeps the contract of `execve`.
    unsafe {
        match Started::of(path, arguments) {
            Some(started) => next(started.all[0], started.all.as_ptr(), environment),
            None => next(path, arguments, environment),
        }
    }
}

type Spawn = unsafe extern "C" fn(
    *mut libc::pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    *const *const c_char,
    *const *const c_char,
) -> c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    child: *mut libc::pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    let Some(next) = next!(c"posix_spawn" as Spawn) else { return libc::ENOSYS };
    // SAFETY: the caller keeps the contract of `posix_spawn`.
    unsafe {
        match Started::of(path, arguments) {
            Some(started) => {
                next(child, started.all[0], actions, attributes, started.all.as_ptr(), environment)
            }
            None => next(child, path, actions, attributes, arguments, environment),
        }
    }
}
