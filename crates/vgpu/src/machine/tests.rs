//! Tests of memory and the environment. Tests that need a whole machine are in `tests/`: here they would
//! compile the entire executor a second time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use vgpu_exec::GlobalMemory as _;

use super::memory::Memory;
use super::*;

fn memory() -> Memory {
    let memory = Memory::new();
    assert_eq!(memory.add_device(1 << 20), 0);
    memory
}

fn free(memory: &Memory, address: u64) -> Result<(), MemoryError> {
    // SAFETY: each test frees what it has allocated itself, or what cannot be freed.
    unsafe { memory.free(address) }
}

#[test]
fn memory_is_zeroed_aligned_and_exact() {
    let memory = memory();
    for (size, align) in [(1, 1), (5000, 256), (1 << 16, 1 << 16), (1 << 20, 1 << 21)] {
        let address = memory.allocate(size, align, MemoryKind::Host, None).unwrap();
        assert_eq!(address % align, 0);
        let found = memory.lookup(address + size - 1).unwrap();
        assert_eq!((found.start, found.size, found.kind), (address, size, MemoryKind::Host));
        assert!(memory.lookup(address + size).is_none());
        assert!(memory.contains(address, size) && !memory.contains(address, size + 1));
        // SAFETY: the allocation holds `size` bytes, and nothing else uses it.
        let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, size as usize) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        free(&memory, address).unwrap();
    }
}

#[test]
fn device_memory_is_accounted() {
    let memory = memory();
    let first = memory.allocate(1 << 19, 1, MemoryKind::Coarse, Some(0)).unwrap();
    assert_eq!((memory.available(0), memory.capacity(0)), (1 << 19, 1 << 20));
    let error = memory.allocate((1 << 19) + 1, 1, MemoryKind::Coarse, Some(0)).unwrap_err();
    assert_eq!(error, MemoryError::OutOfMemory { device: 0, size: (1 << 19) + 1, available: 1 << 19 });
    free(&memory, first).unwrap();
    assert_eq!(memory.available(0), 1 << 20);
    assert_eq!(memory.allocate(1, 1, MemoryKind::Coarse, Some(7)), Err(MemoryError::NoDevice(7)));
    assert_eq!(memory.allocate(0, 1, MemoryKind::Coarse, None), Err(MemoryError::ZeroSize));
    assert_eq!(memory.allocate(1, 3, MemoryKind::Coarse, None), Err(MemoryError::BadAlignment(3)));
    assert!(matches!(memory.allocate(1 << 60, 1, MemoryKind::Host, None), Err(MemoryError::Host { .. })));
    assert!(memory.allocate(u64::MAX, 1, MemoryKind::Host, None).is_err());
}

#[test]
fn wrong_frees_are_named() {
    let memory = memory();
    let address = memory.allocate(64, 1, MemoryKind::Coarse, Some(0)).unwrap();
    assert_eq!(free(&memory, address + 1), Err(MemoryError::NotAllocated(address + 1)));
    assert_eq!(memory.unregister(address), Err(MemoryError::NotAllocated(address)));
    free(&memory, address).unwrap();
    assert_eq!(free(&memory, address), Err(MemoryError::FreedTwice(address)));
    assert_eq!(free(&memory, 12), Err(MemoryError::NotAllocated(12)));
}

#[test]
fn registered_memory_belongs_to_its_owner() {
    let memory = memory();
    let mut host = vec![7u8; 100];
    let address = host.as_mut_ptr() as u64;
    // SAFETY: `host` outlives the registration and is not used meanwhile.
    unsafe {
        memory.register(address, 100).unwrap();
        assert_eq!(
            memory.register(address + 99, 2),
            Err(MemoryError::Overlap { address: address + 99, size: 2 })
        );
        assert_eq!(memory.register(u64::MAX, 2), Err(MemoryError::Overlap { address: u64::MAX, size: 2 }));
    }
    assert_eq!(memory.lookup(address + 5).unwrap().kind, MemoryKind::Registered);
    assert_eq!(free(&memory, address), Err(MemoryError::NotAllocated(address)));
    memory.unregister(address).unwrap();
    assert!(memory.lookup(address).is_none());
    assert!(host.iter().all(|byte| *byte == 7));
}

