//! A host function runs after the call that enqueued it has returned, so it owns what it uses.
use hip::Stream;

fn borrow(stream: &Stream, values: &[u32]) {
    stream.host_function(|| println!("{values:?}")).unwrap();
}

fn main() {}
