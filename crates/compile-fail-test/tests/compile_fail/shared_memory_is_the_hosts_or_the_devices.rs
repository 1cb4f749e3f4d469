//! While the host borrows the elements, no kernel can write to them.
use hip::{ManagedBuffer, Stream};

fn both(stream: &Stream, buffer: &mut ManagedBuffer<u32>) {
    let host = buffer.host().unwrap();
    buffer.as_mut_slice().fill(stream, 1).unwrap();
    println!("{}", host[0]);
}

fn main() {}
