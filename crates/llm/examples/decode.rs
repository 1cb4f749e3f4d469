//! How quickly a device generates: decoder layers with random weights, beside a copy on the device.
//!
//! `decode [URI [SHAPE [WEIGHTS [BATCH [TOKENS]]]]]`: by default `cuda:0 8b f16 1 128`. Shapes are 8b and 1b,
//! Llama's, and tiny; weights are f16, q8_0 and q4_k, with the last matrix in Q6_K. No file is needed.
//!
//! As in generation, each step is a graph that is launched once its numbers are in device memory, and whose
//! tokens the host reads before it makes the next ones. The rate is the bytes of all matrices that a step
//! reads, beside the bytes that a copy reads and writes.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use backend::{DType, KernelBackend, KvLayout, QuantType, select_backend};
use llm::config::Config;
use llm::gguf::{TensorInfo, TensorType};
use llm::model::{Cache, Inputs, Part, Step, load};
use llm::weights::{Source, Weights};

type Failure = Box<dyn std::error::Error>;

/// Layers, width, inner width, heads, heads of keys, tokens, whether the token table is the last matrix, too.
const SHAPES: [(&str, [usize; 6], bool); 3] = [
    ("8b", [32, 4096, 14_336, 32, 8, 128_256], false),
    ("1b", [16, 2048, 8192, 32, 8, 128_256], true),
    ("tiny", [2, 256, 512, 4, 2, 512], true),
];

/// Numbers that repeat, for as many tensors as a model has.
struct Random {
    tensors: HashMap<String, TensorInfo>,
    patterns: HashMap<TensorType, Vec<u8>>,
}

impl Random {
    fn new(shape: [usize; 6], shared: bool, weights: TensorType) -> Self {
        let [layers, width, inner, heads, kv_heads, vocabulary] = shape;
        let kv = width / heads * kv_heads;
        let plain = |kind| if matches!(kind, TensorType::Quant(_)) { TensorType::F32 } else { kind };
        let last = match weights {
            TensorType::Quant(QuantType::Q4K) => TensorType::Quant(QuantType::Q6K),
            other => other,
        };
        let mut all = vec![
            ("token_embd.weight".to_owned(), vec![vocabulary, width], if shared { last } else { weights }),
            ("output_norm.weight".to_owned(), vec![width], plain(weights)),
        ];
        if !shared {
            all.push(("output.weight".to_owned(), vec![vocabulary, width], last));
        }
        for layer in 0..layers {
            for (name, rows, columns) in [
                ("attn_q", width, width),
                ("attn_k", kv, width),
                ("attn_v", kv, width),
                ("attn_output", width, width),
                ("ffn_gate", inner, width),
                ("ffn_up", inner, width),
                ("ffn_down", width, inner),
            ] {
                all.push((format!("blk.{layer}.{name}.weight"), vec![rows, columns], weights));
            }
            for name in ["attn_norm", "ffn_norm"] {
                all.push((format!("blk.{layer}.{name}.weight"), vec![width], plain(weights)));
            }
        }
        let mut tensors = HashMap::new();
        let mut patterns = HashMap::new();
        for (name, shape, kind) in all {
            let (values, bytes) = kind.block().unwrap_or((1, 1));
            let bytes = Some(shape.iter().product::<usize>() / values * bytes);
            patterns.entry(kind).or_insert_with(|| pattern(kind));
            tensors.insert(name.clone(), TensorInfo { name, shape, kind, offset: 0, bytes });
        }
        Self { tensors, patterns }
    }

    /// Bytes of the matrices that a step reads.
    fn read(&self, shared: bool) -> usize {
        let matrices = self.tensors.values().filter(|info| info.shape.len() == 2);
        let read = matrices.filter(|info| shared || info.name != "token_embd.weight");
        read.filter_map(|info| info.bytes).sum()
    }
}

/// Whole blocks of small numbers.
fn pattern(kind: TensorType) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    let small = |bits: u32| (f32::from(bits as u16) / 65_536.0 - 0.5) * 0.05;
    let half_of = |x: f32| half::f16::from_f32(x).to_le_bytes();
    let (_, size) = kind.block().unwrap_or((1, 1));
    let mut bytes = Vec::new();
    while bytes.len() < 1 << 20 {
        match kind {
            TensorType::F32 => bytes.extend(small(next()).to_le_bytes()),
            TensorType::F16 => bytes.extend(half_of(small(next()))),
            TensorType::Quant(quant) => {
                let start = bytes.len();
                bytes.extend((0..size).map(|_| next() as u8));
                // Where the scale of the block is.
                let at = if quant == QuantType::Q6K { start + size - 2 } else { start };
                bytes[at..at + 2].copy_from_slice(&half_of(2e-5));
                if quant == QuantType::Q4K {
                    bytes[at + 2..at + 4].copy_from_slice(&half_of(1e-4));
                }
            }
            _ => bytes.push(0),
        }
    }
    bytes
}

