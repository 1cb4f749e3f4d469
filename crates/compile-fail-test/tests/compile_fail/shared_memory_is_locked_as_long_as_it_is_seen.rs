//! The elements of host memory that a graph uses are only seen while they are locked.
use hip::SharedHostBuffer;

fn keep(shared: &SharedHostBuffer<f32>) -> &f32 {
    shared.lock(|elements| &elements[0]).unwrap()
}

fn main() {}
