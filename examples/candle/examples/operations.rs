//! The times of candle's operations on the GPU, one line each: a name, a tab, nanoseconds for one operation.
//!
//! Nothing here depends on which `cudarc` candle is built with, so that two builds can be compared. `cargo
//! xtask bench engines --device cuda:0` builds both and runs them in turns.

use std::time::Instant;

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Device, Module, Result, Tensor};

/// Batches of an operation; the median counts.
const ROUNDS: usize = 21;
/// Batches before those.
const WARM_UP: usize = 3;

/// Times an operation in batches of `count`, between which the GPU is waited for.
fn time<T>(name: &str, device: &Device, count: u32, operation: impl Fn() -> Result<T>) -> Result<()> {
    let mut times = Vec::new();
    for round in 0..WARM_UP + ROUNDS {
        let begun = Instant::now();
        for _ in 0..count {
            operation()?;
        }
        device.synchronize()?;
        if round >= WARM_UP {
            times.push(begun.elapsed());
        }
    }
    times.sort_unstable();
    println!("{name}\t{:.0}", times[times.len() / 2].as_nanos() as f64 / f64::from(count));
    Ok(())
}

fn main() -> Result<()> {
    let device = &Device::new_cuda(0)?;
    let random = |shape: &[usize], dtype| Tensor::randn(0_f32, 1.0, shape, device)?.to_dtype(dtype);

    // Almost only the launch.
    let small = random(&[1024], DType::F32)?;
    time("add f32, 1024", device, 1000, || &small + &small)?;
    time("affine f32, 1024", device, 1000, || small.affine(1.5, 0.5))?;
    time("gelu f32, 1024", device, 1000, || small.gelu())?;
    let rows = random(&[8, 128], DType::F32)?;
    time("softmax f32, 8 x 128", device, 1000, || candle_nn::ops::softmax_last_dim(&rows))?;
    time("sum f32, 8 x 128", device, 1000, || rows.sum(1))?;
    let (left, right) = (random(&[64, 64], DType::F32)?, random(&[64, 64], DType::F32)?);
    time("matmul f32, 64", device, 1000, || left.matmul(&right))?;
    // A step of a network on one vector: 5 launches of 3 kinds.
    let (weight, vector) = (random(&[1024, 1024], DType::F16)?, random(&[1, 1024], DType::F16)?);
    time("matmul, add, silu, mul, affine f16, 1 x 1024", device, 200, || {
        let y = (vector.matmul(&weight)? + &vector)?;
        (y.silu()? * &y)?.affine(0.5, 0.0)
    })?;
    let q = |dtype, rows: usize, columns: usize| {
        let weights = Tensor::randn(0_f32, 1.0, (rows, columns), &Device::Cpu)?;
        QMatMul::from_qtensor(QTensor::quantize_onto(&weights, dtype, device)?)
    };
    let vector = random(&[1, 4096], DType::F32)?;
    let batch = random(&[512, 4096], DType::F32)?;
    for (name, dtype) in [("Q4_0", GgmlDType::Q4_0), ("Q8_0", GgmlDType::Q8_0)] {
        let weights = q(dtype, 4096, 4096)?;
        time(&format!("quantised product {name} 4096, 1 vector"), device, 200, || weights.forward(&vector))?;
        time(&format!("quantised product {name} 4096, 512 vectors"), device, 50, || weights.forward(&batch))?;
    }

    // Almost only the kernel.
    let large = random(&[64 << 20], DType::F32)?;
    time("add f32, 64 Mi", device, 20, || &large + &large)?;
    let half = large.to_dtype(DType::F16)?;
    time("gelu f16, 64 Mi", device, 20, || half.gelu())?;
    time("cast f32 to bf16, 64 Mi", device, 20, || large.to_dtype(DType::BF16))?;
    drop((large, half));
    let rows = random(&[16384, 4096], DType::F32)?;
    time("softmax f32, 16384 x 4096", device, 20, || candle_nn::ops::softmax_last_dim(&rows))?;
    time("sum f32, 16384 x 4096", device, 20, || rows.sum(1))?;
    drop(rows);
    for (name, dtype) in [("f32", DType::F32), ("f16", DType::F16), ("bf16", DType::BF16)] {
        let (left, right) = (random(&[4096, 4096], dtype)?, random(&[4096, 4096], dtype)?);
        time(&format!("matmul {name}, 4096"), device, 5, || left.matmul(&right))?;
    }
    let (image, kernel) = (random(&[16, 64, 56, 56], DType::F32)?, random(&[64, 64, 3, 3], DType::F32)?);
    time("conv2d f32, 16 x 64 x 56 x 56 by 3 x 3", device, 10, || image.conv2d(&kernel, 1, 1, 1, 1))?;
    time("randn f32, 1 Mi", device, 100, || Tensor::randn(0_f32, 1.0, 1 << 20, device))?;
    let there = vec![1_f32; 4 << 20];
    time("to the device, 16 MiB", device, 3, || Tensor::new(&there[..], device))?;
    let here = random(&[4 << 20], DType::F32)?;
    time("from the device, 16 MiB", device, 3, || here.to_vec1::<f32>())?;
    Ok(())
}
