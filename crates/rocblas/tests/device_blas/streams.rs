//! Calls on streams: lifetimes of operands, order, the workspace, and faults.

use hip::{DeviceBuffer, Stream};
use rocblas::{
    Blas, Diag, Fill, Matrix, MatrixLayout, MatrixMut, Vector, VectorLayout, VectorMut, rocblas_sys,
};

use crate::common::{Bench, amds, choice, cublas_lacks};

/// Rows and columns of products that take a while.
const SIZE: usize = 96;

fn square(stream: &Stream, value: f32) -> DeviceBuffer<f32> {
    DeviceBuffer::from_slice(stream, &vec![value; SIZE * SIZE]).unwrap()
}

fn multiply(blas: &Blas, a: &DeviceBuffer<f32>, b: &DeviceBuffer<f32>, c: &mut DeviceBuffer<f32>) {
    let layout = MatrixLayout::column_major(SIZE, SIZE);
    let (a, b) = (Matrix::new(a, layout).unwrap(), Matrix::new(b, layout).unwrap());
    let mut c = MatrixMut::new(c, layout).unwrap();
    blas.gemm(&a, &b, &mut c).run().unwrap();
}

#[test]
fn operands_may_be_dropped_while_calls_use_them() {
    let bench = Bench::open();
    let (first, second) = (&bench.stream, bench.blas.device().stream().unwrap());
    let other = Blas::with(&second, choice()).unwrap();
    for round in 0..4 {
        let value = 1.0 + round as f32;
        let (a, b) = (square(first, value), square(first, 2.0));
        let mut c = DeviceBuffer::zeroed(first, SIZE * SIZE).unwrap();
        multiply(&bench.blas, &a, &b, &mut c);
        drop((a, b));
        // If freed memory were reused too early, this would be multiplied.
        let (nan, ones) = (square(&second, f32::NAN), square(&second, 1.0));
        let mut d = DeviceBuffer::zeroed(&second, SIZE * SIZE).unwrap();
        // Automatically ordered after the other stream's product.
        multiply(&other, &c, &ones, &mut d);
        drop((nan, ones, c));
        let size = SIZE as f32;
        assert_eq!(d.to_vec(&second).unwrap(), vec![value * 2.0 * size * size; SIZE * SIZE], "{round}");
    }
}

#[test]
fn what_is_written_later_waits_for_calls_that_read_it() {
    let bench = Bench::open();
    let (first, second) = (&bench.stream, bench.blas.device().stream().unwrap());
    let other = Blas::with(&second, choice()).unwrap();
    let (mut a, b) = (square(first, 3.0), square(first, 1.0));
    let mut c = DeviceBuffer::zeroed(first, SIZE * SIZE).unwrap();
    for round in 1..5 {
        multiply(&bench.blas, &a, &b, &mut c);
        let mut view = VectorMut::of(&mut a).unwrap();
        other.scal(&mut view).alpha(2.0).run().unwrap();
        let expected = 3.0 * (1 << (round - 1)) as f32 * SIZE as f32;
        assert_eq!(c.to_vec(&second).unwrap(), vec![expected; SIZE * SIZE], "{round}");
    }
}

#[test]
fn calls_of_one_blas_on_another_stream_follow_those_before() {
    let mut bench = Bench::open();
    let second = bench.blas.device().stream().unwrap();
    let mut x = bench.upload(&[1.0_f32; 5000]);
    for round in 0..4 {
        let mut view = VectorMut::of(&mut x).unwrap();
        bench.blas.scal(&mut view).alpha(2.0).run().unwrap();
        let sum = {
            let next = if round % 2 == 0 { &second } else { &bench.stream };
            bench.blas.set_stream(next).unwrap();
            bench.blas.asum(&Vector::of(&x).unwrap()).run().unwrap()
        };
        assert_eq!(sum, 5000.0 * (2 << round) as f32);
    }
}

/// A triangle of ones times a vector of ones, which needs a workspace.
fn counts(bench: &Bench, n: usize) -> rocblas::Result<Vec<f32>> {
    let a = bench.upload(&vec![1.0_f32; n * n]);
    let mut x = bench.upload(&vec![1.0_f32; n]);
    let a = Matrix::new(&a, MatrixLayout::column_major(n, n))?;
    bench.blas.trmv(Fill::Lower, Diag::NonUnit, &a, &mut VectorMut::of(&mut x)?)?;
    Ok(bench.download(&x))
}

#[test]
fn a_workspace_is_used_and_comes_back() {
    if cublas_lacks("function that tells the size of its workspace") {
        return;
    }
    let mut bench = Bench::open();
    let expected: Vec<f32> = (1..=300).map(|count| count as f32).collect();
    assert_eq!(counts(&bench, 300).unwrap(), expected);
    let memory = DeviceBuffer::zeroed(&bench.stream, 1 << 20).unwrap();
    assert!(bench.blas.set_workspace(Some(memory)).unwrap().is_none());
    assert_eq!(bench.blas.workspace_size().unwrap(), 1 << 20);
    assert_eq!(counts(&bench, 300).unwrap(), expected);
    let small = DeviceBuffer::zeroed(&bench.stream, 256).unwrap();
    let before = bench.blas.set_workspace(Some(small)).unwrap().unwrap();
    assert_eq!(before.len(), 1 << 20);
    if amds().is_none() {
        let written = before.to_vec(&bench.stream).unwrap();
        assert!(written.iter().any(|byte| *byte != 0), "the call has not used the workspace");
    }
    let error = counts(&bench, 300).unwrap_err();
    let memory_error = rocblas_sys::rocblas_status::rocblas_status_memory_error;
    assert!(matches!(error, rocblas::Error::Status { code, .. } if code == memory_error), "{error}");
    assert_eq!(bench.blas.set_workspace(None).unwrap().unwrap().len(), 256);
    assert_eq!(counts(&bench, 300).unwrap(), expected);
}

