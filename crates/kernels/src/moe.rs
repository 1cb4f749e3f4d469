//! Routing of tokens to experts.

mod gate;
mod permute;

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::elementwise::info::check_devices;
use crate::error::{Result, check_length, check_u32};
use crate::library::Kernels;
use crate::modules;
use crate::topk::row_block;

pub use gate::{
    ExpertGroups, GateScores, GroupScore, MOST_CHOICES, MOST_EXPERT_GROUPS, MOST_EXPERTS, MoeGate,
};

/// What [`Kernels::sort_pairs`] does with pairs whose id is not an expert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strangers {
    /// They are left out.
    LeftOut,
    /// They follow all others.
    Last,
}

impl Kernels {
    /// Sorts pairs of token and expert by experts. Pair p is element p of `ids`; `counts` has an element for
    /// each expert: its number of pairs. `offsets` has one more: where each expert's pairs begin in
    /// `permutation`, and where the last ones end. `permutation` receives the numbers of the pairs, in order
    /// for each expert. Ids that are not experts are left out; the end of `permutation` is then [`u32::MAX`].
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) unless `offsets` has one element more than `counts`, and
    /// `permutation` as many as `ids`; [`Error::Size`](crate::Error::Size) if there are more than 2³² - 2
    /// pairs or experts; [`Error::Hip`](crate::Error::Hip).
    pub fn moe_sort<'a>(
        &'a self,
        stream: &'a Stream,
        ids: impl Into<DeviceSlice<'a, u32>>,
        counts: impl Into<DeviceSliceMut<'a, u32>>,
        offsets: impl Into<DeviceSliceMut<'a, u32>>,
        permutation: impl Into<DeviceSliceMut<'a, u32>>,
    ) -> Result<()> {
        let (counts, offsets, permutation) = (counts.into(), offsets.into(), permutation.into());
        let operation = "moe_sort";
        self.sort_pairs(operation, stream, ids.into(), Strangers::LeftOut, counts, offsets, permutation, None)
    }

    /// As [`moe_sort`](Self::moe_sort), and also gives the inverse of the permutation: element p of `inverse`
    /// is where pair p is in `permutation`, or [`u32::MAX`] if it is left out.
    ///
    /// # Errors
    /// As there, and [`Error::Length`](crate::Error::Length) unless `inverse` has as many elements as `ids`.
    pub fn moe_sort_with_inverse<'a>(
        &'a self,
        stream: &'a Stream,
        ids: impl Into<DeviceSlice<'a, u32>>,
        counts: impl Into<DeviceSliceMut<'a, u32>>,
        offsets: impl Into<DeviceSliceMut<'a, u32>>,
        permutation: impl Into<DeviceSliceMut<'a, u32>>,
        inverse: impl Into<DeviceSliceMut<'a, u32>>,
    ) -> Result<()> {
        let (counts, offsets, permutation) = (counts.into(), offsets.into(), permutation.into());
        let (operation, inverse) = ("moe_sort_with_inverse", Some(inverse.into()));
        self.sort_pairs(
            operation,
            stream,
            ids.into(),
            Strangers::LeftOut,
            counts,
            offsets,
            permutation,
            inverse,
        )
    }

    #[expect(clippy::too_many_arguments, reason = "four results, and the arguments of three functions")]
    pub(crate) fn sort_pairs<'a>(
        &'a self,
        operation: &'static str,
        stream: &'a Stream,
        ids: DeviceSlice<'a, u32>,
        strangers: Strangers,
        counts: DeviceSliceMut<'a, u32>,
        offsets: DeviceSliceMut<'a, u32>,
        permutation: DeviceSliceMut<'a, u32>,
        inverse: Option<DeviceSliceMut<'a, u32>>,
    ) -> Result<()> {
        let (pairs, experts) = (ids.len(), counts.len());
        check_length(operation, "offsets", offsets.len(), experts.saturating_add(1))?;
        check_length(operation, "permutation", permutation.len(), pairs)?;
        check_u32(operation, "pairs", pairs.saturating_add(1))?;
        let workgroups = check_u32(operation, "experts", experts.saturating_add(1))?;
        let memory = [
            ("ids", ids.device()),
            ("counts", counts.device()),
            ("offsets", offsets.device()),
            ("permutation", permutation.device()),
        ];
        check_devices(operation, self.device(), stream, &memory)?;
        if let Some(inverse) = &inverse {
            check_length(operation, "inverse", inverse.len(), pairs)?;
            check_devices(operation, self.device(), stream, &[("inverse", inverse.device())])?;
        }
        let function = self.function(&modules::MOE, "moe_sort")?;
        let launch = function.launch(stream).grid(workgroups).block(row_block(pairs.max(1)));
        let launch =
            launch.arg(ids).arg(pairs).arg(workgroups - 1).arg(u32::from(strangers == Strangers::Last));
        let launch = launch.arg(counts).arg(offsets).arg(permutation).arg(inverse);
        // SAFETY: the kernel reads `pairs` ids. It writes the number of each pair to a place below the sum of
        // all counts, and that place to the pair's element of the inverse.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}
