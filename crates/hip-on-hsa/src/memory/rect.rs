//! The shapes of copies and fills: rows of bytes, in rectangles, in boxes.

/// Rows of bytes at one place: a box of rectangles of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) start: usize,
    /// Distance from a row to the next one.
    pub(crate) pitch: usize,
    /// Distance from a rectangle to the next one.
    pub(crate) slice: usize,
    /// Bytes of a row.
    pub(crate) width: usize,
    /// Rows of a rectangle.
    pub(crate) height: usize,
    /// Rectangles of the box.
    pub(crate) depth: usize,
}

impl Rows {
    /// One row.
    pub(crate) fn row(start: usize, width: usize) -> Self {
        Self { start, pitch: width, slice: width, width, height: 1, depth: 1 }
    }

    /// One rectangle.
    pub(crate) fn rectangle(start: usize, pitch: usize, width: usize, height: usize) -> Self {
        Self { start, pitch, slice: 0, width, height, depth: 1 }
    }

    /// Whether it is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Whether rows and rectangles do not overlap.
    pub(crate) fn is_apart(&self) -> bool {
        let rows = self.height <= 1 || self.pitch >= self.width;
        let rectangle = || self.pitch.checked_mul(self.height - 1)?.checked_add(self.width);
        rows && (self.depth <= 1 || rectangle().is_some_and(|bytes| self.slice >= bytes))
    }

    /// Bytes from the first to the last one of a nonempty shape; `None` on overflow.
    pub(crate) fn extent(&self) -> Option<usize> {
        let rectangles = self.slice.checked_mul(self.depth - 1)?;
        let rows = self.pitch.checked_mul(self.height - 1)?;
        rectangles.checked_add(rows)?.checked_add(self.width)
    }

    /// Bytes of all rows.
    pub(crate) fn bytes(&self) -> usize {
        self.width * self.height * self.depth
    }

    /// Joins adjacent rows, and then adjacent rectangles.
    pub(crate) fn simplified(self) -> Self {
        let rows = self.upright();
        Joints::of(&rows).join(rows)
    }

    /// Turns rectangles of one row each into the rows of one rectangle.
    fn upright(self) -> Self {
        if self.height == 1 { Self::rectangle(self.start, self.slice, self.width, self.depth) } else { self }
    }

    /// The start of each row.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.depth).flat_map(move |rectangle| {
            (0..self.height).map(move |row| self.start + rectangle * self.slice + row * self.pitch)
        })
    }
}

/// Adjacent rows and rectangles.
#[derive(Clone, Copy)]
struct Joints {
    rows: bool,
    rectangles: bool,
}

impl Joints {
    fn of(rows: &Rows) -> Self {
        let rectangle = rows.pitch.checked_mul(rows.height);
        Self {
            rows: rows.height == 1 || rows.pitch == rows.width,
            rectangles: rows.depth == 1 || rectangle == Some(rows.slice),
        }
    }

    fn join(self, rows: Rows) -> Rows {
        match self {
            Self { rows: true, rectangles: true } => Rows::row(rows.start, rows.bytes()),
            Self { rows: true, rectangles: false } => {
                // Rectangles of one row each become the rows of one rectangle.
                Rows::rectangle(rows.start, rows.slice, rows.width * rows.height, rows.depth)
            }
            Self { rows: false, rectangles: true } => {
                Rows::rectangle(rows.start, rows.pitch, rows.width, rows.height * rows.depth)
            }
            Self { rows: false, rectangles: false } => rows,
        }
    }
}

/// Destination, source and bytes of a row or a part of it.
pub(crate) type Piece = (usize, usize, usize);

/// The same shape at two places; a plain copy is one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rect {
    pub(crate) dst: Rows,
    pub(crate) src: Rows,
}

impl Rect {
    /// One row.
    pub(crate) fn row(dst: usize, src: usize, width: usize) -> Self {
        Self { dst: Rows::row(dst, width), src: Rows::row(src, width) }
    }

    /// One rectangle, whose rows have pitches.
    pub(crate) fn rectangle(
        (dst, dst_pitch): (usize, usize),
        (src, src_pitch): (usize, usize),
        width: usize,
        height: usize,
    ) -> Self {
        Self {
            dst: Rows::rectangle(dst, dst_pitch, width, height),
            src: Rows::rectangle(src, src_pitch, width, height),
        }
    }

