//! Fused attention against f64 on the CPU.

use kernels::reference::Expected;
use kernels::{Attention, AttentionInputs, CacheLayout, Element, Error, F8E4M3, Float, HeadStrides, Heads};

use crate::common::{Bench, for_every_type, random};
use crate::record::compare;

/// Everything that decides what a query sees, besides the numbers.
#[derive(Clone, Default)]
struct Sight {
    lengths: Option<Vec<u32>>,
    slopes: Option<Vec<f32>>,
    sinks: Option<Vec<f32>>,
}

/// The place of an element.
fn place(strides: HeadStrides, batch: usize, head: usize, row: usize) -> usize {
    batch * strides.batch + head * strides.head + row * strides.row
}

/// Whether the device's matrix instructions read subnormal f16 numbers as 0, as on gfx90a.
fn flushes<T: Float<Compute = f32>>(bench: &Bench) -> bool {
    T::NAME == "f16" && bench.kernels.device().target().processor == "gfx90a"
}

/// A number as such instructions read it.
fn flushed(x: f64) -> f64 {
    if x.abs() < f64::from(half::f16::MIN_POSITIVE) { 0.0 } else { x }
}

/// Attention in f64. `key` and `value` give a key's numbers by sequence, head and position.
fn expected<T: Float<Compute = f32>>(
    attention: &Attention,
    sight: &Sight,
    q: &[T],
    key: impl Fn(usize, usize, usize) -> Vec<f64>,
    value: impl Fn(usize, usize, usize) -> Vec<f64>,
    flushes: bool,
    out: &mut [Expected],
) {
    let flush = |x: f64| if flushes { flushed(x) } else { x };
    let &Attention { batch, heads, kv_heads, q_len, dim, .. } = attention;
    for b in 0..batch {
        let kv_len = sight
            .lengths
            .as_ref()
            .map_or(attention.kv_len, |lengths| lengths[b] as usize)
            .min(attention.kv_len);
        let start =
            if sight.lengths.is_some() { kv_len as isize - q_len as isize } else { attention.q_position };
        for kv_head in 0..kv_heads {
            let keys: Vec<Vec<f64>> = (0..kv_len).map(|i| key(b, kv_head, i)).collect();
            let values: Vec<Vec<f64>> = (0..kv_len).map(|i| value(b, kv_head, i)).collect();
            for head in kv_head * heads / kv_heads..(kv_head + 1) * heads / kv_heads {
                for row in 0..q_len {
                    let position = start + row as isize;
                    let query = &q[place(attention.q, b, head, row)..][..dim];
                    let (mut scores, mut largest_term, mut lost_score) = (Vec::new(), 0.0_f64, 0.0_f64);
                    for (i, key) in keys.iter().enumerate() {
                        let at = i as isize;
                        let hidden = attention.causal && at > position
                            || attention.window.is_some_and(|window| at + (window as isize) <= position);
                        if hidden {
                            continue;
                        }
                        let terms = || query.iter().zip(key).map(|(q, k)| q.to_f64() * k);
                        let mut score = terms().sum::<f64>() * f64::from(attention.scale);
                        let magnitude = terms().map(f64::abs).sum::<f64>() * f64::from(attention.scale).abs();
                        largest_term = largest_term.max(magnitude);
                        if flushes {
                            let read = query
                                .iter()
                                .zip(key)
                                .map(|(q, k)| flushed(q.to_f64()) * flushed(*k))
                                .sum::<f64>();
                            lost_score = lost_score.max((read * f64::from(attention.scale) - score).abs());
                        }
                        if let Some(cap) = attention.soft_cap.map(f64::from) {
                            score = cap * (score / cap).tanh();
                            largest_term = largest_term.max(cap);
                        }
                        if let Some(slopes) = &sight.slopes {
                            score += f64::from(slopes[head]) * (at - position) as f64;
                            largest_term =
                                largest_term.max((f64::from(slopes[head]) * (at - position) as f64).abs());
                        }
                        scores.push((i, score));
                    }
                    let highest = scores.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
                    let weights: Vec<(usize, f64)> =
                        scores.iter().map(|(i, score)| (*i, (score - highest).exp())).collect();
                    let sink =
                        sight.sinks.as_ref().map_or(0.0, |sinks| (f64::from(sinks[head]) - highest).exp());
                    let total: f64 = weights.iter().map(|(_, weight)| weight).sum::<f64>() + sink;
                    // An error of a score becomes an error of its weight. Weights are rounded to the type,
                    // and each sum to f32.
                    let score_error = f32::UNIT_ROUNDOFF * (4.0 * (dim as f64).sqrt() + 8.0) * largest_term;
                    let sums = f32::UNIT_ROUNDOFF * (weights.len() as f64 + 16.0);
                    let relative = 2.0 * (score_error + lost_score) + T::UNIT_ROUNDOFF * 1.01 + sums;
                    for d in 0..dim {
                        let (mut sum, mut magnitude, mut lost) = (0.0, 0.0, 0.0);
                        for (i, weight) in &weights {
                            lost += weight / total * (values[*i][d] - flush(values[*i][d])).abs();
                            sum += weight / total * values[*i][d];
                            magnitude += (weight / total * values[*i][d]).abs();
                        }
                        // the rounding of the smallest weights; the largest is 2^15
                        let largest = values.iter().map(|v| v[d].abs()).fold(0.0, f64::max);
                        let least = if flushes {
                            2.0 * f64::from(half::f16::MIN_POSITIVE)
                        } else {
                            2.0 * T::UNDERFLOW
                        };
                        lost += weights.len() as f64
                            * (least / 32768.0).max(f64::from(f32::MIN_POSITIVE))
                            * largest;
                        let slack = relative * magnitude + lost;
                        let slack = if scores.is_empty() { 0.0 } else { slack };
                        out[place(attention.out, b, head, row) + d] =
                            Expected { value: if scores.is_empty() { 0.0 } else { sum }, slack };
                    }
                }
            }
        }
    }
}

