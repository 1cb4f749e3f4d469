//! Calls that HSA refuses half-way, and calls that wait: tables agree with HSA afterwards, and no other call
//! is blocked.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::Duration;

use hip_sys::{
    hipIpcMemHandle_t, hipMemAccessDesc, hipMemAccessFlags as Access, hipMemAllocationProp,
    hipMemAllocationType, hipMemLocation, hipMemLocationType, hipPointerAttribute_t,
};

use super::fake::Refused;
use super::graph_lanes::comes;
use super::*;

const NON_BLOCKING: u32 = hip_sys::hipStreamNonBlocking;
const INVALID: E = E::hipErrorInvalidValue;
/// Bytes of a mapping.
const PIECE: usize = 1 << 16;
const HERE: hipMemLocation = hipMemLocation { type_: hipMemLocationType::hipMemLocationTypeDevice, id: 0 };

/// While this lives, HSA refuses a call after some that succeed.
struct Refusal;

impl Refusal {
    fn new(call: Refused, after: u64) -> Self {
        fake::REFUSE_AFTER.store(after, Ordering::Release);
        fake::REFUSE.store(call as u64, Ordering::Release);
        Self
    }
}

impl Drop for Refusal {
    fn drop(&mut self) {
        fake::REFUSE.store(0, Ordering::Release);
        fake::REFUSE_AFTER.store(0, Ordering::Release);
    }
}

impl Hip {
    /// A range with this many adjacent mappings, which the device may write.
    fn mapped(&self, pieces: usize) -> *mut c_void {
        let mut start = null_mut();
        assert_eq!(hip!(self, hipMemAddressReserve(&mut start, pieces * PIECE, 0, null_mut(), 0)), OK);
        for index in 0..pieces {
            let properties = hipMemAllocationProp {
                type_: hipMemAllocationType::hipMemAllocationTypePinned,
                location: HERE,
                ..Default::default()
            };
            let mut handle = null_mut();
            assert_eq!(hip!(self, hipMemCreate(&mut handle, PIECE, &properties, 0)), OK);
            assert_eq!(
                hip!(self, hipMemMap(start.wrapping_byte_add(index * PIECE), PIECE, 0, handle, 0)),
                OK
            );
            assert_eq!(hip!(self, hipMemRelease(handle)), OK);
        }
        assert_eq!(self.set_access(start, pieces, Access::hipMemAccessFlagsProtReadWrite), OK);
        start
    }

    fn set_access(&self, start: *mut c_void, pieces: usize, flags: Access) -> E {
        let access = hipMemAccessDesc { location: HERE, flags };
        hip!(self, hipMemSetAccess(start, pieces * PIECE, &access, 1))
    }

    /// The device's access, if something is mapped; checks that the runtime's table agrees.
    fn access(&self, start: *mut c_void) -> Option<Access> {
        let mut flags = 99;
        let code = hip!(self, hipMemGetAccess(&mut flags, &HERE, start));
        let access = (code == OK).then_some(Access(flags as u32));
        let is_known = access.is_some_and(|access| access != Access::hipMemAccessFlagsProtNone);
        assert_eq!(self.knows(start), is_known);
        access
    }

    fn knows(&self, start: *mut c_void) -> bool {
        // SAFETY: all numbers and pointers of the structure may be zero.
        let mut found: hipPointerAttribute_t = unsafe { std::mem::zeroed() };
        let code = hip!(self, hipPointerGetAttributes(&mut found, start));
        code == OK && found.type_ != hip_sys::hipMemoryType::hipMemoryTypeUnregistered
    }

    /// Runs a call on a thread that waits for a kernel, and another call meanwhile, which must return.
    fn while_waiting(&self, waits: impl FnOnce() -> E + Send, other: impl FnOnce() -> E + Send) -> [E; 2] {
        let module = self.load(5);
        let work = self.function(module, "work");
        let stream = self.stream(NON_BLOCKING);
        let hold = Hold::new();
        assert_eq!(self.launch(work, stream), OK);
        let codes = std::thread::scope(|scope| {
            let waiting = scope.spawn(waits);
            std::thread::sleep(Duration::from_millis(50));
            let waited = !waiting.is_finished();
            let other = scope.spawn(other);
            let came = comes(|| other.is_finished());
            drop(hold);
            assert!(waited, "the call does not wait for the device");
            assert!(came, "the other call waits as well");
            [waiting.join().unwrap(), other.join().unwrap()]
        });
        assert_eq!(hip!(self, hipStreamDestroy(stream)), OK);
        assert_eq!(hip!(self, hipModuleUnload(module)), OK);
        codes
    }
}

