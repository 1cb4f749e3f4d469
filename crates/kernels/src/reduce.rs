//! Reductions and softmax.

use half::{bf16, f16};
use hip::{Device, DeviceAddress, DeviceCopy, DeviceSlice, DeviceSliceMut, Stream};

use crate::error::{Error, Result, check_counted, check_length, check_u32};
use crate::launch::whole_waves;
use crate::library::{Kernels, Names, names};
use crate::{Float, Number, modules, nvidia};

/// Block sizes are multiples of the largest wave, so that every wave is full on every device.
const WAVE: u32 = 64;

/// How the elements of a group are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the operations' names")]
pub enum ReduceOp {
    /// In f32, in no fixed order.
    Sum,
    /// NaN if any element is.
    Max,
    /// NaN if any element is.
    Min,
}

/// A type for which [`Kernels::argmax`] and [`Kernels::argmin`] exist: f32, f16, bf16, f64, u8, u32 and i64.
///
/// ```compile_fail,E0277
/// fn reduces<T: kernels::ReduceElement>() {}
/// reduces::<kernels::F8E4M3>();
/// ```
pub trait ReduceElement: Number {}
macro_rules! reduce_elements {
    ($($type:ident),*) => { $(impl ReduceElement for $type {})* };
}
reduce_elements!(f32, f16, bf16, f64, u8, u32, i64);

/// Work-items for groups of `elements`.
pub(crate) fn block(elements: usize) -> u32 {
    whole_waves(WAVE, elements)
}

/// Work-items for a row of `T` that a kernel reads several times: 16 elements of it for each, as many as stay
/// in registers, if there are not too many. On NVIDIA's GPUs, 32 bytes: two accesses.
pub(crate) fn row_block<T>(device: &Device, columns: usize) -> u32 {
    const ELEMENTS: usize = 16;
    const BYTES: usize = 32;
    let each = if nvidia::is_nvidia(device) { BYTES / size_of::<T>() } else { ELEMENTS };
    row_block_of(columns, each)
}

/// Work-items for a row of which each has so many elements, if there are not too many.
pub(crate) fn row_block_of(columns: usize, each: usize) -> u32 {
    const MOST: u32 = 1024;
    let wanted = u32::try_from(columns.div_ceil(each)).unwrap_or(MOST).clamp(1, MOST);
    wanted.next_multiple_of(WAVE)
}

/// How many rows of `columns` elements there are; the number of workgroups, each for one.
pub(crate) fn rows(operation: &'static str, elements: usize, columns: usize) -> Result<u32> {
    if columns == 0 || !elements.is_multiple_of(columns) {
        let problem = "must be at least 1 and divide the number of elements";
        return Err(Error::Size { operation, parameter: "columns", got: columns, problem });
    }
    check_u32(operation, "rows", elements / columns)
}