fn span(strides: HeadStrides, batch: usize, heads: usize, rows: usize, dim: usize) -> usize {
    place(strides, batch - 1, heads - 1, rows.max(1) - 1) + dim
}

/// Checks attention of random numbers, and that nothing else was written.
fn check<T: Float<Compute = f32>>(bench: &Bench, attention: &Attention, sight: &Sight) {
    let &Attention { batch, heads, kv_heads, q_len, kv_len, dim, .. } = attention;
    let q = random::<T>(span(attention.q, batch, heads, q_len, dim), 21, 2.0);
    let k = random::<T>(span(attention.k, batch, kv_heads, kv_len, dim), 22, 2.0);
    let v = random::<T>(span(attention.v, batch, kv_heads, kv_len, dim), 23, 1.0);
    let before = random::<T>(span(attention.out, batch, heads, q_len, dim), 24, 1.0);
    let mut wanted: Vec<Expected> =
        before.iter().map(|x| Expected { value: x.to_f64(), slack: 0.0 }).collect();
    let numbers = |from: &[T], at: usize| from[at..][..dim].iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
    expected(
        attention,
        sight,
        &q,
        |b, h, i| numbers(&k, place(attention.k, b, h, i)),
        |b, h, i| numbers(&v, place(attention.v, b, h, i)),
        flushes::<T>(bench),
        &mut wanted,
    );
    let (q, k, v, mut out) = (bench.upload(&q), bench.upload(&k), bench.upload(&v), bench.upload(&before));
    let lengths = sight.lengths.as_ref().map(|lengths| bench.upload(lengths));
    let slopes = sight.slopes.as_ref().map(|slopes| bench.upload(slopes));
    let mut inputs = AttentionInputs::new(&q, &k, &v);
    if let Some(lengths) = &lengths {
        inputs = inputs.lengths(lengths);
    }
    if let Some(slopes) = &slopes {
        inputs = inputs.slopes(slopes);
    }
    let sinks = sight.sinks.as_ref().map(|sinks| bench.upload(sinks));
    if let Some(sinks) = &sinks {
        inputs = inputs.sinks(sinks);
    }
    bench.kernels.attention(&bench.stream, attention, inputs, &mut out).unwrap();
    let result = compare(&bench.download(&out), wanted);
    assert!(result.passed(), "{attention:?} {}: {result:?}", T::NAME);
}

