//! How quickly a device reads and generates, beside a copy on the device.
//!
//! `decode [URI [MODEL [BATCHES [TOKENS [PROMPTS [wait] [forget]]]]]]`: by default `cuda:0 random:8b:f16 1
//! 128 512,2048`; `-` stands for no batches or no prompts. A model with random weights ([`llm::random`])
//! needs no file. First its steps are measured alone, without an engine: a step of so many sequences is a
//! graph that is launched once its numbers are in device memory, and whose tokens the host reads before it
//! makes the next ones. The graph has room for as many keys as that of an engine. Prompts are read in one
//! part, and the time that the host needs to submit that is measured, too. Then an engine generates and reads
//! the same, and the line says how much longer its steps take than the graph alone. With `wait`, its steps
//! wait until the host has read the tokens of the one before; with `forget`, no numbers of quantised matrices
//! are kept. Of another model, such as a file, only the engine is measured. Last come the tokens of a prompt,
//! to compare with those of another device, and whether several at a time have the same.
//!
//! The rate is the bytes of all matrices that a step reads, beside the bytes that a copy reads and writes.

use std::collections::HashMap;
use std::time::Instant;

use backend::{DType, KernelBackend, KvLayout, select_backend};
use llm::engine::{Engine, Event, Request, Sampling, Usage};
use llm::model::{Cache, Inputs, Model, Part, Step, load};
use llm::random::{self, RandomModel};
use llm::weights::Weights;
use llm::{EngineOptions, models};

type Failure = Box<dyn std::error::Error>;

/// Positions of a page of the cache.
const PAGE: usize = 32;
/// How often each is measured, after a first time that does not count.
const TIMES: usize = 5;
/// An engine's graphs have room for this number of keys at least, or the next power of two.
const LEAST_KEYS: usize = 256;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Numbers with commas between them; `-` is none.
fn numbers(list: &str) -> Result<Vec<usize>, Failure> {
    if list == "-" {
        return Ok(Vec::new());
    }
    Ok(list.split(',').map(str::parse).collect::<Result<_, _>>()?)
}

/// Bytes that a copy on the device reads and writes in a second.
fn copy_rate(backend: &(dyn KernelBackend + 'static), bytes: usize) -> Result<f64, Failure> {
    let (from, to) = (backend.zeros(DType::I8, &[bytes])?, backend.zeros(DType::I8, &[bytes])?);
    let mut times = Vec::new();
    for _ in 0..8 {
        backend.synchronize()?;
        let begin = Instant::now();
        backend.copy(&from, &to)?;
        backend.copy(&to, &from)?;
        backend.synchronize()?;
        times.push(begin.elapsed().as_secs_f64() / 2.0);
    }
    Ok(2.0 * bytes as f64 / median(times))
}

/// A model, and how many bytes its steps read and a copy moves.
struct Measured<'m> {
    backend: &'m (dyn KernelBackend + 'static),
    model: &'m dyn Model,
    read: f64,
    copy: f64,
}

