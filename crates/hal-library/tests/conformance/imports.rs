//! Memory that others have allocated.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hal::{Arg, Buffer, Error, File, Grid, MemoryKind, Place, Semaphore, Usage};

use crate::common::{LONG, Setup, drivers, pattern, setups};

/// Counts when it is dropped.
pub(crate) struct Owner(pub(crate) Arc<AtomicUsize>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Adds 5 to every word by a kernel, copies all to another buffer, and compares.
fn works(setup: &Setup, imported: &Buffer) {
    let before = setup.read(imported);
    let copy = setup.device.allocate(MemoryKind::Device, imported.size()).unwrap();
    let mut recorder = setup.record();
    let (n, step) = ((before.len() as i32 / 4).to_le_bytes(), 5i32.to_le_bytes());
    let args = [Arg::from(imported), Arg::Bytes(&n), Arg::Bytes(&step)];
    let grid = Grid::linear(before.len().div_ceil(4 * 64) as u32, 64);
    // SAFETY: the kernel adds to as many numbers.
    unsafe { recorder.dispatch(&setup.code.kernel("add").unwrap(), grid, &args) }.unwrap();
    recorder.barrier().copy((&copy).into(), imported.into(), imported.size()).unwrap();
    let commands = recorder.finish().unwrap();
    let done = Semaphore::new(0);
    setup.queue.execute(&commands, &[], &[], &[(&done, 1)]).unwrap();
    done.wait(1, LONG).unwrap();
    let add = |word: &[u8]| i32::from_le_bytes(word.try_into().unwrap()).wrapping_add(5).to_le_bytes();
    let expected: Vec<u8> = before.chunks(4).flat_map(add).collect();
    assert!(setup.read(imported) == expected && setup.read(&copy) == expected);
}

/// Whether HSA knows the memory, as a second import sees it.
fn is_known(setup: &Setup, address: u64, size: u64) -> bool {
    // SAFETY: no work is submitted, and the memory is not accessed.
    match unsafe { setup.device.import_address(address, size, ()) } {
        Ok(_) => true,
        Err(Error::Import { problem, .. }) => {
            assert_eq!(problem, "HSA has no allocation there");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn memory_of_the_program_is_a_buffer_without_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    for setup in setups() {
        let before = setup.device.statistics(MemoryKind::Host, 0);
        let bytes = pattern(40_000, 5);
        let host = bytes.as_ptr() as u64;
        let buffer = setup.device.import(bytes).unwrap();
        assert_eq!((buffer.size(), buffer.kind()), (40_000, MemoryKind::Host));
        assert_eq!(setup.device.statistics(MemoryKind::Host, 0), before);
        assert!(setup.read(&buffer) == pattern(40_000, 5));
        works(&setup, &buffer);
        buffer.write(100, b"1234").unwrap();
        // Files reach it directly.
        let file = File::create(folder.path().join("file")).unwrap();
        let line = Semaphore::new(0);
        let at = |at| Place::Buffer(&buffer, at);
        setup.queue.write(at(100), file.range(0, 4), &[], &[(&line, 1)]).unwrap();
        setup.queue.read(file.range(0, 4), at(200), &[(&line, 1)], &[(&line, 2)]).unwrap();
        line.wait(2, LONG).unwrap();
        assert_eq!(setup.read(&buffer)[200..204], *b"1234");
        assert!(matches!(buffer.write(39_999, b"12"), Err(Error::OutOfRange { size: 40_000, .. })));
        assert!(is_known(&setup, host, 40_000));
    }
}

#[test]
fn imported_memory_is_let_go_of_once_and_after_the_last_work() {
    for setup in setups() {
        let gate = setup.device.allocate(MemoryKind::Host, 4).unwrap();
        gate.write(0, &[0; 4]).unwrap();
        let mut memory: Vec<u8> = 1u64.to_le_bytes().to_vec();
        let (pointer, freed) = (memory.as_mut_ptr(), Arc::new(AtomicUsize::new(0)));
        let import = || {
            // SAFETY: the vector outlives the work, and is read when that has ended.
            unsafe { setup.device.import_host(pointer, 8, Owner(freed.clone())) }.unwrap()
        };
        // The same memory twice: each is unlocked for itself.
        let (one, two) = (import(), import());
        let mut recorder = setup.device.record(0, Usage::OneShot).unwrap();
        let hold = setup.code.kernel("hold").unwrap();
        // SAFETY: the kernel reads the gate.
        unsafe { recorder.dispatch(&hold, Grid::linear(1, 1), &[(&gate).into()]) }.unwrap();
        setup.step(recorder.barrier(), Place::Binding(0, 0), 2);
        let commands = recorder.finish().unwrap();
        let done = Semaphore::new(0);
        setup.queue.execute(&commands, &[(one.clone(), 0)], &[], &[(&done, 1)]).unwrap();
        drop((one, commands));
        setup.device.trim();
        assert_eq!(freed.load(Ordering::SeqCst), 0);
        gate.write(0, &1i32.to_le_bytes()).unwrap();
        done.wait(1, LONG).unwrap();
        setup.device.trim();
        assert_eq!(freed.load(Ordering::SeqCst), 1);
        assert!(is_known(&setup, pointer as u64, 8));
        assert_eq!(setup.read(&two), 5u64.to_le_bytes());
        let clone = two.clone();
        drop(two);
        assert_eq!(freed.load(Ordering::SeqCst), 1);
        drop(clone);
        assert_eq!(freed.load(Ordering::SeqCst), 2);
        assert!(!is_known(&setup, pointer as u64, 8));
        assert_eq!(memory, 5u64.to_le_bytes());
    }
}

#[test]
fn a_queue_lets_go_of_imported_memory_when_it_is_told() {
    for setup in setups() {
        let (go, done, freed) = (Semaphore::new(0), Semaphore::new(0), Arc::new(AtomicUsize::new(0)));
        let mut memory = vec![0u8; 100];
        // SAFETY: the vector outlives the buffer.
        let buffer =
            unsafe { setup.device.import_host(memory.as_mut_ptr(), 100, Owner(freed.clone())) }.unwrap();
        setup.queue.deallocate(buffer, &[(&go, 1)], &[(&done, 1)]).unwrap();
        assert_eq!(freed.load(Ordering::SeqCst), 0);
        go.signal(1).unwrap();
        done.wait(1, LONG).unwrap();
        assert_eq!(freed.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn addresses_of_others_are_buffers() {
    for setup in setups() {
        let pool = setup.device.agent(0).unwrap().coarse_pool().unwrap();
        let mut memory = pool.allocate(8192).unwrap();
        memory.write(0, &pattern(8192, 9)).unwrap();
        let address = memory.as_ptr() as u64;
        let freed = Arc::new(AtomicUsize::new(0));
        let owner = (memory, Owner(freed.clone()));
        // SAFETY: the allocation is the owner, and all of its GPUs, which is one, may access it.
        let buffer = unsafe { setup.device.import_address(address + 4096, 4096, owner) }.unwrap();
        assert_eq!((buffer.address(), buffer.kind()), (address + 4096, MemoryKind::Device));
        assert!(setup.read(&buffer) == pattern(8192, 9)[4096..]);
        works(&setup, &buffer);
        assert_eq!(freed.load(Ordering::SeqCst), 0);
        assert!(is_known(&setup, address, 8192));
        drop(buffer);
        setup.device.trim();
        assert_eq!(freed.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn an_address_tells_its_gpu() {
    let setups = setups();
    let (driver, _) = drivers().remove(0);
    for setup in &setups {
        let (own, host) = (setup.buffer(&[0; 100]), setup.device.allocate(MemoryKind::Host, 100).unwrap());
        let gpu = driver.gpu_at(own.address() + 99).unwrap().expect("a GPU");
        assert_eq!(driver.topology().gpus[gpu].agent, setup.device.agent(0).unwrap().raw().handle);
        assert_eq!(driver.gpu_at(host.address()).unwrap(), None);
    }
    assert_eq!(driver.gpu_at(0x1000).unwrap(), None);
}

#[test]
fn memory_that_cannot_be_imported_is_refused_and_let_go_of() {
    for setup in setups() {
        let freed = Arc::new(AtomicUsize::new(0));
        let owner = || Owner(freed.clone());
        let device = &setup.device;
        let empty = device.import(Vec::new()).unwrap_err();
        assert!(matches!(empty, Error::Option { name: "size", value: 0, .. }), "{empty}");
        let null = std::ptr::null_mut();
        // SAFETY: all of these are refused.
        let refused = unsafe {
            [
                device.import_host(null, 8, owner()),
                device.import_host(null.wrapping_sub(4), 8, owner()),
                device.import_address(0, 8, owner()),
                device.import_address(u64::MAX - 3, 8, owner()),
                device.import_address(0x1000, 8, owner()),
            ]
        };
        let texts = refused.map(|result| result.unwrap_err().to_string());
        assert_eq!(
            texts,
            [
                "importing 8 bytes at 0x0: the address is null",
                "importing 8 bytes at 0xfffffffffffffffc: the range ends behind the last address",
                "importing 8 bytes at 0x0: the address is null",
                "importing 8 bytes at 0xfffffffffffffffc: the range ends behind the last address",
                "importing 8 bytes at 0x1000: HSA has no allocation there",
            ]
        );
        let memory = device.agent(0).unwrap().coarse_pool().unwrap().allocate(4096).unwrap();
        let address = memory.as_ptr() as u64;
        // SAFETY: it is refused.
        let error = unsafe { device.import_address(address + 8, 4096, owner()) }.unwrap_err();
        let text = error.to_string();
        assert!(text.ends_with(&format!("HSA has 4096 bytes at {address:#x} there")), "{text}");
        // HSA locks no part of memory that begins inside a shorter locked range.
        let mut bytes = vec![0u8; 64];
        let pointer = bytes.as_mut_ptr();
        // SAFETY: the vector outlives both buffers, and nothing uses them.
        let (first, second) =
            unsafe { (device.import_host(pointer, 32, owner()), device.import_host(pointer, 64, owner())) };
        let text = second.unwrap_err().to_string();
        assert!(text.contains("importing 64 bytes") && text.contains("hsa_amd_memory_lock"), "{text}");
        assert_eq!(freed.load(Ordering::SeqCst), 7);
        drop(first);
        assert_eq!(freed.load(Ordering::SeqCst), 8);
    }
}

/// Panics when it is dropped.
struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[test]
fn an_owner_that_panics_ends_no_thread() {
    let memory = Box::leak(Box::new([0u8; 64]));
    for setup in setups() {
        let line = Semaphore::new(0);
        for is_submitted in [false, true] {
            // SAFETY: the memory lives for ever, and only files use it.
            let buffer = unsafe { setup.device.import_host(memory.as_mut_ptr(), 64, Panics) }.unwrap();
            let file = File::new(tempfile::tempfile().unwrap(), "a file of the test");
            let (queue, go, before) = (&setup.queue, Semaphore::new(0), u64::from(is_submitted) * 2);
            queue.write((&buffer).into(), file.range(0, 64), &[(&go, 1)], &[(&line, before + 1)]).unwrap();
            // It is dropped on the thread of files, or on the one for events.
            match is_submitted {
                false => drop(buffer),
                true => queue.deallocate(buffer, &[(&line, before + 1)], &[]).unwrap(),
            }
            go.signal(1).unwrap();
            queue.barrier(&[(&line, before + 1)], &[(&line, before + 2)]).unwrap();
            line.wait(before + 2, LONG).unwrap();
        }
        // The threads go on.
        let file = File::new(tempfile::tempfile().unwrap(), "a file of the test");
        let buffer = setup.buffer(&[0; 8]);
        setup.queue.write((&buffer).into(), file.range(0, 8), &[], &[(&line, 5)]).unwrap();
        assert_eq!(Semaphore::wait_any(&[(&line, 5)], LONG), Ok(0));
    }
}
