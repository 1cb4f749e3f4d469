//! saxpy, softmax and a tiled GEMM in three element types on a device of your choice, checked against f64 on
//! the CPU.
//!
//! `cargo xtask demo` sets up the device toolchain and runs this. Options: `--device URI` (default:
//! `FERROCM_DEVICE`, else `auto`), `--verbose`.

use std::error::Error;
use std::time::Instant;

use half::{bf16, f16};
use hip::{Device, DeviceBuffer, Stream};
use kernels::reference::{self, Comparison, Expected};
use kernels::{Float, Gemm, GemmElement, Kernels};

/// Elements of the saxpy.
const ELEMENTS: usize = 4 << 20;
/// Rows and columns of the softmax.
const ROWS: usize = 1024;
const COLUMNS: usize = 1024;
/// Rows and columns of the GEMM's matrices.
const SIDE: usize = 256;

fn main() {
    if let Err(error) = run() {
        eprintln!("demo: {error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let options = parse_arguments(std::env::args().skip(1))?;
    let device = match &options.device {
        Some(uri) => Device::open(uri)?,
        None => Device::open_default()?,
    };
    println!("{} at {}, waves of {}", device.name(), device.uri(), device.properties().wave_size);
    if options.verbose {
        for skipped in device.skipped() {
            println!("not {skipped}");
        }
    } else if !device.skipped().is_empty() {
        let skipped: Vec<String> =
            device.skipped().iter().map(|skipped| skipped.backend.to_string()).collect();
        println!("(not available: {}; --verbose says why)", skipped.join(", "));
    }
    println!();
    println!(
        "{:<22} {:>4}  {:>11}  {:>16}  {:>10}  {:>8}",
        "operation", "type", "time", "rate", "max error", "of bound"
    );

    let stream = device.stream()?;
    let kernels = Kernels::new(&device);
    let mut passed = true;
    passed &= operations::<f32>(&kernels, &stream)?;
    passed &= operations::<f16>(&kernels, &stream)?;
    passed &= operations::<bf16>(&kernels, &stream)?;
    println!();
    if !passed {
        return Err("a result differs from the f64 reference by more than its arithmetic explains".into());
    }
    println!("every result is within its arithmetic bound of an f64 reference");
    Ok(())
}

#[derive(Default)]
struct Options {
    device: Option<String>,
    verbose: bool,
}

fn parse_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        match argument.split_once('=') {
            Some(("--device", uri)) => options.device = Some(uri.to_owned()),
            None if argument == "--device" => {
                options.device = Some(arguments.next().ok_or("`--device` needs a device URI")?);
            }
            None if argument == "--verbose" => options.verbose = true,
            _ => {
                return Err(format!("unknown argument `{argument}`; usage: demo [--device URI] [--verbose]"));
            }
        }
    }
    Ok(options)
}

