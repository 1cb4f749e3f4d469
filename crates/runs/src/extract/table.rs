//! The steps of a log, each in as few bytes as its values need, because a log may have millions.

use std::borrow::Cow;

use super::column::Column;
use super::numbers::Numbers;
use super::row::{Field, Row};

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Step<'r> {
    pub(super) number: u64,
    pub(super) row: Cow<'r, Row>,
    /// The number of lines merged into the row, for the mean.
    pub(super) merged: u32,
    pub(super) attempt: u32,
    /// The line number of the first one.
    pub(super) line: u64,
}

/// A value that ends a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) line: u64,
    pub(super) field: Field,
    pub(super) decimals: u8,
}

/// Steps in the order of their numbers. Ranks are not kept, nor are line numbers of rows whose line does not
/// end in a value.
#[derive(Debug, Clone)]
pub(super) struct Table {
    numbers: Numbers,
    /// The bits of each field's values; missing values are NaN.
    values: [Column<u64>; Field::COUNT],
    not_finite: Column<u32>,
    merged: Column<u32>,
    attempts: Column<u32>,
    endings: Column<Option<Ending>>,
    /// A bit for each field that some row may have.
    fields: u32,
}

const NO_VALUES: Column<u64> = Column::new(f64::NAN.to_bits());

impl Default for Table {
    fn default() -> Table {
        Table {
            numbers: Numbers::default(),
            values: [NO_VALUES; Field::COUNT],
            not_finite: Column::new(0),
            merged: Column::new(1),
            attempts: Column::new(1),
            endings: Column::new(None),
            fields: 0,
        }
    }
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.len() == 0
    }

    pub(super) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// The place of a step, or where it belongs.
    pub(super) fn find(&self, number: u64) -> Result<usize, usize> {
        self.numbers.find(number)
    }

    /// Whether some row may have the field, as a finite value or not.
    pub(super) fn may_have(&self, field: Field) -> bool {
        self.fields & field.bit() != 0
    }

    pub(super) fn get(&self, place: usize, field: Field) -> Option<f64> {
        Some(f64::from_bits(self.values[field as usize].get(place))).filter(|value| !value.is_nan())
    }

    /// The existing values of a field.
    pub(super) fn values(&self, field: Field) -> impl Iterator<Item = f64> {
        let rows = if self.may_have(field) { self.len() } else { 0 };
        (0..rows).filter_map(move |place| self.get(place, field))
    }

    /// Whether the field was printed as NaN or infinite in some row.
    pub(super) fn has_not_finite(&self, field: Field) -> bool {
        self.may_have(field) && (0..self.len()).any(|place| self.not_finite.get(place) & field.bit() != 0)
    }

    /// Rows whose line ends with a value.
    pub(super) fn endings(&self) -> impl Iterator<Item = (usize, Ending)> {
        let rows = if self.endings.only() == Some(None) { 0 } else { self.len() };
        (0..rows).filter_map(|place| Some((place, self.endings.get(place)?)))
    }

    pub(super) fn step(&self, place: usize) -> Step<'static> {
        let values = std::array::from_fn(|field| f64::from_bits(self.values[field].get(place)));
        let mut row = Row::of_values(values, self.not_finite.get(place));
        let ending = self.endings.get(place);
        row.last = ending.map(|ending| (ending.field, ending.decimals));
        Step {
            number: self.numbers.get(place),
            row: Cow::Owned(row),
            merged: self.merged.get(place),
            attempt: self.attempts.get(place),
            line: ending.map_or(0, |ending| ending.line),
        }
    }

    pub(super) fn insert(&mut self, place: usize, step: &Step<'_>) {
        let rows = self.len();
        self.fields |= step.row.fields();
        for field in bits(self.fields) {
            self.values[field].insert(place, step.row.values()[field].to_bits(), rows);
        }
        self.not_finite.insert(place, step.row.not_finite(), rows);
        self.merged.insert(place, step.merged, rows);
        self.attempts.insert(place, step.attempt, rows);
        self.endings.insert(place, step.ending(), rows);
        self.numbers.insert(place, step.number);
    }

    /// Replaces the step with the same number.
    pub(super) fn set(&mut self, place: usize, step: &Step<'_>) {
        let rows = self.len();
        self.fields |= step.row.fields();
        for field in bits(self.fields) {
            self.values[field].set(place, step.row.values()[field].to_bits(), rows);
        }
        self.not_finite.set(place, step.row.not_finite(), rows);
        self.merged.set(place, step.merged, rows);
        self.attempts.set(place, step.attempt, rows);
        self.endings.set(place, step.ending(), rows);
    }

    /// Sets a valid value of a row, or removes it.
    pub(super) fn set_value(&mut self, place: usize, field: Field, value: Option<f64>) {
        let rows = self.len();
        self.fields |= field.bit();
        self.values[field as usize].set(place, value.unwrap_or(f64::NAN).to_bits(), rows);
    }

    /// Removes a field from all rows. Missing values are NaN.
    pub(super) fn take(&mut self, field: Field) -> Vec<f64> {
        self.fields &= !field.bit();
        let column = std::mem::replace(&mut self.values[field as usize], NO_VALUES);
        column.into_values(self.len()).into_iter().map(f64::from_bits).collect()
    }

    /// Whether no field of a row has a value or was printed.
    pub(super) fn has_nothing(&self, place: usize) -> bool {
        let has_value = |field: usize| !f64::from_bits(self.values[field].get(place)).is_nan();
        !bits(self.fields).any(has_value) && self.not_finite.get(place) == 0
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&Table, usize) -> bool) {
        let Some(first) = (0..self.len()).find(|place| !keep(self, *place)) else { return };
        let keep: Vec<bool> = (0..self.len()).map(|place| place < first || keep(self, place)).collect();
        for column in &mut self.values {
            column.retain(&keep);
        }
        self.not_finite.retain(&keep);
        self.merged.retain(&keep);
        self.attempts.retain(&keep);
        self.endings.retain(&keep);
        self.numbers.retain(&keep);
    }
}

impl Step<'_> {
    fn ending(&self) -> Option<Ending> {
        self.row.last.map(|(field, decimals)| Ending { line: self.line, field, decimals })
    }
}

/// The places of the set bits.
fn bits(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (lowest < u32::BITS).then_some(lowest as usize)
    })
}
