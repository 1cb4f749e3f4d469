//! Running a model without an engine.

use std::path::Path;
use std::sync::Arc;

use backend::{DType, KernelBackend, KvLayout, Tensor};
use llm::adapter::{Adapter, AdapterOption};
use llm::config::Config;
use llm::gguf::GgufFile;
use llm::model::{Cache, Inputs, Model, Part, Step, load};
use llm::safetensors::SafetensorsFiles;
use llm::weights::{Source, Weights};
use serde_json::Value;

/// A model with one sequence.
pub(crate) struct Running {
    pub(crate) backend: Arc<dyn KernelBackend>,
    pub(crate) model: Box<dyn Model>,
    cache: Cache,
    pages: Vec<u32>,
    position: usize,
}

impl Running {
    /// A GGUF file on a backend, with this type of activations.
    pub(crate) fn on(backend: Arc<dyn KernelBackend>, dtype: DType, path: &Path, positions: usize) -> Self {
        Self::adapted(backend, dtype, path, &[], positions)
    }

    /// A GGUF file, or a folder in Hugging Face's layout, with adapters.
    pub(crate) fn adapted(
        backend: Arc<dyn KernelBackend>,
        dtype: DType,
        path: &Path,
        adapters: &[AdapterOption],
        positions: usize,
    ) -> Self {
        let (config, source): (Config, Box<dyn Source>) = if path.is_dir() {
            let config = Config::of_folder(path).expect("a configuration");
            let files = SafetensorsFiles::open(path, config.architecture).expect("files");
            (config, Box::new(files))
        } else {
            let file = GgufFile::open(path).expect("a file");
            let rows = file.tensor("token_embd.weight").expect("a token table").shape[0];
            let config = Config::of_metadata(file.metadata(), rows, path).expect("a configuration");
            (config, Box::new(file))
        };
        let adapters: Vec<Adapter> =
            adapters.iter().map(|option| Adapter::open(option, &config).expect("an adapter")).collect();
        let mut progress = |_| {};
        let weights = Weights::new(&*source, &*backend, dtype, &mut progress);
        let mut weights = weights.with_adapters(&adapters);
        let model = load(&config, &mut weights).expect("weights");
        weights.check_adapters().expect("all are used");
        let layout = KvLayout::paged(positions, 32);
        let cache = Cache::new(&*backend, model.config(), dtype, layout, 2).expect("a cache");
        // Pages in another order than that of positions.
        let pages = (0..layout.pages as u32).rev().collect();
        Self { backend, model, cache, pages, position: 0 }
    }

    /// The values of a file with tensors of another one.
    #[allow(dead_code, reason = "some test programs have no other tensors")]
    pub(crate) fn of(
        backend: Arc<dyn KernelBackend>,
        dtype: DType,
        file: &GgufFile,
        source: &dyn Source,
        positions: usize,
    ) -> Self {
        let rows = file.tensor("token_embd.weight").expect("a token table").shape[0];
        let config = Config::of_metadata(file.metadata(), rows, file.path()).expect("a configuration");
        let mut progress = |_| {};
        let mut weights = Weights::new(source, &*backend, dtype, &mut progress);
        let model = load(&config, &mut weights).expect("weights");
        let layout = KvLayout::paged(positions, 32);
        let cache = Cache::new(&*backend, model.config(), dtype, layout, 2).expect("a cache");
        let pages = (0..layout.pages as u32).collect();
        Self { backend, model, cache, pages, position: 0 }
    }

    /// A step of these tokens.
    fn step(&self, tokens: &[u32]) -> Step {
        let layout = self.cache.kv.layout;
        let mut inputs = Inputs::default();
        let state = self.cache.states.as_ref().map(|_| 1);
        let part = Part { tokens, position: self.position, pages: &self.pages, state };
        inputs.add(layout, &[part], self.pages.len(), layout.positions());
        Step::new(&*self.backend, &inputs).expect("a step")
    }

    /// The nodes of a graph that adds one token.
    #[allow(dead_code, reason = "not every test program counts them")]
    pub(crate) fn nodes(&self) -> usize {
        let step = self.step(&[1]);
        let graph = self.backend.capture(&mut || {
            self.model.forward(&*self.backend, &step, &self.cache).expect("logits");
            Ok(())
        });
        graph.expect("a capture").expect("a graph").nodes()
    }

