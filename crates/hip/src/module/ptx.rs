//! PTX, which the driver compiles once: the cubin is kept on disk.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use device_compiler::cache::{Cache, Entry};
use hip_sys::{Table, hipJitInputType, hipLinkState_t};

use crate::call::call;
use crate::device::Device;
use crate::error::Result;

/// Changes when the same inputs would give different results.
const SCHEMA: &str = "ferrocm ptx 1";
/// The cache's folder in the cache folder.
const FOLDER: &str = "ptx";
/// Most bytes of the cache; the least recently used files are removed.
const LIMIT: u64 = 1 << 30;
/// The name of the text in the linker's messages.
const NAME: &CStr = c"ptx";

/// The cubin for PTX that ends in a NUL, from the cache or from the driver. None if there is no cache, or if
/// the driver does not compile the text; loading the text then tells why. The device is current.
pub(super) fn cubin(device: &Device, ptx: &[u8]) -> Option<Vec<u8>> {
    let table = device.table();
    if !["hipLinkCreate", "hipLinkAddData", "hipLinkComplete"].iter().all(|name| table.has(name)) {
        return None;
    }
    let cache = cache()?;
    let driver = driver(table).ok()?;
    let key = key(&driver, &device.target().to_string(), ptx);
    let found = cached(cache, &key, || compile(table, ptx));
    found.map_err(|reason| tracing::debug!("the driver loads PTX without the cache: {reason}")).ok()
}

/// The cache of the process. Without one, PTX is compiled each time, as a warning says.
fn cache() -> Option<&'static Cache> {
    static CACHE: OnceLock<Option<Cache>> = OnceLock::new();
    let open = || {
        let root = device_compiler::toolchain::cache_root()?;
        Cache::open(&root.join(FOLDER))
            .map_err(|error| tracing::warn!("PTX is compiled without a cache: {error}"))
            .ok()
    };
    CACHE.get_or_init(open).as_ref()
}

/// Which driver it is: the version of CUDA that it reports, and its file, because drivers of one version
/// differ.
fn driver(table: &'static Table) -> Result<String> {
    let mut version = 0;
    // SAFETY: the version is a place to write to.
    unsafe { call!(table, hipDriverGetVersion(&raw mut version))? };
    let library = cuda_sys::Table::load().ok().and_then(|table| table.path());
    let file = library.and_then(|path| path.canonicalize().ok()).and_then(|path| {
        let meta = path.metadata().ok()?;
        Some((path, meta.len(), meta.modified().ok()))
    });
    Ok(format!("{version} {file:?}"))
}

/// A hash of everything that affects the result.
fn key(driver: &str, target: &str, ptx: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [SCHEMA.as_bytes(), driver.as_bytes(), target.as_bytes(), ptx] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hasher.finalize().to_hex().to_string()
}

/// The code of a key. Threads and processes that want the same compile it once.
fn cached(
    cache: &Cache,
    key: &str,
    compile: impl FnOnce() -> Result<Vec<u8>>,
) -> std::result::Result<Vec<u8>, String> {
    // The text includes no file.
    let _turn = match cache.lookup_or_turn(key, |_| None) {
        Ok((_, code)) => return Ok(code),
        Err(turn) => turn,
    };
    let code = compile().map_err(|error| error.to_string())?;
    let object = blake3::hash(&code).to_hex().to_string();
    let kept = cache.store(key, Entry { object, ..Entry::default() }, &code);
    if let Err(error) = kept.and_then(|()| cache.trim(LIMIT)) {
        tracing::warn!("compiled PTX was not kept: {error}");
    }
    Ok(code)
}

/// Has the driver compile it for the current device.
fn compile(table: &'static Table, ptx: &[u8]) -> Result<Vec<u8>> {
    let mut linker = Linker { table, state: null_mut() };
    // The function does not write to the text.
    let data = ptx.as_ptr().cast_mut().cast::<c_void>();
    let kind = hipJitInputType::hipJitInputPtx;
    let (mut code, mut size) = (null_mut(), 0);
    // SAFETY: there are no options; the text has as many bytes and a NUL; the results are places to write to.
    // The code is as long as the driver says, and lives as long as the state.
    unsafe {
        call!(table, hipLinkCreate(0, null_mut(), null_mut(), &raw mut linker.state))?;
        call!(
            table,
            hipLinkAddData(linker.state, kind, data, ptx.len(), NAME.as_ptr(), 0, null_mut(), null_mut())
        )?;
        call!(table, hipLinkComplete(linker.state, &raw mut code, &raw mut size))?;
        Ok(std::slice::from_raw_parts(code.cast::<u8>().cast_const(), size).to_vec())
    }
}

