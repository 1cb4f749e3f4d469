//! Operations that are several in one: between products, and between products and attention.

use backend::{
    BackendKind, DType, Factor, KernelBackend, KvCache, KvLayout, KvShape, QuantType, Rope, RopeAppend,
    RopeStyle, Tensor, rope_frequencies,
};

use crate::common::{Bench, FLOATS, random};
use crate::elementwise::gates;

/// The product of a factor with a matrix of 8-bit blocks, against that of its numbers in f64.
fn multiplies(bench: &Bench, x: &Factor, what: &str) {
    let (m, k, n) = (x.numbers().rows(), x.numbers().columns(), 40);
    let blocks = QuantType::Q8_0.quantize(&random(n * k, 90, 1.0)).unwrap();
    let w = bench.backend.tensor_of_bytes(DType::Quant(QuantType::Q8_0), &[n, k], &blocks).unwrap();
    let out = bench.empty(x.numbers().dtype(), &[m, n]);
    bench.backend.matmul_factor(x, &[(&w, &out)]).unwrap();
    let numbers: Vec<f64> =
        bench.backend.to_f32(x.numbers()).unwrap().iter().map(|x| f64::from(*x)).collect();
    let matrix: Vec<f64> = QuantType::Q8_0.dequantize(&blocks).iter().map(|x| f64::from(*x)).collect();
    let (mut expected, mut slack) = (Vec::new(), Vec::new());
    for x in numbers.chunks(k) {
        for w in matrix.chunks(k) {
            expected.push(x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>());
            // A number is at most half a step off, of which the largest of 32 has 127, and the scale is a
            // half.
            let off = x.chunks(32).zip(w.chunks(32)).map(|(x, w)| {
                let most = x.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
                w.iter().map(|w| w.abs() * most * (0.51 / 127.0 + 1e-3)).sum::<f64>()
            });
            slack.push(off.sum::<f64>() + 1e-4);
        }
    }
    bench.is_near(&out, &expected, |i| slack[i], what);
}

#[test]
fn norms_make_factors() {
    let bench = Bench::open();
    let b = &*bench.backend;
    for (dtype, roundoff) in FLOATS {
        // Packs of a row for a part of a warp, for several warps, and more than for a workgroup.
        for (rows, columns) in [(1, 96), (3, 544), (20, 64), (1, 16_416)] {
            let shape = [rows, columns];
            for (quantised, adds) in [(true, true), (true, false), (false, true), (false, false)] {
                let (x, numbers) = bench.random(dtype, &shape, 91, 3.0);
                let (residual, before) = bench.random(dtype, &shape, 92, 3.0);
                let (weight, weights) = bench.random(dtype, &[columns], 93, 2.0);
                let out = b.factor(dtype, &shape, quantised).unwrap();
                b.norm_factor(adds.then_some(&x), &residual, Some(&weight), 1e-6, &out).unwrap();
                let sums: Vec<f64> = match adds {
                    true => numbers.iter().zip(&before).map(|(a, b)| a + b).collect(),
                    false => before,
                };
                let what = format!("{rows} × {columns}, quantised {quantised}, adds {adds}");
                bench.is_near(&residual, &sums, |_| 1e-6, &format!("the sum, {what}"));
                let norm =
                    |row: &[f64]| (row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64 + 1e-6).sqrt();
                let expected: Vec<f64> = sums
                    .chunks(columns)
                    .flat_map(|row| {
                        let norm = norm(row);
                        row.iter().zip(&weights).map(move |(x, w)| x / norm * w).collect::<Vec<_>>()
                    })
                    .collect();
                // The norm is that of the rounded sum.
                let slack = |i: usize| 2.0 * roundoff * expected[i].abs() + 1e-5;
                bench.is_near(out.numbers(), &expected, slack, &format!("the norm, {what}"));
                multiplies(&bench, &out, &what);
            }
        }
    }
}