impl Measured<'_> {
    fn cache(&self, sequences: usize, context: usize) -> Result<Cache, Failure> {
        let layout = KvLayout::paged(sequences * context, PAGE);
        Ok(Cache::new(self.backend, self.model.config(), DType::F16, layout, sequences)?)
    }

    /// Steps of so many sequences; the seconds of the graph alone, if there is one.
    fn steps(&self, batch: usize, tokens: usize) -> Result<Option<f64>, Failure> {
        let (backend, model) = (self.backend, self.model);
        let context = (tokens + 1).next_power_of_two().max(LEAST_KEYS);
        let cache = self.cache(batch, context)?;
        let pages_of = (context / PAGE) as u32;
        let pages: Vec<Vec<u32>> =
            (0..batch as u32).map(|i| (i * pages_of..(i + 1) * pages_of).collect()).collect();
        let mut ids: Vec<u32> = (1..=batch as u32).collect();
        let inputs_at = |ids: &[u32], position: usize| {
            let mut parts = Vec::with_capacity(batch);
            for (tokens, pages) in ids.chunks(1).zip(&pages) {
                parts.push(Part { tokens, position, pages, state: None });
            }
            let mut inputs = Inputs::default();
            inputs.add(cache.kv.layout, &parts, pages_of as usize, context);
            inputs
        };
        let mut step = Step::new(backend, &inputs_at(&ids, 0))?;
        let out = backend.empty(DType::U32, &[batch])?;
        // What only the first run does.
        let logits = model.forward(backend, &step, &cache)?;
        backend.argmax(&logits, &out)?;
        if !backend.to_f32(&logits)?.iter().all(|logit| logit.is_finite()) {
            return Err("the logits are not finite".into());
        }
        let mut failed = None;
        let graph = backend.capture(&mut || {
            let work = || -> llm::Result<()> {
                let logits = model.forward(backend, &step, &cache)?;
                Ok(backend.argmax(&logits, &out)?)
            };
            failed = work().err();
            Ok(())
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        let Some(graph) = graph else {
            println!("steps: this device has no graphs");
            return Ok(None);
        };
        let (mut times, mut launches) = (Vec::new(), Vec::new());
        for _ in 0..=TIMES {
            let begin = Instant::now();
            for position in 0..tokens {
                step.update(backend, &inputs_at(&ids, position))?;
                graph.launch()?;
                ids = backend.to_u32(&out)?;
            }
            times.push(begin.elapsed().as_secs_f64() / tokens as f64);
            // The graph alone, as at the last position.
            let begin = Instant::now();
            for _ in 0..tokens {
                graph.launch()?;
            }
            backend.synchronize()?;
            launches.push(begin.elapsed().as_secs_f64() / tokens as f64);
        }
        // The first time does not count.
        let (time, launch) = (median(times.split_off(1)), median(launches.split_off(1)));
        let layers = model.config().layers;
        println!(
            "steps of {batch}: {:.1} tokens/s, {:.1} us, {:.3} TB/s, {:.3} of a copy; graph alone {:.1} us, \
             {:.3} TB/s, {:.3} of a copy; {} nodes, {:.2} a layer",
            batch as f64 / time,
            time * 1e6,
            self.read / time / 1e12,
            self.read / time / self.copy,
            launch * 1e6,
            self.read / launch / 1e12,
            self.read / launch / self.copy,
            graph.nodes(),
            graph.nodes() as f64 / layers as f64,
        );
        Ok(Some(launch))
    }

    /// A prompt of so many tokens.
    fn prompt(&self, tokens: usize) -> Result<(), Failure> {
        let (backend, model) = (self.backend, self.model);
        let context = tokens.next_multiple_of(PAGE);
        let cache = self.cache(1, context)?;
        let pages: Vec<u32> = (0..(context / PAGE) as u32).collect();
        let vocabulary = model.config().vocabulary;
        let ids: Vec<u32> = (0..tokens).map(|at| (at * 7919 % vocabulary) as u32).collect();
        let part = Part { tokens: &ids, position: 0, pages: &pages, state: None };
        let (mut submits, mut times) = (Vec::new(), Vec::new());
        for _ in 0..=TIMES {
            backend.synchronize()?;
            let begin = Instant::now();
            let mut inputs = Inputs::default();
            inputs.add(cache.kv.layout, &[part], context / PAGE, tokens);
            inputs.set_outputs(vec![tokens as u32 - 1]);
            let step = Step::new(backend, &inputs)?;
            let logits = model.forward(backend, &step, &cache)?;
            submits.push(begin.elapsed().as_secs_f64());
            backend.synchronize()?;
            times.push(begin.elapsed().as_secs_f64());
            drop(logits);
        }
        let (submit, time) = (median(submits.split_off(1)), median(times.split_off(1)));
        println!(
            "a prompt of {tokens}: {:.0} tokens/s, {:.1} us, of which the host submits {:.1} us",
            tokens as f64 / time,
            time * 1e6,
            submit * 1e6
        );
        Ok(())
    }
}

/// Runs requests at the same time: what each used, and its tokens.
fn answers(
    engine: &dyn Engine,
    prompts: &[Vec<u32>],
    tokens: usize,
) -> Result<Vec<(Usage, Vec<u32>)>, Failure> {
    let mut running = Vec::new();
    for prompt in prompts {
        let mut request = Request::new(prompt.clone());
        request.sampling = Sampling::greedy();
        request.max_tokens = tokens;
        request.ignore_end = true;
        running.push(engine.submit(request)?);
    }
    let mut results = Vec::new();
    for mut events in running {
        let mut tokens = Vec::new();
        loop {
            match events.blocking_next() {
                Some(Event::Finished { usage, .. }) => break results.push((usage, tokens)),
                Some(Event::Failed(error)) => return Err(error.into()),
                Some(Event::Token { id, .. }) => tokens.push(id),
                Some(_) => {}
                None => return Err("the engine ended without an answer".into()),
            }
        }
    }
    Ok(results)
}

/// Tokens in any order, other ones with each number.
fn prompt(seed: usize, tokens: usize, vocabulary: usize) -> Vec<u32> {
    (0..tokens).map(|at| ((at + 1) * (7919 + 2 * seed) % vocabulary) as u32).collect()
}

fn with_engine(
    engine: &dyn Engine,
    batches: &[usize],
    tokens: usize,
    prompts: &[usize],
    rates: Option<(f64, f64)>,
    graphs: &HashMap<usize, f64>,
) -> Result<(), Failure> {
    let vocabulary = engine.description().vocabulary;
    let mut seed = 0;
    let mut next = |length: usize| {
        seed += 1;
        prompt(seed, length, vocabulary)
    };
    for &batch in batches {
        let mut times = Vec::new();
        for _ in 0..=TIMES {
            let prompts: Vec<_> = (0..batch).map(|_| next(1)).collect();
            let results = answers(engine, &prompts, tokens + 1)?;
            let longest = results.iter().map(|(usage, _)| usage.generate_time).max().unwrap_or_default();
            times.push(longest.as_secs_f64() / tokens as f64);
        }
        let time = median(times.split_off(1));
        let rate = rates.map(|(read, copy)| {
            format!(", {:.3} TB/s, {:.3} of a copy", read / time / 1e12, read / time / copy)
        });
        let gap = graphs.get(&batch).map(|graph| format!(", {:+.1} us to the graph", (time - graph) * 1e6));
        println!(
            "engine, {batch} at a time, tg{tokens}: {:.1} tokens/s, {:.1} us{}{}",
            batch as f64 / time,
            time * 1e6,
            rate.unwrap_or_default(),
            gap.unwrap_or_default()
        );
    }
    for &length in prompts {
        let mut times = Vec::new();
        for _ in 0..=TIMES {
            let results = answers(engine, &[next(length)], 1)?;
            let usage = &results[0].0;
            let read = usage.prompt_tokens - usage.reused_tokens;
            times.push(usage.prompt_time.as_secs_f64() / read as f64);
        }
        let time = median(times.split_off(1));
        println!("engine, pp{length}: {:.0} tokens/s, {:.1} us", 1.0 / time, time * length as f64 * 1e6);
    }
    let asked = prompt(0, 64, vocabulary);
    let alone = answers(engine, std::slice::from_ref(&asked), 48)?.swap_remove(0).1;
    println!("tokens {alone:?}");
    // Kernels for several vectors round otherwise, so that of logits that are about equal, another one may be
    // the largest.
    for &batch in batches.iter().filter(|batch| **batch > 1) {
        let results = answers(engine, &vec![asked.clone(); batch], 48)?;
        let same = results.iter().filter(|(_, tokens)| *tokens == alone).count();
        println!("{batch} at a time: {same} with the same tokens");
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |default: &str| arguments.next().unwrap_or_else(|| default.to_owned());
    let (uri, name) = (next("cuda:0"), next("random:8b:f16"));
    let (batches, tokens): (_, usize) = (numbers(&next("1"))?, next("128").parse()?);
    let prompts = numbers(&next("512,2048"))?;
    let words: Vec<String> = arguments.collect();
    let ahead = !words.iter().any(|word| word == "wait");
    let keep_numbers = words.iter().any(|word| word == "forget").then_some(0);
    let (mut rates, mut graphs) = (None, HashMap::new());
    if random::is_random(&name) {
        let selected = select_backend(&uri)?;
        let backend = &*selected.backend;
        let copy = copy_rate(backend, 1 << 30)?;
        println!("{}, {name}; a copy: {:.3} TB/s", backend.info(), copy / 1e12);
        backend.keep_numbers(keep_numbers.unwrap_or(u64::MAX))?;
        let source = RandomModel::named(&name)?;
        let begin = Instant::now();
        let mut progress = |_| {};
        let mut weights = Weights::new(&source, backend, DType::F16, &mut progress);
        let model = load(&source.config()?, &mut weights)?;
        backend.synchronize()?;
        println!("loaded in {:.1} s", begin.elapsed().as_secs_f64());
        let read = source.bytes_of_a_step() as f64;
        let measured = Measured { backend, model: &*model, read, copy };
        for &batch in &batches {
            graphs.extend(measured.steps(batch, tokens)?.map(|graph| (batch, graph)));
        }
        prompts.iter().try_for_each(|&tokens| measured.prompt(tokens))?;
        rates = Some((read, copy));
    }
    let most = batches.iter().copied().max().unwrap_or(1);
    let options = EngineOptions {
        device: uri,
        ahead,
        keep_numbers,
        places: most,
        queue: most,
        context: Some(4096),
        cache: Some((most * (tokens + 2 * PAGE)).max(8192)),
        ..EngineOptions::default()
    };
    let engine = llm::open(models::resolve(&name)?, options)?;
    with_engine(&*engine, &batches, tokens, &prompts, rates, &graphs)
}
