//! The safe launchers of quantised matrices: rows, products, refusals.

use half::{bf16, f16};
use kernels::reference::Expected;
use kernels::{Error, Float, Q8_1, QuantMatrix, QuantType, QuantVectors};

use crate::common::{Bench, random};
use crate::quant::{products, q8_1_rows, random_blocks};
use crate::record::{assert_exact, compare, difference};

/// Values of f32 as they are in another type.
fn exact(values: &[f32]) -> impl Iterator<Item = Expected> {
    values.iter().map(|&x| Expected { value: f64::from(x), slack: 0.0 })
}

fn rows_of<T: Float<Compute = f32>>(bench: &Bench, quant: QuantType) {
    let (rows, columns) = (7, 1280);
    let blocks = random_blocks(quant, rows * columns / quant.block_values(), 41);
    let values = quant.dequantize(&blocks);
    let device = bench.upload(&blocks);
    let matrix = QuantMatrix::new(quant, rows, columns, &device).unwrap();
    let mut out = bench.zeroed::<T>(rows * columns);
    bench.kernels.dequantize(&bench.stream, matrix, &mut out).unwrap();
    let result = compare(&bench.download(&out), exact(&values));
    assert!(result.passed(), "{} to {}: {result:?}", quant.name(), T::NAME);

    // A row that does not exist is NaN; nothing else is read in its place.
    let numbers = [6, 0, 7, 3, 3, u32::MAX];
    let mut out = bench.zeroed::<T>(numbers.len() * columns);
    bench.kernels.quant_rows(&bench.stream, matrix, &bench.upload(&numbers), &mut out).unwrap();
    for (found, number) in bench.download(&out).chunks(columns).zip(numbers) {
        let result = match values.chunks(columns).nth(number as usize) {
            Some(row) => compare(found, exact(row)),
            None => compare(found, exact(&vec![f32::NAN; columns])),
        };
        assert!(result.passed(), "row {number} of {} in {}: {result:?}", quant.name(), T::NAME);
    }
}

#[test]
fn rows_are_what_blocks_stand_for() {
    let bench = Bench::open();
    for quant in QuantType::ALL {
        rows_of::<f32>(&bench, quant);
        rows_of::<f16>(&bench, quant);
        rows_of::<bf16>(&bench, quant);
    }
}

#[test]
fn blocks_may_begin_at_any_even_address() {
    let bench = Bench::open();
    let (rows, columns) = (3, 1024);
    for quant in QuantType::ALL {
        let blocks = random_blocks(quant, rows * columns / quant.block_values(), 46);
        let values = quant.dequantize(&blocks);
        for skipped in [2, 8, 16] {
            let device = bench.upload(&[vec![0xff; skipped], blocks.clone()].concat());
            let matrix = QuantMatrix::new(quant, rows, columns, device.slice(skipped..).unwrap()).unwrap();
            let mut out = bench.zeroed::<f32>(rows * columns);
            bench.kernels.dequantize(&bench.stream, matrix, &mut out).unwrap();
            let result = compare(&bench.download(&out), exact(&values));
            assert!(result.passed(), "{} behind {skipped} bytes: {result:?}", quant.name());
        }
    }
}

fn products_of<T: Float<Compute = f32>>(bench: &Bench, quant: QuantType) {
    let unit = quant.block_values();
    // Rows and columns at the ends of tiles and warps, and more than the part of a vector that is in LDS at
    // once.
    for (rows, columns, counts) in [
        (37, 2 * unit, &[1, 3, 8, 9][..]),
        (3, 4096 + 3 * unit, &[1, 2][..]),
        (65, unit, &[1, 5, 66][..]),
        (1, 0, &[1, 2, 10][..]),
    ] {
        let blocks = random_blocks(quant, rows * columns / unit, 42);
        let most = counts.iter().copied().max().unwrap();
        let x = random::<T>(most * columns, 43, 2.0);
        let y = if columns == 0 { Vec::new() } else { Q8_1::dequantize(&q8_1_rows(&x, columns, 32)) };
        let expected = match columns {
            0 => vec![Expected { value: 0.0, slack: 0.0 }; rows * most],
            _ => products(&quant.dequantize(&blocks), &y, columns, 300.0),
        };
        let device = bench.upload(&blocks);
        let matrix = QuantMatrix::new(quant, rows, columns, &device).unwrap();
        for &count in counts {
            let mut vectors = QuantVectors::zeroed(&bench.stream, count, columns).unwrap();
            bench
                .kernels
                .quantize(&bench.stream, &bench.upload(&x[..count * columns]), &mut vectors)
                .unwrap();
            let mut out = bench.upload(&vec![T::from_f64(77.0); rows * count]);
            bench.kernels.quant_matmul(&bench.stream, matrix, &vectors, &mut out).unwrap();
            let result = compare(&bench.download(&out), expected[..rows * count].iter().copied());
            let what = format!("{} {rows}x{columns} by {count} of {}", quant.name(), T::NAME);
            assert!(result.passed(), "{what}: {result:?}");
        }
    }
}

