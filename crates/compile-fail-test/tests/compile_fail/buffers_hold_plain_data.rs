//! A device can write any bytes: only types for which all are valid lie in its memory.
use hip::DeviceBuffer;

fn booleans(_: DeviceBuffer<bool>) {}

fn references(_: DeviceBuffer<&'static f32>) {}

fn owners(_: DeviceBuffer<String>) {}

fn main() {}
