//! `ferrocm generate`: one answer.

use std::fs;
use std::future;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::BoolishValueParser;
use serde_json::{Value, json};

use super::{LoadArguments, SamplingArguments, Source, arguments, talk};
use crate::engine::{Constraint, Engine, FinishReason};

const EXAMPLES: &str = "\
Examples:
  ferrocm generate --model smollm2 --prompt 'What is a wavefront?'
  ferrocm generate --model a.gguf --raw --prompt 'Once upon a time' --max-tokens 64 --temperature 0
  ferrocm generate --model a.gguf --prompt-file question.txt --json-schema answer.json
  cat log.txt | ferrocm generate --model a.gguf --system 'Summarise this.'

Reasoning goes to standard error, the answer to standard output.
Exit status: 0 for an answer, 1 if something failed, 2 for a malformed command line.";

/// Answers a prompt with a language model
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The model: a GGUF file, a folder with safetensors, or a name that `ferrocm models` lists
    #[arg(long, value_name = "FILE|NAME", env = variables::MODEL.name)]
    pub model: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArguments,
    /// The prompt [default: standard input]
    #[arg(long, value_name = "TEXT", env = variables::PROMPT.name, conflicts_with = "prompt_file")]
    pub(crate) prompt: Option<String>,
    /// A file with the prompt
    #[arg(long, value_name = "FILE", env = variables::PROMPT_FILE.name)]
    pub(crate) prompt_file: Option<PathBuf>,
    /// What the model is told before
    #[arg(long, value_name = "TEXT", env = variables::SYSTEM.name)]
    pub(crate) system: Option<String>,
    /// Continue the prompt as it is, without the chat template
    #[arg(long, env = variables::RAW.name, value_parser = BoolishValueParser::new())]
    pub(crate) raw: bool,
    /// The most tokens to generate
    #[arg(long, value_name = "COUNT", env = variables::MAX_TOKENS.name)]
    pub(crate) max_tokens: Option<usize>,
    /// A text that ends the answer; may be repeated
    #[arg(long, value_name = "TEXT", env = variables::STOP.name)]
    pub(crate) stop: Vec<String>,
    /// A file with the JSON schema that the answer must match
    #[arg(long, value_name = "FILE", env = variables::JSON_SCHEMA.name, conflicts_with_all = ["grammar", "regex"])]
    pub(crate) json_schema: Option<PathBuf>,
    /// A file with the grammar that the answer must match, in the language Lark
    #[arg(long, value_name = "FILE", env = variables::GRAMMAR.name, conflicts_with = "regex")]
    pub(crate) grammar: Option<PathBuf>,
    /// A regular expression that the answer must match
    #[arg(long, value_name = "REGEX", env = variables::REGEX.name)]
    pub(crate) regex: Option<String>,
    #[command(flatten)]
    pub(crate) sampling: SamplingArguments,
    /// Print JSON, with reasoning, the reason of the end, and the time that it took
    #[arg(long, env = variables::JSON.name, value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    /// Print the speed to standard error
    #[arg(long, env = variables::VERBOSE.name, value_parser = BoolishValueParser::new())]
    pub(crate) verbose: bool,
    /// The configuration file
    #[arg(long, value_name = "FILE", env = variables::CONFIG.name)]
    pub(crate) config: Option<PathBuf>,
}

/// Loads the model and writes its answer.
///
/// # Errors
/// The model cannot be loaded, the prompt does not fit, or a file cannot be read.
pub fn run(arguments: &Arguments, source: &dyn Source) -> anyhow::Result<()> {
    let model = arguments::model(arguments.model.as_ref())?;
    let prompt = prompt(arguments)?;
    let constraint = constraint(arguments)?;
    let sampling = arguments.sampling.sampling()?;
    let engine = source.load(model, &arguments.load.options())?;
    let (mut out, mut aside) = (io::stdout().lock(), io::stderr().lock());
    generate(arguments, &*engine, &prompt, constraint, sampling, &mut out, &mut aside)
}

fn generate(
    arguments: &Arguments,
    engine: &dyn Engine,
    prompt: &str,
    constraint: Option<Constraint>,
    sampling: crate::engine::Sampling,
    out: &mut dyn Write,
    aside: &mut dyn Write,
) -> anyhow::Result<()> {
    let prompt = if arguments.raw {
        talk::text(engine, prompt)?
    } else {
        let mut messages: Vec<Value> = Vec::new();
        messages.extend(arguments.system.as_ref().map(|text| json!({ "role": "system", "content": text })));
        messages.push(json!({ "role": "user", "content": prompt }));
        talk::conversation(engine, &messages)?
    };
    let mut request = talk::request(engine, prompt.tokens, arguments.max_tokens)?;
    request.visible = prompt.visible;
    request.sampling = sampling;
    request.stop = arguments.stop.iter().filter(|stop| !stop.is_empty()).cloned().collect();
    request.constraint = constraint;
    let (mut no_out, mut no_aside) = (io::sink(), io::sink());
    let (to, beside): (&mut dyn Write, &mut dyn Write) =
        if arguments.json { (&mut no_out, &mut no_aside) } else { (out, aside) };
    let answer = talk::answer(engine, request, prompt.reader, to, beside, future::pending());
    let answer = talk::runtime()?.block_on(answer)?;
    if arguments.json {
        let (reason, stop) = match &answer.reason {
            Some(FinishReason::Length) => ("length", None),
            Some(FinishReason::StopSequence(stop)) => ("stop", Some(stop)),
            Some(FinishReason::Stop) => ("stop", None),
            other => bail!("the answer was cut off: {other:?}"),
        };
        let usage = &answer.usage;
        let value = json!({
            "content": answer.content,
            "reasoning": answer.reasoning,
            "finish_reason": reason,
            "stop": stop,
            "prompt_tokens": usage.prompt_tokens,
            "reused_tokens": usage.reused_tokens,
            "generated_tokens": usage.generated_tokens,
            "prompt_seconds": usage.prompt_time.as_secs_f64(),
            "generate_seconds": usage.generate_time.as_secs_f64(),
        });
        writeln!(out, "{value:#}")?;
    } else if !answer.content.ends_with('\n') {
        writeln!(out)?;
    }
    if arguments.verbose {
        writeln!(aside, "{}", talk::speed(&answer.usage))?;
    }
    Ok(())
}

fn prompt(arguments: &Arguments) -> anyhow::Result<String> {
    let text = match (&arguments.prompt, &arguments.prompt_file) {
        (Some(prompt), _) => prompt.clone(),
        (None, Some(file)) => read(file)?,
        (None, None) => {
            let mut text = String::new();
            io::stdin()
                .lock()
                .read_to_string(&mut text)
                .context("cannot read the prompt from standard input")?;
            text
        }
    };
    if text.trim().is_empty() {
        bail!("the prompt is empty");
    }
    Ok(text)
}

fn read(file: &PathBuf) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn constraint(arguments: &Arguments) -> anyhow::Result<Option<Constraint>> {
    if let Some(file) = &arguments.json_schema {
        let schema =
            serde_json::from_str(&read(file)?).with_context(|| format!("{} is not JSON", file.display()))?;
        return Ok(Some(Constraint::JsonSchema(schema)));
    }
    if let Some(file) = &arguments.grammar {
        return Ok(Some(Constraint::Lark(read(file)?)));
    }
    Ok(arguments.regex.clone().map(Constraint::Regex))
}
