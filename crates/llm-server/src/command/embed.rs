//! `ferrocm embed`: vectors of texts.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use serde_json::json;

use super::{LoadArguments, Source, arguments};
use crate::engine::{Engine, Pooling, SpecialText};

const EXAMPLES: &str = "\
Examples:
  ferrocm embed --model all-minilm --text 'a wavefront' --text 'a warp'
  ferrocm embed --model encoder.gguf --json < lines.txt

Each vector is a line of numbers with blanks between. Without --text, each line of standard input is a text.
Exit status: 0 for vectors, 1 if something failed, 2 for a malformed command line.";

/// Prints the vectors of texts, of an encoder or another language model
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The model: a GGUF file, a folder with safetensors, or a name that `ferrocm models` lists
    #[arg(long, value_name = "FILE|NAME", env = variables::MODEL.name)]
    pub model: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArguments,
    /// A text; may be repeated
    #[arg(long, value_name = "TEXT", env = variables::TEXT.name)]
    pub(crate) text: Vec<String>,
    /// How the vectors of tokens become one
    #[arg(long, default_value = "model", env = variables::POOLING.name)]
    pub(crate) pooling: PoolingName,
    /// Print JSON
    #[arg(long, env = variables::JSON.name, value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    /// The configuration file
    #[arg(long, value_name = "FILE", env = variables::CONFIG.name)]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PoolingName {
    /// As the model's file says
    Model,
    /// The mean
    Mean,
    /// The first token's
    First,
    /// The last token's
    Last,
}

/// Loads the model and prints the vectors.
///
/// # Errors
/// The model cannot be loaded, or a text does not fit.
pub fn run(arguments: &Arguments, source: &dyn Source) -> anyhow::Result<()> {
    let model = arguments::model(arguments.model.as_ref())?;
    let texts = match arguments.text.is_empty() {
        false => arguments.text.clone(),
        true => {
            io::stdin().lock().lines().collect::<io::Result<_>>().context("cannot read standard input")?
        }
    };
    if texts.is_empty() {
        bail!("there is no text");
    }
    let engine = source.load(model, &arguments.load.options())?;
    embed(arguments, &*engine, &texts, &mut io::stdout().lock())
}

fn embed(
    arguments: &Arguments,
    engine: &dyn Engine,
    texts: &[String],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let context = engine.description().context;
    let mut tokens = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let of_text = engine.tokenizer().encode(text, SpecialText::Text)?;
        if of_text.is_empty() || of_text.len() > context {
            bail!("text {} has {} tokens, not 1 to {context}", index + 1, of_text.len());
        }
        tokens.push(of_text);
    }
    let pooling = match arguments.pooling {
        PoolingName::Model => Pooling::Model,
        PoolingName::Mean => Pooling::Mean,
        PoolingName::First => Pooling::First,
        PoolingName::Last => Pooling::Last,
    };
    let vectors = engine.embed(&tokens, pooling)?;
    if arguments.json {
        let all = texts.iter().zip(&vectors).zip(&tokens);
        let all = all.map(
            |((text, vector), tokens)| json!({ "text": text, "tokens": tokens.len(), "vector": vector }),
        );
        writeln!(out, "{:#}", json!(all.collect::<Vec<_>>()))?;
        return Ok(());
    }
    for vector in vectors {
        let numbers: Vec<String> = vector.iter().map(ToString::to_string).collect();
        writeln!(out, "{}", numbers.join(" "))?;
    }
    Ok(())
}
