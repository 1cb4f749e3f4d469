//! Rings of arguments: contiguous over their end, and what happens without room or without virtual memory.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};

use hal::memory::RingStatistics;
use hal::{Affinity, Arg, CommandBuffer, Driver, Error, Grid, MemoryKind, Options, Place, Semaphore, Usage};
use hsa_sys::{
    Table, hsa_amd_memory_access_desc_t, hsa_amd_memory_pool_t, hsa_amd_memory_type_t,
    hsa_amd_vmem_alloc_handle_t, hsa_status_t,
};

use crate::common::{LONG, Setup, code, library, setups_with};

/// The smallest ring.
const RING: u64 = 64 << 10;

fn options(ring: u64) -> Options {
    let mut options = Options::default();
    options.ring = ring;
    options
}

/// `count` steps of the value that a submission binds.
fn steps(setup: &Setup, count: u64) -> CommandBuffer {
    let mut recorder = setup.record();
    for add in 0..count {
        setup.step(recorder.barrier(), Place::Binding(0, 0), add);
    }
    recorder.finish().unwrap()
}

/// Submits command buffers of different sizes, `most` at a time, and checks what they leave.
fn run(setup: &Setup, submissions: u64, most: u64) {
    let all: Vec<CommandBuffer> = (1..=13).map(|count| steps(setup, 3 * count)).collect();
    let value = setup.buffer(&1u64.to_le_bytes());
    let (line, mut expected) = (Semaphore::new(0), 1u64);
    for index in 0..submissions {
        let which = (index * 7 % 13) as usize;
        let bound = [(value.clone(), 0)];
        setup.queue.execute(&all[which], &bound, &[], &[(&line, index + 1)]).unwrap();
        for add in 0..3 * (which as u64 + 1) {
            expected = expected.wrapping_mul(3).wrapping_add(add);
        }
        line.wait((index + 1).saturating_sub(most), LONG).unwrap();
    }
    line.wait(submissions, LONG).unwrap();
    assert_eq!(setup.read(&value), expected.to_le_bytes());
}

#[test]
fn arguments_go_on_at_the_beginning_of_the_ring() {
    for setup in setups_with(&options(RING)) {
        assert_eq!(setup.queue.ring(), Ok(None), "no submission needed it");
        run(&setup, 400, 2);
        setup.device.trim();
        let ring = setup.queue.ring().unwrap().unwrap();
        assert_eq!((ring.size, ring.used, ring.refused), (RING, 0, 0), "{ring:?}");
        assert_eq!(ring.taken, 400);
        assert!(ring.wrapped >= 5 && ring.most <= RING, "{ring:?}");
    }
}

#[test]
fn arguments_come_from_the_pool_if_the_ring_has_no_room() {
    for setup in setups_with(&options(RING)) {
        // More than the ring has.
        let many = steps(&setup, 1100);
        let value = setup.buffer(&1u64.to_le_bytes());
        let line = Semaphore::new(0);
        setup.queue.execute(&many, &[(value.clone(), 0)], &[], &[(&line, 1)]).unwrap();
        line.wait(1, LONG).unwrap();
        let expected = (0..1100).fold(1u64, |value, add| value.wrapping_mul(3).wrapping_add(add));
        assert_eq!(setup.read(&value), expected.to_le_bytes());
        let ring = setup.queue.ring().unwrap().unwrap();
        assert_eq!(ring, RingStatistics { size: RING, refused: 1, ..RingStatistics::default() });
        // More than it has at a time: nothing ends while the gate is shut.
        let gate = setup.device.allocate(MemoryKind::Host, 4).unwrap();
        gate.write(0, &[0; 4]).unwrap();
        let mut recorder = setup.device.record(0, Usage::OneShot).unwrap();
        let hold = setup.code.kernel("hold").unwrap();
        // SAFETY: the kernel reads the gate.
        unsafe { recorder.dispatch(&hold, Grid::linear(1, 1), &[Arg::from(&gate)]) }.unwrap();
        let shut = recorder.finish().unwrap();
        setup.queue.execute(&shut, &[], &[], &[]).unwrap();
        let commands = steps(&setup, 40);
        let values: Vec<_> = (0..40u64).map(|first| setup.buffer(&first.to_le_bytes())).collect();
        for (value, number) in values.iter().zip(2..) {
            setup.queue.execute(&commands, &[(value.clone(), 0)], &[], &[(&line, number)]).unwrap();
        }
        let ring = setup.queue.ring().unwrap().unwrap();
        assert!(ring.taken > 2 && ring.refused > 2, "{ring:?}");
        assert_eq!(ring.taken + ring.refused, 41);
        gate.write(0, &1i32.to_le_bytes()).unwrap();
        line.wait(41, LONG).unwrap();
        for (first, value) in (0..40u64).zip(&values) {
            let expected = (0..40).fold(first, |value, add| value.wrapping_mul(3).wrapping_add(add));
            assert_eq!(setup.read(value), expected.to_le_bytes(), "{first}");
        }
        setup.device.trim();
        assert_eq!(setup.queue.ring().unwrap().unwrap().used, 0);
    }
}

#[test]
fn a_device_without_rings_has_the_same_results() {
    for setup in setups_with(&options(0)) {
        run(&setup, 30, 30);
        assert_eq!(setup.queue.ring(), Ok(None));
    }
}

/// Calls of virtual memory that may yet succeed.
static ALLOWED: AtomicI64 = AtomicI64::new(i64::MAX);
/// Memory, address ranges and mappings that were made and are still there.
static THERE: [AtomicI64; 3] = [AtomicI64::new(0), AtomicI64::new(0), AtomicI64::new(0)];