fn dimensions_match<T: Float<Compute = f32>>(bench: &Bench) {
    for dim in [32, 64, 80, 96, 128, 192, 256] {
        check::<T>(bench, &Attention::new(1, 2, 1, 17, 70, dim), &Sight::default());
    }
}

#[test]
fn all_dimensions() {
    for_every_type!(dimensions_match);
}

fn heads_match<T: Float<Compute = f32>>(bench: &Bench) {
    for (heads, kv_heads, lens) in
        [(2, 2, &[(30, 100)][..]), (6, 2, &[(1, 65), (30, 100), (40, 33)]), (5, 1, &[(40, 33)])]
    {
        for &(q_len, kv_len) in lens {
            let attention = Attention::new(1, heads, kv_heads, q_len, kv_len, 32);
            check::<T>(bench, &attention, &Sight::default());
            // with 40 queries of 33 keys, the first ones see nothing, and are 0
            check::<T>(bench, &attention.causal(), &Sight::default());
        }
    }
}

#[test]
fn shared_heads_and_causal() {
    for_every_type!(heads_match);
}

fn options_match<T: Float<Compute = f32>>(bench: &Bench) {
    let attention = Attention::new(2, 2, 1, 40, 140, 16);
    let none = Sight::default();
    check::<T>(bench, &attention.causal().window(20), &none);
    check::<T>(bench, &attention.window(90), &none);
    check::<T>(bench, &attention.causal().soft_cap(1.5), &none);
    check::<T>(bench, &Attention { scale: 0.7, ..attention }, &none);
    check::<T>(bench, &Attention { q_position: 3, ..attention.causal() }, &none);
    check::<T>(bench, &Attention { q_position: -20, ..attention.causal() }, &none);
    check::<T>(bench, &Attention { q_position: 200, ..attention.causal().window(60) }, &none);
    let slopes = Sight { slopes: Some(vec![0.5, 0.0625]), ..none.clone() };
    check::<T>(bench, &attention.causal(), &slopes);
    let lengths = Sight { lengths: Some(vec![61, 1000]), ..none.clone() };
    check::<T>(bench, &attention.causal(), &lengths);
    let empty = Sight { lengths: Some(vec![0, 20]), ..slopes };
    check::<T>(bench, &attention.causal().window(33), &empty);
}

fn sinks_match<T: Float<Compute = f32>>(bench: &Bench) {
    // Also one tile of keys, which is not split otherwise, and keys for several splits.
    for (q_len, kv_len, dim) in [(1, 7, 64), (3, 65, 32), (1, 1200, 64), (20, 40, 192)] {
        let attention = Attention::new(2, 4, 2, q_len, kv_len, dim).causal();
        let sinks = Sight { sinks: Some(vec![1.5, -3.0, 0.0, 6.0]), ..Sight::default() };
        check::<T>(bench, &attention, &sinks);
        let lengths = Some(vec![kv_len as u32 / 2, kv_len as u32]);
        check::<T>(bench, &attention.soft_cap(2.0).window(9), &Sight { lengths, ..sinks });
    }
}

#[test]
fn sinks() {
    for_every_type!(sinks_match);
}

#[test]
fn options() {
    for_every_type!(options_match);
}

fn strides_match<T: Float<Compute = f32>>(bench: &Bench) {
    let (heads, kv_heads, q_len, kv_len, dim) = (4, 2, 9, 75, 48);
    let attention = Attention::new(2, heads, kv_heads, q_len, kv_len, dim);
    // [batch, positions, heads, dim], with gaps that no wide load divides
    let rows_first = |heads, rows, gap| {
        let dense = HeadStrides::rows_first(heads, rows, dim);
        HeadStrides { batch: dense.batch + rows * gap + 5, row: dense.row + gap, ..dense }
    };
    let attention = Attention {
        q: rows_first(heads, q_len, 3),
        k: rows_first(kv_heads, kv_len, 1),
        v: rows_first(kv_heads, kv_len, 7),
        out: rows_first(heads, q_len, 1),
        ..attention.causal()
    };
    check::<T>(bench, &attention, &Sight::default());
    // one cache for all sequences
    let shared = HeadStrides { batch: 0, ..attention.k };
    check::<T>(
        bench,
        &Attention { k: shared, v: HeadStrides { batch: 0, ..attention.v }, ..attention },
        &Sight::default(),
    );
}

