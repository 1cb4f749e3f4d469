//! Merges lines into steps: one row for each step, whichever ranks wrote lines about it and however often.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::RankRule;
use super::row::{Field, Row};
use super::table::{Step, Table};

/// The steps, and what happened while lines were merged.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    /// In the order of step numbers.
    pub(super) rows: Table,
    /// Lines about a step.
    pub(super) lines: u64,
    /// Lines that have a figure of speed.
    pub(super) timed: u64,
    /// Lines that have the time of their step.
    pub(super) measured: u64,
    /// Lines without a step number.
    pub(super) unnumbered: u64,
    /// Lines about a step that another rank had written about.
    pub(super) duplicates: u64,
    /// Those of them whose loss differs.
    pub(super) disagreements: u64,
    /// Where step numbers went back: the line, the step before, and the step after.
    pub(super) resumed: Vec<(u64, u64, u64)>,
    /// How often a value ended its line, by field and decimals; and how often no value did.
    endings: Vec<(Option<(u8, u8)>, u64)>,
    /// The last step of each rank, and how many times the rank started.
    last_of_rank: BTreeMap<Option<u32>, (u64, u32)>,
    attempts: u32,
}

/// The tolerance between the losses of one step that ranks print, because of their digits.
const SAME_LOSS: f64 = 1e-6;

impl Steps {
    /// Adds a line's row.
    pub(super) fn add(&mut self, row: &Row, line: u64, rule: RankRule) {
        let timed = row.is_timed();
        self.lines += 1;
        self.timed += u64::from(timed);
        self.measured += u64::from(row.get(Field::Seconds).is_some());
        self.count_ending(row.last.map(|(field, decimals)| (field as u8, decimals)), 1);
        let next = self.rows.numbers().last().map_or(0, |last| last.saturating_add(1));
        let number = row.step.unwrap_or_else(|| {
            self.unnumbered += 1;
            next
        });
        // Nearly every line is about the step after the last one.
        let place = if number >= next { Err(self.rows.len()) } else { self.rows.find(number) };
        let known = place.ok().map(|place| self.rows.step(place));
        let is_other = known.as_ref().is_some_and(|step| step.row.is_timed() && !same_loss(&step.row, row));
        let attempt =
            if timed { self.attempt(number, row.rank, is_other, line) } else { self.attempts.max(1) };
        let new = Step { number, row: Cow::Borrowed(row), merged: 1, attempt, line };
        match (place, known) {
            (Ok(place), Some(mut step)) if step.attempt >= attempt => {
                if timed && step.row.is_timed() {
                    self.duplicates += 1;
                    self.disagreements += u64::from(!same_loss(&step.row, &new.row));
                }
                step.merge(&new.row, rule);
                self.rows.set(place, &step);
            }
            (Ok(place), _) => self.rows.set(place, &new),
            (Err(place), _) => self.rows.insert(place, &new),
        }
    }

    /// There are only a few endings, so a list is faster than a map.
    fn count_ending(&mut self, ending: Option<(u8, u8)>, count: u64) {
        match self.endings.iter_mut().find(|(known, _)| *known == ending) {
            Some((_, known)) => *known += count,
            None => self.endings.push((ending, count)),
        }
    }

    /// Which attempt at a step a line is about. A rank whose numbers go back was resumed, and its new lines
    /// replace the old ones. Without rank numbers, lines of several ranks look the same: lines that are at
    /// most two steps late and have the step's loss count as such. `is_other` says whether the step's
    /// existing line has another loss.
    fn attempt(&mut self, number: u64, rank: Option<u32>, is_other: bool, line: u64) -> u32 {
        let mut first = false;
        let known = self.last_of_rank.entry(rank).or_insert_with(|| {
            first = true;
            (0, 1)
        });
        let (last, attempt) = *known;
        let late = if rank.is_some() { 0 } else { 2 };
        let duplicate = last.saturating_sub(number) <= late && !is_other;
        let resumed = !first && number <= last && !duplicate;
        let attempt = attempt + u32::from(resumed);
        if resumed && attempt > self.attempts {
            self.resumed.push((line, last, number));
        }
        self.attempts = self.attempts.max(attempt);
        *known = (if resumed { number } else { last.max(number) }, attempt);
        attempt
    }

    /// Removes cut values: those that end a line where most lines of this format do not end, or with other
    /// decimals than most, if the program always prints equally many. Returns their lines and fields.
    pub(super) fn remove_cut(&mut self, fixed_decimals: bool) -> Vec<(u64, Field)> {
        let usual = self
            .endings
            .iter()
            .max_by_key(|(ending, count)| (*count, *ending))
            .and_then(|(ending, _)| *ending);
        let mut removed = Vec::new();
        for (place, ending) in self.rows.endings() {
            let is_usual = usual.is_some_and(|(of, usual)| {
                of == ending.field as u8 && (usual == ending.decimals || !fixed_decimals)
            });
            if !is_usual && self.rows.get(place, ending.field).is_some() {
                removed.push((place, ending));
            }
        }
        for (place, ending) in &removed {
            self.rows.set_value(*place, ending.field, None);
        }
        self.rows.retain(|rows, place| !rows.has_nothing(place));
        removed.into_iter().map(|(_, ending)| (ending.line, ending.field)).collect()
    }

