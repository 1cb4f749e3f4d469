//! Workloads on PoCL, through the OpenCL loader, which is opened at run time.

use std::ffi::c_void;
use std::ptr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_PARTITION_BY_COUNTS, CL_DEVICE_TYPE_CPU, Device, SubDevice};
use opencl3::error_codes::{CL_PLATFORM_NOT_FOUND_KHR, ClError, DLOPEN_RUNTIME_LOAD_FAILED};
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE};
use opencl3::platform::get_platforms;
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_mem};

use crate::contender::Contender;
use crate::workload::{Argument, Workload};

/// PoCL's CPU device.
#[derive(Debug)]
pub(crate) struct Pocl {
    device: Device,
    /// Its number of threads.
    threads: usize,
    /// Its version, as text.
    pub(crate) version: String,
}

impl Pocl {
    /// Looks for PoCL.
    ///
    /// # Errors
    /// Says why there is none.
    pub(crate) fn find() -> Result<Pocl, String> {
        let platforms = match get_platforms() {
            Ok(platforms) => platforms,
            Err(ClError(DLOPEN_RUNTIME_LOAD_FAILED)) => {
                return Err("there is no OpenCL loader (libOpenCL.so.1)".to_owned());
            }
            Err(ClError(CL_PLATFORM_NOT_FOUND_KHR)) => {
                return Err("the OpenCL loader knows no implementation".to_owned());
            }
            Err(error) => return Err(format!("the OpenCL loader: {error}")),
        };
        let mut others = Vec::new();
        for platform in platforms {
            let name = platform.name().map_err(|error| format!("an OpenCL platform's name: {error}"))?;
            if name != "Portable Computing Language" {
                others.push(name);
                continue;
            }
            let read = || -> opencl3::Result<Option<Pocl>> {
                let Some(id) = platform.get_devices(CL_DEVICE_TYPE_CPU)?.first().copied() else {
                    return Ok(None);
                };
                let device = Device::new(id);
                let threads = device.max_compute_units()? as usize;
                let version = device.driver_version()?;
                Ok(Some(Pocl { device, threads, version }))
            };
            return match read() {
                Ok(Some(pocl)) => Ok(pocl),
                Ok(None) => Err("PoCL has no CPU device".to_owned()),
                Err(error) => Err(format!("PoCL: {error}")),
            };
        }
        Err(match others.as_slice() {
            [] => "the OpenCL loader knows no implementation".to_owned(),
            others => format!("the OpenCL loader knows only {}", others.join(", ")),
        })
    }

    /// A workload on this many of PoCL's threads, or `None` if it has fewer.
    pub(crate) fn prepare<'a>(&self, workload: &'a Workload, threads: usize) -> Result<Option<OnPocl<'a>>> {
        match threads.cmp(&self.threads) {
            std::cmp::Ordering::Greater => Ok(None),
            std::cmp::Ordering::Equal => OnPocl::new(workload, self.device, None).map(Some),
            std::cmp::Ordering::Less => {
                let counts = [CL_DEVICE_PARTITION_BY_COUNTS, threads as isize, 0, 0];
                let part = self
                    .device
                    .create_sub_devices(&counts)
                    .map_err(|error| anyhow!("{threads} of PoCL's threads: {error}"))?
                    .pop()
                    .ok_or_else(|| anyhow!("PoCL created no subdevice of {threads} threads"))?;
                OnPocl::new(workload, Device::new(part.id()), Some(part)).map(Some)
            }
        }
    }
}

/// A workload on PoCL. Fields are released in the order of their declaration.
#[derive(Debug)]
pub(crate) struct OnPocl<'a> {
    workload: &'a Workload,
    kernel: Kernel,
    _program: Program,
    _inputs: Vec<Buffer<f32>>,
    output: Buffer<f32>,
    queue: CommandQueue,
    _context: Context,
    _part: Option<SubDevice>,
}

impl<'a> OnPocl<'a> {
    fn new(workload: &'a Workload, device: Device, part: Option<SubDevice>) -> Result<Self> {
        let (source, name) = workload.kernel.source();
        let context = Context::from_device(&device).context("PoCL's context")?;
        let queue = CommandQueue::create_default(&context, 0).context("PoCL's queue")?;
        let program = Program::create_and_build_from_source(&context, workload.kernel.opencl(), "")
            .map_err(|error| anyhow!("{source}.cl: {error}"))?;
        let kernel = Kernel::create(&program, name).with_context(|| format!("{source}.cl: {name}"))?;
        let buffer = |flags, values: &[f32]| {
            let start = values.as_ptr().cast::<c_void>().cast_mut();
            // SAFETY: the buffer has as many elements as the slice it is copied from, which the call only
            // reads.
            unsafe { Buffer::<f32>::create(&context, flags | CL_MEM_COPY_HOST_PTR, values.len(), start) }
        };
        let inputs = workload.inputs.iter().map(|input| buffer(CL_MEM_READ_ONLY, input));
        let inputs = inputs.collect::<opencl3::Result<Vec<_>>>().context("PoCL's inputs")?;
        let output = buffer(CL_MEM_READ_WRITE, &workload.output).context("PoCL's output")?;
        for (index, argument) in (0..).zip(&workload.arguments) {
            let memory = |buffer: &Buffer<f32>| -> cl_mem { opencl3::memory::ClMem::get(buffer) };
            // SAFETY: values and buffers have the types that the kernel declares; the buffers live as long as
            // the kernel.
            unsafe {
                match *argument {
                    Argument::U32(value) => kernel.set_arg(index, &value),
                    Argument::F32(value) => kernel.set_arg(index, &value),
                    Argument::Input(number) => match inputs.get(number) {
                        Some(input) => kernel.set_arg(index, &memory(input)),
                        None => bail!("there is no input {number}"),
                    },
                    Argument::Output => kernel.set_arg(index, &memory(&output)),
                }
            }
            .with_context(|| format!("{source}.cl: argument {index} of {name}"))?;
        }
        Ok(OnPocl {
            workload,
            kernel,
            _program: program,
            _inputs: inputs,
            output,
            queue,
            _context: context,
            _part: part,
        })
    }
}

impl Contender for OnPocl<'_> {
    fn reset(&mut self) -> Result<()> {
        // SAFETY: the buffer has as many elements, and the call returns when they are copied.
        let written = unsafe {
            self.queue.enqueue_write_buffer(&mut self.output, CL_BLOCKING, 0, &self.workload.output, &[])
        };
        written.context("PoCL's output")?;
        Ok(())
    }

    fn launch(&mut self) -> Result<Duration> {
        let start = Instant::now();
        let block = self.workload.block.map(|items| items as usize);
        let items = [0, 1].map(|i| self.workload.grid[i] as usize * block[i]);
        // SAFETY: both sizes have two dimensions, all arguments are set, and the kernel stays in its buffers.
        let launched = unsafe {
            self.queue.enqueue_nd_range_kernel(
                self.kernel.get(),
                2,
                ptr::null(),
                items.as_ptr(),
                block.as_ptr(),
                &[],
            )
        };
        launched.context("PoCL's launch")?;
        self.queue.finish().context("PoCL's kernel")?;
        Ok(start.elapsed())
    }

    fn output(&mut self) -> Result<Vec<f32>> {
        let mut values = vec![0.0; self.workload.output.len()];
        // SAFETY: the buffer has as many elements, and the call returns when they are copied.
        let read = unsafe { self.queue.enqueue_read_buffer(&self.output, CL_BLOCKING, 0, &mut values, &[]) };
        read.context("PoCL's output")?;
        Ok(values)
    }
}
