//! A small model that guesses the next tokens of a large one.
//!
//! Its keys and values lie in the same pages of a cache of its own, and its states in the same places, so
//! that it goes on wherever the large model does. It draws its guesses with the numbers that the large
//! model's tokens are drawn with: where both models agree about the probabilities, they draw the same tokens.

use super::device::{Device, Job, Wanted};
use super::draw::{self, Drawn, Row};
use super::scheduler::Turn;
use super::sequence::Sequence;
use crate::error::Result;
use crate::model::Part;

/// The model that guesses.
#[derive(Debug)]
pub(super) struct Drafter {
    pub(super) device: Device,
}

impl Drafter {
    /// Reads the parts of prompts that the large model has read.
    pub(super) fn read(&mut self, turns: &[&Turn], running: &mut [Sequence]) -> Result<()> {
        let ends: Vec<(usize, usize)> =
            turns.iter().map(|turn| (turn.at, turn.before.computed + turn.tokens.len())).collect();
        let jobs: Vec<Job<'_>> = ends
            .iter()
            .map(|&(at, end)| (&running[at], end))
            .filter(|(sequence, end)| sequence.progress.drafted < *end)
            .map(|(sequence, end)| Job {
                part: part(sequence, &sequence.tokens[sequence.progress.drafted..end]),
                generates: false,
                wanted: Wanted::Nothing,
            })
            .collect();
        if !jobs.is_empty() {
            self.device.compute(&jobs, &[])?;
        }
        for (at, end) in ends {
            running[at].progress.drafted = running[at].progress.drafted.max(end);
        }
        Ok(())
    }

    /// Guesses so many tokens of each of these sequences.
    pub(super) fn guess(
        &mut self,
        most: &[(usize, usize)],
        running: &mut [Sequence],
    ) -> Result<Vec<Vec<u32>>> {
        let mut texts: Vec<Vec<u32>> = most.iter().map(|&(at, _)| running[at].tokens.clone()).collect();
        let longest = most.iter().map(|&(_, most)| most).max().unwrap_or(0);
        for later in 0..longest {
            // Sequences with the same number of tokens are one group: first one or two, then one.
            let mut order: Vec<usize> = (0..most.len()).filter(|&index| most[index].1 > later).collect();
            order.sort_by_key(|&index| texts[index].len() - running[most[index].0].progress.drafted);
            let job = |&index: &usize| {
                let sequence = &running[most[index].0];
                let tokens = &texts[index][sequence.progress.drafted..];
                // Only the last token's logits are needed, but a recorded step has those of all.
                let wanted = if tokens.len() == 1 { Wanted::All } else { Wanted::Last };
                Job { part: part(sequence, tokens), generates: true, wanted }
            };
            let jobs: Vec<Job<'_>> = order.iter().map(job).collect();
            let rows: Vec<Row<'_>> = order.iter().map(|&index| (&running[most[index].0], later)).collect();
            let draws = draw::draws(self.device.backend.info().kind, &rows);
            let Some(computed) = self.device.compute(&jobs, &draws)? else { break };
            let mut drawn = Drawn::read(&*self.device.backend, &computed, &rows)?;
            let guess =
                |(at, (row, &index)): (usize, (&Row<'_>, &usize))| drawn.guess(at, *row, &texts[index]);
            let guesses: Vec<Option<u32>> = rows.iter().zip(&order).enumerate().map(guess).collect();
            let guesses = guesses.into_iter().map(|guess| guess.ok_or_else(|| self.device.not_finite()));
            let guesses: Vec<u32> = guesses.collect::<Result<_>>()?;
            for (index, guess) in order.into_iter().zip(guesses) {
                running[most[index].0].progress.drafted = texts[index].len();
                texts[index].push(guess);
            }
        }
        Ok(most.iter().zip(texts).map(|(&(at, _), text)| text[running[at].tokens.len()..].to_vec()).collect())
    }
}

fn part<'s>(sequence: &'s Sequence, tokens: &'s [u32]) -> Part<'s> {
    let pages = &sequence.pages;
    Part { tokens, position: sequence.progress.drafted, pages: &pages.pages, state: pages.state }
}
