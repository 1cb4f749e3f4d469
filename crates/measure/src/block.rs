//! A transformer block, forward.

use half::{bf16, f16};

use crate::check::Check;
use crate::context::{Case, Clock, Context};
use crate::error::Result;
use crate::model::forward::Network;
use crate::model::ops::Number;
use crate::model::{ModelName, Shape, reference, seen};
use crate::options::Size;

const GROUP: &str = "block";
/// The maximum number of tokens that are checked, in f64 and in the measured shape.
const CHECKED: usize = 16;

/// Tokens of a sequence.
fn tokens(size: Size) -> usize {
    match size {
        Size::Tiny => 16,
        Size::Small => 512,
        Size::Full => 4096,
    }
}

/// The allowed relative error of a whole result after this many roundings to a type. Independent roundings
/// grow with the square root of their number, and a correct result never reaches twice that. f32 adds the
/// errors of sums of `terms` terms.
pub(crate) fn bound<T: Number>(roundings: usize, terms: usize) -> f64 {
    2.0 * ((roundings as f64).sqrt() * T::UNIT_ROUNDOFF
        + (terms as f64).sqrt() * f64::from(f32::EPSILON) / 2.0)
}

/// Consecutive roundings of a block, including those of the sums that attention's weights are computed from.
pub(crate) const BLOCK_ROUNDINGS: usize = 12;

/// Llama's block in the types that models use.
pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    let shape = ModelName::Llama.shape().scaled(context.size, Some(1));
    of::<f32>(context, shape)?;
    of::<f16>(context, shape)?;
    of::<bf16>(context, shape)
}

fn of<T: Number>(context: &mut Context<'_>, shape: Shape) -> Result<()> {
    let tokens = tokens(context.size);
    let name = format!("forward {tokens} tokens of {} {}", shape.hidden, T::NAME);
    let flops = 2.0 * (tokens * shape.multiplied()) as f64 + shape.attention_flops(seen(tokens, tokens));
    let mut case =
        Case { group: GROUP, name, flops: Some(flops), tokens: Some(tokens as f64), ..Case::default() };
    let checked = tokens.min(CHECKED);
    case.other.push(("checked_tokens", checked.into()));
    context.attempt(&format!("{GROUP} {}", case.name.clone()), |context| {
        let weights = shape.random_weights::<T>(21);
        let ids = shape.random_ids(tokens, 22);
        let device_ids = context.tools().upload(&ids)?;
        let mut network = Network::new(context.tools(), shape, &weights, tokens, tokens)?;
        network.embed(context.tools(), device_ids.as_slice())?;
        let input = context.tools().upload(&network.residual(context.tools(), tokens)?)?;
        context.measure(
            case,
            Clock::Device,
            &mut network,
            |context, network| {
                network.set_residual(context.tools(), &input)?;
                network.block(context.tools(), 0, 0, tokens)
            },
            |context, network| {
                // Tokens do not see later ones: the first ones have the same results without them.
                let got = network.residual(context.tools(), checked)?;
                let expected = reference::forward(&shape, &weights, &ids[..checked], checked);
                let bound = bound::<T>(BLOCK_ROUNDINGS, shape.intermediate);
                Ok(Check::whole(got.iter().map(|x| x.to_f64()), expected.residual(), bound))
            },
        )
    })
}
