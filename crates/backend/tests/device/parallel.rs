//! Several GPUs with parts of one model.

use backend::rccl::Communicator;
use backend::{DType, Error, Gate, GpuBackend, KernelBackend, QuantType, Result, Shard};
use test_skip::{Lack, skip};

use crate::common::random;

const HIDDEN: usize = 64;
const INNER: usize = 256;
const VOCABULARY: usize = 40;

/// Devices like the one under test.
fn devices(count: usize) -> Option<Vec<hip::Device>> {
    let uri = std::env::var("FERROCM_DEVICE").unwrap_or_else(|_| "vgpu:gfx1100".to_owned());
    let uri = match uri.starts_with("vgpu") {
        true => format!("{uri}{}count={count}", if uri.contains('?') { '&' } else { '?' }),
        false => uri.split(':').next().unwrap_or_default().to_owned(),
    };
    let mut devices = hip::Device::open_all(&uri.parse().unwrap()).unwrap();
    if devices.len() < count {
        skip(Lack::Device, format_args!("{count} devices are needed, and there are {}", devices.len()));
        return None;
    }
    devices.truncate(count);
    Some(devices)
}

/// A feed-forward layer and logits, of a backend's part of the matrices.
fn logits(b: &dyn KernelBackend) -> Result<Vec<f32>> {
    let (shard, rows) = (b.shard(), 2);
    let matrix = |n: usize, k: usize, seed, by_rows: bool| {
        let blocks = QuantType::Q8_0.quantize(&random(n * k, seed, 0.2))?;
        let dtype = DType::Quant(QuantType::Q8_0);
        let (shape, part) = match by_rows {
            true => shard.rows(dtype, &[n, k], &blocks).map(|(shape, part)| (shape, part.to_vec()))?,
            false => shard.columns(dtype, &[n, k], &blocks)?,
        };
        b.tensor_of_bytes(dtype, &shape, &part)
    };
    let (gate, up) = (matrix(INNER, HIDDEN, 1, true)?, matrix(INNER, HIDDEN, 2, true)?);
    let (down, vocabulary) = (matrix(HIDDEN, INNER, 3, false)?, matrix(VOCABULARY, HIDDEN, 4, true)?);
    let f32s = |shape: &[usize]| b.empty(DType::F32, shape);
    let x = b.tensor(DType::F32, &[rows, HIDDEN], &random(rows * HIDDEN, 5, 1.0))?;
    let (inner, columns) = (shard.part(INNER)?.len(), shard.part(VOCABULARY)?.len());
    let (g, u, y) = (f32s(&[rows, inner])?, f32s(&[rows, inner])?, f32s(&[rows, HIDDEN])?);
    let (part, all) = (f32s(&[rows, columns])?, f32s(&[shard.size, rows, columns])?);
    let run = || {
        b.matmul_many(&x, &[(&gate, &g), (&up, &u)])?;
        b.gated(Gate::Silu, &g, &u, &g)?;
        b.matmul(&g, &down, &y)?;
        b.all_reduce(&y)?;
        b.matmul(&y, &vocabulary, &part)?;
        b.all_gather(&part, &all)
    };
    match b.capture(&mut || run())? {
        Some(graph) => (0..2).try_for_each(|_| graph.launch())?,
        None => run()?,
    }
    let all = b.to_f32(&all)?;
    let at = |i: usize| {
        let (row, column) = (i / VOCABULARY, i % VOCABULARY);
        all[(column / columns * rows + row) * columns + column % columns]
    };
    Ok((0..rows * VOCABULARY).map(at).collect())
}

#[test]
fn parts_give_what_the_whole_gives() {
    let cpu = backend::CpuBackend::with_threads(1).unwrap();
    assert_eq!(cpu.shard(), Shard::WHOLE);
    let expected = logits(&cpu).unwrap();
    for count in [2, 4] {
        let Some(devices) = devices(count) else { return };
        let ranks = Communicator::all(&devices).unwrap();
        let threads: Vec<_> = devices
            .iter()
            .zip(ranks)
            .map(|(device, rank)| {
                let backend = GpuBackend::of(device).unwrap().with_communicator(rank).unwrap();
                std::thread::spawn(move || logits(&backend).unwrap())
            })
            .collect();
        for thread in threads {
            let got = thread.join().unwrap();
            for (got, expected) in got.iter().zip(&expected) {
                assert!((got - expected).abs() <= 0.05, "{count} ranks: {got}, not {expected}");
            }
        }
    }
}

#[test]
fn a_communicator_of_another_device_is_refused() {
    let Some(devices) = devices(2) else { return };
    let rank = Communicator::all(&devices[1..]).unwrap().remove(0);
    let error = GpuBackend::of(&devices[0]).unwrap().with_communicator(rank).unwrap_err();
    assert!(matches!(error, Error::OtherBackend { .. }), "{error}");
}
