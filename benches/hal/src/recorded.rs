//! `hal`: lists that are recorded once.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hal::{
    Affinity, Arg, Buffer, CodeObjects, CommandBuffer, Device, Driver, Grid, Kernel, MemoryKind, Options,
    Queue, Semaphore, Usage,
};

use crate::{Shape, Side, modules, thread_time};

/// Slots of a queue: more than the longest list of the bars.
const PACKETS: u32 = 8192;

/// The virtual GPU that `hip` has opened, straight on HSA.
pub(crate) struct Straight {
    device: Device,
    kernel: Kernel,
    memory: Buffer,
}

pub(crate) fn open(with_hip: &hip::Device) -> Result<Straight> {
    let driver = Driver::over(vgpu::hsa::table())?;
    let uuid = with_hip.properties().uuid.clone();
    let uuid = uuid.context("the device has no UUID")?;
    let mut options = Options::default();
    options.packets = PACKETS;
    let device = driver.open(&format!("amdgpu://{uuid}").parse()?, options)?;
    let kernel = device.load(&CodeObjects::embedded(&modules::EMPTY)?)?.kernel("nothing")?;
    let memory = device.allocate(MemoryKind::Device, 4)?;
    Ok(Straight { device, kernel, memory })
}

impl Straight {
    fn record(&self, shape: Shape, count: u32) -> Result<CommandBuffer> {
        let mut recorder = self.device.record(0, Usage::Reusable)?;
        let args = [Arg::from(&self.memory)];
        for index in 0..count {
            let waits = match shape {
                Shape::Chain => true,
                Shape::Independent => false,
                Shape::FanOut => index == 1 || index + 1 == count,
            };
            if waits {
                recorder.barrier();
            }
            // SAFETY: the kernel does nothing.
            unsafe { recorder.dispatch(&self.kernel, Grid::linear(1, 64), &args) }?;
        }
        Ok(recorder.finish()?)
    }
}

/// A recorded list, replayed.
pub(crate) struct Replay {
    queue: Queue,
    commands: CommandBuffer,
    done: Semaphore,
    value: u64,
}

impl Replay {
    pub(crate) fn new(straight: &Straight, shape: Shape, count: u32) -> Result<Self> {
        let queue = straight.device.queue(Affinity(1))?;
        Ok(Self { queue, commands: straight.record(shape, count)?, done: Semaphore::new(0), value: 0 })
    }
}

impl Side for Replay {
    fn name(&self) -> &'static str {
        "hal"
    }

    fn submit(&mut self) -> Result<()> {
        self.value += 1;
        Ok(self.queue.execute(&self.commands, &[], &[], &[(&self.done, self.value)])?)
    }

    fn wait(&mut self) -> Result<()> {
        Ok(self.done.wait(self.value, None)?)
    }
}

/// The time to submit a list, for the thread and by the clock.
pub(crate) fn time_to_submit(replay: &mut Replay) -> Result<[Duration; 2]> {
    let (start, start_of_thread) = (Instant::now(), thread_time());
    replay.submit()?;
    let times = [start.elapsed(), thread_time() - start_of_thread];
    replay.wait()?;
    Ok(times)
}

pub(crate) fn time_to_record(straight: &Straight, count: u32) -> Result<Duration> {
    let start = Instant::now();
    let commands = straight.record(Shape::Chain, count)?;
    let time = start.elapsed();
    drop(commands);
    Ok(time)
}

/// A hundred hops back and forth; the time of one.
pub(crate) fn time_of_a_hop(straight: &Straight) -> Result<Duration> {
    const HOPS: u64 = 100;
    let queues = [straight.device.queue(Affinity(1))?, straight.device.queue(Affinity(2))?];
    let (go, line) = (Semaphore::new(0), Semaphore::new(0));
    let start = Instant::now();
    for hop in 0..HOPS {
        queues[hop as usize % 2].barrier(&[(&line, hop), (&go, 0)], &[(&line, hop + 1)])?;
    }
    line.wait(HOPS, None)?;
    Ok(start.elapsed() / HOPS as u32)
}
