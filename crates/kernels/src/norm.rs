//! Norms of rows and of groups of channels.

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::error::{Error, Result, check_counted, check_length, check_u32};
use crate::library::{Kernels, names};
use crate::reduce::{block, row_block, row_block_of, rows};
use crate::{Float, QuantVectors, modules};

/// The shape of a [group norm](Kernels::group_norm).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupNorm {
    /// Channels of each element of the batch.
    pub channels: usize,
    /// Groups of channels; a divisor of `channels`.
    pub groups: usize,
    /// Elements of each channel: height times width.
    pub spatial: usize,
    /// Added to the variance.
    pub eps: f32,
}

/// Checks that there is a weight for each column, if there are weights.
fn check_weights<T: Float<Compute = f32>>(
    operation: &'static str,
    buffer: &'static str,
    weights: Option<&DeviceSlice<'_, T>>,
    columns: usize,
) -> Result<()> {
    weights.map_or(Ok(()), |weights| check_length(operation, buffer, weights.len(), columns))
}

impl Kernels {
    /// `y = x / √(mean(x²) + eps) · alpha` of each row of `columns` elements, in f32 and rounded once.
    ///
    /// # Errors
    /// [`Error::Length`] if `x` and `y` differ in length or `alpha` does not have `columns` elements,
    /// [`Error::Size`] if `columns` is zero or does not divide that length; [`Error::Hip`].
    pub fn rms_norm<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        columns: usize,
        alpha: Option<DeviceSlice<'a, T>>,
        eps: f32,
        y: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let operation = "rms_norm";
        check_length(operation, "y", y.len(), x.len())?;
        check_weights(operation, "alpha", alpha.as_ref(), columns)?;
        let rows = rows(operation, x.len(), columns)?;
        let counted = check_counted(operation, "columns", columns)?;
        if rows == 0 {
            return Ok(());
        }
        let block = row_block::<T>(self.device(), columns);
        let launch =
            self.of::<T>(&modules::REDUCE, &names!("rmsnorm"))?.launch(stream).grid(rows).block(block);
        let launch = launch.arg(x).arg(y).arg(alpha).arg(counted).arg(block as i32).arg(eps);
        // SAFETY: workgroup r reads x[r*columns..][..columns] and writes the same of y; both have
        // rows*columns elements, `alpha` has columns.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// `y = (x - mean) / √(variance + eps) · alpha + beta` of each row of `columns` elements, in f32 and
    /// rounded once.
    ///
    /// # Errors
    /// As [`rms_norm`](Self::rms_norm).
    #[expect(clippy::too_many_arguments, reason = "a norm has this many")]
    pub fn layer_norm<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        columns: usize,
        alpha: Option<DeviceSlice<'a, T>>,
        beta: Option<DeviceSlice<'a, T>>,
        eps: f32,
        y: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let operation = "layer_norm";
        check_length(operation, "y", y.len(), x.len())?;
        check_weights(operation, "alpha", alpha.as_ref(), columns)?;
        check_weights(operation, "beta", beta.as_ref(), columns)?;
        let rows = rows(operation, x.len(), columns)?;
        let counted = check_counted(operation, "columns", columns)?;
        if rows == 0 {
            return Ok(());
        }
        let block = row_block::<T>(self.device(), columns);
        let launch =
            self.of::<T>(&modules::REDUCE, &names!("layernorm"))?.launch(stream).grid(rows).block(block);
        let launch = launch.arg(x).arg(y).arg(alpha).arg(beta).arg(counted).arg(block as i32).arg(eps);
        // SAFETY: as for `rms_norm`; `beta` has columns, too.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// The residual stream of a transformer: `residual = x + residual`, rounded, and `y = residual /
    /// √(mean(residual²) + eps) · alpha`, of each row of `columns` elements. The results are those of an
    /// addition and an [`rms_norm`](Self::rms_norm), with one pass over memory less.
    ///
    /// # Errors
    /// As [`rms_norm`](Self::rms_norm), and [`Error::Length`] if `residual` has another length than `x`.
    #[expect(clippy::too_many_arguments, reason = "two operations have this many")]
    pub fn add_rms_norm<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        residual: impl Into<DeviceSliceMut<'a, T>>,
        columns: usize,
        alpha: Option<DeviceSlice<'a, T>>,
        eps: f32,
        y: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, residual, y) = (x.into(), residual.into(), y.into());
        let operation = "add_rms_norm";
        check_length(operation, "residual", residual.len(), x.len())?;
        check_length(operation, "y", y.len(), x.len())?;
        check_weights(operation, "alpha", alpha.as_ref(), columns)?;
        let rows = rows(operation, x.len(), columns)?;
        if rows == 0 {
            return Ok(());
        }
        let launch = self
            .of::<T>(&modules::NORM, &names!("add_rmsnorm"))?
            .launch(stream)
            .grid(rows)
            .block(block(columns));
        // the residual is both read and written
        let read = residual.address();
        let launch = launch.arg(x).arg(read).arg(alpha).arg(residual).arg(y).arg(columns).arg(eps);
        // SAFETY: workgroup r reads and writes elements r*columns..(r+1)*columns of all three, which have
        // rows*columns; each thread reads an element of `residual` before it writes it. The borrow of
        // `residual` is held by the launch.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// [`add_rms_norm`](Self::add_rms_norm), or without `x` the norm of `residual` alone, whose results are
    /// quantised as well, as [`quantize`](Self::quantize) does it. Rows are as long as the vectors.
    ///
    /// # Errors
    /// [`Error::Length`] unless `residual`, `x` and `y` have the elements of all vectors, and `alpha` those
    /// of one; [`Error::Hip`].
    #[expect(clippy::too_many_arguments, reason = "three operations have this many")]
    pub fn add_rms_norm_quantized<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: Option<DeviceSlice<'a, T>>,
        residual: impl Into<DeviceSliceMut<'a, T>>,
        alpha: Option<DeviceSlice<'a, T>>,
        eps: f32,
        y: impl Into<DeviceSliceMut<'a, T>>,
        blocks: &'a mut QuantVectors,
    ) -> Result<()> {
        /// Bytes that a work-item has at a time.
        const PACK: usize = 16;
        let (residual, y) = (residual.into(), y.into());
        let operation = "add_rms_norm_quantized";
        let (vectors, columns) = (blocks.vectors(), blocks.columns());
        let elements = vectors.saturating_mul(columns);
        check_length(operation, "residual", residual.len(), elements)?;
        check_length(operation, "y", y.len(), elements)?;
        x.as_ref().map_or(Ok(()), |x| check_length(operation, "x", x.len(), elements))?;
        check_weights(operation, "alpha", alpha.as_ref(), columns)?;
        if elements == 0 {
            return Ok(());
        }
        let grid = check_u32(operation, "vectors", vectors)?;
        let launch = self
            .of::<T>(&modules::NORM, &names!("add_rmsnorm_q8_1"))?
            .launch(stream)
            .grid(grid)
            .block(row_block_of(columns, PACK / size_of::<T>()));
        // the residual is both read and written
        let read = residual.address();
        let launch = launch.arg(x).arg(read).arg(alpha).arg(residual).arg(y).arg(blocks.blocks_mut());
        let launch = launch.arg(columns).arg(eps);
        // SAFETY: workgroup r accesses row r of all, of `columns` elements, a multiple of 32, and as many
        // blocks; each thread reads an element of `residual` before it writes it. The borrow of `residual` is
        // held by the launch.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// `y = x / max(√(Σx²), eps)` of each row of `columns` elements: rows of length 1.
    ///
    /// # Errors
    /// [`Error::Length`] if `x` and `y` differ in length, [`Error::Size`] if `columns` is zero or does not
    /// divide that length; [`Error::Hip`].
    pub fn l2_norm<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<DeviceSlice<'a, T>>,
        columns: usize,
        eps: f32,
        y: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let operation = "l2_norm";
        check_length(operation, "y", y.len(), x.len())?;
        let rows = rows(operation, x.len(), columns)?;
        if rows == 0 {
            return Ok(());
        }
        let launch = self
            .of::<T>(&modules::NORM, &names!("l2norm"))?
            .launch(stream)
            .grid(rows)
            .block(row_block::<T>(self.device(), columns));
        let launch = launch.arg(x).arg(y).arg(columns).arg(eps);
        // SAFETY: workgroup r reads x[r*columns..][..columns] and writes the same of y; both have
        // rows*columns elements.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// `y = (x - mean) / √(variance + eps) · alpha + beta`, with the mean and variance of each group of
    /// channels of each element of a batch. `x` and `y` are batch × channels × spatial; `alpha` and `beta`
    /// have a number for each channel.
    ///
    /// # Errors
    /// [`Error::Length`] if `x` and `y` differ in length or a weight does not have `channels` elements,
    /// [`Error::Size`] if `channels` or `spatial` is zero, `groups` does not divide `channels`, or `channels *
    /// spatial` does not divide the length; [`Error::Hip`].
    pub fn group_norm<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        shape: &GroupNorm,
        x: impl Into<DeviceSlice<'a, T>>,
        alpha: Option<DeviceSlice<'a, T>>,
        beta: Option<DeviceSlice<'a, T>>,
        y: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let operation = "group_norm";
        let &GroupNorm { channels, groups, spatial, eps } = shape;
        check_length(operation, "y", y.len(), x.len())?;
        check_weights(operation, "alpha", alpha.as_ref(), channels)?;
        check_weights(operation, "beta", beta.as_ref(), channels)?;
        if groups == 0 || channels % groups != 0 {
            let problem = "must be at least 1 and divide the number of channels";
            return Err(Error::Size { operation, parameter: "groups", got: groups, problem });
        }
        let each = channels.checked_mul(spatial).filter(|&each| each > 0 && x.len() % each == 0);
        let Some(each) = each else {
            let problem = "times the channels must be at least 1 and divide the number of elements";
            return Err(Error::Size { operation, parameter: "spatial", got: spatial, problem });
        };
        let workgroups = check_u32(operation, "batch times groups", x.len() / each * groups)?;
        let (wide_channels, wide_groups) =
            (check_u32(operation, "channels", channels)?, check_u32(operation, "groups", groups)?);
        if workgroups == 0 {
            return Ok(());
        }
        let launch = self
            .of::<T>(&modules::NORM, &names!("groupnorm"))?
            .launch(stream)
            .grid(workgroups)
            .block(block(each / groups));
        let launch = launch
            .arg(x)
            .arg(y)
            .arg(alpha)
            .arg(beta)
            .arg(wide_channels)
            .arg(wide_groups)
            .arg(spatial)
            .arg(eps);
        // SAFETY: workgroup b reads and writes the elements of one group, of which there are batch*groups;
        // channels are below `channels`.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}
