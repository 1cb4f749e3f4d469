//! Steps on a device: as they come, or as graphs that are recorded once and run again.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use backend::{BackendKind, DType, KernelBackend, KvLayout, StepGraph, Tensor};

use super::pages::StateCopy;
use super::ranks::{Follower, Order, OwnedJob};
use crate::error::{Error, Result};
use crate::model::{Cache, Inputs, Model, Part, Step};

/// A graph is recorded for lengths up to a power of two, of this at least.
const LEAST_KEYS: usize = 256;

/// A model with its cache on a device.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) backend: Arc<dyn KernelBackend>,
    pub(super) model: Box<dyn Model>,
    pub(super) cache: Cache,
    /// The type of activations.
    activations: DType,
    /// Positions of a sequence.
    context: usize,
    /// By the number of sequences, that of their tokens, and the maximum of their lengths.
    decodes: HashMap<(usize, usize, usize), Decode>,
    /// By the number of rows: the settings and numbers with which [`backend::KernelBackend::sample`] chooses
    /// the most likely tokens.
    greedy: HashMap<usize, (Tensor, Tensor)>,
    /// The other ranks, if several devices share the model.
    followers: Vec<Follower>,
    health: Health,
}

/// Whether a rank failed, so that the others may be at different steps. All models of the ranks share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Health(Arc<AtomicBool>);

/// One sequence's part of a step, and what is needed of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'s> {
    pub(super) part: Part<'s>,
    /// Whether it generates, rather than reads a prompt.
    pub(super) generates: bool,
    pub(super) wanted: Wanted,
}

impl Job<'_> {
    /// Whether both can be in one group.
    fn joins(&self, other: &Job<'_>) -> bool {
        self.generates && other.generates && self.part.tokens.len() == other.part.tokens.len()
    }
}

/// The tokens of a part whose logits are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Nothing,
    Last,
    All,
}

/// A step of a few tokens of each of some sequences.
#[derive(Debug)]
struct Decode {
    step: Step,
    /// The recorded step and its logits.
    graph: Option<(Box<dyn StepGraph>, Tensor)>,
}

impl Device {
    pub(super) fn new(
        backend: Arc<dyn KernelBackend>,
        model: Box<dyn Model>,
        cache: Cache,
        activations: DType,
        context: usize,
    ) -> Self {
        let (decodes, greedy, followers) = (HashMap::new(), HashMap::new(), Vec::new());
        Self {
            backend,
            model,
            cache,
            activations,
            context,
            decodes,
            greedy,
            followers,
            health: Health::default(),
        }
    }

    /// These ranks share the model with this one.
    pub(super) fn lead(mut self, followers: Vec<Follower>, health: &Health) -> Self {
        (self.followers, self.health) = (followers, health.clone());
        self
    }

    /// Lets all ranks do their part, this one by `own`.
    fn together<T>(
        &mut self,
        order: impl Fn() -> Order,
        own: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.followers.is_empty() {
            return own(self);
        }
        if self.health.0.load(Ordering::Relaxed) {
            return Err(Error::Device {
                reason: "one of the devices that share the model failed before".into(),
            });
        }
        let begun = self.followers.iter().try_for_each(|follower| follower.order(order()));
        let done = begun.and_then(|()| own(self));
        let done = done.and_then(|done| {
            self.followers.iter().try_for_each(Follower::reply)?;
            Ok(done)
        });
        if done.is_err() {
            self.health.0.store(true, Ordering::Relaxed);
            self.followers.iter_mut().for_each(Follower::abandon);
        }
        done
    }

    pub(super) fn layout(&self) -> KvLayout {
        self.cache.kv.layout
    }

    /// Copies a sequence's states.
    pub(super) fn copy_states(&mut self, copy: StateCopy) -> Result<()> {
        self.together(|| Order::Copy(copy), |device| device.own_states(copy))
    }

    fn own_states(&self, copy: StateCopy) -> Result<()> {
        match (&self.cache.states, copy.from) {
            (Some(states), Some(from)) => states.copy(&*self.backend, from, copy.to),
            (Some(states), None) => states.clear(&*self.backend, copy.to),
            (None, _) => Ok(()),
        }
    }

