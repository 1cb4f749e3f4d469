//! Matrix multiplication against f64 on the CPU.

use hip::DeviceBuffer;
use kernels::reference::{self, Expected};
use kernels::{Element, Error, F8E4M3, Gemm, GemmElement, GemmShape};

use crate::common::{Bench, for_every_type, random};
use crate::record::{assert_exact, compare};

/// The stored matrices of one side of a product.
struct Stored {
    rows: usize,
    columns: usize,
    leading: usize,
    stride: usize,
    transposed: bool,
}

impl Stored {
    /// The length of a buffer that ends with the last matrix's last element.
    fn len(&self, batch: usize) -> usize {
        let rows = if self.transposed { self.columns } else { self.rows };
        let columns = if self.transposed { self.rows } else { self.columns };
        (batch - 1) * self.stride + rows.saturating_sub(1) * self.leading + columns
    }

    fn at(&self, batch: usize, row: usize, column: usize) -> usize {
        let (row, column) = if self.transposed { (column, row) } else { (row, column) };
        batch * self.stride + row * self.leading + column
    }

    /// A matrix of the batch, dense and not transposed.
    fn dense<T: Copy>(&self, from: &[T], batch: usize) -> Vec<T> {
        let places = (0..self.rows).flat_map(|row| (0..self.columns).map(move |column| (row, column)));
        places.map(|(row, column)| from[self.at(batch, row, column)]).collect()
    }
}

fn sides(gemm: &Gemm) -> [Stored; 3] {
    let side =
        |rows, columns, leading, stride, transposed| Stored { rows, columns, leading, stride, transposed };
    [
        side(gemm.m, gemm.k, gemm.lda, gemm.stride_a, gemm.transposed_a),
        side(gemm.k, gemm.n, gemm.ldb, gemm.stride_b, gemm.transposed_b),
        side(gemm.m, gemm.n, gemm.ldc, gemm.stride_c, false),
    ]
}

/// Multiplies random matrices, compares the results, and checks that nothing else was written.
fn check<T: Element + GemmElement<Product = T>>(bench: &Bench, gemm: &Gemm) {
    check_enqueued::<T>(bench, gemm, |a, b, c| bench.kernels.gemm(&bench.stream, gemm, a, b, c).unwrap());
}

/// The same for a product that `enqueue` enqueues.
fn check_enqueued<T: Element + GemmElement<Product = T>>(
    bench: &Bench,
    gemm: &Gemm,
    enqueue: impl FnOnce(&DeviceBuffer<T>, &DeviceBuffer<T>, &mut DeviceBuffer<T>),
) {
    let [stored_a, stored_b, stored_c] = sides(gemm);
    let a = random::<T>(stored_a.len(gemm.batch), 14, 1.0);
    let b = random::<T>(stored_b.len(gemm.batch), 15, 1.0);
    let c = random::<T>(stored_c.len(gemm.batch), 16, 1.0);
    let (device_a, device_b, mut device_c) = (bench.upload(&a), bench.upload(&b), bench.upload(&c));
    enqueue(&device_a, &device_b, &mut device_c);
    let mut expected: Vec<Expected> =
        c.iter().map(|kept| Expected { value: kept.to_f64(), slack: 0.0 }).collect();
    for batch in 0..gemm.batch {
        let product = reference::gemm(
            gemm.m,
            gemm.n,
            gemm.k,
            gemm.alpha,
            &stored_a.dense(&a, batch),
            &stored_b.dense(&b, batch),
            gemm.beta,
            &stored_c.dense(&c, batch),
        );
        for (i, value) in product.into_iter().enumerate() {
            expected[stored_c.at(batch, i / gemm.n, i % gemm.n)] = value;
        }
    }
    let result = compare(&bench.download(&device_c), expected);
    assert!(result.passed(), "{gemm:?} {}: {result:?}", T::NAME);
}