#[test]
fn gates_make_factors_of_parts_of_a_product() {
    let bench = Bench::open();
    let b = &*bench.backend;
    for (dtype, _) in FLOATS {
        for (rows, columns) in [(1, 96), (3, 352), (18, 64)] {
            let (both, numbers) = bench.random(dtype, &[rows, 2 * columns], 94, 3.0);
            let (x, up) = (both.narrow(1, 0, columns).unwrap(), both.narrow(1, columns, columns).unwrap());
            for (gate, exact) in gates() {
                let expected: Vec<f64> = numbers
                    .chunks(2 * columns)
                    .flat_map(|row| (0..columns).map(|i| exact(row[i], row[columns + i])).collect::<Vec<_>>())
                    .collect();
                let slack = |i: usize| 8e-6 * (1.0 + expected[i].abs());
                let what = format!("{gate:?} of {rows} × {columns}");
                for quantised in [true, false] {
                    let out = b.factor(dtype, &[rows, columns], quantised).unwrap();
                    b.gate_factor(gate, &x, &up, &out).unwrap();
                    bench.is_near(out.numbers(), &expected, slack, &what);
                    multiplies(&bench, &out, &what);
                }
                let out = bench.empty(dtype, &[rows, columns]);
                b.gated(gate, &x, &up, &out).unwrap();
                bench.is_near(&out, &expected, slack, &format!("{what}, without a factor"));
            }
        }
    }
}

const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const DIM: usize = 48;
const ROTARY: usize = 40;
const TOKENS: usize = 5;
const ALL: usize = HEADS + 2 * KV_HEADS;
/// Slots of the tokens: two are dropped.
const SLOTS: [i64; TOKENS] = [17, -1, 3, 64, 40];

/// What is the same in all cases.
struct Setting<'a> {
    bench: &'a Bench,
    frequencies: Vec<f64>,
    cos: Tensor,
    sin: Tensor,
    slots: Tensor,
}

const POSITIONS: [u32; TOKENS] = [0, 1, 7, 300, 12];

impl<'a> Setting<'a> {
    fn new(bench: &'a Bench) -> Self {
        let b = &*bench.backend;
        let frequencies = rope_frequencies(&Rope::new(ROTARY), None).unwrap();
        let table = b.rope_frequencies(&frequencies, 1.0).unwrap();
        let shape = [TOKENS, ROTARY / 2];
        let (cos, sin) = (bench.empty(DType::F32, &shape), bench.empty(DType::F32, &shape));
        b.rope_table(&table, &bench.u32(&[TOKENS], &POSITIONS), &cos, &sin).unwrap();
        Self { bench, frequencies, cos, sin, slots: b.tensor_i64(&[TOKENS], &SLOTS).unwrap() }
    }

    fn cache(&self, dtype: DType) -> KvCache {
        let shape = KvShape { heads: KV_HEADS, dimensions: DIM };
        KvCache::new(&*self.bench.backend, dtype, KvLayout::paged(64, 16), &[shape]).unwrap()
    }

    /// Heads of the part from this head on.
    fn part(packed: &Tensor, first: usize, heads: usize) -> Tensor {
        packed.narrow(1, first * DIM, heads * DIM).unwrap().split(1, DIM).unwrap()
    }