#[test]
fn addresses_can_be_reserved_while_a_mapping_waits_for_its_end() {
    let hip = start();
    let (first, second) = (hip.mapped(1) as usize, hip.mapped(1) as usize);
    let (table, mut start) = (hip.table, 0usize);
    let reserve = || {
        let mut found = null_mut();
        // SAFETY: the place is valid.
        let code = unsafe { (table.hipMemAddressReserve)(&mut found, PIECE, 0, null_mut(), 0) };
        start = found as usize;
        code
    };
    // SAFETY: nothing uses the mapping.
    let unmap = || unsafe { (table.hipMemUnmap)(first as _, PIECE) };
    assert_eq!(hip.while_waiting(unmap, reserve), [OK, OK]);
    assert_eq!(hip.access(first as _), None);
    assert_eq!(hip!(hip, hipMemAddressFree(start as _, PIECE)), OK);

    let none = hipMemAccessDesc { location: HERE, flags: Access::hipMemAccessFlagsProtNone };
    // SAFETY: nothing uses the mapping, and the list has an entry.
    let take = || unsafe { (table.hipMemSetAccess)(second as _, PIECE, &none, 1) };
    // SAFETY: nothing is mapped there any more.
    let free = || unsafe { (table.hipMemAddressFree)(first as _, PIECE) };
    assert_eq!(hip.while_waiting(take, free), [OK, OK]);
    assert_eq!(hip.access(second as _), Some(Access::hipMemAccessFlagsProtNone));
    assert_eq!(hip!(hip, hipMemUnmap(second as _, PIECE)), OK);
    assert_eq!(hip!(hip, hipMemAddressFree(second as _, PIECE)), OK);
}

/// A handle as if from another process, for 4096 bytes.
fn foreign_handle(hip: &Hip) -> hipIpcMemHandle_t {
    let memory = hip.malloc(4096);
    let mut handle = hipIpcMemHandle_t { reserved: [0; 64] };
    assert_eq!(hip!(hip, hipIpcGetMemHandle(&mut handle, memory)), OK);
    hip.free(memory);
    let other = (std::process::id() ^ 1).to_le_bytes();
    handle.reserved[48..52].copy_from_slice(&other.map(|byte| byte as _));
    handle
}

#[test]
fn memory_of_others_can_be_opened_while_it_waits_for_its_end_and_stays_open_then() {
    let hip = start();
    let (handle, table) = (foreign_handle(&hip), hip.table);
    let mut memory = null_mut();
    assert_eq!(hip!(hip, hipIpcOpenMemHandle(&mut memory, handle, 1)), OK);
    let (place, mut again) = (memory as usize, 0usize);
    // SAFETY: nothing uses the memory.
    let close = || unsafe { (table.hipIpcCloseMemHandle)(place as _) };
    let open = || {
        let mut found = null_mut();
        // SAFETY: the place is valid.
        let code = unsafe { (table.hipIpcOpenMemHandle)(&mut found, handle, 1) };
        again = found as usize;
        code
    };
    assert_eq!(hip.while_waiting(close, open), [OK, OK]);
    assert_eq!(again, place);
    assert!(hip.knows(memory));
    let refusal = Refusal::new(Refused::Detach, 0);
    assert_ne!(hip!(hip, hipIpcCloseMemHandle(memory)), OK);
    assert!(hip.knows(memory), "it is still mapped");
    drop(refusal);
    assert_eq!(hip!(hip, hipIpcCloseMemHandle(memory)), OK);
    assert!(!hip.knows(memory));
    assert_eq!(hip!(hip, hipIpcCloseMemHandle(memory)), INVALID);
}