    /// Adds tokens to the sequence; the logits of each.
    pub(crate) fn add(&mut self, tokens: &[u32]) -> Vec<Vec<f32>> {
        let step = self.step(tokens);
        let logits = self.model.forward(&*self.backend, &step, &self.cache).expect("logits");
        self.position += tokens.len();
        rows(&*self.backend, &logits)
    }
}

pub(crate) fn rows(backend: &(dyn KernelBackend + 'static), x: &Tensor) -> Vec<Vec<f32>> {
    let columns = x.columns();
    backend.to_f32(x).expect("numbers").chunks(columns).map(<[f32]>::to_vec).collect()
}

pub(crate) fn argmax(row: &[f32]) -> u32 {
    let mut best = 0;
    for (at, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = at;
        }
    }
    best as u32
}

/// What another program computed. It is in the test program, which may run on another machine.
pub(crate) fn reference(name: &str) -> Value {
    let text = match name {
        "adapters.json" => include_str!("../references/adapters.json"),
        "candle.json" => include_str!("../references/candle.json"),
        "hugging_face.json" => include_str!("../references/hugging_face.json"),
        "gemma3.json" => include_str!("../references/gemma3.json"),
        "perplexity.json" => include_str!("../references/perplexity.json"),
        "minilm.json" => include_str!("../references/minilm.json"),
        "smollm2.json" => include_str!("../references/smollm2.json"),
        "tiny.json" => include_str!("../references/tiny.json"),
        other => panic!("{other} is no reference"),
    };
    serde_json::from_str(text).expect("JSON")
}

pub(crate) fn tokens(value: &Value) -> Vec<u32> {
    let array = value.as_array().expect("tokens");
    array.iter().map(|token| token.as_u64().expect("a token") as u32).collect()
}

/// Compares logits with the reference's largest ones, their mean and their deviation; the largest difference
/// in units of the deviation.
pub(crate) fn difference(row: &[f32], expected: &Value) -> f64 {
    let number = |value: &Value| value.as_f64().expect("a number");
    let deviation = number(&expected["deviation"]);
    let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / row.len() as f64;
    let mut worst = (mean - number(&expected["mean"])).abs();
    for pair in expected["top"].as_array().expect("pairs") {
        let token = pair[0].as_u64().expect("a token") as usize;
        worst = worst.max((f64::from(row[token]) - number(&pair[1])).abs());
    }
    worst / deviation
}

/// The largest difference of two rows of logits, in deviations of the first.
pub(crate) fn distance(expected: &[f32], row: &[f32]) -> f64 {
    let count = expected.len() as f64;
    let mean = expected.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
    let variance = expected.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
    let differences = expected.iter().zip(row).map(|(&a, &b)| (f64::from(a) - f64::from(b)).abs());
    differences.fold(0.0, f64::max) / variance.sqrt()
}

/// How far the predictions of a text are from true ones.
#[derive(Default)]
pub(crate) struct Drift {
    /// The sums of the negative log-probabilities of the text's tokens, by true predictions and by others.
    losses: [f64; 2],
    predicted: usize,
    divergence: f64,
    positions: usize,
}

impl Drift {
    /// Adds a position's logits, true ones and others, and the token that follows, if there is one.
    pub(crate) fn add(&mut self, truth: &[f32], row: &[f32], next: Option<u32>) {
        let (p, q) = (log_softmax(truth), log_softmax(row));
        self.divergence += p.iter().zip(&q).map(|(p, q)| p.exp() * (p - q)).sum::<f64>();
        self.positions += 1;
        if let Some(next) = next {
            self.losses[0] -= p[next as usize];
            self.losses[1] -= q[next as usize];
            self.predicted += 1;
        }
    }

    /// The mean Kullback-Leibler divergence of the others from the true ones.
    pub(crate) fn divergence(&self) -> f64 {
        self.divergence / self.positions as f64
    }

    /// The text's perplexity, by true predictions and by others.
    pub(crate) fn perplexities(&self) -> [f64; 2] {
        self.losses.map(|sum| (sum / self.predicted as f64).exp())
    }
}

fn log_softmax(row: &[f32]) -> Vec<f64> {
    let highest = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let all: f64 = row.iter().map(|&x| (f64::from(x) - highest).exp()).sum();
    row.iter().map(|&x| f64::from(x) - highest - all.ln()).collect()
}
