//! Host memory is not what a kernel's pointer points to.
use hip::{Function, Stream};

fn pass(function: &Function, stream: &Stream, host: *mut f32) {
    let _ = function.launch(stream).arg(host);
}

fn main() {}
