//! Steps that begin before the host has read the tokens of the one before.
//!
//! The device draws the tokens of a step, and the next step finds them where it left them. So the host
//! launches that one first, then reads the tokens, and works on texts and events while the device computes.
//! What the host has not read yet is a [`Flight`].
//!
//! A sequence may turn out to have ended with the token that is read: by a stop sequence, its listener's
//! leave, an error. Then its row of the flight was computed for nothing, and is dropped. It wrote to pages
//! that were the sequence's own when the flight began, at positions behind all that is kept of it. Whoever
//! gets these pages writes to them in later steps, and all work of a device runs in the order of its
//! submission. The number that decides about a token depends on its place in the text, not on the steps that
//! were made.

use backend::{KernelBackend, Readback, Tensor};

use super::device::{Computed, Ids, Wanted};
use super::draw::{self, Drawn};
use super::progress::Progress;
use super::scheduler::{Scheduler, Turn};
use crate::error::Result;

/// A step under way: one token of each sequence.
pub(super) struct Flight {
    /// With rows in their order.
    turns: Vec<Turn>,
    /// The tokens that it draws, which stay on the device.
    tokens: Tensor,
    /// Their way to the host.
    copy: Box<dyn Readback>,
}

impl Flight {
    fn of(backend: &dyn KernelBackend, turns: Vec<Turn>, tokens: Tensor) -> Result<Self> {
        let copy = backend.read_back(&tokens)?;
        Ok(Self { turns, tokens, copy })
    }
}

impl Scheduler {
    /// Whether the step behind this one may begin before the tokens of this one are known here. This is the
    /// one place that decides: the device draws all of the tokens, and nothing on the host has a say in them.
    ///
    /// So it may not where the host draws (penalties, `dry`, `typical_p`, grammars), where log-probabilities
    /// need logits on the host, with guesses, where ranks share the model, on the CPU, and where steps are
    /// command buffers of `hal`: the way back of tokens waits on the host for the step.
    pub(super) fn may_run_ahead(&self, turns: &[Turn]) -> bool {
        self.runs_ahead
            && self.guesses == 0
            && turns.iter().all(|turn| turn.generates && self.running[turn.at].is_drawn_by_device())
    }

    /// The tokens of a step are read later.
    pub(super) fn take_off(&mut self, turns: Vec<Turn>, tokens: Tensor) -> Result<()> {
        self.flight = Some(Flight::of(&*self.device.backend, turns, tokens)?);
        Ok(())
    }

    /// Begins the step behind the one under way, if it can, and then ends that one.
    pub(super) fn go_on(&mut self, flight: Flight) -> Result<()> {
        let next = self.begin_behind(&flight);
        self.end_flight(flight)?;
        // What failed is the step behind the one whose tokens were just sent.
        self.flight = next?;
        Ok(())
    }

    /// Ends the step under way.
    pub(super) fn land(&mut self) -> Result<()> {
        self.flight.take().map_or(Ok(()), |flight| self.end_flight(flight))
    }

    fn end_flight(&mut self, flight: Flight) -> Result<()> {
        let bytes = flight.copy.wait()?;
        let tokens: Vec<u32> = bytes.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        self.settle(&flight.turns, Some(Drawn::from(tokens)))
    }

    /// The step behind the one under way, of the same sequences but those that end. None if another sequence
    /// has joined, or something has to be done between both steps.
    fn begin_behind(&mut self, flight: &Flight) -> Result<Option<Flight>> {
        let is_flying = |number| flight.turns.iter().any(|turn| turn.number == number);
        if !self.running.iter().all(|sequence| is_flying(sequence.number)) {
            return Ok(None);
        }
        let page = self.pages.layout().page;
        let (mut turns, mut rows) = (Vec::with_capacity(flight.turns.len()), Vec::new());
        for (row, turn) in flight.turns.iter().enumerate() {
            let Some(at) = self.place_of(turn.number) else { continue };
            let sequence = &mut self.running[at];
            let computed = turn.before.computed + 1;
            // States behind a page are copied before they change.
            if sequence.pages.state.is_some() && computed.is_multiple_of(page) {
                return Ok(None);
            }
            if sequence.ends_with_next(self.context) {
                continue;
            }
            if !self.pages.grow(&mut sequence.pages, computed + 1) {
                return Ok(None);
            }
            turns.push(Turn::ahead(at, turn.number, Progress::at(computed)));
            rows.push(row);
        }
        if turns.is_empty() {
            return Ok(None);
        }
        let jobs: Vec<_> = turns.iter().map(|turn| turn.job(&self.running)).collect();
        debug_assert!(jobs.iter().all(|job| job.wanted == Wanted::All), "logits of one token each");
        let drawn: Vec<_> = turns.iter().map(|turn| (&self.running[turn.at], 1)).collect();
        let draws = draw::draws(self.device.backend.info().kind, &drawn);
        let ids = Ids::Drawn { tokens: &flight.tokens, rows: &rows };
        let Computed { tokens, .. } = self.device.compute_ahead(&jobs, &draws, ids)?;
        let Some(tokens) = tokens else { return Ok(None) };
        Flight::of(&*self.device.backend, turns, tokens).map(Some)
    }
}

#[cfg(test)]
mod tests;