/// Runs all operations in one element type. Returns whether all results were right.
fn operations<T: Float<Compute = f32> + GemmElement<Product = T>>(
    kernels: &Kernels,
    stream: &Stream,
) -> Result<bool, Box<dyn Error>> {
    let mut passed = true;

    let x = numbers::<T>(ELEMENTS, 1, 4.0);
    let y = numbers::<T>(ELEMENTS, 2, 4.0);
    let a = 2.5;
    let device_x = DeviceBuffer::from_slice(stream, &x)?;
    let mut device_y = DeviceBuffer::from_slice(stream, &y)?;
    let (seconds, result) = timed(stream, |stream| {
        // the result accumulates in `y`, so every run starts from the same `y`
        device_y.copy_from_host(stream, &y)?;
        stream.synchronize()?;
        let start = Instant::now();
        kernels.axpy(stream, a, &device_x, &mut device_y)?;
        stream.synchronize()?;
        Ok((start.elapsed().as_secs_f64(), ()))
    })
    .and_then(|(seconds, ())| Ok((seconds, device_y.to_vec(stream)?)))?;
    let bytes = (3 * ELEMENTS * size_of::<T>()) as f64;
    passed &= report::<T>(
        &format!("saxpy {} M", ELEMENTS >> 20),
        seconds,
        (bytes, "B/s"),
        &result,
        reference::axpy(a, &x, &y),
    );

    let x = numbers::<T>(ROWS * COLUMNS, 3, 8.0);
    let device_x = DeviceBuffer::from_slice(stream, &x)?;
    let mut device_y = DeviceBuffer::<T>::zeroed(stream, x.len())?;
    let (seconds, ()) = timed(stream, |stream| {
        let start = Instant::now();
        kernels.softmax(stream, &device_x, COLUMNS, &mut device_y)?;
        stream.synchronize()?;
        Ok((start.elapsed().as_secs_f64(), ()))
    })?;
    let result = device_y.to_vec(stream)?;
    let elements = (ROWS * COLUMNS) as f64;
    let expected = reference::softmax(&x, COLUMNS);
    passed &=
        report::<T>(&format!("softmax {ROWS}x{COLUMNS}"), seconds, (elements, "elem/s"), &result, expected);

    let a = numbers::<T>(SIDE * SIDE, 4, 1.0);
    let b = numbers::<T>(SIDE * SIDE, 5, 1.0);
    let device_a = DeviceBuffer::from_slice(stream, &a)?;
    let device_b = DeviceBuffer::from_slice(stream, &b)?;
    let mut device_c = DeviceBuffer::<T>::zeroed(stream, SIDE * SIDE)?;
    let gemm = Gemm::new(SIDE, SIDE, SIDE);
    let (seconds, ()) = timed(stream, |stream| {
        let start = Instant::now();
        kernels.gemm(stream, &gemm, &device_a, &device_b, &mut device_c)?;
        stream.synchronize()?;
        Ok((start.elapsed().as_secs_f64(), ()))
    })?;
    let result = device_c.to_vec(stream)?;
    let operations = 2.0 * (SIDE * SIDE * SIDE) as f64;
    let expected = reference::gemm(SIDE, SIDE, SIDE, 1.0, &a, &b, 0.0, &[]);
    passed &= report::<T>(
        &format!("gemm {SIDE}x{SIDE}x{SIDE}"),
        seconds,
        (operations, "FLOP/s"),
        &result,
        expected,
    );
    Ok(passed)
}

/// Runs an operation three times and returns the best time in seconds. The first run also loads the kernel.
fn timed<R>(
    stream: &Stream,
    mut run: impl FnMut(&Stream) -> kernels::Result<(f64, R)>,
) -> kernels::Result<(f64, R)> {
    let mut best = run(stream)?;
    for _ in 0..2 {
        let next = run(stream)?;
        if next.0 < best.0 {
            best = next;
        }
    }
    Ok(best)
}

/// Prints a line of the table. Returns whether the result was right.
fn report<T: Float<Compute = f32>>(
    operation: &str,
    seconds: f64,
    (amount, unit): (f64, &str),
    result: &[T],
    expected: impl IntoIterator<Item = Expected>,
) -> bool {
    let comparison: Comparison = reference::compare(result, expected);
    let time = format!("{:.2} ms", seconds * 1e3);
    let rate = amount / seconds;
    let rate =
        if rate < 1e9 { format!("{:.0} M{unit}", rate / 1e6) } else { format!("{:.2} G{unit}", rate / 1e9) };
    let verdict = if comparison.passed() { "" } else { "  WRONG" };
    println!(
        "{operation:<22} {:>4}  {time:>11}  {rate:>16}  {:>10.2e}  {:>7.1}%{verdict}",
        T::NAME,
        comparison.max_error,
        comparison.worst * 100.0
    );
    comparison.passed()
}

/// Pseudo-random numbers in `-range..range`, the same for the same seed.
fn numbers<T: Float<Compute = f32>>(count: usize, seed: u64, range: f64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(|_| T::from_f64((next() * 2.0 - 1.0) * range)).collect()
}
