//! The timeline of a C++ program: counts what `timeline.hip` submits.

use test_support::program::Program;
use timeline_test::Timeline;

use crate::support::compile;

const BYTES: u64 = 64 * 1024 * 4;

fn traced(program: &Program) -> (Option<i32>, Timeline) {
    let folder = program.folder();
    let path = folder.join("trace-%p.json");
    let run =
        program.variable("FERROCM_TRACE", path.to_str().unwrap()).run("vgpu:gfx1100?cus=2&memory=64MiB");
    assert_eq!(run.error, "");
    let files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("trace-")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let path = files.remove(0);
    let timeline = Timeline::read(&path);
    std::fs::remove_file(path).unwrap();
    (run.code, timeline)
}

fn check(timeline: &Timeline) {
    let names = |category: &str, name: &str| {
        timeline.of(category).into_iter().filter(|slice| slice.name.starts_with(name)).collect::<Vec<_>>()
    };
    // There are as many of each as were submitted.
    let (scales, sums) = (names("kernel", "void scale<float>("), names("kernel", "sum_up("));
    assert_eq!((scales.len(), sums.len(), timeline.of("kernel").len()), (8, 1, 9));
    let calls = |name: &str| names("hip", name).into_iter().filter(|call| call.name == name).count();
    assert_eq!((calls("hipLaunchKernel"), calls("hipMemcpyAsync"), calls("hipMemcpy")), (9, 3, 1));
    assert_eq!(
        (calls("hipStreamSynchronize"), calls("hipEventRecord"), calls("hipStreamWaitEvent")),
        (3, 1, 1)
    );
    let transfers = timeline.of("transfer");
    let mut wanted: Vec<_> =
        transfers.iter().map(|slice| (slice.name.as_str(), slice.number("bytes"))).collect();
    wanted.sort_unstable();
    let expected = [
        ("device to device", BYTES),
        ("device to host", 4),
        ("device to host", BYTES),
        ("host to device", BYTES),
    ];
    assert_eq!(wanted, expected);
    // Host or copy engine: each byte was copied once.
    let copied: u64 = timeline.of("copy").iter().map(|slice| slice.number("bytes")).sum();
    assert_eq!(copied, 3 * BYTES + 4);

    // Two streams are two tracks of one device.
    let tracks = Timeline::tracks(&timeline.of("kernel"));
    assert_eq!(tracks.len(), 2);
    let devices: std::collections::BTreeSet<_> = tracks.iter().map(|track| track.0).collect();
    assert_eq!(devices.len(), 1);
    let device = &timeline.processes[devices.first().unwrap()];
    assert!(device.starts_with("virtual GPU 0 (gfx1100"), "{device}");
    let on = |track| scales.iter().copied().filter(move |slice| slice.track == track).collect::<Vec<_>>();
    let (first, second) =
        (on(sums[0].track), scales.iter().map(|slice| slice.track).find(|track| *track != sums[0].track));
    let second = on(second.unwrap());
    assert_eq!((first.len(), second.len()), (5, 3));
    // Work that waits for an event begins after the work before the event.
    assert!(first.last().unwrap().end <= second[0].start);
    assert_eq!((first[0].text("workgroups"), first[0].text("workgroup size")), ("256x1x1", "256x1x1"));
    assert_eq!((second[0].text("workgroups"), second[0].text("workgroup size")), ("512x1x1", "32x4x1"));
    assert_eq!(second[0].number("LDS bytes"), 64);
    assert!(first[0].text("symbol").starts_with("_Z"));

    // An arrow leads from a launching call to its kernel.
    for kernel in timeline.of("kernel") {
        let call = timeline.origin(kernel, "hip").unwrap_or_else(|| panic!("no arrow to {kernel:?}"));
        assert_eq!(call.name, "hipLaunchKernel");
        assert!(call.start <= kernel.start);
    }
    // An error is shown with its call.
    let failed: Vec<_> =
        timeline.of("hip").into_iter().filter(|call| call.values["error"].is_string()).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(
        (failed[0].name.as_str(), failed[0].text("error")),
        ("hipEventQuery", "hipErrorInvalidHandle")
    );
}

#[test]
fn a_timeline_has_what_a_program_submits() {
    let program = compile("timeline", &["gfx1100"], &[]);
    let (code, timeline) = traced(&program);
    assert_eq!(code, Some(0));
    assert!(timeline.is_complete);
    check(&timeline);
}

#[test]
fn a_killed_program_leaves_its_timeline() {
    let program = compile("timeline", &["gfx1100"], &[]).arguments(["kill"]);
    let (code, timeline) = traced(&program);
    assert_eq!(code, None);
    assert!(!timeline.is_complete);
    check(&timeline);
}

#[test]
fn a_timeline_that_cannot_be_written_is_told() {
    let program = compile("timeline", &["gfx1100"], &[]);
    let run = program.variable("FERROCM_TRACE", "/nowhere/at/all").run("vgpu:gfx1100");
    assert_eq!(run.code, Some(1));
    assert!(
        run.error.contains("FERROCM_TRACE=`/nowhere/at/all`: the file cannot be opened"),
        "{}",
        run.error
    );
}
