//! Sorting of rows.

use hip::{DeviceBuffer, DeviceSliceMut, Stream};

use crate::elementwise::info::{check_contiguous, check_devices, common_shape, operand};
use crate::elementwise::run;
use crate::error::{Error, Result, check_u32};
use crate::launch::MAX_BLOCK;
use crate::library::{Kernels, Names, names};
use crate::view::{View, ViewMut};
use crate::{Number, modules};

/// The longest row that a workgroup sorts, and the length of runs in longer rows: a power of two. Its indices
/// take 8 KiB of LDS, so that eight workgroups fit into a compute unit.
const RUN: usize = 2048;

/// Which end of a row comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the smallest to the largest number, then NaN.
    Ascending,
    /// NaN, then from the largest to the smallest number.
    Descending,
}

/// The kernels for an order: one sorts a run in a workgroup, the other merges runs.
fn kernels(order: Order) -> (&'static Names, &'static Names) {
    match order {
        Order::Ascending => (&names!("asort_runs_asc"), &names!("asort_merge_asc")),
        Order::Descending => (&names!("asort_runs_desc"), &names!("asort_merge_desc")),
    }
}

impl Kernels {
    /// The indices of each row's elements in order: `x[row, out[row, 0]]` comes first. Rows lie along the
    /// last dimension. Equal elements keep their order, including zeros of either sign.
    ///
    /// Rows of up to 2048 elements are sorted in LDS by a bitonic network. Longer ones are sorted in runs of
    /// that length, which are merged in pairs until one is left. This needs a second array of indices.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Length`] if `x` and `out` differ in shape, [`Error::NotContiguous`] of
    /// either, [`Error::Size`] without dimensions, or for rows or runs that cannot be counted in 32 bits;
    /// [`Error::Hip`].
    pub fn argsort<'a, T: Number>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<View<'a, T>>,
        order: Order,
        out: impl Into<ViewMut<'a, u32>>,
    ) -> Result<()> {
        let (x, out) = (x.into(), out.into());
        let operation = "argsort";
        let all = common_shape(operation, &[operand!(x), operand!(out)])?;
        check_contiguous(operation, operand!(x))?;
        check_contiguous(operation, operand!(out))?;
        check_devices(
            operation,
            self.device(),
            stream,
            &[("x", x.slice.device()), ("out", out.slice.device())],
        )?;
        let Some(&columns) = all.shape().last() else {
            return Err(Error::Size {
                operation,
                parameter: "rank",
                got: 0,
                problem: "must be at least 1: there are no rows to sort",
            });
        };
        if all.elements() == 0 {
            return Ok(());
        }
        let rows = all.elements() / columns;
        let columns_u32 = check_u32(operation, "columns", columns)?;
        let runs = columns.div_ceil(RUN);
        let groups = check_u32(operation, "rows times runs", rows.saturating_mul(runs))?;
        let run_length = columns.next_power_of_two().min(RUN);
        let (sort, merge) = kernels(order);
        let sort = self.of::<T>(&modules::SORT, sort)?;
        let (x, out) = (x.memory()?, out.into_memory()?);
        let sort_runs = |to: DeviceSliceMut<'_, u32>| {
            let launch = sort.launch(stream).grid(groups).block(block(run_length));
            let launch = launch.dynamic_lds(run_length as u32 * size_of::<u32>() as u32);
            let launch = launch.arg(x).arg(to).arg(columns_u32).arg(run_length as u32);
            // SAFETY: the workgroups sort rows * runs runs; each reads its part of x and writes the same part
            // of the target.
            unsafe { launch.enqueue() }
        };
        if runs == 1 {
            return Ok(sort_runs(out)?);
        }
        // Passes go from one array to the other, and the last one to `out`.
        let passes = runs.next_power_of_two().ilog2();
        let merge = self.of::<T>(&modules::SORT, merge)?;
        let mut other = DeviceBuffer::<u32>::uninit_on(stream, rows * columns)?;
        let (mut from, mut to) = (out, other.as_mut_slice());
        if passes % 2 == 1 {
            std::mem::swap(&mut from, &mut to);
        }
        sort_runs(from.reborrow())?;
        for pass in 0..passes {
            let launch = merge.launch(stream).arg(x).arg(from.as_slice()).arg(to.reborrow()).arg(rows as u64);
            let launch = launch.arg(columns_u32).arg((run_length as u32) << pass);
            // SAFETY: the kernel reads x and the source, which holds the column indices of each row, and
            // writes as many places of the target.
            unsafe { run(rows * columns, launch)? };
            std::mem::swap(&mut from, &mut to);
        }
        Ok(())
    }
}

/// Work-items that sort a run: one for each pair of elements, in whole waves, up to [`MAX_BLOCK`].
fn block(run: usize) -> u32 {
    (run as u32 / 2).next_multiple_of(64).clamp(64, MAX_BLOCK)
}
