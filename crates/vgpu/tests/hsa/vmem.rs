//! Virtual memory: mappings, access rights, and their errors; handles for other processes.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::common::*;
use hsa_sys::*;

const SIZE: usize = 64 << 10;
const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
const INVALID_ALLOCATION: S = S::HSA_STATUS_ERROR_INVALID_ALLOCATION;

fn device_pool(agent: hsa_agent_t) -> hsa_amd_memory_pool_t {
    pool(agent, hsa_amd_memory_pool_global_flag_t::HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED.0)
}

fn create(agent: hsa_agent_t) -> hsa_amd_vmem_alloc_handle_t {
    let mut handle = hsa_amd_vmem_alloc_handle_t::default();
    let kind = hsa_amd_memory_type_t::MEMORY_TYPE_PINNED;
    ok!(hsa_amd_vmem_handle_create(device_pool(agent), SIZE, kind, 0, &mut handle));
    handle
}

fn set_access(place: *mut c_void, agent: hsa_agent_t, permissions: hsa_access_permission_t) -> S {
    let entry = hsa_amd_memory_access_desc_t { permissions, agent_handle: agent };
    hsa!(hsa_amd_vmem_set_access(place, SIZE, &entry, 1))
}

#[test]
fn copies_cross_mappings_that_follow_each_other_and_nothing_else() {
    let gpu = gpu("gfx1100");
    let write = hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW;
    let mut start = null_mut();
    ok!(hsa_amd_vmem_address_reserve(&mut start, 3 * SIZE, 0, 0));
    let bytes: Vec<u8> = (0..3 * SIZE).map(|index| (index * 7 + index / 253) as u8).collect();
    let upload = |to: *mut c_void, size: usize| hsa!(hsa_memory_copy(to, bytes.as_ptr().cast(), size));
    assert_eq!(upload(start, 1), INVALID_ALLOCATION, "reserved only");
    for part in 0..2 {
        let (place, handle) = (start.wrapping_byte_add(part * SIZE), create(gpu));
        ok!(hsa_amd_vmem_map(place, SIZE, 0, handle, 0));
        ok!(hsa_amd_vmem_handle_release(handle));
        assert_eq!(upload(place, 1), INVALID_ALLOCATION, "nobody has access");
        assert_eq!(set_access(place, gpu, write), S::HSA_STATUS_SUCCESS);
    }
    assert_eq!(upload(start, 2 * SIZE), S::HSA_STATUS_SUCCESS);
    let mut back = vec![0u8; 2 * SIZE];
    ok!(hsa_memory_copy(back.as_mut_ptr().cast(), start, 2 * SIZE));
    assert!(back == bytes[..2 * SIZE]);
    assert_ne!(upload(start, 2 * SIZE + 1), S::HSA_STATUS_SUCCESS, "beyond what is mapped");
    let middle = start.wrapping_byte_add(SIZE - 8);
    ok!(hsa_amd_memory_fill(middle, 0x0102_0304, 4));
    ok!(hsa_memory_copy(back.as_mut_ptr().cast(), start, 2 * SIZE));
    assert_eq!(back[SIZE - 8..SIZE + 8], [4, 3, 2, 1].repeat(4));
    assert!(back[..SIZE - 8] == bytes[..SIZE - 8] && back[SIZE + 8..] == bytes[SIZE + 8..2 * SIZE]);
    let words = (SIZE + 8) / 4;
    assert_eq!(hsa!(hsa_amd_memory_fill(middle, 0, words + 1)), INVALID_ALLOCATION, "beyond what is mapped");
    assert_eq!(
        hsa!(hsa_amd_memory_fill(back.as_mut_ptr().cast(), 0, 1)),
        INVALID_ALLOCATION,
        "the program's own"
    );
    assert_eq!(hsa!(hsa_amd_vmem_unmap(start, 2 * SIZE)), INVALID_ALLOCATION, "one at a time");
    ok!(hsa_amd_vmem_unmap(start, SIZE));
    assert_eq!(upload(start, 1), INVALID_ALLOCATION);
    assert_eq!(hsa!(hsa_amd_vmem_address_free(start, 3 * SIZE)), S::HSA_STATUS_ERROR_RESOURCE_FREE);
    ok!(hsa_amd_vmem_unmap(start.wrapping_byte_add(SIZE), SIZE));
    ok!(hsa_amd_vmem_address_free(start, 3 * SIZE));
}

