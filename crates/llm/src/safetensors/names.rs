//! Hugging Face's names of tensors, and those of GGUF files.

use crate::config::{Architecture, Family};
use crate::weights::Change;

/// Where a tensor belongs.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    /// It is the tensor of this name.
    Whole {
        name: String,
        /// What happens to its numbers.
        change: Change,
    },
    /// It is an expert's part of the tensor of this name.
    Expert { name: String, expert: usize },
    /// It is a part of a layer's experts that is stored in another way than models know.
    Packed { layer: usize, part: String },
}

/// Outside of layers.
const OUTSIDE: [(&str, &str); 7] = [
    ("embed_tokens.weight", "token_embd.weight"),
    ("norm.weight", "output_norm.weight"),
    ("lm_head.weight", "output.weight"),
    ("embeddings.word_embeddings.weight", "token_embd.weight"),
    ("embeddings.position_embeddings.weight", "position_embd.weight"),
    ("embeddings.token_type_embeddings.weight", "token_types.weight"),
    ("embeddings.LayerNorm", "token_embd_norm"),
];

/// In layers of decoders, and of encoders. Gemma's names come first, as others use one of them differently.
const INSIDE: [(Option<Family>, &str, &str); 43] = {
    const G: Option<Family> = Some(Family::Gemma);
    const Q: Option<Family> = Some(Family::Qwen35);
    [
        (Q, "post_attention_layernorm", "post_attention_norm"),
        (Some(Family::GptOss), "post_attention_layernorm", "post_attention_norm"),
        (Some(Family::GptOss), "mlp.router", "ffn_gate_inp"),
        (Q, "linear_attn.in_proj_qkv", "attn_qkv"),
        (Q, "linear_attn.in_proj_z", "attn_gate"),
        (Q, "linear_attn.in_proj_qkvz", "ssm_in"),
        (Q, "linear_attn.in_proj_ba", "ssm_ba"),
        (Q, "linear_attn.in_proj_b", "ssm_beta"),
        (Q, "linear_attn.in_proj_a", "ssm_alpha"),
        (Q, "linear_attn.conv1d", "ssm_conv1d"),
        (Q, "linear_attn.norm", "ssm_norm"),
        (Q, "linear_attn.out_proj", "ssm_out"),
        (Q, "mlp.shared_expert.gate_proj", "ffn_gate_shexp"),
        (Q, "mlp.shared_expert.up_proj", "ffn_up_shexp"),
        (Q, "mlp.shared_expert.down_proj", "ffn_down_shexp"),
        (Q, "mlp.shared_expert_gate", "ffn_gate_inp_shexp"),
        (G, "post_attention_layernorm", "post_attention_norm"),
        (G, "pre_feedforward_layernorm", "ffn_norm"),
        (G, "post_feedforward_layernorm", "post_ffw_norm"),
        (None, "input_layernorm", "attn_norm"),
        (None, "post_attention_layernorm", "ffn_norm"),
        (None, "self_attn.q_proj", "attn_q"),
        (None, "self_attn.k_proj", "attn_k"),
        (None, "self_attn.v_proj", "attn_v"),
        (None, "self_attn.o_proj", "attn_output"),
        (None, "self_attn.q_norm", "attn_q_norm"),
        (None, "self_attn.k_norm", "attn_k_norm"),
        (None, "mlp.gate_proj", "ffn_gate"),
        (None, "mlp.up_proj", "ffn_up"),
        (None, "mlp.down_proj", "ffn_down"),
        (None, "mlp.gate", "ffn_gate_inp"),
        (None, "block_sparse_moe.gate", "ffn_gate_inp"),
        (None, "attention.self.query", "attn_q"),
        (None, "attention.self.key", "attn_k"),
        (None, "attention.self.value", "attn_v"),
        (None, "attention.output.dense", "attn_output"),
        (None, "attention.output.LayerNorm", "attn_output_norm"),
        (None, "intermediate.dense", "ffn_up"),
        (None, "output.dense", "ffn_down"),
        (None, "output.LayerNorm", "layer_output_norm"),
        // The same in experts, behind their numbers.
        (None, "w1", "ffn_gate"),
        (None, "w2", "ffn_down"),
        (None, "w3", "ffn_up"),
    ]
};

/// Tensors of layers whose names have nothing behind them.
const WHOLE_NAMES: [(&str, &str); 5] = [
    ("self_attn.sinks", "attn_sinks.weight"),
    ("linear_attn.A_log", "ssm_a"),
    ("linear_attn.dt_bias", "ssm_dt.bias"),
    ("mlp.experts.gate_up_proj", "ffn_gate_up_exps.weight"),
    ("mlp.experts.down_proj", "ffn_down_exps.weight"),
];