#[test]
fn bad_accesses_are_explained() {
    let memory = memory();
    let address = memory.allocate(4096, 1, MemoryKind::Coarse, Some(0)).unwrap();
    let FaultKind::OutOfBounds { nearest: Some(near), .. } =
        memory.explain(AccessKind::Read, address + 4094, 4)
    else {
        panic!()
    };
    assert_eq!(near.start, address);
    let text = memory.explain(AccessKind::Read, address + 4094, 4).to_string();
    assert!(text.contains("the last 2 bytes are after the end of 4096 bytes of device memory"), "{text}");
    let text = memory.explain(AccessKind::Write, address + 5000, 4).to_string();
    assert!(text.contains("904 bytes after the end of"), "{text}");
    let text = memory.explain(AccessKind::Write, address - 16, 4).to_string();
    assert!(text.contains("16 bytes before the start of"), "{text}");
    let text = memory.explain(AccessKind::Read, 8, 4).to_string();
    assert!(text.contains("null pointer plus 8"), "{text}");
    free(&memory, address).unwrap();
    let kind = memory.explain(AccessKind::Atomic, address + 8, 4);
    assert!(matches!(kind, FaultKind::UseAfterFree { .. }), "{kind:?}");
    assert!(kind.to_string().contains("8 bytes into 4096 bytes of device memory"));
}

#[test]
fn freeing_waits_for_waves_that_may_still_look() {
    let memory = Arc::new(memory());
    let address = memory.allocate(64, 1, MemoryKind::Coarse, None).unwrap();
    let reader = memory.reader();
    let mut access = Access::new(Arc::clone(&memory));
    access.begin_slice(memory.enter(&reader));
    assert!(access.permits(AccessKind::Write, address, 64));
    assert!(!access.permits(AccessKind::Write, address, 65));
    let done = Arc::new(AtomicBool::new(false));
    let freeing = std::thread::spawn({
        let (memory, done) = (Arc::clone(&memory), Arc::clone(&done));
        move || {
            free(&memory, address).unwrap();
            done.store(true, Ordering::SeqCst);
        }
    });
    std::thread::sleep(Duration::from_millis(20));
    assert!(!done.load(Ordering::SeqCst), "freed under a running wave");
    // SAFETY: the range was verified in this slice, so the memory is still mapped.
    unsafe { (address as *mut u32).write_volatile(1) };
    while memory.lookup(address).is_some() {
        std::thread::yield_now();
    }
    // Memory that is being freed counts as freed, so a lookup must not mistake its addresses for the
    // program's own memory.
    let kind = memory.explain(AccessKind::Read, address, 4);
    assert!(matches!(kind, FaultKind::UseAfterFree { .. }), "{kind:?}");
    assert_eq!(free(&memory, address), Err(MemoryError::FreedTwice(address)));
    access.begin_slice(memory.enter(&reader));
    assert!(!access.permits(AccessKind::Read, address, 4));
    freeing.join().unwrap();
    assert!(done.load(Ordering::SeqCst));
    reader.leave();
}

#[test]
fn many_allocations_do_not_exhaust_the_host() {
    let memory = memory();
    for _ in 0..10_000 {
        let address = memory.allocate(100, 1, MemoryKind::Kernarg, None).unwrap();
        free(&memory, address).unwrap();
    }
}

#[test]
fn variables_are_of_this_machine() {
    let threads = variables::VGPU_THREADS;
    assert_eq!(threads.count_of(Some(pool::MAX_THREADS.to_string())), Ok(Some(pool::MAX_THREADS as u64)));
    assert!(threads.count_of(Some((pool::MAX_THREADS + 1).to_string())).is_err());
    assert_eq!(variables::VGPU_VECTORS.name, Level::VARIABLE);
    for name in Level::names().split(", ") {
        assert_eq!(variables::VGPU_VECTORS.word_of(Some(name)), Ok(Some(name)));
    }
    // The longest limit can be added to the start time of any dispatch.
    let variables::Values::Time { most, .. } = variables::VGPU_TIMEOUT.values else { panic!() };
    assert!(std::time::Instant::now().checked_add(most).is_some());
}

/// Mappings of virtual memory are one range where they follow each other, for accesses that cross from one to
/// the next; other memory is not.
#[test]
fn accesses_cross_mappings_that_follow_each_other_and_nothing_else() {
    let memory = memory();
    let bytes = vec![0u64; 64];
    let start = bytes.as_ptr() as u64;
    let at = |part: u64| start + 128 * part;
    // SAFETY: the bytes live until the end of the test, and no kernel runs.
    unsafe {
        memory.register_mapping(at(0), 128, MemoryKind::Host, None).unwrap();
        memory.register_mapping(at(1), 128, MemoryKind::Constant, None).unwrap();
        memory.register(at(2), 128).unwrap();
    }
    assert_eq!(memory.find(at(0), 128), Some((at(0), at(1), true)));
    assert_eq!(memory.find(at(1) - 8, 16), Some((at(0), at(2), false)));
    assert_eq!(memory.find(at(0), 256), Some((at(0), at(2), false)));
    assert_eq!(memory.find(at(0), 257), None, "the program's own");
    assert_eq!(memory.find(at(2) - 8, 16), None);
    assert_eq!(memory.find(at(3) - 8, 16), None);
    memory.unregister(at(1)).unwrap();
    assert_eq!(memory.find(at(1) - 8, 16), None);
}
