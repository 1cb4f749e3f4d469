//! Steps on a device: as they come, or as graphs that are recorded once and run again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use backend::{BackendKind, DType, KernelBackend, KvLayout, StepGraph, Tensor};

use super::pages::StateCopy;
use super::ranks::{Follower, Order, OwnedJob};
use crate::error::{Error, Result};
use crate::model::{Cache, Draw, Inputs, Model, Part, Step};

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
    decodes: HashMap<Shape, Decode>,
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

/// What steps that are recorded have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    sequences: usize,
    /// Of all of them.
    tokens: usize,
    /// The maximum of their lengths.
    most_keys: usize,
    /// Whether tokens are drawn, too.
    draws: bool,
}

/// A step of a few tokens of each of some sequences.
#[derive(Debug)]
struct Decode {
    step: Step,
    /// The recorded step and its results.
    graph: Option<(Box<dyn StepGraph>, Computed)>,
}

/// The results of a step, on the device.
#[derive(Clone, Debug)]
pub(super) struct Computed {
    pub(super) logits: Tensor,
    /// A token for each row, if the device was asked to draw some; [`u32::MAX`] for a row that is not finite.
    pub(super) tokens: Option<Tensor>,
}

/// Where the tokens of a recorded step come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ids<'d> {
    /// They are those of the parts.
    Given,
    /// A step drew them, and they are these rows of its tokens, in order.
    Drawn { tokens: &'d Tensor, rows: &'d [usize] },
}

impl Ids<'_> {
    /// Copies tokens that are elsewhere on the device.
    fn copy_to(self, backend: &dyn KernelBackend, ids: &Tensor) -> Result<()> {
        let Self::Drawn { tokens, rows } = self else { return Ok(()) };
        // The same step has as many rows, so these are all, and it left them in their place.
        if tokens.shares_memory_with(ids) {
            return Ok(());
        }
        let mut first = 0;
        for run in rows.chunk_by(|a, b| a + 1 == *b) {
            backend.copy(&tokens.narrow(0, run[0], run.len())?, &ids.narrow(0, first, run.len())?)?;
            first += run.len();
        }
        Ok(())
    }
}

