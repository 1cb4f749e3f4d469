//! Attention, and the caches that it reads.

use backend::{Attention, BackendKind, DType, Keys, KvCache, KvLayout, KvShape, Tensor};

use crate::common::{Bench, FLOATS};

/// What attention is asked for.
#[derive(Clone, Copy, Debug)]
struct Case {
    q_len: usize,
    lengths: [usize; 2],
    causal: bool,
    window: Option<usize>,
    soft_cap: Option<f32>,
    sinks: bool,
}

const PLAIN: Case =
    Case { q_len: 1, lengths: [37, 5], causal: true, window: None, soft_cap: None, sinks: false };

const CASES: [Case; 7] = [
    PLAIN,
    Case { q_len: 5, ..PLAIN },
    Case { q_len: 18, lengths: [70, 18], ..PLAIN },
    Case { q_len: 18, lengths: [70, 18], window: Some(9), ..PLAIN },
    Case { soft_cap: Some(1.5), ..PLAIN },
    Case { q_len: 3, sinks: true, ..PLAIN },
    Case { q_len: 20, lengths: [20, 13], causal: false, ..PLAIN },
];

const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const DIM: usize = 32;
const SHAPE: KvShape = KvShape { heads: KV_HEADS, dimensions: DIM };
/// Positions that a sequence has room for.
const MOST: usize = 80;

/// The result for queries `[2, q_len, HEADS, DIM]` and what `key` and `value` give for a sequence, a position
/// and a head.
fn exact(
    case: Case,
    q: &[f64],
    key: &dyn Fn(usize, usize, usize) -> Vec<f64>,
    value: &dyn Fn(usize, usize, usize) -> Vec<f64>,
    sinks: &[f64],
) -> Vec<f64> {
    let mut out = Vec::new();
    for sequence in 0..2 {
        let length = case.lengths[sequence];
        for query in 0..case.q_len {
            let position = (length + query) as isize - case.q_len as isize;
            for head in 0..HEADS {
                let q = &q[((sequence * case.q_len + query) * HEADS + head) * DIM..][..DIM];
                let sees = |key: &usize| {
                    let key = *key as isize;
                    (!case.causal || key <= position)
                        && case.window.is_none_or(|window| key > position - window as isize)
                };
                let seen: Vec<usize> = (0..length).filter(sees).collect();
                let score = |position: usize| {
                    let k = key(sequence, position, head / (HEADS / KV_HEADS));
                    let x = q.iter().zip(&k).map(|(q, k)| q * k).sum::<f64>() / (DIM as f64).sqrt();
                    case.soft_cap.map_or(x, |cap| f64::from(cap) * (x / f64::from(cap)).tanh())
                };
                let weights: Vec<f64> = seen.iter().map(|key| score(*key).exp()).collect();
                let sink = if case.sinks { sinks[head].exp() } else { 0.0 };
                let total = weights.iter().sum::<f64>() + sink;
                let mut sum = vec![0.0; DIM];
                for (weight, position) in weights.iter().zip(&seen) {
                    let v = value(sequence, *position, head / (HEADS / KV_HEADS));
                    sum.iter_mut().zip(&v).for_each(|(s, v)| *s += weight / total * v);
                }
                out.extend(sum);
            }
        }
    }
    out
}

/// f32 arithmetic, weights rounded to the type, or cached numbers of 8 bits.
fn slack(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 3e-5,
        DType::F16 => 4e-3,
        _ => 2e-2,
    }
}

#[test]
fn dense_keys() {
    let bench = Bench::open();
    for (dtype, _) in FLOATS {
        for case in CASES {
            let (q, queries) = bench.random(dtype, &[2, case.q_len, HEADS, DIM], 41, 2.0);
            let (k, keys) = bench.random(dtype, &[2, MOST, KV_HEADS, DIM], 42, 2.0);
            let (v, values) = bench.random(dtype, &[2, MOST, KV_HEADS, DIM], 43, 2.0);
            let (sinks, of_sinks) = bench.random(DType::F32, &[HEADS], 44, 2.0);
            let lengths = bench.u32(&[2], &case.lengths.map(|length| length as u32));
            let out = bench.empty(dtype, &[2, case.q_len, HEADS, DIM]);
            let attention = Attention {
                causal: case.causal,
                window: case.window,
                soft_cap: case.soft_cap,
                sinks: case.sinks.then_some(&sinks),
                ..Attention::causal(&q, Keys::Dense { k: &k, v: &v }, Some(&lengths), MOST)
            };
            bench.backend.attention(&attention, &out).unwrap();
            let of = |all: &[f64], sequence: usize, position: usize, head: usize| {
                all[((sequence * MOST + position) * KV_HEADS + head) * DIM..][..DIM].to_vec()
            };
            let expected = exact(
                case,
                &queries,
                &|s, p, h| of(&keys, s, p, h),
                &|s, p, h| of(&values, s, p, h),
                &of_sinks,
            );
            bench.is_near(&out, &expected, |_| slack(dtype), &format!("{case:?}"));
        }
    }
}

