//! Callbacks when an allocation is freed.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;

use crate::common::*;
use hsa_sys::*;

const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
const INVALID_ALLOCATION: S = S::HSA_STATUS_ERROR_INVALID_ALLOCATION;

/// What callbacks received.
#[derive(Default)]
struct Heard(Mutex<Vec<usize>>);

impl Heard {
    fn register(&self, pointer: *mut c_void) {
        let data = (&raw const *self).cast_mut().cast();
        ok!(hsa_amd_register_deallocation_callback(pointer, Some(hear), data));
    }

    fn take(&self) -> Vec<usize> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

unsafe extern "C" fn hear(pointer: *mut c_void, heard: *mut c_void) {
    // SAFETY: the tests register with their lists, which outlive the memory.
    unsafe { &*heard.cast::<Heard>() }.0.lock().unwrap().push(pointer as usize);
}

unsafe extern "C" fn another(_: *mut c_void, _: *mut c_void) {}

#[test]
fn callbacks_run_once_before_the_memory_is_gone() {
    let agent = gpu("gfx1100");
    let heard = Heard::default();
    for flags in [COARSE, FINE] {
        let (first, second) = (allocate(pool(agent, flags), 4096), allocate(pool(agent, flags), 4096));
        let inside = first.wrapping_byte_add(1024);
        heard.register(first);
        heard.register(inside);
        heard.register(second);
        free(first);
        let mut told = heard.take();
        told.sort_unstable();
        assert_eq!(told, [first as usize, inside as usize]);
        free(second);
        assert_eq!(heard.take(), [second as usize]);
        // The next allocation has no callbacks.
        free(allocate(pool(agent, flags), 4096));
        assert_eq!(heard.take(), [0usize; 0]);
    }
}

#[test]
fn callbacks_are_taken_back_by_what_they_were_registered_with() {
    let agent = gpu("gfx90a");
    let heard = Heard::default();
    let memory = allocate(pool(agent, COARSE), 4096);
    let inside = memory.wrapping_byte_add(8);
    heard.register(inside);
    let remove = |pointer, callback| hsa!(hsa_amd_deregister_deallocation_callback(pointer, callback));
    assert_eq!(remove(memory, Some(hear)), INVALID, "another address");
    assert_eq!(remove(inside, Some(another)), INVALID, "another function");
    assert_eq!(remove(inside, None), INVALID);
    assert_eq!(remove(null_mut(), Some(hear)), INVALID);
    assert_eq!(remove(inside, Some(hear)), S::HSA_STATUS_SUCCESS);
    assert_eq!(remove(inside, Some(hear)), INVALID, "once");
    free(memory);
    assert_eq!(heard.take(), [0usize; 0]);
    assert_eq!(remove(inside, Some(hear)), INVALID, "no allocation");

    let mut mine = 0u64;
    let mine: *mut c_void = (&raw mut mine).cast();
    let add = |pointer, callback| hsa!(hsa_amd_register_deallocation_callback(pointer, callback, null_mut()));
    assert_eq!(add(mine, Some(another)), INVALID_ALLOCATION, "the program's own");
    assert_eq!(add(memory, Some(another)), INVALID_ALLOCATION, "freed");
    assert_eq!(add(null_mut(), Some(another)), INVALID);
    assert_eq!(add(mine, None), INVALID);
}

#[test]
fn a_callback_may_use_the_runtime_but_not_free_the_same_memory() {
    static SEEN: Mutex<Vec<S>> = Mutex::new(Vec::new());
    unsafe extern "C" fn free_again(pointer: *mut c_void, agent: *mut c_void) {
        SEEN.lock().unwrap().push(hsa!(hsa_amd_memory_pool_free(pointer)));
        // The memory still exists.
        slice::<u32>(pointer, 1)[0] = 5;
        let own = allocate(pool(hsa_agent_t { handle: agent as u64 }, COARSE), 64);
        let heard = Heard::default();
        heard.register(own);
        free(own);
        assert_eq!(heard.take(), [own as usize]);
    }
    let agent = gpu("gfx1100");
    let memory = allocate(pool(agent, COARSE), 4096);
    let data = agent.handle as *mut c_void;
    ok!(hsa_amd_register_deallocation_callback(memory, Some(free_again), data));
    free(memory);
    assert_eq!(*SEEN.lock().unwrap(), [INVALID_ALLOCATION]);
}
