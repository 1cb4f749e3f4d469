//! The choice of experts.

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::elementwise::info::check_devices;
use crate::error::{Error, Result, check_length};
use crate::launch::MAX_GRID;
use crate::library::{Kernels, names};
use crate::reduce::rows;
use crate::{Float, modules};

/// The maximum number of experts that [`Kernels::moe_gate`] chooses from.
pub const MOST_EXPERTS: usize = 1024;
/// The maximum number of experts that it chooses for a token.
pub const MOST_CHOICES: usize = 32;
/// The maximum number of groups of experts.
pub const MOST_EXPERT_GROUPS: usize = 32;
/// Work-items of a workgroup: one warp for each token.
const BLOCK: u32 = 128;
const WARPS: usize = 4;

const OPERATION: &str = "moe_gate";

/// What experts are chosen and weighed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum GateScores {
    /// The softmax of all logits of a token.
    Softmax = 0,
    /// Experts are chosen by logits; weights are the softmax over the chosen ones.
    SoftmaxOfChosen = 1,
    /// The sigmoid of each logit.
    Sigmoid = 2,
}

/// How a group of experts is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupScore {
    /// The largest score of its experts.
    Largest,
    /// The sum of the two largest scores of its experts.
    TwoLargest,
}

/// Experts form consecutive groups of equal size; only experts of the best groups can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpertGroups {
    /// Groups (`n_group`).
    pub groups: usize,
    /// Groups that are chosen for a token (`topk_group`).
    pub chosen: usize,
    /// How these are selected.
    pub by: GroupScore,
}

/// How a router's logits become experts and weights.
///
/// An expert is chosen by its score and a bias; its weight is the score without the bias.
///
/// ```no_run
/// use kernels::{ExpertGroups, GateScores, GroupScore, MoeGate};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let stream = hip::Device::open("auto")?.stream()?;
/// // Mixtral, Qwen
/// let gate = MoeGate::new(8, 2).renormalise();
/// // gpt-oss
/// let gate = MoeGate::new(32, 4).scores(GateScores::SoftmaxOfChosen);
/// // DeepSeek V2
/// let groups = ExpertGroups { groups: 8, chosen: 3, by: GroupScore::Largest };
/// let gate = MoeGate::new(160, 6).groups(groups).scale(16.0);
/// // DeepSeek V3
/// let bias = hip::DeviceBuffer::<f32>::zeroed(&stream, 256)?;
/// let groups = ExpertGroups { groups: 8, chosen: 4, by: GroupScore::TwoLargest };
/// let gate = MoeGate::new(256, 8).scores(GateScores::Sigmoid).bias(&bias).groups(groups).renormalise().scale(2.5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MoeGate<'a> {
    /// Experts there are.
    pub experts: usize,
    /// Experts that are chosen for a token.
    pub k: usize,
    /// What experts are chosen and weighed by.
    pub scores: GateScores,
    /// Added to each expert's score for the choice; not part of the weight.
    pub bias: Option<DeviceSlice<'a, f32>>,
    /// Groups of experts; some groups are chosen first.
    pub groups: Option<ExpertGroups>,
    /// Weights are divided by their sum. For [`GateScores::SoftmaxOfChosen`] this is always so.
    pub renormalise: bool,
    /// Factor of the final weights.
    pub scale: f32,
}

impl<'a> MoeGate<'a> {
    /// The experts with the largest softmax, and no further options.
    #[must_use]
    pub fn new(experts: usize, k: usize) -> Self {
        Self {
            experts,
            k,
            scores: GateScores::Softmax,
            bias: None,
            groups: None,
            renormalise: false,
            scale: 1.0,
        }
    }

    /// What experts are chosen and weighed by.
    #[must_use]
    pub fn scores(self, scores: GateScores) -> Self {
        Self { scores, ..self }
    }

    /// Adds a number to each expert's score for the choice.
    #[must_use]
    pub fn bias(self, bias: impl Into<DeviceSlice<'a, f32>>) -> Self {
        Self { bias: Some(bias.into()), ..self }
    }

    /// Chooses groups of experts first.
    #[must_use]
    pub fn groups(self, groups: ExpertGroups) -> Self {
        Self { groups: Some(groups), ..self }
    }

    /// Divides the weights by their sum.
    #[must_use]
    pub fn renormalise(self) -> Self {
        Self { renormalise: true, ..self }
    }

    /// Multiplies the weights.
    #[must_use]
    pub fn scale(self, scale: f32) -> Self {
        Self { scale, ..self }
    }

