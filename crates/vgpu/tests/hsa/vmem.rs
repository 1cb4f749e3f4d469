//! Virtual memory: what is mapped where, what may be accessed, and what that refuses; handles for other processes.

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
    assert_eq!(slice::<u8>(other, size)[size - 1], 77, "it lives as long as somebody has it");
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
    // An address where nothing is mapped is found out before the list is looked at.
    assert_eq!(hsa!(hsa_amd_vmem_set_access(0x1000 as *mut c_void, SIZE, &entry, 1)), INVALID_ALLOCATION);
}