#[test]
fn strides() {
    for_every_type!(strides_match);
}

fn splits_match<T: Float<Compute = f32>>(bench: &Bench) {
    // few rows and many keys: the keys are split
    for (q_len, dim) in [(1, 64), (2, 144)] {
        let attention = Attention::new(1, 2, 1, q_len, 1100, dim);
        check::<T>(bench, &attention.causal(), &Sight::default());
        check::<T>(bench, &attention.causal().window(100), &Sight::default());
        check::<T>(bench, &attention, &Sight { lengths: Some(vec![70]), ..Sight::default() });
        check::<T>(bench, &attention, &Sight { lengths: Some(vec![0]), ..Sight::default() });
    }
}

#[test]
fn split_keys() {
    for_every_type!(splits_match);
}

#[test]
fn more_heads_than_blocks_are_launched() {
    let bench = Bench::open();
    check::<half::f16>(&bench, &Attention::new(4_099, 1, 1, 1, 1, 16), &Sight::default());
}

#[test]
fn what_cannot_be_is_refused() {
    let bench = Bench::open();
    let buffer = bench.zeroed::<f32>(2 * 4 * 8 * 32);
    let mut out = bench.zeroed::<f32>(2 * 4 * 8 * 32);
    let good = Attention::new(2, 4, 4, 8, 8, 32);
    let mut refused = |attention: Attention| {
        let inputs = AttentionInputs::new(&buffer, &buffer, &buffer);
        bench.kernels.attention(&bench.stream, &attention, inputs, &mut out).unwrap_err()
    };
    for (attention, wrong) in [
        (Attention { kv_heads: 3, ..good }, "kv_heads"),
        (Attention { kv_heads: 0, ..good }, "kv_heads"),
        (Attention { dim: 24, ..good }, "dim"),
        (Attention { dim: 272, ..good }, "dim"),
        (Attention { dim: 0, ..good }, "dim"),
        (Attention { q_len: usize::MAX, ..good }, "q_len"),
        (Attention { kv_len: 1 << 31, ..good }, "kv_len"),
        (Attention { k: HeadStrides { row: 1 << 23, ..good.k }, ..good }, "k.row"),
        (good.window(0), "window"),
        (Attention { out: HeadStrides { row: 31, ..good.out }, ..good }, "out.row"),
    ] {
        let error = refused(attention);
        assert!(matches!(error, Error::Size { parameter, .. } if parameter == wrong), "{error}");
    }
    for (attention, wrong) in [
        (good.soft_cap(0.0), "soft_cap"),
        (good.soft_cap(f32::NAN), "soft_cap"),
        (Attention { q_position: isize::MIN, ..good }, "q_position"),
    ] {
        let error = refused(attention);
        assert!(matches!(error, Error::Value { parameter, .. } if parameter == wrong), "{error}");
    }
    let longer = |strides: HeadStrides| HeadStrides { batch: strides.batch + 1, ..strides };
    for (attention, wrong) in [
        (Attention { q: longer(good.q), ..good }, "queries"),
        (Attention { k: longer(good.k), ..good }, "keys"),
        (Attention { v: HeadStrides { head: usize::MAX, ..good.v }, ..good }, "values"),
        (Attention { out: longer(good.out), ..good }, "out"),
    ] {
        let error = refused(attention);
        assert!(matches!(error, Error::Length { buffer, .. } if buffer == wrong), "{error}");
    }
    let short = bench.upload(&[1_u32]);
    let inputs = AttentionInputs::new(&buffer, &buffer, &buffer).lengths(&short);
    let error = bench.kernels.attention(&bench.stream, &good, inputs, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "attention: `lengths` has 1 elements, but needs 2");
    let slopes = bench.zeroed::<f32>(3);
    let inputs = AttentionInputs::new(&buffer, &buffer, &buffer).slopes(&slopes);
    let error = bench.kernels.attention(&bench.stream, &good, inputs, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "attention: `slopes` has 3 elements, but needs 4");
    let inputs = AttentionInputs::new(&buffer, &buffer, &buffer).sinks(&slopes);
    let error = bench.kernels.attention(&bench.stream, &good, inputs, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "attention: `sinks` has 3 elements, but needs 4");
}

