//! Memory that a node writes is borrowed exclusively when the node is added.
use hip::{DeviceBuffer, Graph};

fn fill(graph: &mut Graph, buffer: &DeviceBuffer<f32>) {
    graph.add_fill(buffer, 1.0, &[]).unwrap();
}

fn main() {}
