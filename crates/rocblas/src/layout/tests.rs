use proptest::prelude::*;

use super::*;

proptest! {
    /// A layout needs memory up to its last element, and no more.
    #[test]
    fn what_is_needed_ends_with_the_last_element(
        (rows, cols) in (0_usize..9, 0_usize..9),
        gap in 0_usize..4,
        (count, stride) in (0_usize..4, 0_usize..100),
        row_major: bool,
    ) {
        let layout = match row_major {
            true => MatrixLayout::row_major(rows, cols).with_ld(cols.max(1) + gap),
            false => MatrixLayout::column_major(rows, cols).with_ld(rows.max(1) + gap),
        };
        let layout = layout.with_batch(count, stride);
        let places = (0..count).flat_map(|of| (0..rows).flat_map(move |i| (0..cols).map(move |j| (of, i, j))));
        let places: Vec<_> = places.map(|(of, i, j)| of * stride + layout.place(i, j)).collect();
        let last = places.iter().max().map_or(0, |last| last + 1);
        prop_assert_eq!(layout.needed().unwrap(), last);
        if layout.check_written().is_ok() {
            let distinct: std::collections::BTreeSet<_> = places.iter().collect();
            prop_assert_eq!(distinct.len(), places.len());
        }
    }

    /// Blocks, rows, columns and the diagonal have the same indices as in the matrix.
    #[test]
    fn parts_lie_where_they_lie_in_the_matrix(
        (rows, cols) in (1_usize..7, 1_usize..7),
        gap in 0_usize..3,
        row_major: bool,
    ) {
        let layout = match row_major {
            true => MatrixLayout::row_major(rows, cols).with_ld(cols + gap),
            false => MatrixLayout::column_major(rows, cols).with_ld(rows + gap),
        };
        for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
            let (start, block) = layout.block(i..rows, j..cols).unwrap();
            prop_assert_eq!(start + block.place(rows - i - 1, cols - j - 1), layout.place(rows - 1, cols - 1));
            prop_assert!(start + block.span().unwrap() <= layout.span().unwrap());
            let (start, row) = layout.row(i).unwrap();
            prop_assert_eq!(start + j * row.increment().unsigned_abs(), layout.place(i, j));
            let (start, col) = layout.col(j).unwrap();
            prop_assert_eq!(start + i * col.increment().unsigned_abs(), layout.place(i, j));
            prop_assert_eq!(layout.t().place(j, i), layout.place(i, j));
        }
        let diagonal = layout.diagonal().unwrap();
        for i in 0..diagonal.len() {
            prop_assert_eq!(i * diagonal.increment().unsigned_abs(), layout.place(i, i));
        }
    }
}

#[test]
fn what_cannot_be_is_an_error_that_says_so() {
    let text = |layout: MatrixLayout| layout.needed().unwrap_err().to_string();
    let short = MatrixLayout::row_major(2, 5).with_ld(4);
    assert_eq!(text(short), "the leading dimension is 4, but must be at least 5");
    assert_eq!(
        MatrixLayout::column_major(2, 5).with_ld(0).span(),
        Err(LayoutError::LeadingDimension { ld: 0, least: 2 })
    );
    assert_eq!(
        MatrixLayout::row_major(0, 0).with_ld(0).span().unwrap_err().to_string(),
        text(MatrixLayout::row_major(0, 0).with_ld(0))
    );
    assert_eq!(VectorLayout::new(3).with_increment(0).span(), Err(LayoutError::ZeroIncrement));
    assert_eq!(VectorLayout::new(3).with_increment(isize::MIN).span(), Err(LayoutError::TooLarge));
    for huge in [
        MatrixLayout::row_major(usize::MAX, 2),
        MatrixLayout::row_major(1 << 40, 1 << 40),
        MatrixLayout::column_major(2, 2).with_ld(usize::MAX),
        MatrixLayout::column_major(2, 2).with_batch(usize::MAX, usize::MAX),
    ] {
        assert_eq!(huge.needed(), Err(LayoutError::TooLarge), "{huge:?}");
    }
    assert_eq!(PackedLayout::new(usize::MAX, Order::RowMajor).span(), Err(LayoutError::TooLarge));
    assert_eq!(VectorLayout::new(usize::MAX).span(), Err(LayoutError::TooLarge));
    assert_eq!(
        BandLayout::new(4, 4, 1, 2, Order::ColumnMajor).with_ld(3).span(),
        Err(LayoutError::LeadingDimension { ld: 3, least: 4 })
    );
    let band = BandLayout::new(usize::MAX, 4, usize::MAX, 1, Order::ColumnMajor);
    assert_eq!(band.span(), Err(LayoutError::TooLarge));
    let outside = MatrixLayout::row_major(2, 3).block(1..3, 0..1);
    assert_eq!(outside.unwrap_err().to_string(), "rows 1..3 are out of range: there are 2");
    assert!(MatrixLayout::row_major(2, 3).row(usize::MAX).is_err());
    assert!(MatrixLayout::row_major(2, 3).col(3).is_err());
}

#[test]
fn batches_that_overlap_are_read_only() {
    let layout = MatrixLayout::row_major(2, 3).with_batch(3, 5);
    assert_eq!(layout.needed(), Ok(16));
    assert_eq!(layout.check_written(), Err(LayoutError::Overlap { count: 3, stride: 5, span: 6 }));
    assert!(
        layout.with_batch(3, 6).check_written().is_ok() && layout.with_batch(1, 0).check_written().is_ok()
    );
    assert!(VectorLayout::new(3).with_batch(2, 0).check_written().is_err());
}

#[test]
fn spans_of_vectors_bands_and_packed_triangles() {
    assert_eq!(VectorLayout::new(4).with_increment(-3).span(), Ok(10));
    assert_eq!(VectorLayout::new(0).with_increment(7).span(), Ok(0));
    assert_eq!(PackedLayout::new(4, Order::RowMajor).span(), Ok(10));
    assert_eq!(BandLayout::new(3, 5, 1, 1, Order::ColumnMajor).with_ld(4).span(), Ok(19));
    assert_eq!(BandLayout::new(3, 5, 1, 1, Order::RowMajor).with_ld(4).span(), Ok(11));
    assert_eq!(
        BandLayout::upper_triangle(3, 2, Order::RowMajor).t(),
        BandLayout::lower_triangle(3, 2, Order::ColumnMajor)
    );
}
