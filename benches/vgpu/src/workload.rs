//! The seven kernels: their arguments and expected results.

use std::sync::OnceLock;

use anyhow::{Result, bail};
use clap::ValueEnum;

/// A kernel to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Kernel {
    /// y = a x + y, 16 Mi elements
    Saxpy,
    /// 1024 by 1024 points, at most 256 iterations: divergent
    Mandelbrot,
    /// 8 chains of 1000 multiply-adds, 64 Ki work-items
    Alu,
    /// Matrix product of side 512, operands from global memory
    GemmNaive,
    /// The same with 16 by 16 tiles in LDS
    GemmLds,
    /// The same with 64 by 64 tiles in LDS and 4 by 4 elements per work-item in registers
    GemmRegister,
    /// Softmax of 4096 rows of 1024 elements
    Softmax,
}

impl Kernel {
    /// All of them, in the order of the table.
    pub(crate) const ALL: [Kernel; 7] = [
        Kernel::Saxpy,
        Kernel::Mandelbrot,
        Kernel::Alu,
        Kernel::GemmNaive,
        Kernel::GemmLds,
        Kernel::GemmRegister,
        Kernel::Softmax,
    ];

    /// The source without extension, and the kernel's name in it.
    pub(crate) fn source(self) -> (&'static str, &'static str) {
        match self {
            Kernel::Saxpy => ("saxpy", "saxpy"),
            Kernel::Mandelbrot => ("mandelbrot", "mandelbrot"),
            Kernel::Alu => ("alu", "alu"),
            Kernel::GemmNaive => ("gemm", "gemm_naive"),
            Kernel::GemmLds => ("gemm", "gemm_lds"),
            Kernel::GemmRegister => ("gemm", "gemm_register"),
            Kernel::Softmax => ("softmax", "softmax"),
        }
    }

    /// The OpenCL C of the same kernel.
    pub(crate) fn opencl(self) -> &'static str {
        match self.source().0 {
            "saxpy" => include_str!("../kernels/saxpy.cl"),
            "mandelbrot" => include_str!("../kernels/mandelbrot.cl"),
            "alu" => include_str!("../kernels/alu.cl"),
            "gemm" => include_str!("../kernels/gemm.cl"),
            _ => include_str!("../kernels/softmax.cl"),
        }
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument {
    U32(u32),
    F32(f32),
    /// An input, by number.
    Input(usize),
    Output,
}

/// A launch of a kernel.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) kernel: Kernel,
    /// Workgroups.
    pub(crate) grid: [u32; 2],
    /// Work-items of a workgroup.
    pub(crate) block: [u32; 2],
    pub(crate) arguments: Vec<Argument>,
    /// The inputs, which the kernel only reads.
    pub(crate) inputs: Vec<Vec<f32>>,
    /// The content of the output before the launch.
    pub(crate) output: Vec<f32>,
    /// The expected content of the output after the launch.
    expected: Vec<f32>,
    /// The largest relative error of an element. Zero requires identical bits.
    tolerance: f32,
    /// The amount of work, in `unit` times a second.
    pub(crate) work: f64,
    pub(crate) unit: &'static str,
}

const MEGA: f64 = 1e6;
const GIGA: f64 = 1e9;

impl Workload {
    pub(crate) fn new(kernel: Kernel) -> Workload {
        match kernel {
            Kernel::Saxpy => saxpy(),
            Kernel::Mandelbrot => mandelbrot(),
            Kernel::Alu => alu(),
            Kernel::GemmNaive => gemm(kernel, 16),
            Kernel::GemmLds => gemm(kernel, 16),
            Kernel::GemmRegister => gemm(kernel, 64),
            Kernel::Softmax => softmax(),
        }
    }

    /// Compares a result with the reference.
    pub(crate) fn check(&self, found: &[f32]) -> Result<()> {
        if found.len() != self.expected.len() {
            bail!("got {} elements, expected {}", found.len(), self.expected.len());
        }
        let right = |found: f32, expected: f32| {
            found.to_bits() == expected.to_bits()
                || (found - expected).abs() <= self.tolerance * expected.abs()
        };
        let mut wrong = found.iter().zip(&self.expected).enumerate().filter(|(_, (f, e))| !right(**f, **e));
        let Some((index, (found, expected))) = wrong.next() else { return Ok(()) };
        let more = wrong.count();
        bail!("element {index} is {found:?}, expected {expected:?}; {more} more elements are wrong");
    }
}

/// Numbers from -1 to 1 that look random.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn saxpy() -> Workload {
    const ELEMENTS: usize = 16 << 20;
    const A: f32 = 1.25;
    let (x, y) = (numbers(ELEMENTS, 1), numbers(ELEMENTS, 2));
    Workload {
        kernel: Kernel::Saxpy,
        grid: [ELEMENTS as u32 / 256, 1],
        block: [256, 1],
        arguments: vec![
            Argument::U32(ELEMENTS as u32),
            Argument::F32(A),
            Argument::Input(0),
            Argument::Output,
        ],
        expected: x.iter().zip(&y).map(|(x, y)| A.mul_add(*x, *y)).collect(),
        inputs: vec![x],
        output: y,
        tolerance: 0.0,
        work: ELEMENTS as f64 / MEGA,
        unit: "Melem/s",
    }
}

