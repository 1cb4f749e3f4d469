//! No type can express what other processes do with memory.
use hip::{Device, DeviceBuffer, Event, IpcEvent, IpcMemory, PhysicalMemory};

fn open(device: &Device, handle: &IpcMemory) -> DeviceBuffer<f32> {
    handle.open::<f32>(device).unwrap()
}

fn open_event(device: &Device, handle: &IpcEvent) -> Event {
    handle.open(device).unwrap()
}

fn import(device: &Device, descriptor: std::fs::File) -> PhysicalMemory {
    PhysicalMemory::import(device, descriptor).unwrap()
}

fn main() {}
