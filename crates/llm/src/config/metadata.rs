//! Configurations in GGUF files.

use std::path::Path;

use backend::{Rope, RopeScaling};

use super::architecture::{self, Architecture, Family};
use super::{Config, Delta, Experts, HeadOrder};
use crate::engine::Pooling;
use crate::error::{Error, Result};
use crate::gguf::{Metadata, MetadataError};

/// Layers, heads, and elements of vectors: beyond this, a file is damaged.
const MOST: usize = 1 << 24;

/// Why there is no configuration.
enum Problem {
    Metadata(MetadataError),
    Text(String),
}

impl From<MetadataError> for Problem {
    fn from(error: MetadataError) -> Self {
        Self::Metadata(error)
    }
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Config {
    /// The configuration in a GGUF file's values. `vocabulary` is the number of rows of its token table.
    ///
    /// # Errors
    /// [`Error::Metadata`] for a value that is missing or has the wrong type, [`Error::Model`] for one that
    /// makes no sense, and for an unknown architecture.
    pub fn of_metadata(metadata: &Metadata, vocabulary: usize, path: &Path) -> Result<Self> {
        let path = path.to_owned();
        match config(metadata, vocabulary) {
            Ok(config) => Ok(config),
            Err(Problem::Metadata(error)) => Err(Error::Metadata { path, error }),
            Err(Problem::Text(problem)) => Err(Error::Model { path, problem }),
        }
    }
}

/// The values of one architecture.
struct Values<'m> {
    metadata: &'m Metadata,
    architecture: &'static Architecture,
}

impl Values<'_> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.architecture.name)
    }

    /// A size. Some files have one for each layer, which then must be equal.
    fn size(&self, name: &str) -> Result<Option<usize>, Problem> {
        let key = self.key(name);
        let size = match self.metadata.size(&key) {
            Ok(size) => size,
            Err(error) => match self.metadata.u64s(&key).map_err(|_| error)? {
                Some(sizes) if sizes.windows(2).all(|pair| pair[0] == pair[1]) && !sizes.is_empty() => {
                    Some(usize::try_from(sizes[0]).unwrap_or(usize::MAX))
                }
                _ => {
                    return Err(
                        format!("has layers of different sizes (`{key}`), which is not supported").into()
                    );
                }
            },
        };
        match size {
            Some(size) if size > MOST => Err(format!("has a `{key}` of {size}").into()),
            size => Ok(size),
        }
    }

    fn needed(&self, name: &str) -> Result<usize, Problem> {
        match self.size(name)? {
            Some(0) => Err(format!("has a `{}` of 0", self.key(name)).into()),
            Some(size) => Ok(size),
            None => Err(MetadataError::Missing(self.key(name)).into()),
        }
    }

    fn number(&self, name: &str) -> Result<Option<f64>, Problem> {
        let key = self.key(name);
        match self.metadata.f64(&key)? {
            Some(number) if !number.is_finite() => Err(format!("has a `{key}` of {number}").into()),
            number => Ok(number),
        }
    }

    fn text(&self, name: &str) -> Result<Option<&str>, Problem> {
        Ok(self.metadata.str(&self.key(name))?)
    }
}

