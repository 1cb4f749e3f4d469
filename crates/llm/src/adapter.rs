//! Adapters of low rank (LoRA): what is added to a model's matrices without changing them.
//!
//! A matrix W becomes W + scale · B A, where A has as many rows as B has columns: the rank. Matrices of a
//! model stay as they are, also quantised ones, and each product gets its summand. Read are llama.cpp's GGUF
//! files, and PEFT's folders with `adapter_config.json` and `adapter_model.safetensors`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use backend::RopeStyle;
use serde_json::Value;

use crate::config::{Config, Family};
use crate::error::{Error, Result};
use crate::gguf::GgufFile;
use crate::safetensors::{self, RawTensors};
use crate::weights;

/// An adapter, and how strongly it acts.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterOption {
    /// A GGUF file, or a folder.
    pub path: PathBuf,
    /// Multiplies what the adapter adds; 1 as it was trained.
    pub scale: f32,
}

/// An adapter on the host.
#[derive(Debug)]
pub struct Adapter {
    path: PathBuf,
    /// By the names of the matrices in GGUF files, without `.weight`.
    matrices: BTreeMap<String, LowRank>,
}

/// What is added to a matrix of `[rows, columns]`.
#[derive(Clone, Debug)]
pub(crate) struct LowRank {
    pub(crate) rank: usize,
    /// `[rank, columns]`.
    pub(crate) a: Vec<f32>,
    /// `[rows, rank]`, with all scales.
    pub(crate) b: Vec<f32>,
}

impl Adapter {
    /// Reads an adapter for a model.
    ///
    /// # Errors
    /// [`Error::Adapter`] names the file, and says what is wrong with it; [`Error::Io`] and those of GGUF
    /// files.
    pub fn open(option: &AdapterOption, config: &Config) -> Result<Self> {
        let path = option.path.clone();
        let matrices = match path.is_dir() {
            true => of_peft(&path, config, option.scale)?,
            false => of_gguf(&path, config, option.scale)?,
        };
        if matrices.is_empty() {
            return Err(wrong(&path, "changes no matrix".into()));
        }
        Ok(Self { path, matrices })
    }

    /// What is added to a matrix; the name is without `.weight`.
    pub(crate) fn matrix(&self, name: &str) -> Option<&LowRank> {
        self.matrices.get(name)
    }

    /// Refuses an adapter for matrices that are not among those that a model took.
    pub(crate) fn check_used(&self, used: impl Fn(&str) -> bool) -> Result<()> {
        match self.matrices.keys().find(|name| !used(name)) {
            None => Ok(()),
            Some(name) => Err(wrong(
                &self.path,
                format!("changes `{name}`, which the model lacks or which cannot be adapted"),
            )),
        }
    }

    pub(crate) fn wrong_shape(&self, name: &str, rows: usize, columns: usize) -> Error {
        wrong(&self.path, format!("changes `{name}`, but has not the size of its {rows} rows of {columns}"))
    }
}

fn wrong(path: &Path, problem: String) -> Error {
    Error::Adapter { path: path.to_owned(), problem }
}

/// Both halves of a matrix as they are read.
#[derive(Default)]
struct Halves {
    a: Option<(Vec<usize>, Vec<f32>)>,
    b: Option<(Vec<usize>, Vec<f32>)>,
}

impl Halves {
    /// Puts the halves together; `factor` tells the scale of a rank.
    fn join(self, factor: impl Fn(usize) -> Result<f64, String>) -> Result<LowRank, String> {
        let (Some((a_shape, a)), Some((b_shape, mut b))) = (self.a, self.b) else {
            return Err("has one half of a pair".into());
        };
        let (&[rank, _], &[_, columns]) = (&a_shape[..], &b_shape[..]) else {
            return Err(format!("has the shapes {a_shape:?} and {b_shape:?}"));
        };
        if rank == 0 || rank != columns {
            return Err(format!("has the shapes {a_shape:?} and {b_shape:?}, which have no common rank"));
        }
        let factor = factor(rank)?;
        b.iter_mut().for_each(|x| *x = (f64::from(*x) * factor) as f32);
        Ok(LowRank { rank, a, b })
    }
}