/// Elements of an 8-bit cache, and the numbers that they represent.
trait Stored: hip::DeviceCopy {
    /// Any byte but NaN.
    fn from_byte(byte: u8) -> Self;
    fn to_f64(self) -> f64;
    fn inputs<'a, T: Float<Compute = f32>>(
        q: &'a hip::DeviceBuffer<T>,
        k: &'a hip::DeviceBuffer<Self>,
        v: &'a hip::DeviceBuffer<Self>,
    ) -> AttentionInputs<'a, T>;
}

impl Stored for i8 {
    fn from_byte(byte: u8) -> Self {
        byte as i8
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn inputs<'a, T: Float<Compute = f32>>(
        q: &'a hip::DeviceBuffer<T>,
        k: &'a hip::DeviceBuffer<Self>,
        v: &'a hip::DeviceBuffer<Self>,
    ) -> AttentionInputs<'a, T> {
        AttentionInputs::with_i8_cache(q, k, v)
    }
}

impl Stored for F8E4M3 {
    fn from_byte(byte: u8) -> Self {
        // what would be NaN is 0
        Self::from_bits(if byte & 0x7f == 0x7f { 0 } else { byte })
    }
    fn to_f64(self) -> f64 {
        Element::to_f64(self)
    }
    fn inputs<'a, T: Float<Compute = f32>>(
        q: &'a hip::DeviceBuffer<T>,
        k: &'a hip::DeviceBuffer<Self>,
        v: &'a hip::DeviceBuffer<Self>,
    ) -> AttentionInputs<'a, T> {
        AttentionInputs::with_f8_cache(q, k, v)
    }
}

/// A paged cache: the block of each `block_size` keys of each sequence.
struct Paged {
    table: Vec<u32>,
    blocks: usize,
    block_size: usize,
}

impl Paged {
    /// Unordered blocks, and more of them than are used.
    fn new(batch: usize, kv_len: usize, block_size: usize) -> Self {
        let each = kv_len.div_ceil(block_size);
        let blocks = batch * each + 4;
        // 7 and the number of blocks have no common divisor in these tests
        assert_ne!(blocks % 7, 0);
        Self { table: (0..batch * each).map(|i| (i * 7 % blocks) as u32).collect(), blocks, block_size }
    }

    /// The block of a key, and its place in the block.
    fn find(&self, batch: usize, of: usize, key: usize) -> (usize, usize) {
        let each = self.table.len() / of;
        (self.table[batch * each + key / self.block_size] as usize, key % self.block_size)
    }
}

