//! Copies between layouts: transposing, permuting, joining, changing the row pitch.

use hip::{DeviceCopy, DeviceSlice, DeviceSliceMut, Stream};

use crate::elementwise::info::{Info, check_devices, collapse, common_shape, operand};
use crate::elementwise::{grid, run};
use crate::error::{Error, Result};
use crate::library::{Kernels, names};
use crate::view::{Layout, View, ViewMut};
use crate::{Element, modules};

/// Rows and columns of a tile, and the work-items for one.
const TILE: usize = 32;
const TILE_BLOCK: u32 = 256;
/// The maximum number of tiles of a row, tiles of a column, and matrices: the dimensions of a grid. Larger
/// copies are done element by element.
const MOST_TILES: [usize; 3] = [u32::MAX as usize / TILE_BLOCK as usize, 65_535, 65_535];
/// Matrices with fewer rows or columns are copied element by element: most of a tile would be empty.
const LEAST_SIDE: usize = 16;

/// Matrices that are transposed: `to[column, row] = from[row, column]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transposition {
    rows: usize,
    columns: usize,
    from_row: usize,
    to_row: usize,
    matrices: usize,
    from_matrix: usize,
    to_matrix: usize,
}

impl Transposition {
    /// Recognises a copy that transposes: elements are contiguous along one axis in the source and along
    /// another in the target, and there is at most one more axis.
    fn of(from: &Layout, to: &Layout) -> Option<Self> {
        let axes: Vec<usize> = (0..from.rank()).filter(|&axis| from.shape()[axis] != 1).collect();
        let next = |layout: &Layout| axes.iter().copied().find(|&axis| layout.strides()[axis] == 1);
        let (along, across) = (next(from)?, next(to)?);
        let (columns, rows) = (from.shape()[along], from.shape()[across]);
        if along == across || axes.len() > 3 || columns.min(rows) < LEAST_SIDE {
            return None;
        }
        let third = axes.iter().copied().find(|&axis| axis != along && axis != across);
        let matrices = third.map_or(1, |axis| from.shape()[axis]);
        let tiles = [columns.div_ceil(TILE), rows.div_ceil(TILE), matrices];
        if tiles.iter().zip(MOST_TILES).any(|(&tiles, most)| tiles > most) {
            return None;
        }
        let of_third = |layout: &Layout| third.map_or(0, |axis| layout.strides()[axis]);
        Some(Self {
            rows,
            columns,
            from_row: from.strides()[across],
            to_row: to.strides()[along],
            matrices,
            from_matrix: of_third(from),
            to_matrix: of_third(to),
        })
    }
}

/// Rows of consecutive elements on both sides, and the distances between their beginnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rows {
    rows: u32,
    columns: u32,
    from_row: u32,
    to_row: u32,
}

impl Rows {
    /// Recognises a copy of such rows for which 32 bits are enough.
    fn of(from: &Layout, to: &Layout) -> Option<Self> {
        let (rows, columns, from_row, to_row) = match collapse(&[from, to]) {
            None => (1, from.elements() as u64, 0, 0),
            Some((2, dims)) => match dims[..] {
                [rows, columns, from_row, 1, to_row, 1] => (rows, columns, from_row, to_row),
                _ => return None,
            },
            Some(_) => return None,
        };
        let small = |n: u64| u32::try_from(n).ok();
        Some(Self {
            rows: small(rows)?,
            columns: small(columns)?,
            from_row: small(from_row)?,
            to_row: small(to_row)?,
        })
    }
}

/// Kernel names by the size of elements, in the order of 1, 2, 4 and 8 bytes.
const TRANSPOSE: [&str; 4] = ["transpose_b8", "transpose_b16", "transpose_b32", "transpose_b64"];
const STRIDED: [&str; 4] = ["copy_strided_b8", "copy_strided_b16", "copy_strided_b32", "copy_strided_b64"];

