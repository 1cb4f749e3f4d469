//! Configurations in `config.json`.

use std::path::Path;

use backend::{Rope, RopeScaling, RopeStyle};
use serde_json::Value;

use super::architecture::{self, Architecture, Family};
use super::{Config, Delta, Experts, HeadOrder};
use crate::engine::Pooling;
use crate::error::{Error, Result};

/// Layers, heads, and elements of vectors: beyond this, a file is damaged.
const MOST: u64 = 1 << 24;

impl Config {
    /// The configuration in a folder's `config.json`.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Model`] for a value that is missing or makes no sense, and for an unknown
    /// architecture.
    pub fn of_folder(folder: &Path) -> Result<Self> {
        let path = folder.join("config.json");
        let bytes = std::fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
        let wrong = |problem: String| Error::Model { path: path.clone(), problem };
        let values: Value = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("has values that cannot be read: {error}")))?;
        let mut config = Self::of_json(&values).map_err(wrong)?;
        config.pooling = pooling(&folder.join("1_Pooling/config.json"))?;
        Ok(config)
    }

    /// The configuration in the values of a `config.json`, or what is wrong with them.
    pub(crate) fn of_json(values: &Value) -> Result<Self, String> {
        config(values)
    }
}

/// How sentence-transformers makes one vector of many.
fn pooling(path: &Path) -> Result<Option<Pooling>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path, error)),
    };
    let wrong = |problem: String| Error::Model { path: path.to_owned(), problem };
    let values: Value =
        serde_json::from_slice(&bytes).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let is = |name: &str| values.get(name).and_then(Value::as_bool).unwrap_or(false);
    let known = [
        ("pooling_mode_cls_token", Pooling::First),
        ("pooling_mode_mean_tokens", Pooling::Mean),
        ("pooling_mode_lasttoken", Pooling::Last),
    ];
    match known.iter().find(|(name, _)| is(name)) {
        Some((_, pooling)) => Ok(Some(*pooling)),
        None => Err(wrong(
            "asks for a pooling that is not known; known are the first token, the mean, the last token"
                .into(),
        )),
    }
}

/// The values of one object.
#[derive(Clone, Copy)]
struct Values<'v>(&'v Value);

impl<'v> Values<'v> {
    fn get(self, name: &str) -> Option<&'v Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn size(self, name: &str) -> Result<Option<usize>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match value.as_u64().filter(|size| *size <= MOST) {
                Some(size) => Ok(Some(size as usize)),
                None => Err(format!("has a `{name}` of {value}")),
            },
        }
    }

    fn needed(self, name: &str) -> Result<usize, String> {
        match self.size(name)? {
            None => Err(format!("has no `{name}`")),
            Some(0) => Err(format!("has a `{name}` of 0")),
            Some(size) => Ok(size),
        }
    }

    fn number(self, name: &str) -> Result<Option<f64>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match value.as_f64().filter(|number| number.is_finite()) {
                Some(number) => Ok(Some(number)),
                None => Err(format!("has a `{name}` of {value}")),
            },
        }
    }

    fn needed_number(self, name: &str) -> Result<f64, String> {
        self.number(name)?.ok_or_else(|| format!("has no `{name}`"))
    }

    fn text(self, name: &str) -> Option<&'v str> {
        self.get(name)?.as_str()
    }

    fn flag(self, name: &str) -> Option<bool> {
        self.get(name)?.as_bool()
    }
}

