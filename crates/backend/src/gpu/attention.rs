//! Attention, and the cache that it reads.

use hip::DeviceSlice;
use kernels::{AttentionInputs, CacheLayout, Caches, F8E4M3, HeadStrides, RopeAppendInputs};

use super::rows::heads;
use super::work::{Work, for_float, unsupported};
use crate::error::Result;
use crate::kv::check_append;
use crate::ops::{Attention, Keys, RopeAppend};
use crate::{DType, KvLayer, Tensor, check};

/// Where the heads of a cache are.
fn cache_layout(cache: &Tensor) -> CacheLayout {
    let [page_stride, position_stride, head_stride] = [0, 1, 2].map(|i| cache.strides()[i]);
    let [pages, page, heads, size] = [0, 1, 2, 3].map(|i| cache.size(i));
    CacheLayout { pages, page, heads, size, page_stride, position_stride, head_stride }
}

pub(super) fn append(work: &Work<'_>, layer: &KvLayer, k: &Tensor, v: &Tensor, slots: &Tensor) -> Result<()> {
    let operation = "kv_append";
    check_append(layer, k, v, slots)?;
    let cached = layer.k.dtype();
    if cached.is_float() && cached != k.dtype() {
        return Err(unsupported(operation, &[k, &layer.k]));
    }
    let places = work.dense::<i64>(operation, "slots", slots)?;
    for (x, cache, scales) in [(k, &layer.k, &layer.k_scales), (v, &layer.v, &layer.v_scales)] {
        let (from, to) = (heads(x), cache_layout(cache));
        for_float!(operation, x, [x, cache], T => {
            let elements = work.read::<T>(operation, x)?;
            let (kernels, stream) = (work.kernels, &work.stream);
            match (cached, scales, &layer.f8_scale) {
                (dtype, ..) if dtype.is_float() => {
                    let cache = work.write::<T>(operation, cache)?;
                    kernels.kv_append(stream, elements, &from, places, cache, &to)?;
                }
                (DType::F8, _, Some((scale, _))) => {
                    let cache = work.write::<F8E4M3>(operation, cache)?;
                    kernels.kv_append_f8(stream, elements, &from, places, *scale, cache, &to)?;
                }
                (DType::I8, Some(scales), _) => {
                    let cache = work.write::<i8>(operation, cache)?;
                    let scales = work.dense_mut::<f32>(operation, "scales", scales)?;
                    kernels.kv_append_i8(stream, elements, &from, places, cache, scales, &to)?;
                }
                _ => return Err(unsupported(operation, &[x, cache])),
            }
            Ok(())
        })?;
    }
    Ok(())
}

pub(super) fn rope_append(work: &Work<'_>, by: &RopeAppend<'_>, layer: &KvLayer) -> Result<()> {
    let operation = "rope_append";
    let &RopeAppend { q, k, v, norms, eps, style, tables, slots } = by;
    check_append(layer, k, v, slots)?;
    check::rope(operation, tables, q, q)?;
    check::rope(operation, tables, k, k)?;
    let cached = layer.k.dtype();
    if q.dtype() != k.dtype() || (cached.is_float() && cached != k.dtype()) {
        return Err(unsupported(operation, &[q, k, &layer.k]));
    }
    let (keys, values) = (cache_layout(&layer.k), cache_layout(&layer.v));
    let shape = kernels::RopeAppend { q: heads(q), k: heads(k), v: heads(v), keys, values, style, eps };
    for_float!(operation, q, [q, k, v, &layer.k], T => {
        let weight = |name, x, weight| work.weight::<T>(operation, name, x, Some(weight));
        let weights = match norms {
            Some((of_q, of_k)) => weight("norm of q", q, of_q)?.zip(weight("norm of k", k, of_k)?),
            None => None,
        };
        let inputs = RopeAppendInputs {
            q: work.write::<T>(operation, q)?,
            k: work.read::<T>(operation, k)?,
            v: work.read::<T>(operation, v)?,
            weights,
            tables: (
                work.dense::<f32>(operation, "cos", tables.0)?,
                work.dense::<f32>(operation, "sin", tables.1)?,
            ),
            slots: work.dense::<i64>(operation, "slots", slots)?,
        };
        let caches = match (cached, &layer.k_scales, &layer.v_scales, &layer.f8_scale) {
            (dtype, ..) if dtype.is_float() => {
                Caches::Same(work.write(operation, &layer.k)?, work.write(operation, &layer.v)?)
            }
            (DType::F8, .., Some((scale, _))) => {
                Caches::F8(*scale, work.write(operation, &layer.k)?, work.write(operation, &layer.v)?)
            }
            (DType::I8, Some(k_scales), Some(v_scales), _) => Caches::I8(
                [work.write(operation, &layer.k)?, work.write(operation, &layer.v)?],
                [
                    work.dense_mut(operation, "scales", k_scales)?,
                    work.dense_mut(operation, "scales", v_scales)?,
                ],
            ),
            _ => return Err(unsupported(operation, &[k, &layer.k])),
        };
        Ok(work.kernels.rope_append(&work.stream, &shape, inputs, caches)?)
    })
}

