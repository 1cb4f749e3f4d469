//! The table over a fake HSA: what the runtime writes into packets, and how it handles errors.

mod arrays;
mod batches;
mod captures;
mod contexts;
mod endings;
mod fake;
mod faults;
mod graph_lanes;
mod graph_nodes;
mod graphs;
mod launches;
mod layers;
mod libraries;
mod managed;
mod mem_pools;
mod memory;
mod order;
mod pointers;
mod refusals;
mod stream_values;
mod streams;
mod stubs;
mod textures;
mod timelines;

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hip_sys::{Table, hipError_t, hipEvent_t, hipFunction_t, hipModule_t, hipStream_t};
use kernel_build::Builder;

pub(super) type E = hipError_t;

pub(super) const OK: E = E::hipSuccess;
pub(super) const NULL: hipStream_t = std::ptr::null_mut();

/// Calls a function of the table. Each test keeps the contract of the function, or breaks it where that is an
/// error.
macro_rules! hip {
    ($hip:expr, $name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: as the macro says.
        unsafe { ($hip.table.$name)($($argument),*) }
    };
}
pub(super) use hip;

/// The table on a thread other than the test's.
#[derive(Clone, Copy)]
pub(super) struct Calls {
    pub(super) table: &'static Table,
}

impl Calls {
    /// Launches one workgroup of 32 work-items; the arguments do not matter.
    pub(super) fn launch(self, function: hipFunction_t, stream: hipStream_t) -> E {
        let mut zero = 0u64;
        let mut arguments = [(&raw mut zero).cast::<c_void>(); 8];
        hip!(
            self,
            hipModuleLaunchKernel(
                function,
                1,
                1,
                1,
                32,
                1,
                1,
                0,
                stream,
                arguments.as_mut_ptr(),
                std::ptr::null_mut()
            )
        )
    }
}

/// Runs work on a new thread and returns its result; a hang is a failure.
pub(super) fn within<T: Send + 'static>(
    hip: &Hip,
    seconds: u64,
    work: impl FnOnce(Calls) -> T + Send + 'static,
) -> T {
    begin(hip, work).recv_timeout(Duration::from_secs(seconds)).expect("the work ends without a panic")
}

/// Starts work on a new thread.
pub(super) fn begin<T: Send + 'static>(
    hip: &Hip,
    work: impl FnOnce(Calls) -> T + Send + 'static,
) -> Receiver<T> {
    let (done, result) = channel();
    let calls = Calls { table: hip.table };
    std::thread::spawn(move || {
        // The receiver may be gone.
        let _ = done.send(work(calls));
    });
    result
}

/// Makes the system refuse threads that handle failures.
pub(crate) static REFUSE_THREADS: AtomicBool = AtomicBool::new(false);

/// Numbers without a pattern, the same in each run.
pub(crate) fn random() -> impl FnMut() -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// Keeps kernels named `work` from ending while it lives.
pub(super) struct Hold;

impl Hold {
    pub(super) fn new() -> Self {
        fake::HOLD.store(true, Ordering::Release);
        Self
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        fake::HOLD.store(false, Ordering::Release);
    }
}

/// The table, for one test at a time: the fake device and its default stream are shared by the process.
pub(super) struct Hip {
    pub(super) table: &'static Table,
    _turn: MutexGuard<'static, ()>,
}

pub(super) fn start() -> Hip {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let table = crate::table(fake::table()).unwrap();
    fake::take_dispatched();
    Hip { table, _turn: turn }
}

impl Hip {
    pub(super) fn malloc(&self, size: usize) -> *mut c_void {
        let mut pointer = std::ptr::null_mut();
        assert_eq!(hip!(self, hipMalloc(&mut pointer, size)), OK);
        assert!(!pointer.is_null());
        pointer
    }

    pub(super) fn free(&self, pointer: *mut c_void) {
        assert_eq!(hip!(self, hipFree(pointer)), OK);
    }

    pub(super) fn stream(&self, flags: u32) -> hipStream_t {
        let mut stream = NULL;
        assert_eq!(hip!(self, hipStreamCreateWithFlags(&mut stream, flags)), OK);
        stream
    }

    /// Loads the test kernels for gfx1100.
    pub(super) fn load(&self, version: u8) -> hipModule_t {
        let bytes = kernels(version, "gfx1100");
        let mut module = std::ptr::null_mut();
        assert_eq!(hip!(self, hipModuleLoadData(&mut module, bytes.as_ptr().cast())), OK);
        module
    }

