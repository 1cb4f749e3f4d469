//! The thread that runs requests: which of them take part in the next step.

use std::collections::VecDeque;
use std::sync::Arc;

use backend::BackendKind;

use super::device::Device;
use super::pages::{Pages, StateCopy};
use super::pooling::{Pooled, normalised};
use super::queue::{EmbedJob, Job, Queue};
use super::sequence::Sequence;
use crate::engine::{EngineLoad, FinishReason, Pooling};
use crate::error::{Error, Result};
use crate::generate::sampler::Choice;
use crate::model::Part;
use crate::tokenizer::Tokenizer;

/// Runs requests until the queue is closed.
pub(super) struct Scheduler {
    pub(super) device: Device,
    pub(super) pages: Pages,
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) queue: Arc<Queue>,
    /// Requests that run at the same time.
    pub(super) places: usize,
    /// Tokens of a prompt that are processed at once.
    pub(super) chunk: usize,
    /// Positions of a sequence.
    pub(super) context: usize,
    /// The oldest first.
    pub(super) running: Vec<Sequence>,
    /// Requests that had begun and had to make room; they go on before new ones begin.
    pub(super) paused: VecDeque<Sequence>,
}

/// Why a step could not be made.
enum NoStep {
    /// There is nothing to do.
    Idle,
    Failed(Error),
}

impl Scheduler {
    pub(super) fn run(mut self) {
        // Whatever ends this thread, waiting callers must learn of it.
        let queue = Arc::clone(&self.queue);
        let _end = CloseAtEnd(queue);
        loop {
            let is_idle = self.running.is_empty() && self.paused.is_empty();
            let Some(jobs) =
                self.queue.take(self.places.saturating_sub(self.running.len() + self.paused.len()), is_idle)
            else {
                break;
            };
            for job in jobs {
                match job {
                    Job::Generate(request, grammar, events) => {
                        self.paused.push_back(Sequence::new(*request, grammar, events, &self.tokenizer));
                    }
                    Job::Embed(job) => self.embed(job),
                }
            }
            self.leave();
            self.admit();
            match self.step() {
                Ok(()) | Err(NoStep::Idle) => {}
                Err(NoStep::Failed(error)) => self.fail(&error),
            }
            self.report();
        }
        for mut sequence in self.running.drain(..).chain(self.paused.drain(..)) {
            sequence.finish(FinishReason::Cancelled);
        }
    }

    fn report(&self) {
        self.queue.report(EngineLoad {
            waiting: 0,
            running: self.running.len() + self.paused.len(),
            places: self.places,
            cached_tokens: self.pages.used_positions(),
            cache_tokens: self.pages.layout().positions(),
        });
    }

    /// Ends requests that nobody listens to.
    fn leave(&mut self) {
        let mut at = 0;
        while at < self.running.len() {
            if self.running[at].is_abandoned() {
                let mut sequence = self.running.remove(at);
                self.pages.release(std::mem::take(&mut sequence.pages));
            } else {
                at += 1;
            }
        }
        self.paused.retain(|sequence| !sequence.is_abandoned());
    }

    /// Gives places to sequences for whose tokens there is room.
    fn admit(&mut self) {
        while self.running.len() < self.places {
            let Some(next) = self.paused.front() else { return };
            // The first one runs in any case: a sequence alone has room.
            if !self.running.is_empty() && !self.pages.has_room(next.tokens.len() + 1) {
                return;
            }
            let Some(mut sequence) = self.paused.pop_front() else { return };
            let (found, states) = self.pages.reuse(&sequence.tokens);
            sequence.start(found, self.pages.layout().page);
            if let Err(error) = self.copy_states(states) {
                self.pages.release(std::mem::take(&mut sequence.pages));
                sequence.fail(error);
                continue;
            }
            self.running.push(sequence);
        }
    }

    fn copy_states(&self, copy: Option<StateCopy>) -> Result<()> {
        copy.map_or(Ok(()), |copy| self.device.copy_states(copy))
    }

    /// The tokens of a sequence's next part, at most so many. Where there are states, a part ends with a page
    /// if it can, so that they can be kept for later requests.
    fn part(&self, sequence: &Sequence, most: usize) -> usize {
        let (page, tokens) = (self.pages.layout().page, sequence.left().min(most));
        let end = sequence.computed + tokens;
        match end / page * page {
            boundary if sequence.pages.state.is_some() && tokens > 1 && boundary > sequence.computed => {
                boundary - sequence.computed
            }
            _ => tokens,
        }
    }

    /// Makes room for the tokens of one sequence. The youngest of the others make way if they must. Whether
    /// there is room.
    fn make_room(&mut self, at: usize, positions: usize) -> bool {
        loop {
            let sequence = &mut self.running[at];
            if self.pages.grow(&mut sequence.pages, positions) {
                return true;
            }
            let youngest = self.running.len() - 1;
            if youngest <= at {
                return false;
            }
            self.pause(youngest);
        }
    }

    /// A sequence makes way; its tokens are computed again later.
    fn pause(&mut self, at: usize) {
        let mut sequence = self.running.remove(at);
        self.pages.release(std::mem::take(&mut sequence.pages));
        sequence.computed = 0;
        self.paused.push_front(sequence);
    }