#[test]
fn mappings_whose_end_is_refused_stay_known_and_can_be_ended_later() {
    let hip = start();
    let start = hip.mapped(3);
    let [first, second, third] = [0, 1, 2].map(|index| start.wrapping_byte_add(index * PIECE));
    let full = Some(Access::hipMemAccessFlagsProtReadWrite);
    let refusal = Refusal::new(Refused::SetAccess, 1);
    assert_ne!(hip.set_access(start, 3, Access::hipMemAccessFlagsProtNone), OK);
    drop(refusal);
    assert_eq!(hip.access(first), Some(Access::hipMemAccessFlagsProtNone));
    assert_eq!((hip.access(second), hip.access(third)), (full, full));
    assert_eq!(hip.set_access(start, 3, Access::hipMemAccessFlagsProtReadWrite), OK);

    let refusal = Refusal::new(Refused::Unmap, 1);
    assert_ne!(hip!(hip, hipMemUnmap(start, 3 * PIECE)), OK);
    drop(refusal);
    assert_eq!((hip.access(first), hip.access(second), hip.access(third)), (None, full, full));
    // It is the device's memory for copies, not the host's.
    hip.upload(second, &[7; 64]);
    assert_eq!(hip.download(second, 64), [7; 64]);
    assert_eq!(hip!(hip, hipMemAddressFree(start, 3 * PIECE)), INVALID);
    assert_eq!(hip!(hip, hipMemUnmap(second, 2 * PIECE)), OK);
    assert_eq!((hip.access(second), hip.access(third)), (None, None));
    assert_eq!(hip!(hip, hipMemAddressFree(start, 3 * PIECE)), OK);
}

#[test]
fn host_memory_that_cannot_be_unlocked_stays_registered() {
    let hip = start();
    let mut bytes = vec![0u8; 4096];
    let pointer = bytes.as_mut_ptr().cast::<c_void>();
    assert_eq!(hip!(hip, hipHostRegister(pointer, 4096, 0)), OK);
    let refusal = Refusal::new(Refused::Unlock, 0);
    assert_ne!(hip!(hip, hipHostUnregister(pointer)), OK);
    drop(refusal);
    assert!(hip.knows(pointer));
    assert_eq!(hip!(hip, hipHostUnregister(pointer)), OK);
    assert!(!hip.knows(pointer));
}

#[test]
fn queues_that_are_none_are_errors() {
    let hip = start();
    let module = hip.load(5);
    let empty = hip.function(module, "empty");
    let before = fake::queues();
    for kind in [1, 2, 3] {
        let stream = hip.stream(NON_BLOCKING);
        fake::BAD_QUEUE.store(kind, Ordering::Release);
        assert_eq!(hip.launch(empty, stream), E::hipErrorRuntimeOther);
        assert_eq!(fake::queues(), before);
        assert_eq!(hip.launch(empty, stream), OK);
        assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
    }
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}

#[test]
fn reads_that_fail_keep_no_staging_buffers() {
    let hip = start();
    let module = hip.load(5);
    let poke = hip.function(module, "poke");
    let size = 3 << 20;
    let memory = hip.malloc(size);
    let mut bytes = vec![0u8; size];
    let mut read = |stream| {
        let kind = hip_sys::hipMemcpyKind::hipMemcpyDeviceToHost;
        hip!(hip, hipMemcpyWithStream(bytes.as_mut_ptr().cast(), memory, size, kind, stream))
    };
    // Argument rings and queues end with their streams; the spare staging buffers are those that one read
    // needs.
    let round = |read: &mut dyn FnMut(hipStream_t) -> E| {
        let stream = hip.stream(NON_BLOCKING);
        fake::FAIL_COPIES.store(true, Ordering::Release);
        let copied = read(stream);
        fake::FAIL_COPIES.store(false, Ordering::Release);
        assert_ne!(copied, OK);
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
        let stream = hip.stream(NON_BLOCKING);
        assert_eq!(hip.launch(poke, stream), OK);
        assert_ne!(read(stream), OK);
        assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
        fake::staging_buffers()
    };
    for _ in 0..10 {
        round(&mut read);
    }
    let before = round(&mut read);
    for _ in 0..10 {
        round(&mut read);
    }
    assert_eq!(round(&mut read), before);
    hip.free(memory);
    assert_eq!(hip!(hip, hipModuleUnload(module)), OK);
}
