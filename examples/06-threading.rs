//! Several threads use one device: devices, functions and buffers can be shared and sent.
//!
//! `cargo run --bin 06-threading`

use hip::{Device, DeviceBuffer};

const SOURCE: &str = r#"
extern "C" __global__ void square(unsigned n, unsigned* x) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= x[i];
}
"#;

fn main() -> hip::Result<()> {
    const N: usize = 1000;
    let device = Device::open_default()?;
    let square = device.compile(SOURCE)?.function("square")?;

    // There is no current device to set. Each thread has its own stream, so that their work can run
    // concurrently.
    let work = |number: u32| -> hip::Result<DeviceBuffer<u32>> {
        let stream = device.stream()?;
        let mut buffer = DeviceBuffer::from_slice(&stream, &[number; N])?;
        let launch = square.launch(&stream).elements(N, 256).arg(N as u32).arg(&mut buffer);
        // SAFETY: `square` reads and writes x[0..n].
        unsafe { launch.enqueue()? };
        Ok(buffer)
    };
    let buffers = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=4).map(|number| scope.spawn(move || work(number))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"))
            .collect::<hip::Result<Vec<_>>>()
    })?;

    // Reading a buffer waits for the work on it, from any thread and stream.
    let stream = device.stream()?;
    for (buffer, number) in buffers.iter().zip(1..) {
        let squares = buffer.to_vec(&stream)?;
        println!("thread {number}: {} times {}", squares.len(), squares[0]);
        assert_eq!(squares, [number * number; N]);
    }
    Ok(())
}
