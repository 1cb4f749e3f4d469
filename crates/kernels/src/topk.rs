//! The largest elements of rows.

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::error::{Error, Result, check_length, check_u32};
use crate::library::{Kernels, names};
use crate::reduce::rows;
use crate::{Float, modules};

/// The maximum number of elements that [`Kernels::top_k`] finds in a row: `MOST` of `kernels/topk.cu`.
pub const MOST_TOP_K: usize = 256;
/// Work-items for a row: rows are usually few and long.
pub(crate) const ROW_BLOCK: u32 = 1024;

/// Work-items for a row of this many elements.
pub(crate) fn row_block(columns: usize) -> u32 {
    // a multiple of the largest wave
    columns.min(ROW_BLOCK as usize).next_multiple_of(64) as u32
}

impl Kernels {
    /// The `k` largest elements of each row of `columns` elements, sorted in descending order, and their
    /// columns. A NaN counts as larger than every number; of equal elements, the first come first.
    ///
    /// # Errors
    /// [`Error::Size`] if `columns` is zero or does not divide `x`, or `k` is zero or more than `columns` or
    /// [`MOST_TOP_K`]; [`Error::Length`] unless each result has `k` elements for each row; [`Error::Hip`].
    pub fn top_k<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        columns: usize,
        k: usize,
        values: impl Into<DeviceSliceMut<'a, T>>,
        indices: impl Into<DeviceSliceMut<'a, u32>>,
    ) -> Result<()> {
        let (x, values, indices) = (x.into(), values.into(), indices.into());
        let operation = "top_k";
        let rows = rows(operation, x.len(), columns)?;
        check_u32(operation, "columns", columns)?;
        if k == 0 || k > columns.min(MOST_TOP_K) {
            let problem = "must be from 1 to 256, and at most the columns of a row";
            return Err(Error::Size { operation, parameter: "k", got: k, problem });
        }
        check_length(operation, "values", values.len(), rows as usize * k)?;
        check_length(operation, "indices", indices.len(), rows as usize * k)?;
        if rows == 0 {
            return Ok(());
        }
        let function = self.of::<T>(&modules::TOPK, &names!("topk"))?;
        let launch = function.launch(stream).grid(rows).block(row_block(columns));
        let launch = launch.arg(x).arg(columns).arg(k as u32).arg(values).arg(indices);
        // SAFETY: workgroup r reads row r of x and writes k elements of each result.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}