fn mandelbrot() -> Workload {
    const SIZE: u32 = 1024;
    const LIMIT: u32 = 256;
    let scale = 3.0 / SIZE as f32;
    let point = |x: u32, y: u32| {
        let (cr, ci) = (x as f32 * scale - 2.0, y as f32 * scale - 1.5);
        let (mut zr, mut zi) = (0f32, 0f32);
        let mut count = 0;
        while count < LIMIT {
            let (r2, i2) = (zr * zr, zi * zi);
            if r2 + i2 > 4.0 {
                break;
            }
            zi = (2.0 * zr).mul_add(zi, ci);
            zr = r2 - i2 + cr;
            count += 1;
        }
        count
    };
    let counts: Vec<u32> = (0..SIZE).flat_map(|y| (0..SIZE).map(move |x| point(x, y))).collect();
    Workload {
        kernel: Kernel::Mandelbrot,
        grid: [SIZE / 16, SIZE / 16],
        block: [16, 16],
        arguments: vec![Argument::U32(SIZE), Argument::U32(LIMIT), Argument::Output],
        inputs: Vec::new(),
        output: vec![0.0; counts.len()],
        work: counts.iter().copied().map(f64::from).sum::<f64>() / MEGA,
        expected: counts.into_iter().map(|count| count as f32).collect(),
        tolerance: 0.0,
        unit: "Miter/s",
    }
}

fn alu() -> Workload {
    const ITEMS: usize = 64 << 10;
    const CHAINS: usize = 8;
    const ROUNDS: usize = 1000;
    const A: f32 = 0.999;
    const B: f32 = 0.25;
    // The reference computes a few items; all others are like one of them.
    const DISTINCT: usize = 1024;
    let few = numbers(DISTINCT, 3);
    let results: Vec<f32> = few
        .iter()
        .map(|first| {
            (0..CHAINS)
                .map(|chain| (0..ROUNDS).fold(first + chain as f32, |x, _| x.mul_add(A, B)))
                .fold(0.0, |sum, x| sum + x)
        })
        .collect();
    let all = |few: &[f32]| few.iter().copied().cycle().take(ITEMS).collect::<Vec<f32>>();
    Workload {
        kernel: Kernel::Alu,
        grid: [ITEMS as u32 / 256, 1],
        block: [256, 1],
        arguments: vec![Argument::F32(A), Argument::F32(B), Argument::Input(0), Argument::Output],
        inputs: vec![all(&few)],
        output: vec![0.0; ITEMS],
        expected: all(&results),
        tolerance: 0.0,
        work: (2 * ITEMS * CHAINS * ROUNDS) as f64 / GIGA,
        unit: "GFLOP/s",
    }
}

/// A matrix product whose workgroups compute `tile` by `tile` elements.
fn gemm(kernel: Kernel, tile: u32) -> Workload {
    const SIDE: usize = 512;
    static PRODUCT: OnceLock<Vec<f32>> = OnceLock::new();
    let (a, b) = (numbers(SIDE * SIDE, 4), numbers(SIDE * SIDE, 5));
    let product = PRODUCT.get_or_init(|| {
        let mut c = vec![0f32; SIDE * SIDE];
        for (row, a) in c.chunks_exact_mut(SIDE).zip(a.chunks_exact(SIDE)) {
            for (a, b) in a.iter().zip(b.chunks_exact(SIDE)) {
                for (c, b) in row.iter_mut().zip(b) {
                    *c = a.mul_add(*b, *c);
                }
            }
        }
        c
    });
    let groups = SIDE as u32 / tile;
    Workload {
        kernel,
        grid: [groups, groups],
        block: [16, 16],
        arguments: vec![Argument::U32(SIDE as u32), Argument::Input(0), Argument::Input(1), Argument::Output],
        inputs: vec![a, b],
        output: vec![0.0; SIDE * SIDE],
        expected: product.clone(),
        tolerance: 0.0,
        work: 2.0 * (SIDE as f64).powi(3) / GIGA,
        unit: "GFLOP/s",
    }
}

fn softmax() -> Workload {
    const ROWS: usize = 4096;
    const COLUMNS: usize = 1024;
    let x: Vec<f32> = numbers(ROWS * COLUMNS, 6).into_iter().map(|x| 8.0 * x).collect();
    let expected = x.chunks_exact(COLUMNS).flat_map(|row| {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let power = move |x: &f32| f64::from(x - max).exp();
        let sum: f64 = row.iter().map(power).sum();
        row.iter().map(move |x| (power(x) / sum) as f32)
    });
    Workload {
        kernel: Kernel::Softmax,
        grid: [ROWS as u32, 1],
        block: [256, 1],
        arguments: vec![Argument::U32(COLUMNS as u32), Argument::Input(0), Argument::Output],
        expected: expected.collect(),
        output: vec![0.0; x.len()],
        inputs: vec![x],
        // An exponential may be off by 3 units in the last place, a sum by one unit for each of its levels
        // and rounds.
        tolerance: 20.0 * f32::EPSILON,
        work: (ROWS * COLUMNS) as f64 / MEGA,
        unit: "Melem/s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_cover_the_outputs() {
        for kernel in Kernel::ALL {
            let workload = Workload::new(kernel);
            let items: u32 = workload.grid.iter().chain(&workload.block).product();
            let per_item = match kernel {
                Kernel::GemmRegister => 16,
                Kernel::Softmax => 4,
                _ => 1,
            };
            assert_eq!(items as usize * per_item, workload.output.len(), "{kernel:?}");
            assert_eq!(workload.expected.len(), workload.output.len(), "{kernel:?}");
        }
    }

    #[test]
    fn a_wrong_element_is_found() {
        let workload = Workload::new(Kernel::Alu);
        let mut found = workload.expected.clone();
        workload.check(&found).unwrap();
        found[77] += found[77] * 1e-6;
        let error = workload.check(&found).unwrap_err().to_string();
        assert!(error.contains("element 77") && error.contains("0 more"), "{error}");
        assert!(workload.check(&found[1..]).is_err());
        found[77] = f32::NAN;
        assert!(workload.check(&found).is_err());
    }
}