    fn run(
        &self,
        packed: &Tensor,
        norms: Option<(&Tensor, &Tensor)>,
        style: RopeStyle,
        cache: &KvCache,
        how: impl Fn(&dyn KernelBackend, &RopeAppend<'_>),
    ) {
        let (q, k, v) = (
            Self::part(packed, 0, HEADS),
            Self::part(packed, HEADS, KV_HEADS),
            Self::part(packed, HEADS + KV_HEADS, KV_HEADS),
        );
        let (tables, slots) = ((&self.cos, &self.sin), &self.slots);
        let by = RopeAppend { q: &q, k: &k, v: &v, norms, eps: 1e-5, style, tables, slots };
        assert_eq!(cache.layers.len(), 1);
        how(&*self.bench.backend, &by);
    }

    /// A head behind the norm and the rotation.
    fn exact(&self, head: &[f64], weight: Option<&[f64]>, style: RopeStyle, token: usize) -> Vec<f64> {
        let mut head = head.to_vec();
        if let Some(weight) = weight {
            let norm = (head.iter().map(|x| x * x).sum::<f64>() / DIM as f64 + 1e-5).sqrt();
            head.iter_mut().zip(weight).for_each(|(x, w)| *x *= w / norm);
        }
        for (i, frequency) in self.frequencies.iter().enumerate() {
            let (a, b) = match style {
                RopeStyle::HalfSplit => (i, i + ROTARY / 2),
                RopeStyle::Interleaved => (2 * i, 2 * i + 1),
            };
            let (s, c) = (f64::from(POSITIONS[token]) * frequency).sin_cos();
            (head[a], head[b]) = (head[a] * c - head[b] * s, head[a] * s + head[b] * c);
        }
        head
    }
}

#[test]
fn heads_are_normed_rotated_and_appended() {
    let bench = Bench::open();
    let b = &*bench.backend;
    let setting = Setting::new(&bench);
    for (dtype, roundoff) in FLOATS {
        let (of_q, q_weights) = bench.random(dtype, &[DIM], 95, 2.0);
        let (of_k, k_weights) = bench.random(dtype, &[DIM], 96, 2.0);
        for style in [RopeStyle::HalfSplit, RopeStyle::Interleaved] {
            for normed in [false, true] {
                let (packed, numbers) = bench.random(dtype, &[TOKENS, ALL * DIM], 97, 2.0);
                let cache = setting.cache(dtype);
                let norms = normed.then_some((&of_q, &of_k));
                setting.run(&packed, norms, style, &cache, |b, by| {
                    b.rope_append(by, &cache.layers[0]).unwrap();
                });
                let head = |token: usize, head: usize| &numbers[(token * ALL + head) * DIM..][..DIM];
                let what = format!("{style:?}, norms {normed}");
                // Rounded behind the norm, too, and both of a pair may have been.
                let slack = |expected: &[f64]| {
                    let most = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                    3.0 * roundoff * most + 4e-6
                };

                let queries = bench.empty(dtype, &[TOKENS, HEADS, DIM]);
                b.copy(&Setting::part(&packed, 0, HEADS), &queries).unwrap();
                let expected: Vec<f64> = (0..TOKENS * HEADS)
                    .flat_map(|i| {
                        let weight = normed.then_some(&q_weights[..]);
                        setting.exact(head(i / HEADS, i % HEADS), weight, style, i / HEADS)
                    })
                    .collect();
                bench.is_near(&queries, &expected, |_| slack(&expected), &format!("queries, {what}"));

                let (mut keys, mut values) = (vec![0.0; 64 * KV_HEADS * DIM], vec![0.0; 64 * KV_HEADS * DIM]);
                for (token, slot) in SLOTS.iter().enumerate() {
                    let Some(slot) = usize::try_from(*slot).ok().filter(|slot| *slot < 64) else { continue };
                    for h in 0..KV_HEADS {
                        let weight = normed.then_some(&k_weights[..]);
                        let place = (slot * KV_HEADS + h) * DIM;
                        let key = setting.exact(head(token, HEADS + h), weight, style, token);
                        keys[place..][..DIM].copy_from_slice(&key);
                        values[place..][..DIM].copy_from_slice(head(token, HEADS + KV_HEADS + h));
                    }
                }
                let layer = &cache.layers[0];
                bench.is_near(&layer.k, &keys, |_| slack(&keys), &format!("keys, {what}"));
                bench.is_near(&layer.v, &values, |_| 0.0, &format!("values, {what}"));
            }
        }
    }
}

/// As the operations give it that are known to be right.
#[test]
fn caches_of_8_bits_receive_what_single_operations_give_them() {
    let bench = Bench::open();
    let b = &*bench.backend;
    let setting = Setting::new(&bench);
    for cached in [DType::F8, DType::I8] {
        for (dtype, _) in FLOATS {
            // A GPU's queries of a cache of 8 bits have 16 bits.
            if dtype == DType::F32 && b.info().kind != BackendKind::Cpu {
                continue;
            }
            let (first, second) = (setting.cache(cached), setting.cache(cached));
            let packed = || bench.random(dtype, &[TOKENS, ALL * DIM], 98, 2.0).0;
            setting.run(&packed(), None, RopeStyle::HalfSplit, &first, |b, by| {
                b.rope_append(by, &first.layers[0]).unwrap();
            });
            setting.run(&packed(), None, RopeStyle::HalfSplit, &second, |b, by| {
                b.apply_rope(by.style, by.tables, by.k, by.k).unwrap();
                b.kv_append(&second.layers[0], by.k, by.v, by.slots).unwrap();
            });
            let (first, second) = (&first.layers[0], &second.layers[0]);
            let tensors = |layer: &backend::KvLayer| {
                let scales = [layer.k_scales.clone(), layer.v_scales.clone()].into_iter().flatten();
                [layer.k.clone(), layer.v.clone()].into_iter().chain(scales).collect::<Vec<_>>()
            };
            for (got, expected) in tensors(first).iter().zip(&tensors(second)) {
                assert!(b.download(got).unwrap() == b.download(expected).unwrap(), "{cached} of {dtype}");
            }
        }
    }
}