    /// The logits that the jobs ask for, in their order; `None` if they ask for none. Neighbours that
    /// generate and have the same number of tokens are computed as one group.
    pub(super) fn logits(&mut self, jobs: &[Job<'_>]) -> Result<Option<Tensor>> {
        let order = || Order::Logits(jobs.iter().map(OwnedJob::new).collect());
        self.together(order, |device| device.own_logits(jobs))
    }

    fn own_logits(&mut self, jobs: &[Job<'_>]) -> Result<Option<Tensor>> {
        if let [first, ..] = jobs
            && jobs.iter().all(|job| job.joins(first) && job.wanted == Wanted::All)
            && self.backend.info().kind != BackendKind::Cpu
        {
            return self.decode(jobs).map(Some);
        }
        let layout = self.layout();
        let mut inputs = Inputs::default();
        for group in jobs.chunk_by(Job::joins) {
            let parts: Vec<Part<'_>> = group.iter().map(|job| job.part).collect();
            let most = parts.iter().map(|part| part.position + part.tokens.len()).max().unwrap_or(0);
            inputs.add(layout, &parts, most.div_ceil(layout.page).max(1), most);
        }
        let (mut outputs, mut first) = (Vec::new(), 0);
        for job in jobs {
            let end = first + job.part.tokens.len() as u32;
            match job.wanted {
                Wanted::All => outputs.extend(first..end),
                Wanted::Last => outputs.push(end - 1),
                Wanted::Nothing => {}
            }
            first = end;
        }
        if outputs.is_empty() {
            // Only keys and values are needed.
            let step = Step::new(&*self.backend, &inputs)?;
            self.model.hidden(&*self.backend, &step, &self.cache)?;
            return Ok(None);
        }
        inputs.set_outputs(outputs);
        let step = Step::new(&*self.backend, &inputs)?;
        self.model.forward(&*self.backend, &step, &self.cache).map(Some)
    }

    /// The logits of all tokens of jobs of the same size.
    fn decode(&mut self, jobs: &[Job<'_>]) -> Result<Tensor> {
        let layout = self.layout();
        let parts: Vec<Part<'_>> = jobs.iter().map(|job| job.part).collect();
        let longest = parts.iter().map(|part| part.position + part.tokens.len()).max().unwrap_or(1);
        let most = longest.next_power_of_two().max(LEAST_KEYS).min(self.context.max(longest));
        let columns = most.div_ceil(layout.page);
        let mut inputs = Inputs::default();
        inputs.add(layout, &parts, columns, most);
        let (backend, model, cache) = (&*self.backend, &*self.model, &self.cache);
        let key = (parts.len(), inputs.tokens(), most);
        let Some(decode) = self.decodes.get_mut(&key) else {
            // The first time, the step runs as it is: recording needs kernels that are loaded.
            let step = Step::new(backend, &inputs)?;
            let logits = model.forward(backend, &step, cache)?;
            self.decodes.insert(key, Decode { step, graph: None });
            return Ok(logits);
        };
        decode.step.update(backend, &inputs)?;
        if decode.graph.is_none() {
            let step = &decode.step;
            let mut logits = None;
            let mut failed = None;
            let mut work = || match model.forward(backend, step, cache) {
                Ok(result) => {
                    logits = Some(result);
                    Ok(())
                }
                Err(Error::Backend(error)) => Err(error),
                Err(error) => {
                    failed = Some(error);
                    Ok(())
                }
            };
            let graph = backend.capture(&mut work)?;
            if let Some(error) = failed {
                return Err(error);
            }
            match (graph, logits) {
                (Some(graph), Some(logits)) => decode.graph = Some((graph, logits)),
                // This backend records nothing.
                _ => return model.forward(backend, step, cache),
            }
        }
        match &decode.graph {
            Some((graph, logits)) => {
                graph.launch()?;
                Ok(logits.clone())
            }
            None => model.forward(backend, &decode.step, cache),
        }
    }

    /// The vectors of one part's tokens, `[tokens, width]`, on the host.
    pub(super) fn hidden(&mut self, part: Part<'_>) -> Result<Vec<f32>> {
        let job = Job { part, generates: false, wanted: Wanted::Nothing };
        self.together(|| Order::Hidden(OwnedJob::new(&job)), |device| device.own_hidden(part))
    }

    fn own_hidden(&self, part: Part<'_>) -> Result<Vec<f32>> {
        let layout = self.layout();
        let mut inputs = Inputs::default();
        let most = part.position + part.tokens.len();
        inputs.add(layout, &[part], most.div_ceil(layout.page), most);
        let step = Step::new(&*self.backend, &inputs)?;
        let hidden = self.model.hidden(&*self.backend, &step, &self.cache)?;
        Ok(self.backend.to_f32(&hidden)?)
    }

    /// The error of a row of logits, or of a vector, that is not finite.
    pub(super) fn not_finite(&self) -> Error {
        let config = self.model.config();
        Error::NotFinite { model: config.known_as(), activations: self.activations }
    }

    /// The first of the largest logits of each row; [`u32::MAX`] for a row that is not finite.
    pub(super) fn argmax(&mut self, logits: &Tensor) -> Result<Vec<u32>> {
        let rows = logits.rows();
        let (settings, numbers) = match self.greedy.entry(rows) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let words = backend::sampling_words(&vec![backend::Sampling::GREEDY; rows]);
                let settings = self.backend.tensor_u32(&[rows, 4], &words)?;
                place.insert((settings, self.backend.zeros(DType::F32, &[rows])?))
            }
        };
        let out = self.backend.empty(DType::U32, &[rows])?;
        self.backend.sample(logits, settings, numbers, &out)?;
        Ok(self.backend.to_u32(&out)?)
    }

    /// Draws a token for each row; [`u32::MAX`] for a row that is not finite.
    pub(super) fn sample(
        &self,
        logits: &Tensor,
        settings: &[backend::Sampling],
        uniforms: &[f32],
    ) -> Result<Vec<u32>> {
        let rows = logits.rows();
        let table = self.backend.tensor_u32(&[rows, 4], &backend::sampling_words(settings))?;
        let numbers = self.backend.tensor(DType::F32, &[rows], uniforms)?;
        let out = self.backend.empty(DType::U32, &[rows])?;
        self.backend.sample(logits, &table, &numbers, &out)?;
        Ok(self.backend.to_u32(&out)?)
    }
}