fn sizes_match<T: Element + GemmElement<Product = T>>(bench: &Bench) {
    for (m, n, k) in [(5, 5, 1), (64, 64, 64), (65, 63, 17), (100, 132, 200), (6, 200, 0), (129, 130, 131)] {
        for (alpha, beta) in [(1.0, 0.0), (0.5, -2.0)] {
            check::<T>(bench, &Gemm { alpha, beta, ..Gemm::new(m, n, k) });
        }
    }
}

#[test]
fn sizes() {
    for_every_type!(sizes_match);
}

fn transposed_match<T: Element + GemmElement<Product = T>>(bench: &Bench) {
    for (m, n, k) in [(72, 68, 264), (67, 70, 140), (3, 150, 300), (150, 2, 300)] {
        let gemm = Gemm::new(m, n, k);
        for gemm in [gemm, gemm.transpose_a(), gemm.transpose_b(), gemm.transpose_a().transpose_b()] {
            check::<T>(bench, &gemm);
        }
    }
}

#[test]
fn transposed() {
    for_every_type!(transposed_match);
}

/// For a product with at least as many blocks of 128 as the device has compute units, which lie beyond C no
/// more than blocks of 64 do.
fn large(bench: &Bench) -> (usize, usize, usize) {
    let units = bench.kernels.device().properties().compute_units as usize;
    (128 * units.div_ceil(2), 200, 40)
}

fn large_blocks_match<T: Element + GemmElement<Product = T>>(bench: &Bench) {
    // The same, by a batch. Depth is not what the choice of blocks asks for.
    let units = bench.kernels.device().properties().compute_units as usize;
    let batch = units.div_ceil(4);
    let gemm = Gemm::new(200, 196, 200);
    check::<T>(bench, &Gemm { beta: 1.0, ..gemm.batched(batch) });
    check::<T>(bench, &Gemm { stride_b: 0, ..gemm.transpose_a().transpose_b().batched(batch) });
}

#[test]
fn large_blocks() {
    for_every_type!(large_blocks_match);
}

fn vectors_match<T: Element + GemmElement<Product = T>>(bench: &Bench) {
    for (m, n, k) in [(1, 1, 1), (1, 300, 77), (4, 33, 512), (1000, 1, 40), (70, 4, 0)] {
        let gemm = Gemm { alpha: 0.5, beta: 3.0, ..Gemm::new(m, n, k) };
        for gemm in [gemm, gemm.transpose_a(), gemm.transpose_b(), gemm.transpose_a().transpose_b()] {
            check::<T>(bench, &gemm);
        }
    }
}

#[test]
fn vectors() {
    for_every_type!(vectors_match);
}

fn long_rows_match<T: Element + GemmElement<Product = T>>(bench: &Bench) {
    // Rows without gaps of so many bytes that NVIDIA's GPUs stream them: in each number of parts, more rows
    // than workgroups, and rows that are no whole chunks.
    for (n, k) in [(70, 1024), (300, 2048), (1030, 2056), (9, 8192), (3, 12_288), (5, 16_384), (40, 4099)] {
        let gemm = Gemm { settled: true, ..Gemm::new(1, n, k).transpose_b() };
        check::<T>(bench, &gemm);
        check::<T>(bench, &Gemm { alpha: 0.5, beta: 3.0, settled: false, ..gemm });
    }
    check::<T>(bench, &Gemm { settled: true, ..Gemm::new(600, 1, 1536) });
    // addresses that are no multiple of a chunk
    let (rows, depth) = (33, 2048);
    let (a, b) = (random::<T>(depth + 1, 24, 1.0), random::<T>(rows * depth + 1, 25, 1.0));
    let (device_a, device_b) = (bench.upload(&a), bench.upload(&b));
    for (from_a, from_b) in [(1, 0), (0, 1), (1, 1)] {
        let gemm = Gemm { settled: true, ..Gemm::new(1, rows, depth).transpose_b() };
        let mut c = bench.zeroed::<T>(rows);
        let (x, w) = (device_a.slice(from_a..).unwrap(), device_b.slice(from_b..).unwrap());
        bench.kernels.gemm(&bench.stream, &gemm, x, w, &mut c).unwrap();
        let [_, stored, _] = sides(&gemm);
        let w = stored.dense(&b[from_b..], 0);
        let none = vec![T::from_f64(0.0); rows];
        let expected = reference::gemm(1, rows, depth, 1.0, &a[from_a..][..depth], &w, 0.0, &none);
        let result = compare(&bench.download(&c), expected);
        assert!(result.passed(), "{from_a} {from_b} {}: {result:?}", T::NAME);
    }
}