#[test]
fn memory_counts_against_its_device_until_nobody_holds_or_maps_it() {
    let gpu = gpu("gfx942");
    let available =
        || agent_info(gpu, hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_MEMORY_AVAIL.0, 0u64) as usize;
    let (before, handle) = (available(), create(gpu));
    assert_eq!(before - available(), SIZE);
    let mut start = null_mut();
    ok!(hsa_amd_vmem_address_reserve_align(&mut start, SIZE, 0, 1 << 21, 0));
    assert!((start as usize).is_multiple_of(1 << 21));
    ok!(hsa_amd_vmem_map(start, SIZE, 0, handle, 0));
    ok!(hsa_amd_vmem_handle_release(handle));
    assert_eq!(hsa!(hsa_amd_vmem_handle_release(handle)), INVALID_ALLOCATION);
    assert_eq!(before - available(), SIZE);
    let mut held = hsa_amd_vmem_alloc_handle_t::default();
    ok!(hsa_amd_vmem_retain_alloc_handle(&mut held, start.wrapping_byte_add(9)));
    assert_eq!(held.handle, handle.handle);
    let (mut pool, mut kind) = (hsa_amd_memory_pool_t { handle: 0 }, hsa_amd_memory_type_t::MEMORY_TYPE_NONE);
    ok!(hsa_amd_vmem_get_alloc_properties_from_handle(held, &mut pool, &mut kind));
    assert_eq!(pool.handle, device_pool(gpu).handle);
    ok!(hsa_amd_vmem_unmap(start, SIZE));
    assert_eq!(before - available(), SIZE);
    ok!(hsa_amd_vmem_handle_release(held));
    assert_eq!(before, available());
    ok!(hsa_amd_vmem_address_free(start, SIZE));
}

#[test]
fn the_host_has_the_access_that_it_was_given() {
    let (gpu, host) = (gpu("gfx90a"), host());
    let (mut start, handle) = (null_mut(), create(gpu));
    ok!(hsa_amd_vmem_address_reserve(&mut start, SIZE, 0, 0));
    ok!(hsa_amd_vmem_map(start, SIZE, 0, handle, 0));
    assert_eq!(
        set_access(start, host, hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW),
        S::HSA_STATUS_SUCCESS
    );
    slice::<u32>(start, 4).fill(5);
    let mut found = hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW;
    ok!(hsa_amd_vmem_get_access(start, &mut found, gpu));
    assert_eq!(found, hsa_access_permission_t::HSA_ACCESS_PERMISSION_NONE);
    assert_eq!(set_access(start, gpu, hsa_access_permission_t(9)), INVALID);
    assert_eq!(slice::<u32>(start, 4), [5; 4]);
    ok!(hsa_amd_vmem_unmap(start, SIZE));
    ok!(hsa_amd_vmem_handle_release(handle));
    ok!(hsa_amd_vmem_address_free(start, SIZE));
}

