//! What a launch costs on an NVIDIA GPU: by the driver's own function, by `hip` over it, and by cudarc, in
//! turns and in one process.
//!
//! All launch the same kernel of the same PTX with the same four arguments on a stream of their own. A batch
//! is short enough for the driver's queue, so that the time is the caller's. `cargo run --release
//! --manifest-path benches/hip/nvidia/Cargo.toml` runs it.

use std::error::Error;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use cuda_sys::{CUresult, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use hip::{Device, DeviceBuffer, Module};

const PTX: &str = include_str!("../../../../crates/hip/tests/nvidia/kernels.ptx");
const KERNEL: &str = "saxpy";
/// Elements, all in one block.
const ELEMENTS: u32 = 32;
/// Launches of a batch.
const BATCH: u32 = 256;
/// Batches of each.
const ROUNDS: usize = 600;
/// Batches before those.
const WARM_UP: usize = 50;
/// Nodes of the graph.
const NODES: u32 = 2000;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A way to launch, and the times of its batches.
struct Way<'a> {
    name: &'static str,
    batch: Box<dyn FnMut() -> Result<()> + 'a>,
    wait: Box<dyn Fn() -> Result<()> + 'a>,
    times: Vec<Duration>,
}

impl<'a> Way<'a> {
    fn new(
        name: &'static str,
        batch: impl FnMut() -> Result<()> + 'a,
        wait: impl Fn() -> Result<()> + 'a,
    ) -> Self {
        Self { name, batch: Box::new(batch), wait: Box::new(wait), times: Vec::new() }
    }

    fn run(&mut self) -> Result<Duration> {
        let begun = Instant::now();
        (self.batch)()?;
        let time = begun.elapsed();
        (self.wait)()?;
        Ok(time)
    }

    /// Nanoseconds of a launch.
    fn median(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        times[times.len() / 2].as_nanos() as f64 / f64::from(BATCH)
    }
}