    /// Checks the groups, and how many of them are chosen.
    fn check(&self) -> Result<ExpertGroups> {
        let wrong =
            |parameter, got, problem| Err(Error::Size { operation: OPERATION, parameter, got, problem });
        if self.experts > MOST_EXPERTS {
            return wrong("experts", self.experts, "more than 1024");
        }
        let all = ExpertGroups { groups: 1, chosen: 1, by: GroupScore::Largest };
        let groups = self.groups.unwrap_or(all);
        if groups.groups == 0
            || groups.groups > MOST_EXPERT_GROUPS
            || !self.experts.is_multiple_of(groups.groups)
        {
            return wrong("groups", groups.groups, "must be from 1 to 32 and divide the number of experts");
        }
        if groups.chosen == 0 || groups.chosen > groups.groups {
            return wrong("chosen groups", groups.chosen, "must be from 1 to the number of groups");
        }
        let size = self.experts / groups.groups;
        if groups.by == GroupScore::TwoLargest && size < 2 {
            return wrong("groups", groups.groups, "must have at least two experts each");
        }
        if self.k == 0 || self.k > (size * groups.chosen).min(MOST_CHOICES) {
            return wrong("k", self.k, "must be from 1 to 32, and at most the experts of the chosen groups");
        }
        if let Some(bias) = self.bias {
            check_length(OPERATION, "bias", bias.len(), self.experts)?;
        }
        if !self.scale.is_finite() {
            let got = self.scale.into();
            return Err(Error::Value {
                operation: OPERATION,
                parameter: "scale",
                got,
                problem: "must be finite",
            });
        }
        Ok(groups)
    }
}

impl Kernels {
    /// The experts of each token, the best first, and their weights. `logits` has a row of `gate.experts`
    /// elements for each token; `weights` and `ids` have `gate.k`. Everything is computed in f32.
    ///
    /// Of equal experts and groups, the first come first. Without a bias and sums of two, logits are compared
    /// instead of scores: they have the same order, and are not affected by scores that round to the same
    /// number. A NaN counts as larger than every number, so ids are always different experts.
    ///
    /// When weights are divided by a sum of sigmoids, 10⁻²⁰ is added to the sum, so that zeros stay zeros.
    ///
    /// # Errors
    /// [`Error::Size`] if the number of experts is zero, more than [`MOST_EXPERTS`], or does not divide the
    /// length of `logits`; if `k` is zero, or more than the experts of the chosen groups or [`MOST_CHOICES`];
    /// if the number of groups is zero, more than [`MOST_EXPERT_GROUPS`] or does not divide the number of
    /// experts; if no groups are chosen, or more than there are; or if groups have fewer than two experts
    /// where two scores are added. [`Error::Length`] unless each result has `k` elements for each token, and
    /// the bias one for each expert; [`Error::Value`] for a scale that is not finite; [`Error::Hip`].
    #[doc(alias = "topk_softmax")]
    #[doc(alias = "grouped_topk")]
    pub fn moe_gate<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        gate: &MoeGate<'a>,
        logits: impl Into<DeviceSlice<'a, T>>,
        weights: impl Into<DeviceSliceMut<'a, f32>>,
        ids: impl Into<DeviceSliceMut<'a, u32>>,
    ) -> Result<()> {
        let (logits, weights, ids) = (logits.into(), weights.into(), ids.into());
        let groups = gate.check()?;
        let tokens = rows(OPERATION, logits.len(), gate.experts)? as usize;
        check_length(OPERATION, "weights", weights.len(), tokens * gate.k)?;
        check_length(OPERATION, "ids", ids.len(), tokens * gate.k)?;
        let memory = [("logits", logits.device()), ("weights", weights.device()), ("ids", ids.device())];
        check_devices(OPERATION, self.device(), stream, &memory)?;
        if let Some(bias) = &gate.bias {
            check_devices(OPERATION, self.device(), stream, &[("bias", bias.device())])?;
        }
        if tokens == 0 {
            return Ok(());
        }
        let grid = tokens.div_ceil(WARPS).min(MAX_GRID as usize) as u32;
        let launch = self.of::<T>(&modules::MOE, &names!("moe_gate"))?.launch(stream).grid(grid).block(BLOCK);
        let launch =
            launch.arg(logits).arg(gate.bias).arg(tokens).arg(gate.experts as u32).arg(gate.k as u32);
        let launch = launch.arg(gate.scores as u32).arg(groups.groups as u32).arg(groups.chosen as u32);
        let launch =
            launch.arg(u32::from(groups.by == GroupScore::TwoLargest)).arg(u32::from(gate.renormalise));
        let launch = launch.arg(gate.scale).arg(weights).arg(ids);
        // SAFETY: a warp reads the row of a token and a bias for each expert, and writes k elements of each
        // result. The chosen groups have at least k experts, k is at most the lanes of a warp, and the kernel
        // has room for all experts.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}
