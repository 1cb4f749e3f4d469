//! One process per rank: `mpirun -n 4 target/debug/examples/ranks`, or srun, or torchrun.

use std::time::Duration;

use hip::{Device, DeviceBuffer};
use rccl::{Launch, Op};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launch = Launch::from_env()?;
    // With GPUs: `amdgpu:{local_rank}`.
    let device = match std::env::var("FERROCM_DEVICE") {
        Ok(uri) => Device::open(uri)?,
        Err(_) => Device::open("vgpu:gfx1100?cus=1&memory=64MiB")?,
    };
    let rank = launch.communicator(&device)?;
    let stream = device.stream()?;
    let mut buffer = DeviceBuffer::from_slice(&stream, &[launch.rank() as u64 + 1; 100_000])?;
    rank.all_reduce_in_place(&stream, &mut buffer, Op::Sum)?;
    rank.wait(&stream, Duration::from_secs(60))?;
    let n = launch.size() as u64;
    assert_eq!(buffer.to_vec(&stream)?, vec![n * (n + 1) / 2; 100_000]);
    println!("rank {} of {n}: {}", launch.rank(), n * (n + 1) / 2);
    Ok(())
}
