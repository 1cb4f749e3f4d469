//! Options that several commands have.

use std::time::Duration;

use anyhow::Context;
use clap::Args;
use clap::builder::BoolishValueParser;
use variables::Variable;

use super::LoadOptions;
use crate::engine::{Dry, Sampling};

/// A limit, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit<T>(pub(crate) Option<T>);

fn problem<T>(read: Result<Option<T>, variables::Error>) -> Result<T, String> {
    read.map_err(|error| error.problem)?.ok_or_else(|| "it is empty".to_owned())
}

pub(crate) fn time(variable: &Variable, text: &str) -> Result<Duration, String> {
    problem(variable.time_of(Some(text)))
}

pub(crate) fn limit(variable: &Variable, text: &str) -> Result<Limit<Duration>, String> {
    problem(variable.time_limit_of(Some(text))).map(Limit)
}

pub(crate) fn bytes(variable: &Variable, text: &str) -> Result<Limit<u64>, String> {
    problem(variable.memory_limit_of(Some(text))).map(Limit)
}

/// Which model, where, and how large its context is.
#[derive(Clone, Debug, Default, Args)]
pub struct LoadArguments {
    /// What to run on, such as cuda:0 or cpu [default: an AMD GPU, else an NVIDIA one, else a virtual one]
    #[arg(long, visible_alias = "backend", value_name = "URI", env = variables::DEVICE.name)]
    pub device: Option<String>,
    /// The most tokens in prompt and answer together [default: what the model and the memory allow]
    #[arg(long, value_name = "TOKENS", env = variables::CONTEXT.name)]
    pub context: Option<usize>,
    /// The type of kept keys and values, such as f16 or bf16
    #[arg(long, value_name = "TYPE", env = variables::CACHE_TYPE.name)]
    pub cache_type: Option<String>,
    /// Devices that share the model, from the named one on [default: 1]
    #[arg(long, value_name = "COUNT", env = variables::RANKS.name)]
    pub ranks: Option<usize>,
    /// What runs recorded steps: graph, a graph of HIP or CUDA, or hal, a command buffer straight on HSA
    /// [default: graph]
    #[arg(long, value_name = "HOW", env = variables::STEPS.name)]
    pub steps: Option<String>,
    /// Device memory for the numbers of quantised matrices, which prompts then need not compute each time
    /// [default: half of what is free on a GPU; none on the CPU and virtual GPUs, and for several models]
    #[arg(long, value_name = "BYTES", value_parser = |text: &str| bytes(&variables::KEEP_NUMBERS, text), env = variables::KEEP_NUMBERS.name)]
    pub keep_numbers: Option<Limit<u64>>,
    /// An adapter of low rank, a GGUF file or a folder of PEFT; `:` and a number behind it scale it
    #[arg(long, value_name = "PATH[:SCALE]", env = variables::LORA.name)]
    pub lora: Vec<String>,
    /// A smaller model with the same tokens, which guesses the next ones
    #[arg(long, value_name = "MODEL", env = variables::DRAFT_MODEL.name)]
    pub draft_model: Option<String>,
    /// How many tokens are guessed at a time, without a draft model from what was said before [default: 4
    /// with a draft model, else 0]
    #[arg(long, value_name = "COUNT", env = variables::GUESSES.name)]
    pub guesses: Option<usize>,
    /// Read the model's files instead of mapping them into memory: always so, and accepted for scripts of
    /// other programs
    #[arg(long, env = variables::NO_MMAP.name, value_parser = BoolishValueParser::new())]
    pub no_mmap: bool,
}

impl LoadArguments {
    /// As options.
    #[must_use]
    pub fn options(&self) -> LoadOptions {
        LoadOptions {
            device: self.device.clone(),
            context: self.context,
            cache_type: self.cache_type.clone(),
            places: None,
            ranks: self.ranks,
            steps: self.steps.clone(),
            keep_numbers: self.keep_numbers.map(|limit| limit.0.unwrap_or(0)),
            adapters: self.lora.clone(),
            draft_model: self.draft_model.clone(),
            guesses: self.guesses,
        }
    }
}

