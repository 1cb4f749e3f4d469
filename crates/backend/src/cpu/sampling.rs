//! Drawing tokens.

use super::{CpuBackend, unsupported};
use crate::error::Result;
use crate::{Tensor, check};

pub(super) fn count_tokens(backend: &CpuBackend, tokens: &Tensor, counts: &Tensor) -> Result<()> {
    let operation = "count_tokens";
    check::counts(operation, tokens, counts)?;
    let mut session = backend.session();
    let ids = session.words(operation, "tokens", tokens)?.into_owned();
    let mut all = session.words(operation, "counts", counts)?.into_owned();
    let (length, columns) = (tokens.columns(), counts.columns());
    for (row, ids) in ids.chunks_exact(length.max(1)).enumerate() {
        for &id in ids.iter().filter(|&&id| (id as usize) < columns) {
            let count = &mut all[row * columns + id as usize];
            *count = count.wrapping_add(1);
        }
    }
    session.store(operation, counts, all)
}

pub(super) fn penalize(
    backend: &CpuBackend,
    counts: &Tensor,
    penalties: &Tensor,
    logits: &Tensor,
) -> Result<()> {
    let operation = "penalize";
    check::penalties(operation, counts, penalties, logits)?;
    let columns = logits.columns();
    let mut session = backend.session();
    let mut values = session.floats(operation, logits)?.into_owned();
    {
        let counts = session.words(operation, "counts", counts)?;
        let penalties = session.words(operation, "penalties", penalties)?;
        for (row, values) in values.chunks_exact_mut(columns.max(1)).enumerate() {
            let [repetition, frequency, presence] = [0, 1, 2].map(|i| f32::from_bits(penalties[3 * row + i]));
            for (x, count) in values.iter_mut().zip(&counts[row * columns..]).filter(|(_, count)| **count > 0)
            {
                let repeated = if *x > 0.0 { *x / repetition } else { *x * repetition };
                *x = repeated - frequency * *count as f32 - presence;
            }
        }
    }
    session.write(operation, logits, &values)
}

/// Probabilities are counted in these parts of the largest, as on the GPU.
const ONE: f32 = 1_099_511_627_776.0;

pub(super) fn sample(
    backend: &CpuBackend,
    logits: &Tensor,
    settings: &Tensor,
    uniforms: &Tensor,
    tokens: &Tensor,
) -> Result<()> {
    let operation = "sample";
    check::sample(operation, logits, settings, uniforms, tokens)?;
    let (rows, columns) = (logits.rows(), logits.columns());
    let mut session = backend.session();
    let drawn: Vec<u32> = {
        let values = session.floats(operation, logits)?;
        let settings = session.words(operation, "settings", settings)?;
        let uniforms = session.floats(operation, uniforms)?;
        let row = |i: usize| {
            let [temperature, top_p, min_p] = [0, 1, 2].map(|j| f32::from_bits(settings[4 * i + j]));
            let by = kernels::Sampling { temperature, top_p, min_p, top_k: settings[4 * i + 3] };
            draw(&values[i * columns..][..columns], &by, uniforms[i])
        };
        (0..rows).map(row).collect()
    };
    session.store(operation, tokens, drawn)
}