#[test]
fn long_rows() {
    for_every_type!(long_rows_match);
}

/// The waves' sums of a matrix by columns meet in LDS.
fn no_bank_conflicts<T: Element + GemmElement>(bench: &Bench) {
    let (n, k) = (2048, 256);
    let (a, b) = (bench.upload(&random::<T>(k, 20, 1.0)), bench.upload(&random::<T>(k * n, 21, 1.0)));
    let mut c = bench.zeroed::<T::Product>(n);
    bench.stream.set_counters(true).unwrap();
    bench.kernels.gemm(&bench.stream, &Gemm::new(1, n, k), &a, &b, &mut c).unwrap();
    bench.stream.synchronize().unwrap();
    bench.stream.set_counters(false).unwrap();
    let counted = bench.stream.take_counters().unwrap();
    let [kernel] = &counted[..] else { panic!("{} kernels", counted.len()) };
    let (cycles, conflicts) = (kernel.lds_banks.cycles, kernel.lds_banks.conflicts());
    println!("{}: {conflicts} of {cycles} cycles", kernel.kernel);
    assert!(cycles > 0 && conflicts == 0, "{}: {conflicts} of {cycles} cycles", kernel.kernel);
}

#[test]
fn vectors_by_columns_have_no_bank_conflicts() {
    for_every_type!(no_bank_conflicts);
    no_bank_conflicts::<F8E4M3>(&Bench::open());
}

fn strides_match<T: Element + GemmElement<Product = T>>(bench: &Bench) {
    for (m, n, k) in [(20, 30, 140), (2, 30, 70), (30, 3, 70)] {
        // odd distances, and the matrices of a batch of C interleaved by rows, as heads of attention are
        let gemm = Gemm { beta: 1.0, batch: 3, ..Gemm::new(m, n, k) };
        let apart = Gemm {
            lda: k + 3,
            ldb: n + 5,
            ldc: n + 1,
            stride_a: 7000,
            stride_b: 7001,
            stride_c: 2001,
            ..gemm
        };
        check::<T>(bench, &apart);
        let between = Gemm { lda: 3 * k, stride_a: k, stride_b: 0, ldc: 3 * n + 2, stride_c: n, ..gemm };
        check::<T>(bench, &between);
    }
}

#[test]
fn strides_and_batches() {
    for_every_type!(strides_match);
}

#[test]
fn more_rows_and_products_than_blocks_are_launched() {
    let bench = Bench::open();
    if bench.is_for_sizes() {
        check::<f32>(&bench, &Gemm::new(64 * 4096 + 70, 5, 1));
    }
    check::<f32>(&bench, &Gemm::new(70_000, 1, 3));
    check::<f32>(&bench, &Gemm::new(1, 1, 2).batched(4_099));
    check::<f32>(&bench, &Gemm::new(5, 5, 1).batched(4_099));
}

