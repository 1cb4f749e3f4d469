//! From lines to steps: one row for each step, whichever ranks wrote lines about it and however often.

use std::collections::HashMap;

use super::RankRule;
use super::row::{Field, Row};

/// What happened while lines became steps.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    /// In the order of the steps' numbers.
    pub(super) rows: Vec<Step>,
    /// Lines about a step.
    pub(super) lines: u64,
    /// Lines that have a figure of speed.
    pub(super) timed: u64,
    /// Lines that have the time of their step.
    pub(super) measured: u64,
    /// Lines without a number of their step.
    pub(super) unnumbered: u64,
    /// Lines about a step that another rank had written about.
    pub(super) duplicates: u64,
    /// Of those, the ones whose loss is another.
    pub(super) disagreements: u64,
    /// Where numbers of steps went back: the line, from which step, to which.
    pub(super) resumed: Vec<(u64, u64, u64)>,
    /// How often a value ended its line, by field and decimals; and how often none did.
    endings: Vec<(Option<(u8, u8)>, u64)>,
    /// The last step of each rank, and how many times it began.
    last_of_rank: HashMap<Option<u32>, (u64, u32)>,
    attempts: u32,
    /// A bit for each field that some row may have.
    fields: u32,
}

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) number: u64,
    pub(super) row: Row,
    /// Lines that were merged into the row, for the mean.
    merged: u32,
    attempt: u32,
    /// The line in the log of the first one.
    pub(super) line: u64,
}

/// How far apart two losses of one step may be that ranks print: digits.
const SAME_LOSS: f64 = 1e-6;

impl Steps {
    /// Adds a line's row.
    pub(super) fn add(&mut self, row: Row, line: u64, rule: RankRule) {
        let timed = row.is_timed();
        self.fields |= row.fields();
        self.lines += 1;
        self.timed += u64::from(timed);
        self.measured += u64::from(row.get(Field::Seconds).is_some());
        self.count_ending(row.last.map(|(field, decimals)| (field as u8, decimals)), 1);
        let next = self.rows.last().map_or(0, |step| step.number.saturating_add(1));
        let number = row.step.unwrap_or_else(|| {
            self.unnumbered += 1;
            next
        });
        // Nearly every line is about the step behind the last one.
        let place = if number >= next {
            self.rows.len()
        } else {
            self.rows.partition_point(|step| step.number < number)
        };
        let known = self.rows.get(place).filter(|step| step.number == number);
        let is_other = known.is_some_and(|step| step.row.is_timed() && !same_loss(&step.row, &row));
        let attempt =
            if timed { self.attempt(number, row.rank, is_other, line) } else { self.attempts.max(1) };
        match self.rows.get_mut(place).filter(|step| step.number == number) {
            None => self.rows.insert(place, Step { number, row, merged: 1, attempt, line }),
            Some(step) if step.attempt < attempt => *step = Step { number, row, merged: 1, attempt, line },
            Some(step) => {
                if timed && step.row.is_timed() {
                    self.duplicates += 1;
                    self.disagreements += u64::from(!same_loss(&step.row, &row));
                }
                step.merge(&row, rule);
            }
        }
    }

    /// Whether some row may have the field, as a value or as one that is not finite.
    pub(super) fn may_have(&self, field: Field) -> bool {
        self.fields & 1 << field as u32 != 0
    }

    /// Gives a row a value.
    pub(super) fn set(&mut self, place: usize, field: Field, value: f64) {
        // It was valid for its row.
        let _ = self.rows[place].row.set(field, value);
        self.fields |= 1 << field as u32;
    }

    /// There are a handful of endings, so that a list is faster than a map.
    fn count_ending(&mut self, ending: Option<(u8, u8)>, count: u64) {
        match self.endings.iter_mut().find(|(known, _)| *known == ending) {
            Some((_, known)) => *known += count,
            None => self.endings.push((ending, count)),
        }
    }

