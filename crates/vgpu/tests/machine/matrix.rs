//! Compiled kernels with matrix instructions, compared with products in f64. The kernels define the positions
//! of elements.

use half::{bf16, f16};

use crate::common::{Arg, Gpu, Random, on_all};

/// A type of elements.
trait Element: Copy {
    fn nearest(value: f64) -> Self;
    fn wide(self) -> f64;
}

macro_rules! elements {
    ($($type:ty: |$value:ident| $from:expr, |$this:ident| $to:expr;)*) => {$(
        impl Element for $type {
            fn nearest($value: f64) -> Self {
                $from
            }

            fn wide(self) -> f64 {
                let $this = self;
                $to
            }
        }
    )*};
}

elements! {
    f64: |value| value, |this| this;
    f32: |value| value as f32, |this| f64::from(this);
    f16: |value| f16::from_f64(value), |this| this.to_f64();
    bf16: |value| bf16::from_f64(value), |this| this.to_f64();
    i32: |value| value as i32, |this| f64::from(this);
    i8: |value| value as i8, |this| f64::from(this);
}

/// A product: `blocks` matrices of `n` rows and columns.
struct Case {
    kernel: &'static str,
    n: usize,
    blocks: usize,
    /// Numbers are integers of at most this size, or any from -1 to 1 if it is 0.
    limit: i32,
    /// The rounding error of one operation.
    step: f64,
}

const K: usize = 48;

impl Case {
    fn numbers<T: Element>(&self, random: &mut Random, count: usize) -> Vec<T> {
        let next = |_| {
            let fraction = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
            T::nearest(if self.limit == 0 {
                2.0 * fraction - 1.0
            } else {
                (fraction * f64::from(2 * self.limit)).floor() - f64::from(self.limit)
            })
        };
        (0..count).map(next).collect()
    }

    /// Runs the kernel on random matrices and compares the result with the product. Elements of A, B and C
    /// are read with `view`.
    fn run<T: Element, U: Element>(&self, gpu: &Gpu, view: impl Fn(usize, f64) -> f64, results: usize) {
        let mut random = Random(self.kernel.len() as u64);
        let (n, size) = (self.n, self.n * self.n);
        let a: Vec<T> = self.numbers(&mut random, self.blocks * n * K);
        let b: Vec<T> = self.numbers(&mut random, self.blocks * n * K);
        let c: Vec<U> = self.numbers(&mut random, self.blocks * size);
        let d = gpu.upload(&vec![U::nearest(0.0); self.blocks * size * results]);
        let args = [gpu.upload(&a), gpu.upload(&b), gpu.upload(&c), d].map(Arg::Pointer);
        let args = [&args[..], &[Arg::I32(K as i32)]].concat();
        gpu.run(self.kernel, 1, gpu.wave() as u32, &args);
        let found: Vec<U> = gpu.download(d, self.blocks * size * results);
        for (at, found) in found.iter().enumerate() {
            let (result, at) = (at / (self.blocks * size), at % (self.blocks * size));
            let (block, i, j) = (at / size, at / n % n, at % n);
            let sign = if result == 1 { -1.0 } else { 1.0 };
            let (mut sum, mut scale) = (sign * c[at].wide(), c[at].wide().abs());
            for k in 0..K {
                let x = view(0, a[(block * n + i) * K + k].wide());
                let y = view(1, b[block * n * K + k * n + j].wide());
                sum += x * y;
                scale += (x * y).abs();
            }
            let (found, bound) = (found.wide(), K as f64 * scale * self.step);
            assert!(
                (found - sum).abs() <= bound,
                "{} D[{i}][{j}] of block {block}, result {result}: {found}, not {sum} within {bound}",
                self.kernel
            );
        }
    }
}

const SINGLE: f64 = 1.0 / (1 << 24) as f64;
const DOUBLE: f64 = SINGLE / (1u64 << 29) as f64;

fn same(_: usize, value: f64) -> f64 {
    value
}

fn case(kernel: &'static str, n: usize, blocks: usize, step: f64) -> Case {
    Case { kernel, n, blocks, limit: if step == 0.0 { 128 } else { 0 }, step }
}

