//! Gated delta nets.

use rayon::prelude::*;

use super::session::Session;
use super::{CpuBackend, simd, unsupported};
use crate::error::Result;
use crate::ops::GatedDelta;
use crate::{Tensor, check};

pub(super) fn causal_conv(
    backend: &CpuBackend,
    x: &Tensor,
    weight: &Tensor,
    states: &Tensor,
    slots: &Tensor,
    out: &Tensor,
) -> Result<()> {
    let operation = "causal_conv";
    let [_, tokens, channels, width] = check::causal_conv(x, weight, states, slots, out)?;
    let mut session = backend.session();
    let slots = session.words(operation, "slots", slots)?.into_owned();
    let mut results = vec![0.0; out.elements()];
    let before = width - 1;
    let size = channels * before;
    let mut changed = Vec::new();
    {
        let (x, weight) = (session.floats(operation, x)?, session.floats(operation, weight)?);
        let kept = session.floats(operation, states)?;
        for (sequence, slot) in slots.iter().map(|slot| *slot as usize).enumerate() {
            let is_kept = slot < states.size(0);
            let mut state = match is_kept {
                true => kept[slot * size..][..size].to_vec(),
                false => vec![0.0; size],
            };
            for t in 0..tokens {
                let row = (sequence * tokens + t) * channels;
                for c in 0..channels {
                    let (window, weights) =
                        (&mut state[c * before..][..before], &weight[c * width..][..width]);
                    let new = x[row + c];
                    let old: f32 = window.iter().zip(weights).map(|(x, w)| x * w).sum();
                    results[row + c] = old + new * weights[before];
                    window.rotate_left(1);
                    window[before - 1] = new;
                }
            }
            if is_kept {
                changed.push((slot * size, state));
            }
        }
    }
    session.write(operation, out, &results)?;
    store_states(&mut session, operation, states, &changed)
}

/// Writes some states, each at its place among all of them.
fn store_states(
    session: &mut Session<'_>,
    operation: &'static str,
    states: &Tensor,
    changed: &[(usize, Vec<f32>)],
) -> Result<()> {
    let start = states.offset();
    let all = session.all_mut::<f32>(operation, states)?;
    for (place, state) in changed {
        all[start + place..][..state.len()].copy_from_slice(state);
    }
    Ok(())
}

pub(super) fn gated_delta(backend: &CpuBackend, by: &GatedDelta<'_>, out: &Tensor) -> Result<()> {
    let operation = "gated_delta";
    let [sequences, tokens, key_heads, heads, key, value] = check::gated_delta(by, out)?;
    if !by.q.dtype().is_float() {
        return Err(unsupported(operation, &[by.q, out]));
    }
    let mut session = backend.session();
    let slots = session.words(operation, "slots", by.slots)?.into_owned();
    let mut results = vec![0.0; out.elements()];
    let size = key * value;
    let mut changed = Vec::new();
    {
        let (q, k) = (session.floats(operation, by.q)?, session.floats(operation, by.k)?);
        let v = session.floats(operation, by.v)?;
        let (gates, betas) = (session.floats(operation, by.gates)?, session.floats(operation, by.betas)?);
        let states = session.floats(operation, by.states)?;
        let group = heads / key_heads;
        let run = |job: usize| {
            let (sequence, head) = (job / heads, job % heads);
            let slot = slots[sequence] as usize;
            if slot >= by.states.size(0) {
                return None;
            }
            let place = (slot * heads + head) * size;
            let mut state = states[place..][..size].to_vec();
            let mut rows = vec![0.0; tokens * value];
            for t in 0..tokens {
                let token = sequence * tokens + t;
                let of_key = (token * key_heads + head / group) * key;
                let (q, k) = (&q[of_key..][..key], &k[of_key..][..key]);
                let decay = gates[token * heads + head].exp();
                let mut change = vec![0.0; value];
                state.iter_mut().for_each(|s| *s *= decay);
                k.iter().zip(state.chunks_exact(value)).for_each(|(k, row)| simd::axpy(*k, row, &mut change));
                let values = &v[(token * heads + head) * value..][..value];
                let beta = betas[token * heads + head];
                change.iter_mut().zip(values).for_each(|(d, v)| *d = (v - *d) * beta);
                let result = &mut rows[t * value..][..value];
                for ((k, q), row) in k.iter().zip(q).zip(state.chunks_exact_mut(value)) {
                    simd::axpy(*k, &change, row);
                    simd::axpy(q * by.scale, row, result);
                }
            }
            Some((place, state, rows))
        };
        let jobs = if size == 0 { 0 } else { sequences * heads };
        let done: Vec<_> = backend.pool.install(|| (0..jobs).into_par_iter().map(run).collect());
        for (job, done) in done.into_iter().enumerate() {
            let Some((place, state, rows)) = done else { continue };
            changed.push((place, state));
            for (t, row) in rows.chunks_exact(value).enumerate() {
                let token = job / heads * tokens + t;
                results[(token * heads + job % heads) * value..][..value].copy_from_slice(row);
            }
        }
    }
    session.write(operation, out, &results)?;
    store_states(&mut session, operation, by.states, &changed)
}
