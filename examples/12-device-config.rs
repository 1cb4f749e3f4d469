//! Which devices there are, what they can do, and what a program can set: here the heap of `malloc` in device
//! code.
//!
//! `cargo run --bin 12-device-config`

use hip::{Device, Limit};

const SOURCE: &str = r#"
extern "C" __global__ void greet() {
    unsigned* place = static_cast<unsigned*>(malloc(sizeof(unsigned)));
    if (!place) return;
    *place = threadIdx.x;
    printf("work-item %u of block %u\n", *place, blockIdx.x);
    free(place);
}
"#;

fn main() -> hip::Result<()> {
    let (devices, skipped) = Device::list();
    println!("{} real devices", devices.len());
    for skipped in skipped {
        println!("not used: {skipped}");
    }

    // Opening a virtual GPU creates it as its URI describes it.
    let device = Device::open("vgpu:gfx90a?cus=4&memory=1GiB")?;
    let (properties, memory) = (device.properties(), device.memory_info()?);
    println!("{device}");
    println!("  compute units  {} with waves of {}", properties.compute_units, properties.wave_size);
    println!("  memory         {} MiB", memory.total >> 20);
    println!("  LDS            {} KiB for a block", properties.lds_per_block >> 10);
    assert_eq!((properties.compute_units, properties.wave_size, memory.total), (4, 64, 1 << 30));

    // Some libraries lack some limits: asking for one is an error, not a panic.
    for limit in [Limit::Stack, Limit::Heap] {
        println!("  limit          {limit:?}: {} bytes", device.limit(limit)?);
    }
    // Device code takes slabs of 2 MiB, and waves that ask at the same time may take one each.
    device.set_limit(Limit::Heap, 64 << 20)?;
    assert_eq!(device.limit(Limit::Heap)?, 64 << 20);

    let stream = device.stream()?;
    let greet = device.compile(SOURCE)?.function("greet")?;
    // SAFETY: `greet` accesses only what it has allocated itself.
    unsafe { greet.launch(&stream).grid(2).block(2).enqueue()? };
    // Kernels' output appears on standard output once the stream is synchronised.
    stream.synchronize()
}
