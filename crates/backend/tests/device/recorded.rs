//! Steps as command buffers of `hal`.

use std::sync::Arc;

use backend::{Activation, DType, Error, GpuBackend, KernelBackend, StepGraph, Steps, Tensor};
use test_skip::{Lack, skip};

use crate::common::random;

/// A backend, unless HIP and HSA are apart on this device.
fn backend() -> Option<Arc<dyn KernelBackend>> {
    let backend = crate::backend();
    match backend.set_steps(Steps::Hal) {
        Ok(()) => Some(backend),
        Err(error) if backend.info().kind != backend::BackendKind::Virtual => {
            skip(Lack::Device, format_args!("{error}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn capture(
    b: &dyn KernelBackend,
    steps: Steps,
    mut work: impl FnMut() -> Result<(), Error>,
) -> Box<dyn StepGraph> {
    b.set_steps(steps).unwrap();
    b.capture(&mut work).unwrap().expect("a graph")
}

#[test]
fn kernels_copies_and_fills_have_the_bits_of_a_graph() {
    let Some(b) = backend() else { return };
    let b = &*b;
    let numbers = |count, seed| random(count, seed, 1.0);
    let w = b.tensor(DType::F32, &[64, 64], &numbers(64 * 64, 1)).unwrap();
    let x = b.empty(DType::F32, &[3, 64]).unwrap();
    let step = |out: &Tensor| {
        // Memory of the step's own; a fill, a copy without gaps, and one with gaps.
        let between = b.zeros(DType::F32, &[3, 64])?;
        b.matmul(&x, &w, out)?;
        b.activate(Activation::Gelu, out, out)?;
        b.copy(&out.narrow(0, 1, 2)?, &between.narrow(0, 1, 2)?)?;
        b.copy(&out.narrow(1, 3, 5)?, &between.narrow(1, 40, 5)?)?;
        b.add(&between, out, out)
    };
    let outs: Vec<Tensor> = (0..3).map(|_| b.empty(DType::F32, &[3, 64]).unwrap()).collect();
    let by_hal = capture(b, Steps::Hal, || step(&outs[0]));
    let by_graph = capture(b, Steps::Graph, || step(&outs[1]));
    assert_eq!(by_hal.nodes(), by_graph.nodes());
    assert!(format!("{by_hal:?}").contains("hal_queue"), "{by_hal:?}");
    for seed in 10..20 {
        b.upload_f32(&numbers(3 * 64, seed), &x).unwrap();
        by_hal.launch().unwrap();
        by_graph.launch().unwrap();
        step(&outs[2]).unwrap();
        let bytes = |out: usize| b.download(&outs[out]).unwrap();
        assert!(bytes(0) == bytes(2) && bytes(1) == bytes(2), "{seed}");
    }
}

/// Each adds to, or multiplies, what the one before has left.
#[test]
fn steps_by_hal_and_by_graph_and_other_work_run_in_the_order_of_their_submission() {
    let Some(b) = backend() else { return };
    let b = &*b;
    let x = b.zeros(DType::F32, &[1000]).unwrap();
    let add = capture(b, Steps::Hal, || b.affine(&x, 1.0, 1.0, &x));
    let twice = capture(b, Steps::Graph, || b.affine(&x, 2.0, 0.0, &x));
    let more = capture(b, Steps::Hal, || b.affine(&x, 1.0, 2.0, &x));
    let mut expected = 0.0_f32;
    for round in 0..60_u32 {
        match round % 7 {
            0 | 3 => {
                add.launch().unwrap();
                expected += 1.0;
            }
            1 | 5 => {
                more.launch().unwrap();
                expected += 2.0;
            }
            2 => {
                twice.launch().unwrap();
                expected *= 2.0;
            }
            4 => {
                b.affine(&x, 0.5, 0.0, &x).unwrap();
                expected *= 0.5;
            }
            _ => {
                let part = b.read_back(&x).unwrap();
                // Behind the copy.
                add.launch().unwrap();
                let bytes = part.wait().unwrap();
                assert_eq!(bytes[3996..], expected.to_le_bytes(), "{round}");
                expected += 1.0;
            }
        }
    }
    b.synchronize().unwrap();
    assert!(b.to_f32(&x).unwrap().iter().all(|&found| found == expected));
}

#[test]
fn threads_may_launch_steps_beside_other_work() {
    let Some(b) = backend() else { return };
    let b = &*b;
    let x = b.zeros(DType::F32, &[256]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let add = b.capture(&mut || b.affine(&x, 1.0, 1.0, &x)).unwrap().unwrap();
                for _ in 0..40 {
                    add.launch().unwrap();
                    b.affine(&x, 1.0, 1.0, &x).unwrap();
                }
            });
        }
    });
    assert!(b.to_f32(&x).unwrap().iter().all(|&found| found == 240.0));
}

#[test]
fn a_step_that_is_dropped_under_way_frees_nothing_too_early() {
    let Some(b) = backend() else { return };
    let b = &*b;
    let x = b.tensor(DType::F32, &[64, 1024], &random(64 << 10, 3, 1.0)).unwrap();
    let out = b.empty(DType::F32, &[64, 1024]).unwrap();
    for round in 0..20 {
        let step = b.capture(&mut || {
            let between = b.empty(DType::F32, &[64, 1024])?;
            b.affine(&x, 2.0, round as f32, &between)?;
            b.affine(&between, 0.5, 0.0, &out)
        });
        let step = step.unwrap().unwrap();
        step.launch().unwrap();
        drop(step);
        let other = b.tensor(DType::F32, &[64, 1024], &[7.0; 64 << 10]).unwrap();
        let expected: Vec<f32> =
            b.to_f32(&x).unwrap().iter().map(|x| (x * 2.0 + round as f32) * 0.5).collect();
        assert!(b.to_f32(&out).unwrap() == expected, "{round}");
        drop(other);
    }
}

#[test]
fn another_choice_leaves_captured_steps_as_they_are() {
    let Some(b) = backend() else { return };
    let uri = b.info().uri.clone();
    let x = b.zeros(DType::F32, &[8]).unwrap();
    let add = b.capture(&mut || b.affine(&x, 1.0, 1.0, &x)).unwrap().unwrap();
    b.set_steps(Steps::Graph).unwrap();
    let graph = b.capture(&mut || b.affine(&x, 1.0, 1.0, &x)).unwrap().unwrap();
    assert!(format!("{add:?}").contains("hal_queue") && !format!("{graph:?}").contains("hal_queue"));
    // Two backends on a device have queues of their own.
    let other: Arc<dyn KernelBackend> = Arc::new(GpuBackend::open(&uri.parse().unwrap()).unwrap());
    other.set_steps(Steps::Hal).unwrap();
    let y = other.zeros(DType::F32, &[8]).unwrap();
    let its = other.capture(&mut || other.affine(&y, 1.0, 3.0, &y)).unwrap().unwrap();
    its.launch().unwrap();
    add.launch().unwrap();
    graph.launch().unwrap();
    assert_eq!(b.to_f32(&x).unwrap(), [2.0; 8]);
    assert_eq!(other.to_f32(&y).unwrap(), [3.0; 8]);
    // The backend may go first.
    drop((b, x));
    drop(add);
}
