//! A host function runs when the call that gave it has long returned.
use hip::Stream;

fn borrow(stream: &Stream, values: &[u32]) {
    stream.host_function(|| println!("{values:?}")).unwrap();
}

fn main() {}
