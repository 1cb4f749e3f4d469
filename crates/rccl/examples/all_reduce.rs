use hip::{Device, DeviceBuffer, DeviceUri};
use rccl::{Communicator, Group, Op};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // All AMD GPUs are `amdgpu`; these are four virtual ones.
    let devices = Device::open_all(&"vgpu:gfx1100?cus=1&memory=64MiB&count=4".parse::<DeviceUri>()?)?;
    let ranks = Communicator::all(&devices)?;
    let streams = devices.iter().map(Device::stream).collect::<hip::Result<Vec<_>>>()?;
    let mut gradients = Vec::new();
    for (rank, stream) in streams.iter().enumerate() {
        gradients.push(DeviceBuffer::from_slice(stream, &vec![rank as f32; 1000])?);
    }

    let mut group = Group::new();
    for ((rank, stream), gradient) in ranks.iter().zip(&streams).zip(&mut gradients) {
        group.all_reduce_in_place(rank, stream, gradient, Op::Average)?;
    }
    group.launch()?;

    for ((rank, stream), gradient) in ranks.iter().zip(&streams).zip(&gradients) {
        rank.wait(stream, std::time::Duration::from_secs(60))?;
        assert_eq!(gradient.to_vec(stream)?, vec![1.5; 1000]);
    }
    println!("{} ranks by {}", ranks.len(), ranks[0].implementation());
    Ok(())
}
