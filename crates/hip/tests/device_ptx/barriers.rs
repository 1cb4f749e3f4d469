//! Barriers of some of a block's threads, and macros of several files.

use hip::rtc::Program;
use hip::{Backend, Device, DeviceBuffer};

use crate::devices;

const THREADS: u32 = 256;

const SOURCE: &str = r#"
#include "ptx.h"
extern "C" __global__ void groups(unsigned *out) {
    __shared__ unsigned all[256];
    const unsigned t = threadIdx.x, group = t / 64;
    unsigned value = t + blockIdx.x;
    for (unsigned round = 0; round < 12 * (group + 1); round++) {
        all[t] = value;
        SYNC(1 + group, 64);
        value = value * 3 + all[group * 64 + (t * 5 + 7) % 64];
        SYNC(1 + group, 64);
    }
    out[blockIdx.x * 256 + t] = value;
}
// The first 64 threads produce, the others take turns in consuming.
extern "C" __global__ void pipeline(unsigned *out) {
    __shared__ unsigned slot[64];
    const unsigned t = threadIdx.x, group = t / 64;
    unsigned sum = 0;
    for (unsigned round = 0; round < 9; round++) {
        if (group == 0) {
            if (round > 0)
                SYNC(8 + (round - 1) % 3, 128);
            slot[t] = round * 1000 + t;
            ARRIVE(5 + round % 3, 128);
        } else if (group == 1 + round % 3) {
            SYNC(5 + round % 3, 128);
            sum += slot[(t + 1) % 64];
            if (round < 8)
                ARRIVE(8 + round % 3, 128);
        }
    }
    out[blockIdx.x * 256 + t] = sum;
}
// Warps of different waves.
extern "C" __global__ void pairs(unsigned *out) {
    __shared__ unsigned all[8];
    const unsigned t = threadIdx.x, warp = t / 32;
    unsigned sum = 0;
    for (unsigned round = 0; round < 20 + 10 * (warp % 4); round++) {
        if (t % 32 == 0)
            all[warp] = warp * 100 + round;
        SYNC(warp % 4 + 2, 64);
        sum += all[(warp + 4) % 8];
        SYNC(warp % 4 + 2, 64);
    }
    out[blockIdx.x * 256 + t] = sum;
}
"#;
/// Macros whose text is composed, and a choice of the preprocessor.
const HEADER: &str = r#"
#define NUMBER "r"
#define BARRIER(kind, number, threads) \
    asm volatile("bar." #kind " %0, %1;" :: NUMBER((unsigned)(number)), NUMBER((unsigned)(threads)) : "memory")
#define SYNC(number, threads) BARRIER(sync, number, threads)
#define ARRIVE(number, threads) BARRIER(arrive, number, threads)
"#;

#[test]
fn some_threads_of_a_block_wait_for_each_other() {
    for device in devices() {
        if device.backend() == Backend::Cuda {
            return;
        }
        let stream = device.stream().unwrap();
        let program = Program::new(SOURCE).header("ptx.h", HEADER);
        let module = device.compile(&program).unwrap_or_else(|error| panic!("{error}"));
        let run = |name: &str| {
            let mut out = DeviceBuffer::<u32>::zeroed(&stream, 4 * THREADS as usize).unwrap();
            let function = module.function(name).unwrap();
            let launch = function.launch(&stream).grid(4).block(THREADS).arg(&mut out);
            // SAFETY: each thread writes its own result.
            unsafe { launch.enqueue() }.unwrap_or_else(|error| panic!("{name}: {error}"));
            out.to_vec(&stream).unwrap_or_else(|error| panic!("{device}: {name}: {error}"))
        };
        groups(&run("groups"));
        // Again, in shared memory that has the barriers of another launch.
        groups(&run("groups"));
        for (i, found) in run("pipeline").into_iter().enumerate() {
            let (t, group) = (i as u32 % THREADS, i as u32 % THREADS / 64);
            let rounds = (0..9).filter(|round| group > 0 && group == 1 + round % 3);
            assert_eq!(
                found,
                rounds.map(|round| round * 1000 + (t + 1) % 64).sum::<u32>(),
                "{device}: thread {t}"
            );
        }
        if waves_of_32(&device) {
            for (i, found) in run("pairs").into_iter().enumerate() {
                let warp = i as u32 % THREADS / 32;
                let rounds = 20 + 10 * (warp % 4);
                assert_eq!(
                    found,
                    (0..rounds).map(|round| (warp + 4) % 8 * 100 + round).sum::<u32>(),
                    "{device}: warp {warp}"
                );
            }
        }
    }
}

fn waves_of_32(device: &Device) -> bool {
    !device.target().processor.starts_with("gfx9")
}

fn groups(found: &[u32]) {
    for (block, found) in found.chunks(THREADS as usize).enumerate() {
        let mut values: Vec<u32> = (0..THREADS).map(|t| t + block as u32).collect();
        for round in 0..48 {
            let before = values.clone();
            for t in 0..THREADS {
                let group = t / 64;
                if round < 12 * (group + 1) {
                    let other = before[(group * 64 + (t * 5 + 7) % 64) as usize];
                    values[t as usize] = before[t as usize].wrapping_mul(3).wrapping_add(other);
                }
            }
        }
        assert_eq!(found, values, "block {block}");
    }
}