    pub(super) fn function(&self, module: hipModule_t, name: &str) -> hipFunction_t {
        let name = std::ffi::CString::new(name).unwrap();
        let mut function = std::ptr::null_mut();
        assert_eq!(hip!(self, hipModuleGetFunction(&mut function, module, name.as_ptr())), OK);
        function
    }

    /// Launches one workgroup of 32 work-items; the arguments do not matter.
    pub(super) fn launch(&self, function: hipFunction_t, stream: hipStream_t) -> E {
        Calls { table: self.table }.launch(function, stream)
    }

    pub(super) fn event(&self) -> hipEvent_t {
        let mut event = std::ptr::null_mut();
        assert_eq!(hip!(self, hipEventCreate(&mut event)), OK);
        event
    }

    /// The text of a stream's failure.
    pub(super) fn report(&self, stream: hipStream_t) -> String {
        let report = self.table.ext.stream_fault_report.unwrap();
        let mut buffer = vec![0u8; 1 << 16];
        // SAFETY: the buffer has as many bytes as is said.
        let length = unsafe { report(stream, buffer.as_mut_ptr().cast(), buffer.len()) };
        // SAFETY: a null buffer of size 0 is allowed. The stream may fail between the two calls.
        assert!(unsafe { report(stream, std::ptr::null_mut(), 0) } >= length);
        buffer.truncate(length);
        String::from_utf8(buffer).unwrap()
    }
}

/// `tests/kernels/probe.cu` as a code object.
pub(super) fn kernels(version: u8, target: &'static str) -> Vec<u8> {
    static BUILT: Mutex<BTreeMap<(u8, &str), Vec<u8>>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let build = || {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels");
        let build = Builder::new(folder).targets([target]).code_object_version(version).build();
        build.unwrap_or_else(|error| panic!("{error}")).modules[0].objects[0].bytes.clone()
    };
    built.entry((version, target)).or_insert_with(build).clone()
}

mod starting {
    use super::*;
    use crate::Error;

    #[test]
    fn the_same_hsa_gives_the_same_table_and_another_one_is_refused() {
        let hip = start();
        assert!(std::ptr::eq(hip.table, crate::table(fake::table()).unwrap()));
        let other = hsa_sys::Table::unsupported();
        assert!(matches!(crate::table(other), Err(Error::OtherTable)));
    }

    #[test]
    fn devices_are_counted_and_described() {
        let hip = start();
        let mut count = 0;
        assert_eq!(hip!(hip, hipInit(0)), OK);
        assert_eq!(hip!(hip, hipInit(1)), E::hipErrorInvalidValue);
        assert_eq!(hip!(hip, hipGetDeviceCount(&mut count)), OK);
        assert_eq!(count, 1);
        // SAFETY: all numbers and pointers of the structure may be zero.
        let mut properties = unsafe { std::mem::zeroed() };
        assert_eq!(hip!(hip, hipGetDevicePropertiesR0600(&mut properties, 0)), OK);
        assert_eq!(properties.warpSize, 32);
        assert_eq!((properties.major, properties.minor), (11, 0));
        // Two compute units make one multiprocessor.
        assert_eq!(properties.multiProcessorCount, 2);
        assert_eq!(properties.maxThreadsPerMultiProcessor, 2048);
        assert_eq!(properties.sharedMemPerBlock, 65536);
        assert_eq!(properties.totalGlobalMem, fake::DEVICE_BYTES);
        assert_eq!(properties.uuid.bytes.map(|byte| byte as u8), *b"0123456789abcdef");
        let mut value = 0;
        use hip_sys::hipDeviceAttribute_t as A;
        let attribute = A::hipDeviceAttributeMaxThreadsPerBlock;
        assert_eq!(hip!(hip, hipDeviceGetAttribute(&mut value, attribute, 0)), OK);
        assert_eq!(value, 1024);
        let unknown = hip_sys::hipDeviceAttribute_t(424_242);
        assert_eq!(hip!(hip, hipDeviceGetAttribute(&mut value, unknown, 0)), E::hipErrorInvalidValue);
        // These two are pointers to registers that this device lacks.
        for flush in [A::hipDeviceAttributeHdpMemFlushCntl, A::hipDeviceAttributeHdpRegFlushCntl] {
            let mut register = std::ptr::dangling_mut::<u32>();
            assert_eq!(hip!(hip, hipDeviceGetAttribute((&raw mut register).cast(), flush, 0)), OK);
            assert!(register.is_null());
        }
        let mut id = [0; 32];
        assert_eq!(hip!(hip, hipDeviceGetPCIBusId(id.as_mut_ptr(), 32, 0)), OK);
        let id = id.map(|byte| byte as u8);
        assert!(id.starts_with(b"0000:c3:01.0\0"));
        let mut ordinal = 7;
        assert_eq!(hip!(hip, hipDeviceGetByPCIBusId(&mut ordinal, id.as_ptr().cast())), OK);
        assert_eq!(ordinal, 0);
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let hip = start();
        for ordinal in [1, -1, i32::MAX] {
            assert_eq!(hip!(hip, hipSetDevice(ordinal)), E::hipErrorInvalidDevice);
            let mut bytes = 0;
            assert_eq!(hip!(hip, hipDeviceTotalMem(&mut bytes, ordinal)), E::hipErrorInvalidDevice);
        }
        let mut current = -1;
        assert_eq!(hip!(hip, hipGetDevice(&mut current)), OK);
        assert_eq!(current, 0);
        assert_eq!(hip!(hip, hipGetLastError()), E::hipErrorInvalidDevice);
    }

