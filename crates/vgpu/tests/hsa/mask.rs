//! Masks of compute units.

use std::collections::BTreeSet;
use std::ptr::{null, null_mut};

use crate::common::*;
use crate::kernels::{Program, TARGETS, run};
use hsa_sys::*;

const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;

/// An agent with this many compute units.
fn agent(target: &str, units: u32) -> hsa_agent_t {
    ok!(hsa_init());
    let config = format!("{target}?cus={units}&memory=64MiB").parse().unwrap();
    let index = vgpu::attach(&config).unwrap();
    agents()[1 + index]
}

fn get(queue: &Queue) -> [u32; 3] {
    let mut mask = [9; 3];
    ok!(hsa_amd_queue_cu_get_mask(queue.raw, 96, mask.as_mut_ptr()));
    mask
}

fn set(queue: &Queue, mask: &[u32]) -> S {
    hsa!(hsa_amd_queue_cu_set_mask(queue.raw, 32 * mask.len() as u32, mask.as_ptr()))
}

#[test]
fn a_queue_has_the_mask_that_it_was_given_of_the_units_that_there_are() {
    for target in ["gfx90a", "gfx1100"] {
        let queue = Queue::new(agent(target, 40), 64);
        assert_eq!(get(&queue), [u32::MAX, 0xff, 0], "all at first");
        ok!(hsa_amd_queue_cu_set_mask(queue.raw, 64, [0x0000_fff0u32, 0xff03].as_ptr()));
        assert_eq!(get(&queue), [0xfff0, 3, 0]);
        assert_eq!(set(&queue, &[0x30]), S::HSA_STATUS_SUCCESS);
        assert_eq!(get(&queue), [0x30, 0, 0], "words that are not given are 0");
        assert_eq!(set(&queue, &[0, 0xff00]), INVALID, "no unit");
        assert_eq!(get(&queue), [0x30, 0, 0]);
        ok!(hsa_amd_queue_cu_set_mask(queue.raw, 0, null()));
        assert_eq!(get(&queue), [u32::MAX, 0xff, 0], "all again");
        assert_eq!(hsa!(hsa_amd_queue_cu_set_mask(queue.raw, 33, [1u32; 2].as_ptr())), INVALID);
        assert_eq!(hsa!(hsa_amd_queue_cu_set_mask(queue.raw, 32, null())), INVALID);
        for bits in [0, 16, 33] {
            assert_eq!(hsa!(hsa_amd_queue_cu_get_mask(queue.raw, bits, [0u32; 2].as_mut_ptr())), INVALID);
        }
        assert_eq!(hsa!(hsa_amd_queue_cu_get_mask(queue.raw, 32, null_mut())), INVALID);
        // The two units of a workgroup processor are used together.
        let single = set(&queue, &[0b0101]);
        assert_eq!(single == S::HSA_STATUS_SUCCESS, target == "gfx90a", "{single:?}");
    }
}

#[test]
fn the_last_unit_of_an_odd_number_is_a_processor_of_its_own() {
    let queue = Queue::new(agent("gfx1100", 3), 64);
    assert_eq!(get(&queue), [7, 0, 0]);
    for (mask, accepted) in [(4, true), (3, true), (1, false), (6, false)] {
        assert_eq!(set(&queue, &[mask]) == S::HSA_STATUS_SUCCESS, accepted, "{mask:#b}");
    }
}

#[test]
fn kernels_run_on_the_units_of_the_mask() {
    const GROUPS: u32 = 64;
    for target in TARGETS {
        let agent = agent(target, 8);
        let program = Program::load(agent, target);
        let queue = Queue::new(agent, 64);
        let units = || {
            let out = allocate(pool(agent, COARSE), 4 * 64 * GROUPS as usize);
            run(&queue, program.packet("compute_unit", GROUPS, &[out as u64]));
            let units = slice::<u32>(out, 64 * GROUPS as usize);
            assert!(units.chunks(64).all(|group| group.iter().all(|unit| *unit == group[0])), "{target}");
            units.iter().copied().collect::<BTreeSet<u32>>()
        };
        assert_eq!(units(), (0..8).collect(), "{target}");
        assert_eq!(set(&queue, &[0b1100_0011]), S::HSA_STATUS_SUCCESS);
        assert_eq!(units(), BTreeSet::from([0, 1, 6, 7]), "{target}");
        assert_eq!(set(&queue, &[]), S::HSA_STATUS_SUCCESS);
        assert_eq!(units(), (0..8).collect(), "{target}");
    }
}

#[test]
fn the_environment_takes_units_from_all_queues() {
    let gpu = agent("gfx90a", 40);
    let index = agents().iter().position(|other| other.handle == gpu.handle).unwrap() - 1;
    // SAFETY: the test has a process of its own, and no other thread of it looks at the environment.
    let mask = |text: &str| unsafe { std::env::set_var("HSA_CU_MASK", text) };
    mask(&format!("{index}:4-7, 33"));
    let queue = Queue::new(gpu, 64);
    assert_eq!(get(&queue), [0xf0, 2, 0]);
    assert_eq!(set(&queue, &[0x3f, 0]), S::HSA_STATUS_CU_MASK_REDUCED);
    assert_eq!(get(&queue), [0x30, 0, 0]);
    assert_eq!(set(&queue, &[0xc0]), S::HSA_STATUS_SUCCESS);
    assert_eq!(set(&queue, &[0xf]), INVALID, "no unit is left");
    assert_eq!(get(&queue), [0xc0, 0, 0]);
    assert_eq!(set(&queue, &[]), S::HSA_STATUS_SUCCESS);
    assert_eq!(get(&queue), [0xf0, 2, 0]);
    mask(&format!("{}:0", index + 1));
    assert_eq!(get(&Queue::new(gpu, 64)), [u32::MAX, 0xff, 0], "another GPU's");
    mask("4-7");
    let mut refused = null_mut();
    let status = hsa!(hsa_queue_create(gpu, 64, 0, None, null_mut(), u32::MAX, u32::MAX, &mut refused));
    assert_eq!(status, INVALID);
}