impl Kernels {
    /// `y = x` for any layouts. A transposition moves tiles of matrices through LDS, so that both tensors are
    /// accessed row by row. Rows of consecutive elements are copied 16 bytes at a time if their alignment
    /// allows it.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Shape`] if `x` and `y` differ in shape; [`Error::Hip`].
    pub fn copy_strided<'a, T: Element>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<View<'a, T>>,
        y: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        self.copy_layouts("copy_strided", stream, x.into(), y.into())
    }

    /// Copies a matrix of `rows` and `columns` whose rows begin `x_pitch` elements apart in `x`, and
    /// `y_pitch` in `y`. Elements between the rows of `y` are unchanged. The rows of `x` may overlap; with a
    /// pitch of zero, all are the same row.
    ///
    /// # Errors
    /// [`Error::Layout`] if the matrix exceeds either buffer, its elements cannot be addressed, or the rows
    /// of `y` overlap; [`Error::Hip`].
    #[doc(alias = "memcpy2d")]
    pub fn copy2d<'a, T: Element>(
        &'a self,
        stream: &'a Stream,
        [rows, columns]: [usize; 2],
        x: impl Into<DeviceSlice<'a, T>>,
        x_pitch: usize,
        y: impl Into<DeviceSliceMut<'a, T>>,
        y_pitch: usize,
    ) -> Result<()> {
        let matrix = |pitch| Layout::with_strides(&[rows, columns], &[pitch, 1], 0);
        let (x, y) = (View::new(x, matrix(x_pitch)?)?, ViewMut::new(y, matrix(y_pitch)?)?);
        self.copy_layouts("copy2d", stream, x, y)
    }

    /// Joins tensors along an axis, one after the other.
    ///
    /// # Errors
    /// [`Error::Layout`] if `out` does not have the axis, [`Error::Shape`] if a part differs from `out` in
    /// another axis, or the parts do not have as many elements as `out` along this one; [`Error::Hip`].
    pub fn concat<T: Element>(
        &self,
        stream: &Stream,
        axis: usize,
        parts: &[View<'_, T>],
        out: ViewMut<'_, T>,
    ) -> Result<()> {
        let operation = "concat";
        let mut out = out;
        let layout = *out.layout();
        let mut start = 0_usize;
        let mut places = Vec::with_capacity(parts.len());
        for part in parts {
            let got = part.layout().shape();
            let mut expected = layout.shape().to_vec();
            let extent = got.get(axis).copied().unwrap_or(0);
            let Some(along) = expected.get_mut(axis) else {
                return Err(crate::LayoutError::Axis { axis, rank: layout.rank() }.into());
            };
            *along = extent;
            if got != expected {
                return Err(Error::Shape {
                    operation,
                    buffer: "parts",
                    expected: expected.into(),
                    got: got.into(),
                });
            }
            places.push(layout.narrow(axis, start, extent)?);
            start += extent;
        }
        let whole = layout.shape().get(axis).copied();
        if whole != Some(start) {
            let mut expected = layout.shape().to_vec();
            if let Some(along) = expected.get_mut(axis) {
                *along = start;
            }
            return Err(Error::Shape {
                operation,
                buffer: "out",
                expected: expected.into(),
                got: layout.shape().into(),
            });
        }
        let memory: Vec<_> = parts.iter().map(|part| ("parts", part.slice.device())).collect();
        check_devices(operation, self.device(), stream, &memory)?;
        for (part, place) in parts.iter().zip(places) {
            let to = ViewMut::new(out.slice.slice_mut(..)?, place)?;
            self.copy_layouts(operation, stream, *part, to)?;
        }
        Ok(())
    }

    fn copy_layouts<'a, T: Element>(
        &'a self,
        operation: &'static str,
        stream: &'a Stream,
        x: View<'a, T>,
        y: ViewMut<'a, T>,
    ) -> Result<()> {
        let all = common_shape(operation, &[operand!(x), operand!(y)])?;
        check_devices(operation, self.device(), stream, &[("x", x.slice.device()), ("y", y.slice.device())])?;
        if all.elements() == 0 {
            return Ok(());
        }
        let (from, to) = (if x.flat { all } else { x.layout }, if y.flat { all } else { y.layout });
        if let Some(rows) = Rows::of(&from, &to) {
            let (x, y) = (x.carried()?.memory()?, y.carried()?.into_memory()?);
            let kernel = self.of::<T::Carrier>(&modules::FILL, &names!("copy2d"))?;
            let launch = kernel.launch(stream).arg(x).arg(y).arg(rows.rows).arg(rows.columns);
            let launch = launch.arg(rows.from_row).arg(rows.to_row);
            // SAFETY: the places are those of the two layouts, whose elements lie in the memory.
            return unsafe { run(all.elements(), launch) };
        }
        let info = Info::new(stream, &all, &[operand!(x), operand!(y)])?;
        let what = (all.elements(), Transposition::of(&from, &to), &info);
        let (x, y) = (x.memory()?, y.into_memory()?);
        match size_of::<T>() {
            1 => self.copy_words::<u8>(stream, 0, what, x.cast()?, y.cast_mut()?),
            2 => self.copy_words::<u16>(stream, 1, what, x.cast()?, y.cast_mut()?),
            4 => self.copy_words::<u32>(stream, 2, what, x.cast()?, y.cast_mut()?),
            _ => self.copy_words::<u64>(stream, 3, what, x.cast()?, y.cast_mut()?),
        }
    }

    fn copy_words<W: DeviceCopy>(
        &self,
        stream: &Stream,
        size: usize,
        (elements, transposition, info): (usize, Option<Transposition>, &Info),
        x: DeviceSlice<'_, W>,
        y: DeviceSliceMut<'_, W>,
    ) -> Result<()> {
        if let Some(t) = transposition {
            let tiles = |extent: usize| extent.div_ceil(TILE) as u32;
            let grid = (tiles(t.columns), tiles(t.rows), t.matrices as u32);
            let function = self.function(&modules::COPY, TRANSPOSE[size])?;
            let launch =
                function.launch(stream).grid(grid).block(TILE_BLOCK).arg(x).arg(y).arg(t.rows).arg(t.columns);
            let launch = launch.arg(t.from_row).arg(t.to_row).arg(t.from_matrix).arg(t.to_matrix);
            // SAFETY: the places are those of the two layouts, whose elements lie in the memory.
            unsafe { launch.enqueue()? };
        } else {
            let launch = self.function(&modules::COPY, STRIDED[size])?.launch(stream).config(grid(elements));
            let launch = info.pass(launch.arg(elements)).arg(x).arg(y);
            // SAFETY: as above.
            unsafe { launch.enqueue()? };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_recognised() {
        let layout = |shape: &[usize], strides: &[usize]| Layout::with_strides(shape, strides, 3).unwrap();
        let rows = |rows, columns, from_row, to_row| Some(Rows { rows, columns, from_row, to_row });
        let contiguous = Layout::contiguous(&[4, 6]).unwrap();
        assert_eq!(Rows::of(&layout(&[4, 6], &[9, 1]), &contiguous), rows(4, 6, 9, 6));
        assert_eq!(
            Rows::of(&layout(&[2, 2, 6], &[18, 9, 1]), &layout(&[2, 2, 6], &[14, 7, 1])),
            rows(4, 6, 9, 7)
        );
        assert_eq!(Rows::of(&layout(&[4, 6], &[0, 1]), &contiguous), rows(4, 6, 0, 6));
        assert_eq!(Rows::of(&contiguous, &contiguous), rows(1, 24, 0, 0));
        assert_eq!(Rows::of(&layout(&[4, 6], &[1, 4]), &contiguous), None);
        assert_eq!(Rows::of(&layout(&[4, 6], &[12, 2]), &contiguous), None);
        assert_eq!(
            Rows::of(&layout(&[2, 2, 6], &[40, 9, 1]), &Layout::contiguous(&[2, 2, 6]).unwrap()),
            None
        );
        let huge = layout(&[2, 6], &[1 << 32, 1]);
        assert_eq!(Rows::of(&huge, &layout(&[2, 6], &[6, 1])), None, "a pitch of more than 32 bits");
    }

    #[test]
    fn transpositions_are_recognised() {
        let contiguous = |shape: &[usize]| Layout::contiguous(shape).unwrap();
        let of = |from: Layout, to: Layout| Transposition::of(&from, &to);
        let matrix = contiguous(&[40, 30]);
        let transposed = contiguous(&[30, 40]).transpose(0, 1).unwrap();
        let expected = Transposition {
            rows: 40,
            columns: 30,
            from_row: 30,
            to_row: 40,
            matrices: 1,
            from_matrix: 0,
            to_matrix: 0,
        };
        assert_eq!(of(matrix, transposed), Some(expected));
        assert_eq!(of(transposed, matrix).map(|t| (t.rows, t.columns)), Some((30, 40)));
        assert_eq!(of(matrix, matrix), None, "nothing changes");
        let heads = contiguous(&[2, 1, 40, 30]).transpose(2, 3).unwrap();
        let of_heads = of(heads, contiguous(&[2, 1, 30, 40])).unwrap();
        assert_eq!((of_heads.matrices, of_heads.from_matrix, of_heads.to_matrix), (2, 1200, 1200));
        assert_eq!(
            of(contiguous(&[40, 8]), contiguous(&[8, 40]).transpose(0, 1).unwrap()),
            None,
            "too narrow"
        );
        let grid_of = |matrices, rows, columns| {
            let from = contiguous(&[matrices, rows, columns]).transpose(1, 2).unwrap();
            of(from, contiguous(&[matrices, columns, rows])).map(|t| (t.matrices, t.rows, t.columns))
        };
        let widest = (u32::MAX as usize / 256) * 32;
        for fits in [(65_535, 16, 16), (2, 65_535 * 32, 16), (2, 16, widest)] {
            assert_eq!(grid_of(fits.0, fits.1, fits.2), Some(fits));
        }
        for beyond in [(65_536, 16, 16), (2, 65_535 * 32 + 1, 16), (2, 16, widest + 1)] {
            assert_eq!(grid_of(beyond.0, beyond.1, beyond.2), None, "{beyond:?} does not fit into a grid");
        }
        let four = contiguous(&[2, 3, 40, 30]);
        assert_eq!(of(four.transpose(2, 3).unwrap(), contiguous(&[2, 3, 30, 40])), None, "two more axes");
    }
}