    /// Which attempt at a step a line is about. A rank whose numbers go back was resumed, and what it then writes replaces what there was.
    /// Without a rank, lines of several ranks look the same: those that are at most two steps late and have the loss of the step are
    /// theirs.
    /// `is_other` says whether the step's line so far has another loss.
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

    /// Removes values that were cut: those that end a line where most lines of this format do not end, or with other decimals than most, if
    /// the program always prints as many. Gives their lines and fields.
    pub(super) fn remove_cut(&mut self, fixed_decimals: bool) -> Vec<(u64, Field)> {
        let usual = self
            .endings
            .iter()
            .max_by_key(|(ending, count)| (*count, *ending))
            .and_then(|(ending, _)| *ending);
        let mut removed = Vec::new();
        for step in &mut self.rows {
            let Some((field, decimals)) = step.row.last else { continue };
            let is_usual =
                usual.is_some_and(|(of, usual)| of == field as u8 && (usual == decimals || !fixed_decimals));
            if !is_usual && step.row.get(field).is_some() {
                step.row.clear(field);
                removed.push((step.line, field));
            }
        }
        self.rows.retain(|step| !step.row.is_empty());
        removed
    }

    /// Steps that each row stands for: the usual difference of numbers. Two rows alone tell nothing.
    pub(super) fn interval(&self) -> u64 {
        let mut counts: HashMap<u64, u64> = HashMap::new();
        // Nearly all are the same, one after the other.
        for run in self
            .rows
            .windows(2)
            .map(|pair| pair[1].number - pair[0].number)
            .collect::<Vec<_>>()
            .chunk_by(u64::eq)
        {
            *counts.entry(run[0]).or_default() += run.len() as u64;
        }
        let usual = counts.into_iter().max_by_key(|(interval, count)| (*count, std::cmp::Reverse(*interval)));
        usual.filter(|_| self.rows.len() > 2).map_or(1, |(interval, _)| interval.max(1))
    }

    /// Steps that a row stands for, by its place. The first line of a log often is of the first step alone, and where a line is missing,
    /// its steps are, too.
    pub(super) fn span(&self, place: usize, interval: u64) -> u64 {
        let number = self.rows[place].number;
        let before = place.checked_sub(1).map_or(0, |before| self.rows[before].number);
        (number - before).clamp(1, interval)
    }

    pub(super) fn append(&mut self, other: Steps, rule: RankRule) {
        // A file of its own is a rank of its own, unless it continues the numbers.
        let continues =
            other.rows.first().zip(self.rows.last()).is_none_or(|(first, last)| first.number > last.number);
        let (lines, timed, unnumbered) = (other.lines, other.timed, other.unnumbered);
        self.measured += other.measured;
        for (ending, count) in other.endings {
            self.count_ending(ending, count);
        }
        self.resumed.extend(other.resumed);
        self.fields |= other.fields;
        self.duplicates += other.duplicates;
        self.disagreements += other.disagreements;
        if continues {
            self.rows.extend(other.rows);
        } else {
            for step in other.rows {
                let place = self.rows.partition_point(|known| known.number < step.number);
                match self.rows.get_mut(place).filter(|known| known.number == step.number) {
                    Some(known) => {
                        if known.row.is_timed() && step.row.is_timed() {
                            self.duplicates += 1;
                        }
                        known.merge(&step.row, rule);
                    }
                    None => self.rows.insert(place, step),
                }
            }
        }
        self.lines += lines;
        self.timed += timed;
        self.unnumbered += unnumbered;
    }
}

/// Whether two lines have the same loss, or one has none.
fn same_loss(one: &Row, other: &Row) -> bool {
    let losses = one.get(Field::Loss).zip(other.get(Field::Loss));
    losses.is_none_or(|(one, other)| (one - other).abs() <= SAME_LOSS * one.abs().max(other.abs()))
}

impl Step {
    /// Merges what another rank says of the same step. Memory is that of the fullest GPU under either rule.
    fn merge(&mut self, other: &Row, rule: RankRule) {
        // What counts by the slowest rank, and by the mean of ranks.
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
                self.row.set_not_finite(field);
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
            let _ = self.row.set(field, value);
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
