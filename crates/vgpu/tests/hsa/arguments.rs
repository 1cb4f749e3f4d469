//! Memory for kernel arguments: its alignment, and what may be read beyond its end.

use crate::common::*;
use crate::kernels::{Program, TARGETS, error_of, run};
use hsa_sys::*;

/// Words of a page.
const PAGE: u64 = 4096 / 4;

#[test]
fn arguments_are_at_multiples_of_16_whatever_the_compiler_notes() {
    use hsa_executable_symbol_info_t as I;
    for target in TARGETS {
        let program = Program::load(gpu(target), target);
        for kernel in ["number.kd", "give_up.kd"] {
            let alignment =
                program.info(kernel, I::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT, 0u32);
            assert!(alignment >= 16 && alignment.is_power_of_two(), "{target} {kernel}: {alignment}");
        }
    }
}

/// Compilers read arguments in blocks that may end beyond the last one.
#[test]
fn host_memory_for_arguments_is_readable_to_the_end_of_its_page_and_no_further() {
    for target in TARGETS {
        let agent = gpu(target);
        let program = Program::load(agent, target);
        let out = allocate(pool(agent, COARSE), 4 * 64);
        for flags in [KERNARG, FINE] {
            let memory = allocate(pool(host(), flags), 100);
            slice::<u32>(memory, 25).fill(7);
            let queue = Queue::new(agent, 64);
            run(&queue, program.packet("read_at", 1, &[out as u64, memory as u64, 0]));
            assert_eq!(slice::<u32>(out, 64)[..25], [7; 25]);
            assert_eq!(slice::<u32>(out, 64)[25..], [0; 39]);
            run(&queue, program.packet("read_at", 1, &[out as u64, memory as u64, PAGE - 64]));
            queue.submit(DISPATCH, 1, program.packet("read_at", 1, &[out as u64, memory as u64, PAGE - 63]));
            assert_eq!(error_of(&queue), S::HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
            assert_eq!(size_of_allocation(memory), 100, "what was asked for");
            free(memory);
        }
        // Device memory is exact to the byte.
        let memory = allocate(pool(agent, COARSE), 4 * 64);
        let queue = Queue::new(agent, 64);
        queue.submit(DISPATCH, 1, program.packet("read_at", 1, &[out as u64, memory as u64, 1]));
        assert_eq!(error_of(&queue), S::HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
        free(memory);
        free(out);
    }
}

fn size_of_allocation(memory: *mut std::ffi::c_void) -> usize {
    pointer_info(memory).sizeInBytes
}
