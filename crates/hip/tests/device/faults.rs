//! Kernels that access memory outside their buffers: an error that names the place, and a process that
//! continues.

#[cfg(feature = "rtc")]
use hip::rtc::Program;
use hip::{DeviceBuffer, Error, Function, HostBuffer, Stream};

use crate::common;

/// Lane 5 of the kernel writes to `data[index]`.
fn write_at(
    function: &Function,
    stream: &Stream,
    data: &mut DeviceBuffer<f32>,
    index: i64,
) -> hip::Result<()> {
    // SAFETY: only run where an access out of bounds is an error that harms nothing.
    unsafe { function.launch(stream).grid(1).block(64).arg(data).arg(index).enqueue() }
}

/// The report of the fault in `result`.
fn report(result: hip::Result<()>) -> String {
    match result {
        Err(Error::Fault(report)) => report.text().to_owned(),
        other => panic!("no fault: {other:?}"),
    }
}

#[test]
fn a_write_outside_of_a_buffer_is_reported_and_the_next_stream_works() {
    let device = common::device();
    if !common::finds_faults(&device) {
        return;
    }
    let function = common::module(&device).function("write_at").unwrap();
    for index in [1 << 30, -(1 << 30)] {
        let stream = device.stream().unwrap();
        let mut data = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
        write_at(&function, &stream, &mut data, index).unwrap();
        let text = report(stream.synchronize());
        let lower = text.to_lowercase();
        for word in ["write_at", "pc", "store", "lane 5"] {
            assert!(lower.contains(word), "`{word}` is missing in: {text}");
        }
        // The fault stays with its stream, and does not affect later work.
        assert!(stream.synchronize().is_err());
        let next = device.stream().unwrap();
        let mut data = DeviceBuffer::<f32>::zeroed(&next, 64).unwrap();
        write_at(&function, &next, &mut data, 7).unwrap();
        assert_eq!(data.to_vec(&next).unwrap()[7], 1.0);
    }
}

/// Without options, compiled ahead of time and at run time.
#[test]
fn a_fault_names_the_line_of_its_source_by_default() {
    #[cfg(feature = "rtc")]
    const SOURCE: &str = "// The kernel.\nextern \"C\" __global__ void write_at(float *data, long long index) {\n    \
                          if (threadIdx.x == 5)\n        data[index] = 1.0f;\n}\n";
    let device = common::device();
    if !common::finds_faults(&device) {
        return;
    }
    let ahead = include_str!("../kernels/test.cu");
    let line = ahead.lines().position(|line| line.contains("data[index] = 1.0f")).unwrap() + 1;
    let modules = [
        (common::module(&device), "test.cu", line),
        #[cfg(feature = "rtc")]
        (device.compile(Program::new(SOURCE).name("line.cu")).unwrap(), "line.cu", 4),
    ];
    for (module, file, line) in modules {
        let stream = device.stream().unwrap();
        let mut data = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
        write_at(&module.function("write_at").unwrap(), &stream, &mut data, 1 << 30).unwrap();
        let error = stream.synchronize().unwrap_err();
        let fault = error.fault().and_then(|report| report.details()).expect("the fault as data");
        let frame = fault.at.source.frame().unwrap_or_else(|| panic!("{fault}"));
        assert!(frame.file.as_deref().unwrap().ends_with(file), "{fault}");
        assert_eq!(frame.line, Some(line as u32), "{fault}");
        assert!(error.to_string().contains(&format!("{file}:{line}")), "{error}");
    }
}

/// The virtual GPU's faults and counters as data.
#[test]
fn faults_and_counters_are_structures() {
    let device = common::device();
    if !common::finds_faults(&device) {
        return;
    }
    let function = common::module(&device).function("write_at").unwrap();
    let stream = device.stream().unwrap();
    let mut data = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    stream.set_counters(true).unwrap();
    for index in [3, 4] {
        write_at(&function, &stream, &mut data, index).unwrap();
    }
    stream.synchronize().unwrap();
    let counted = stream.take_counters().unwrap();
    assert_eq!(counted.len(), 2);
    for counters in &counted {
        assert_eq!((counters.kernel.as_str(), counters.workgroups, counters.complete), ("write_at", 1, true));
        assert_eq!((counters.global.stores, counters.global.written_bytes), (1, 4));
        assert!(counters.instructions.total() > 3 && counters.occupancy.waves_per_simd > 0, "{counters}");
    }
    assert!(stream.take_counters().unwrap().is_empty());
    stream.set_counters(false).unwrap();
    write_at(&function, &stream, &mut data, 5).unwrap();
    stream.synchronize().unwrap();
    assert!(stream.take_counters().unwrap().is_empty());

    let address = data.address();
    write_at(&function, &stream, &mut data, 1 << 30).unwrap();
    let error = stream.synchronize().unwrap_err();
    let fault = error.fault().and_then(|report| report.details()).expect("the fault as data");
    assert_eq!((fault.kernel.as_str(), fault.at.lane, fault.at.workgroup), ("write_at", Some(5), [0; 3]));
    assert_eq!(fault.kind.address(), Some(address.0 + (4 << 30)));
    assert!(matches!(fault.kind, hip::FaultKind::OutOfBounds { size: 4, .. }), "{fault}");
    assert!(fault.at.pc != 0 && fault.at.instruction.contains("store"), "{fault}");
    assert!(error.to_string().contains(&fault.to_string()), "{error}");
}

#[test]
fn a_read_outside_of_a_buffer_is_reported() {
    let device = common::device();
    if !common::finds_faults(&device) {
        return;
    }
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("read_at").unwrap();
    let data = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 1).unwrap();
    let launch = function.launch(&stream).grid(1).block(32).arg(&data).arg(1_i64 << 30).arg(&mut out);
    // SAFETY: only run where an access out of bounds is an error that harms nothing.
    unsafe { launch.enqueue().unwrap() };
    let text = report(out.to_vec(&stream).map(drop));
    assert!(text.contains("read_at") && text.contains("load"), "{text}");
}

#[test]
fn a_read_of_freed_memory_is_reported() {
    let device = common::device();
    if !common::finds_faults(&device) {
        return;
    }
    let stream = device.stream().unwrap();
    let function = common::module(&device).function("read_at").unwrap();
    // A cache would keep the memory allocated.
    device.set_allocator(hip::Allocator::Direct).unwrap();
    let freed = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap().address();
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 1).unwrap();
    let launch = function.launch(&stream).grid(1).block(32).arg(freed).arg(0_i64).arg(&mut out);
    // SAFETY: as above.
    unsafe { launch.enqueue().unwrap() };
    let text = report(stream.synchronize());
    assert!(text.contains("read_at"), "{text}");
}

#[test]
fn what_a_faulted_stream_used_is_released_and_usable() {
    let device = common::device();
    if !common::finds_faults(&device) {
        return;
    }
    let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
    let function = common::module(&device).function("write_at").unwrap();
    let mut data = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    write_at(&function, &stream, &mut data, 1 << 30).unwrap();
    let pending = data.download(&stream, HostBuffer::zeroed(&device, 64).unwrap());
    assert!(matches!(pending.and_then(|pending| pending.wait()), Err(Error::Fault(_))));
    data.fill(&other, 4.0).unwrap();
    assert_eq!(data.to_vec(&other).unwrap(), [4.0; 64]);
    drop(stream);
    drop(data);
    other.synchronize().unwrap();
}
