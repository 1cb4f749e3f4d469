//! Operations row by row.

use kernels::RopeStyle;

use super::{CpuBackend, dequantise, same, simd, unsupported};
use crate::error::Result;
use crate::ops::RopeFrequencies;
use crate::{DType, Tensor, check};

/// `out` receives each row after `f` has changed it.
fn each(
    backend: &CpuBackend,
    operation: &'static str,
    x: &Tensor,
    weights: &[(&'static str, Option<&Tensor>)],
    out: &Tensor,
    f: impl Fn(&mut [f32], &[Option<&[f32]>]) + Sync,
) -> Result<()> {
    same(operation, x, out)?;
    let mut session = backend.session();
    let mut values = session.floats(operation, x)?.into_owned();
    let mut read = Vec::with_capacity(weights.len());
    for &(name, weight) in weights {
        let Some(weight) = weight else {
            read.push(None);
            continue;
        };
        check::typed(operation, name, weight, x.dtype(), &[x.columns()])?;
        read.push(Some(session.floats(operation, weight)?));
    }
    let slices: Vec<Option<&[f32]>> = read.iter().map(|weight| weight.as_deref()).collect();
    backend.for_rows(&mut values, x.columns(), |_, row| f(row, &slices));
    drop(read);
    session.write(operation, out, &values)
}

fn scaled(row: &mut [f32], factor: f32, weight: Option<&[f32]>) {
    match weight {
        Some(weight) => row.iter_mut().zip(weight).for_each(|(x, weight)| *x *= factor * weight),
        None => row.iter_mut().for_each(|x| *x *= factor),
    }
}

pub(super) fn rmsnorm(
    backend: &CpuBackend,
    x: &Tensor,
    weight: Option<&Tensor>,
    eps: f32,
    out: &Tensor,
) -> Result<()> {
    each(backend, "rmsnorm", x, &[("weight", weight)], out, |row, weights| {
        let factor = (simd::dot(row, row) / row.len() as f32 + eps).sqrt().recip();
        scaled(row, factor, weights[0]);
    })
}

pub(super) fn layer_norm(
    backend: &CpuBackend,
    x: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f32,
    out: &Tensor,
) -> Result<()> {
    each(backend, "layer_norm", x, &[("weight", weight), ("bias", bias)], out, |row, weights| {
        let mean = (row.iter().map(|x| f64::from(*x)).sum::<f64>() / row.len() as f64) as f32;
        row.iter_mut().for_each(|x| *x -= mean);
        let factor = (simd::dot(row, row) / row.len() as f32 + eps).sqrt().recip();
        scaled(row, factor, weights[0]);
        if let Some(bias) = weights[1] {
            row.iter_mut().zip(bias).for_each(|(x, bias)| *x += bias);
        }
    })
}

pub(super) fn l2norm(backend: &CpuBackend, x: &Tensor, eps: f32, out: &Tensor) -> Result<()> {
    each(backend, "l2norm", x, &[], out, |row, _| {
        scaled(row, simd::dot(row, row).sqrt().max(eps).recip(), None);
    })
}

pub(super) fn softmax(backend: &CpuBackend, x: &Tensor, out: &Tensor) -> Result<()> {
    check::dense_rows("softmax", "x", x)?;
    each(backend, "softmax", x, &[], out, |row, _| {
        let most = row.iter().fold(f32::NEG_INFINITY, |most, x| most.max(*x));
        let mut sum = 0.0;
        for x in row.iter_mut() {
            *x = (*x - most).exp();
            sum += *x;
        }
        scaled(row, sum.recip(), None);
    })
}

pub(super) fn embedding(backend: &CpuBackend, table: &Tensor, ids: &Tensor, out: &Tensor) -> Result<()> {
    let operation = "embedding";
    let (rows, width) = check::embedding(operation, table, ids, out)?;
    let quantised = table.dtype().is_quantised();
    if !out.dtype().is_float() || !(quantised || table.dtype() == out.dtype()) {
        return Err(unsupported(operation, &[table, ids, out]));
    }
    let mut session = backend.session();
    let ids = session.words(operation, "ids", ids)?.into_owned();
    let mut values = vec![0.0; ids.len() * width];
    for (&id, values) in ids.iter().zip(values.chunks_exact_mut(width.max(1))) {
        if id as usize >= rows {
            values.fill(if quantised { f32::NAN } else { 0.0 });
            continue;
        }
        let row = table.narrow(0, id as usize, 1)?;
        match table.dtype() {
            DType::Quant(quant) => dequantise(quant, session.bytes(operation, &row)?, values),
            _ => values.copy_from_slice(&session.floats(operation, &row)?),
        }
    }
    session.write(operation, out, &values)
}

pub(super) fn rope_table(
    backend: &CpuBackend,
    frequencies: &RopeFrequencies,
    positions: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
) -> Result<()> {
    let operation = "rope_table";
    let inner = frequencies.inner().downcast_ref::<(Vec<f64>, f32)>();
    let (frequencies, scale) =
        inner.ok_or(crate::Error::OtherBackend { backend: super::NAME, operation, tensor: "frequencies" })?;
    check::rope_table(operation, frequencies.len(), positions, (cos, sin))?;
    let mut session = backend.session();
    let positions = session.words(operation, "positions", positions)?.into_owned();
    let angles = || positions.iter().flat_map(|p| frequencies.iter().map(move |f| f64::from(*p) * f));
    let of = |f: fn(f64) -> f64| angles().map(|angle| f(angle) as f32 * scale).collect::<Vec<f32>>();
    let (cosines, sines) = (of(f64::cos), of(f64::sin));
    session.write(operation, cos, &cosines)?;
    session.write(operation, sin, &sines)
}

pub(super) fn apply_rope(
    backend: &CpuBackend,
    style: RopeStyle,
    (cos, sin): (&Tensor, &Tensor),
    x: &Tensor,
    out: &Tensor,
) -> Result<()> {
    let operation = "apply_rope";
    same(operation, x, out)?;
    let [_, heads, dim, half] = check::rope(operation, (cos, sin), x, out)?;
    let mut session = backend.session();
    let mut values = session.floats(operation, x)?.into_owned();
    let (cosines, sines) = (session.floats(operation, cos)?, session.floats(operation, sin)?);
    backend.for_rows(&mut values, heads * dim, |token, row| {
        let (cos, sin) = (&cosines[token * half..][..half], &sines[token * half..][..half]);
        for head in row.chunks_exact_mut(dim.max(1)) {
            for i in 0..half {
                let (a, b) = match style {
                    RopeStyle::HalfSplit => (i, i + half),
                    RopeStyle::Interleaved => (2 * i, 2 * i + 1),
                };
                let (x, y) = (head[a], head[b]);
                head[a] = x * cos[i] - y * sin[i];
                head[b] = x * sin[i] + y * cos[i];
            }
        }
    });
    drop((cosines, sines));
    session.write(operation, out, &values)
}