/// Columns beyond 2^29 need matrices of gigabytes, but a smaller grid shows the same.
#[test]
fn workgroups_go_on_where_there_are_more_blocks_than_they_are() {
    let bench = Bench::open();
    let blocks = Gemm::new(150, 200, 20).batched(2);
    let by_columns = Gemm::new(3, 300, 20).batched(2);
    for (gemm, compute_units) in [(blocks, 1), (blocks, 1000), (by_columns, 1), (by_columns.transpose_b(), 1)]
    {
        let gemm = Gemm { beta: 0.5, ..gemm };
        let mut how = gemm.launch::<f32>(compute_units).unwrap();
        let full = how.grid;
        assert!(full.iter().product::<u32>() > 3, "{full:?}");
        for grid in [[1, 1, 1], [2, 1, 1], [1, 2, 1], [1, 1, 2]] {
            how.grid = std::array::from_fn(|i| grid[i].min(full[i]));
            check_enqueued::<f32>(&bench, &gemm, |a, b, c| {
                let function = bench.kernels.function(how.module, how.kernel).unwrap();
                let launch = function.launch(&bench.stream).grid(how.grid).block(how.block);
                let launch = match how.shape {
                    GemmShape::Blocks(shape) => launch.arg(shape),
                    GemmShape::Vectors(shape) => launch.arg(shape),
                };
                let (first, second) = if how.swapped { (b, a) } else { (a, b) };
                let launch = launch.arg(gemm.alpha).arg(first).arg(second).arg(gemm.beta).arg(c);
                // SAFETY: the shape is that of a product whose matrices fit the buffers.
                unsafe { launch.enqueue().unwrap() };
            });
        }
    }
}

fn special_values_stay<T: Element + GemmElement<Product = T>>(bench: &Bench) {
    // one NaN in A and one in B reach only their row and their column, at the edges, too
    for (m, n, k) in [(70, 71, 90), (70, 72, 256), (3, 72, 256)] {
        let mut a = random::<T>(m * k, 1, 1.0);
        let mut b = random::<T>(k * n, 2, 1.0);
        a[(m - 1) * k + 5] = T::from_f64(f64::NAN);
        b[7 * n + n - 1] = T::from_f64(f64::INFINITY);
        let (device_a, device_b) = (bench.upload(&a), bench.upload(&b));
        // beta = 0 does not read C
        let mut device_c = bench.upload(&vec![T::from_f64(f64::NAN); m * n]);
        bench.kernels.gemm(&bench.stream, &Gemm::new(m, n, k), &device_a, &device_b, &mut device_c).unwrap();
        let result = compare(&bench.download(&device_c), reference::gemm(m, n, k, 1.0, &a, &b, 0.0, &[]));
        assert!(result.passed(), "{m} {n} {k} {}: {result:?}", T::NAME);
    }
}

#[test]
fn special_values() {
    for_every_type!(special_values_stay);
}

#[test]
fn floats_of_eight_bits() {
    let bench = Bench::open();
    for (m, n, k) in [(70, 72, 300), (65, 67, 131), (2, 72, 300), (150, 1, 33), (40, 1, 4096), large(&bench)]
    {
        let gemm = Gemm { alpha: 0.25, beta: 2.0, ..Gemm::new(m, n, k) };
        for gemm in [gemm, gemm.transpose_a(), gemm.transpose_b()] {
            let [stored_a, stored_b, stored_c] = sides(&gemm);
            let mut a = random::<F8E4M3>(stored_a.len(1), 17, 448.0);
            let mut b = random::<F8E4M3>(stored_b.len(1), 18, 1.0);
            // subnormal numbers, and a NaN of either sign, which reaches its row or column
            a[1] = F8E4M3::from_bits(1);
            b[2] = F8E4M3::from_bits(0x87);
            a[stored_a.at(0, m - 1, 3)] = F8E4M3::from_bits(0x7f);
            b[stored_b.at(0, 4, n - 1)] = F8E4M3::from_bits(0xff);
            let c = random::<f32>(stored_c.len(1), 19, 1.0);
            let (device_a, device_b, mut device_c) = (bench.upload(&a), bench.upload(&b), bench.upload(&c));
            bench.kernels.gemm(&bench.stream, &gemm, &device_a, &device_b, &mut device_c).unwrap();
            let wide =
                |from: Vec<F8E4M3>| -> Vec<f32> { from.into_iter().map(|x| x.to_f64() as f32).collect() };
            let (a, b) = (wide(stored_a.dense(&a, 0)), wide(stored_b.dense(&b, 0)));
            let expected = reference::gemm(m, n, k, gemm.alpha, &a, &b, gemm.beta, &c);
            let result = compare(&bench.download(&device_c), expected);
            assert!(result.passed(), "{gemm:?}: {result:?}");
        }
    }
}

