//! Numbers of quantised matrices that are kept between products.

use std::sync::Arc;

use backend::{DType, Error, KernelBackend, QuantType, Tensor};

use crate::common::Bench;
use crate::products::{blocks, exact};

const QUANT: QuantType = QuantType::Q4K;
const ROWS: usize = 48;
const COLUMNS: usize = 512;
/// So many rows of activations are multiplied with numbers on every device.
const MANY: usize = 20;
const BYTES: u64 = (ROWS * COLUMNS * 2) as u64;

struct Case {
    bench: Bench,
    x: Tensor,
    a: Vec<f64>,
    out: Tensor,
}

impl Case {
    fn new() -> Self {
        let bench = Bench::open();
        let (x, a) = bench.random(DType::F16, &[MANY, COLUMNS], 41, 1.0);
        let out = bench.empty(DType::F16, &[MANY, ROWS]);
        Self { bench, x, a, out }
    }

    fn backend(&self) -> &Arc<dyn KernelBackend> {
        &self.bench.backend
    }

    fn matrix(&self, seed: u64) -> (Tensor, Vec<u8>) {
        let bytes = blocks(QUANT, ROWS * COLUMNS, seed);
        (self.backend().tensor_of_bytes(DType::Quant(QUANT), &[ROWS, COLUMNS], &bytes).unwrap(), bytes)
    }

    /// The result is that of the numbers of these blocks. Where blocks are multiplied, activations have 8
    /// bits.
    fn is_right(&self, bytes: &[u8], slack: f64, what: &str) {
        let numbers: Vec<f64> = QUANT.dequantize(bytes).iter().map(|x| f64::from(*x)).collect();
        let (expected, size) = exact(&self.a, &numbers, COLUMNS);
        self.bench.is_near(&self.out, &expected, |i| slack * size[i], what);
    }

    fn multiply(&self, w: &Tensor) {
        self.backend().matmul(&self.x, w, &self.out).unwrap();
    }

    fn kept(&self) -> u64 {
        self.backend().memory().unwrap().numbers
    }
}

/// Numbers are rounded to f16.
const OF_NUMBERS: f64 = 5e-4;
const OF_BLOCKS: f64 = 1e-2;

#[test]
fn numbers_are_kept_as_long_as_there_is_room_and_until_their_matrix_is_gone() {
    let case = Case::new();
    let ((first, of_first), (second, of_second)) = (case.matrix(42), case.matrix(43));
    case.multiply(&first);
    assert_eq!(case.kept(), 0, "nobody asked for it");
    case.backend().keep_numbers(BYTES + BYTES / 2).unwrap();
    for _ in 0..2 {
        case.multiply(&first);
        case.is_right(&of_first, OF_NUMBERS, "kept");
        assert_eq!(case.kept(), BYTES);
        case.multiply(&second);
        case.is_right(&of_second, OF_BLOCKS, "no room");
        assert_eq!(case.kept(), BYTES);
    }
    // A part of the matrix is another one, and what is kept stays when the room becomes less.
    case.backend().keep_numbers(2 * BYTES).unwrap();
    let part = first.narrow(0, 16, 32).unwrap();
    let out = case.bench.empty(DType::F16, &[MANY, 32]);
    case.backend().matmul(&case.x, &part, &out).unwrap();
    assert_eq!(case.kept(), BYTES + BYTES / 48 * 32);
    case.backend().keep_numbers(0).unwrap();
    case.multiply(&first);
    case.is_right(&of_first, OF_NUMBERS, "kept before");
    drop((part, first));
    assert_eq!(case.kept(), 0);
}

#[test]
fn numbers_are_those_of_what_was_written_last() {
    let case = Case::new();
    case.backend().keep_numbers(BYTES).unwrap();
    let (w, _) = case.matrix(44);
    for seed in 45..48 {
        let (other, bytes) = case.matrix(seed);
        drop(other);
        case.backend().upload(&bytes, &w).unwrap();
        assert_eq!(case.kept(), 0);
        case.multiply(&w);
        case.is_right(&bytes, OF_NUMBERS, "written");
        assert_eq!(case.kept(), BYTES);
    }
}

#[test]
fn captured_work_reads_kept_numbers_and_is_refused_once_they_are_old() {
    let case = Case::new();
    let backend = case.backend();
    backend.keep_numbers(BYTES).unwrap();
    let (w, bytes) = case.matrix(48);
    let capture =
        || backend.capture(&mut || backend.matmul(&case.x, &w, &case.out)).unwrap().expect("a graph");
    let without = capture();
    assert_eq!(case.kept(), 0, "captured work computes no numbers now");
    case.multiply(&w);
    let with = capture();
    let clear = || backend.upload(&vec![0; case.out.size_in_bytes()], &case.out).unwrap();
    clear();
    with.launch().unwrap();
    case.is_right(&bytes, OF_NUMBERS, "with kept numbers");
    let (other, bytes) = case.matrix(49);
    drop(other);
    backend.upload(&bytes, &w).unwrap();
    let refused = with.launch().unwrap_err();
    assert!(matches!(refused, Error::Stale { .. }), "{refused}");
    clear();
    without.launch().unwrap();
    case.is_right(&bytes, OF_BLOCKS, "without");
    clear();
    capture().launch().unwrap();
    case.is_right(&bytes, OF_BLOCKS, "captured again");
}
