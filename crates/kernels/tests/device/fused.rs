//! Kernels that do what several others do one after the other.

use hip::DeviceBuffer;
use kernels::{
    Activation, CacheLayout, Caches, Element, Error, F8E4M3, Float, GateFunction, GateRows, Heads, Q8_1,
    QuantVectors, RopeAppend, RopeAppendInputs, RopeStyle, modules,
};

use crate::common::{Bench, for_every_type, random};
use crate::record::{assert_exact, difference};

/// Blocks as the numbers give them on the CPU, but for the sums, which may be in another order. A sum of 32
/// is rounded to f16, which says nothing about the numbers, so that it is not recorded.
fn are_blocks_of<T: Element>(blocks: &[u8], numbers: &[T], columns: usize, what: &str) {
    let rows = numbers.chunks(columns).map(|row| row.iter().map(|x| x.to_f64() as f32).collect::<Vec<_>>());
    let expected: Vec<u8> = rows.flat_map(|row| Q8_1::quantize(&row)).collect();
    assert_eq!(blocks.len(), expected.len(), "{what}");
    for (found, expected) in blocks.chunks(Q8_1::BYTES).zip(expected.chunks(Q8_1::BYTES)) {
        let sum = |block: &[u8]| half::f16::from_le_bytes([block[2], block[3]]).to_f32();
        assert!((sum(found) - sum(expected)).abs() <= 0.06, "{what}: {} {}", sum(found), sum(expected));
        assert_exact!((&found[..2], &found[4..]), (&expected[..2], &expected[4..]), "{what}");
    }
}

fn numbers<T: Element>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| x.to_f64()).collect()
}

/// Numbers are those of another kernel, but for a rounding to the type, and `least`.
fn are_near<T: Element>(found: &[T], expected: &[T], least: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in numbers(found).into_iter().zip(numbers(expected)) {
        difference(found, expected);
        let bound = 2.1 * T::UNIT_ROUNDOFF * expected.abs() + least;
        assert!((found - expected).abs() <= bound, "{what}: {found} {expected}");
    }
}

fn norms_with_blocks<T: Float<Compute = f32>>(bench: &Bench) {
    // A part of a warp, several warps, more packs than work-items, and rows that begin at odd addresses.
    for (rows, columns, start) in [(1, 32, 0), (3, 544, 0), (2, 8224, 0), (2, 96, 1)] {
        let len = rows * columns;
        let (x, residual) = (random::<T>(len + start, 61, 3.0), random::<T>(len + start, 62, 3.0));
        let weight = random::<T>(columns, 63, 2.0);
        let (device_x, device_weight) = (bench.upload(&x), bench.upload(&weight));
        for adds in [true, false] {
            let (mut sum, mut y) = (bench.upload(&residual), bench.zeroed::<T>(len));
            let mut blocks = bench.zeroed::<u8>(len / Q8_1::VALUES * Q8_1::BYTES);
            let kernel = format!("add_rmsnorm_q8_1_{}", T::NAME);
            let kernel = bench.kernels.function(&modules::NORM, &kernel).unwrap();
            let launch = kernel.launch(&bench.stream).grid(rows as u32).block(256);
            let from = adds.then(|| device_x.slice(start..).unwrap());
            let read = sum.as_slice().slice(start..).unwrap().address();
            let launch = launch.arg(from).arg(read).arg(&device_weight);
            let launch = launch.arg(sum.slice_mut(start..).unwrap()).arg(&mut y).arg(&mut blocks);
            let launch = launch.arg(columns as u64).arg(1e-5_f32);
            // SAFETY: there are that many rows and columns of all.
            unsafe { launch.enqueue().unwrap() };

            let mut expected_sum = bench.upload(&residual[start..]);
            let mut expected = bench.zeroed::<T>(len);
            let (kernels, stream) = (&bench.kernels, &bench.stream);
            let weight = Some(device_weight.as_slice());
            if adds {
                let from = device_x.slice(start..).unwrap();
                kernels
                    .add_rms_norm(stream, from, &mut expected_sum, columns, weight, 1e-5, &mut expected)
                    .unwrap();
            } else {
                kernels.rms_norm(stream, &expected_sum, columns, weight, 1e-5, &mut expected).unwrap();
            }
            let what = format!("{rows} × {columns} {}, adds {adds}", T::NAME);
            let (expected_sum, expected) = (bench.download(&expected_sum), bench.download(&expected));
            let found = bench.download(&y);
            assert_exact!(numbers(&bench.download(&sum)[start..]), numbers(&expected_sum), "{what}");
            // The squares are added in another order.
            are_near(&found, &expected, 1e-6, &what);
            are_blocks_of(&bench.download(&blocks), &found, columns, &what);
        }
    }
}