/// Makes a call on the stream fault, and the next wait for the stream return the error.
fn fail(bench: &Bench) {
    let device = bench.blas.device().clone();
    let (address, len, owner) = bench.upload(&[1.0_f32; 64]).into_raw_parts().unwrap();
    // SAFETY: there are fewer elements, which this test needs: the virtual GPU stops the kernel, and nothing
    // is written there.
    let too_long =
        unsafe { DeviceBuffer::<f32>::from_raw_parts(&device, address, len << 16, owner) }.unwrap();
    let mut y = bench.upload(&vec![0.0_f32; 1 << 10]);
    let x = Vector::new(&too_long, VectorLayout::new(1 << 10).with_increment(1 << 11)).unwrap();
    let _ = bench.blas.axpy(&x, &mut VectorMut::of(&mut y).unwrap()).run();
    assert!(matches!(bench.stream.synchronize(), Err(hip::Error::Fault(_))));
}

#[test]
fn a_stream_that_has_failed_can_be_left() {
    if cublas_lacks("device after a fault: the driver gives it up for the process") {
        return;
    }
    if amds().is_some() {
        return test_skip::skip(test_skip::Lack::Device, "AMD's HIP ends a process whose kernel faults");
    }
    let mut bench = Bench::open();
    let device = bench.blas.device().clone();
    let next = device.stream().unwrap();
    let mut x = bench.upload(&[3.0_f32; 100]);
    let memory = DeviceBuffer::zeroed(&bench.stream, 1 << 20).unwrap();
    bench.blas.set_workspace(Some(memory)).unwrap();
    bench.blas.scal(&mut VectorMut::of(&mut x).unwrap()).alpha(2.0).run().unwrap();
    bench.stream.synchronize().unwrap();
    fail(&bench);
    // Results from before the fault are available to another stream.
    assert_eq!(x.to_vec(&next).unwrap(), [6.0; 100]);
    bench.blas.set_stream(&next).unwrap();
    bench.blas.scal(&mut VectorMut::of(&mut x).unwrap()).alpha(2.0).run().unwrap();
    assert_eq!(x.to_vec(&next).unwrap(), [12.0; 100]);
    let failed = std::mem::replace(&mut bench.stream, next);
    let expected: Vec<f32> = (1..=300).map(|count| count as f32).collect();
    assert_eq!(counts(&bench, 300).unwrap(), expected);
    // Returning to it is an error, and changes nothing.
    assert!(matches!(bench.blas.set_stream(&failed), Err(rocblas::Error::Hip(hip::Error::Fault(_)))));
    drop(failed);
    assert_eq!(counts(&bench, 300).unwrap(), expected);
}

#[test]
fn a_fault_inside_a_call_is_an_error_of_what_follows() {
    if cublas_lacks("device after a fault: the driver gives it up for the process") {
        return;
    }
    if amds().is_some() {
        return test_skip::skip(test_skip::Lack::Device, "AMD's HIP ends a process whose kernel faults");
    }
    let bench = Bench::open();
    let device = bench.blas.device().clone();
    let (address, len, owner) = bench.upload(&[1.0_f32; 64]).into_raw_parts().unwrap();
    // SAFETY: there are fewer elements, which this test needs: the virtual GPU stops the kernel, and nothing
    // is written there.
    let too_long =
        unsafe { DeviceBuffer::<f32>::from_raw_parts(&device, address, len << 16, owner) }.unwrap();
    let mut y = bench.upload(&vec![0.0_f32; 1 << 10]);
    let x = Vector::new(&too_long, VectorLayout::new(1 << 10).with_increment(1 << 11)).unwrap();
    // The fault may be found now or later.
    let call = bench.blas.axpy(&x, &mut VectorMut::of(&mut y).unwrap()).run();
    let read = y.to_vec(&bench.stream);
    let error = call.err().or_else(|| read.err().map(rocblas::Error::Hip)).expect("the kernel has faulted");
    assert!(matches!(error, rocblas::Error::Hip(_) | rocblas::Error::Status { .. }), "{error}");
    // The stream stays failed: a later call returns the error and does not compute.
    let mut z = DeviceBuffer::<f32>::zeroed(&device.stream().unwrap(), 4);
    let later = match &mut z {
        Ok(z) => bench.blas.scal(&mut VectorMut::of(z).unwrap()).alpha(2.0).run(),
        Err(_) => return,
    };
    let waited = bench.stream.synchronize();
    assert!(later.is_err() || waited.is_err());
}
