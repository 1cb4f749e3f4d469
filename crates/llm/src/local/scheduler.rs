//! The thread that runs requests: which of them take part in the next step.

use std::collections::VecDeque;
use std::sync::Arc;

use super::ahead::Flight;
use super::device::{Computed, Device, Job, Wanted};
use super::drafter::Drafter;
use super::draw::{self, Drawn, Row};
use super::pages::{Pages, SequencePages, StateCopy};
use super::pooling::{Pooled, normalised};
use super::progress::{Judged, Memories, Progress};
use super::queue::{self, EmbedJob, Queue};
use super::sequence::Sequence;
use crate::engine::{EngineLoad, FinishReason, Pooling};
use crate::error::{Error, Result};
use crate::generate::ngram;
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
    /// Tokens that are guessed beside the next one.
    pub(super) guesses: usize,
    /// The model that guesses; without one, earlier tokens of the text are looked up.
    pub(super) drafter: Option<Drafter>,
    pub(super) memories: Memories,
    /// Whether a step may begin before the host knows the tokens of the one before: it is wanted, and
    /// the device can.
    pub(super) runs_ahead: bool,
    /// The step whose tokens the host has not read.
    pub(super) flight: Option<Flight>,
    /// How often a sequence got a place.
    pub(super) admitted: u64,
    /// The oldest first.
    pub(super) running: Vec<Sequence>,
    /// Requests that had begun and had to make room; they go on before new ones begin.
    pub(super) paused: VecDeque<Sequence>,
    /// Requests that are over, with their ends, of which their callers learn when the load no longer counts
    /// them.
    pub(super) ended: Vec<(Sequence, Result<FinishReason>)>,
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
            let places = self.places.saturating_sub(self.running.len() + self.paused.len());
            let Some(jobs) = self.queue.take(places, self.is_idle()) else { break };
            for job in jobs {
                match job {
                    queue::Job::Generate(request, grammar, events) => {
                        self.paused.push_back(Sequence::new(*request, grammar, events, &self.tokenizer));
                    }
                    queue::Job::Embed(job) => {
                        // It may take pages of those that run.
                        if let Err(error) = self.land() {
                            self.fail(&error);
                        }
                        self.embed(job);
                    }
                }
            }
            self.round();
        }
        for mut sequence in self.running.drain(..).chain(self.paused.drain(..)) {
            sequence.finish(FinishReason::Cancelled);
        }
    }

    /// One step, of those that are here now.
    pub(super) fn round(&mut self) {
        self.leave();
        self.admit();
        match self.step() {
            Ok(()) | Err(NoStep::Idle) => {}
            Err(NoStep::Failed(error)) => self.fail(&error),
        }
        self.report();
    }

    /// Whether nothing is left to do.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.paused.is_empty() && self.flight.is_none()
    }

    /// A request is over: its pages are free, and its last event follows with the next report.
    fn end(&mut self, mut sequence: Sequence, end: Result<FinishReason>) {
        self.pages.release(std::mem::take(&mut sequence.pages));
        self.ended.push((sequence, end));
    }

    /// Reports the load, then the ends of requests: who has a last event does not find its request running.
    fn report(&mut self) {
        self.queue.report(EngineLoad {
            waiting: 0,
            running: self.running.len() + self.paused.len(),
            places: self.places,
            cached_tokens: self.pages.used_positions(),
            cache_tokens: self.pages.layout().positions(),
        });
        for (mut sequence, end) in self.ended.drain(..) {
            match end {
                Ok(reason) => sequence.finish(reason),
                Err(error) => sequence.fail(error),
            }
        }
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
            self.admitted += 1;
            sequence.start(self.admitted, found, self.pages.layout().page);
            if let Err(error) = self.copy_states(states) {
                self.end(sequence, Err(error));
                continue;
            }
            self.running.push(sequence);
        }
    }

    /// Copies states of the model, and of the one that guesses, which has its own in the same places.
    fn copy_states(&mut self, copy: Option<StateCopy>) -> Result<()> {
        let Some(copy) = copy else { return Ok(()) };
        self.device.copy_states(copy)?;
        self.drafter.as_mut().map_or(Ok(()), |drafter| drafter.device.copy_states(copy))
    }

    /// The tokens of a sequence's next part, at most so many. Where there are states, a part ends with a page
    /// if it can, so that they can be kept for later requests.
    fn part(&self, sequence: &Sequence, most: usize) -> usize {
        let (page, tokens) = (self.pages.layout().page, sequence.left().min(most));
        let end = sequence.progress.computed + tokens;
        match end / page * page {
            boundary
                if sequence.pages.state.is_some() && tokens > 1 && boundary > sequence.progress.computed =>
            {
                boundary - sequence.progress.computed
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
        sequence.progress = Progress::default();
        self.paused.push_front(sequence);
    }

    /// One step: the next tokens of each sequence that generates, and a part of one prompt.
    fn step(&mut self) -> Result<(), NoStep> {
        if let Some(flight) = self.flight.take() {
            return self.go_on(flight).map_err(NoStep::Failed);
        }
        let mut chosen = self.choose_sequences()?;
        self.guess(&mut chosen).map_err(NoStep::Failed)?;
        // Those that generate come first, as those with the same number of tokens are one group.
        chosen.sort_by_key(|turn| (!turn.generates, turn.tokens.len(), turn.at));
        self.compute(chosen).map_err(NoStep::Failed)
    }

    fn compute(&mut self, chosen: Vec<Turn>) -> Result<()> {
        let jobs: Vec<Job<'_>> = chosen.iter().map(|turn| turn.job(&self.running)).collect();
        let draws = draw::draws(self.device.backend.info().kind, &self.rows(&chosen));
        let computed = self.device.compute(&jobs, &draws)?;
        if let Some(drafter) = &mut self.drafter {
            let prompts: Vec<_> = chosen.iter().filter(|turn| !turn.generates).collect();
            drafter.read(&prompts, &mut self.running)?;
        }
        let drawn = match computed {
            Some(Computed { tokens: Some(tokens), .. }) if self.may_run_ahead(&chosen) => {
                return self.take_off(chosen, tokens);
            }
            Some(computed) => Some(Drawn::read(&*self.device.backend, &computed, &self.rows(&chosen))?),
            None => None,
        };
        self.settle(&chosen, drawn)
    }

    /// The rows of logits that the turns ask for.
    fn rows(&self, turns: &[Turn]) -> Vec<Row<'_>> {
        let of_turn = |turn: &Turn| {
            let (sequence, before) = (&self.running[turn.at], turn.rows_before());
            (0..turn.rows()).map(move |row| (sequence, row.saturating_sub(before)))
        };
        turns.iter().flat_map(of_turn).collect()
    }

    /// Where a sequence is that got its place as this one, if it still runs.
    pub(super) fn place_of(&self, number: u64) -> Option<usize> {
        self.running.iter().position(|sequence| sequence.number == number)
    }

    /// The results of a step: sequences get their tokens, and those that end leave.
    pub(super) fn settle(&mut self, turns: &[Turn], mut drawn: Option<Drawn>) -> Result<()> {
        let mut finished = Vec::new();
        let mut next_row = 0;
        for turn in turns {
            let (rows, first) = (turn.rows(), next_row);
            next_row += rows;
            // It may have ended since the step began.
            let Some(at) = self.place_of(turn.number) else { continue };
            let sequence = &mut self.running[at];
            if !turn.generates {
                sequence.advance(turn.tokens.len());
            }
            if let (Some(drawn), 1..) = (&mut drawn, rows) {
                // Each row's token is what follows if the guesses before it are right.
                let guesses = &turn.tokens[turn.known..];
                let (mut right, mut end) = (0, None);
                for row in 0..=guesses.len() {
                    let Some(choice) = drawn.choice(first + turn.rows_before() + row, sequence) else {
                        end = Some(Err(self.device.not_finite()));
                        break;
                    };
                    let token = choice.token;
                    end = sequence.push(choice, &self.tokenizer, self.context).transpose();
                    let is_right = guesses.get(row) == Some(&token);
                    right += usize::from(is_right);
                    if end.is_some() || !is_right {
                        break;
                    }
                }
                if turn.generates {
                    let judged = Judged {
                        before: turn.before,
                        known: turn.known,
                        guesses: guesses.len(),
                        right,
                        is_back: self.pages.settle(&mut sequence.pages, right < guesses.len()),
                    };
                    sequence.progress.settle(self.memories, &judged);
                    sequence.count_guesses(guesses.len(), right);
                }
                let has_failed = matches!(end, Some(Err(_)));
                if let Some(end) = end {
                    finished.push((at, end));
                }
                if has_failed {
                    // Nobody should go on from what it computed.
                    continue;
                }
            }
            if let Some(computed) = sequence.progress.kept(self.memories) {
                let copy = self.pages.keep(&mut sequence.pages, &sequence.tokens, computed);
                self.copy_states(copy)?;
            }
        }
        finished.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (at, end) in finished {
            let sequence = self.running.remove(at);
            self.end(sequence, end);
        }
        Ok(())
    }

    /// The sequences that take part in a step, with their tokens.
    fn choose_sequences(&mut self) -> Result<Vec<Turn>, NoStep> {
        let mut budget = self.chunk;
        let mut chosen: Vec<Turn> = Vec::new();
        let mut at = 0;
        while at < self.running.len() {
            let left = self.running[at].left();
            // A sequence with states computes some tokens again after a wrong guess.
            let generates = left == 1 || (self.running[at].has_begun() && left <= 1 + self.guesses);
            let tokens = if generates { left } else { self.part(&self.running[at], budget) };
            if tokens > 0 {
                if self.make_room(at, self.running[at].progress.computed + tokens) {
                    let sequence = &self.running[at];
                    let before = sequence.progress;
                    let wanted = match (generates, left == tokens) {
                        (true, _) => Wanted::All,
                        (false, true) => Wanted::Last,
                        (false, false) => Wanted::Nothing,
                    };
                    let tokens = sequence.tokens[before.computed..][..tokens].to_vec();
                    if !generates {
                        budget -= tokens.len();
                    }
                    let known = tokens.len();
                    let number = sequence.number;
                    chosen.push(Turn { at, number, before, tokens, known, generates, wanted });
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
        if chosen.is_empty() { Err(NoStep::Idle) } else { Ok(chosen) }
    }

    /// Adds guesses to sequences that generate, as far as their pages have room without others making way.
    ///
    /// States change with each token, so those before the guesses are saved. After a wrong guess, the
    /// sequence goes back to them, and its next step computes the tokens again that were right, with no
    /// guesses.
    fn guess(&mut self, chosen: &mut [Turn]) -> Result<()> {
        if self.guesses == 0 {
            return Ok(());
        }
        let page = self.pages.layout().page;
        let mut guessing: Vec<&mut Turn> =
            chosen.iter_mut().filter(|turn| turn.generates && turn.known == 1).collect();
        let (mut most, mut found) = (Vec::new(), Vec::new());
        for turn in &guessing {
            let sequence = &mut self.running[turn.at];
            let mut wanted = sequence.guessable(self.guesses, self.context);
            if sequence.pages.state.is_some() && self.drafter.is_none() {
                // No step goes beyond the end of a page, behind which states can be kept for later requests.
                wanted = wanted.min(page - 1 - turn.before.computed % page);
            }
            self.pages.grow(&mut sequence.pages, turn.before.computed + 1 + wanted);
            let room = sequence.pages.pages.len() * page;
            wanted = wanted.min(room - turn.before.computed - 1);
            if self.drafter.is_none() {
                found.push(ngram::guess(&sequence.tokens, wanted).to_vec());
                wanted = found[found.len() - 1].len();
            }
            most.push((turn.at, wanted));
        }
        for (at, most) in &mut most {
            let pages = &mut self.running[*at].pages;
            if pages.state.is_some() && *most > 0 {
                match self.pages.save(pages) {
                    None => *most = 0,
                    copy => self.copy_states(copy)?,
                }
            }
        }
        if let Some(drafter) = &mut self.drafter {
            found = drafter.guess(&most, &mut self.running)?;
        }
        for ((turn, guess), (_, most)) in guessing.iter_mut().zip(found).zip(most) {
            turn.tokens.extend(guess.into_iter().take(most));
        }
        Ok(())
    }

    /// All running requests fail. The engine goes on.
    fn fail(&mut self, error: &Error) {
        self.flight = None;
        for sequence in std::mem::take(&mut self.running) {
            self.end(sequence, Err(Error::Device { reason: error.to_string() }));
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
        let vector =
            self.copy_states(states).and_then(|()| self.embedding_in(&mut sequence, tokens, pooling));
        self.pages.release(sequence);
        vector
    }

    /// The same, in the pages of a sequence that is empty.
    fn embedding_in(
        &mut self,
        sequence: &mut SequencePages,
        tokens: &[u32],
        pooling: Pooling,
    ) -> Result<Vec<f32>> {
        while !self.pages.grow(sequence, tokens.len()) {
            match self.running.len() {
                0 => {
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
        for (at, part) in tokens.chunks(self.chunk).enumerate() {
            let (position, pages) = (at * self.chunk, &sequence.pages);
            let part = Part { tokens: part, position, pages, state: sequence.state };
            pooled.add(&self.device.hidden(part)?);
        }
        normalised(pooled.finish()).ok_or_else(|| self.device.not_finite())
    }
}

/// A sequence's part of a step.
#[derive(Debug)]
pub(super) struct Turn {
    /// Which of those that run, when the turn began.
    pub(super) at: usize,
    /// The [number](Sequence::number) of the sequence.
    pub(super) number: u64,
    /// Before it, and before guesses were made: the first token's position is what was computed.
    pub(super) before: Progress,
    /// For one that generates, its last token, and guesses of the next ones.
    pub(super) tokens: Vec<u32>,
    /// Of these, tokens that are not guesses.
    known: usize,
    pub(super) generates: bool,
    wanted: Wanted,
}

impl Turn {
    /// The turn of a sequence whose next token is only known on the device.
    pub(super) fn ahead(at: usize, number: u64, before: Progress) -> Self {
        // The token is not read from here.
        Self { at, number, before, tokens: vec![0], known: 1, generates: true, wanted: Wanted::All }
    }

    pub(super) fn job<'s>(&'s self, running: &'s [Sequence]) -> Job<'s> {
        let pages = &running[self.at].pages;
        let part = Part {
            tokens: &self.tokens,
            position: self.before.computed,
            pages: &pages.pages,
            state: pages.state,
        };
        Job { part, generates: self.generates, wanted: self.wanted }
    }

    /// Rows of logits before that of the last token that is no guess.
    fn rows_before(&self) -> usize {
        if self.generates { self.known - 1 } else { 0 }
    }

    /// Its rows of logits.
    fn rows(&self) -> usize {
        match self.wanted {
            Wanted::Nothing => 0,
            Wanted::Last => 1,
            Wanted::All => self.tokens.len(),
        }
    }
}

/// Closes the queue when the thread ends, also by a panic.
struct CloseAtEnd(Arc<Queue>);

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        self.0.close();
    }
}