#[test]
fn norms_give_their_blocks_too() {
    for_every_type!(norms_with_blocks);
}

fn gates_with_blocks<T: Float<Compute = f32>>(bench: &Bench) {
    let functions = [Activation::Silu, Activation::Gelu, Activation::GeluErf, Activation::Relu2];
    for (rows, columns, gap) in [(1, 32, 0), (3, 352, 8), (2, 96, 1)] {
        let stride = 2 * columns + gap;
        let both = random::<T>(rows * stride, 64, 3.0);
        let device = bench.upload(&both);
        let (gate, up) = (device.as_slice(), device.slice(columns..).unwrap());
        let by = GateRows { rows, columns, gate_stride: stride, up_stride: stride };
        for (number, f) in functions.into_iter().enumerate() {
            let len = rows * columns;
            let (mut y, mut expected) = (bench.zeroed::<T>(len), bench.zeroed::<T>(len));
            let mut blocks = bench.zeroed::<u8>(len / Q8_1::VALUES * Q8_1::BYTES);
            let kernel = format!("gated_q8_1_{}", T::NAME);
            let kernel = bench.kernels.function(&modules::ACTIVATION, &kernel).unwrap();
            let launch = kernel.launch(&bench.stream).grid(2).block(64).arg(number as u32);
            let launch = launch.arg(rows as u64).arg(columns as u64).arg(gate).arg(stride as u64);
            let launch = launch.arg(up).arg(stride as u64).arg(&mut y).arg(&mut blocks);
            // SAFETY: there are that many rows and columns of all.
            unsafe { launch.enqueue().unwrap() };
            let function = GateFunction::Product(f);
            bench.kernels.gated_rows(&bench.stream, function, &by, gate, up, &mut expected).unwrap();
            let (found, expected) = (bench.download(&y), bench.download(&expected));
            let what = format!("{f:?} of {rows} × {columns} {}", T::NAME);
            // Compilers may round the product to f32 before, or not.
            are_near(&found, &expected, 1e-7, &what);
            are_blocks_of(&bench.download(&blocks), &found, columns, &what);
        }
    }
}

#[test]
fn gates_give_their_blocks_too() {
    for_every_type!(gates_with_blocks);
}

/// Queries, then keys, then values of each token, from `start` on, and caches with pages of four positions.
#[derive(Clone, Copy)]
struct Setting {
    tokens: usize,
    heads: usize,
    kv_heads: usize,
    size: usize,
    rotary: usize,
    /// Elements between heads of a cache.
    gap: usize,
    start: usize,
}

const FEW: Setting = Setting { tokens: 4, heads: 3, kv_heads: 1, size: 40, rotary: 32, gap: 10, start: 0 };

