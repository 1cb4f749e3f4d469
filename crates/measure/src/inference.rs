//! Prefill and decode with the shapes of published models, random weights and greedy choice of tokens.

use half::bf16;
use hip::DeviceBuffer;

use crate::block::{BLOCK_ROUNDINGS, bound};
use crate::check::Check;
use crate::context::{Case, Clock, Context};
use crate::error::Result;
use crate::model::forward::Network;
use crate::model::ops::Tools;
use crate::model::{ModelName, Shape, reference, seen};
use crate::options::Size;

const GROUP: &str = "inference";
/// The maximum number of tokens of a prompt, and after it, that are checked in f64.
const CHECKED: (usize, usize) = (8, 4);

/// Tokens of a prompt, and tokens after it.
fn lengths(size: Size) -> (usize, usize) {
    match size {
        Size::Tiny => (6, 2),
        Size::Small => (512, 32),
        Size::Full => (2048, 128),
    }
}

/// Each model in bf16, as published.
pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    for model in &context.options.models {
        let what = format!("{GROUP} of {model}");
        context.attempt(&what, |context| of(context, *model))?;
    }
    Ok(())
}

/// A model, and the tokens that it has chosen.
struct Run {
    network: Network<bf16>,
    /// The prompt, then the chosen tokens; as many as the cache has room for.
    ids: DeviceBuffer<u32>,
    /// For each chosen token, the logits that it was chosen by.
    logits: DeviceBuffer<bf16>,
}

impl Run {
    /// Computes the prompt and chooses the token after it.
    fn prefill(&mut self, tools: Tools<'_>, prompt: usize) -> Result<()> {
        self.choose(tools, 0, prompt, 0)
    }

    /// Chooses this many tokens after a prompt, one after the other.
    fn decode(&mut self, tools: Tools<'_>, prompt: usize, steps: usize) -> Result<()> {
        (0..steps).try_for_each(|step| self.choose(tools, prompt + step, 1, step + 1))
    }

    /// Computes `tokens` from a position and appends the likeliest token. Its logits go to a row.
    fn choose(&mut self, tools: Tools<'_>, position: usize, tokens: usize, row: usize) -> Result<()> {
        let vocab = self.network.shape.vocab;
        let ids = self.ids.slice(position..position + tokens)?;
        let logits = self.logits.slice_mut(row * vocab..(row + 1) * vocab)?;
        self.network.forward(tools, ids, position, logits)?;
        let logits = self.logits.slice(row * vocab..(row + 1) * vocab)?;
        let end = position + tokens;
        Ok(tools.kernels.argmax(tools.stream, logits, vocab, self.ids.slice_mut(end..=end)?)?)
    }
}

fn of(context: &mut Context<'_>, model: ModelName) -> Result<()> {
    let full = model.shape();
    let shape = full.scaled(context.size, context.options.layers);
    let (prompt, steps) = lengths(context.size);
    let capacity = prompt + steps + 1;
    let weights = shape.random_weights::<bf16>(31);
    let mut ids = shape.random_ids(prompt, 32);
    ids.resize(capacity, 0);
    let mut run = Run {
        network: Network::new(context.tools(), shape, &weights, capacity, prompt)?,
        ids: context.tools().upload(&ids)?,
        logits: context.tools().zeroed((steps + 1) * shape.vocab)?,
    };
    let what = format!("{model} {} wide, {} of {} layers, bf16", shape.hidden, shape.layers, full.layers);
    let head = 2.0 * (shape.vocab * shape.hidden) as f64;
    let flops =
        |tokens: usize, seen: usize| 2.0 * (tokens * shape.multiplied()) as f64 + shape.attention_flops(seen);

    let checked = (prompt.min(CHECKED.0), steps.min(CHECKED.1));
    let about = vec![
        ("layers", shape.layers.into()),
        ("layers_of_model", full.layers.into()),
        ("checked_tokens", (checked.0 + checked.1).into()),
    ];
    let prefill = Case {
        group: GROUP,
        name: format!("prefill {prompt} tokens, {what}"),
        flops: Some(flops(prompt, seen(prompt, prompt)) + head),
        tokens: Some(prompt as f64),
        other: about.clone(),
        ..Case::default()
    };
    context.measure(
        prefill,
        Clock::Device,
        &mut run,
        |context, run| run.prefill(context.tools(), prompt),
        |context, run| check(context.tools(), run, &shape, &weights, checked),
    )?;
    let decode = Case {
        group: GROUP,
        name: format!("decode {steps} tokens behind {prompt}, {what}"),
        flops: Some(flops(steps, seen(steps, prompt + steps)) + steps as f64 * head),
        // Each step reads all multiplied weights; its reads of the cache are small in comparison.
        bytes: Some((steps * (shape.multiplied() + shape.vocab * shape.hidden) * size_of::<bf16>()) as f64),
        tokens: Some(steps as f64),
        other: about,
    };
    // The prompt replaces what the check of a shorter prompt has left in the cache.
    run.prefill(context.tools(), prompt)?;
    context.measure(
        decode,
        Clock::Device,
        &mut run,
        |context, run| run.decode(context.tools(), prompt, steps),
        |context, run| {
            let check = check(context.tools(), run, &shape, &weights, checked)?;
            run.prefill(context.tools(), prompt)?;
            Ok(check)
        },
    )
}

/// Computes a prompt and some tokens after it, and compares the logits of each of these tokens, and the
/// choice of the tokens.
fn check(
    tools: Tools<'_>,
    run: &mut Run,
    shape: &Shape,
    weights: &[Vec<bf16>],
    (prompt, steps): (usize, usize),
) -> Result<Check> {
    run.prefill(tools, prompt)?;
    run.decode(tools, prompt, steps)?;
    let ids = run.ids.slice(..prompt + steps + 1)?.to_vec(tools.stream)?;
    let vocab = shape.vocab;
    let got = run.logits.slice(..(steps + 1) * vocab)?.to_vec(tools.stream)?;
    let tape = reference::forward(shape, weights, &ids[..prompt + steps], prompt + steps);
    let expected = &tape.logits[(prompt - 1) * vocab..];
    let bound = bound::<bf16>(BLOCK_ROUNDINGS * shape.layers + 2, shape.intermediate);
    let logits = Check::whole(got.iter().map(|x| x.to_f64()), expected, bound);
    // Each token must be the likeliest by the logits that it was chosen by.
    let chosen = got.chunks(vocab).zip(&ids[prompt..]).all(|(row, id)| {
        let likeliest = row.iter().map(|x| x.to_f64()).fold(f64::NEG_INFINITY, f64::max);
        row.get(*id as usize).is_some_and(|x| x.to_f64() == likeliest)
    });
    Ok(if chosen { logits } else { Check { error: f64::INFINITY, bound } })
}