macro_rules! products {
    ($($test:ident: $($quant:ident),*;)*) => {
        $(
            #[test]
            fn $test() {
                let bench = Bench::open();
                for quant in [$(QuantType::$quant),*] {
                    products_of::<f32>(&bench, quant);
                    products_of::<f16>(&bench, quant);
                    products_of::<bf16>(&bench, quant);
                }
            }
        )*
    };
}
products! {
    products_with_4_bits: Q4_0, Q4_1, Iq4Nl, Mxfp4;
    products_with_5_and_8_bits: Q5_0, Q5_1, Q8_0;
    products_with_2_and_3_bits_in_blocks_of_256: Q2K, Q3K;
    products_with_4_to_6_bits_in_blocks_of_256: Q4K, Q5K, Q6K, Iq4Xs;
}

/// A NaN in one vector spoils only that vector's products.
#[test]
fn a_nan_stays_in_its_vector() {
    let bench = Bench::open();
    let (rows, columns) = (5, 512);
    for quant in [QuantType::Q4K, QuantType::Q8_0] {
        let blocks = bench.upload(&random_blocks(quant, rows * columns / quant.block_values(), 47));
        let matrix = QuantMatrix::new(quant, rows, columns, &blocks).unwrap();
        for (count, of) in [(1, 0), (4, 2), (20, 7)] {
            let mut x = random::<f32>(count * columns, 48, 2.0);
            x[of * columns + 300] = f32::NAN;
            let mut vectors = QuantVectors::zeroed(&bench.stream, count, columns).unwrap();
            bench.kernels.quantize(&bench.stream, &bench.upload(&x), &mut vectors).unwrap();
            let mut out = bench.zeroed::<f32>(rows * count);
            bench.kernels.quant_matmul(&bench.stream, matrix, &vectors, &mut out).unwrap();
            for (vector, products) in bench.download(&out).chunks(rows).enumerate() {
                assert!(
                    products.iter().all(|x| x.is_nan() == (vector == of)),
                    "{count}: {vector}: {products:?}"
                );
            }
        }
    }
}

#[test]
fn more_rows_than_a_grid_has_of_some() {
    let bench = Bench::open();
    if !bench.is_for_sizes() {
        return;
    }
    let (rows, columns) = (70_001, 32);
    // Each row is a multiple of its first element; the last ones differ from those 65,536 before.
    let block = |row: usize| QuantType::Q8_0.quantize(&[(row % 1000) as f32; 32]).unwrap();
    let blocks: Vec<u8> = (0..rows).flat_map(block).collect();
    let device = bench.upload(&blocks);
    let matrix = QuantMatrix::new(QuantType::Q8_0, rows, columns, &device).unwrap();
    for count in [1, 2, 9] {
        let mut vectors = QuantVectors::zeroed(&bench.stream, count, columns).unwrap();
        let x = vec![1.0_f32; count * columns];
        bench.kernels.quantize(&bench.stream, &bench.upload(&x), &mut vectors).unwrap();
        let mut out = bench.zeroed::<f32>(rows * count);
        bench.kernels.quant_matmul(&bench.stream, matrix, &vectors, &mut out).unwrap();
        for (at, found) in bench.download(&out).iter().enumerate() {
            let expected = (at % rows % 1000) as f32 * 32.0;
            difference((*found).into(), expected.into());
            // Two scales are halves.
            assert!((found - expected).abs() <= expected / 900.0, "{count}: {at}: {found}");
        }
    }
    let mut out = bench.zeroed::<f32>(rows * columns);
    bench.kernels.dequantize(&bench.stream, matrix, &mut out).unwrap();
    assert_exact!(bench.download(&out), QuantType::Q8_0.dequantize(&blocks));
}

