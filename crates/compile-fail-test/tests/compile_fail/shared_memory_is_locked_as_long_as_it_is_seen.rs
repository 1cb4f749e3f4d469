//! Host memory that a graph uses can only be read while it is locked.
use hip::SharedHostBuffer;

fn keep(shared: &SharedHostBuffer<f32>) -> &f32 {
    shared.lock(|elements| &elements[0]).unwrap()
}

fn main() {}