#[test]
fn mfma_of_cdna() {
    on_all("matrix", |gpu| {
        let name = gpu.device.target().name;
        if !name.starts_with("gfx9") {
            return;
        }
        case("mfma_f32_16", 16, 1, SINGLE).run::<f32, f32>(gpu, same, 1);
        case("mfma_f32_32", 32, 1, SINGLE).run::<f32, f32>(gpu, same, 1);
        case("mfma_f32_4", 4, 16, SINGLE).run::<f32, f32>(gpu, same, 1);
        case("mfma_f16_16", 16, 1, SINGLE).run::<f16, f32>(gpu, same, 1);
        case("mfma_f16_32", 32, 1, SINGLE).run::<f16, f32>(gpu, same, 1);
        case("mfma_bf16_16", 16, 1, SINGLE).run::<bf16, f32>(gpu, same, 1);
        if name == "gfx90a" {
            case("mfma_bf16_32", 32, 1, SINGLE).run::<bf16, f32>(gpu, same, 1);
        } else if name == "gfx942" {
            // Operands are truncated to ten digits after the point.
            case("mfma_xf32_16", 16, 1, 1.0 / 1024.0).run::<f32, f32>(gpu, same, 1);
        }
        case("mfma_i8_32", 32, 1, 0.0).run::<i8, i32>(gpu, same, 1);
        case("mfma_f64_16", 16, 1, DOUBLE).run::<f64, f64>(gpu, same, 1);
        case("mfma_f64_4", 4, 4, DOUBLE).run::<f64, f64>(gpu, same, 1);
    });
}

#[test]
fn mfma_broadcasts_a_block() {
    on_all("matrix", |gpu| {
        if !gpu.device.target().name.starts_with("gfx9") {
            return;
        }
        let case = case("mfma_f32_broadcast", 32, 1, SINGLE);
        let mut random = Random(21);
        let a: Vec<f32> = case.numbers(&mut random, 32 * K);
        let b: Vec<f32> = case.numbers(&mut random, 2 * 32 * K);
        let c: Vec<f32> = case.numbers(&mut random, 2 * 1024);
        let d = gpu.upload(&[0f32; 2048]);
        let args = [gpu.upload(&a), gpu.upload(&b), gpu.upload(&c), d].map(Arg::Pointer);
        gpu.run(case.kernel, 1, 64, &[&args[..], &[Arg::I32(K as i32)]].concat());
        for (at, found) in gpu.download::<f32>(d, 2048).into_iter().enumerate() {
            let (block, i, j) = (at / 1024, at / 32 % 32, at % 32);
            let sum = (0..K).fold(c[at], |sum, k| a[i * K + k].mul_add(b[(block * K + k) * 32 + j], sum));
            assert_eq!(found, sum, "D[{i}][{j}] of block {block}");
        }
    });
}

#[test]
fn wmma_of_gfx1100() {
    on_all("matrix", |gpu| {
        if gpu.device.target().name != "gfx1100" {
            return;
        }
        case("wmma_f32_f16", 16, 1, SINGLE).run::<f16, f32>(gpu, same, 1);
        case("wmma_f32_bf16", 16, 1, SINGLE).run::<bf16, f32>(gpu, same, 1);
        // Rounded to f16 after every sixteen.
        case("wmma_f16", 16, 1, 1.0 / 2048.0).run::<f16, f16>(gpu, same, 2);
        case("wmma_i8", 16, 1, 0.0).run::<i8, i32>(gpu, same, 1);
        let nibble = |source: usize, value: f64| {
            let low = (value as i32) & 15;
            f64::from(if source == 0 { (low ^ 8) - 8 } else { low })
        };
        case("wmma_i4", 16, 1, 0.0).run::<i8, i32>(gpu, nibble, 1);
    });
}

#[test]
fn wmma_of_gfx1201() {
    on_all("matrix", |gpu| {
        if gpu.device.target().name != "gfx1201" {
            return;
        }
        case("wmma_f32_f16", 16, 1, SINGLE).run::<f16, f32>(gpu, same, 1);
        case("wmma_f32_bf16", 16, 1, SINGLE).run::<bf16, f32>(gpu, same, 1);
        // Rounded to f16 after every sixteen.
        case("wmma_f16", 16, 1, 1.0 / 2048.0).run::<f16, f16>(gpu, same, 1);
        case("wmma_i8", 16, 1, 0.0).run::<i8, i32>(gpu, same, 1);
    });
}
