//! Workloads on virtual GPUs, through `hip`.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use hip::{Device, DeviceBuffer, Function, Module, Stream};
use vgpu::machine::{Executed, Machine};

use crate::contender::Contender;
use crate::workload::{Argument, Workload};

/// The compiled kernels: one module per `.cu` file.
#[allow(unreachable_pub, dead_code, reason = "generated for libraries, which publish it")]
mod modules {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

/// A workload on a virtual GPU.
#[derive(Debug)]
pub(crate) struct OnVirtualGpu<'a> {
    workload: &'a Workload,
    stream: Stream,
    function: Function,
    inputs: Vec<DeviceBuffer<f32>>,
    output: DeviceBuffer<f32>,
}

impl<'a> OnVirtualGpu<'a> {
    /// Opens the device, loads the kernel and copies the inputs.
    pub(crate) fn new(workload: &'a Workload, target: &str) -> Result<Self> {
        let device = Device::open(format!("vgpu:{target}"))?;
        let stream = device.stream()?;
        let (source, kernel) = workload.kernel.source();
        let module = modules::ALL
            .iter()
            .find(|module| module.name == source)
            .ok_or_else(|| anyhow!("{source}.cu is not embedded"))?;
        let module = Module::load_embedded(&device, module)?;
        let function = module.function(kernel).with_context(|| format!("{source}.cu"))?;
        let inputs = workload.inputs.iter().map(|input| DeviceBuffer::from_slice(&stream, input));
        let inputs = inputs.collect::<hip::Result<_>>()?;
        let output = DeviceBuffer::from_slice(&stream, &workload.output)?;
        Ok(OnVirtualGpu { workload, stream, function, inputs, output })
    }

    /// Launches the kernel once to count the instructions that it executes.
    pub(crate) fn count(&mut self) -> Result<Executed> {
        let machine = Machine::global();
        let before = machine.executed();
        machine.count_instructions(true);
        let launched = self.launch();
        machine.count_instructions(false);
        launched?;
        let after = machine.executed();
        Ok(Executed {
            instructions: after.instructions - before.instructions,
            lane_instructions: after.lane_instructions - before.lane_instructions,
        })
    }
}

impl Contender for OnVirtualGpu<'_> {
    fn reset(&mut self) -> Result<()> {
        Ok(self.output.copy_from_host(&self.stream, &self.workload.output)?)
    }

    fn launch(&mut self) -> Result<Duration> {
        let start = Instant::now();
        let mut launch = self.function.launch(&self.stream);
        let mut output = Some(&mut self.output);
        for argument in &self.workload.arguments {
            launch = match *argument {
                Argument::U32(value) => launch.arg(value),
                Argument::F32(value) => launch.arg(value),
                Argument::Input(number) => {
                    launch.arg(self.inputs.get(number).ok_or_else(|| anyhow!("there is no input {number}"))?)
                }
                Argument::Output => {
                    launch.arg(output.take().ok_or_else(|| anyhow!("a kernel has one output"))?)
                }
            };
        }
        let ([grid_x, grid_y], [block_x, block_y]) = (self.workload.grid, self.workload.block);
        let launch = launch.grid((grid_x, grid_y)).block((block_x, block_y));
        // SAFETY: the kernels of this program read their inputs and read and write their output, which have
        // as many elements as the workload's grid and sizes make them use.
        unsafe { launch.enqueue()? };
        self.stream.synchronize()?;
        Ok(start.elapsed())
    }

    fn output(&mut self) -> Result<Vec<f32>> {
        Ok(self.output.to_vec(&self.stream)?)
    }
}
