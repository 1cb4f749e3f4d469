//! A device can write any bytes, so its memory holds only types for which all bytes are valid.
use hip::DeviceBuffer;

fn booleans(_: DeviceBuffer<bool>) {}

fn references(_: DeviceBuffer<&'static f32>) {}

fn owners(_: DeviceBuffer<String>) {}

fn main() {}