fn pages_match<T: Float<Compute = f32>>(bench: &Bench) {
    let (batch, heads, kv_heads, dim) = (2, 4, 2, 48);
    // Many rows pass several tiles of keys; blocks need not be a power of two.
    for (q_len, kv_len, block_size) in [(1, 700, 16), (20, 75, 32), (33, 310, 16), (9, 250, 48)] {
        let pages = Paged::new(batch, kv_len, block_size);
        let block = HeadStrides::rows_first(kv_heads, block_size, dim);
        let attention = Attention {
            k: block,
            v: block,
            ..Attention::new(batch, heads, kv_heads, q_len, kv_len, dim).causal()
        };
        let q = random::<T>(span(attention.q, batch, heads, q_len, dim), 31, 2.0);
        let mut k = random::<T>(span(block, pages.blocks, kv_heads, block_size, dim), 32, 2.0);
        let mut v = random::<T>(k.len(), 33, 1.0);
        // keys outside every sequence must not be seen
        for unused in (0..pages.blocks).filter(|i| !pages.table.contains(&(*i as u32))) {
            k[unused * block.batch..][..block.batch].fill(T::from_f64(f64::NAN));
            v[unused * block.batch..][..block.batch].fill(T::from_f64(f64::NAN));
        }
        let lengths = vec![kv_len as u32 - 5, kv_len as u32];
        let mut wanted = vec![Expected { value: 0.0, slack: 0.0 }; batch * heads * q_len * dim];
        let numbers = |from: &[T], b: usize, h: usize, i: usize| {
            let (block_index, row) = pages.find(b, batch, i);
            from[place(block, block_index, h, row)..][..dim].iter().map(|x| x.to_f64()).collect::<Vec<f64>>()
        };
        let sight = Sight { lengths: Some(lengths.clone()), ..Sight::default() };
        expected(
            &attention,
            &sight,
            &q,
            |b, h, i| numbers(&k, b, h, i),
            |b, h, i| numbers(&v, b, h, i),
            flushes::<T>(bench),
            &mut wanted,
        );
        let (q, k, v) = (bench.upload(&q), bench.upload(&k), bench.upload(&v));
        let (table, lengths) = (bench.upload(&pages.table), bench.upload(&lengths));
        let mut out = bench.zeroed::<T>(wanted.len());
        let inputs =
            AttentionInputs::new(&q, &k, &v).lengths(&lengths).pages(&table, pages.blocks, block_size);
        bench.kernels.attention(&bench.stream, &attention, inputs, &mut out).unwrap();
        let result = compare(&bench.download(&out), wanted);
        assert!(result.passed(), "{q_len} {kv_len} {}: {result:?}", T::NAME);
    }
}

#[test]
fn paged_caches() {
    for_every_type!(pages_match);
}

fn eight_bits_match<T: Float<Compute = f32>, S: Stored>(bench: &Bench, paged: bool) {
    let (batch, heads, kv_heads, q_len, kv_len, dim) = (2, 4, 2, 6, 90, 64);
    let pages = Paged::new(batch, kv_len, 16);
    // a scale for each key of each head, or one for each head
    let (sequences, rows) = if paged { (pages.blocks, 16) } else { (batch, kv_len) };
    let layout = HeadStrides::heads_first(kv_heads, rows, dim);
    let k_scales = HeadStrides::heads_first(kv_heads, rows, 1);
    let v_scales = HeadStrides { head: 1, ..HeadStrides::default() };
    let attention = Attention {
        k: layout,
        v: layout,
        k_scales,
        v_scales,
        ..Attention::new(batch, heads, kv_heads, q_len, kv_len, dim).causal()
    };
    let bytes = |seed, len| -> Vec<S> {
        random::<f32>(len, seed, 128.0).into_iter().map(|x| S::from_byte((x.floor() as i8) as u8)).collect()
    };
    let len = span(layout, sequences, kv_heads, rows, dim);
    let (k, v) = (bytes(41, len), bytes(42, len));
    let largest = k.iter().map(|x| x.to_f64().abs()).fold(0.0, f64::max);
    let q = random::<T>(batch * heads * q_len * dim, 43, 1.0);
    let scale_numbers = |seed, len| -> Vec<f32> {
        random::<f32>(len, seed, 0.5).into_iter().map(|x| (x + 1.0) * 2.0 / largest as f32).collect()
    };
    let (ks, vs) =
        (scale_numbers(44, span(k_scales, sequences, kv_heads, rows, 1)), scale_numbers(45, kv_heads));
    let mut wanted = vec![Expected { value: 0.0, slack: 0.0 }; q.len()];
    let find = |b, i| if paged { pages.find(b, batch, i) } else { (b, i) };
    // products with scales are rounded to the type
    let numbers = |from: &[S], at: usize, scale: f32| {
        from[at..][..dim]
            .iter()
            .map(|x| T::from_f64(f64::from(x.to_f64() as f32 * scale)).to_f64())
            .collect::<Vec<f64>>()
    };
    let key = |b, h, i| {
        let (sequence, row) = find(b, i);
        numbers(&k, place(layout, sequence, h, row), ks[place(k_scales, sequence, h, row)])
    };
    let value = |b, h, i| {
        let (sequence, row) = find(b, i);
        numbers(&v, place(layout, sequence, h, row), vs[h])
    };
    expected(&attention, &Sight::default(), &q, key, value, flushes::<T>(bench), &mut wanted);
    let (q, k, v, ks, vs) =
        (bench.upload(&q), bench.upload(&k), bench.upload(&v), bench.upload(&ks), bench.upload(&vs));
    let table = bench.upload(&pages.table);
    let mut inputs = S::inputs(&q, &k, &v).scales(&ks, &vs);
    if paged {
        inputs = inputs.pages(&table, pages.blocks, 16);
    }
    let mut out = bench.zeroed::<T>(wanted.len());
    bench.kernels.attention(&bench.stream, &attention, inputs, &mut out).unwrap();
    let result = compare(&bench.download(&out), wanted);
    // rounding twice may differ by one in the last place
    assert!(result.passed(), "{} of {}, paged {paged}: {result:?}", T::NAME, std::any::type_name::<S>());
}