    #[test]
    fn null_out_pointers_are_errors() {
        use std::ptr::{null, null_mut};
        let hip = start();
        let invalid = E::hipErrorInvalidValue;
        assert_eq!(hip!(hip, hipGetDeviceCount(null_mut())), invalid);
        assert_eq!(hip!(hip, hipGetDevice(null_mut())), invalid);
        assert_eq!(hip!(hip, hipRuntimeGetVersion(null_mut())), invalid);
        assert_eq!(hip!(hip, hipGetDevicePropertiesR0600(null_mut(), 0)), invalid);
        assert_eq!(hip!(hip, hipDeviceGetName(null_mut(), 10, 0)), invalid);
        assert_eq!(hip!(hip, hipMalloc(null_mut(), 16)), invalid);
        assert_eq!(hip!(hip, hipHostMalloc(null_mut(), 16, 0)), invalid);
        assert_eq!(hip!(hip, hipStreamCreate(null_mut())), invalid);
        assert_eq!(hip!(hip, hipEventCreate(null_mut())), invalid);
        assert_eq!(hip!(hip, hipModuleLoadData(null_mut(), null())), invalid);
        assert_eq!(hip!(hip, hipModuleLoad(null_mut(), null())), invalid);
        assert_eq!(hip!(hip, hipPointerGetAttributes(null_mut(), null())), invalid);
        assert_eq!(hip!(hip, hipStreamAddCallback(NULL, None, null_mut(), 0)), invalid);
        assert_eq!(hip!(hip, hipLaunchHostFunc(NULL, None, null_mut())), invalid);
    }

    #[test]
    fn handles_of_nothing_are_errors() {
        use std::ptr::null_mut;
        let hip = start();
        let (invalid, ended) = (E::hipErrorInvalidHandle, E::hipErrorContextIsDestroyed);
        let mut on_stack = 0u64;
        for handle in [8usize, usize::MAX, (&raw mut on_stack) as usize] {
            assert_eq!(hip!(hip, hipStreamSynchronize(handle as _)), ended);
            assert_eq!(hip!(hip, hipStreamQuery(handle as _)), ended);
            assert_eq!(hip!(hip, hipStreamDestroy(handle as _)), ended);
            assert_eq!(hip!(hip, hipEventRecord(handle as _, NULL)), invalid);
            assert_eq!(hip!(hip, hipEventSynchronize(handle as _)), invalid);
            assert_eq!(hip!(hip, hipEventDestroy(handle as _)), ended);
            assert_eq!(hip!(hip, hipModuleUnload(handle as _)), E::hipErrorNotFound);
            assert_eq!(hip.launch(handle as _, NULL), invalid);
        }
        assert_eq!(hip!(hip, hipStreamDestroy(NULL)), invalid);
        assert_eq!(hip!(hip, hipEventDestroy(null_mut())), invalid);
        assert_eq!(hip!(hip, hipFuncGetAttributes(null_mut(), null_mut())), E::hipErrorInvalidDeviceFunction);
    }
}
