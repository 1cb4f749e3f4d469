//! What one line says about one step.

/// What a program can print about a step. The value's unit is in its name or below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Field {
    /// Time of the step in seconds.
    Seconds,
    /// Tokens per second of all GPUs.
    Tokens,
    /// Tokens per second of one GPU.
    TokensPerGpu,
    /// Sequences per second of all GPUs.
    Samples,
    /// TFLOP/s of one GPU.
    Tflops,
    /// GB currently in use by tensors.
    Allocated,
    /// Peak GB in use by tensors.
    PeakAllocated,
    /// GB currently held by the allocator.
    Reserved,
    /// Peak GB held by the allocator.
    PeakReserved,
    /// GB in use on the GPU, as counted by its driver.
    Used,
    /// GB of the GPU's memory.
    TotalMemory,
    Loss,
    LearningRate,
    GradNorm,
    /// Sequences of a step.
    GlobalBatch,
    /// Sequences since the run began.
    ConsumedSamples,
    /// Tokens of a step.
    TokensOfStep,
}

impl Field {
    pub(super) const COUNT: usize = Field::TokensOfStep as usize + 1;

    /// The field's bit in a set of fields.
    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Whether the value must be positive.
    fn is_positive(self) -> bool {
        !matches!(
            self,
            Field::Loss
                | Field::LearningRate
                | Field::GradNorm
                | Field::Allocated
                | Field::Reserved
                | Field::Used
        )
    }
}

/// One line, or the merged lines about one step. A missing value is NaN.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// The program's number of the step.
    pub(super) step: Option<u64>,
    /// The rank that wrote the line.
    pub(super) rank: Option<u32>,
    values: [f64; Field::COUNT],
    /// A bit for each field that has a value.
    present: u32,
    /// A bit for each field that was printed and is not finite.
    not_finite: u32,
    /// The field whose value ends the line, and its decimals: the value may be cut.
    pub(super) last: Option<(Field, u8)>,
}

impl Default for Row {
    fn default() -> Row {
        Row {
            step: None,
            rank: None,
            values: [f64::NAN; Field::COUNT],
            present: 0,
            not_finite: 0,
            last: None,
        }
    }
}

impl Row {
    /// The kept part of a row.
    pub(super) fn of_values(values: [f64; Field::COUNT], not_finite: u32) -> Row {
        let bits = values.iter().enumerate().map(|(place, value)| u32::from(!value.is_nan()) << place);
        Row { values, present: bits.fold(0, |present, bit| present | bit), not_finite, ..Row::default() }
    }

    pub(super) fn get(&self, field: Field) -> Option<f64> {
        Some(self.values[field as usize]).filter(|value| !value.is_nan())
    }

    /// Whether the field was printed as NaN or infinite.
    pub(super) fn is_not_finite(&self, field: Field) -> bool {
        self.not_finite & field.bit() != 0
    }

    pub(super) fn set_not_finite(&mut self, field: Field) {
        self.not_finite |= field.bit();
    }

    /// Sets a finite value, or returns why it cannot be a value of this field.
    pub(super) fn set(&mut self, field: Field, value: f64) -> Result<(), &'static str> {
        if field.is_positive() && value <= 0.0 {
            return Err("not positive");
        }
        if value < 0.0 && field != Field::Loss {
            return Err("negative");
        }
        self.values[field as usize] = value;
        self.present |= field.bit();
        Ok(())
    }

    /// The values, in the order of the fields; missing ones are NaN.
    pub(super) fn values(&self) -> &[f64; Field::COUNT] {
        &self.values
    }

    /// The fields that were printed and are not finite, as bits.
    pub(super) fn not_finite(&self) -> u32 {
        self.not_finite
    }

    /// A bit for each field that has a value, or was printed as one that is not finite.
    pub(super) fn fields(&self) -> u32 {
        self.present | self.not_finite
    }

    /// Whether the row has a figure of speed.
    pub(super) fn is_timed(&self) -> bool {
        const SPEED: u32 =
            Field::Seconds.bit() | Field::Tokens.bit() | Field::TokensPerGpu.bit() | Field::Samples.bit();
        self.present & SPEED != 0
    }

    /// Whether the row has any value.
    pub(super) fn is_empty(&self) -> bool {
        self.fields() == 0
    }
}

/// A value of a log that was left out, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The line in the log, from 1.
    pub line: u64,
    /// The log's name of the field.
    pub field: String,
    /// The reason.
    pub why: String,
    /// The text, shortened.
    pub text: String,
}

/// All values left out: their number, and the first ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes {
    pub(super) count: u64,
    pub(super) first: Vec<Ignored>,
    /// The current line.
    pub(super) line: u64,
}

impl Notes {
    /// The number of values kept in full.
    const KEPT: usize = 100;

    pub(super) fn ignore(&mut self, field: &[u8], why: &str, text: &[u8]) {
        self.count += 1;
        if self.first.len() < Notes::KEPT {
            let shortened = &text[..text.len().min(40)];
            self.first.push(Ignored {
                line: self.line,
                field: String::from_utf8_lossy(field).trim().to_owned(),
                why: why.to_owned(),
                text: String::from_utf8_lossy(shortened).trim().to_owned(),
            });
        }
    }

    pub(super) fn append(&mut self, other: Notes) {
        self.count += other.count;
        let room = Notes::KEPT.saturating_sub(self.first.len());
        self.first.extend(other.first.into_iter().take(room));
    }
}
