//! The timeline of a Rust program.

use std::path::Path;
use std::process::{Command, ExitStatus};

use hip::timeline::{Span, Spans};
use hip::{Device, DeviceBuffer};
use timeline_test::Timeline;

use crate::common;

/// Tells the test below that it is the traced program, and how it should end.
const CHILD: &str = "FERROCM_TEST_TIMELINE";
const LAUNCHES: usize = 4;

#[test]
fn the_program_whose_timeline_is_read() {
    let Ok(end) = std::env::var(CHILD) else { return };
    tracing::subscriber::set_global_default(Spans::new()).unwrap();
    let device = Device::open("vgpu:gfx1100?cus=1&memory=64MiB").unwrap();
    let (_folder, compiler) = common::compiler();
    let module = compiler.compile(&common::SAXPY.into(), device.target()).unwrap().load(&device).unwrap();
    let kernel = module.function("saxpy").unwrap();
    let whole = hip::roctx::start("whole");
    let work = |stream: &hip::Stream| {
        let _range = hip::roctx::range("work");
        let x = DeviceBuffer::from_slice(stream, &[1.0_f32; 1000]).unwrap();
        let mut y = DeviceBuffer::from_slice(stream, &[0.0_f32; 1000]).unwrap();
        for step in 0..LAUNCHES {
            let _span = tracing::info_span!("step", step).entered();
            let launch = kernel.launch(stream).grid(8).block(128);
            let launch = launch.arg(1000_u32).arg(0.5_f32).arg(&x).arg(&mut y);
            // SAFETY: the kernel reads and writes `n` numbers.
            unsafe { launch.enqueue().unwrap() };
        }
        hip::roctx::mark("enqueued");
        let mut span = Span::enter("program", "read back");
        span.number("numbers", 1000);
        assert_eq!(y.to_vec(stream).unwrap(), [0.5 * LAUNCHES as f32; 1000]);
    };
    let streams = [device.stream().unwrap(), device.stream().unwrap()];
    std::thread::scope(|scope| {
        for stream in &streams {
            let thread = std::thread::Builder::new().name("worker".to_owned());
            thread.spawn_scoped(scope, || work(stream)).unwrap();
        }
    });
    whole.stop();
    if end == "abort" {
        std::process::abort();
    }
}

fn run(end: &str, trace: &Path) -> ExitStatus {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["timeline::the_program_whose_timeline_is_read", "--exact"]);
    child.env(CHILD, end).env("FERROCM_TRACE", trace).output().unwrap().status
}

fn check(trace: &Path) {
    let timeline = Timeline::read(trace);
    let kernels = timeline.of("kernel");
    assert_eq!(kernels.len(), 2 * LAUNCHES);
    assert_eq!(Timeline::tracks(&kernels).len(), 2);
    for kernel in kernels {
        assert_eq!((kernel.name.as_str(), kernel.text("workgroups")), ("saxpy", "8x1x1"));
        // The HIP call at the start of an arrow is inside the program's own span, on its own thread.
        let call = timeline.origin(kernel, "hip").expect("an arrow");
        assert_eq!(call.name, "hipModuleLaunchKernel");
        assert_eq!(timeline.threads[&call.track], "worker");
        let step = timeline.at((call.track, call.start), "tracing").expect("a span");
        assert!(step.holds(call) && step.name == "step", "{step:?}");
    }
    // Marks and ranges for profilers.
    let ranges = timeline.of("roctx");
    assert_eq!((ranges.len(), timeline.instants.len(), timeline.overlapping.len()), (2, 2, 1));
    for range in ranges {
        assert_eq!((range.name.as_str(), timeline.threads[&range.track].as_str()), ("work", "worker"));
        let held = timeline.named("step").into_iter().filter(|step| range.holds(step));
        assert_eq!(held.count(), LAUNCHES);
        let mark = timeline.instants.iter().find(|mark| mark.track == range.track).expect("a mark");
        assert!(mark.name == "enqueued" && range.is_at(mark.time));
        let whole = &timeline.overlapping[0];
        assert!(whole.name == "whole" && whole.start <= range.start && range.end <= whole.end);
    }
    let mut steps: Vec<_> = timeline.named("step").iter().map(|step| step.text("step").to_owned()).collect();
    steps.sort_unstable();
    let expected: Vec<String> = (0..LAUNCHES).flat_map(|step| [step.to_string(), step.to_string()]).collect();
    assert_eq!(steps, expected);
    let compiled: Vec<_> = timeline.of("hip call").iter().map(|call| call.name.clone()).collect();
    assert!(compiled.iter().any(|name| name == "hiprtcCompileProgram"), "{compiled:?}");
    let read = timeline.of("program");
    assert_eq!(read.len(), 2);
    assert!(read.iter().all(|span| span.number("numbers") == 1000));
    let transfers = timeline.of("transfer");
    assert_eq!(transfers.len(), 6);
    assert!(transfers.iter().all(|transfer| transfer.number("bytes") == 4000));
    for span in read {
        assert!(transfers.iter().any(|transfer| span.holds(transfer) && transfer.name == "device to host"));
    }
}

#[test]
fn a_timeline_has_calls_kernels_copies_and_the_programs_own_spans() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.json");
    assert!(run("return", &trace).success());
    check(&trace);
    // The next process has the same variable, but writes another file.
    assert!(Timeline::read(&trace).is_complete);
    let first = std::fs::read(&trace).unwrap();
    assert!(run("return", &trace).success());
    assert!(std::fs::read(&trace).unwrap() == first);
    let others = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
    let others: Vec<_> = others.filter(|path| *path != trace).collect();
    assert_eq!(others.len(), 1, "{others:?}");
    check(&others[0]);
}

#[test]
fn a_program_that_aborts_leaves_its_timeline() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.json");
    assert!(!run("abort", &trace).success());
    check(&trace);
    assert!(!Timeline::read(&trace).is_complete);
}