/// Puts all halves together.
fn joined(
    path: &Path,
    halves: BTreeMap<String, Halves>,
    factor: impl Fn(&str, usize) -> Result<f64, String>,
) -> Result<BTreeMap<String, LowRank>> {
    let join = |(name, halves): (String, Halves)| {
        let low_rank = halves
            .join(|rank| factor(&name, rank))
            .map_err(|problem| wrong(path, format!("{problem} (`{name}`)")))?;
        Ok((name, low_rank))
    };
    halves.into_iter().map(join).collect()
}

fn of_gguf(path: &Path, config: &Config, scale: f32) -> Result<BTreeMap<String, LowRank>> {
    let file = GgufFile::open(path)?;
    let values = file.metadata();
    let metadata = |error| Error::Metadata { path: path.to_owned(), error };
    let text =
        |name: &str| values.str(name).map_err(metadata).map(|text| text.unwrap_or_default().to_owned());
    if text("general.type")? != "adapter" || text("adapter.type")? != "lora" {
        return Err(wrong(path, "is no LoRA adapter".into()));
    }
    let architecture = text("general.architecture")?;
    if architecture != config.architecture.name {
        let problem = format!("is for `{architecture}`, and the model is of `{}`", config.architecture.name);
        return Err(wrong(path, problem));
    }
    let alpha = values.f64("adapter.lora.alpha").map_err(metadata)?.filter(|alpha| *alpha != 0.0);
    let mut halves: BTreeMap<String, Halves> = BTreeMap::new();
    for tensor in file.tensors() {
        let (name, is_a) = match tensor.name.strip_suffix(".weight.lora_a") {
            Some(name) => (name, true),
            None => match tensor.name.strip_suffix(".weight.lora_b") {
                Some(name) => (name, false),
                None => {
                    return Err(wrong(
                        path,
                        format!("has the tensor `{}`, which is no half of a pair", tensor.name),
                    ));
                }
            },
        };
        if name == "token_embd" {
            return Err(wrong(path, "changes the vectors of tokens, which is not supported".into()));
        }
        let numbers = weights::all_numbers(&file, tensor)?;
        let halves = halves.entry(name.to_owned()).or_default();
        let half = Some((tensor.shape.clone(), numbers));
        if is_a { halves.a = half } else { halves.b = half }
    }
    joined(path, halves, |_, rank| Ok(f64::from(scale) * alpha.map_or(1.0, |alpha| alpha / rank as f64)))
}

