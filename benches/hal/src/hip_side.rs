//! HIP's streams and graphs, of any library.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hip::{Device, DeviceBuffer, Event, Function, GraphExec, HostBuffer, LaunchConfig, Module};

use crate::{Shape, Side, modules};

fn kernel(device: &Device) -> Result<Function> {
    Ok(Module::load_embedded(device, &modules::EMPTY)?.function("nothing")?)
}

/// Launches on one stream, one after the other whatever the shape.
pub(crate) struct Stream {
    name: &'static str,
    stream: hip::Stream,
    kernel: Function,
    memory: DeviceBuffer<i32>,
    count: u32,
}

impl Stream {
    pub(crate) fn new(name: &'static str, device: &Device, count: u32) -> Result<Self> {
        let stream = device.stream()?;
        let memory = DeviceBuffer::zeroed(&stream, 1)?;
        Ok(Self { name, kernel: kernel(device)?, memory, stream, count })
    }
}

impl Side for Stream {
    fn name(&self) -> &'static str {
        self.name
    }

    fn submit(&mut self) -> Result<()> {
        let launch = self.kernel.launch(&self.stream).config(LaunchConfig::new(1, 64)).arg(&self.memory);
        let mut prepared = launch.prepare()?;
        for _ in 0..self.count {
            // SAFETY: the kernel does nothing.
            unsafe { prepared.enqueue() }?;
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }
}

/// An executable graph.
pub(crate) struct Graph {
    name: &'static str,
    stream: hip::Stream,
    exec: GraphExec,
    _memory: DeviceBuffer<i32>,
}

fn build(device: &Device, shape: Shape, count: u32) -> Result<(GraphExec, DeviceBuffer<i32>)> {
    let stream = device.stream()?;
    let (kernel, memory) = (kernel(device)?, DeviceBuffer::zeroed(&stream, 1)?);
    let mut graph = hip::Graph::new(device)?;
    let mut nodes = Vec::new();
    for index in 0..count {
        let after = match shape {
            Shape::Chain => nodes.last().copied().into_iter().collect(),
            Shape::Independent => Vec::new(),
            Shape::FanOut if index + 1 == count => nodes.get(1..).unwrap_or_default().to_vec(),
            Shape::FanOut => nodes.first().copied().into_iter().collect(),
        };
        let launch = kernel.launch(&stream).config(LaunchConfig::new(1, 64)).arg(&memory);
        // SAFETY: the kernel does nothing.
        nodes.push(unsafe { graph.add_kernel(launch, &after) }?);
    }
    Ok((graph.instantiate()?, memory))
}

impl Graph {
    pub(crate) fn new(name: &'static str, device: &Device, shape: Shape, count: u32) -> Result<Self> {
        let (exec, memory) = build(device, shape, count)?;
        Ok(Self { name, stream: device.stream()?, exec, _memory: memory })
    }
}

impl Side for Graph {
    fn name(&self) -> &'static str {
        self.name
    }

    fn submit(&mut self) -> Result<()> {
        Ok(self.exec.launch(&self.stream)?)
    }

    fn wait(&mut self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }
}

pub(crate) fn time_to_build(device: &Device, count: u32) -> Result<Duration> {
    let start = Instant::now();
    let graph = build(device, Shape::Chain, count)?;
    let time = start.elapsed();
    drop(graph);
    Ok(time)
}

/// A hundred hops back and forth; the time of one.
pub(crate) fn time_of_a_hop(device: &Device) -> Result<Duration> {
    const HOPS: usize = 100;
    let streams = [device.stream()?, device.stream()?];
    let events = (0..HOPS).map(|_| Event::without_timing(device)).collect::<hip::Result<Vec<_>>>()?;
    let start = Instant::now();
    for (hop, event) in events.iter().enumerate() {
        event.record(&streams[hop % 2])?;
        streams[(hop + 1) % 2].wait_event(event)?;
    }
    streams[HOPS % 2].synchronize()?;
    Ok(start.elapsed() / HOPS as u32)
}

/// What is around a step of a model: a number goes to the device before it, and comes back behind it.
pub(crate) struct Around {
    stream: hip::Stream,
    memory: DeviceBuffer<i32>,
    numbers: Option<[HostBuffer<i32>; 2]>,
}

impl Around {
    pub(crate) fn new(device: &Device) -> Result<Self> {
        let stream = device.stream()?;
        let memory = DeviceBuffer::zeroed(&stream, 1)?;
        let numbers = Some([HostBuffer::zeroed(device, 1)?, HostBuffer::zeroed(device, 1)?]);
        Ok(Self { stream, memory, numbers })
    }

    /// The time of a step, from before the first copy until the last one has ended.
    fn time(&mut self, step: impl FnOnce(&hip::Stream) -> Result<()>) -> Result<Duration> {
        let start = Instant::now();
        let [to, from] = self.numbers.take().context("an earlier step has failed")?;
        let to = self.memory.upload(&self.stream, to)?;
        step(&self.stream)?;
        let from = self.memory.download(&self.stream, from)?;
        let (from, to) = (from.wait()?, to.wait()?);
        self.numbers = Some([to, from]);
        Ok(start.elapsed())
    }

    /// A graph on the stream: the host waits at the end.
    pub(crate) fn graph(&mut self, graph: &Graph) -> Result<Duration> {
        self.time(|stream| Ok(graph.exec.launch(stream)?))
    }

    /// A step elsewhere: the host waits for the stream before it, and for its end.
    pub(crate) fn elsewhere(&mut self, step: &mut dyn Side) -> Result<Duration> {
        self.time(|stream| {
            stream.synchronize()?;
            step.submit()?;
            step.wait()
        })
    }
}
