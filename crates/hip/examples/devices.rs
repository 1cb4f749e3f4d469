//! Lists devices, their properties, and their access to each other's memory.

use std::error::Error;

use hip::{Device, Limit, PeerMatrix};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut devices, skipped) = Device::list();
    for skipped in skipped {
        println!("skipped {skipped}");
    }
    if devices.is_empty() {
        // Virtual GPUs are created when they are opened.
        devices = Device::open_all(&"vgpu:gfx1100?count=2".parse()?)?;
    }
    for device in &devices {
        let (properties, memory) = (device.properties(), device.memory_info()?);
        println!("{device}");
        println!("  target         {}", device.target());
        println!("  compute units  {} with waves of {}", properties.compute_units, properties.wave_size);
        println!("  memory         {} of {} MiB free", memory.free >> 20, memory.total >> 20);
        println!("  LDS            {} KiB for a workgroup", properties.lds_per_block >> 10);
        println!("  PCI            {}", properties.pci);
        println!("  UUID           {}", properties.uuid.as_deref().unwrap_or("none"));
        println!("  stack limit    {} bytes for a work-item", device.limit(Limit::Stack)?);
    }
    println!("{}", PeerMatrix::of(&devices)?);
    Ok(())
}
