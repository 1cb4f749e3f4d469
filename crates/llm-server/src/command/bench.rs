//! `ferrocm bench-model`: how fast a model reads and writes, in the shape of llama-bench.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::models::size;
use super::{LoadArguments, Source, arguments};
use crate::engine::{Engine, Event, ModelDescription, Request, Sampling, Usage};

const EXAMPLES: &str = "\
Examples:
  ferrocm bench-model --model smollm2
  ferrocm bench-model --model a.gguf --pp 512 --pp 2048 --tg 128 --depth 0 --depth 8192
  ferrocm bench-model --model a.gguf --device cuda:0 --output csv --repetitions 10

pp512 is the rate at which a prompt of 512 tokens is read, tg128 that at which 128 tokens are generated, one after the
other; @ d8192 means that 8192 tokens come before. The column t/s is mean ± standard deviation of the repetitions,
after one that does not count.
Exit status: 0 for a table, 1 if something failed, 2 for a malformed command line.";

/// Measures how fast a language model reads and writes
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The model: a GGUF file, a folder with safetensors, or a name that `ferrocm models` lists
    #[arg(long, value_name = "FILE|NAME", env = variables::MODEL.name)]
    pub model: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArguments,
    /// A prompt's length; may be repeated; 0 for none
    #[arg(long, value_name = "TOKENS", default_value = "512", env = variables::BENCH_PP.name)]
    pub(crate) pp: Vec<usize>,
    /// How many tokens to generate; may be repeated; 0 for none
    #[arg(long, value_name = "TOKENS", default_value = "128", env = variables::BENCH_TG.name)]
    pub(crate) tg: Vec<usize>,
    /// How many tokens come before; may be repeated
    #[arg(long, value_name = "TOKENS", default_value = "0", env = variables::BENCH_DEPTH.name)]
    pub(crate) depth: Vec<usize>,
    /// How often each is measured
    #[arg(long, value_name = "COUNT", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000), env = variables::BENCH_REPETITIONS.name)]
    pub(crate) repetitions: u32,
    /// The form of the table
    #[arg(long, default_value = "markdown", env = variables::BENCH_OUTPUT.name)]
    pub(crate) output: Output,
    /// The configuration file
    #[arg(long, value_name = "FILE", env = variables::CONFIG.name)]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Output {
    Markdown,
    Csv,
    Json,
}

/// Loads the model, measures it, and prints the table.
///
/// # Errors
/// The model cannot be loaded, or a length does not fit in the context.
pub fn run(arguments: &Arguments, source: &dyn Source) -> anyhow::Result<()> {
    let model = arguments::model(arguments.model.as_ref())?;
    let engine = source.load(model, &arguments.load.options())?;
    bench(arguments, &*engine, &mut io::stdout().lock())
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Read(usize),
    Generate(usize),
}

impl Test {
    fn name(self, depth: usize) -> String {
        let name = match self {
            Self::Read(tokens) => format!("pp{tokens}"),
            Self::Generate(tokens) => format!("tg{tokens}"),
        };
        if depth > 0 { format!("{name} @ d{depth}") } else { name }
    }
}

/// A row of the table.
struct Row {
    test: Test,
    depth: usize,
    /// Tokens in a second, of each repetition.
    rates: Vec<f64>,
}

impl Row {
    fn mean(&self) -> f64 {
        self.rates.iter().sum::<f64>() / self.rates.len() as f64
    }

    /// The standard deviation of a sample; 0 for a single one.
    fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let degrees = self.rates.len().saturating_sub(1).max(1);
        (squares / degrees as f64).sqrt()
    }
}