/// What names of a model begin with, the longest first.
const PREFIXES: [&str; 4] = ["model.language_model.", "language_model.model.", "model.", "bert."];

/// What happens to a tensor's numbers.
fn change(name: &str, architecture: &Architecture) -> Change {
    // Some norms are stored as differences from 1.
    let differs = match architecture.family {
        Family::Gemma => name.contains("norm"),
        Family::Qwen35 => name.contains("norm") && !name.contains("linear_attn.norm"),
        _ => false,
    };
    match name {
        _ if differs => Change::Add(1.0),
        _ if name.ends_with("linear_attn.A_log") => Change::NegativeExp,
        _ => Change::None,
    }
}

/// The place of a tensor; `None` for those that models do not need.
pub(super) fn place(name: &str, architecture: &Architecture) -> Option<Place> {
    let name = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let change = change(name, architecture);
    let layer = name.strip_prefix("layers.").or_else(|| name.strip_prefix("encoder.layer."));
    let Some((layer, part)) = layer.and_then(|rest| rest.split_once('.')) else {
        let (known, rest) =
            OUTSIDE.iter().find_map(|(theirs, ours)| Some((ours, name.strip_prefix(theirs)?)))?;
        return Some(Place::Whole { name: format!("{known}{rest}"), change });
    };
    let layer: usize = layer.parse().ok()?;
    let renamed = |part: &str| -> Option<(&'static str, String)> {
        let (part, suffix) = part.rsplit_once('.')?;
        let fits = |(family, theirs, _): &&(Option<Family>, &str, &str)| {
            *theirs == part && family.is_none_or(|family| family == architecture.family)
        };
        INSIDE.iter().find(fits).map(|(_, _, ours)| (*ours, suffix.to_owned()))
    };
    if architecture.family == Family::GptOss
        && let Some(part) = part.strip_prefix("mlp.experts.")
    {
        return Some(Place::Packed { layer, part: part.to_owned() });
    }
    if let Some((_, ours)) = WHOLE_NAMES.iter().find(|(theirs, _)| *theirs == part) {
        return Some(Place::Whole { name: format!("blk.{layer}.{ours}"), change });
    }
    let experts = ["mlp.experts.", "block_sparse_moe.experts."];
    if let Some(rest) = experts.iter().find_map(|prefix| part.strip_prefix(prefix)) {
        let (expert, matrix) = rest.split_once('.')?;
        // In Qwen's, they have the names of dense layers.
        let (ours, suffix) = renamed(matrix).or_else(|| renamed(&format!("mlp.{matrix}")))?;
        return Some(Place::Expert {
            name: format!("blk.{layer}.{ours}_exps.{suffix}"),
            expert: expert.parse().ok()?,
        });
    }
    let (ours, suffix) = renamed(part)?;
    Some(Place::Whole { name: format!("blk.{layer}.{ours}.{suffix}"), change })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::architecture;

    #[test]
    fn names_become_those_of_gguf() {
        for (name, of, expected) in [
            ("model.embed_tokens.weight", "llama", "token_embd.weight"),
            ("model.norm.weight", "llama", "output_norm.weight"),
            ("lm_head.weight", "llama", "output.weight"),
            ("model.layers.3.self_attn.q_proj.bias", "qwen2", "blk.3.attn_q.bias"),
            ("model.layers.3.post_attention_layernorm.weight", "qwen2", "blk.3.ffn_norm.weight"),
            ("model.layers.3.post_attention_layernorm.weight", "gemma3", "blk.3.post_attention_norm.weight"),
            ("model.layers.0.mlp.gate.weight", "qwen3moe", "blk.0.ffn_gate_inp.weight"),
            ("embeddings.LayerNorm.bias", "bert", "token_embd_norm.bias"),
            ("bert.encoder.layer.5.output.LayerNorm.weight", "bert", "blk.5.layer_output_norm.weight"),
        ] {
            let architecture = architecture(of).expect("known");
            let change = if of == "gemma3" { Change::Add(1.0) } else { Change::None };
            let expected = Place::Whole { name: expected.to_owned(), change };
            assert_eq!(place(name, architecture), Some(expected), "{name}");
        }
        let qwen = architecture("qwen3moe").expect("known");
        let expert = place("model.layers.2.mlp.experts.17.down_proj.weight", qwen);
        assert_eq!(expert, Some(Place::Expert { name: "blk.2.ffn_down_exps.weight".into(), expert: 17 }));
        for name in
            ["embeddings.position_ids", "model.layers.x.mlp.gate.weight", "model.layers.0.odd.weight", ""]
        {
            assert_eq!(place(name, qwen), None, "{name}");
        }
    }
}
