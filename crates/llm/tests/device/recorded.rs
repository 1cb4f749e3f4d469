//! Steps as command buffers of `hal`, against graphs of HIP.

use std::path::Path;
use std::sync::Arc;

use backend::{DType, Error, KernelBackend, KvLayout, StepGraph, Steps, Tensor, select_backend};
use llm::config::Config;
use llm::engine::{Engine, Event, Sampling};
use llm::gguf::GgufFile;
use llm::model::{Cache, Inputs, Model, Part, Step, load};
use llm::weights::Weights;
use llm::{EngineOptions, models};
use test_skip::{Lack, skip};

use crate::support::{reference, tokens};
use crate::{device, greedy, tiny, tokens_of};

/// Positions of each sequence.
const POSITIONS: usize = 64;
/// Sequences that exist.
const SEQUENCES: usize = 8;

/// A backend whose steps run so; `None` if the device has no HSA that this process shares with HIP.
fn backend(steps: Steps) -> Option<Arc<dyn KernelBackend>> {
    let backend = select_backend(&device()).expect("the device").backend;
    match backend.set_steps(steps) {
        Ok(()) => Some(backend),
        Err(error) if !device().starts_with("vgpu") => {
            skip(Lack::Device, format_args!("{error}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A model with several sequences, and the recorded steps of some of them.
struct Batches {
    backend: Arc<dyn KernelBackend>,
    model: Box<dyn Model>,
    cache: Cache,
    /// The position of each sequence.
    positions: [usize; SEQUENCES],
    recorded: Vec<(usize, Step, Box<dyn StepGraph>, Tensor)>,
}

impl Batches {
    fn new(backend: Arc<dyn KernelBackend>, path: &Path, dtype: DType) -> Self {
        let file = GgufFile::open(path).expect("a file");
        let rows = file.tensor("token_embd.weight").expect("a token table").shape[0];
        let config = Config::of_metadata(file.metadata(), rows, path).expect("a configuration");
        let mut progress = |_| {};
        let mut weights = Weights::new(&file, &*backend, dtype, &mut progress);
        let model = load(&config, &mut weights).expect("weights");
        let layout = KvLayout::paged(SEQUENCES * POSITIONS, 32);
        let cache = Cache::new(&*backend, model.config(), dtype, layout, SEQUENCES).expect("a cache");
        Self { backend, model, cache, positions: [0; SEQUENCES], recorded: Vec::new() }
    }

    fn inputs(&self, sequences: &[usize], token: u32, pages: impl Fn(usize) -> Vec<u32>) -> Inputs {
        let pages: Vec<Vec<u32>> = sequences.iter().map(|&sequence| pages(sequence)).collect();
        let ids: Vec<[u32; 1]> = sequences.iter().map(|&sequence| [token + sequence as u32]).collect();
        let states = |sequence: usize| self.cache.states.as_ref().map(|_| sequence as u32);
        let parts: Vec<Part<'_>> = sequences
            .iter()
            .enumerate()
            .map(|(at, &sequence)| Part {
                tokens: &ids[at],
                position: self.positions[sequence],
                pages: &pages[at],
                state: states(sequence),
            })
            .collect();
        let mut inputs = Inputs::default();
        inputs.add(self.cache.kv.layout, &parts, POSITIONS / 32, POSITIONS);
        inputs
    }

    /// Runs a recorded step of these sequences with new numbers; the logits are under way.
    fn launch(&mut self, inputs: &Inputs) -> Result<Tensor, Error> {
        let (backend, count) = (&*self.backend, inputs.tokens());
        let at = match self.recorded.iter().position(|(known, ..)| *known == count) {
            Some(at) => at,
            None => {
                let step = Step::new(backend, inputs).expect("a step");
                // The first run loads kernels.
                self.model.forward(backend, &step, &self.cache).expect("logits");
                let mut logits = None;
                let graph = backend.capture(&mut || {
                    logits = Some(self.model.forward(backend, &step, &self.cache).expect("logits"));
                    Ok(())
                });
                let graph = graph.expect("a capture").expect("a graph");
                self.recorded.push((count, step, graph, logits.expect("logits")));
                self.recorded.len() - 1
            }
        };
        let (_, step, graph, logits) = &mut self.recorded[at];
        step.update(backend, inputs).expect("numbers of the same shape");
        graph.launch()?;
        Ok(logits.clone())
    }

    /// The bits of the logits of a token of each of these sequences.
    fn add(&mut self, sequences: &[usize], token: u32) -> Vec<u32> {
        let own = |sequence: usize| vec![2 * sequence as u32 + 1, 2 * sequence as u32];
        let inputs = self.inputs(sequences, token, own);
        let logits = self.launch(&inputs).expect("a launch");
        for &sequence in sequences {
            self.positions[sequence] += 1;
        }
        self.backend.to_f32(&logits).expect("logits").into_iter().map(f32::to_bits).collect()
    }
}

/// Sequences come and go: which of them a step has.
const ROUNDS: [&[usize]; 9] = [
    &[0],
    &[0, 3, 5],
    &[0, 1, 2, 3, 4, 5, 6, 7],
    &[7, 2, 4],
    &[2],
    &[0, 1, 2, 3, 4, 5, 6, 7],
    &[6, 5, 1],
    &[1],
    &[3],
];

fn compare_batches(path: &Path, dtype: DType, rounds: usize) {
    let Some(by_hal) = backend(Steps::Hal) else { return };
    let by_graph = backend(Steps::Graph).expect("graphs");
    let mut by_hal = Batches::new(by_hal, path, dtype);
    let mut by_graph = Batches::new(by_graph, path, dtype);
    for round in 0..rounds {
        let (sequences, token) = (ROUNDS[round % ROUNDS.len()], 3 + round as u32);
        let (got, expected) = (by_hal.add(sequences, token), by_graph.add(sequences, token));
        assert!(got == expected, "{}, round {round}: {sequences:?}", path.display());
        assert!(got.iter().any(|bits| *bits != got[0]), "logits differ from each other");
    }
    for (own, other) in by_hal.recorded.iter().zip(&by_graph.recorded) {
        // Each node is a packet, so these are steps of `hal`.
        let (nodes, shown) = (own.2.nodes(), format!("{:?}", own.2));
        assert_eq!(nodes, other.2.nodes());
        assert!(shown.contains("hal_queue") && shown.contains(&format!("packets: {nodes}")), "{shown}");
        assert!(!format!("{:?}", other.2).contains("hal_queue"));
    }
}

#[test]
fn steps_by_hal_have_the_bits_of_graphs() {
    let folder = tempfile::tempdir().expect("a folder");
    // The second one has states, the third one experts.
    for name in ["llama", "qwen35", "qwen3moe"] {
        let path = tiny::write(&folder, name);
        for dtype in [DType::F32, DType::BF16] {
            compare_batches(&path, dtype, 4 * ROUNDS.len());
        }
    }
}

#[test]
fn steps_of_a_real_model_by_hal_have_the_bits_of_graphs() {
    match models::cached("smollm2") {
        Some(path) => compare_batches(&path, DType::F16, ROUNDS.len()),
        None => skip(Lack::Data, format_args!("the model smollm2 is not in the cache")),
    }
}

#[test]
fn an_engine_has_the_same_tokens_by_hal_while_requests_come_and_go() {
    if backend(Steps::Hal).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny::write(&folder, "llama");
    let prompt = tokens(&reference("tiny.json")["tokens"]);
    let open = |steps| {
        let (device, context, activations) = (device(), Some(128), Some(DType::F32));
        let options =
            EngineOptions { device, context, activations, steps, places: 8, ..EngineOptions::default() };
        llm::open(&path, options).expect("an engine")
    };
    let request = |number: usize| {
        let count = [3, 21, 9, 14, 1, 30][number % 6];
        let mut request = greedy(&prompt[number % 7..20 + number % 5], count);
        if number % 3 == 1 {
            request.sampling = Sampling { seed: number as u64, temperature: 0.7, ..Sampling::default() };
        }
        request
    };
    let run = |engine: &dyn Engine, together: usize| {
        let mut all = Vec::new();
        let mut running: std::collections::VecDeque<_> = std::collections::VecDeque::new();
        for number in 0..20 {
            // Some are cancelled, and others take their places.
            if number % 5 == 4 {
                drop(engine.submit(request(number + 1)).expect("a place"));
            }
            running.push_back(engine.submit(request(number)).expect("a place"));
            if running.len() == together {
                all.push(ids(running.pop_front().expect("a request")));
            }
        }
        all.extend(running.into_iter().map(ids));
        all
    };
    let expected: Vec<Vec<u32>> = {
        let engine = open(Steps::Graph);
        (0..20).map(|number| tokens_of(&*engine, request(number)).0).collect()
    };
    let engine = open(Steps::Hal);
    for together in [1, 3, 8] {
        assert_eq!(run(&*engine, together), expected, "{together} at the same time");
    }
}

/// The tokens of a request.
fn ids(mut events: llm::engine::Events) -> Vec<u32> {
    let mut ids = Vec::new();
    while let Some(event) = events.blocking_next() {
        match event {
            Event::Token { id, .. } => ids.push(id),
            Event::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }
    ids
}

#[test]
fn steps_by_hal_leave_no_memory_behind() {
    let Some(backend) = backend(Steps::Hal) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny::write(&folder, "llama");
    let mut before = None;
    for _ in 0..4 {
        let mut batches = Batches::new(backend.clone(), &path, DType::F32);
        for (round, sequences) in ROUNDS.into_iter().enumerate() {
            batches.add(sequences, round as u32);
        }
        // A step under way when everything is dropped.
        let inputs = batches.inputs(&[0], 5, |_| vec![1, 0]);
        drop(batches.launch(&inputs).expect("a launch"));
        drop(batches);
        backend.synchronize().expect("the last step");
        let memory = backend.memory().expect("memory");
        let now = (memory.in_use, memory.free);
        assert_eq!(*before.get_or_insert(now), now, "bytes in use and free");
    }
}

/// Tokens that nobody has written, which a virtual GPU can tell.
#[test]
fn a_fault_in_a_step_by_hal_is_the_error_of_its_logits() {
    let backend = select_backend("vgpu:gfx1100?check=uninitialised").expect("the device").backend;
    backend.set_steps(Steps::Hal).expect("a virtual GPU has HSA");
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny::write(&folder, "llama");
    let mut batches = Batches::new(backend.clone(), &path, DType::F32);
    batches.add(&[0, 1, 2], 5);
    let own = |sequence: usize| vec![2 * sequence as u32 + 1, 2 * sequence as u32];
    let inputs = batches.inputs(&[0, 1, 2], 6, own);
    let mut step = Step::new(&*backend, &inputs).expect("a step");
    step.ids = backend.empty(DType::U32, &[3]).expect("memory");
    let mut logits = None;
    let graph = backend.capture(&mut || {
        logits = Some(batches.model.forward(&*backend, &step, &batches.cache).expect("logits"));
        Ok(())
    });
    let (graph, logits) = (graph.expect("a capture").expect("a graph"), logits.expect("logits"));
    graph.launch().expect("a launch");
    let error = backend.to_f32(&logits).expect_err("logits");
    assert!(matches!(error, Error::Hal(_)), "{error}");
    assert!(error.to_string().contains("has stopped: "), "{error}");
    // Other work goes on, and steps say why they do not.
    backend.to_f32(&logits).expect("what the memory has");
    let again = batches.launch(&inputs).expect_err("no queue");
    assert_eq!(again.to_string(), error.to_string());
}

#[test]
fn what_cannot_run_by_hal_does_not_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = tiny::write(&folder, "llama");
    let refused = |device: String, ranks| {
        let options = EngineOptions { device, ranks, steps: Steps::Hal, ..EngineOptions::default() };
        llm::open(&path, options).err().expect("an error").to_string()
    };
    let error = refused("cpu".to_owned(), 1);
    assert!(error.contains("need a device with HSA"), "{error}");
    if device().starts_with("vgpu") {
        let error = refused(device(), 2);
        assert!(error.contains("several devices share the model"), "{error}");
    }
    assert_eq!("hal".parse::<Steps>().expect("a name"), Steps::Hal);
    assert!("hall".parse::<Steps>().expect_err("no name").to_string().contains("neither `graph` nor `hal`"));
}