fn config(values: &Value) -> Result<Config, String> {
    let values = Values(values);
    let names = values.get("architectures").and_then(Value::as_array);
    let name = names.and_then(|names| names.first()).and_then(Value::as_str).unwrap_or_default();
    let Some(architecture) = architecture::all().iter().find(|row| row.hugging_face.contains(&name)) else {
        let known: Vec<_> = architecture::all().iter().flat_map(|row| row.hugging_face).copied().collect();
        return Err(format!(
            "has the architecture `{name}`, which is not known; known are {}",
            known.join(", ")
        ));
    };
    // Models that also see pictures have the decoder's values in an object of their own.
    let values = values.get("text_config").map_or(values, Values);
    let is_encoder = architecture.family == Family::Bert;
    let (width, heads) = (values.needed("hidden_size")?, values.needed("num_attention_heads")?);
    let kv_heads = values.size("num_key_value_heads")?.unwrap_or(heads);
    if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
        return Err(format!("has {heads} heads of queries and {kv_heads} of keys"));
    }
    let head_size = values.size("head_dim")?.unwrap_or(width / heads);
    if head_size == 0 || !head_size.is_multiple_of(2) {
        return Err(format!("has heads of {head_size} elements"));
    }
    let eps = if is_encoder { "layer_norm_eps" } else { "rms_norm_eps" };
    let context = values.needed("max_position_embeddings")?;
    let count = match values.size("num_local_experts")? {
        None => values.size("num_experts")?,
        count => count,
    };
    let of_experts = values.size("moe_intermediate_size")?;
    let feed_forward = match (values.size("intermediate_size")?, of_experts) {
        (None, Some(size)) if size > 0 => size,
        _ => values.needed("intermediate_size")?,
    };
    let experts = match count {
        None | Some(0) => None,
        Some(count) => {
            let used = values.needed("num_experts_per_tok")?;
            if values.flag("norm_topk_prob") == Some(false) {
                return Err(
                    "does not divide the weights of experts by their sum, which is not supported".into()
                );
            }
            if used > count {
                return Err(format!("uses {used} of {count} experts"));
            }
            let shared = values.size("shared_expert_intermediate_size")?.filter(|size| *size > 0);
            Some(Experts { count, used, feed_forward: of_experts.unwrap_or(feed_forward), shared })
        }
    };
    let window = values.size("sliding_window")?.filter(|window| *window > 0);
    let window = window.filter(|_| values.flag("use_sliding_window") != Some(false));
    let rope = rope(values, head_size, context)?;
    let window_rope = match architecture.window_rope_base {
        None => None,
        Some(usual) => {
            let newer = values.get("rope_parameters").map(Values);
            let base = match newer.and_then(|newer| newer.get("sliding_attention")).map(Values) {
                Some(newer) => newer.number("rope_theta")?,
                None => values.number("rope_local_base_freq")?,
            };
            let base = base.filter(|base| *base > 0.0).unwrap_or(usual);
            Some(Rope { base, scaling: RopeScaling::None, ..rope })
        }
    };
    let limit = |name: &str| -> Result<Option<f32>, String> {
        Ok(values.number(name)?.map(|cap| cap as f32).filter(|cap| *cap > 0.0))
    };
    let layers = values.needed("num_hidden_layers")?;
    let delta = match architecture.family {
        Family::Qwen35 => Some(delta(values, layers)?),
        _ => None,
    };
    Ok(Config {
        architecture,
        is_of_gguf: false,
        name: values.text("_name_or_path").filter(|name| !name.is_empty()).map(str::to_owned),
        layers,
        width,
        vocabulary: values.needed("vocab_size")?,
        context,
        feed_forward,
        heads,
        kv_heads,
        head_size,
        norm_eps: values.needed_number(eps)? as f32,
        rope,
        // The order of elements in these files differs from that of GGUF's Llama.
        rope_style: RopeStyle::HalfSplit,
        window_rope,
        window,
        attention_scale: attention_scale(architecture, values, head_size)?,
        attention_cap: limit("attn_logit_softcapping")?,
        logit_cap: limit("final_logit_softcapping")?,
        experts,
        delta,
        pooling: None,
    })
}

/// Gated delta nets.
fn delta(values: Values<'_>, layers: usize) -> Result<Delta, String> {
    let attention: Vec<bool> = match values.get("layer_types").and_then(Value::as_array) {
        Some(kinds) if kinds.len() == layers => {
            let is_attention = |kind: &Value| match kind.as_str() {
                Some("full_attention") => Ok(true),
                Some("linear_attention") => Ok(false),
                _ => Err(format!("has layers of the type {kind}, which is not known")),
            };
            kinds.iter().map(is_attention).collect::<Result<_, _>>()?
        }
        Some(kinds) => return Err(format!("has `layer_types` for {} of {layers} layers", kinds.len())),
        None => Delta::attention_every(values.size("full_attention_interval")?, layers)?,
    };
    let delta = Delta {
        attention,
        key_heads: values.needed("linear_num_key_heads")?,
        heads: values.needed("linear_num_value_heads")?,
        key_size: values.needed("linear_key_head_dim")?,
        value_size: values.needed("linear_value_head_dim")?,
        width: values.needed("linear_conv_kernel_dim")?,
        order: HeadOrder::Grouped,
    };
    delta.check()?;
    Ok(delta)
}

fn attention_scale(architecture: &Architecture, values: Values<'_>, head_size: usize) -> Result<f32, String> {
    let size = match architecture.family {
        Family::Gemma => values.number("query_pre_attn_scalar")?.filter(|size| *size > 0.0),
        _ => None,
    };
    Ok(size.unwrap_or(head_size as f64).sqrt().recip() as f32)
}

