//! Attention, and the cache that it reads.

use std::borrow::Cow;

use half::{bf16, f16};
use kernels::F8E4M3;
use rayon::prelude::*;

use super::{CpuBackend, Session, simd, unsupported};
use crate::check::AttentionSizes;
use crate::error::Result;
use crate::kv::check_append;
use crate::ops::{Attention, Keys};
use crate::{DType, KvLayer, Tensor, check};

/// Keys that are converted to f32 at a time.
const BLOCK: usize = 64;
/// Queries that a thread handles together.
const QUERIES: usize = 16;

pub(super) fn append(
    backend: &CpuBackend,
    layer: &KvLayer,
    k: &Tensor,
    v: &Tensor,
    slots: &Tensor,
) -> Result<()> {
    let operation = "kv_append";
    check_append(layer, k, v, slots)?;
    let cached = layer.k.dtype();
    if !k.dtype().is_float() || (cached.is_float() && cached != k.dtype()) {
        return Err(unsupported(operation, &[k, &layer.k]));
    }
    let mut session = backend.session();
    let slots = session.elements::<i64>(operation, slots)?.into_owned();
    for (x, cache, scales) in [(k, &layer.k, &layer.k_scales), (v, &layer.v, &layer.v_scales)] {
        let values = session.floats(operation, x)?.into_owned();
        check::dense(operation, "cache", cache)?;
        store(&mut session, layer, &values, &slots, cache, scales.as_ref())?;
    }
    Ok(())
}

fn store(
    session: &mut Session<'_>,
    layer: &KvLayer,
    values: &[f32],
    slots: &[i64],
    cache: &Tensor,
    scales: Option<&Tensor>,
) -> Result<()> {
    let operation = "kv_append";
    let (heads, dim) = (layer.heads(), layer.dimensions());
    let row = heads * dim;
    let places = layer.pages() * layer.page();
    // Each token's elements, and where they go.
    let kept = || {
        let tokens = values.chunks_exact(row.max(1)).zip(slots);
        tokens
            .filter_map(|(x, slot)| usize::try_from(*slot).ok().filter(|slot| *slot < places).map(|s| (x, s)))
    };
    let start = cache.offset();
    macro_rules! stored {
        ($type:ty, $convert:expr) => {{
            let all = session.all_mut::<$type>(operation, cache)?;
            for (x, slot) in kept() {
                let place = &mut all[start + slot * row..][..row];
                place.iter_mut().zip(x).for_each(|(place, x)| *place = $convert(*x));
            }
        }};
    }
    match (cache.dtype(), scales, &layer.f8_scale) {
        (DType::F32, ..) => stored!(f32, |x| x),
        (DType::F16, ..) => stored!(f16, f16::from_f32),
        (DType::BF16, ..) => stored!(bf16, bf16::from_f32),
        (DType::F8, _, Some((scale, _))) => {
            let inverse = scale.recip();
            let rounded = |x: f32| match x * inverse {
                x if x.is_nan() => F8E4M3::from_f64(f64::NAN),
                x => F8E4M3::from_f64(f64::from(x.clamp(-448.0, 448.0))),
            };
            stored!(F8E4M3, rounded);
        }
        (DType::I8, Some(scales), _) => {
            let mut factors = Vec::new();
            {
                let all = session.all_mut::<i8>(operation, cache)?;
                for (x, slot) in kept() {
                    for (head, x) in x.chunks_exact(dim).enumerate() {
                        let factor = x.iter().fold(0.0_f32, |most, x| most.max(x.abs())) / 127.0;
                        let inverse = if factor > 0.0 { factor.recip() } else { 0.0 };
                        let place = &mut all[start + slot * row + head * dim..][..dim];
                        let rounded = |x: f32| (x * inverse).round_ties_even() as i8;
                        place.iter_mut().zip(x).for_each(|(place, x)| *place = rounded(*x));
                        factors.push((slot * heads + head, factor));
                    }
                }
            }
            let all = session.all_mut::<f32>(operation, scales)?;
            factors.iter().for_each(|(at, factor)| all[scales.offset() + at] = *factor);
        }
        _ => return Err(unsupported(operation, &[cache])),
    }
    Ok(())
}

/// Heads of keys or values.
struct Rows<'a> {
    elements: Elements<'a>,
    offset: usize,
    /// From a page, a position and a head to the next.
    strides: [usize; 3],
    scales: Option<(&'a [f32], [usize; 3])>,
    dim: usize,
}