impl Kernels {
    /// Combines every `group` consecutive elements of `x` into one element of `out`; the last group may be
    /// shorter.
    ///
    /// # Errors
    /// [`Error::Length`] unless `out` has one element per group, [`Error::Size`] if `group` is zero;
    /// [`Error::Hip`].
    pub fn reduce<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        op: ReduceOp,
        x: impl Into<DeviceSlice<'a, T>>,
        group: usize,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let names = match op {
            ReduceOp::Sum => names!("fast_sum"),
            ReduceOp::Max => names!("reduce_max"),
            ReduceOp::Min => names!("reduce_min"),
        };
        self.by_groups("reduce", &names, stream, x.into(), group, out.into())
    }

    /// The index of the largest of every `group` consecutive elements of `x`; of equal ones, the first. The
    /// last group may be shorter. The search begins at the group's first element: a NaN there is the result;
    /// a NaN elsewhere is ignored.
    ///
    /// # Errors
    /// [`Error::Length`] unless `out` has one index per group, [`Error::Size`] if `group` is zero or groups
    /// have more than 2³² − 1 elements; [`Error::Hip`].
    pub fn argmax<'a, T: ReduceElement>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        group: usize,
        out: impl Into<DeviceSliceMut<'a, u32>>,
    ) -> Result<()> {
        self.arg_extreme(stream, "argmax", &names!("fast_argmax"), x.into(), group, out.into())
    }

    /// As [`argmax`](Self::argmax), for the smallest element.
    ///
    /// # Errors
    /// As there.
    pub fn argmin<'a, T: ReduceElement>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        group: usize,
        out: impl Into<DeviceSliceMut<'a, u32>>,
    ) -> Result<()> {
        self.arg_extreme(stream, "argmin", &names!("fast_argmin"), x.into(), group, out.into())
    }

    fn arg_extreme<'a, T: ReduceElement>(
        &'a self,
        stream: &'a Stream,
        operation: &'static str,
        names: &Names,
        x: DeviceSlice<'a, T>,
        group: usize,
        out: DeviceSliceMut<'a, u32>,
    ) -> Result<()> {
        // A group is no longer than the tensor, and indices in it have 32 bits.
        let group = group.min(x.len().max(1));
        check_u32(operation, "group", group)?;
        self.by_groups(operation, names, stream, x, group, out)
    }

    /// `names` are kernels that compute one element of `out` from each group.
    fn by_groups<'a, T: Number, O: DeviceCopy>(
        &'a self,
        operation: &'static str,
        names: &Names,
        stream: &'a Stream,
        x: DeviceSlice<'a, T>,
        group: usize,
        out: DeviceSliceMut<'a, O>,
    ) -> Result<()> {
        if group == 0 {
            return Err(Error::Size { operation, parameter: "group", got: 0, problem: "must be at least 1" });
        }
        let groups = x.len().div_ceil(group);
        check_length(operation, "out", out.len(), groups)?;
        if groups == 0 {
            return Ok(());
        }
        let launch = self
            .of::<T>(&modules::REDUCE, names)?
            .launch(stream)
            .grid(check_u32(operation, "groups", groups)?)
            .block(block(group))
            .arg(x.len() as u64)
            .arg(group as u64)
            .arg(1_u64)
            .arg(DeviceAddress(0))
            .arg(x)
            .arg(out);
        // SAFETY: workgroup b reads x[b*group .. min((b+1)*group, numel)] and writes out[b]; `out` has an
        // element for each.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// Softmax of each row of `columns` elements, computed in f32.
    ///
    /// # Errors
    /// [`Error::Length`] if `x` and `y` differ in length, [`Error::Size`] if `columns` is zero or does not
    /// divide that length; [`Error::Hip`].
    pub fn softmax<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        columns: usize,
        y: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let operation = "softmax";
        check_length(operation, "y", y.len(), x.len())?;
        let rows = rows(operation, x.len(), columns)?;
        if rows == 0 {
            return Ok(());
        }
        let launch = self
            .of::<T>(&modules::REDUCE, &names!("softmax"))?
            .launch(stream)
            .grid(rows)
            .block(row_block::<T>(self.device(), columns))
            .arg(x)
            .arg(y)
            .arg(check_counted(operation, "columns", columns)?);
        // SAFETY: workgroup r reads x[r*columns..][..columns] and writes the same of y; both have
        // rows*columns elements.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_waves_for_groups_of_any_size() {
        for (elements, expected) in
            [(0, 64), (1, 64), (64, 64), (65, 128), (256, 256), (257, 256), (usize::MAX, 256)]
        {
            assert_eq!(block(elements), expected, "{elements}");
        }
    }

    #[test]
    fn rows_have_some_elements_for_each_work_item() {
        for (columns, each, expected) in [
            (1, 16, 64),
            (1024, 16, 64),
            (1024, 8, 128),
            (1025, 16, 128),
            (4096, 16, 256),
            (16_384, 16, 1024),
            (32_000, 16, 1024),
            (usize::MAX, 8, 1024),
        ] {
            assert_eq!(row_block_of(columns, each), expected, "{columns} {each}");
        }
    }
}