fn main() -> Result<()> {
    let device = Device::open("cuda:0")?;
    let stream = device.stream()?;
    let function = Module::load(&device, PTX.as_bytes())?.function(KERNEL)?;
    let x = DeviceBuffer::from_slice(&stream, &[1.0_f32; ELEMENTS as usize])?;
    let y = || DeviceBuffer::<f32>::zeroed(&stream, ELEMENTS as usize);
    let (raw_y, mut prepared_y, mut checked_y, mut graph_y) = (y()?, y()?, y()?, y()?);
    let wait = || Ok(stream.synchronize()?);

    let cuda = cuda_sys::Table::load()?;
    let (mut n, mut a) = (ELEMENTS, 1.0_f32);
    let (mut px, mut py) = (x.as_slice().address(), raw_y.as_slice().address());
    let mut arguments: [*mut c_void; 4] =
        [(&raw mut n).cast(), (&raw mut a).cast(), (&raw mut px).cast(), (&raw mut py).cast()];
    let raw = || {
        for _ in 0..BATCH {
            let (function, stream) = (function.as_raw().cast(), stream.as_raw().cast());
            let arguments = arguments.as_mut_ptr();
            // SAFETY: the kernel reads x[0..n], and reads and writes y[0..n].
            let status = unsafe {
                (cuda.cuLaunchKernel)(function, 1, 1, 1, ELEMENTS, 1, 1, 0, stream, arguments, null_mut())
            };
            if status != CUresult::CUDA_SUCCESS {
                return Err(format!("the driver says {status:?}").into());
            }
        }
        Ok(())
    };

    let launch = function.launch(&stream).grid(1).block(ELEMENTS);
    let mut launch = launch.arg(ELEMENTS).arg(1.0_f32).arg(&x).arg(&mut prepared_y).prepare()?;
    let prepared = || {
        for _ in 0..BATCH {
            // SAFETY: as above.
            unsafe { launch.enqueue() }?;
        }
        Ok(())
    };
    let checked = || {
        for _ in 0..BATCH {
            let launch = function.launch(&stream).grid(1).block(ELEMENTS);
            // SAFETY: as above.
            unsafe { launch.arg(ELEMENTS).arg(1.0_f32).arg(&x).arg(&mut checked_y).enqueue() }?;
        }
        Ok(())
    };

    let context = CudaContext::new(0)?;
    let other = context.new_stream()?;
    let by_cudarc = context.load_module(Ptx::from_src(PTX))?.load_function(KERNEL)?;
    let cudarc_x = other.clone_htod(&[1.0_f32; ELEMENTS as usize])?;
    let mut cudarc_y = other.alloc_zeros::<f32>(ELEMENTS as usize)?;
    let cudarc_without = {
        // Without its events, as candle uses it.
        let stream = other.clone();
        let function = by_cudarc.clone();
        let x = &cudarc_x;
        let y = &mut cudarc_y;
        move || {
            let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (ELEMENTS, 1, 1), shared_mem_bytes: 0 };
            for _ in 0..BATCH {
                let mut builder = stream.launch_builder(&function);
                builder.arg(&ELEMENTS).arg(&1.0_f32).arg(x).arg(&mut *y);
                // SAFETY: as above.
                unsafe { builder.launch(config) }?;
            }
            Ok(())
        }
    };
    // SAFETY: everything of this context is used on one stream.
    unsafe { context.disable_event_tracking() };
    let wait_other = || Ok(other.synchronize()?);

    let mut ways = [
        Way::new("driver", raw, wait),
        Way::new("hip, prepared", prepared, wait),
        Way::new("hip, checked", checked, wait),
        Way::new("cudarc 0.19", cudarc_without, wait_other),
    ];
    for round in 0..WARM_UP + ROUNDS {
        // Each is first as often as the others.
        for index in 0..ways.len() {
            let way = &mut ways[(index + round) % 4];
            let time = way.run()?;
            if round >= WARM_UP {
                way.times.push(time);
            }
        }
    }

    println!("{device}, medians of {ROUNDS} batches of {BATCH} launches");
    println!("| launch by | ns | beside the driver | beside cudarc |\n|---|--:|--:|--:|");
    let (driver, cudarc) = (ways[0].median(), ways[3].median());
    for way in &ways {
        let time = way.median();
        println!("| {} | {time:.0} | {:.3} | {:.3} |", way.name, time / driver, time / cudarc);
    }
    drop(ways);

    let graph = device.capture(|stream| {
        for _ in 0..NODES {
            let launch = function.launch(stream).grid(1).block(ELEMENTS);
            // SAFETY: as above.
            unsafe { launch.arg(ELEMENTS).arg(1.0_f32).arg(&x).arg(&mut graph_y).enqueue()? };
        }
        Ok(())
    })?;
    let exec = graph.instantiate()?;
    let by_hip = time_of_node(|| {
        exec.launch(&stream)?;
        Ok(stream.synchronize()?)
    })?;

    // The same graph by the driver's own functions.
    let done = |status| match status {
        CUresult::CUDA_SUCCESS => Ok(()),
        status => Err(Box::<dyn Error>::from(format!("the driver says {status:?}"))),
    };
    let raw = stream.as_raw().cast();
    let (mut captured, mut instance) = (null_mut(), null_mut());
    // SAFETY: the stream is idle and alive, and the results are places to write to.
    unsafe {
        done((cuda.cuStreamBeginCapture_v2)(raw, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED))?;
        for _ in 0..NODES {
            let (function, arguments) = (function.as_raw().cast(), arguments.as_mut_ptr());
            done((cuda.cuLaunchKernel)(function, 1, 1, 1, ELEMENTS, 1, 1, 0, raw, arguments, null_mut()))?;
        }
        done((cuda.cuStreamEndCapture)(raw, &raw mut captured))?;
        done((cuda.cuGraphInstantiateWithFlags)(&raw mut instance, captured, 0))?;
    }
    let by_driver = time_of_node(|| {
        // SAFETY: the graph's memory is alive.
        done(unsafe { (cuda.cuGraphLaunch)(instance, raw) })?;
        Ok(stream.synchronize()?)
    })?;
    println!(
        "a node of a graph of {NODES}, from the launch to its end: {by_hip:.0} ns, made by the driver's functions \
         {by_driver:.0} ns"
    );
    Ok(())
}

/// Nanoseconds of a node, the median of 20 launches.
fn time_of_node(launch: impl Fn() -> Result<()>) -> Result<f64> {
    let mut times = Vec::new();
    for round in 0..25 {
        let begun = Instant::now();
        launch()?;
        if round >= 5 {
            times.push(begun.elapsed());
        }
    }
    times.sort_unstable();
    Ok(times[times.len() / 2].as_nanos() as f64 / f64::from(NODES))
}
