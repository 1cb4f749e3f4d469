//! GPT-OSS: Llama's layers with other parts.
//!
//! Every layer has experts, whose matrices are MXFP4, and biases everywhere. Every second layer sees a window
//! of positions, and each head has a sink: a score that takes part in the softmax and has no value. The parts
//! find all that in the weights and the configuration; what is left is the gate, and the name of a norm.

use backend::Gate;

use super::llama::Llama;
use crate::config::Config;
use crate::error::Result;
use crate::weights::Weights;

/// The gate of its experts.
const GATE: Gate = Gate::SwigluOai { alpha: 1.702, limit: 7.0 };

pub(super) fn load(config: &Config, weights: &mut Weights<'_>) -> Result<Llama> {
    Llama::with(config, weights, "post_attention_norm", GATE)
}
