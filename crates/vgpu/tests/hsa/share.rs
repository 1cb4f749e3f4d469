//! Sharing between processes and APIs: signals by handle, memory by file descriptor.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use crate::common::*;
use hsa_sys::*;

const CHILD: &str = "FERROCM_TEST_SHARED_SIGNAL";
const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
const INVALID_ALLOCATION: S = S::HSA_STATUS_ERROR_INVALID_ALLOCATION;

fn shared_signal(value: i64) -> hsa_signal_t {
    let mut signal = hsa_signal_t { handle: 0 };
    let shared = u64::from(hsa_amd_signal_attribute_t::HSA_AMD_SIGNAL_IPC.0);
    ok!(hsa_amd_signal_create(value, 0, null(), shared, &mut signal));
    signal
}

#[test]
fn two_processes_wait_for_each_other_by_one_signal() {
    if let Ok(words) = std::env::var(CHILD) {
        ok!(hsa_init());
        let mut handle = hsa_amd_ipc_signal_t { handle: [0; 8] };
        for (word, text) in handle.handle.iter_mut().zip(words.split(' ')) {
            *word = text.parse().expect("a word of the handle");
        }
        let mut signal = hsa_signal_t { handle: 0 };
        ok!(hsa_amd_ipc_signal_attach(&handle, &mut signal));
        assert_eq!(hsa!(hsa_signal_load_scacquire(signal)), 5);
        hsa!(hsa_signal_store_screlease(signal, 4));
        assert_eq!(hsa!(hsa_signal_wait_scacquire(signal, EQ, 3, 20_000_000_000, BLOCKED)), 3);
        hsa!(hsa_signal_subtract_relaxed(signal, 1));
        ok!(hsa_signal_destroy(signal));
        assert_eq!(hsa!(hsa_signal_load_scacquire(signal)), 0, "it no longer belongs to this process");
        return;
    }
    ok!(hsa_init());
    let mut handle = hsa_amd_ipc_signal_t { handle: [0; 8] };
    assert_eq!(hsa!(hsa_amd_ipc_signal_create(signal(1), &mut handle)), INVALID, "not made to be shared");
    let signal = shared_signal(5);
    assert_eq!(hsa!(hsa_amd_ipc_signal_create(signal, null_mut())), INVALID);
    ok!(hsa_amd_ipc_signal_create(signal, &mut handle));
    let words = handle.handle.map(|word| word.to_string()).join(" ");
    let child = std::thread::spawn(move || {
        in_child("share::two_processes_wait_for_each_other_by_one_signal", CHILD, &words)
    });
    let seen = hsa!(hsa_signal_wait_scacquire(signal, EQ, 4, 20_000_000_000, BLOCKED));
    hsa!(hsa_signal_store_screlease(signal, 3));
    let (status, error) = child.join().unwrap();
    assert!(status.success() && seen == 4, "{seen} {status:?}: {error}");
    assert_eq!(
        hsa!(hsa_signal_load_scacquire(signal)),
        2,
        "the other process's last change, unaffected by its destruction"
    );

    // Handles of destroyed objects, of other objects, and of nothing.
    ok!(hsa_signal_destroy(signal));
    let mut other = hsa_signal_t { handle: 0 };
    assert_eq!(hsa!(hsa_amd_ipc_signal_attach(&handle, &mut other)), INVALID);
    assert_eq!(hsa!(hsa_amd_ipc_signal_attach(null(), &mut other)), INVALID);
    let nothing = hsa_amd_ipc_signal_t { handle: [7; 8] };
    assert_eq!(hsa!(hsa_amd_ipc_signal_attach(&nothing, &mut other)), INVALID);
    assert_eq!(hsa!(hsa_amd_ipc_signal_create(signal, &mut handle)), S::HSA_STATUS_ERROR_INVALID_SIGNAL);
}

#[test]
fn a_shared_signal_does_what_any_other_does() {
    let agent = gpu("gfx1100");
    let queue = Queue::new(agent, 64);
    let signal = shared_signal(1);
    let mut handle = hsa_amd_ipc_signal_t { handle: [0; 8] };
    ok!(hsa_amd_ipc_signal_create(signal, &mut handle));
    let mut same = hsa_signal_t { handle: 0 };
    ok!(hsa_amd_ipc_signal_attach(&handle, &mut same));
    assert_ne!(same, signal);
    // A packet waits for it through the other handle.
    let done = queue.barrier(BARRIER_AND, &[same]);
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(hsa!(hsa_signal_load_scacquire(done)), 1);
    hsa!(hsa_signal_store_screlease(signal, 0));
    assert_eq!(wait(done), 0);
    ok!(hsa_signal_destroy(signal));
    assert_eq!(hsa!(hsa_signal_load_scacquire(same)), 0);
    hsa!(hsa_signal_store_relaxed(same, 8));
    assert_eq!(hsa!(hsa_signal_exchange_relaxed(same, 9)), 8, "one of two is enough");
    ok!(hsa_signal_destroy(same));
}

