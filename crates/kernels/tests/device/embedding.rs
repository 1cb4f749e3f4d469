//! Embedding look-up: copies, bit by bit.

use kernels::{Error, Float};

use crate::common::{Bench, for_every_type, random};
use crate::record::assert_exact;

fn rows_are_copied<T: Float<Compute = f32>>(bench: &Bench) {
    // rows of whole packs of 16 bytes and not
    for width in [1, 7, 8, 64, 100] {
        let table = random::<T>(10 * width, 71, 5.0);
        let device_table = bench.upload(&table);
        let ids = [3_i64, 0, 9, 3, -1, 10, i64::MIN, i64::MAX, 1 << 32, 5];
        let expected: Vec<f64> = ids
            .iter()
            .flat_map(|&id| match usize::try_from(id).ok().filter(|&id| id < 10) {
                Some(id) => table[id * width..][..width].iter().map(|x| x.to_f64()).collect(),
                None => vec![0.0; width],
            })
            .collect();
        let device_ids = bench.upload(&ids);
        let mut out = bench.upload(&vec![T::from_f64(7.0); ids.len() * width]);
        bench.kernels.embedding(&bench.stream, &device_table, width, &device_ids, &mut out).unwrap();
        let found: Vec<f64> = bench.download(&out).iter().map(|x| x.to_f64()).collect();
        assert_exact!(found, expected, "{} wide, {}", width, T::NAME);

        let ids = [9_u32, 10, u32::MAX, 0];
        let device_ids = bench.upload(&ids);
        let mut out = bench.upload(&vec![T::from_f64(7.0); 4 * width]);
        bench.kernels.embedding(&bench.stream, &device_table, width, &device_ids, &mut out).unwrap();
        let found: Vec<f64> = bench.download(&out).iter().map(|x| x.to_f64()).collect();
        let row = |id: usize| table[id * width..][..width].iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
        assert_exact!(found, [row(9), vec![0.0; 2 * width], row(0)].concat(), "{} wide, {}", width, T::NAME);
    }
}

#[test]
fn rows() {
    for_every_type!(rows_are_copied);
}

#[test]
fn bad_shapes_are_refused() {
    let bench = Bench::open();
    let (table, ids, mut out) = (bench.zeroed::<f32>(12), bench.zeroed::<u32>(3), bench.zeroed::<f32>(12));
    for width in [0, 5] {
        let error = bench.kernels.embedding(&bench.stream, &table, width, &ids, &mut out).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "width", .. }), "{error}");
    }
    let error = bench.kernels.embedding(&bench.stream, &table, 3, &ids, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "embedding: `out` has 12 elements, but needs 9");
    let (none, mut empty) = (bench.zeroed::<u32>(0), bench.zeroed::<f32>(0));
    bench.kernels.embedding(&bench.stream, &table, 3, &none, &mut empty).unwrap();
}
