//! What it costs that an engine reaches a kernel by way of CUDA's API: candle's operations beside launches of
//! the same kernels by `hip`.
//!
//! Both allocate their result, launch one kernel of one code object on a stream of their own, and free it.
//! They take turns, so that what else the machine does slows both. `cargo xtask bench engines` runs this.

use std::time::{Duration, Instant};

use candle_core::cuda_backend::kernels;
use candle_core::{DType, Device, Tensor};
use hip::{DeviceBuffer, Function, LaunchConfig, Stream};

type Failure = Box<dyn std::error::Error>;

/// Rounds; in each, both run.
const ROUNDS: usize = 101;
/// Rounds before those.
const WARM_UP: usize = 50;
/// What candle's own benchmarks compute on, and a size at which the launch is all there is.
const ELEMENTS: [usize; 2] = [1024 * 1024, 1024];

/// An operation, by candle and by `hip`.
struct Case<'a> {
    name: String,
    candle: Box<dyn Fn() -> Result<(), Failure> + 'a>,
    hip: Box<dyn Fn() -> Result<(), Failure> + 'a>,
}

fn main() -> Result<(), Failure> {
    let cuda = Device::new_cuda(0)?;
    let device = hip::Device::open_default()?;
    let stream = device.stream()?;
    let load = |module: &kernels::Module| -> Result<hip::Module, Failure> {
        Ok(hip::Module::load(&device, &code_object::text::decode(module.ptx())?)?)
    };
    let (affine, binary, unary) = (load(&kernels::AFFINE)?, load(&kernels::BINARY)?, load(&kernels::UNARY)?);
    let affine = affine.function("affine_f32")?;
    let add = binary.function("badd_f32")?;
    let sqrt = unary.function("usqrt_f32")?;
    let gelu = unary.function("ugelu_f32")?;

    println!("{device}, {ROUNDS} rounds, medians");
    println!("| operation | elements | candle | `hip` | candle beside `hip` |\n|---|--:|--:|--:|--:|");
    for elements in ELEMENTS {
        let x = Tensor::ones(elements, DType::F32, &cuda)?;
        let input = DeviceBuffer::from_slice(&stream, &vec![1.0_f32; elements])?;
        let (x, input, stream) = (&x, &input, &stream);
        let unary = |name: &str, function: &'_ Function, op: fn(&Tensor) -> candle_core::Result<Tensor>| {
            let function = function.clone();
            Case {
                name: name.to_owned(),
                candle: Box::new(move || Ok(drop(op(x)?))),
                hip: Box::new(move || {
                    let mut out = DeviceBuffer::<f32>::uninit_on(stream, elements)?;
                    let launch = begin(&function, stream, elements).arg(elements).arg(1_usize).arg(NOTHING);
                    // SAFETY: without dimensions, the kernel reads and writes `elements` values side by side.
                    Ok(unsafe { launch.arg(input).arg(&mut out).enqueue() }?)
                }),
            }
        };
        let cases = [
            Case {
                name: "affine".to_owned(),
                candle: Box::new(|| Ok(drop(x.affine(12.34, 56.78)?))),
                hip: Box::new(|| {
                    let mut out = DeviceBuffer::<f32>::uninit_on(stream, elements)?;
                    let launch = begin(&affine, stream, elements).arg(elements).arg(1_usize).arg(NOTHING);
                    let launch = launch.arg(input).arg(&mut out).arg(12.34_f32).arg(56.78_f32);
                    // SAFETY: as above.
                    Ok(unsafe { launch.enqueue() }?)
                }),
            },
            Case {
                name: "add".to_owned(),
                candle: Box::new(|| Ok(drop((x + x)?))),
                hip: Box::new(|| {
                    let mut out = DeviceBuffer::<f32>::uninit_on(stream, elements)?;
                    let launch = begin(&add, stream, elements).arg(elements).arg(1_usize).arg(NOTHING);
                    // SAFETY: as above.
                    Ok(unsafe { launch.arg(input).arg(input).arg(&mut out).enqueue() }?)
                }),
            },
            unary("sqrt", &sqrt, Tensor::sqrt),
            unary("gelu", &gelu, Tensor::gelu),
        ];
        for case in cases {
            let candle = || -> Result<(), Failure> { (case.candle)().and_then(|()| Ok(cuda.synchronize()?)) };
            let hip = || -> Result<(), Failure> { (case.hip)().and_then(|()| Ok(stream.synchronize()?)) };
            let (mut by_candle, mut by_hip) = (Vec::new(), Vec::new());
            for _ in 0..WARM_UP {
                time(candle)?;
                time(hip)?;
            }
            for _ in 0..ROUNDS {
                by_candle.push(time(candle)?);
                by_hip.push(time(hip)?);
            }
            let (by_candle, by_hip) = (median(by_candle), median(by_hip));
            println!(
                "| {} | {elements} | {:.0} µs | {:.0} µs | {:+.1} % |",
                case.name,
                by_candle.as_secs_f64() * 1e6,
                by_hip.as_secs_f64() * 1e6,
                100.0 * (by_candle.as_secs_f64() / by_hip.as_secs_f64() - 1.0)
            );
        }
    }
    Ok(())
}

/// What candle passes for the dimensions of neighbouring elements.
const NOTHING: Option<&DeviceBuffer<usize>> = None;

/// A launch with the grid that candle takes.
fn begin<'a>(function: &'a Function, stream: &'a Stream, elements: usize) -> hip::Launch<'a> {
    function.launch(stream).config(LaunchConfig::for_elements(elements, 1024))
}

fn time(work: impl Fn() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
