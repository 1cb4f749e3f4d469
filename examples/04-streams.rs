//! Two streams: work on each runs in order, and a buffer that both use orders them. Events measure time.
//!
//! `cargo run --bin 04-streams`

use hip::{Device, DeviceBuffer};

const SOURCE: &str = r#"
extern "C" __global__ void add(unsigned n, float a, float* x) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += a;
}
"#;

fn main() -> hip::Result<()> {
    let device = Device::open_default()?;
    let add = device.compile(SOURCE)?.function("add")?;
    let (first, second) = (device.stream()?, device.stream()?);

    let n = 1 << 20;
    let mut shared = DeviceBuffer::<f32>::zeroed(&first, n)?;
    let mut other = DeviceBuffer::<f32>::zeroed(&second, n)?;

    // Only the second stream uses `other`, so that launch may run at the same time as those on the first.
    let launch = add.launch(&second).elements(n, 256).arg(n as u32).arg(1.0_f32).arg(&mut other);
    // SAFETY: `add` reads and writes x[0..n].
    unsafe { launch.enqueue()? };

    let start = first.record()?;
    for stream in [&first, &second, &first, &second] {
        // Both streams use `shared`: each launch waits on the device for the previous one. This is automatic.
        let launch = add.launch(stream).elements(n, 256).arg(n as u32).arg(0.5_f32).arg(&mut shared);
        // SAFETY: `add` reads and writes x[0..n].
        unsafe { launch.enqueue()? };
    }
    let end = second.record()?;

    println!("four launches took {:?} on the device", end.elapsed_since(&start)?);
    assert!(shared.to_vec(&first)?.iter().all(|value| *value == 2.0));
    assert!(other.to_vec(&second)?.iter().all(|value| *value == 1.0));
    Ok(())
}
