use cudarc::driver::sys::{
    CUgraphInstantiate_flags as Flags, CUresult, CUstreamCaptureMode, CUstreamCaptureStatus,
};
use cudarc::driver::{DriverError, LaunchConfig, PushKernelArg};

use crate::{device, kernel};

const MODE: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;

#[test]
fn graphs_are_what_a_stream_has_recorded() {
    let (context, _) = device();
    // SAFETY: one stream uses all memory.
    unsafe { context.disable_event_tracking() };
    let step = kernel(&context, "step");
    let stream = context.new_stream().unwrap();
    let mut x = stream.clone_htod(&[0_u32, 1, 2, 3]).unwrap();
    let mut y = stream.alloc_zeros::<u32>(4).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(stream.capture_status().unwrap(), CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE);
    stream.begin_capture(MODE).unwrap();
    assert_eq!(stream.capture_status().unwrap(), CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE);
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (4, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: there are four numbers.
    unsafe { stream.launch_builder(&step).arg(&mut x).launch(config) }.unwrap();
    stream.memcpy_dtod(&x, &mut y).unwrap();
    let graph = stream.end_capture(Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH).unwrap().unwrap();
    assert_eq!(stream.clone_dtoh(&x).unwrap(), [0, 1, 2, 3], "nothing has run");
    graph.upload().unwrap();
    let mut expected = [0_u32, 1, 2, 3];
    for _ in 0..3 {
        graph.launch().unwrap();
        expected = expected.map(|number| number * 2 + 1);
        assert_eq!(stream.clone_dtoh(&y).unwrap(), expected);
    }
    assert!(!graph.cu_graph().is_null() && !graph.cu_graph_exec().is_null());
}

#[test]
fn flags_that_exclude_each_other_are_refused() {
    let (context, _) = device();
    let stream = context.new_stream().unwrap();
    let device_launch = Flags::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    for flags in [
        device_launch,
        device_launch | Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH,
        Flags(1 << 20),
    ] {
        stream.begin_capture(MODE).unwrap();
        let outcome = stream.end_capture(flags).map(drop);
        assert_eq!(outcome, Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)), "{flags:?}");
    }
    stream.begin_capture(MODE).unwrap();
    stream.end_capture(Flags(0)).unwrap().unwrap().launch().unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn recording_that_did_not_begin_does_not_end() {
    let (context, _) = device();
    let stream = context.new_stream().unwrap();
    let error = stream.end_capture(Flags(0)).map(drop).unwrap_err();
    assert!(
        matches!(error.0, CUresult::CUDA_ERROR_ILLEGAL_STATE | CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED),
        "{error}"
    );
}