    /// Steps that each row covers: the usual difference of numbers. Two rows are too few to tell.
    pub(super) fn interval(&self) -> u64 {
        let mut counts: HashMap<u64, u64> = HashMap::new();
        for (interval, count) in self.rows.numbers().intervals() {
            *counts.entry(interval).or_default() += count;
        }
        let usual = counts.into_iter().max_by_key(|(interval, count)| (*count, std::cmp::Reverse(*interval)));
        usual.filter(|_| self.rows.len() > 2).map_or(1, |(interval, _)| interval.max(1))
    }

    /// Steps that a row covers, by its place. The first line of a log often covers only the first step, and
    /// where a line is missing, its steps are missing, too.
    pub(super) fn span(&self, place: usize, interval: u64) -> u64 {
        let numbers = self.rows.numbers();
        let number = numbers.get(place);
        let before = place.checked_sub(1).map_or(0, |before| numbers.get(before));
        (number - before).clamp(1, interval)
    }

    pub(super) fn append(&mut self, other: Steps, rule: RankRule) {
        // A separate file is a separate rank, unless it continues the numbers.
        let ends = other.rows.numbers().first().zip(self.rows.numbers().last());
        let continues = ends.is_none_or(|(first, last)| first > last);
        self.measured += other.measured;
        for (ending, count) in other.endings {
            self.count_ending(ending, count);
        }
        self.resumed.extend(other.resumed);
        self.duplicates += other.duplicates;
        self.disagreements += other.disagreements;
        for step in (0..other.rows.len()).map(|place| other.rows.step(place)) {
            let place = if continues { Err(self.rows.len()) } else { self.rows.find(step.number) };
            match place {
                Ok(place) => {
                    let mut known = self.rows.step(place);
                    if known.row.is_timed() && step.row.is_timed() {
                        self.duplicates += 1;
                    }
                    known.merge(&step.row, rule);
                    self.rows.set(place, &known);
                }
                Err(place) => self.rows.insert(place, &step),
            }
        }
        self.lines += other.lines;
        self.timed += other.timed;
        self.unnumbered += other.unnumbered;
    }
}

/// Whether two lines have the same loss, or one has none.
fn same_loss(one: &Row, other: &Row) -> bool {
    let losses = one.get(Field::Loss).zip(other.get(Field::Loss));
    losses.is_none_or(|(one, other)| (one - other).abs() <= SAME_LOSS * one.abs().max(other.abs()))
}

impl Step<'_> {
    /// Merges another rank's line about the same step. Memory is that of the fullest GPU under either rule.
    fn merge(&mut self, other: &Row, rule: RankRule) {
        // The value of the slowest rank, and the mean of ranks.
        const FIELDS: [(Field, How, How); Field::COUNT] = [
            (Field::Seconds, How::Max, How::Mean),
            (Field::Tokens, How::Min, How::Mean),
            (Field::TokensPerGpu, How::Min, How::Mean),
            (Field::Samples, How::Min, How::Mean),
            (Field::Tflops, How::Min, How::Mean),
            (Field::Allocated, How::Max, How::Max),
            (Field::PeakAllocated, How::Max, How::Max),
            (Field::Reserved, How::Max, How::Max),
            (Field::PeakReserved, How::Max, How::Max),
            (Field::Used, How::Max, How::Max),
            (Field::TotalMemory, How::Min, How::Min),
            (Field::Loss, How::First, How::Mean),
            (Field::LearningRate, How::First, How::First),
            (Field::GradNorm, How::First, How::Mean),
            (Field::GlobalBatch, How::First, How::First),
            (Field::ConsumedSamples, How::First, How::First),
            (Field::TokensOfStep, How::First, How::First),
        ];
        for (field, slowest, average) in FIELDS {
            let how = match rule {
                RankRule::Slowest => slowest,
                RankRule::Mean => average,
            };
            if other.is_not_finite(field) {
                self.row.to_mut().set_not_finite(field);
            }
            let Some(new) = other.get(field) else { continue };
            let value = match self.row.get(field) {
                None => new,
                Some(old) => match how {
                    How::Max => old.max(new),
                    How::Min => old.min(new),
                    How::First => old,
                    How::Mean => old + (new - old) / f64::from(self.merged + 1),
                },
            };
            // It was valid in its row.
            let _ = self.row.to_mut().set(field, value);
        }
        self.merged = self.merged.saturating_add(1);
    }
}

#[derive(Clone, Copy)]
enum How {
    Max,
    Min,
    First,
    Mean,
}
