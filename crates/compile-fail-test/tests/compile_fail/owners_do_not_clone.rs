//! Owners of handles cannot be copied, so no handle is released twice.
use hip::{DeviceBuffer, Event, HostBuffer};

fn twice(event: &Event, buffer: &DeviceBuffer<f32>, host: &HostBuffer<f32>) -> (Event, DeviceBuffer<f32>, HostBuffer<f32>) {
    (event.clone(), buffer.clone(), host.clone())
}

fn main() {}
