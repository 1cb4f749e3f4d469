//! What workgroups on several host threads see of each other's writes. On a machine with one processor, these
//! properties always hold.
use crate::common::{Arg, Gpu, on_all};

/// The number of values of each publication.
const ROUNDS: u32 = 4000;
/// Words of the memory that keeps the host busy, as in the kernels.
const COLD: usize = 4 << 20;
/// The ways in which lanes are spread; see the kernels.
const PLACES: [(u32, &str); 4] = [(0, "consecutive"), (1, "same"), (2, "apart"), (3, "some")];

/// The number of torn values that were seen.
fn torn(gpu: &Gpu, kernel: &str, places: u32) -> u32 {
    let (memory, state, torn) =
        (gpu.upload(&[0u32; 4 * 3 * 64]), gpu.upload(&[0u32; 2]), gpu.upload(&[0u32; 1]));
    let args =
        [Arg::Pointer(memory), Arg::U32(places), Arg::U32(ROUNDS), Arg::Pointer(state), Arg::Pointer(torn)];
    gpu.run(kernel, 3, 64, &args);
    gpu.download::<u32>(torn, 1)[0]
}

#[test]
fn aligned_values_of_up_to_16_bytes_are_published_whole() {
    on_all("litmus", |gpu| {
        for kernel in
            ["publish_4", "publish_8", "publish_16", "publish_8_flat", "publish_16_flat", "publish_16_buffer"]
        {
            for (places, name) in PLACES {
                assert_eq!(
                    torn(gpu, kernel, places),
                    0,
                    "{kernel}, {name} places, {}",
                    gpu.device.target().name
                );
            }
        }
        let torn = gpu.upload(&[0u32; 1]);
        gpu.run("publish_16_lds", 1, 128, &[Arg::U32(500), Arg::Pointer(torn)]);
        assert_eq!(gpu.download::<u32>(torn, 1), [0], "LDS, {}", gpu.device.target().name);
    });
}

#[test]
fn what_is_written_before_a_flag_is_seen_after_it() {
    on_all("litmus", |gpu| {
        let rounds = 5000u32;
        let expected: Vec<u32> = (1..=rounds).collect();
        for kernel in ["messages_agent", "messages_system"] {
            let zeros = vec![0u32; rounds as usize];
            let [data, flags, found] = std::array::from_fn(|_| gpu.upload(&zeros));
            let args = [Arg::Pointer(data), Arg::Pointer(flags), Arg::U32(rounds), Arg::Pointer(found)];
            gpu.run(kernel, 2, 64, &args);
            assert_eq!(
                gpu.download::<u32>(found, rounds as usize),
                expected,
                "{kernel}, {}",
                gpu.device.target().name
            );
        }
        let found = gpu.upload(&vec![0u32; 500]);
        gpu.run("messages_lds", 1, 128, &[Arg::U32(500), Arg::Pointer(found)]);
        assert_eq!(gpu.download::<u32>(found, 500), expected[..500], "{}", gpu.device.target().name);
    });
}

#[test]
fn loads_do_not_overtake_stores_that_were_waited_for() {
    on_all("litmus", |gpu| {
        let rounds = 1500u32;
        for kernel in ["crossing_agent", "crossing_system", "crossing_fence"] {
            let words = gpu.upload(&vec![0u32; 64 * 2 * rounds as usize]);
            let meetings = gpu.upload(&vec![0u32; rounds as usize]);
            let found = gpu.upload(&vec![7u32; 2 * rounds as usize]);
            let cold = gpu.alloc(4 * COLD);
            let args = [
                Arg::Pointer(words),
                Arg::Pointer(meetings),
                Arg::Pointer(cold),
                Arg::U32(rounds),
                Arg::Pointer(found),
            ];
            gpu.run(kernel, 2, 64, &args);
            let found: Vec<u32> = gpu.download(found, 2 * rounds as usize);
            let missed = found.chunks(2).filter(|pair| pair == &[0, 0]).count();
            assert_eq!(missed, 0, "{kernel}, {}", gpu.device.target().name);
            assert!(found.iter().all(|&word| word <= 1), "{kernel}: every round was made");
        }
    });
}