/// A token by the rules of [`kernels::Kernels::sample`].
fn draw(logits: &[f32], by: &kernels::Sampling, uniform: f32) -> u32 {
    let (mut best, mut most) = (None, f32::NEG_INFINITY);
    for (i, &x) in logits.iter().enumerate() {
        if x > most || x.is_nan() {
            (best, most) = (Some(i), if x.is_nan() { f32::INFINITY } else { x });
        }
    }
    let Some(best) = best.filter(|_| most < f32::INFINITY) else { return u32::MAX };
    if by.temperature <= 0.0 || by.temperature.is_nan() {
        return best as u32;
    }
    let mass = |i: usize| match logits[i] {
        x if x == most => ONE as u64,
        x if x > f32::NEG_INFINITY => (((x - most) / by.temperature).exp() * ONE) as u64,
        _ => 0,
    };
    let mut left: Vec<(usize, u64)> = (0..logits.len()).map(|i| (i, mass(i))).collect();
    let cuts = (by.top_k > 0 && (by.top_k as usize) < logits.len()) || by.top_p < 1.0;
    if cuts {
        // The sum makes zeros of both signs equal.
        let number = |i: usize| logits[i] + 0.0;
        let order =
            |a: &(usize, u64), b: &(usize, u64)| number(b.0).total_cmp(&number(a.0)).then(a.0.cmp(&b.0));
        if by.top_k > 0 && (by.top_k as usize) < left.len() {
            left.select_nth_unstable_by(by.top_k as usize - 1, order);
            left.truncate(by.top_k as usize);
        } else {
            left.retain(|(_, mass)| *mass > 0);
        }
        left.sort_unstable_by(order);
        if by.top_p < 1.0 {
            let all: u64 = left.iter().map(|(_, mass)| mass).sum();
            let part = f64::from(by.top_p).clamp(0.0, 1.0);
            let target = ((all as f64 * part).ceil() as u64).clamp(1, all);
            let mut sum = 0;
            let enough = left.iter().position(|(_, mass)| {
                sum += mass;
                sum >= target
            });
            left.truncate(enough.map_or(left.len(), |last| last + 1));
        }
        left.sort_unstable_by_key(|(i, _)| *i);
    }
    let least = (by.min_p.clamp(0.0, 1.0) * ONE) as u64;
    left.retain(|(_, mass)| *mass >= least && *mass > 0);
    let all: u64 = left.iter().map(|(_, mass)| mass).sum();
    let uniform = f64::from(if uniform.is_nan() { 0.0 } else { uniform.clamp(0.0, 1.0) });
    let target = ((all as f64 * uniform) as u64 + 1).clamp(1, all.max(1));
    let mut sum = 0;
    let drawn = left.iter().find(|(_, mass)| {
        sum += mass;
        sum >= target
    });
    drawn.map_or(best as u32, |(i, _)| *i as u32)
}

pub(super) fn argmax(backend: &CpuBackend, x: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "argmax";
    check::argmax(operation, x, out)?;
    let mut session = backend.session();
    let largest: Vec<u32> = {
        let values = session.floats(operation, x)?;
        values.chunks_exact(x.columns()).map(largest).collect()
    };
    session.store(operation, out, largest)
}

/// The first of the largest numbers. A NaN at the beginning is the result, elsewhere it is ignored.
fn largest(row: &[f32]) -> u32 {
    let mut best = 0;
    for (i, &x) in row.iter().enumerate() {
        if x > row[best] {
            best = i;
        }
    }
    best as u32
}

pub(super) fn top_k(backend: &CpuBackend, x: &Tensor, values: &Tensor, indices: &Tensor) -> Result<()> {
    let operation = "top_k";
    let k = check::top_k(operation, x, values, indices)?;
    if values.dtype() != x.dtype() {
        return Err(unsupported(operation, &[x, values, indices]));
    }
    let mut session = backend.session();
    let (mut largest, mut places) = (Vec::new(), Vec::new());
    {
        let rows = session.floats(operation, x)?;
        for row in rows.chunks_exact(x.columns()) {
            let mut order: Vec<u32> = (0..row.len() as u32).collect();
            let key = |i: u32| if row[i as usize].is_nan() { f32::INFINITY } else { row[i as usize] };
            let before = |a: &u32, b: &u32| {
                let nan = |i: u32| row[i as usize].is_nan();
                nan(*b)
                    .cmp(&nan(*a))
                    .then(key(*b).partial_cmp(&key(*a)).unwrap_or(std::cmp::Ordering::Equal))
                    .then(a.cmp(b))
            };
            if k < order.len() {
                order.select_nth_unstable_by(k - 1, before);
                order.truncate(k);
            }
            order.sort_unstable_by(before);
            largest.extend(order.iter().map(|&i| row[i as usize]));
            places.extend(order);
        }
    }
    session.write(operation, values, &largest)?;
    session.store(operation, indices, places)
}
