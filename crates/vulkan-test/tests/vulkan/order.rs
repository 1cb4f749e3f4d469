//! Work of several HIP streams and of Vulkan's queue, with dependences on each other; all of it is enqueued
//! before any of it runs.

use std::sync::Arc;

use hip::{DeviceBuffer, HostSignal, Stream};
use vulkan_test::{Compute, Timeline};

use crate::support::{SHADER, affine, both, numbers};

const ROUNDS: u64 = 8;

/// Raises a timeline after the work on a stream.
fn raise(stream: &Stream, timeline: &Arc<Timeline>, value: u64) {
    let timeline = timeline.clone();
    stream.host_function(move || timeline.signal(value).unwrap()).unwrap();
}

/// Two streams write the halves of a buffer, a third joins them, Vulkan computes on it, and a fourth adds the
/// results to a sum; this is repeated eight times. The host only enqueues: a gate holds back the first
/// kernels until it is done. One thread tells HIP how far Vulkan has come.
#[test]
fn streams_and_vulkan_s_queue_wait_for_each_other_by_timelines() {
    let Some(both) = both() else { return };
    let (half, len) = (1500, 3000);
    let (from, to) = (both.shared(len), both.shared(len));
    let compute = Compute::new(&both.vulkan, &from.vulkan, &to.vulkan, len as u32).unwrap();
    // Each half is a separate buffer, so that only this test orders them.
    drop(from.hip);
    let mut halves = [0, half].map(|start| from.memory.buffer::<u32>(4 * start, half).unwrap());
    let streams = [(); 2].map(|()| both.hip.stream().unwrap());
    let (joined, adding) = (both.hip.stream().unwrap(), both.hip.stream().unwrap());
    let [written, computed] = [(); 2].map(|()| Arc::new(Timeline::new(&both.vulkan).unwrap()));
    let (gate, is_computed) = (HostSignal::new(&both.hip).unwrap(), HostSignal::new(&both.hip).unwrap());
    let values = numbers(len);
    let sources =
        [0, half].map(|start| DeviceBuffer::from_slice(&joined, &values[start..start + half]).unwrap());
    let mut sum = DeviceBuffer::<u32>::zeroed(&adding, len).unwrap();
    for stream in [&joined, &adding] {
        stream.synchronize().unwrap();
    }

    let teller = {
        let (computed, is_computed) = (computed.clone(), is_computed.clone());
        std::thread::spawn(move || {
            for round in 1..=ROUNDS {
                computed.wait(round).unwrap();
                is_computed.raise(round);
            }
        })
    };
    for stream in &streams {
        stream.wait_signal(&gate, 1).unwrap();
    }
    for round in 1..=ROUNDS {
        for ((stream, half), source) in streams.iter().zip(&mut halves).zip(&sources) {
            if round > 1 {
                // Vulkan has read the data that this overwrites.
                stream.wait_signal(&is_computed, round - 1).unwrap();
            }
            both.affine(stream, (round as u32, 17), source, half);
            joined.wait(stream).unwrap();
        }
        raise(&joined, &written, round);
        compute.submit((&written, round), (&computed, round)).unwrap();
        adding.wait_signal(&is_computed, round).unwrap();
        let function = both.function("add");
        let launch = function.launch(&adding).elements(len, 128).arg(len as u32).arg(&to.hip).arg(&mut sum);
        // SAFETY: the kernel reads as many elements of one buffer as it changes of the other.
        unsafe { launch.enqueue().unwrap() };
        // The next round's kernels overwrite what Vulkan reads, and Vulkan overwrites what this adds.
        for stream in &streams {
            stream.wait(&adding).unwrap();
        }
    }
    assert_eq!((written.value().unwrap(), computed.value().unwrap()), (0, 0), "nothing has run yet");
    gate.raise(1);

    let found = sum.to_vec(&adding).unwrap();
    for (index, (&value, &found)) in values.iter().zip(&found).enumerate() {
        let expected = (1..=ROUNDS as u32)
            .map(|round| affine(affine(value, (round, 17)), SHADER))
            .fold(0, u32::wrapping_add);
        assert_eq!(found, expected, "element {index}");
    }
    assert_eq!((written.value().unwrap(), computed.value().unwrap()), (ROUNDS, ROUNDS));
    teller.join().unwrap();
    // Every stream has finished before its memory is freed.
    streams.iter().chain([&joined]).for_each(|stream| stream.synchronize().unwrap());
}
