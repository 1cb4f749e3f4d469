//! Routing of tokens to experts.

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::error::{Error, Result, check_length, check_u32};
use crate::launch::MAX_GRID;
use crate::library::{Kernels, names};
use crate::reduce::rows;
use crate::topk::row_block;
use crate::{Float, modules};

/// The most experts that [`Kernels::moe_gate`] chooses from.
pub const MOST_EXPERTS: usize = 1024;
/// The most experts that it chooses for a token.
pub const MOST_CHOICES: usize = 32;
/// Work-items of a workgroup: warps, each for a token.
const BLOCK: u32 = 128;
const WARPS: usize = 4;

impl Kernels {
    /// The `k` experts with the largest logits of each token, from the largest on, and their weights: the softmax of the token's logits, over
    /// the sum of the `k` if `renormalise`. `logits` has a row of `experts` elements for each token; `weights` and `ids` have `k`.
    ///
    /// Of equal logits the first come first. A NaN counts as larger than every number, so that ids are always different experts.
    ///
    /// # Errors
    /// [`Error::Size`] if `experts` is zero, more than [`MOST_EXPERTS`] or does not divide `logits`, or `k` is zero, or more than `experts` or
    /// [`MOST_CHOICES`]; [`Error::Length`] if a result has not `k` elements for each token; [`Error::Hip`].
    #[expect(clippy::too_many_arguments, reason = "three tensors, their shape and a switch")]
    pub fn moe_gate<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        logits: impl Into<DeviceSlice<'a, T>>,
        experts: usize,
        k: usize,
        renormalise: bool,
        weights: impl Into<DeviceSliceMut<'a, f32>>,
        ids: impl Into<DeviceSliceMut<'a, u32>>,
    ) -> Result<()> {
        let (logits, weights, ids) = (logits.into(), weights.into(), ids.into());
        let operation = "moe_gate";
        if experts > MOST_EXPERTS {
            return Err(Error::Size {
                operation,
                parameter: "experts",
                got: experts,
                problem: "more than 1024",
            });
        }
        let tokens = rows(operation, logits.len(), experts)? as usize;
        if k == 0 || k > experts.min(MOST_CHOICES) {
            let problem = "must be from 1 to the number of experts and 32";
            return Err(Error::Size { operation, parameter: "k", got: k, problem });
        }
        check_length(operation, "weights", weights.len(), tokens * k)?;
        check_length(operation, "ids", ids.len(), tokens * k)?;
        if tokens == 0 {
            return Ok(());
        }
        let grid = tokens.div_ceil(WARPS).min(MAX_GRID as usize) as u32;
        let launch = self.of::<T>(&modules::MOE, &names!("moe_gate"))?.launch(stream).grid(grid).block(BLOCK);
        let launch = launch.arg(logits).arg(tokens).arg(experts as u32).arg(k as u32);
        let launch = launch.arg(u32::from(renormalise)).arg(weights).arg(ids);
        // SAFETY: a warp reads the row of a token and writes k elements of each result.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// Sorts pairs of token and expert by experts. Pair p is element p of `ids`; `counts` has an element for each expert: how many pairs there
    /// are; `offsets` one more: where each expert's pairs begin in `permutation`, and where they all end. `permutation` receives the numbers of
    /// the pairs, each expert's in order. Ids that are no experts are left out, and the end of `permutation` is then [`u32::MAX`].
    ///
    /// # Errors
    /// [`Error::Length`] if `offsets` has not one element more than `counts`, or `permutation` not as many as `ids`; [`Error::Size`] if there
    /// are more than 2³² - 2 pairs or experts; [`Error::Hip`].
    pub fn moe_sort<'a>(
        &'a self,
        stream: &'a Stream,
        ids: impl Into<DeviceSlice<'a, u32>>,
        counts: impl Into<DeviceSliceMut<'a, u32>>,
        offsets: impl Into<DeviceSliceMut<'a, u32>>,
        permutation: impl Into<DeviceSliceMut<'a, u32>>,
    ) -> Result<()> {
        let (ids, counts, offsets, permutation) =
            (ids.into(), counts.into(), offsets.into(), permutation.into());
        let operation = "moe_sort";
        let (pairs, experts) = (ids.len(), counts.len());
        check_length(operation, "offsets", offsets.len(), experts.saturating_add(1))?;
        check_length(operation, "permutation", permutation.len(), pairs)?;
        check_u32(operation, "pairs", pairs.saturating_add(1))?;
        let workgroups = check_u32(operation, "experts", experts.saturating_add(1))?;
        let function = self.function(&modules::MOE, "moe_sort")?;
        let launch = function.launch(stream).grid(workgroups).block(row_block(pairs.max(1)));
        let launch = launch.arg(ids).arg(pairs).arg(workgroups - 1).arg(counts).arg(offsets).arg(permutation);
        // SAFETY: the kernel reads pairs ids, and writes the numbers of pairs to as many places, below the sum of all counts.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}
