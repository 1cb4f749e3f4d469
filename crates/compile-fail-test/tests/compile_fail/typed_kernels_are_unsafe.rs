//! Calling a kernel is calling foreign code.
use hip::{LaunchConfig, Stream};

hip::kernels! {
    struct Test {
        unsafe fn nothing();
    }
}

fn call(test: &Test, stream: &Stream) -> hip::Result<()> {
    test.nothing(stream, LaunchConfig::new(1, 1))
}

fn main() {}