fn bench(arguments: &Arguments, engine: &dyn Engine, out: &mut dyn Write) -> anyhow::Result<()> {
    let read = arguments.pp.iter().filter(|tokens| **tokens > 0).map(|tokens| Test::Read(*tokens));
    let generate = arguments.tg.iter().filter(|tokens| **tokens > 0).map(|tokens| Test::Generate(*tokens));
    let tests: Vec<Test> = read.chain(generate).collect();
    if tests.is_empty() {
        bail!("there is nothing to measure: --pp and --tg are 0");
    }
    let mut numbers = Numbers { state: 1, vocabulary: engine.tokenizer().len() };
    let mut rows = Vec::new();
    for depth in &arguments.depth {
        for test in &tests {
            let mut rates = Vec::new();
            // The first one loads kernels and makes graphs.
            for repetition in 0..=arguments.repetitions {
                let rate = measure(engine, *test, *depth, &mut numbers)?;
                if repetition > 0 {
                    rates.push(rate);
                }
            }
            rows.push(Row { test: *test, depth: *depth, rates });
        }
    }
    match arguments.output {
        Output::Markdown => markdown(engine.description(), &rows, out)?,
        Output::Csv => csv(engine.description(), &rows, out)?,
        Output::Json => writeln!(out, "{:#}", json(engine.description(), &rows))?,
    }
    Ok(())
}

/// Tokens in a second.
fn measure(engine: &dyn Engine, test: Test, depth: usize, numbers: &mut Numbers) -> anyhow::Result<f64> {
    // New tokens each time: an engine may keep what it has read.
    let before = numbers.tokens(depth);
    if depth > 0 && matches!(test, Test::Read(_)) {
        answer(engine, before.clone(), 1)?;
    }
    let (tokens, time) = match test {
        Test::Read(tokens) => {
            let usage = answer(engine, [before, numbers.tokens(tokens)].concat(), 1)?;
            (usage.prompt_tokens - usage.reused_tokens.min(usage.prompt_tokens), usage.prompt_time)
        }
        Test::Generate(tokens) => {
            let prompt = if depth > 0 { before } else { numbers.tokens(1) };
            // The first token belongs to the prompt's time.
            let usage = answer(engine, prompt, tokens + 1)?;
            (usage.generated_tokens.saturating_sub(1), usage.generate_time)
        }
    };
    if tokens == 0 || time == Duration::ZERO {
        bail!("{}: nothing was measured", test.name(depth));
    }
    Ok(tokens as f64 / time.as_secs_f64())
}

/// Generates tokens, whatever they are.
fn answer(engine: &dyn Engine, prompt: Vec<u32>, max_tokens: usize) -> anyhow::Result<Usage> {
    let context = engine.description().context;
    if prompt.len() + max_tokens > context {
        bail!(
            "{} tokens do not fit in the context of {context}: --context makes it larger",
            prompt.len() + max_tokens
        );
    }
    let mut request = Request::new(prompt);
    request.sampling = Sampling::greedy();
    request.max_tokens = max_tokens;
    request.ignore_end = true;
    let mut events = engine.submit(request)?;
    loop {
        match events.blocking_next() {
            Some(Event::Finished { usage, .. }) => return Ok(usage),
            Some(Event::Failed(error)) => return Err(error.into()),
            Some(_) => {}
            None => bail!("the engine ended without an answer"),
        }
    }
}

/// Tokens at random, the same in each run.
struct Numbers {
    state: u64,
    vocabulary: usize,
}

impl Numbers {
    fn tokens(&mut self, count: usize) -> Vec<u32> {
        let mut token = || {
            // SplitMix64.
            self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) % self.vocabulary.max(1) as u64) as u32
        };
        (0..count).map(|_| token()).collect()
    }
}

/// The columns of each row.
fn cells(description: &ModelDescription, row: &Row) -> [String; 6] {
    let parameters = description.parameters as f64;
    let parameters = if parameters >= 1e9 {
        format!("{:.2} B", parameters / 1e9)
    } else {
        format!("{:.2} M", parameters / 1e6)
    };
    [
        format!("{} {}", description.name, description.weights).trim_end().to_owned(),
        size(description.bytes),
        parameters,
        description.device.clone(),
        row.test.name(row.depth),
        format!("{:.2} ± {:.2}", row.mean(), row.deviation()),
    ]
}

const TITLES: [&str; 6] = ["model", "size", "params", "device", "test", "t/s"];