#[test]
fn shared_memory_keeps_its_contents_and_is_seen_at_both_addresses() {
    let gpu = gpu("gfx1100");
    let size = 100_000;
    let memory = allocate(device_pool(gpu), size);
    let bytes: Vec<u8> = (0..size).map(|index| (index * 3 + index / 255) as u8).collect();
    ok!(hsa_memory_copy(memory, bytes.as_ptr().cast(), size));
    let mut handle = hsa_amd_ipc_memory_t { handle: [0; 8] };
    assert_eq!(hsa!(hsa_amd_ipc_memory_create(memory, size - 1, &mut handle)), INVALID);
    assert_eq!(hsa!(hsa_amd_ipc_memory_create(memory.wrapping_byte_add(4096), size, &mut handle)), INVALID);
    ok!(hsa_amd_ipc_memory_create(memory, size, &mut handle));
    assert!(slice::<u8>(memory, size) == bytes);
    let mut other = null_mut();
    assert_eq!(hsa!(hsa_amd_ipc_memory_attach(&handle, size + 1, 1, &gpu, &mut other)), INVALID);
    ok!(hsa_amd_ipc_memory_attach(&handle, size, 1, &gpu, &mut other));
    assert!(other != memory && slice::<u8>(other, size) == bytes);
    slice::<u8>(other, size)[size - 1] = 77;
    assert_eq!(slice::<u8>(memory, size)[size - 1], 77);
    assert_eq!(hsa!(hsa_amd_memory_pool_free(other)), INVALID_ALLOCATION, "it is detached, not freed");
    free(memory);
    assert_eq!(slice::<u8>(other, size)[size - 1], 77, "it lives as long as anyone holds it");
    let late = hsa!(hsa_amd_ipc_memory_attach(&handle, size, 1, &gpu, &mut null_mut()));
    assert_eq!(late, INVALID);
    ok!(hsa_amd_ipc_memory_detach(other));
    assert_eq!(hsa!(hsa_amd_ipc_memory_detach(other)), INVALID);
}

#[test]
fn more_entries_than_there_are_agents_are_refused_before_they_are_read() {
    let gpu = gpu("gfx1100");
    let entry = hsa_amd_memory_access_desc_t {
        permissions: hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW,
        agent_handle: gpu,
    };
    for (place, count) in [(null_mut(), u32::MAX as usize), (0x1000 as *mut c_void, usize::MAX)] {
        assert_eq!(hsa!(hsa_amd_vmem_set_access(place, SIZE, &entry, count)), INVALID);
    }
    // An unmapped address is detected before the list is read.
    assert_eq!(hsa!(hsa_amd_vmem_set_access(0x1000 as *mut c_void, SIZE, &entry, 1)), INVALID_ALLOCATION);
}

#[test]
fn parts_of_memory_are_mapped_at_several_addresses() {
    let gpu = gpu("gfx1100");
    const PART: usize = SIZE / 4;
    let mut start = null_mut();
    ok!(hsa_amd_vmem_address_reserve(&mut start, 2 * SIZE, 0, 0));
    let at = |part: usize| start.wrapping_byte_add(part * PART);
    let handle = create(gpu);
    let map =
        |part: usize, size: usize, offset: usize| hsa!(hsa_amd_vmem_map(at(part), size, offset, handle, 0));
    for (part, size, offset) in [
        (0, 0, 0),
        (0, PART + 1, 0),
        (0, PART, 8),
        (0, PART, SIZE),
        (0, SIZE, PART),
        (0, 2 * PART, usize::MAX - 4095),
        (7, 2 * PART, 0),
    ] {
        assert_eq!(map(part, size, offset), INVALID, "{part} {size} {offset}");
    }
    // The second half, the whole in two parts in the wrong order, and the first quarter again.
    assert_eq!(map(0, 2 * PART, 2 * PART), S::HSA_STATUS_SUCCESS);
    assert_eq!(map(1, PART, 0), INVALID, "something is there");
    assert_eq!(map(2, PART, 3 * PART), S::HSA_STATUS_SUCCESS);
    assert_eq!(map(3, 3 * PART, 0), S::HSA_STATUS_SUCCESS);
    assert_eq!(map(6, PART, 0), S::HSA_STATUS_SUCCESS);
    let entry = hsa_amd_memory_access_desc_t {
        permissions: hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW,
        agent_handle: gpu,
    };
    assert_eq!(
        hsa!(hsa_amd_vmem_set_access(start, 3 * PART - 4096, &entry, 1)),
        INVALID,
        "whole mappings only"
    );
    ok!(hsa_amd_vmem_set_access(start, 7 * PART, &entry, 1));
    let words = |part: usize| slice::<u32>(at(part), PART / 4);
    ok!(hsa_amd_memory_fill(at(3), 11, PART / 4));
    ok!(hsa_amd_memory_fill(at(4), 22, PART / 4));
    ok!(hsa_amd_memory_fill(at(5), 33, PART / 4));
    ok!(hsa_amd_memory_fill(at(1), 44, PART / 4));
    for (part, value) in [(0, 33), (1, 44), (2, 44), (3, 11), (4, 22), (5, 33), (6, 11)] {
        assert!(words(part).iter().all(|&word| word == value), "part {part}");
    }
    let mut held = hsa_amd_vmem_alloc_handle_t::default();
    ok!(hsa_amd_vmem_retain_alloc_handle(&mut held, at(5)));
    assert_eq!(held.handle, handle.handle);
    ok!(hsa_amd_vmem_handle_release(held));
    ok!(hsa_amd_vmem_handle_release(handle));
    assert_eq!(hsa!(hsa_amd_vmem_unmap(at(3), PART)), INVALID_ALLOCATION, "as it was mapped");
    for (part, size) in [(0, 2 * PART), (2, PART), (3, 3 * PART)] {
        ok!(hsa_amd_vmem_unmap(at(part), size));
    }
    assert!(words(6).iter().all(|&word| word == 11));
    ok!(hsa_amd_vmem_unmap(at(6), PART));
    ok!(hsa_amd_vmem_address_free(start, 2 * SIZE));
}