impl Setting {
    /// Of a token to the next.
    fn stride(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.size
    }
    fn len(&self) -> usize {
        self.start + self.tokens * self.stride()
    }
    /// Where keys and values begin.
    fn parts(&self) -> (usize, usize) {
        let keys = self.start + self.heads * self.size;
        (keys, keys + self.kv_heads * self.size)
    }
    /// In any order; the second token has none, and the last one's is beyond the cache.
    fn slots(&self) -> Vec<i64> {
        let last = self.cache().slots() as i64;
        let slot = |token: usize| match token {
            1 => -1,
            _ if token + 1 == self.tokens => last,
            _ => (9 + token as i64 * 5) % last,
        };
        (0..self.tokens).map(slot).collect()
    }
    fn cache(&self) -> CacheLayout {
        let page = self.size + self.gap;
        // A prime number of pages: the slots are different.
        let pages = [3, 7, 11, 17, 23].into_iter().find(|pages| 4 * pages >= self.tokens).unwrap();
        CacheLayout { size: self.size, ..CacheLayout::heads_first(pages, self.kv_heads, 4, page) }
    }
    fn shape(&self, style: RopeStyle) -> RopeAppend {
        let (size, token_stride, cache) = (self.size, self.stride(), self.cache());
        let heads = |heads| Heads { heads, size, token_stride, head_stride: size };
        let (q, kv) = (heads(self.heads), heads(self.kv_heads));
        RopeAppend { q, k: kv, v: kv, keys: cache, values: cache, style, eps: 1e-5 }
    }
}

/// The parts of `packed`, whose queries are changed.
fn inputs<'a, T: Float<Compute = f32>>(
    setting: &Setting,
    packed: &'a mut DeviceBuffer<T>,
    same: &'a DeviceBuffer<T>,
    tables: (&'a DeviceBuffer<f32>, &'a DeviceBuffer<f32>),
    slots: &'a DeviceBuffer<i64>,
) -> RopeAppendInputs<'a, T> {
    let (keys, values) = setting.parts();
    RopeAppendInputs {
        q: packed.slice_mut(setting.start..).unwrap(),
        k: same.slice(keys..).unwrap(),
        v: same.slice(values..).unwrap(),
        weights: None,
        tables: (tables.0.as_slice(), tables.1.as_slice()),
        slots: slots.as_slice(),
    }
}