fn experts_of<T: Float<Compute = f32>>(bench: &Bench, quant: QuantType) {
    let (experts, rows, columns) = (5, 70, quant.block_values().max(64));
    let blocks = random_blocks(quant, experts * rows * columns / quant.block_values(), 45);
    let device = bench.upload(&blocks);
    let matrices = QuantMatrix::new(quant, experts * rows, columns, &device).unwrap();
    let values = quant.dequantize(&blocks);
    // A few pairs, and many, where one expert has more than a tile and one has none; one vector for two
    // pairs, and one for each. One pair's expert does not exist.
    for (pairs, vectors) in [(6, 3), (6, 6), (130, 65), (20, 20)] {
        let ids: Vec<u32> = (0..pairs as u32)
            .map(|pair| if pair == 3 { 5 } else { [0, 3, 1, 3, 4, 3, 3][pair as usize % 7] })
            .collect();
        let x = random::<T>(vectors * columns, 46, 2.0);
        let y = Q8_1::dequantize(&q8_1_rows(&x, columns, 32));
        let expected = ids.iter().enumerate().flat_map(|(pair, &id)| {
            let vector = &y[pair * vectors / pairs * columns..][..columns];
            match values.chunks(rows * columns).nth(id as usize) {
                Some(matrix) => products(matrix, vector, columns, 300.0),
                None => vec![Expected { value: f64::NAN, slack: 0.0 }; rows],
            }
        });
        let mut quantized = QuantVectors::zeroed(&bench.stream, vectors, columns).unwrap();
        bench.kernels.quantize(&bench.stream, &bench.upload(&x), &mut quantized).unwrap();
        let ids = bench.upload(&ids);
        let routes = bench.kernels.route_experts(&bench.stream, &ids, experts).unwrap();
        let mut out = bench.zeroed::<T>(pairs * rows);
        bench.kernels.quant_experts(&bench.stream, matrices, &routes, &quantized, &mut out).unwrap();
        let result = compare(&bench.download(&out), expected);
        assert!(result.passed(), "{} of {pairs} pairs of {vectors} {}: {result:?}", quant.name(), T::NAME);
    }
}

#[test]
fn more_vectors_than_a_grid_has_rows_are_quantised() {
    let bench = Bench::open();
    if !bench.is_for_sizes() {
        return;
    }
    let (count, columns) = (65_537, 32);
    let mut x = vec![0.0_f32; count * columns];
    for vector in [0, 65_534, 65_535, 65_536] {
        x[vector * columns] = vector as f32 + 1.0;
    }
    let mut vectors = QuantVectors::zeroed(&bench.stream, count, columns).unwrap();
    bench.kernels.quantize(&bench.stream, &bench.upload(&x), &mut vectors).unwrap();
    // One row that has the first element of each.
    let mut one = vec![0; 34];
    one[..3].copy_from_slice(&[0, 0x3c, 1]);
    let blocks = bench.upload(&one);
    let matrix = QuantMatrix::new(QuantType::Q8_0, 1, columns, &blocks).unwrap();
    let mut out = bench.zeroed::<f32>(count);
    bench.kernels.quant_matmul(&bench.stream, matrix, &vectors, &mut out).unwrap();
    for (at, (found, x)) in bench.download(&out).iter().zip(x.chunks(columns)).enumerate() {
        difference((*found).into(), x[0].into());
        // The scale is a half.
        assert!((found - x[0]).abs() <= x[0] / 2000.0, "{at}: {found}");
    }
}

#[test]
fn vectors_meet_their_experts() {
    let bench = Bench::open();
    for quant in QuantType::ALL {
        experts_of::<f32>(&bench, quant);
    }
    experts_of::<f16>(&bench, QuantType::Q4K);
    experts_of::<bf16>(&bench, QuantType::Q8_0);
}

#[test]
fn experts_that_do_not_fit_are_refused() {
    let bench = Bench::open();
    let Bench { kernels, stream, .. } = &bench;
    let ids = bench.zeroed::<u32>(6);
    for experts in [0, 1024] {
        let error = kernels.route_experts(stream, &ids, experts).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "experts", .. }), "{error}");
    }
    let routes = kernels.route_experts(stream, &ids, 3).unwrap();
    let blocks = bench.zeroed::<u8>(9 * 34);
    let refused = |rows: usize, (vectors, columns), len| {
        let matrices =
            QuantMatrix::new(QuantType::Q8_0, rows, 32, blocks.slice(..rows * 34).unwrap()).unwrap();
        let vectors = QuantVectors::zeroed(stream, vectors, columns).unwrap();
        let mut out = bench.zeroed::<f32>(len);
        kernels.quant_experts(stream, matrices, &routes, &vectors, &mut out).unwrap_err().to_string()
    };
    assert_eq!(
        refused(8, (3, 32), 18),
        "quant_experts: `rows` is 8, must be a multiple of the number of experts"
    );
    assert_eq!(refused(9, (4, 32), 18), "quant_experts: `vectors` is 4, must divide the number of pairs");
    assert_eq!(refused(9, (0, 32), 18), "quant_experts: `vectors` is 0, must divide the number of pairs");
    let error = "quant_experts: `columns of the vectors` is 64, must be the columns of the matrices";
    assert_eq!(refused(9, (3, 64), 18), error);
    assert_eq!(refused(9, (3, 32), 17), "quant_experts: `out` has 17 elements, but needs 18");
}

