//! A kernel's pointer does not point to host memory.
use hip::{Function, Stream};

fn pass(function: &Function, stream: &Stream, host: *mut f32) {
    let _ = function.launch(stream).arg(host);
}

fn main() {}
