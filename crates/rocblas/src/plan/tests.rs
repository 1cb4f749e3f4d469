use num_complex::Complex64;
use proptest::prelude::*;

use super::*;
use crate::layout::Layout as _;

/// Element `(i, j)` of `op(S)`, as column-major functions interpret an operand's memory.
fn op(memory: &[Complex64], ld: usize, op: rocblas_operation, (i, j): (usize, usize)) -> Complex64 {
    match op {
        rocblas_operation::rocblas_operation_none => memory[j * ld + i],
        rocblas_operation::rocblas_operation_transpose => memory[i * ld + j],
        _ => memory[i * ld + j].conj(),
    }
}

/// Element `(i, j)` of the matrix of a layout.
fn shown(memory: &[Complex64], layout: &MatrixLayout, (i, j): (usize, usize)) -> Complex64 {
    let at = match layout.order() {
        Order::ColumnMajor => j * layout.ld() + i,
        Order::RowMajor => i * layout.ld() + j,
    };
    if layout.is_conjugated() { memory[at].conj() } else { memory[at] }
}

fn numbers(count: usize, seed: usize) -> Vec<Complex64> {
    let part = |i: usize| ((i * 37 + seed * 11) % 17) as f64 - 8.0;
    (0..count).map(|i| Complex64::new(part(i), part(i + 5))).collect()
}

fn layouts(rows: usize, cols: usize, gap: usize) -> Vec<MatrixLayout> {
    let column = MatrixLayout::column_major(rows, cols).with_ld(rows.max(1) + gap);
    let row = MatrixLayout::row_major(rows, cols).with_ld(cols.max(1) + gap);
    vec![column, row, column.conj(), row.conj()]
}

proptest! {
    /// For matrices in every order, the planned product equals the product of the views. Only products that
    /// need a conjugate without a transposition are refused.
    #[test]
    fn planned_products_are_the_products_that_views_show(
        (m, n, k) in (0_usize..5, 0_usize..5, 0_usize..5),
        gap in 0_usize..3,
    ) {
        for (a, b, c) in itertools3(layouts(m, k, gap), layouts(k, n, gap), layouts(m, n, gap)) {
            let planned = multiplication("gemm", true, &a, &b, &c);
            let flip = c.order() == Order::RowMajor;
            let speakable = |layout: &MatrixLayout| {
                !layout.is_conjugated() || ((layout.order() == Order::RowMajor) != flip)
            };
            if c.is_conjugated() || !speakable(&a) || !speakable(&b) {
                let refused = matches!(planned, Err(Error::Conjugation { .. }));
                prop_assert!(refused);
                continue;
            }
            let plan = planned.unwrap();
            let in_a = numbers(a.span().unwrap(), 1);
            let in_b = numbers(b.span().unwrap(), 2);
            let (first, second) = if plan.flip { ((&in_b, b.ld()), (&in_a, a.ld())) } else { ((&in_a, a.ld()), (&in_b, b.ld())) };
            for i in 0..plan.m as usize {
                for j in 0..plan.n as usize {
                    let computed: Complex64 = (0..plan.k as usize)
                        .map(|l| op(first.0, first.1, plan.first, (i, l)) * op(second.0, second.1, plan.second, (l, j)))
                        .sum();
                    // The index that the function writes to.
                    let place = j * c.ld() + i;
                    let (row, col) = if flip { (j, i) } else { (i, j) };
                    prop_assert_eq!(place, c.place(row, col));
                    let meant: Complex64 = (0..k)
                        .map(|l| shown(&in_a, &a, (row, l)) * shown(&in_b, &b, (l, col)))
                        .sum();
                    prop_assert_eq!(computed, meant);
                }
            }
        }
    }
}

fn itertools3(
    a: Vec<MatrixLayout>,
    b: Vec<MatrixLayout>,
    c: Vec<MatrixLayout>,
) -> impl Iterator<Item = (MatrixLayout, MatrixLayout, MatrixLayout)> {
    a.into_iter().flat_map(move |a| {
        let c = c.clone();
        b.clone().into_iter().flat_map(move |b| c.clone().into_iter().map(move |c| (a, b, c)))
    })
}

#[test]
fn real_numbers_are_never_conjugated() {
    for a in layouts(2, 3, 0) {
        for b in layouts(3, 4, 0) {
            for c in layouts(2, 4, 0) {
                multiplication("gemm", false, &a, &b, &c).unwrap();
            }
        }
    }
}

#[test]
fn products_of_other_shapes_are_refused() {
    let of = MatrixLayout::row_major;
    let plan = |a, b, c| multiplication("gemm", false, &a, &b, &c).unwrap_err().to_string();
    assert_eq!(plan(of(2, 3), of(4, 5), of(2, 5)), "gemm: `b` has 4 rows, 3 are needed");
    assert_eq!(plan(of(2, 3), of(3, 5), of(3, 5)), "gemm: `c` has 3 rows, 2 are needed");
    assert_eq!(plan(of(2, 3), of(3, 5), of(2, 4)), "gemm: `c` has 4 columns, 5 are needed");
}

#[test]
fn a_hermitian_matrix_is_its_own_transpose_but_for_the_conjugate() {
    let column = MatrixLayout::column_major(2, 2);
    for (layout, symmetric, hermitian) in [
        (column, true, true),
        (column.t(), true, false),
        (column.conj(), false, false),
        (column.h(), false, true),
    ] {
        let seen = layout.seen("a", true);
        assert_eq!(seen.own_transpose("symv", false).is_ok(), symmetric, "{layout:?}");
        assert_eq!(seen.own_transpose("hemv", true).is_ok(), hermitian, "{layout:?}");
    }
}

#[test]
fn a_band_is_one_triangle_or_refused() {
    let upper = rocblas_fill::rocblas_fill_upper;
    let lower = rocblas_fill::rocblas_fill_lower;
    let of = |low, up, order| triangle("tbmv", "a", &BandLayout::new(4, 4, low, up, order));
    assert_eq!(of(0, 2, Order::ColumnMajor).unwrap(), (upper, 2));
    assert_eq!(of(2, 0, Order::ColumnMajor).unwrap(), (lower, 2));
    assert_eq!(of(0, 2, Order::RowMajor).unwrap(), (lower, 2));
    assert_eq!(of(2, 0, Order::RowMajor).unwrap(), (upper, 2));
    let error = of(1, 2, Order::RowMajor).unwrap_err();
    assert!(matches!(error, Error::Triangle { lower: 1, upper: 2, .. }), "{error}");
    assert!(triangle("tbmv", "a", &BandLayout::new(4, 5, 0, 1, Order::RowMajor)).is_err());
}

#[test]
fn sides_and_triangles_flip() {
    assert_eq!(Side::Left.raw(true), rocblas_side::rocblas_side_right);
    assert_eq!(Side::Right.raw(false), rocblas_side::rocblas_side_right);
    assert_eq!(Fill::Upper.raw(false), rocblas_fill::rocblas_fill_upper);
    assert_eq!(Fill::Lower.raw(true), rocblas_fill::rocblas_fill_upper);
    assert_eq!(Diag::Unit.raw(), rocblas_diagonal::rocblas_diagonal_unit);
}
