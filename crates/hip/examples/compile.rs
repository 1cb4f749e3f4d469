//! Kernels compiled at run time: templates, errors with line numbers, and the cache on disk.

use std::error::Error;
use std::time::Instant;

use hip::rtc::{Compiler, Program};
use hip::{Device, DeviceBuffer, LaunchConfig};

const SOURCE: &str = r#"
#include "square.h"
template <typename T> __global__ void squares(unsigned n, T* x) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = square(x[i]);
}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::open_default()?;
    let stream = device.stream()?;
    let compiler = Compiler::open()?;

    let program = Program::new(SOURCE)
        .name("squares.hip")
        .header("square.h", "template <typename T> __device__ T square(T x) { return x * x; }")
        .expression("squares<float>")
        .expression("squares<int>");
    for time in ["first", "second"] {
        let start = Instant::now();
        let compiled = compiler.compile(&program, device.target())?;
        println!("{time} time: {:?}", start.elapsed());
        let name = compiled.lowered_name("squares<int>").ok_or("no such kernel")?;
        let squares = compiled.load(&device)?.function(name)?;
        let mut x = DeviceBuffer::from_slice(&stream, &[1, -2, 3_i32])?;
        let launch = squares.launch(&stream).config(LaunchConfig::for_elements(3, 64)).arg(3_u32).arg(&mut x);
        // SAFETY: `squares` reads and writes x[0..3].
        unsafe { launch.enqueue()? };
        assert_eq!(x.to_vec(&stream)?, [1, 4, 9]);
    }

    let error = device.compile("__global__ void broken() {\n    int x = y;\n}").unwrap_err();
    println!("{error}");
    Ok(())
}