    /// One step: the next token of each sequence that generates, and a part of one prompt.
    fn step(&mut self) -> Result<(), NoStep> {
        let mut budget = self.chunk;
        // The number of tokens of each sequence that takes part.
        let mut chosen: Vec<(usize, usize)> = Vec::new();
        let mut at = 0;
        while at < self.running.len() {
            let left = self.running[at].left();
            let tokens = if left == 1 { 1 } else { self.part(&self.running[at], budget) };
            if tokens > 0 {
                if self.make_room(at, self.running[at].computed + tokens) {
                    chosen.push((at, tokens));
                    if left > 1 {
                        budget -= tokens;
                    }
                } else {
                    // All older ones stay, so this one makes way for them.
                    if at == 0 {
                        let reason = "has no room in the cache".to_owned();
                        return Err(NoStep::Failed(Error::Device { reason }));
                    }
                    self.pause(at);
                    continue;
                }
            }
            at += 1;
        }
        if chosen.is_empty() {
            return Err(NoStep::Idle);
        }
        // One token each first, as they are one group.
        chosen.sort_by_key(|&(at, tokens)| (tokens != 1, at));
        let decodes = chosen.iter().filter(|(_, tokens)| *tokens == 1).count();
        let parts: Vec<Part<'_>> = chosen
            .iter()
            .map(|&(at, tokens)| {
                let sequence = &self.running[at];
                let position = sequence.computed;
                Part {
                    tokens: &sequence.tokens[position..][..tokens],
                    position,
                    pages: &sequence.pages.pages,
                    state: sequence.pages.state,
                }
            })
            .collect();
        let ends = |&(at, tokens): &(usize, usize)| self.running[at].left() == tokens;
        let wanted: Vec<usize> =
            chosen.iter().enumerate().filter(|(_, part)| ends(part)).map(|(index, _)| index).collect();
        let logits = self.device.logits(&parts, decodes, &wanted).map_err(NoStep::Failed)?;
        let generating: Vec<usize> = wanted.iter().map(|&index| chosen[index].0).collect();
        let choices = match generating.is_empty() {
            true => Vec::new(),
            false => self.choose(&logits, &generating).map_err(NoStep::Failed)?,
        };
        for &(at, tokens) in &chosen {
            let sequence = &mut self.running[at];
            sequence.advance(tokens);
            let computed = sequence.computed;
            if let Some(copy) = self.pages.keep(&mut sequence.pages, &sequence.tokens, computed) {
                self.device.copy_states(copy).map_err(NoStep::Failed)?;
            }
        }
        let mut finished = Vec::new();
        for (at, choice) in generating.into_iter().zip(choices) {
            if let Some(reason) = self.running[at].push(choice, &self.tokenizer, self.context) {
                finished.push((at, reason));
            }
        }
        finished.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (at, reason) in finished {
            let mut sequence = self.running.remove(at);
            self.pages.release(std::mem::take(&mut sequence.pages));
            sequence.finish(reason);
        }
        Ok(())
    }

    /// A token for each row of logits; the rows are those of these sequences.
    fn choose(&mut self, logits: &backend::Tensor, sequences: &[usize]) -> Result<Vec<Choice>> {
        let plain = |token| Choice { token, logprob: None };
        if sequences.iter().all(|&at| self.running[at].is_argmax()) {
            return Ok(self.device.argmax(logits)?.into_iter().map(plain).collect());
        }
        if self.device.backend.info().kind != BackendKind::Cpu {
            let settings: Option<Vec<_>> =
                sequences.iter().map(|&at| self.running[at].device_settings()).collect();
            if let Some(settings) = settings {
                let uniforms: Vec<f32> =
                    sequences.iter().map(|&at| self.running[at].sampler.next_uniform()).collect();
                return Ok(self
                    .device
                    .sample(logits, &settings, &uniforms)?
                    .into_iter()
                    .map(plain)
                    .collect());
            }
        }
        let columns = logits.columns();
        let mut numbers = self.device.backend.to_f32(logits)?;
        let rows = numbers.chunks_exact_mut(columns).zip(sequences);
        Ok(rows
            .map(|(row, &at)| {
                let sequence = &mut self.running[at];
                sequence.choose(row)
            })
            .collect())
    }

    /// All running requests fail. The engine goes on.
    fn fail(&mut self, error: &Error) {
        for mut sequence in self.running.drain(..) {
            self.pages.release(std::mem::take(&mut sequence.pages));
            sequence.fail(Error::Device { reason: error.to_string() });
        }
    }

    fn embed(&mut self, job: EmbedJob) {
        let result = job.inputs.iter().map(|tokens| self.embedding(tokens, job.pooling)).collect();
        // Nobody waits any more if this fails.
        let _ = job.reply.send(result);
    }

    /// The vector of one text, from the vectors behind the last norm.
    fn embedding(&mut self, tokens: &[u32], pooling: Pooling) -> Result<Vec<f32>> {
        // Their pages are of no use to others, and none of others is taken over.
        let (mut sequence, states) = self.pages.reuse(&[]);
        self.copy_states(states)?;
        while !self.pages.grow(&mut sequence, tokens.len()) {
            match self.running.len() {
                0 => {
                    self.pages.release(sequence);
                    return Err(Error::Prompt {
                        problem: format!("has {} tokens, for which the cache has no room", tokens.len()),
                    });
                }
                count => self.pause(count - 1),
            }
        }
        let pooling = match (pooling, self.device.model.config().pooling) {
            (Pooling::Model, Some(known)) => known,
            (Pooling::Model, None) => Pooling::Mean,
            (asked, _) => asked,
        };
        let mut pooled = Pooled::new(pooling, self.device.model.config().width);
        let mut result = Ok(());
        for (at, part) in tokens.chunks(self.chunk).enumerate() {
            let (position, pages) = (at * self.chunk, &sequence.pages);
            let part = Part { tokens: part, position, pages, state: sequence.state };
            match self.device.hidden(part) {
                Ok(rows) => pooled.add(&rows),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.pages.release(sequence);
        result.map(|()| normalised(pooled.finish()))
    }
}

/// Closes the queue when the thread ends, also by a panic.
struct CloseAtEnd(Arc<Queue>);

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        self.0.close();
    }
}