fn rotated_and_appended<T: Float<Compute = f32>>(bench: &Bench, setting: &Setting) {
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (tokens, (keys_at, values_at)) = (setting.tokens, setting.parts());
    let given_numbers = random::<T>(setting.len(), 65, 2.0);
    let slots = bench.upload(&setting.slots());
    let table = |seed| bench.upload(&random::<f32>(tokens * setting.rotary / 2, seed, 1.0));
    let (cos, sin) = (table(66), table(67));
    let cache = setting.cache();
    let (len, scale_len) = (cache.pages * cache.page_stride, cache.slots() * cache.heads);
    for style in [RopeStyle::HalfSplit, RopeStyle::Interleaved] {
        let by = setting.shape(style);
        let same = bench.upload(&given_numbers);
        let (mut packed, mut expected) = (bench.upload(&given_numbers), bench.upload(&given_numbers));
        let caches = || [bench.zeroed::<T>(len), bench.zeroed::<T>(len)];
        let ([mut keys, mut values], [mut expected_keys, mut expected_values]) = (caches(), caches());
        let given = inputs(setting, &mut packed, &same, (&cos, &sin), &slots);
        let into = Caches::Same(keys.as_mut_slice(), values.as_mut_slice());
        kernels.rope_append(stream, &by, given, into).unwrap();
        let part = expected.slice_mut(setting.start..).unwrap();
        kernels.rope_in_place(stream, style, tokens, (&cos, &sin), part, &by.q).unwrap();
        let mut rotated = bench.upload(&given_numbers);
        let part = rotated.slice_mut(keys_at..).unwrap();
        kernels.rope_in_place(stream, style, tokens, (&cos, &sin), part, &by.k).unwrap();
        let (k, v) = (rotated.slice(keys_at..).unwrap(), same.slice(values_at..).unwrap());
        kernels.kv_append(stream, k, &by.k, &slots, &mut expected_keys, &by.keys).unwrap();
        kernels.kv_append(stream, v, &by.v, &slots, &mut expected_values, &by.values).unwrap();
        let numbers =
            |x: &DeviceBuffer<T>| bench.download(x).iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
        assert_exact!(numbers(&packed), numbers(&expected), "queries {style:?} {}", T::NAME);
        assert_exact!(numbers(&keys), numbers(&expected_keys), "keys {style:?} {}", T::NAME);
        assert_exact!(numbers(&values), numbers(&expected_values), "values {style:?} {}", T::NAME);

        let eighths = || [bench.zeroed::<F8E4M3>(len), bench.zeroed::<F8E4M3>(len)];
        let ([mut keys, mut values], [mut expected_keys, mut expected_values]) = (eighths(), eighths());
        let mut packed = bench.upload(&given_numbers);
        let given = inputs(setting, &mut packed, &same, (&cos, &sin), &slots);
        let into = Caches::F8(0.25, keys.as_mut_slice(), values.as_mut_slice());
        kernels.rope_append(stream, &by, given, into).unwrap();
        kernels.kv_append_f8(stream, k, &by.k, &slots, 0.25, &mut expected_keys, &by.keys).unwrap();
        kernels.kv_append_f8(stream, v, &by.v, &slots, 0.25, &mut expected_values, &by.values).unwrap();
        let bits =
            |x: &DeviceBuffer<F8E4M3>| bench.download(x).iter().map(|x| x.to_bits()).collect::<Vec<u8>>();
        assert_exact!(bits(&keys), bits(&expected_keys), "keys of 8 bits {style:?} {}", T::NAME);
        assert_exact!(bits(&values), bits(&expected_values), "values of 8 bits {style:?} {}", T::NAME);

        let bytes = || [bench.zeroed::<i8>(len), bench.zeroed::<i8>(len)];
        let scales = || [bench.zeroed::<f32>(scale_len), bench.zeroed::<f32>(scale_len)];
        let ([mut keys, mut values], [mut expected_keys, mut expected_values]) = (bytes(), bytes());
        let ([mut of_keys, mut of_values], [mut expected_of_keys, mut expected_of_values]) =
            (scales(), scales());
        let mut packed = bench.upload(&given_numbers);
        let given = inputs(setting, &mut packed, &same, (&cos, &sin), &slots);
        let into = Caches::I8(
            [keys.as_mut_slice(), values.as_mut_slice()],
            [of_keys.as_mut_slice(), of_values.as_mut_slice()],
        );
        kernels.rope_append(stream, &by, given, into).unwrap();
        let (to, of) = (&mut expected_keys, &mut expected_of_keys);
        kernels.kv_append_i8(stream, k, &by.k, &slots, to, of, &by.keys).unwrap();
        let (to, of) = (&mut expected_values, &mut expected_of_values);
        kernels.kv_append_i8(stream, v, &by.v, &slots, to, of, &by.values).unwrap();
        let both =
            |x: &DeviceBuffer<i8>, scales: &DeviceBuffer<f32>| (bench.download(x), bench.download(scales));
        let expected = both(&expected_keys, &expected_of_keys);
        assert_exact!(both(&keys, &of_keys), expected, "keys as integers {style:?} {}", T::NAME);
        let expected = both(&expected_values, &expected_of_values);
        assert_exact!(both(&values, &of_values), expected, "values as integers {style:?} {}", T::NAME);
    }
}

fn every_type_is_rotated_and_appended(setting: Setting) {
    let bench = Bench::open();
    rotated_and_appended::<f32>(&bench, &setting);
    rotated_and_appended::<half::f16>(&bench, &setting);
    rotated_and_appended::<half::bf16>(&bench, &setting);
}

#[test]
fn heads_are_rotated_and_appended_as_by_two_kernels() {
    every_type_is_rotated_and_appended(FEW);
}