/// The strides of `[sequences or pages, positions, heads, …]`.
fn strides(x: &Tensor) -> HeadStrides {
    HeadStrides { batch: x.strides()[0], head: x.strides()[2], row: x.strides()[1] }
}

/// Scales of 8-bit keys or values, with their strides: one for all, or one for each head of each position.
fn scales<'t>(
    work: &Work<'_>,
    layer: &'t KvLayer,
    scales: &'t Option<Tensor>,
) -> Result<Option<(DeviceSlice<'t, f32>, HeadStrides)>> {
    let operation = "attention";
    Ok(match (scales, &layer.f8_scale) {
        (Some(scales), _) => Some((work.dense(operation, "scales", scales)?, strides(scales))),
        (None, Some((_, scale))) => Some((work.dense(operation, "scale", scale)?, HeadStrides::default())),
        (None, None) => None,
    })
}

pub(super) fn attention(work: &Work<'_>, by: &Attention<'_>, out: &Tensor) -> Result<()> {
    let operation = "attention";
    let sizes = check::attention(by, out)?;
    let q = by.q;
    let (k, v, layer, table) = match by.keys {
        Keys::Dense { k, v } => (k, v, None, None),
        Keys::Cache { layer, table } => (&layer.k, &layer.v, Some(layer), table),
    };
    let fits = if k.dtype().is_float() { k.dtype() == q.dtype() } else { q.dtype().block_bytes() == 2 };
    if !fits {
        return Err(unsupported(operation, &[q, k]));
    }
    let mut attention = kernels::Attention {
        scale: by.scale,
        causal: by.causal,
        window: by.window,
        soft_cap: by.soft_cap,
        q: strides(q),
        k: strides(k),
        v: strides(v),
        out: strides(out),
        ..kernels::Attention::new(
            sizes.batch,
            sizes.heads,
            sizes.kv_heads,
            sizes.q_len,
            by.most_keys,
            sizes.dim,
        )
    };
    for_float!(operation, q, [q, k], T => {
        let queries = work.read::<T>(operation, q)?;
        let mut inputs = match k.dtype() {
            DType::F8 => AttentionInputs::with_f8_cache(
                queries,
                work.read::<F8E4M3>(operation, k)?,
                work.read::<F8E4M3>(operation, v)?,
            ),
            DType::I8 => {
                AttentionInputs::with_i8_cache(queries, work.read::<i8>(operation, k)?, work.read::<i8>(operation, v)?)
            }
            _ => AttentionInputs::new(queries, work.read::<T>(operation, k)?, work.read::<T>(operation, v)?),
        };
        if let Some(layer) = layer
            && let (Some(keys), Some(values)) =
                (scales(work, layer, &layer.k_scales)?, scales(work, layer, &layer.v_scales)?)
        {
            (attention.k_scales, attention.v_scales) = (keys.1, values.1);
            inputs = inputs.scales(keys.0, values.0);
        }
        if let Some(lengths) = by.lengths {
            inputs = inputs.lengths(work.words(operation, "lengths", lengths)?);
        }
        if let Some(table) = table {
            inputs = inputs.pages(work.words(operation, "table", table)?, sizes.pages, sizes.page);
        }
        if let Some(sinks) = by.sinks {
            inputs = inputs.sinks(work.dense::<f32>(operation, "sinks", sinks)?);
        }
        Ok(work.kernels.attention(&work.stream, &attention, inputs, work.write::<T>(operation, out)?)?)
    })
}