#[test]
fn caches_of_eight_bits() {
    let bench = Bench::open();
    for paged in [false, true] {
        eight_bits_match::<half::f16, i8>(&bench, paged);
        eight_bits_match::<half::f16, F8E4M3>(&bench, paged);
        eight_bits_match::<half::bf16, i8>(&bench, paged);
        eight_bits_match::<half::bf16, F8E4M3>(&bench, paged);
    }
}

/// Tokens are appended one after another to a paged cache of 8-bit floats, with two scales, and then attended
/// to.
fn appended_keys_are_seen<T: Float<Compute = f32>>(bench: &Bench) {
    let (batch, heads, kv_heads, q_len, kv_len, dim) = (2, 4, 2, 3, 45, 64);
    let pages = Paged::new(batch, kv_len, 16);
    let layout = CacheLayout::heads_first(pages.blocks, kv_heads, 16, dim);
    let block = HeadStrides::heads_first(kv_heads, 16, dim);
    let attention = Attention {
        k: block,
        v: block,
        ..Attention::new(batch, heads, kv_heads, q_len, kv_len, dim).causal()
    };
    let q = random::<T>(batch * heads * q_len * dim, 51, 1.0);
    // tokens × heads × dimensions, sequence by sequence
    let (k, v) = (
        random::<T>(batch * kv_len * kv_heads * dim, 52, 2.0),
        random::<T>(batch * kv_len * kv_heads * dim, 53, 1.0),
    );
    let (k_scale, v_scale) = (0.011_f32, 0.25);
    let slots: Vec<i64> = (0..batch * kv_len)
        .map(|token| {
            let (block, row) = pages.find(token / kv_len, batch, token % kv_len);
            (block * 16 + row) as i64
        })
        .collect();
    let shape = Heads::contiguous(kv_heads, dim);
    let slots = bench.upload(&slots);
    let append = |x: &[T], scale| {
        // slots that no token has filled must not be seen
        let mut cache = bench.upload(&vec![F8E4M3::NAN; pages.blocks * block.batch]);
        let x = bench.upload(x);
        bench.kernels.kv_append_f8(&bench.stream, &x, &shape, &slots, scale, &mut cache, &layout).unwrap();
        cache
    };
    let (k_cache, v_cache) = (append(&k, k_scale), append(&v, v_scale));
    // stored as 8 bits, read as the queries' type
    let numbers = |from: &[T], b: usize, h: usize, i: usize, scale: f32| {
        let stored = |x: &T| F8E4M3::from_f64(f64::from(x.to_f64() as f32 * scale.recip()));
        from[((b * kv_len + i) * kv_heads + h) * dim..][..dim]
            .iter()
            .map(|x| T::from_f64(f64::from(stored(x).to_f64() as f32 * scale)).to_f64())
            .collect::<Vec<f64>>()
    };
    let mut wanted = vec![Expected { value: 0.0, slack: 0.0 }; q.len()];
    expected(
        &attention,
        &Sight::default(),
        &q,
        |b, h, i| numbers(&k, b, h, i, k_scale),
        |b, h, i| numbers(&v, b, h, i, v_scale),
        flushes::<T>(bench),
        &mut wanted,
    );
    let q = bench.upload(&q);
    let (k_scales, v_scales) = (bench.upload(&[k_scale]), bench.upload(&[v_scale]));
    let table = bench.upload(&pages.table);
    let inputs = AttentionInputs::with_f8_cache(&q, &k_cache, &v_cache).scales(&k_scales, &v_scales).pages(
        &table,
        pages.blocks,
        16,
    );
    let mut out = bench.zeroed::<T>(wanted.len());
    bench.kernels.attention(&bench.stream, &attention, inputs, &mut out).unwrap();
    let result = compare(&bench.download(&out), wanted);
    assert!(result.passed(), "{}: {result:?}", T::NAME);
}

