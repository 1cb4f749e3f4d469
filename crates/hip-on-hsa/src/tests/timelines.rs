//! The timeline over an HSA that does not record one itself: kernels and copies are in it when the call that
//! waited for them returns.

use std::process::Command;

use hip_sys::hipMemcpyKind;
use timeline_test::Timeline;

use super::*;

/// Tells the first test that it runs in the process started by the second one.
const CHILD: &str = "FERROCM_TEST_HSA_TIMELINE";
const BYTES: usize = 1 << 20;

#[test]
fn the_program_of_the_timeline() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let hip = start();
    let streams = [hip.stream(1), hip.stream(1)];
    let work = hip.function(hip.load(5), "work");
    let memory = [hip.malloc(BYTES), hip.malloc(BYTES)];
    for stream in streams {
        let hold = Hold::new();
        for _ in 0..3 {
            assert_eq!(hip.launch(work, stream), OK);
        }
        // The stream is busy, so the submitter does the copy.
        let direction = hipMemcpyKind::hipMemcpyDeviceToDevice;
        assert_eq!(hip!(hip, hipMemcpyAsync(memory[0], memory[1], BYTES, direction, stream)), OK);
        drop(hold);
        assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    }
    // No work that a call has waited for may be missing.
    std::process::abort();
}

#[test]
fn kernels_and_copies_are_in_the_timeline_with_the_times_that_hsa_knows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["tests::timelines::the_program_of_the_timeline", "--exact"]);
    let output = child.env(CHILD, "1").env("FERROCM_TRACE", &path).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("panicked"), "{output:?}");
    let timeline = Timeline::read(&path);
    let (kernels, copies) = (timeline.of("kernel"), timeline.of("copy"));
    assert_eq!((kernels.len(), copies.len()), (6, 2));
    assert_eq!((Timeline::tracks(&kernels).len(), Timeline::tracks(&copies).len()), (2, 2));
    let waits = timeline.named("hipStreamSynchronize");
    for slice in kernels.iter().chain(&copies) {
        // The clocks of HSA and host were compared: nothing ran before it was submitted, or after the wait
        // for it.
        let call = timeline.origin(slice, "hip").unwrap_or_else(|| panic!("no arrow to {slice:?}"));
        assert!(call.start <= slice.start, "{call:?} {slice:?}");
        assert!(waits.iter().any(|wait| slice.end <= wait.end && call.end <= wait.start), "{slice:?}");
        let is_kernel = slice.category == "kernel";
        assert_eq!(call.name, if is_kernel { "hipModuleLaunchKernel" } else { "hipMemcpyAsync" });
        match is_kernel {
            true => assert_eq!((slice.name.as_str(), slice.text("workgroup size")), ("work", "32x1x1")),
            false => assert_eq!(
                (slice.name.as_str(), slice.number("bytes")),
                ("copy device to device", BYTES as u64)
            ),
        }
    }
}