fn of_peft(path: &Path, config: &Config, scale: f32) -> Result<BTreeMap<String, LowRank>> {
    let settings_path = path.join("adapter_config.json");
    let bytes = std::fs::read(&settings_path).map_err(|error| Error::io("read", &settings_path, error))?;
    let settings: Value = serde_json::from_slice(&bytes)
        .map_err(|error| wrong(&settings_path, format!("cannot be read: {error}")))?;
    let refuse = |problem: &str| Err(wrong(&settings_path, problem.to_owned()));
    if settings.get("peft_type").and_then(Value::as_str) != Some("LORA") {
        return refuse("is no LoRA adapter");
    }
    let is_set = |name: &str| {
        settings.get(name).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
    };
    for (name, what) in [
        ("use_dora", "scales whole rows (DoRA), which is not supported"),
        ("fan_in_fan_out", "is for turned matrices, which is not supported"),
        ("lora_bias", "has biases, which is not supported"),
    ] {
        if is_set(name) {
            return refuse(what);
        }
    }
    if settings.get("bias").and_then(Value::as_str).is_some_and(|bias| bias != "none") {
        return refuse("changes biases, which is not supported");
    }
    let number = |value: Option<&Value>| value.and_then(Value::as_f64).filter(|number| number.is_finite());
    let Some(alpha) = number(settings.get("lora_alpha")) else { return refuse("has no `lora_alpha`") };
    // Some modules may have a number of their own.
    if settings.get("alpha_pattern").and_then(Value::as_object).is_some_and(|pattern| !pattern.is_empty()) {
        return refuse("has an `alpha_pattern`, which is not supported");
    }
    let by_root = is_set("use_rslora");
    let tensors = RawTensors::open(&path.join("adapter_model.safetensors"))?;
    let mut halves: BTreeMap<String, Halves> = BTreeMap::new();
    for name in tensors.names() {
        let module = name.strip_prefix("base_model.model.").unwrap_or(name);
        let (module, is_a) = match module.strip_suffix(".lora_A.weight") {
            Some(module) => (module, true),
            None => match module.strip_suffix(".lora_B.weight") {
                Some(module) => (module, false),
                None => {
                    return Err(wrong(path, format!("has the tensor `{name}`, which is no half of a pair")));
                }
            },
        };
        let place = safetensors::place(&format!("{module}.weight"), config.architecture);
        let ours = place.as_deref().and_then(|place| place.strip_suffix(".weight"));
        let Some(ours) = ours.filter(|ours| *ours != "token_embd") else {
            return Err(wrong(path, format!("changes `{module}`, which cannot be adapted")));
        };
        let half = Some(tensors.numbers(name)?);
        let halves = halves.entry(ours.to_owned()).or_default();
        if is_a { halves.a = half } else { halves.b = half }
    }
    let mut matrices = joined(path, halves, |_, rank| {
        let rank = rank as f64;
        Ok(f64::from(scale) * alpha / if by_root { rank.sqrt() } else { rank })
    })?;
    in_order_of_gguf(path, config, &mut matrices)?;
    Ok(matrices)
}

/// Models from GGUF files have some rows in another order than Hugging Face's.
fn in_order_of_gguf(path: &Path, config: &Config, matrices: &mut BTreeMap<String, LowRank>) -> Result<()> {
    if !config.is_of_gguf {
        return Ok(());
    }
    if config.architecture.family == Family::Qwen35 {
        let problem =
            "has Hugging Face's order of heads, and the model that of GGUF files, which is not supported";
        return Err(wrong(path, problem.into()));
    }
    if config.rope_style != RopeStyle::Interleaved {
        return Ok(());
    }
    for (name, low_rank) in matrices {
        if name.ends_with(".attn_q") || name.ends_with(".attn_k") {
            low_rank.b = interleaved(&low_rank.b, low_rank.rank, config.head_size);
        }
    }
    Ok(())
}

/// Rows of each head whose halves are rotated together, so that neighbours are.
fn interleaved(rows: &[f32], columns: usize, head: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows.len());
    for head_rows in rows.chunks(head * columns) {
        let count = head_rows.len() / columns;
        for row in 0..count {
            let from = row / 2 + row % 2 * (count / 2);
            out.extend(&head_rows[from * columns..][..columns]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_heads_become_neighbours() {
        let rows: Vec<f32> = (0..16).map(|x| x as f32).collect();
        let first = [0.0, 1.0, 4.0, 5.0, 2.0, 3.0, 6.0, 7.0];
        let second = first.map(|x| x + 8.0);
        assert_eq!(interleaved(&rows, 2, 4), [first, second].concat());
    }

    #[test]
    fn halves_that_do_not_fit_are_refused() {
        let half = |shape: [usize; 2]| Some((shape.to_vec(), vec![1.0; shape[0] * shape[1]]));
        let join = |a, b| Halves { a, b }.join(|rank| Ok(2.0 / rank as f64));
        let whole = join(half([2, 3]), half([4, 2])).expect("a pair");
        assert_eq!((whole.rank, whole.a.len(), whole.b), (2, 6, vec![1.0; 8]));
        assert!(join(half([2, 3]), half([4, 3])).is_err_and(|problem| problem.contains("no common rank")));
        assert!(join(half([2, 3]), None).is_err_and(|problem| problem.contains("one half")));
        assert!(join(half([0, 3]), half([4, 0])).is_err());
    }
}