#[test]
fn reserved_addresses_are_described_as_what_they_are() {
    use hsa_amd_pointer_type_t as T;
    let gpu = gpu("gfx90a");
    let mut start = null_mut();
    ok!(hsa_amd_vmem_address_reserve(&mut start, 2 * SIZE, 0, 0));
    let (middle, handle) = (start.wrapping_byte_add(SIZE), create(gpu));
    let of = |pointer: *mut c_void| {
        let info = pointer_info(pointer);
        assert_eq!(info.agentBaseAddress, info.hostBaseAddress);
        (info.type_, info.agentBaseAddress, info.sizeInBytes)
    };
    assert_eq!(of(middle), (T::HSA_EXT_POINTER_TYPE_RESERVED_ADDR, start, 2 * SIZE));
    ok!(hsa_amd_vmem_map(middle, SIZE, 0, handle, 0));
    ok!(hsa_amd_vmem_handle_release(handle));
    assert_eq!(of(start), (T::HSA_EXT_POINTER_TYPE_RESERVED_ADDR, start, 2 * SIZE));
    for permission in [
        hsa_access_permission_t::HSA_ACCESS_PERMISSION_NONE,
        hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW,
    ] {
        assert_eq!(set_access(middle, gpu, permission), S::HSA_STATUS_SUCCESS);
        let last = middle.wrapping_byte_add(SIZE - 1);
        assert_eq!(of(last), (T::HSA_EXT_POINTER_TYPE_HSA_VMEM, middle, SIZE));
        assert_eq!(pointer_info(last).agentOwner, gpu);
        assert_eq!(agents_of(last), Vec::from_iter((permission.0 != 0).then_some(gpu)));
    }
    ok!(hsa_amd_vmem_unmap(middle, SIZE));
    ok!(hsa_amd_vmem_address_free(start, 2 * SIZE));
    assert_eq!(of(middle).0, T::HSA_EXT_POINTER_TYPE_UNKNOWN);
}

