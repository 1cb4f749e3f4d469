//! Common code of the HSA table's tests.

use std::ffi::c_void;

use hsa_sys::*;

pub(crate) use hsa_sys::hsa_status_t as S;

/// Calls a function of the table.
macro_rules! hsa {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let function = vgpu::hsa::table().$function;
        // SAFETY: every test passes arguments that the function's contract allows, or wrong ones that it must
        // refuse.
        unsafe { function($($argument),*) }
    }};
}

pub(crate) use hsa;

/// Like `hsa`, but expects success.
macro_rules! ok {
    ($function:ident($($argument:expr),* $(,)?)) => {
        assert_eq!($crate::common::hsa!($function($($argument),*)), hsa_sys::hsa_status_t::HSA_STATUS_SUCCESS, stringify!($function))
    };
}

pub(crate) use ok;

/// Initialises the runtime and returns the agent of a small device with this target.
pub(crate) fn gpu(target: &str) -> hsa_agent_t {
    ok!(hsa_init());
    let config = format!("{target}?cus=2&memory=256MiB").parse().unwrap();
    let index = vgpu::attach(&config).unwrap();
    agents()[1 + index]
}

pub(crate) fn host() -> hsa_agent_t {
    agents()[0]
}

pub(crate) fn agents() -> Vec<hsa_agent_t> {
    unsafe extern "C" fn collect(agent: hsa_agent_t, list: *mut c_void) -> S {
        // SAFETY: the list is the one passed below.
        unsafe { &mut *list.cast::<Vec<hsa_agent_t>>() }.push(agent);
        S::HSA_STATUS_SUCCESS
    }
    let mut list: Vec<hsa_agent_t> = Vec::new();
    ok!(hsa_iterate_agents(Some(collect), (&raw mut list).cast()));
    list
}

pub(crate) fn agent_info<T: Copy>(agent: hsa_agent_t, attribute: u32, zero: T) -> T {
    let mut value = zero;
    ok!(hsa_agent_get_info(agent, hsa_agent_info_t(attribute), (&raw mut value).cast()));
    value
}

pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).expect("a NUL");
    String::from_utf8(bytes[..end].to_vec()).unwrap()
}

pub(crate) fn pools(agent: hsa_agent_t) -> Vec<hsa_amd_memory_pool_t> {
    unsafe extern "C" fn collect(pool: hsa_amd_memory_pool_t, list: *mut c_void) -> S {
        // SAFETY: the list is the one passed below.
        unsafe { &mut *list.cast::<Vec<hsa_amd_memory_pool_t>>() }.push(pool);
        S::HSA_STATUS_SUCCESS
    }
    let mut list: Vec<hsa_amd_memory_pool_t> = Vec::new();
    ok!(hsa_amd_agent_iterate_memory_pools(agent, Some(collect), (&raw mut list).cast()));
    list
}

pub(crate) fn pool_info<T: Copy>(
    pool: hsa_amd_memory_pool_t,
    attribute: hsa_amd_memory_pool_info_t,
    zero: T,
) -> T {
    let mut value = zero;
    ok!(hsa_amd_memory_pool_get_info(pool, attribute, (&raw mut value).cast()));
    value
}

/// The agent's pool in the global segment that has all of these flags.
pub(crate) fn pool(agent: hsa_agent_t, flags: u32) -> hsa_amd_memory_pool_t {
    let has = |&pool: &hsa_amd_memory_pool_t| {
        let global: u32 = pool_info(pool, hsa_amd_memory_pool_info_t::HSA_AMD_MEMORY_POOL_INFO_SEGMENT, 9);
        global == hsa_amd_segment_t::HSA_AMD_SEGMENT_GLOBAL.0
            && pool_info(pool, hsa_amd_memory_pool_info_t::HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, 0u32)
                & flags
                == flags
    };
    pools(agent).into_iter().find(has).expect("a pool with these flags")
}

pub(crate) const KERNARG: u32 = 1;
pub(crate) const FINE: u32 = 2;
pub(crate) const COARSE: u32 = 4;

pub(crate) fn allocate(pool: hsa_amd_memory_pool_t, size: usize) -> *mut c_void {
    let mut pointer = std::ptr::null_mut();
    ok!(hsa_amd_memory_pool_allocate(pool, size, 0, &mut pointer));
    assert!(!pointer.is_null());
    pointer
}

pub(crate) fn free(pointer: *mut c_void) {
    ok!(hsa_amd_memory_pool_free(pointer));
}

/// Memory of the machine as a slice. Tests use it only while no kernel or copy does.
pub(crate) fn slice<'a, T>(pointer: *mut c_void, count: usize) -> &'a mut [T] {
    // SAFETY: the tests ask for no more than they allocated, and for plain numbers only.
    unsafe { std::slice::from_raw_parts_mut(pointer.cast(), count) }
}

pub(crate) fn signal(value: i64) -> hsa_signal_t {
    let mut signal = hsa_signal_t { handle: 0 };
    ok!(hsa_signal_create(value, 0, std::ptr::null(), &mut signal));
    signal
}

pub(crate) const NEVER: u64 = u64::MAX;
pub(crate) const BLOCKED: hsa_wait_state_t = hsa_wait_state_t::HSA_WAIT_STATE_BLOCKED;
pub(crate) const LT: hsa_signal_condition_t = hsa_signal_condition_t::HSA_SIGNAL_CONDITION_LT;
pub(crate) const EQ: hsa_signal_condition_t = hsa_signal_condition_t::HSA_SIGNAL_CONDITION_EQ;