fn export(pointer: *const c_void, size: usize) -> Result<(i32, u64), S> {
    let (mut descriptor, mut offset) = (-5, 77);
    match hsa!(hsa_amd_portable_export_dmabuf(pointer, size, &mut descriptor, &mut offset)) {
        S::HSA_STATUS_SUCCESS => Ok((descriptor, offset)),
        status => {
            assert_eq!((descriptor, offset), (-5, 77), "nothing is changed");
            Err(status)
        }
    }
}

#[test]
fn memory_behind_a_descriptor_is_the_same_memory() {
    let mut agent = gpu("gfx90a");
    let size = 3 * 4096 + 100;
    let memory = allocate(pool(agent, COARSE), size);
    let bytes: Vec<u8> = (0..size).map(|index| (index * 7 + index / 250) as u8).collect();
    ok!(hsa_memory_copy(memory, bytes.as_ptr().cast(), size));

    assert_eq!(export(null(), size), Err(INVALID));
    assert_eq!(export(memory, 0), Err(INVALID));
    assert_eq!(export(memory, size + 1), Err(INVALID_ALLOCATION));
    assert_eq!(export(bytes.as_ptr().cast(), 1), Err(INVALID_ALLOCATION));
    let hosts = allocate(pool(host(), FINE), 64);
    assert_eq!(export(hosts, 64), Err(S::HSA_STATUS_ERROR_INVALID_AGENT));
    free(hosts);

    let (descriptor, offset) = export(memory.wrapping_byte_add(5000), 100).expect("an export");
    assert_eq!(offset, 5000);
    let (mut mapped, mut length) = (null_mut(), 0);
    let mut import = |descriptor, mapped: &mut *mut c_void| {
        hsa!(hsa_amd_interop_map_buffer(
            1,
            &mut agent,
            descriptor,
            0,
            &mut length,
            mapped,
            null_mut(),
            null_mut()
        ))
    };
    assert_eq!(import(-1, &mut mapped), INVALID);
    assert_eq!(import(0, &mut mapped), INVALID, "standard input is not memory");
    assert_eq!(import(descriptor, &mut mapped), S::HSA_STATUS_SUCCESS);
    assert!(length == size && mapped != memory && slice::<u8>(mapped, size) == bytes);
    slice::<u8>(mapped, size)[4100] = 201;
    assert_eq!(slice::<u8>(memory, size)[4100], 201);

    // It lives as long as anyone holds it.
    free(memory);
    ok!(hsa_amd_portable_close_dmabuf(descriptor));
    assert_eq!(hsa!(hsa_amd_portable_close_dmabuf(descriptor)), S::HSA_STATUS_ERROR_RESOURCE_FREE);
    assert_eq!(
        hsa!(hsa_amd_portable_close_dmabuf(2)),
        S::HSA_STATUS_ERROR_RESOURCE_FREE,
        "not a descriptor of this library"
    );
    assert_eq!(slice::<u8>(mapped, size)[4100], 201);
    assert_eq!(hsa!(hsa_amd_memory_pool_free(mapped)), INVALID_ALLOCATION, "it is unmapped, not freed");
    ok!(hsa_amd_interop_unmap_buffer(mapped));
    assert_eq!(hsa!(hsa_amd_interop_unmap_buffer(mapped)), INVALID);
    eprintln!("standard error is still there");
}

/// A file like those in which Mesa's CPU drivers export memory: a header, and the memory from some page on.
fn exported_by_mesa(name: &std::ffi::CStr, length: u64, header: [u64; 2], seals: i32) -> std::fs::File {
    use std::os::fd::{AsRawFd as _, FromRawFd as _};
    use std::os::unix::fs::FileExt as _;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a text; the descriptor that is returned belongs to nobody else.
    let file = unsafe { std::fs::File::from_raw_fd(libc::memfd_create(name.as_ptr(), flags)) };
    file.set_len(length).unwrap();
    file.write_all_at(&header.map(u64::to_le_bytes).concat(), 0).unwrap();
    // SAFETY: an operation on an open file, without pointers.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }, 0);
    file
}