const REFUSED: hsa_status_t = hsa_status_t::HSA_STATUS_ERROR_OUT_OF_RESOURCES;

/// Makes something unless it is refused, and counts it.
fn make(which: usize, call: impl FnOnce(&'static Table) -> hsa_status_t) -> hsa_status_t {
    if ALLOWED.fetch_sub(1, Ordering::SeqCst) <= 0 {
        return REFUSED;
    }
    let status = call(vgpu::hsa::table());
    if let (hsa_status_t::HSA_STATUS_SUCCESS, Some(there)) = (status, THERE.get(which)) {
        there.fetch_add(1, Ordering::SeqCst);
    }
    status
}

fn unmake(which: usize, status: hsa_status_t) -> hsa_status_t {
    assert_eq!(status, hsa_status_t::HSA_STATUS_SUCCESS, "{which}");
    THERE[which].fetch_sub(1, Ordering::SeqCst);
    status
}

unsafe extern "C" fn create(
    pool: hsa_amd_memory_pool_t,
    size: usize,
    kind: hsa_amd_memory_type_t,
    flags: u64,
    handle: *mut hsa_amd_vmem_alloc_handle_t,
) -> hsa_status_t {
    // SAFETY: the caller's arguments, here and below.
    make(0, |table| unsafe { (table.hsa_amd_vmem_handle_create)(pool, size, kind, flags, handle) })
}

unsafe extern "C" fn release(handle: hsa_amd_vmem_alloc_handle_t) -> hsa_status_t {
    // SAFETY: as above.
    unmake(0, unsafe { (vgpu::hsa::table().hsa_amd_vmem_handle_release)(handle) })
}

unsafe extern "C" fn reserve(
    start: *mut *mut c_void,
    size: usize,
    address: u64,
    alignment: u64,
    flags: u64,
) -> hsa_status_t {
    make(1, |table| {
        // SAFETY: as above.
        unsafe { (table.hsa_amd_vmem_address_reserve_align)(start, size, address, alignment, flags) }
    })
}

unsafe extern "C" fn free(start: *mut c_void, size: usize) -> hsa_status_t {
    // SAFETY: as above.
    unmake(1, unsafe { (vgpu::hsa::table().hsa_amd_vmem_address_free)(start, size) })
}

unsafe extern "C" fn map(
    start: *mut c_void,
    size: usize,
    offset: usize,
    handle: hsa_amd_vmem_alloc_handle_t,
    flags: u64,
) -> hsa_status_t {
    // SAFETY: as above.
    make(2, |table| unsafe { (table.hsa_amd_vmem_map)(start, size, offset, handle, flags) })
}

unsafe extern "C" fn unmap(start: *mut c_void, size: usize) -> hsa_status_t {
    // SAFETY: as above.
    unmake(2, unsafe { (vgpu::hsa::table().hsa_amd_vmem_unmap)(start, size) })
}

unsafe extern "C" fn set_access(
    start: *mut c_void,
    size: usize,
    list: *const hsa_amd_memory_access_desc_t,
    count: usize,
) -> hsa_status_t {
    // SAFETY: as above.
    make(3, |table| unsafe { (table.hsa_amd_vmem_set_access)(start, size, list, count) })
}

/// The virtual GPU's functions, but virtual memory may be refused.
fn table() -> &'static Table {
    // SAFETY: neither the original nor the copy is ever dropped, and nothing changes what they share.
    let mut table = unsafe { std::ptr::read(vgpu::hsa::table()) };
    table.hsa_amd_vmem_handle_create = create;
    table.hsa_amd_vmem_handle_release = release;
    table.hsa_amd_vmem_address_reserve_align = reserve;
    table.hsa_amd_vmem_address_free = free;
    table.hsa_amd_vmem_map = map;
    table.hsa_amd_vmem_unmap = unmap;
    table.hsa_amd_vmem_set_access = set_access;
    Box::leak(Box::new(table))
}

#[test]
fn arguments_come_from_the_pool_if_memory_cannot_be_mapped_twice() {
    let index = vgpu::attach(&"gfx1100?cus=2&memory=64MiB".parse().unwrap()).unwrap();
    let driver = Driver::over(table()).unwrap();
    let open = || {
        let options = options(RING).with_library(library());
        let device = driver.open(&format!("amdgpu:{index}").parse().unwrap(), options).unwrap();
        Setup { code: device.load(&code()).unwrap(), queue: device.queue(Affinity(1)).unwrap(), device }
    };
    let there = || THERE.each_ref().map(|count| count.load(Ordering::SeqCst));
    for (allowed, operation) in [
        (0, "hsa_amd_vmem_handle_create"),
        (1, "hsa_amd_vmem_address_reserve"),
        (2, "hsa_amd_vmem_map"),
        (3, "hsa_amd_vmem_set_access"),
        (4, "hsa_amd_vmem_map"),
        (5, "hsa_amd_vmem_set_access"),
    ] {
        ALLOWED.store(allowed, Ordering::SeqCst);
        let setup = open();
        run(&setup, 20, 20);
        assert_eq!(setup.queue.ring(), Err(Error::Status { operation, status: REFUSED }), "{allowed}");
        assert_eq!(there(), [0; 3], "what was made is undone: {operation}");
    }
    ALLOWED.store(6, Ordering::SeqCst);
    let setup = open();
    run(&setup, 60, 2);
    let ring = setup.queue.ring().unwrap().unwrap();
    assert!(ring.wrapped != 0 && ring.refused == 0, "{ring:?}");
    assert_eq!(there(), [1, 1, 2]);
    drop(setup);
    assert_eq!(there(), [0; 3]);
}