/// Waits at most ten seconds for the value to fall below 1; returns the last value.
pub(crate) fn wait(signal: hsa_signal_t) -> i64 {
    hsa!(hsa_signal_wait_scacquire(signal, LT, 1, 10_000_000_000, BLOCKED))
}

/// A queue, and what its callback received.
pub(crate) struct Queue {
    pub(crate) raw: *mut hsa_queue_t,
    pub(crate) errors: Box<std::sync::Mutex<Vec<S>>>,
}

impl Queue {
    pub(crate) fn new(agent: hsa_agent_t, size: u32) -> Queue {
        unsafe extern "C" fn failed(status: S, _: *mut hsa_queue_t, errors: *mut c_void) {
            // SAFETY: the list is the one passed below, and outlives the queue.
            unsafe { &*errors.cast::<std::sync::Mutex<Vec<S>>>() }.lock().unwrap().push(status);
        }
        let errors: Box<std::sync::Mutex<Vec<S>>> = Box::default();
        let mut raw = std::ptr::null_mut();
        let data = (&raw const *errors).cast_mut().cast();
        ok!(hsa_queue_create(agent, size, 0, Some(failed), data, u32::MAX, u32::MAX, &mut raw));
        Queue { raw, errors }
    }

    /// Submits a packet of any type: first everything except the first four bytes, then these, then the
    /// doorbell.
    pub(crate) fn submit<T>(&self, header: u16, setup: u16, packet: T) -> u64 {
        const { assert!(size_of::<T>() == 64) };
        let index = hsa!(hsa_queue_add_write_index_scacq_screl(self.raw, 1));
        // SAFETY: the queue exists.
        let queue = unsafe { &*self.raw };
        while index - hsa!(hsa_queue_load_read_index_scacquire(self.raw)) >= u64::from(queue.size) {
            std::thread::yield_now();
        }
        let first = u32::from(header) | u32::from(setup) << 16;
        let slot =
            queue.base_address.wrapping_byte_add((index % u64::from(queue.size)) as usize * 64).cast::<u8>();
        // SAFETY: the slot is in the ring, and this test's alone until its header is written.
        unsafe {
            std::ptr::copy_nonoverlapping((&raw const packet).cast::<u8>().add(4), slot.add(4), 60);
            std::sync::atomic::AtomicU32::from_ptr(slot.cast())
                .store(first, std::sync::atomic::Ordering::Release);
        }
        hsa!(hsa_signal_store_screlease(queue.doorbell_signal, index as i64));
        index
    }

    /// Submits a barrier packet and returns its completion signal.
    pub(crate) fn barrier(&self, header: u16, after: &[hsa_signal_t]) -> hsa_signal_t {
        let done = signal(1);
        let mut dep_signal = [hsa_signal_t { handle: 0 }; 5];
        dep_signal[..after.len()].copy_from_slice(after);
        self.submit(
            header,
            0,
            hsa_barrier_and_packet_t { dep_signal, completion_signal: done, ..Default::default() },
        );
        done
    }

    /// Waits for the completion signal of a packet in this queue. If the queue fails, fails with its report.
    pub(crate) fn finish(&self, done: hsa_signal_t) {
        for _ in 0..1000 {
            if hsa!(hsa_signal_wait_scacquire(done, LT, 1, 20_000_000, BLOCKED)) == 0 {
                return;
            }
            assert!(self.errors.lock().unwrap().is_empty(), "{:?}: {}", self.errors, self.report());
        }
        panic!("a packet did not complete in 20 seconds");
    }

    pub(crate) fn report(&self) -> String {
        let report = vgpu::hsa::table().ext.queue_fault_report.expect("the extension");
        // SAFETY: a null buffer asks for the length; then the buffer has the length it says.
        unsafe {
            let length = report(self.raw, std::ptr::null_mut(), 0);
            let mut buffer = vec![0u8; length + 1];
            assert_eq!(report(self.raw, buffer.as_mut_ptr().cast(), buffer.len()), length);
            text(&buffer)
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        ok!(hsa_queue_destroy(self.raw));
    }
}

pub(crate) const BARRIER_AND: u16 = 0x1503;
pub(crate) const BARRIER_OR: u16 = 0x1505;
pub(crate) const DISPATCH: u16 = 0x1502;
pub(crate) const VENDOR: u16 = 0x1500;

/// What the runtime knows about an address.
pub(crate) fn pointer_info(pointer: *const c_void) -> hsa_amd_pointer_info_t {
    let size = size_of::<hsa_amd_pointer_info_t>() as u32;
    let mut info = hsa_amd_pointer_info_t { size, ..Default::default() };
    ok!(hsa_amd_pointer_info(pointer, &mut info, None, std::ptr::null_mut(), std::ptr::null_mut()));
    info
}

/// Runs one test of this program in a separate process, with a variable that identifies it. Returns how it
/// ended and what it wrote to standard error.
pub(crate) fn in_child(test: &str, variable: &str, value: &str) -> (std::process::ExitStatus, String) {
    let ended = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env(variable, value)
        .output()
        .expect("this program can be started");
    (ended.status, String::from_utf8_lossy(&ended.stderr).into_owned())
}