/// `crates/vulkan-test` tests with the real files.
#[test]
fn memory_of_mesa_is_mapped_behind_its_header_and_to_the_byte() {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::FileExt as _;
    let agent = gpu("gfx1030");
    let map = vgpu::hsa::table().ext.map_descriptor.expect("the extension");
    let attempt = |file: &std::fs::File, size: usize| {
        let mut pointer = null_mut();
        // SAFETY: the out pointer is valid.
        match unsafe { map(agent, file.as_raw_fd(), size, &mut pointer) } {
            S::HSA_STATUS_SUCCESS => Ok(pointer),
            status => Err(status),
        }
    };
    let sealed = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    let (name, length) = (c"llvmpipe memory fd", 4096 + 10_040);
    let file = exported_by_mesa(name, length, [length, 4096], sealed);
    file.write_all_at(&[1, 2, 3], 4096).unwrap();
    let pointer = attempt(&file, 10_000).unwrap();
    assert_eq!(slice::<u8>(pointer, 10_000)[..4], [1, 2, 3, 0]);
    slice::<u8>(pointer, 10_000)[9999] = 77;
    let mut last = [0];
    file.read_exact_at(&mut last, 4096 + 9999).unwrap();
    assert_eq!(last, [77]);
    assert_eq!(pointer_info(pointer).sizeInBytes, 10_000);
    assert_eq!(export(pointer, 10_000), Err(INVALID_ALLOCATION), "it would be exported without its header");
    ok!(hsa_amd_interop_unmap_buffer(pointer));
    // HSA's own function maps everything that the header describes.
    let (mut all, mut size, mut owner) = (null_mut(), 0, agent);
    ok!(hsa_amd_interop_map_buffer(
        1,
        &mut owner,
        file.as_raw_fd(),
        0,
        &mut size,
        &mut all,
        null_mut(),
        null_mut()
    ));
    assert_eq!(size, 10_040);
    ok!(hsa_amd_interop_unmap_buffer(all));

    for wrong in [0, 10_041, usize::MAX] {
        assert_eq!(attempt(&file, wrong), Err(INVALID), "{wrong} bytes");
    }
    for (name, header, seals) in [
        (c"something else", [length, 4096], sealed),
        (name, [length, 4096], libc::F_SEAL_GROW),
        (name, [length + 1, 4096], sealed),
        (name, [length, 40], sealed),
    ] {
        let file = exported_by_mesa(name, length, header, seals);
        assert_eq!(attempt(&file, 100), Err(INVALID), "{name:?} {header:?}");
    }
    // SAFETY: null is refused.
    assert_eq!(unsafe { map(agent, file.as_raw_fd(), 100, null_mut()) }, INVALID);
    let mut pointer = null_mut();
    // SAFETY: the out pointer is valid.
    let of_host = unsafe { map(host(), file.as_raw_fd(), 100, &mut pointer) };
    assert_eq!(of_host, S::HSA_STATUS_ERROR_INVALID_AGENT);
}

#[test]
fn memory_of_another_process_is_described_with_the_size_that_was_asked_for() {
    let agent = gpu("gfx1100");
    for (pool, size) in [(pool(agent, COARSE), 4096usize), (pool(host(), FINE), 100)] {
        let memory = allocate(pool, size);
        let mut handle = hsa_amd_ipc_memory_t { handle: [0; 8] };
        ok!(hsa_amd_ipc_memory_create(memory, size, &mut handle));
        let mut other = null_mut();
        ok!(hsa_amd_ipc_memory_attach(&handle, size, 1, &agent, &mut other));
        ok!(hsa_amd_pointer_info_set_userdata(other, 0xbeef as *mut c_void));
        let info = pointer_info(other.wrapping_byte_add(size / 2));
        assert_eq!(info.type_, hsa_amd_pointer_type_t::HSA_EXT_POINTER_TYPE_IPC);
        assert_eq!((info.sizeInBytes, info.agentBaseAddress), (size, other));
        assert_eq!(info.userData as usize, 0xbeef);
        ok!(hsa_amd_ipc_memory_detach(other));
        free(memory);
    }
}

#[test]
fn waiting_for_a_signal_of_another_process_takes_no_longer_than_a_look() {
    ok!(hsa_init());
    let signal = shared_signal(1);
    let mut value = null_mut();
    ok!(hsa_amd_signal_value_pointer(signal, &mut value));
    let place = value as usize;
    let changer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        // SAFETY: the value is eight aligned bytes that live as long as the signal. Nobody is told, as if
        // another process did it.
        unsafe { std::sync::atomic::AtomicI64::from_ptr(place as *mut i64) }
            .store(0, std::sync::atomic::Ordering::SeqCst);
        Instant::now()
    });
    assert_eq!(wait(signal), 0);
    let seen = Instant::now();
    assert!(seen - changer.join().unwrap() < Duration::from_millis(500));
    ok!(hsa_signal_destroy(signal));
}
