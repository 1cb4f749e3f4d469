//! Models: each family is one file. A model computes logits for a [`Step`]: tokens of one or more sequences.

mod bert;
mod cache;
mod gemma;
mod gpt_oss;
mod llama;
mod parts;
mod qwen35;
mod step;

use std::fmt;

use backend::{KernelBackend, Tensor};

use crate::config::{Config, Family};
use crate::error::{Error, Result};
use crate::weights::Weights;

pub use bert::Bert;
pub use cache::{Cache, State, States};
pub use step::{Draw, Draws, Group, Inputs, Part, Step};

/// A model that predicts tokens.
pub trait Model: Send + Sync + fmt::Debug {
    /// Its configuration.
    fn config(&self) -> &Config;

    /// The vectors behind the last norm, `[tokens, width]`. Keys and values of the step's tokens go to their
    /// slots of the cache, and states of their sequences change.
    ///
    /// # Errors
    /// Those of the backend.
    fn hidden(&self, backend: &dyn KernelBackend, step: &Step, cache: &Cache) -> Result<Tensor>;

    /// The logits `[rows, vocabulary]` of such vectors.
    ///
    /// # Errors
    /// Those of the backend.
    fn logits(&self, backend: &dyn KernelBackend, hidden: &Tensor) -> Result<Tensor>;

    /// The logits of the step's outputs, `[outputs, vocabulary]`.
    ///
    /// # Errors
    /// Those of the backend.
    fn forward(&self, backend: &dyn KernelBackend, step: &Step, cache: &Cache) -> Result<Tensor> {
        let hidden = self.hidden(backend, step, cache)?;
        match &step.outputs {
            None => self.logits(backend, &hidden),
            Some(rows) => {
                let chosen = backend.empty(hidden.dtype(), &[rows.elements(), hidden.columns()])?;
                // A table's rows by number are a choice of rows, too.
                backend.embedding(&hidden, rows, &chosen)?;
                self.logits(backend, &chosen)
            }
        }
    }
}

/// Loads a model that predicts tokens, or the backend's part of it if it is one of several
/// [ranks](backend::parallel).
///
/// # Errors
/// [`Error::Unable`] for encoders; for tensors that are missing or have other shapes; of reading and of the
/// backend.
pub fn load(config: &Config, weights: &mut Weights<'_>) -> Result<Box<dyn Model>> {
    let unable = |problem: String| Error::Unable { model: config.known_as(), problem };
    let config = &config.share(weights.backend().shard()).map_err(unable)?;
    let model: Box<dyn Model> = match config.architecture.family {
        Family::Llama => Box::new(llama::Llama::load(config, weights)?),
        Family::Gemma => Box::new(gemma::Gemma::load(config, weights)?),
        Family::GptOss => Box::new(gpt_oss::load(config, weights)?),
        Family::Qwen35 => Box::new(qwen35::Qwen35::load(config, weights)?),
        Family::Bert => return Err(unable("is an encoder, which generates no text".into())),
    };
    // Kernels may read weights early that are there for sure.
    weights.backend().synchronize()?;
    Ok(model)
}
