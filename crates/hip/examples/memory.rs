//! Where device memory comes from: this crate's cache or the library's pools, and their statistics.

use std::error::Error;

use hip::{Allocator, CacheLimits, Device, DeviceBuffer, MemoryPool};

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::open_default()?;
    let stream = device.stream()?;
    println!("{device} allocates {}", device.allocator());

    // By default, virtual GPUs allocate each buffer separately, so that they know its exact bounds.
    device.set_allocator(Allocator::Caching)?;
    device.set_cache_limits(CacheLimits { reserved: None, unused: Some(64 << 20) });
    for round in 1..=100 {
        let buffer = DeviceBuffer::<u32>::zeroed(&stream, 1000 * round)?;
        assert_eq!(buffer.len(), 1000 * round);
        // Dropped while the fill may still run: the next buffer on this stream reuses the memory, ordered
        // after the fill.
    }
    let stats = device.memory_stats();
    println!("cache: {stats:?}");
    assert!(stats.hits > stats.misses);
    stream.synchronize()?;
    println!("given back: {} bytes", device.trim_memory(0)?);

    if device.properties().memory_pools {
        let pool = MemoryPool::new(&device)?;
        pool.set_release_threshold(1 << 20)?;
        let buffer = pool.allocate::<f32>(&stream, 1 << 16)?;
        println!("pool: {:?}", pool.stats()?);
        drop(buffer);
    }
    Ok(())
}