/// The agents that may access an address.
fn agents_of(pointer: *const c_void) -> Vec<hsa_agent_t> {
    unsafe extern "C" fn allocate(size: usize) -> *mut c_void {
        // SAFETY: plain memory, freed below.
        unsafe { libc::malloc(size) }
    }
    let size = size_of::<hsa_amd_pointer_info_t>() as u32;
    let mut info = hsa_amd_pointer_info_t { size, ..Default::default() };
    let (mut count, mut list) = (77, null_mut());
    ok!(hsa_amd_pointer_info(pointer, &mut info, Some(allocate), &mut count, &mut list));
    let agents = (0..count as usize).map(|index| {
        // SAFETY: the list has that many agents.
        unsafe { list.add(index).read() }
    });
    let agents = agents.collect();
    // SAFETY: it is null or was allocated above.
    unsafe { libc::free(list.cast()) };
    agents
}

#[test]
fn memory_keeps_the_type_that_it_was_created_with() {
    let gpu = gpu("gfx942");
    for sort in [hsa_amd_memory_type_t::MEMORY_TYPE_NONE, hsa_amd_memory_type_t::MEMORY_TYPE_PINNED] {
        let mut handle = hsa_amd_vmem_alloc_handle_t::default();
        ok!(hsa_amd_vmem_handle_create(device_pool(gpu), SIZE, sort, 0, &mut handle));
        let (mut pool, mut found) = (hsa_amd_memory_pool_t { handle: 0 }, hsa_amd_memory_type_t(9));
        ok!(hsa_amd_vmem_get_alloc_properties_from_handle(handle, &mut pool, &mut found));
        assert_eq!(found, sort);
        ok!(hsa_amd_vmem_handle_release(handle));
    }
    let mut handle = hsa_amd_vmem_alloc_handle_t::default();
    let sort = hsa_amd_memory_type_t(9);
    assert_eq!(hsa!(hsa_amd_vmem_handle_create(device_pool(gpu), SIZE, sort, 0, &mut handle)), INVALID);
}

#[test]
fn memory_that_was_exported_is_imported_in_parts() {
    let gpu = gpu("gfx1100");
    let handle = create(gpu);
    let mut descriptor = -1;
    ok!(hsa_amd_vmem_export_shareable_handle(&mut descriptor, handle, 0));
    let mut imported = [hsa_amd_vmem_alloc_handle_t::default(); 2];
    let mut start = null_mut();
    ok!(hsa_amd_vmem_address_reserve(&mut start, SIZE, 0, 0));
    for (half, imported) in imported.iter_mut().enumerate() {
        ok!(hsa_amd_vmem_import_shareable_handle(descriptor, imported));
        let (place, offset) = (start.wrapping_byte_add(half * SIZE / 2), (1 - half) * SIZE / 2);
        ok!(hsa_amd_vmem_map(place, SIZE / 2, offset, *imported, 0));
    }
    ok!(hsa_amd_portable_close_dmabuf(descriptor));
    assert_eq!(
        set_access(start, gpu, hsa_access_permission_t::HSA_ACCESS_PERMISSION_RW),
        S::HSA_STATUS_SUCCESS
    );
    slice::<u32>(start, SIZE / 4)[0] = 5;
    let mut other = null_mut();
    ok!(hsa_amd_vmem_address_reserve(&mut other, SIZE, 0, 0));
    ok!(hsa_amd_vmem_map(other, SIZE, 0, handle, 0));
    assert_eq!(
        set_access(other, gpu, hsa_access_permission_t::HSA_ACCESS_PERMISSION_RO),
        S::HSA_STATUS_SUCCESS
    );
    assert_eq!(slice::<u32>(other, SIZE / 4)[SIZE / 8], 5, "the halves are swapped");
    for (half, imported) in imported.into_iter().enumerate() {
        ok!(hsa_amd_vmem_unmap(start.wrapping_byte_add(half * SIZE / 2), SIZE / 2));
        ok!(hsa_amd_vmem_handle_release(imported));
    }
    ok!(hsa_amd_vmem_unmap(other, SIZE));
    ok!(hsa_amd_vmem_handle_release(handle));
    ok!(hsa_amd_vmem_address_free(start, SIZE));
    ok!(hsa_amd_vmem_address_free(other, SIZE));
}
