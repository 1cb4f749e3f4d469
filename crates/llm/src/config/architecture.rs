//! The table of architectures.

use backend::RopeStyle;

/// How a model computes: each family is one file in `model`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// Llama and what differs from it by a norm, a bias or experts.
    Llama,
    /// Gemma 2 and 3.
    Gemma,
    /// GPT-OSS.
    GptOss,
    /// Qwen3-Next and Qwen3.5: gated delta nets, and attention in every fourth layer.
    Qwen35,
    /// BERT's encoders.
    Bert,
}

/// A feed-forward layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedForward {
    /// One for all tokens.
    Dense,
    /// Experts with weights from a softmax of all experts' logits; divided by their sum or not.
    Softmax {
        /// Whether the weights of the chosen experts are divided by their sum.
        renormalised: bool,
    },
    /// Experts with weights from a softmax of the chosen experts' logits.
    SoftmaxOfChosen,
}

/// Which vectors of attention have a norm of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NormOf {
    /// None.
    Nothing,
    /// Each head of queries and keys.
    QueriesAndKeys,
}

/// One architecture: a row of the table.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Architecture {
    /// Its name in GGUF files, which begins the names of their values.
    pub name: &'static str,
    /// Its names in `config.json`.
    pub hugging_face: &'static [&'static str],
    /// How it computes.
    pub family: Family,
    /// The elements of a head that GGUF files rotate together.
    pub rope_style: RopeStyle,
    /// Norms of queries and keys.
    pub norm_of: NormOf,
    /// The feed-forward layer, if the model has experts; without experts it is [`FeedForward::Dense`].
    pub experts: FeedForward,
    /// Every so many layers, the one of this number sees all positions, and the others a window. `None` if
    /// all layers have the window.
    pub window_period: Option<(usize, usize)>,
    /// The base of the rotation in layers with a window, if it is not that of the others.
    pub window_rope_base: Option<f64>,
    /// Whether numbers inside the model exceed the range of f16.
    pub needs_range: bool,
    /// Whether GGUF files have heads of values in the order [`Tiled`](super::HeadOrder::Tiled).
    pub tiles_heads: bool,
}

/// Llama.
const LLAMA: Architecture = Architecture {
    name: "llama",
    hugging_face: &["LlamaForCausalLM", "MistralForCausalLM"],
    family: Family::Llama,
    rope_style: RopeStyle::Interleaved,
    norm_of: NormOf::Nothing,
    // Mixtral's files have this name, too.
    experts: FeedForward::Softmax { renormalised: true },
    window_period: None,
    window_rope_base: None,
    needs_range: false,
    tiles_heads: false,
};

const QWEN: Architecture = Architecture { rope_style: RopeStyle::HalfSplit, ..LLAMA };

const QWEN35: Architecture =
    Architecture { family: Family::Qwen35, norm_of: NormOf::QueriesAndKeys, needs_range: true, ..QWEN };

const GEMMA: Architecture = Architecture { family: Family::Gemma, needs_range: true, ..QWEN };

/// The known architectures.
static TABLE: [Architecture; 12] = [
    LLAMA,
    Architecture { name: "qwen2", hugging_face: &["Qwen2ForCausalLM"], ..QWEN },
    Architecture {
        name: "qwen3",
        hugging_face: &["Qwen3ForCausalLM"],
        norm_of: NormOf::QueriesAndKeys,
        ..QWEN
    },
    Architecture {
        name: "qwen3moe",
        hugging_face: &["Qwen3MoeForCausalLM"],
        norm_of: NormOf::QueriesAndKeys,
        ..QWEN
    },
    Architecture {
        name: "gemma2",
        hugging_face: &["Gemma2ForCausalLM"],
        window_period: Some((2, 1)),
        ..GEMMA
    },
    Architecture {
        name: "gemma3",
        hugging_face: &["Gemma3ForCausalLM"],
        norm_of: NormOf::QueriesAndKeys,
        window_period: Some((6, 5)),
        window_rope_base: Some(10_000.0),
        ..GEMMA
    },
    Architecture {
        name: "gpt-oss",
        hugging_face: &["GptOssForCausalLM"],
        family: Family::GptOss,
        experts: FeedForward::SoftmaxOfChosen,
        window_period: Some((2, 1)),
        needs_range: true,
        ..QWEN
    },
    Architecture { name: "qwen3next", hugging_face: &["Qwen3NextForCausalLM"], ..QWEN35 },
    Architecture {
        name: "qwen35",
        hugging_face: &["Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration"],
        tiles_heads: true,
        ..QWEN35
    },
    Architecture {
        name: "qwen35moe",
        hugging_face: &["Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration"],
        tiles_heads: true,
        ..QWEN35
    },
    Architecture { name: "bert", hugging_face: &["BertModel"], family: Family::Bert, ..QWEN },
    // Files of Mixtral's other converters.
    Architecture { name: "mixtral", hugging_face: &["MixtralForCausalLM"], ..LLAMA },
];

/// All known architectures.
#[must_use]
pub fn all() -> &'static [Architecture] {
    &TABLE
}

/// The architecture of this name in GGUF files.
#[must_use]
pub fn named(name: &str) -> Option<&'static Architecture> {
    TABLE.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_in_one_row() {
        let mut names: Vec<_> =
            all().iter().flat_map(|row| row.hugging_face.iter().chain([&row.name])).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(named("qwen3").is_some_and(|row| row.norm_of == NormOf::QueriesAndKeys));
        assert!(named("rwkv").is_none());
    }
}
