use hip::{Device, DeviceBuffer, Graph};

fn freed(device: &Device, output: &mut DeviceBuffer<f32>) -> hip::Result<()> {
    let mut graph = Graph::new(device)?;
    let (_, scratch) = graph.add_allocation::<f32>(1000, &[])?;
    graph.add_free(scratch, &[])?;
    graph.add_copy(output, &scratch, &[])?;
    Ok(())
}

fn freed_while_viewed(device: &Device, output: &mut DeviceBuffer<f32>) -> hip::Result<()> {
    let mut graph = Graph::new(device)?;
    let (_, scratch) = graph.add_allocation::<f32>(1000, &[])?;
    let view = scratch.as_slice();
    graph.add_free(scratch, &[])?;
    graph.add_copy(output, view, &[])?;
    Ok(())
}

fn main() {}