/// Row i of A has the code i at some depth, and zeros of either sign elsewhere; column j of B is full of the
/// code j. So each sum has one product that is not zero.
#[test]
fn every_f8_by_every_other() {
    let bench = Bench::open();
    let all: Vec<F8E4M3> = (0..=u8::MAX).map(F8E4M3::from_bits).collect();
    // with blocks of 64, and of 128, of which there are as many as the device has compute units
    let units = bench.kernels.device().properties().compute_units as usize;
    for (rows, columns, k, batch) in [(256, 64, 261, 1), (64, 256, 75, 1), (256, 256, 261, units.div_ceil(4))]
    {
        let gemm = Gemm { batch, stride_c: rows * columns, ..Gemm::new(rows, columns, k) };
        for (gemm, first) in [
            (gemm, 0),
            (gemm.transpose_a(), 64),
            (gemm.transpose_b(), 128),
            (gemm.transpose_a().transpose_b(), 192),
        ] {
            let [stored_a, stored_b, _] = sides(&gemm);
            // all codes on the longer side, and different ones each time on the other
            let code = |i: usize, side: usize| all[if side == 256 { i } else { first + i }];
            let mut a: Vec<F8E4M3> = (0..stored_a.len(1)).map(|i| all[[0x80, 0, 0][i % 3]]).collect();
            let mut b = vec![F8E4M3::default(); stored_b.len(1)];
            (0..rows).for_each(|row| a[stored_a.at(0, row, row * 37 % k)] = code(row, rows));
            for column in 0..columns {
                (0..k).for_each(|depth| b[stored_b.at(0, depth, column)] = code(column, columns));
            }
            let check = |a: &[F8E4M3], b: &[F8E4M3], expected: &dyn Fn(usize, usize) -> f64| {
                let mut c = bench.upload(&vec![f32::NAN; batch * rows * columns]);
                bench.kernels.gemm(&bench.stream, &gemm, &bench.upload(a), &bench.upload(b), &mut c).unwrap();
                let places =
                    (0..batch * rows).flat_map(|row| (0..columns).map(move |column| (row % rows, column)));
                let expected = places.map(|(row, column)| {
                    // gfx1100 counts the last place of a term whose sign differs from the previous sum's,
                    // even of zeros
                    let value = expected(row, column);
                    Expected { value, slack: value.abs() * k as f64 * f64::from(f32::EPSILON) / 2.0 }
                });
                let result = compare(&bench.download(&c), expected);
                assert!(result.passed(), "{gemm:?}: {result:?}");
            };
            check(&a, &b, &|row, column| code(row, rows).to_f64() * code(column, columns).to_f64());
            // the largest numbers, and the least
            for (left, right) in [(0x7e, 0xfe), (0x7e, 0x01), (0x81, 0x81)] {
                let product = k as f64 * all[left].to_f64() * all[right].to_f64();
                check(&vec![all[left]; a.len()], &vec![all[right]; b.len()], &|_, _| product);
            }
        }
    }
}