/// Appends all positions of both sequences token by token, in the places that their tables say.
fn cached(bench: &Bench, cached: DType, dtype: DType, layout: KvLayout, table: Option<[Vec<u32>; 2]>) {
    // A GPU's queries of a cache of 8 bits have 16 bits.
    if cached.block_bytes() == 1 && dtype == DType::F32 && bench.backend.info().kind != BackendKind::Cpu {
        return;
    }
    let cache = KvCache::new(&*bench.backend, cached, layout, &[SHAPE, SHAPE]).unwrap();
    let pages = table.clone().unwrap_or([vec![0], vec![1]]);
    let layer = &cache.layers[1];
    let (k, keys) = bench.random(dtype, &[2 * MOST, KV_HEADS, DIM], 45, 2.0);
    let (v, values) = bench.random(dtype, &[2 * MOST, KV_HEADS, DIM], 46, 2.0);
    let slots: Vec<i64> = (0..2 * MOST).map(|i| layout.slot(&pages[i / MOST], i % MOST).unwrap()).collect();
    // The last token is dropped, and appended again below.
    let mut first = slots.clone();
    first[2 * MOST - 1] = -1;
    let places = bench.backend.tensor_i64(&[2 * MOST], &first).unwrap();
    bench.backend.kv_append(layer, &k, &v, &places).unwrap();
    let last = |x: &Tensor| x.narrow(0, 2 * MOST - 1, 1).unwrap();
    let place = bench.backend.tensor_i64(&[1], &slots[2 * MOST - 1..]).unwrap();
    bench.backend.kv_append(layer, &last(&k), &last(&v), &place).unwrap();

    let rows = table.map(|table| {
        let all: Vec<u32> = table.concat();
        bench.u32(&[2, all.len() / 2], &all)
    });
    for case in CASES {
        let (q, queries) = bench.random(dtype, &[2, case.q_len, HEADS, DIM], 47, 2.0);
        let (sinks, of_sinks) = bench.random(DType::F32, &[HEADS], 48, 2.0);
        let lengths = bench.u32(&[2], &case.lengths.map(|length| length as u32));
        let out = bench.empty(dtype, &[2, case.q_len, HEADS, DIM]);
        let attention = Attention {
            causal: case.causal,
            window: case.window,
            soft_cap: case.soft_cap,
            sinks: case.sinks.then_some(&sinks),
            ..Attention::causal(&q, Keys::Cache { layer, table: rows.as_ref() }, Some(&lengths), MOST)
        };
        bench.backend.attention(&attention, &out).unwrap();
        let of = |all: &[f64], sequence: usize, position: usize, head: usize| {
            all[((sequence * MOST + position) * KV_HEADS + head) * DIM..][..DIM].to_vec()
        };
        let expected =
            exact(case, &queries, &|s, p, h| of(&keys, s, p, h), &|s, p, h| of(&values, s, p, h), &of_sinks);
        // Scores of up to 11 are off by what the keys are off by.
        let quantised = match cached {
            DType::F8 => 0.35,
            DType::I8 => 0.06,
            _ => 0.0,
        };
        bench.is_near(
            &out,
            &expected,
            |_| slack(dtype) + quantised,
            &format!("{cached} {layout:?} {case:?}"),
        );
    }
}

const CACHED: [(DType, DType); 7] = [
    (DType::F32, DType::F32),
    (DType::F16, DType::F16),
    (DType::BF16, DType::BF16),
    (DType::F8, DType::F16),
    (DType::F8, DType::F32),
    (DType::I8, DType::BF16),
    (DType::I8, DType::F32),
];

#[test]
fn contiguous_caches() {
    let bench = Bench::open();
    for (stored, dtype) in CACHED {
        cached(&bench, stored, dtype, KvLayout::contiguous(2, MOST), None);
    }
}

#[test]
fn contiguous_caches_with_sequences_in_any_order() {
    let bench = Bench::open();
    cached(&bench, DType::F32, DType::F32, KvLayout::contiguous(3, MOST), Some([vec![2], vec![0]]));
}

#[test]
fn paged_caches() {
    let bench = Bench::open();
    for (stored, dtype) in CACHED {
        let table = [vec![9, 0, 3, 7, 2], vec![1, 8, 5, 4, 6]];
        cached(&bench, stored, dtype, KvLayout::paged(2 * MOST, 16), Some(table));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let bench = Bench::open();
    let q = bench.empty(DType::F32, &[1, 1, 4, 32]);
    let k = bench.empty(DType::F32, &[1, 16, 2, 32]);
    let out = bench.empty(DType::F32, &[1, 1, 4, 32]);
    let attention = |k, most| Attention::causal(&q, Keys::Dense { k, v: k }, None, most);
    let error = bench.backend.attention(&attention(&k, 17), &out).unwrap_err();
    assert!(error.to_string().contains("1 sequences of 17 keys"), "{error}");
    let three = bench.empty(DType::F32, &[1, 16, 3, 32]);
    let error = bench.backend.attention(&attention(&three, 16), &out).unwrap_err();
    assert!(error.to_string().contains("a divisor of 4 heads"), "{error}");
    let half = bench.empty(DType::F16, &[1, 16, 2, 32]);
    let error = bench.backend.attention(&attention(&half, 16), &out).unwrap_err();
    assert!(matches!(error, backend::Error::Unsupported { operation: "attention", .. }), "{error}");
    let none = KvCache::new(&*bench.backend, DType::F32, KvLayout { pages: 0, page: 16 }, &[SHAPE]).unwrap();
    let table = bench.u32(&[1, 1], &[0]);
    let keys = Keys::Cache { layer: &none.layers[0], table: Some(&table) };
    let error = bench.backend.attention(&Attention::causal(&q, keys, None, 16), &out).unwrap_err();
    assert!(error.to_string().contains("pages for 16 keys"), "{error}");
    let layout = KvLayout { pages: 2, page: 20 };
    assert!(KvCache::new(&*bench.backend, DType::F32, layout, &[]).is_err());
    assert!(KvCache::new(&*bench.backend, DType::U32, KvLayout::paged(32, 16), &[]).is_err());
}