fn config(metadata: &Metadata, vocabulary: usize) -> Result<Config, Problem> {
    let name = metadata.required("general.architecture", Metadata::str)?;
    let Some(architecture) = architecture::named(name) else {
        let known: Vec<_> = architecture::all().iter().map(|row| row.name).collect();
        return Err(format!(
            "has the architecture `{name}`, which is not known; known are {}",
            known.join(", ")
        )
        .into());
    };
    let values = Values { metadata, architecture };
    let (width, heads) = (values.needed("embedding_length")?, values.needed("attention.head_count")?);
    let kv_heads = values.size("attention.head_count_kv")?.unwrap_or(heads);
    if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
        return Err(format!("has {heads} heads of queries and {kv_heads} of keys").into());
    }
    let head_size = values.size("attention.key_length")?.unwrap_or(width / heads);
    if head_size == 0 || !head_size.is_multiple_of(2) {
        return Err(format!("has heads of {head_size} elements").into());
    }
    if let Some(size) = values.size("attention.value_length")?
        && size != head_size
    {
        return Err(
            format!("has keys of {head_size} and values of {size} elements, which is not supported").into()
        );
    }
    let is_encoder = architecture.family == Family::Bert;
    let eps = if is_encoder { "attention.layer_norm_epsilon" } else { "attention.layer_norm_rms_epsilon" };
    let Some(norm_eps) = values.number(eps)?.map(|eps| eps as f32).filter(|eps| *eps >= 0.0) else {
        return Err(MetadataError::Missing(values.key(eps)).into());
    };
    let experts = match values.size("expert_count")? {
        None | Some(0) => None,
        Some(count) => {
            let used = values.needed("expert_used_count")?;
            if used > count {
                return Err(format!("uses {used} of {count} experts").into());
            }
            let feed_forward = match values.size("expert_feed_forward_length")? {
                Some(size) => size,
                None => values.needed("feed_forward_length")?,
            };
            let shared = values.size("expert_shared_feed_forward_length")?.filter(|size| *size > 0);
            Some(Experts { count, used, feed_forward, shared })
        }
    };
    let feed_forward = match experts {
        Some(experts) => values.size("feed_forward_length")?.unwrap_or(experts.feed_forward),
        None => values.needed("feed_forward_length")?,
    };
    let window = values.size("attention.sliding_window")?.filter(|window| *window > 0);
    let rope = rope(&values, head_size)?;
    // What stretches the context does not apply to windows.
    let window_rope = architecture.window_rope_base.map(|otherwise| -> Result<Rope, Problem> {
        let base = values.number("rope.freq_base_swa")?.unwrap_or(otherwise);
        Ok(Rope { base, scaling: RopeScaling::None, ..rope })
    });
    let limit = |name: &str| -> Result<Option<f32>, Problem> {
        Ok(values.number(name)?.map(|cap| cap as f32).filter(|cap| *cap > 0.0))
    };
    // Behind the layers there may be some that guess further tokens.
    let guessing = values.size("nextn_predict_layers")?.unwrap_or(0);
    let blocks = values.needed("block_count")?;
    if guessing >= blocks {
        return Err(format!("has {blocks} layers, of which {guessing} guess further tokens").into());
    }
    let layers = blocks - guessing;
    let delta = match architecture.family {
        Family::Qwen35 => Some(delta(&values, layers)?),
        _ => None,
    };
    Ok(Config {
        architecture,
        is_of_gguf: true,
        name: metadata.str("general.name")?.map(str::to_owned),
        layers,
        width,
        vocabulary,
        context: values.needed("context_length")?,
        feed_forward,
        heads,
        kv_heads,
        head_size,
        norm_eps,
        rope,
        rope_style: architecture.rope_style,
        window_rope: window_rope.transpose()?,
        window,
        attention_scale: attention_scale(architecture, layers, width, heads, head_size),
        attention_cap: limit("attn_logit_softcapping")?,
        logit_cap: limit("final_logit_softcapping")?,
        experts,
        delta,
        pooling: match values.size("pooling_type")? {
            Some(1) => Some(Pooling::Mean),
            Some(2) => Some(Pooling::First),
            Some(3) => Some(Pooling::Last),
            _ => None,
        },
    })
}

/// Gated delta nets.
fn delta(values: &Values<'_>, layers: usize) -> Result<Delta, Problem> {
    let (heads, inner) = (values.needed("ssm.time_step_rank")?, values.needed("ssm.inner_size")?);
    let key = values.key("attention.recurrent_layers");
    let attention = match values.metadata.bools(&key)? {
        Some(recurrent) if recurrent.len() >= layers => {
            recurrent[..layers].iter().map(|is_recurrent| !is_recurrent).collect()
        }
        Some(recurrent) => {
            return Err(format!("has `{key}` for {} of {layers} layers", recurrent.len()).into());
        }
        None => Delta::attention_every(values.size("full_attention_interval")?, layers)?,
    };
    let delta = Delta {
        attention,
        key_heads: values.needed("ssm.group_count")?,
        heads,
        key_size: values.needed("ssm.state_size")?,
        value_size: inner / heads,
        width: values.needed("ssm.conv_kernel")?,
        order: if values.architecture.tiles_heads { HeadOrder::Tiled } else { HeadOrder::Grouped },
    };
    delta.check()?;
    match delta.value_size * heads == inner {
        true => Ok(delta),
        false => Err(format!("has values of {inner} elements for {heads} heads").into()),
    }
}

/// The factor of attention's scores. Gemma's 27B models do not take it from the size of their heads.
fn attention_scale(
    architecture: &Architecture,
    layers: usize,
    width: usize,
    heads: usize,
    head_size: usize,
) -> f32 {
    let is_27b = matches!((architecture.name, layers), ("gemma2", 46) | ("gemma3", 62));
    let size = if is_27b { width / heads } else { head_size };
    (size.max(1) as f32).sqrt().recip()
}