    /// The same at other addresses.
    pub(crate) fn at(self, dst: usize, src: usize) -> Self {
        Self { dst: Rows { start: dst, ..self.dst }, src: Rows { start: src, ..self.src } }
    }

    /// Bytes of all rows.
    pub(crate) fn bytes(&self) -> usize {
        self.dst.bytes()
    }

    /// Joins rows and rectangles that are adjacent at both places.
    pub(crate) fn simplified(self) -> Self {
        let rows = (self.dst.upright(), self.src.upright());
        let (dst, src) = (Joints::of(&rows.0), Joints::of(&rows.1));
        let both = Joints { rows: dst.rows && src.rows, rectangles: dst.rectangles && src.rectangles };
        Self { dst: both.join(rows.0), src: both.join(rows.1) }
    }

    /// All rows.
    pub(crate) fn rows(self) -> impl Iterator<Item = Piece> {
        self.dst.iter().zip(self.src.iter()).map(move |(dst, src)| (dst, src, self.dst.width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_gaps_become_one() {
        let rect = Rect::rectangle((1000, 16), (5000, 16), 16, 4);
        let rows: Vec<_> = rect.simplified().rows().collect();
        assert_eq!(rows, [(1000, 5000, 64)]);
    }

    #[test]
    fn rows_with_gaps_stay_apart_and_their_extent_ends_with_the_last_byte() {
        let rect = Rect::rectangle((1000, 20), (5000, 16), 16, 3);
        let rows: Vec<_> = rect.simplified().rows().collect();
        assert_eq!(rows, [(1000, 5000, 16), (1020, 5016, 16), (1040, 5032, 16)]);
        assert_eq!(rect.dst.extent(), Some(56));
        assert_eq!(Rows { height: usize::MAX, ..rect.dst }.extent(), None);
    }

    #[test]
    fn boxes_are_joined_as_far_as_both_places_allow_and_keep_their_bytes() {
        let shape = |start, pitch, slice| Rows { start, pitch, slice, width: 4, height: 3, depth: 2 };
        let bytes = |rect: Rect| -> Vec<(usize, usize)> {
            rect.rows().flat_map(|(dst, src, size)| (0..size).map(move |at| (dst + at, src + at))).collect()
        };
        for (dst, src, rows) in [
            (shape(0, 4, 12), shape(1000, 4, 12), 1),
            (shape(0, 4, 12), shape(1000, 4, 20), 2),
            (shape(0, 4, 12), shape(1000, 5, 15), 6),
            (shape(0, 7, 21), shape(1000, 5, 15), 6),
            (shape(0, 4, 13), shape(1000, 5, 15), 6),
        ] {
            let rect = Rect { dst, src };
            assert_eq!(rect.simplified().rows().count(), rows, "{rect:?}");
            let mut expected = Vec::new();
            for z in 0..2 {
                for y in 0..3 {
                    for x in 0..4 {
                        expected.push((
                            z * dst.slice + y * dst.pitch + x,
                            1000 + z * src.slice + y * src.pitch + x,
                        ));
                    }
                }
            }
            assert_eq!(bytes(rect), expected);
            assert_eq!(bytes(rect.simplified()), expected);
        }
    }

    #[test]
    fn rectangles_of_one_row_are_rows() {
        let shape = |slice| Rows { start: 100, pitch: 64, slice, width: 8, height: 1, depth: 5 };
        assert_eq!(shape(64).simplified(), Rows::rectangle(100, 64, 8, 5));
        assert_eq!(shape(8).simplified(), Rows::row(100, 40));
        let rect = Rect { dst: shape(8), src: shape(64) }.simplified();
        assert_eq!(rect.rows().collect::<Vec<_>>()[4], (132, 356, 8));
    }

    #[test]
    fn rows_that_overlap_are_not_apart() {
        let shape = Rows { start: 0, pitch: 8, slice: 20, width: 4, height: 3, depth: 2 };
        assert!(shape.is_apart());
        assert_eq!(shape.extent(), Some(40));
        assert!(!Rows { slice: 19, ..shape }.is_apart());
        assert!(!Rows { pitch: 3, ..shape }.is_apart());
        assert!(Rows { pitch: 0, height: 1, ..shape }.is_apart());
        assert!(!Rows { pitch: usize::MAX, ..shape }.is_apart());
    }
}