fn markdown(description: &ModelDescription, rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let cells: Vec<[String; 6]> = rows.iter().map(|row| cells(description, row)).collect();
    let width = |column: usize| {
        let widths = cells.iter().map(|cells| cells[column].chars().count());
        widths.chain([TITLES[column].len()]).max().unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |cells: [&str; 6]| {
        let cells = cells.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            1 | 2 | 4 | 5 => format!("{cell:>width$}"),
            _ => format!("{cell:width$}"),
        });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    writeln!(out, "{}", line(TITLES))?;
    let rule = widths.iter().enumerate().map(|(column, width)| match column {
        1 | 2 | 4 | 5 => format!("{}:", "-".repeat(width + 1)),
        _ => "-".repeat(width + 2),
    });
    writeln!(out, "|{}|", rule.collect::<Vec<_>>().join("|"))?;
    for row in &cells {
        writeln!(out, "{}", line(std::array::from_fn(|column| row[column].as_str())))?;
    }
    Ok(())
}

/// The numbers of a row, with their names.
fn fields(description: &ModelDescription, row: &Row) -> Vec<(&'static str, Value)> {
    let (prompt, generated) = match row.test {
        Test::Read(tokens) => (tokens, 0),
        Test::Generate(tokens) => (0, tokens),
    };
    vec![
        ("model", json!(description.name)),
        ("architecture", json!(description.architecture)),
        ("weights", json!(description.weights)),
        ("model_size", json!(description.bytes)),
        ("model_n_params", json!(description.parameters)),
        ("device", json!(description.device)),
        ("n_prompt", json!(prompt)),
        ("n_gen", json!(generated)),
        ("n_depth", json!(row.depth)),
        ("repetitions", json!(row.rates.len())),
        ("avg_ts", json!(row.mean())),
        ("stddev_ts", json!(row.deviation())),
    ]
}

fn csv(description: &ModelDescription, rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    for (index, row) in rows.iter().enumerate() {
        let fields = fields(description, row);
        if index == 0 {
            writeln!(out, "{}", fields.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(","))?;
        }
        let cell = |value: &Value| match value {
            Value::String(text) => format!("\"{}\"", text.replace('"', "\"\"")),
            value => value.to_string(),
        };
        writeln!(out, "{}", fields.iter().map(|(_, value)| cell(value)).collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

fn json(description: &ModelDescription, rows: &[Row]) -> Value {
    let row = |row: &Row| {
        let mut fields = fields(description, row);
        fields.push(("samples_ts", json!(row.rates)));
        Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::command::chat::scripted::Scripted;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn table(line: &str) -> String {
        let words = std::iter::once("bench-model").chain(line.split_whitespace());
        let arguments = Line::parse_from(words).arguments;
        let mut out = Vec::new();
        bench(&arguments, &Scripted::new("test", 8), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_length_at_each_depth_is_a_row() {
        let text = table("--pp 8 --pp 16 --tg 2 --depth 0 --depth 4 --repetitions 2");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2 + 6);
        assert!(lines[0].starts_with("| model") && lines[1].contains("-:|"), "{text}");
        let widths: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
        for name in ["pp8 |", "pp16 |", "tg2 |", "pp8 @ d4 |", "tg2 @ d4 |"] {
            assert_eq!(text.matches(&format!(" {name}")).count(), 1, "{name}: {text}");
        }
        let text = table("--pp 8 --tg 0 --repetitions 3 --output csv");
        assert_eq!(text.lines().count(), 2);
        let text = table("--pp 8 --tg 2 --repetitions 3 --output json");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (value.as_array().unwrap().len(), value[0]["samples_ts"].as_array().unwrap().len()),
            (2, 3)
        );
    }

    #[test]
    fn deviations_are_those_of_a_sample() {
        let row = Row { test: Test::Read(1), depth: 0, rates: vec![1.0, 2.0, 3.0] };
        assert_eq!((row.mean(), row.deviation()), (2.0, 1.0));
        assert_eq!(Row { rates: vec![5.0], ..row }.deviation(), 0.0);
    }
}