/// The model of a command that takes one.
pub(crate) fn model(given: Option<&String>) -> anyhow::Result<&str> {
    let given = given.map(String::as_str).filter(|model| !model.is_empty());
    given.with_context(|| {
        let variable = variables::MODEL.name;
        format!("no model: name one with --model, in the variable {variable} or as `model` in the configuration file")
    })
}

/// How tokens are chosen.
#[derive(Clone, Debug, Default, Args)]
pub struct SamplingArguments {
    /// 0 always takes the likeliest token
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, env = variables::TEMPERATURE.name)]
    pub temperature: Option<f32>,
    /// Only this many of the likeliest tokens; 0 is all
    #[arg(long, value_name = "COUNT", env = variables::TOP_K.name)]
    pub top_k: Option<usize>,
    /// Only the likeliest tokens that have this probability together; 1 is all
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, env = variables::TOP_P.name)]
    pub top_p: Option<f32>,
    /// Only tokens with at least this part of the likeliest one's probability; 0 is all
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, env = variables::MIN_P.name)]
    pub min_p: Option<f32>,
    /// Only tokens of typical information, with this probability together; 1 is all
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, env = variables::TYPICAL_P.name)]
    pub typical_p: Option<f32>,
    /// Divides the logits of tokens that occurred; 1 is none
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, env = variables::REPEAT_PENALTY.name)]
    pub repeat_penalty: Option<f32>,
    /// How many of the last tokens the penalties see; 0 is all
    #[arg(long, value_name = "COUNT", env = variables::REPEAT_LAST.name)]
    pub repeat_last: Option<usize>,
    /// Subtracted from the logits of tokens that occurred
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, env = variables::PRESENCE_PENALTY.name)]
    pub presence_penalty: Option<f32>,
    /// Subtracted from the logits of tokens as often as they occurred
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, env = variables::FREQUENCY_PENALTY.name)]
    pub frequency_penalty: Option<f32>,
    /// The penalty of a repeated sequence (DRY); 0 is none
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, env = variables::DRY_MULTIPLIER.name)]
    pub dry_multiplier: Option<f32>,
    /// Its growth with each token
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, env = variables::DRY_BASE.name)]
    pub dry_base: Option<f32>,
    /// The length of sequences that may repeat
    #[arg(long, value_name = "COUNT", env = variables::DRY_ALLOWED.name)]
    pub dry_allowed: Option<usize>,
    /// The same seed gives the same answer [default: a random one]
    #[arg(long, value_name = "NUMBER", env = variables::SEED.name)]
    pub seed: Option<u64>,
}

impl SamplingArguments {
    /// As settings, with this crate's defaults, checked.
    ///
    /// # Errors
    /// A number is out of range.
    pub fn sampling(&self) -> anyhow::Result<Sampling> {
        let default = Sampling::default();
        let dry = self.dry_multiplier.filter(|multiplier| *multiplier != 0.0).map(|multiplier| {
            let default = Dry::default();
            Dry {
                multiplier,
                base: self.dry_base.unwrap_or(default.base),
                allowed: self.dry_allowed.unwrap_or(default.allowed),
                ..default
            }
        });
        let sampling = Sampling {
            temperature: self.temperature.unwrap_or(default.temperature),
            top_k: self.top_k.unwrap_or(default.top_k),
            top_p: self.top_p.unwrap_or(default.top_p),
            min_p: self.min_p.unwrap_or(default.min_p),
            typical_p: self.typical_p.unwrap_or(default.typical_p),
            repeat_penalty: self.repeat_penalty.unwrap_or(default.repeat_penalty),
            repeat_last: self.repeat_last.unwrap_or(default.repeat_last),
            presence_penalty: self.presence_penalty.unwrap_or(default.presence_penalty),
            frequency_penalty: self.frequency_penalty.unwrap_or(default.frequency_penalty),
            dry,
            seed: self.seed.unwrap_or_else(crate::ids::random),
        };
        sampling.check()?;
        Ok(sampling)
    }
}