fn rope(values: Values<'_>, head_size: usize, context: usize) -> Result<Rope, String> {
    // Newer files have all of it in one object, or in one for each kind of layer.
    let newer = values.get("rope_parameters").map(Values);
    let newer = newer.map(|newer| newer.get("full_attention").map_or(newer, Values));
    let base = match newer {
        Some(newer) => newer.number("rope_theta")?,
        None => values.number("rope_theta")?,
    };
    let base = base.unwrap_or(10_000.0);
    if base <= 0.0 {
        return Err(format!("has a `rope_theta` of {base}"));
    }
    let part = match newer.map(|newer| newer.number("partial_rotary_factor")).transpose()?.flatten() {
        None => values.number("partial_rotary_factor")?,
        part => part,
    };
    let rotary = (head_size as f64 * part.unwrap_or(1.0)) as usize;
    if rotary == 0 || rotary > head_size || !rotary.is_multiple_of(2) {
        return Err(format!("rotates {rotary} of {head_size} elements of each head"));
    }
    let scaling = match newer.or_else(|| values.get("rope_scaling").map(Values)) {
        None => RopeScaling::None,
        Some(scaling) => {
            let kind = scaling.text("rope_type").or_else(|| scaling.text("type")).unwrap_or("default");
            let original = scaling.number("original_max_position_embeddings")?.unwrap_or(context as f64);
            match kind {
                "default" => RopeScaling::None,
                "linear" => RopeScaling::Linear { factor: scaling.needed_number("factor")? },
                "llama3" => RopeScaling::Llama3 {
                    factor: scaling.needed_number("factor")?,
                    original_context: original,
                    low_frequency_factor: scaling.needed_number("low_freq_factor")?,
                    high_frequency_factor: scaling.needed_number("high_freq_factor")?,
                },
                "yarn" => RopeScaling::Yarn {
                    factor: scaling.needed_number("factor")?,
                    original_context: original,
                    beta_fast: scaling.number("beta_fast")?.unwrap_or(32.0),
                    beta_slow: scaling.number("beta_slow")?.unwrap_or(1.0),
                    attention_factor: scaling.number("attention_factor")?,
                    truncate: scaling.flag("truncate").unwrap_or(true),
                },
                other => {
                    return Err(format!(
                        "stretches its context by `{other}`, which is not known; known are linear, llama3, yarn"
                    ));
                }
            }
        }
    };
    Ok(Rope { rotary, base, scaling })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn llama() -> Value {
        serde_json::json!({
            "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_attention_heads": 4,
            "num_key_value_heads": 2, "intermediate_size": 96, "num_hidden_layers": 3, "vocab_size": 300,
            "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
            "rope_scaling": { "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 8192 }
        })
    }

    #[test]
    fn values_become_a_configuration() {
        let config = config(&llama()).expect("a configuration");
        assert_eq!((config.head_size, config.kv_heads, config.layers, config.vocabulary), (16, 2, 3, 300));
        assert_eq!((config.rope.base, config.rope_style), (500_000.0, RopeStyle::HalfSplit));
        assert!(matches!(config.rope.scaling, RopeScaling::Llama3 { original_context: 8192.0, .. }));
    }

    #[test]
    fn gated_delta_nets_are_read_and_checked() {
        let mut values = llama();
        let more = serde_json::json!({
            "architectures": ["Qwen3_5ForConditionalGeneration"], "num_hidden_layers": 8,
            "linear_num_key_heads": 2, "linear_num_value_heads": 6, "linear_key_head_dim": 16,
            "linear_value_head_dim": 32, "linear_conv_kernel_dim": 4, "rope_scaling": null,
            "partial_rotary_factor": 0.25
        });
        values.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let names = values["architectures"].clone();
        // Such models have the decoder's values in an object of their own.
        let outer = serde_json::json!({ "architectures": names, "text_config": values });
        let read = config(&outer).expect("a configuration");
        let delta = read.delta.clone().expect("gated delta nets");
        assert_eq!((delta.group(), delta.channels(), read.rope.rotary), (3, 2 * 32 + 192, 4));
        let with_attention: Vec<_> = (0..8).filter(|&layer| read.has_attention(layer)).collect();
        assert_eq!((with_attention, read.kv_shapes().len()), (vec![3, 7], 2));
        assert_eq!(delta.state_bytes(), 6 * 4 * (6 * 16 * 32 + 256 * 3));
        for (name, value, expected) in [
            ("linear_num_value_heads", serde_json::json!(5), "5 heads of values and 2 of keys"),
            ("linear_conv_kernel_dim", serde_json::json!(5), "convolutions of 5 tokens"),
            ("linear_key_head_dim", Value::Null, "no `linear_key_head_dim`"),
            ("layer_types", serde_json::json!(["full_attention"]), "`layer_types` for 1 of 8 layers"),
            ("layer_types", serde_json::json!(vec!["odd"; 8]), "layers of the type \"odd\""),
            ("partial_rotary_factor", serde_json::json!(0.0), "rotates 0 of 16"),
        ] {
            let mut values = values.clone();
            values[name] = value;
            let error = config(&values).expect_err(name);
            assert!(error.contains(expected), "{name}: {error}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_name() {
        for (name, value, expected) in [
            ("architectures", serde_json::json!(["Odd"]), "the architecture `Odd`"),
            ("hidden_size", serde_json::json!(-1), "a `hidden_size` of -1"),
            ("hidden_size", Value::Null, "no `hidden_size`"),
            ("num_key_value_heads", serde_json::json!(3), "4 heads of queries and 3"),
            ("rms_norm_eps", Value::Null, "no `rms_norm_eps`"),
            ("rope_scaling", serde_json::json!({ "type": "odd" }), "stretches its context by `odd`"),
            ("rope_scaling", serde_json::json!({ "type": "linear" }), "no `factor`"),
        ] {
            let mut values = llama();
            values[name] = value;
            let error = config(&values).expect_err(name);
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}