/// A state of the driver's linker.
struct Linker {
    table: &'static Table,
    state: hipLinkState_t,
}

impl Drop for Linker {
    fn drop(&mut self) {
        if !self.state.is_null() {
            // SAFETY: the state was created, and its code has been copied.
            let destroyed = unsafe { call!(self.table, hipLinkDestroy(self.state)) };
            crate::call::dropped("linker", destroyed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_char, c_int, c_uint};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hip_sys::{Builder, hipError_t, hipJitOption};

    use super::*;

    static STATES: AtomicUsize = AtomicUsize::new(0);
    static COMPILED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn version(version: *mut c_int) -> hipError_t {
        // SAFETY: the caller gives a place.
        unsafe { *version = 13000 };
        hipError_t::hipSuccess
    }

    unsafe extern "C" fn create(
        _: c_uint,
        _: *mut hipJitOption,
        _: *mut *mut c_void,
        state: *mut hipLinkState_t,
    ) -> hipError_t {
        STATES.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the caller gives a place.
        unsafe { *state = Box::into_raw(Box::new(Vec::<u8>::new())).cast() };
        hipError_t::hipSuccess
    }

    unsafe extern "C" fn add(
        state: hipLinkState_t,
        kind: hipJitInputType,
        data: *mut c_void,
        size: usize,
        _: *const c_char,
        _: c_uint,
        _: *mut hipJitOption,
        _: *mut *mut c_void,
    ) -> hipError_t {
        assert_eq!(kind, hipJitInputType::hipJitInputPtx);
        // SAFETY: the state is of `create`, and the caller gives as many bytes.
        let (state, text) =
            unsafe { (&mut *state.cast::<Vec<u8>>(), std::slice::from_raw_parts(data.cast::<u8>(), size)) };
        if text.starts_with(b"bad") {
            return hipError_t::hipErrorInvalidKernelFile;
        }
        state.extend(b"cubin of ");
        state.extend(text);
        hipError_t::hipSuccess
    }

    unsafe extern "C" fn complete(
        state: hipLinkState_t,
        code: *mut *mut c_void,
        size: *mut usize,
    ) -> hipError_t {
        COMPILED.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the state is of `create`, and the caller gives places.
        unsafe {
            let state = &mut *state.cast::<Vec<u8>>();
            (*code, *size) = (state.as_mut_ptr().cast(), state.len());
        }
        hipError_t::hipSuccess
    }

    unsafe extern "C" fn destroy(state: hipLinkState_t) -> hipError_t {
        STATES.fetch_sub(1, Ordering::SeqCst);
        // SAFETY: the state is of `create`.
        drop(unsafe { Box::from_raw(state.cast::<Vec<u8>>()) });
        hipError_t::hipSuccess
    }

    fn table() -> &'static Table {
        let mut builder = Builder::new("fake", "0");
        builder.hipDriverGetVersion(version).hipLinkCreate(create).hipLinkAddData(add);
        builder.hipLinkComplete(complete).hipLinkDestroy(destroy);
        // SAFETY: the functions do what HIP says, as far as the test needs.
        unsafe { builder.finish() }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri opens no files with these flags")]
    fn a_text_is_compiled_once_for_each_driver_and_target() {
        let folder = tempfile::tempdir().expect("temp folder");
        let table = table();
        let get = |driver: &str, target: &str, ptx: &[u8]| {
            let cache = Cache::open(folder.path()).expect("cache");
            cached(&cache, &key(driver, target, ptx), || compile(table, ptx))
        };
        let compiled = || COMPILED.load(Ordering::SeqCst);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope
                    .spawn(|| assert_eq!(get("13000", "sm_90", b"a\0").as_deref(), Ok(&b"cubin of a\0"[..])));
            }
        });
        assert_eq!(compiled(), 1, "by one of four threads");
        for (driver, target, ptx) in
            [("13010", "sm_90", &b"a\0"[..]), ("13000", "sm_80", b"a\0"), ("13000", "sm_90", b"b\0")]
        {
            let before = compiled();
            for _ in 0..2 {
                assert!(get(driver, target, ptx).is_ok());
            }
            assert_eq!(compiled(), before + 1, "{driver} {target}");
        }
        let before = compiled();
        for _ in 0..2 {
            assert!(get("13000", "sm_90", b"bad\0").is_err());
        }
        assert_eq!(compiled(), before);
        assert!(driver(table).expect("a version").starts_with("13000 "));
        assert_eq!(STATES.load(Ordering::SeqCst), 0, "every state is destroyed");
    }
}