impl Device {
    pub(super) fn new(
        backend: Arc<dyn KernelBackend>,
        model: Box<dyn Model>,
        cache: Cache,
        activations: DType,
        context: usize,
    ) -> Self {
        let (decodes, followers) = (HashMap::new(), Vec::new());
        Self { backend, model, cache, activations, context, decodes, followers, health: Health::default() }
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

    /// The logits that the jobs ask for, in their order, and tokens that are drawn from them, a row by each
    /// of the draws, if there are some; `None` if the jobs ask for nothing. Neighbours that generate and have
    /// the same number of tokens are computed as one group.
    pub(super) fn compute(&mut self, jobs: &[Job<'_>], draws: &[Draw]) -> Result<Option<Computed>> {
        let order = || Order::Logits(jobs.iter().map(OwnedJob::new).collect());
        self.together(order, |device| device.own_step(jobs, draws))
    }

    /// Whether a step can begin before the host knows its tokens, because the device has drawn them: work
    /// runs beside the host, and no other ranks need the tokens.
    pub(super) fn can_run_ahead(&self) -> bool {
        self.backend.info().kind != BackendKind::Cpu && self.followers.is_empty()
    }

    /// A step of one token of each job, all of which [were drawn](Ids::Drawn) and are unknown here. Only
    /// where the device [can run ahead](Self::can_run_ahead).
    pub(super) fn compute_ahead(
        &mut self,
        jobs: &[Job<'_>],
        draws: &[Draw],
        ids: Ids<'_>,
    ) -> Result<Computed> {
        self.decode(jobs, draws, ids)
    }

    fn own_step(&mut self, jobs: &[Job<'_>], draws: &[Draw]) -> Result<Option<Computed>> {
        within(&*Arc::clone(&self.backend), || self.step_within(jobs, draws))
    }

    fn step_within(&mut self, jobs: &[Job<'_>], draws: &[Draw]) -> Result<Option<Computed>> {
        let logits = match jobs {
            [first, ..]
                if jobs.iter().all(|job| job.joins(first) && job.wanted == Wanted::All)
                    && self.backend.info().kind != BackendKind::Cpu =>
            {
                if self.followers.is_empty() {
                    return self.decode(jobs, draws, Ids::Given).map(Some);
                }
                // All ranks record the same work.
                self.decode(jobs, &[], Ids::Given)?.logits
            }
            _ => match self.own_logits(jobs)? {
                Some(logits) => logits,
                None => return Ok(None),
            },
        };
        let tokens = if draws.is_empty() { None } else { Some(self.draw(&logits, draws)?) };
        Ok(Some(Computed { logits, tokens }))
    }

    fn own_logits(&self, jobs: &[Job<'_>]) -> Result<Option<Tensor>> {
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

    /// The results of a step of jobs of the same size, recorded from the second time on.
    fn decode(&mut self, jobs: &[Job<'_>], draws: &[Draw], ids: Ids<'_>) -> Result<Computed> {
        let layout = self.layout();
        let parts: Vec<Part<'_>> = jobs.iter().map(|job| job.part).collect();
        let longest = parts.iter().map(|part| part.position + part.tokens.len()).max().unwrap_or(1);
        let most_keys = longest.next_power_of_two().max(LEAST_KEYS).min(self.context.max(longest));
        let columns = most_keys.div_ceil(layout.page);
        let mut inputs = Inputs::default();
        inputs.add(layout, &parts, columns, most_keys);
        inputs.set_draws(draws);
        let (backend, model, cache) = (&*self.backend, &*self.model, &self.cache);
        let (sequences, tokens, draws) = (parts.len(), inputs.tokens(), !draws.is_empty());
        let shape = Shape { sequences, tokens, most_keys, draws };
        let Some(decode) = self.decodes.get_mut(&shape) else {
            // The first time, the step runs as it is: recording needs kernels that are loaded.
            let step = Step::new(backend, &inputs)?;
            ids.copy_to(backend, &step.ids)?;
            let computed = forward(backend, model, &step, cache)?;
            self.decodes.insert(shape, Decode { step, graph: None });
            return Ok(computed);
        };
        match ids {
            Ids::Given => decode.step.update(backend, &inputs)?,
            Ids::Drawn { .. } => decode.step.update_but_ids(backend, &inputs)?,
        }
        ids.copy_to(backend, &decode.step.ids)?;
        if decode.graph.is_none() {
            let step = &decode.step;
            let mut computed = None;
            let mut failed = None;
            let mut work = || match forward(backend, model, step, cache) {
                Ok(result) => {
                    computed = Some(result);
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
            match (graph, computed) {
                (Some(graph), Some(computed)) => decode.graph = Some((graph, computed)),
                // This backend records nothing.
                _ => return forward(backend, model, step, cache),
            }
        }
        match &decode.graph {
            Some((graph, computed)) => {
                graph.launch()?;
                Ok(computed.clone())
            }
            None => forward(backend, model, &decode.step, cache),
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
        let (backend, model, cache) = (&*self.backend, &*self.model, &self.cache);
        within(backend, || {
            let step = Step::new(backend, &inputs)?;
            let hidden = model.hidden(backend, &step, cache)?;
            Ok(backend.to_f32(&hidden)?)
        })
    }

    /// The error of a row of logits, or of a vector, that is not finite.
    pub(super) fn not_finite(&self) -> Error {
        let config = self.model.config();
        Error::NotFinite { model: config.known_as(), activations: self.activations }
    }

    /// Draws a token for each row.
    fn draw(&self, logits: &Tensor, draws: &[Draw]) -> Result<Tensor> {
        let rows = logits.rows();
        let settings: Vec<_> = draws.iter().map(|draw| draw.settings).collect();
        let numbers: Vec<f32> = draws.iter().map(|draw| draw.number).collect();
        let table = self.backend.tensor_u32(&[rows, 4], &backend::sampling_words(&settings))?;
        let numbers = self.backend.tensor(DType::F32, &[rows], &numbers)?;
        let tokens = self.backend.empty(DType::U32, &[rows])?;
        self.backend.sample(logits, &table, &numbers, &tokens)?;
        Ok(tokens)
    }
}

/// The result of work on a backend, [where it is cheapest](KernelBackend::within).
pub(super) fn within<T: Send>(
    backend: &dyn KernelBackend,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let (mut work, mut result) = (Some(work), None);
    backend.within(&mut || result = work.take().map(|work| work()));
    result.unwrap_or_else(|| Err(Error::Device { reason: "the backend did not run the step".into() }))
}

/// The logits of a step, and the tokens that are drawn from them.
fn forward(backend: &dyn KernelBackend, model: &dyn Model, step: &Step, cache: &Cache) -> Result<Computed> {
    let logits = model.forward(backend, step, cache)?;
    let Some(draws) = &step.draws else { return Ok(Computed { logits, tokens: None }) };
    backend.sample(&logits, &draws.settings, &draws.numbers, &draws.tokens)?;
    Ok(Computed { logits, tokens: Some(draws.tokens.clone()) })
}