/// A warp has several heads, whose lanes have two packs each.
#[test]
fn heads_in_packs_are_rotated_and_appended() {
    every_type_is_rotated_and_appended(Setting {
        heads: 5,
        kv_heads: 2,
        size: 64,
        rotary: 64,
        gap: 8,
        ..FEW
    });
    every_type_is_rotated_and_appended(Setting { size: 64, rotary: 32, gap: 0, ..FEW });
}

/// Neither the lanes of a head nor the heads of a workgroup are a power of two.
#[test]
fn heads_of_three_lanes_are_rotated_and_appended() {
    every_type_is_rotated_and_appended(Setting { size: 48, rotary: 16, gap: 0, ..FEW });
}

/// Everything but the addresses is a multiple of packs.
#[test]
fn heads_at_odd_addresses_are_rotated_and_appended() {
    every_type_is_rotated_and_appended(Setting { size: 64, rotary: 64, gap: 0, start: 1, ..FEW });
}

/// A lane has packs of several heads of a token.
#[test]
fn heads_of_many_tokens_are_rotated_and_appended() {
    let setting = Setting { tokens: 65, heads: 9, kv_heads: 4, size: 128, rotary: 128, gap: 0, start: 0 };
    rotated_and_appended::<half::f16>(&Bench::open(), &setting);
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let (kernels, stream) = (&bench.kernels, &bench.stream);
    let (same, slots) = (bench.zeroed::<f32>(FEW.len()), bench.upload(&FEW.slots()));
    let (cos, short) = (bench.zeroed::<f32>(FEW.tokens * 16), bench.zeroed::<f32>(7));
    let large = bench.zeroed::<f32>(FEW.tokens * 21);
    let refused = |by: RopeAppend, tables, cache: usize| {
        let mut packed = bench.zeroed::<f32>(FEW.len());
        let (mut keys, mut values) = (bench.zeroed::<f32>(600), bench.zeroed::<f32>(cache));
        let given = inputs(&FEW, &mut packed, &same, tables, &slots);
        let into = Caches::Same(keys.as_mut_slice(), values.as_mut_slice());
        kernels.rope_append(stream, &by, given, into).unwrap_err().to_string()
    };
    let by = FEW.shape(RopeStyle::HalfSplit);
    assert!(refused(by, (&cos, &short), 600).contains("`sin` has 7 elements"));
    assert!(refused(by, (&large, &large), 600).contains("fewer elements than are rotated"));
    assert!(refused(by, (&cos, &cos), 100).contains("`cache`"));
    let two = Heads { heads: 2, ..by.v };
    assert!(refused(RopeAppend { v: two, ..by }, (&cos, &cos), 600).contains("`heads of v` is 2"));
    let small = Heads { size: 8, ..by.k };
    assert!(refused(RopeAppend { k: small, ..by }, (&cos, &cos), 600).contains("size of k's heads"));
    let more = Heads { token_stride: 2 * FEW.stride(), ..by.q };
    assert!(refused(RopeAppend { q: more, ..by }, (&cos, &cos), 600).contains("`q`"));

    let mut blocks = QuantVectors::zeroed(stream, 2, 64).unwrap();
    let (x, mut y) = (bench.zeroed::<f32>(128), bench.zeroed::<f32>(128));
    let mut sum = bench.zeroed::<f32>(127);
    let error = kernels.add_rms_norm_quantized(stream, None, &mut sum, None, 1e-5, &mut y, &mut blocks);
    assert!(matches!(error, Err(Error::Length { buffer: "residual", expected: 128, got: 127, .. })));
    let rows = GateRows { rows: 2, columns: 64, gate_stride: 64, up_stride: 65 };
    let error =
        kernels.gated_quantized(stream, Activation::Silu, &rows, &x, &x, &mut y, &mut blocks).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "up", expected: 129, .. }), "{error}");
    let rows = GateRows { rows: 1, up_stride: 64, ..rows };
    let mut one = bench.zeroed::<f32>(64);
    let error =
        kernels.gated_quantized(stream, Activation::Silu, &rows, &x, &x, &mut one, &mut blocks).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "rows", got: 1, .. }), "{error}");
}