fn rope(values: &Values<'_>, head_size: usize) -> Result<Rope, Problem> {
    let rotary = values.size("rope.dimension_count")?.unwrap_or(head_size);
    if rotary > head_size || !rotary.is_multiple_of(2) {
        return Err(format!("rotates {rotary} of {head_size} elements of each head").into());
    }
    let base = values.number("rope.freq_base")?.unwrap_or(10_000.0);
    if base <= 0.0 {
        return Err(format!("has a `{}` of {base}", values.key("rope.freq_base")).into());
    }
    // Older files have only the linear factor.
    let factor = match values.number("rope.scaling.factor")? {
        None => values.number("rope.scale_linear")?,
        factor => factor,
    };
    let factor = factor.filter(|factor| *factor > 0.0);
    let kind = match values.text("rope.scaling.type")? {
        None if factor.is_some() => "linear",
        None => "none",
        Some(kind) => kind,
    };
    let scaling = match (kind, factor) {
        ("none", _) | (_, None) => RopeScaling::None,
        ("linear", Some(factor)) => RopeScaling::Linear { factor },
        ("yarn", Some(factor)) => RopeScaling::Yarn {
            factor,
            original_context: match values.size("rope.scaling.original_context_length")? {
                Some(context) => context as f64,
                None => values.needed("context_length")? as f64,
            },
            beta_fast: values.number("rope.scaling.yarn_beta_fast")?.unwrap_or(32.0),
            beta_slow: values.number("rope.scaling.yarn_beta_slow")?.unwrap_or(1.0),
            // The file's factor comes on top of the usual one.
            attention_factor: values
                .number("rope.scaling.attn_factor")?
                .map(|given| given * (0.1 * factor.max(1.0).ln() + 1.0)),
            truncate: true,
        },
        (other, _) => {
            return Err(format!(
                "stretches its context by `{other}`, which is not known; known are linear, yarn"
            )
            .into());
        }
    };
    Ok(Rope { rotary, base, scaling })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::{Array, Value};

    fn metadata(values: &[(&str, Value)]) -> Metadata {
        let mut metadata = Metadata::default();
        let usual = [
            ("general.architecture", Value::String("gemma3".into())),
            ("gemma3.block_count", Value::U32(12)),
            ("gemma3.context_length", Value::U32(32768)),
            ("gemma3.embedding_length", Value::U32(64)),
            ("gemma3.feed_forward_length", Value::Array(Array::I32(vec![128; 12]))),
            ("gemma3.attention.head_count", Value::U32(4)),
            ("gemma3.attention.head_count_kv", Value::U32(2)),
            ("gemma3.attention.key_length", Value::U32(32)),
            ("gemma3.attention.layer_norm_rms_epsilon", Value::F32(1e-6)),
            ("gemma3.attention.sliding_window", Value::U32(512)),
            ("gemma3.rope.freq_base", Value::F32(1e6)),
            ("gemma3.rope.scaling.type", Value::String("linear".into())),
            ("gemma3.rope.scaling.factor", Value::F32(8.0)),
        ];
        for (name, value) in usual.iter().chain(values) {
            metadata.insert((*name).to_owned(), value.clone());
        }
        metadata
    }

    #[test]
    fn values_become_a_configuration() {
        let config = Config::of_metadata(&metadata(&[]), 1000, Path::new("m.gguf")).expect("a configuration");
        assert_eq!((config.head_size, config.query_width(), config.key_width()), (32, 128, 64));
        assert_eq!((config.feed_forward, config.layers, config.vocabulary), (128, 12, 1000));
        let windows: Vec<_> = (0..12).filter(|&layer| !config.has_window(layer)).collect();
        assert_eq!((windows, config.window_of(0)), (vec![5, 11], Some(512)));
        assert_eq!(config.rope.scaling, RopeScaling::Linear { factor: 8.0 });
        let window = config.window_rope.expect("another rotation");
        assert_eq!((window.base, window.scaling), (10_000.0, RopeScaling::None));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_name() {
        for (name, value, expected) in [
            (
                "general.architecture",
                Value::String("rwkv".into()),
                "the architecture `rwkv`, which is not known",
            ),
            ("gemma3.block_count", Value::U32(0), "a `gemma3.block_count` of 0"),
            ("gemma3.block_count", Value::U32(1 << 30), "a `gemma3.block_count` of 1073741824"),
            ("gemma3.block_count", Value::Bool(true), "`gemma3.block_count` is a boolean"),
            ("gemma3.attention.head_count_kv", Value::U32(3), "4 heads of queries and 3 of keys"),
            ("gemma3.attention.key_length", Value::U32(33), "heads of 33 elements"),
            ("gemma3.attention.value_length", Value::U32(16), "keys of 32 and values of 16"),
            ("gemma3.feed_forward_length", Value::Array(Array::I32(vec![1, 2])), "layers of different sizes"),
            ("gemma3.rope.dimension_count", Value::U32(64), "rotates 64 of 32"),
            ("gemma3.rope.freq_base", Value::F32(f32::NAN), "a `gemma3.rope.freq_base` of NaN"),
            ("gemma3.rope.scaling.type", Value::String("odd".into()), "stretches its context by `odd`"),
        ] {
            let error = Config::of_metadata(&metadata(&[(name, value)]), 1000, Path::new("m.gguf"));
            let error = error.expect_err(name).to_string();
            assert!(error.starts_with("m.gguf: ") && error.contains(expected), "{name}: {error}");
        }
    }
}
