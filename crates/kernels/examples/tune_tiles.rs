//! Times the tiles of matrix products on an NVIDIA GPU, and writes the rows of `tilings.txt`.
//!
//! `cargo xtask tune --time` runs it; docs/internals/matrix-products.md describes how products choose among
//! them.

use std::error::Error;

use half::f16;
use hip::{Backend, Device, DeviceBuffer, Event, Stream};
use kernels::tune::{TimedTile, tiles};
use kernels::{GemmShape, Kernels};

/// Depths of the timed products. The difference gives the time of a step, the rest is the time besides.
const DEPTHS: [usize; 2] = [1024, 4096];
/// Calls that are timed together, and how often; the median counts.
const CALLS: usize = 20;
const SERIES: usize = 7;
/// Bytes of operands that calls take turns in, so that the L2 cache does not hold all of them.
const OPERANDS: usize = 120 << 20;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let (mut uris, mut out) = (Vec::new(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--device" => uris.push(value()?),
            "--out" => out = Some(value()?),
            _ => return Err(format!("{argument}: expected --device URI or --out FILE").into()),
        }
    }
    let mut devices: Vec<Device> = uris.iter().map(Device::open).collect::<hip::Result<_>>()?;
    if devices.is_empty() {
        devices.push(Device::open_default()?);
    }
    for device in devices.iter().filter(|device| device.backend() == Backend::Cuda) {
        let tiles = tiles(device);
        if tiles.is_empty() {
            return Err(format!("{} does not multiply by wgmma, and has no tiles", device.target()).into());
        }
        let mut text = format!(
            "# Tiles of products that NVIDIA's `wgmma` multiplies, and their times: written by `cargo xtask tune --time` on\n\
             # {}.\n\
             # rows columns, workgroups that share the depth, nanoseconds of 64 in depth, nanoseconds besides\n",
            device.name()
        );
        for tile in tiles {
            let row = row(device, tile)?;
            eprintln!("{row}");
            text += &row;
            text.push('\n');
        }
        match &out {
            Some(file) => std::fs::write(file, text)?,
            None => print!("{text}"),
        }
    }
    Ok(())
}

fn row(device: &Device, tile: TimedTile) -> Result<String> {
    let stream = device.stream()?;
    let mut measured = [(0, 0); 2];
    for (time, k) in measured.iter_mut().zip(DEPTHS) {
        *time = (k, nanoseconds(device, &stream, tile, k)?);
    }
    Ok(tile.row(measured))
}

/// The median time of a call.
fn nanoseconds(device: &Device, stream: &Stream, tile: TimedTile, k: usize) -> Result<u64> {
    let (product, how) = tile.product(k).ok_or("the tile has no kernel")?;
    let kernels = Kernels::new(device);
    let function = kernels.function(how.module, how.kernel)?;
    let GemmShape::Blocks(shape) = how.shape else { return Err("a tile's product has blocks".into()) };
    let sizes = [product.m * product.k, product.n * product.k];
    let sets = (OPERANDS / ((sizes[0] + sizes[1]) * 2)).clamp(1, 8);
    // Numbers of different bits: a GPU is quicker with zeros.
    let numbers = |count: usize| -> Vec<f16> {
        (0..count)
            .map(|i| f16::from_f32((i.wrapping_mul(2_654_435_761) >> 7 & 0xfff) as f32 / 4096.0 - 0.5))
            .collect()
    };
    let mut operands = Vec::new();
    for _ in 0..sets {
        let [a, b] = sizes.map(|size| DeviceBuffer::from_slice(stream, &numbers(size)));
        operands.push((a?, b?, DeviceBuffer::<f16>::zeroed(stream, product.m * product.n)?));
    }
    let mut call = |i: usize| -> Result<()> {
        let (a, b, c) = &mut operands[i % sets];
        let launch = function.launch(stream).grid(how.grid).block(how.block).dynamic_lds(how.dynamic_lds);
        let launch = launch.arg(shape).arg(1.0_f32).arg(&*a).arg(&*b).arg(0.0_f32).arg(c);
        // SAFETY: the shape is that of the product, whose dense matrices the buffers hold.
        unsafe { launch.enqueue()? };
        Ok(())
    };
    (0..CALLS).try_for_each(&mut call)?;
    let mut times = Vec::new();
    for _ in 0..SERIES {
        let (begin, end) = (Event::new(device)?, Event::new(device)?);
        begin.record(stream)?;
        (0..CALLS).try_for_each(&mut call)?;
        end.record(stream)?;
        times.push(end.elapsed_since(&begin)?.as_nanos() as u64 / CALLS as u64);
    }
    times.sort_unstable();
    Ok(times[SERIES / 2])
}