/// For rows as in wide models, the kernel loads hardly more than the matrix: block headers twice, and a
/// vector for 16 rows.
#[test]
fn one_product_reads_the_matrix_once() {
    let bench = Bench::open();
    for (quant, most) in [
        (QuantType::Q4K, 1.3),
        (QuantType::Q4_0, 1.15),
        (QuantType::Q8_0, 1.1),
        (QuantType::Q6K, 1.3),
        (QuantType::Iq4Xs, 1.3),
    ] {
        let (rows, columns) = (64, 4096);
        let blocks = random_blocks(quant, rows * columns / quant.block_values(), 44);
        let device = bench.upload(&blocks);
        let matrix = QuantMatrix::new(quant, rows, columns, &device).unwrap();
        let vectors = QuantVectors::zeroed(&bench.stream, 1, columns).unwrap();
        let mut out = bench.zeroed::<f32>(rows);
        bench.stream.set_counters(true).unwrap();
        bench.kernels.quant_matmul(&bench.stream, matrix, &vectors, &mut out).unwrap();
        bench.stream.synchronize().unwrap();
        bench.stream.set_counters(false).unwrap();
        let counted = bench.stream.take_counters().unwrap();
        let [kernel] = &counted[..] else { panic!("{} kernels", counted.len()) };
        let read = (kernel.global.read_bytes + kernel.constant.read_bytes) as f64 / blocks.len() as f64;
        println!(
            "{}: {read:.3} times the matrix, {} instructions",
            quant.name(),
            kernel.instructions.total()
        );
        assert!(read >= 1.0 && read <= most, "{}: {read} times", quant.name());
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let bench = Bench::open();
    let Bench { kernels, stream, .. } = &bench;
    let blocks = bench.zeroed::<u8>(3 * 144 + 1);
    let matrix = |rows, columns, range: std::ops::Range<usize>| {
        QuantMatrix::new(QuantType::Q4K, rows, columns, blocks.slice(range).unwrap())
    };
    let error = matrix(3, 255, 0..432).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "columns", got: 255, .. }), "{error}");
    let error = matrix(3, 512, 0..432).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "blocks", expected: 864, got: 432, .. }), "{error}");
    let error = matrix(3, 256, 1..433).unwrap_err();
    assert!(matches!(error, Error::Hip(hip::Error::Cast { .. })), "{error}");
    let error = matrix(usize::MAX, 256, 0..432).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "rows", .. }), "{error}");
    let matrix = matrix(3, 256, 0..432).unwrap();

    let error = QuantVectors::zeroed(stream, 2, 33).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "columns", got: 33, .. }), "{error}");
    let error = QuantVectors::zeroed(stream, 0, 1 << 31).unwrap_err();
    assert!(matches!(error, Error::Size { parameter: "columns", got: 0x8000_0000, .. }), "{error}");
    QuantVectors::zeroed(stream, 0, (1 << 31) - 32).unwrap();
    let mut vectors = QuantVectors::zeroed(stream, 2, 256).unwrap();
    let error = kernels.quantize(stream, &bench.zeroed::<f32>(511), &mut vectors).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "x", expected: 512, got: 511, .. }), "{error}");

    let mut out = bench.zeroed::<f32>(7);
    let multiply = |vectors: &QuantVectors| {
        let mut out = bench.zeroed::<f32>(7);
        kernels.quant_matmul(stream, matrix, vectors, &mut out).unwrap_err()
    };
    let error = multiply(&vectors);
    assert!(matches!(error, Error::Length { buffer: "out", expected: 6, got: 7, .. }), "{error}");
    let error = multiply(&QuantVectors::zeroed(stream, 2, 512).unwrap());
    assert!(matches!(error, Error::Size { parameter: "columns of the vectors", got: 512, .. }), "{error}");
    let error = kernels.dequantize(stream, matrix, &mut out).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "out", expected: 768, got: 7, .. }), "{error}");
    let error = kernels.quant_rows(stream, matrix, &bench.upload(&[0_u32]), &mut out).unwrap_err();
    assert!(matches!(error, Error::Length { buffer: "out", expected: 256, got: 7, .. }), "{error}");
}