#[test]
fn what_was_appended_as_f8_is_seen() {
    let bench = Bench::open();
    appended_keys_are_seen::<half::f16>(&bench);
    appended_keys_are_seen::<half::bf16>(&bench);
}

#[test]
fn tables_and_caches_that_cannot_be_are_refused() {
    let bench = Bench::open();
    let q = bench.zeroed::<half::f16>(2 * 64);
    let cache = bench.zeroed::<half::f16>(4 * 16 * 64);
    let bytes = bench.zeroed::<i8>(4 * 16 * 64);
    let table = bench.upload(&[0_u32, 1, 2, 3]);
    let mut out = bench.zeroed::<half::f16>(2 * 64);
    let block = HeadStrides::heads_first(1, 16, 64);
    let good = Attention { k: block, v: block, ..Attention::new(2, 1, 1, 1, 32, 64) };
    let mut run =
        |attention: &Attention, inputs| bench.kernels.attention(&bench.stream, attention, inputs, &mut out);
    let paged = || AttentionInputs::new(&q, &cache, &cache);
    run(&good, paged().pages(&table, 4, 16)).unwrap();
    // a table entry outside the cache reads the last block
    let wild = bench.upload(&[u32::MAX, 1 << 20, 4, 5]);
    run(&good, paged().pages(&wild, 4, 16)).unwrap();
    for (blocks, block_size, wrong) in [(4, 0, "block_size"), (4, 24, "block_size"), (0, 16, "blocks")] {
        let error = run(&good, paged().pages(&table, blocks, block_size)).unwrap_err();
        assert!(matches!(error, Error::Size { parameter, .. } if parameter == wrong), "{error}");
    }
    let error = run(&good, paged().pages(&table, 5, 16)).unwrap_err();
    assert_eq!(error.to_string(), "attention: `keys` has 4096 elements, but needs 5120");
    let longer = Attention { kv_len: 33, ..good };
    let error = run(&longer, paged().pages(&table, 4, 16)).unwrap_err();
    assert_eq!(error.to_string(), "attention: `table` has 4 elements, but needs 6");
    let scales = bench.zeroed::<f32>(1);
    let error = run(&good, paged().pages(&table, 4, 16).scales(&scales, &scales)).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "k_scales", .. }), "{error}");
    let per_key = Attention { v_scales: HeadStrides { row: 1, ..HeadStrides::default() }, ..good };
    let eight =
        AttentionInputs::with_i8_cache(&q, &bytes, &bytes).pages(&table, 4, 16).scales(&scales, &scales);
    let error = run(&per_key, eight).unwrap_err();
    assert_eq!(error.to_string(), "attention: `v_scales` has 1 elements, but needs 16");
    let floats = bench.zeroed::<f32>(2 * 64);
    let mut results = bench.zeroed::<f32>(2 * 64);
    let eight = AttentionInputs::with_i8_cache(&floats, &bytes, &bytes).pages(&table, 4, 16);
    let error = bench.kernels.attention(&bench.stream, &good, eight, &mut results).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "queries", got: 4, .. }), "{error}");
}