impl Source for Random {
    fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name)
    }

    fn tensors(&self) -> Vec<&TensorInfo> {
        self.tensors.values().collect()
    }

    fn read_at(&self, name: &str, at: usize, out: &mut [u8]) -> llm::Result<()> {
        let pattern = self.tensors.get(name).and_then(|info| self.patterns.get(&info.kind));
        let pattern = pattern.map_or(&[0][..], Vec::as_slice);
        let (mut from, mut rest) = (at % pattern.len(), out);
        while !rest.is_empty() {
            let count = rest.len().min(pattern.len() - from);
            let (part, others) = rest.split_at_mut(count);
            part.copy_from_slice(&pattern[from..from + count]);
            (from, rest) = (0, others);
        }
        Ok(())
    }

    fn path(&self) -> &Path {
        Path::new("random weights")
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
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

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |default: &str| arguments.next().unwrap_or_else(|| default.to_owned());
    let (uri, shape_name, weights) = (next("cuda:0"), next("8b"), next("f16"));
    let (batch, tokens): (usize, usize) = (next("1").parse()?, next("128").parse()?);
    let shape = SHAPES.iter().find(|(name, ..)| *name == shape_name).ok_or("shapes are 8b, 1b, tiny")?;
    let (_, shape, shared) = *shape;
    let kind = match weights.as_str() {
        "f16" => TensorType::F16,
        "q8_0" => TensorType::Quant(QuantType::Q8_0),
        "q4_k" => TensorType::Quant(QuantType::Q4K),
        _ => return Err("weights are f16, q8_0, q4_k".into()),
    };
    let [layers, width, inner, heads, kv_heads, vocabulary] = shape;
    let folder = tempfile::tempdir()?;
    let config = format!(
        r#"{{"architectures": ["LlamaForCausalLM"], "hidden_size": {width}, "num_attention_heads": {heads},
        "num_key_value_heads": {kv_heads}, "num_hidden_layers": {layers}, "intermediate_size": {inner},
        "vocab_size": {vocabulary}, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0, "tie_word_embeddings": {shared}}}"#
    );
    std::fs::write(folder.path().join("config.json"), config)?;
    let config = Config::of_folder(folder.path())?;

    let selected = select_backend(&uri)?;
    let backend = &*selected.backend;
    let source = Random::new(shape, shared, kind);
    let mut progress = |_| {};
    let mut of_model = Weights::new(&source, backend, DType::F16, &mut progress);
    let model = load(&config, &mut of_model)?;
    let context = (tokens + 32).next_multiple_of(32);
    let layout = KvLayout::paged(batch * context, 32);
    let cache = Cache::new(backend, &config, DType::F16, layout, batch)?;
    let pages_of = context / 32;
    let pages: Vec<Vec<u32>> =
        (0..batch).map(|i| (i * pages_of..(i + 1) * pages_of).map(|page| page as u32).collect()).collect();
    let mut ids = vec![1_u32; batch];
    let inputs_at = |ids: &[u32], position: usize| {
        let parts: Vec<Part<'_>> = ids
            .chunks(1)
            .zip(&pages)
            .map(|(tokens, pages)| Part { tokens, position, pages, state: None })
            .collect();
        let mut inputs = Inputs::default();
        inputs.add(layout, &parts, pages_of, context);
        inputs
    };
    let step = Step::new(backend, &inputs_at(&ids, 0))?;
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
    let Some(graph) = graph else { return Err("the device has no graphs".into()) };

    let (mut times, mut launches) = (Vec::new(), Vec::new());
    for _ in 0..6 {
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
    let copy = copy_rate(backend, 2 << 30)?;
    let read = source.read(shared) as f64;
    println!(
        "{} {shape_name} {weights} batch {batch}: {:.1} tokens/s, {:.3} TB/s, {:.3} of a copy's {:.3}; \
         graph alone {:.1} us, {:.3} TB/s, {:.3} of a copy; {} nodes, {:.2} a layer; token {}",
        backend.info(),
        batch as f64 / time,
        read / time / 1e12,
        read / time / copy,
        copy / 1e12,
        Duration::from_secs_f64(launch).as_nanos() as f64 / 1e3,
        read / launch / 1e12,
        read / launch / copy,
        graph.nodes(),
        graph.nodes() as f64 / layers as f64,
        ids[0],
    );
    Ok(())
}
