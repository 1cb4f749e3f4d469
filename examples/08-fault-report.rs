//! A kernel with a mistake. A virtual GPU reports an error that names the line, the instruction and the lane.
//!
//! `cargo run --bin 08-fault-report`

use hip::{Device, DeviceBuffer};

const SOURCE: &str = r#"
extern "C" __global__ void count(float* data) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] += 1.0f; // forgets that the last block may be larger than what is left
}
"#;

fn main() -> hip::Result<()> {
    // On a real GPU such a kernel may go unnoticed, or end the process.
    let device = Device::open("vgpu:gfx1100")?;
    let stream = device.stream()?;
    let count = device.compile(SOURCE)?.function("count")?;

    let n = 1000;
    let mut data = DeviceBuffer::<f32>::zeroed(&stream, n)?;
    let launch = count.launch(&stream).elements(n, 256).arg(&mut data);
    // SAFETY: this is not safe: 24 work-items access memory behind the buffer. The virtual GPU catches it.
    unsafe { launch.enqueue()? };

    let error = stream.synchronize().expect_err("the virtual GPU finds the mistake");
    println!("{error}");

    // The report as data, for programs that handle it.
    let fault = error.fault().and_then(|report| report.details()).expect("a virtual GPU knows the details");
    assert_eq!((&*fault.kernel, fault.at.lane), ("count", Some(8)));

    // That stream accepts no more work. Other streams do, and the process goes on.
    let next = device.stream()?;
    data.fill(&next, 3.0)?;
    assert_eq!(data.to_vec(&next)?, [3.0; 1000]);
    Ok(())
}