#[test]
fn integers_are_exact_and_wrap_around() {
    let bench = Bench::open();
    for (m, n, k) in [(70, 72, 300), (2, 72, 300), (72, 1, 33), (40, 1, 4096), (5, 6, 50_000), large(&bench)]
    {
        for gemm in [Gemm::new(m, n, k), Gemm::new(m, n, k).transpose_a(), Gemm::new(m, n, k).transpose_b()] {
            let gemm = Gemm { alpha: -3.0, beta: 2.0, ..gemm };
            let [stored_a, stored_b, stored_c] = sides(&gemm);
            // the largest products in the longest sums, so that they wrap around
            let largest = k == 50_000;
            let bytes = |len, seed| -> Vec<i8> {
                let random = random::<f32>(len, seed, 128.0);
                random.into_iter().map(|x| if largest { -128 } else { x.floor() as i8 }).collect()
            };
            let (a, b) = (bytes(stored_a.len(1), 3), bytes(stored_b.len(1), 4));
            let c: Vec<i32> = (0..stored_c.len(1)).map(|i| (i as i32).wrapping_mul(1_000_003)).collect();
            let (device_a, device_b, mut device_c) = (bench.upload(&a), bench.upload(&b), bench.upload(&c));
            bench.kernels.gemm(&bench.stream, &gemm, &device_a, &device_b, &mut device_c).unwrap();
            let (a, b) = (stored_a.dense(&a, 0), stored_b.dense(&b, 0));
            let expected: Vec<i32> = (0..m * n)
                .map(|i| {
                    let products = (0..k).map(|d| i64::from(a[i / n * k + d]) * i64::from(b[d * n + i % n]));
                    (-3 * products.sum::<i64>() + 2 * i64::from(c[i])) as i32
                })
                .collect();
            assert_exact!(bench.download(&device_c), expected, "{gemm:?}");
        }
    }
}

#[test]
fn what_lies_between_rows_is_neither_read_nor_written() {
    let bench = Bench::open();
    let gemm = Gemm { lda: 5, ldb: 4, ldc: 7, ..Gemm::new(2, 3, 4) };
    let a = [1.0_f32, 2.0, 3.0, 4.0, f32::NAN, 5.0, 6.0, 7.0, 8.0];
    let b = [1.0_f32, 0.0, 2.0, f32::NAN, 0.0, 1.0, 2.0, f32::NAN, 1.0, 1.0, 0.0, f32::NAN, 0.0, 0.0, 1.0];
    let (device_a, device_b) = (bench.upload(&a), bench.upload(&b));
    let mut device_c = bench.upload(&[-1.0_f32; 10]);
    bench.kernels.gemm(&bench.stream, &gemm, &device_a, &device_b, &mut device_c).unwrap();
    assert_exact!(bench.download(&device_c), [4.0, 5.0, 10.0, -1.0, -1.0, -1.0, -1.0, 12.0, 13.0, 30.0]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let bench = Bench::open();
    let a = bench.zeroed::<f32>(15);
    let b = bench.zeroed::<f32>(16);
    let mut c = bench.zeroed::<f32>(16);
    let mut refused =
        |gemm: Gemm| bench.kernels.gemm(&bench.stream, &gemm, &a, &b, &mut c).unwrap_err().to_string();
    assert_eq!(refused(Gemm::new(4, 4, 4)), "gemm: `a` has 15 elements, but needs 16");
    assert_eq!(refused(Gemm::new(3, 4, 5)), "gemm: `b` has 16 elements, but needs 20");
    assert_eq!(refused(Gemm::new(5, 4, 3)), "gemm: `c` has 16 elements, but needs 20");
    assert_eq!(
        refused(Gemm { lda: 2, ..Gemm::new(3, 3, 3) }),
        "gemm: `lda` is 2, less than the elements of a row"
    );
    assert_eq!(
        refused(Gemm { lda: 2, ..Gemm::new(3, 3, 2).transpose_a() }),
        "gemm: `lda` is 2, less than the elements of a row"
    );
    let overlapping = Gemm { batch: 2, ..Gemm::new(2, 2, 2) };
    assert_eq!(refused(overlapping), "gemm: `stride_c` is 0, which makes matrices of the batch overlap");
    let empty = Gemm::new(0, 4, usize::MAX);
    assert!(refused(empty).contains("`b`"), "an empty C does not excuse a short B");
    let integers = bench.zeroed::<i8>(16);
    let mut sums = bench.zeroed::<i32>(16);
    let half = Gemm { alpha: 0.5, ..Gemm::new(4, 4, 4) };
    let error = bench.kernels.gemm(&bench.stream, &half, &integers, &integers, &mut sums).unwrap_err();
    assert!(matches!(error, Error::Value { parameter: "alpha", .. }), "{error}");
}