enum Elements<'a> {
    F32(&'a [f32]),
    F16(&'a [f16]),
    BF16(&'a [bf16]),
    F8(&'a [F8E4M3]),
    I8(&'a [i8]),
}

impl<'a> Rows<'a> {
    fn of(session: &'a Session<'_>, x: &'a Tensor, scales: Option<&'a Tensor>) -> Result<Self> {
        let operation = "attention";
        let elements = match x.dtype() {
            DType::F32 => Elements::F32(session.all(operation, x)?),
            DType::F16 => Elements::F16(session.all(operation, x)?),
            DType::BF16 => Elements::BF16(session.all(operation, x)?),
            DType::F8 => Elements::F8(session.all(operation, x)?),
            DType::I8 => Elements::I8(session.all(operation, x)?),
            _ => return Err(unsupported(operation, &[x])),
        };
        let scales = match scales {
            Some(scales) => {
                let all = &session.all::<f32>(operation, scales)?[scales.offset()..];
                // One factor for everything, or one for each head of each position.
                let strides = if scales.rank() == 1 {
                    [0; 3]
                } else {
                    [scales.strides()[0], scales.strides()[1], scales.strides()[2]]
                };
                Some((all, strides))
            }
            None => None,
        };
        let strides = [x.strides()[0], x.strides()[1], x.strides()[2]];
        Ok(Self { elements, offset: x.offset(), strides, scales, dim: x.size(3) })
    }

    /// The elements of a head at a position, as f32.
    fn read(&self, page: usize, position: usize, head: usize, out: &mut [f32]) {
        let at = |strides: [usize; 3]| page * strides[0] + position * strides[1] + head * strides[2];
        let range = self.offset + at(self.strides)..self.offset + at(self.strides) + self.dim;
        match self.elements {
            Elements::F32(all) => out.copy_from_slice(&all[range]),
            Elements::F16(all) => simd::from_halves(&all[range], out),
            Elements::BF16(all) => simd::from_bf16(&all[range], out),
            Elements::F8(all) => out.iter_mut().zip(&all[range]).for_each(|(y, x)| *y = x.to_f64() as f32),
            Elements::I8(all) => out.iter_mut().zip(&all[range]).for_each(|(y, x)| *y = f32::from(*x)),
        }
        if let Some((scales, strides)) = self.scales {
            let scale = scales[at(strides)];
            out.iter_mut().for_each(|x| *x *= scale);
        }
    }
}

/// Everything that a thread needs.
struct Work<'a> {
    by: &'a Attention<'a>,
    sizes: AttentionSizes,
    q: Cow<'a, [f32]>,
    k: Rows<'a>,
    v: Rows<'a>,
    lengths: Option<Cow<'a, [u32]>>,
    table: Option<Cow<'a, [u32]>>,
    sinks: Option<Cow<'a, [f32]>>,
}

pub(super) fn attention(backend: &CpuBackend, by: &Attention<'_>, out: &Tensor) -> Result<()> {
    let operation = "attention";
    let sizes = check::attention(by, out)?;
    let mut session = backend.session();
    let AttentionSizes { batch, q_len, heads, kv_heads, dim, .. } = sizes;
    let mut results = vec![0.0; batch * q_len * heads * dim];
    {
        let (k, v, scales, table) = match by.keys {
            Keys::Dense { k, v } => (k, v, (None, None), None),
            Keys::Cache { layer, table } => {
                let of_all = layer.f8_scale.as_ref().map(|(_, scale)| scale);
                let scales = (layer.k_scales.as_ref().or(of_all), layer.v_scales.as_ref().or(of_all));
                (&layer.k, &layer.v, scales, table)
            }
        };
        if k.dtype().is_float() && k.dtype() != by.q.dtype() {
            return Err(unsupported(operation, &[by.q, k]));
        }
        let words = |name, tensor: Option<_>| tensor.map(|x| session.words(operation, name, x)).transpose();
        let work = Work {
            by,
            sizes,
            q: session.floats(operation, by.q)?,
            k: Rows::of(&session, k, scales.0)?,
            v: Rows::of(&session, v, scales.1)?,
            lengths: words("lengths", by.lengths)?,
            table: words("table", table)?,
            sinks: by.sinks.map(|sinks| session.floats(operation, sinks)).transpose()?,
        };
        let chunks = q_len.div_ceil(QUERIES);
        let jobs = batch * kv_heads * chunks;
        let job = |i: usize| {
            let (sequence, head, chunk) = (i / chunks / kv_heads, i / chunks % kv_heads, i % chunks);
            (sequence, head, chunk, work.of_head(sequence, head, chunk * QUERIES))
        };
        let little = jobs == 1 || jobs * by.most_keys * dim < super::elementwise::PARALLEL;
        let done: Vec<_> = if little {
            (0..jobs).map(job).collect()
        } else {
            backend.pool.install(|| (0..jobs).into_par_iter().map(job).collect())
        };
        let group = heads / kv_heads;
        for (sequence, head, chunk, rows) in done {
            for (i, row) in rows.chunks_exact(dim.max(1)).enumerate() {
                let (query, head) = (chunk * QUERIES + i / group, head * group + i % group);
                results[((sequence * q_len + query) * heads + head) * dim..][..dim].copy_from_slice(row);
            }
        }
    }
    session.write(operation, out, &results)
}

impl Work<'_> {
    /// The keys that a query sees.
    fn seen(&self, length: usize, query: usize) -> std::ops::Range<usize> {
        let position = (length + query).checked_sub(self.sizes.q_len);
        let end = match (self.by.causal, position) {
            (true, Some(position)) => length.min(position + 1),
            (true, None) => 0,
            (false, _) => length,
        };
        let begin = match (self.by.window, position) {
            (Some(window), Some(position)) => (position + 1).saturating_sub(window),
            _ => 0,
        };
        begin.min(end)..end
    }

    /// Results of a chunk of queries, of all heads that share a head of keys: queries × heads × dimensions.
    fn of_head(&self, sequence: usize, kv_head: usize, first: usize) -> Vec<f32> {
        let AttentionSizes { q_len, heads, kv_heads, dim, pages, page, .. } = self.sizes;
        let group = heads / kv_heads;
        let queries = QUERIES.min(q_len - first);
        let most = self.by.most_keys;
        let length = self.lengths.as_ref().map_or(most, |lengths| (lengths[sequence] as usize).min(most));
        let rows = queries * group;
        let q = |row: usize| {
            let (query, head) = (first + row / group, kv_head * group + row % group);
            &self.q[((sequence * q_len + query) * heads + head) * dim..][..dim]
        };
        let seen: Vec<_> = (0..queries).map(|query| self.seen(length, first + query)).collect();
        let begin = seen.iter().map(|seen| seen.start).min().unwrap_or(0);
        let end = seen.iter().map(|seen| seen.end).max().unwrap_or(0);
        let mut sums = vec![0.0; rows * dim];
        let mut totals = vec![0.0_f32; rows];
        let mut largest = vec![f32::NEG_INFINITY; rows];
        let (mut keys, mut values) = (vec![0.0; BLOCK * dim], vec![0.0; BLOCK * dim]);
        let mut scores = [0.0_f32; BLOCK];
        for start in (begin..end).step_by(BLOCK) {
            let count = BLOCK.min(end - start);
            for i in 0..count {
                let position = start + i;
                let (at, within) = match &self.table {
                    Some(table) => {
                        let entries = self.sizes.table.unwrap_or(0);
                        let entry = table[sequence * entries + position / page] as usize;
                        (entry.min(pages - 1), position % page)
                    }
                    None => (sequence, position),
                };
                self.k.read(at, within, kv_head, &mut keys[i * dim..][..dim]);
                self.v.read(at, within, kv_head, &mut values[i * dim..][..dim]);
            }
            for row in 0..rows {
                let visible = &seen[row / group];
                let (from, to) = (visible.start.max(start), visible.end.min(start + count));
                if from >= to {
                    continue;
                }
                let scores = &mut scores[..to - from];
                for (score, position) in scores.iter_mut().zip(from..) {
                    let score_of =
                        simd::dot(q(row), &keys[(position - start) * dim..][..dim]) * self.by.scale;
                    *score = self.by.soft_cap.map_or(score_of, |cap| cap * (score_of / cap).tanh());
                }
                let most = scores.iter().fold(largest[row], |most, x| most.max(*x));
                let sum = &mut sums[row * dim..][..dim];
                if most > largest[row] {
                    let factor = (largest[row] - most).exp();
                    totals[row] *= factor;
                    sum.iter_mut().for_each(|x| *x *= factor);
                    largest[row] = most;
                }
                for (score, position) in scores.iter().zip(from..) {
                    let weight = (score - most).exp();
                    totals[row] += weight;
                    simd::axpy(weight, &values[(position - start) * dim..][..dim], sum);
                }
            }
        }
        for row in 0..rows {
            if let Some(sinks) = &self.sinks {
                let sink = sinks[kv_head * group + row % group];
                totals[row] += (sink - largest[row]).exp();
            }
            let factor = if totals[row] == 0.0 { 0.0 } else { totals[row].recip() };
            sums[row * dim..][..dim].iter_mut().for_each(|x| *x *= factor);
        }
        sums
    }
}
