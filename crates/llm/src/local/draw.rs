//! Who draws the tokens of a step, the device or the host, and what comes back of it.
//!
//! Each row of logits is drawn for itself: what one request asks for changes no token of another one.

use std::ops::Range;

use backend::{BackendKind, KernelBackend, Sampling};

use super::device::Computed;
use super::sequence::Sequence;
use crate::error::Result;
use crate::generate::sampler::{Choice, has_token, known_token};
use crate::model::Draw;

/// A row of logits: its sequence, and how many tokens it comes behind the next one.
pub(super) type Row<'s> = (&'s Sequence, usize);

/// What the device draws tokens by, for each row; empty if the host draws all of them. A row whose token the
/// host draws has any settings.
pub(super) fn draws(kind: BackendKind, rows: &[Row<'_>]) -> Vec<Draw> {
    let by_device = match kind {
        // The host is the device, and draws more exactly.
        BackendKind::Cpu => rows.iter().all(|(sequence, _)| sequence.is_argmax()),
        _ => rows.iter().any(|(sequence, _)| sequence.device_settings().is_some()),
    };
    if !by_device {
        return Vec::new();
    }
    let draw = |(sequence, later): &Row<'_>| match sequence.device_settings() {
        Some(settings) => Draw { settings, number: sequence.sampler.uniform(*later) },
        None => Draw { settings: Sampling::GREEDY, number: 0.0 },
    };
    rows.iter().map(draw).collect()
}

/// What came back of a step.
pub(super) struct Drawn {
    /// The tokens that the device drew, one for each row, if it drew some.
    tokens: Option<Vec<u32>>,
    /// The logits that are needed on the host.
    logits: Option<Logits>,
}

/// Some rows of logits.
struct Logits {
    rows: Range<usize>,
    columns: usize,
    numbers: Vec<f32>,
}

impl Logits {
    fn row(&mut self, row: usize) -> Option<&mut [f32]> {
        let at = self.rows.contains(&row).then(|| (row - self.rows.start) * self.columns)?;
        self.numbers.get_mut(at..at + self.columns)
    }
}

impl From<Vec<u32>> for Drawn {
    fn from(tokens: Vec<u32>) -> Self {
        Self { tokens: Some(tokens), logits: None }
    }
}

impl Drawn {
    /// Waits for a step's results, as far as they are needed for these rows.
    pub(super) fn read(
        backend: &(dyn KernelBackend + 'static),
        computed: &Computed,
        rows: &[Row<'_>],
    ) -> Result<Self> {
        let by_device = computed.tokens.is_some();
        let needs = |(sequence, _): &Row<'_>| !(by_device && sequence.is_drawn_by_device());
        let first = rows.iter().position(needs);
        let logits = match (first, rows.iter().rposition(needs)) {
            (Some(first), Some(last)) => {
                let part = computed.logits.narrow(0, first, last + 1 - first)?;
                let (rows, columns) = (first..last + 1, part.columns());
                Some(Logits { rows, columns, numbers: backend.to_f32(&part)? })
            }
            _ => None,
        };
        let tokens = computed.tokens.as_ref().map(|tokens| backend.to_u32(tokens)).transpose()?;
        Ok(Self { tokens, logits })
    }

    /// The token of this row, which is the sequence's next one; none if the row is not finite.
    pub(super) fn choice(&mut self, row: usize, sequence: &mut Sequence) -> Option<Choice> {
        let logits = self.logits.as_mut().and_then(|logits| logits.row(row));
        match &self.tokens {
            Some(tokens) if sequence.device_settings().is_some() => {
                known_token(tokens[row]).map(|token| sequence.sampler.take(token, logits.as_deref()))
            }
            _ => logits.filter(|logits| has_token(logits)).map(|logits| sequence.choose(logits)),
        }
    }

    /// The guess of this row's token, which comes so many tokens behind the next one of `tokens` without
    /// guesses; none if the row is not finite.
    pub(super) fn guess(&mut self, row: usize, (sequence, later): Row<'_>, tokens: &[u32]) -> Option<u32> {
        let logits = self.logits.as_mut().and_then(|logits| logits.row(row));
        match &self.tokens {
            Some(drawn) if sequence.device_settings().is_some() => known_token(drawn[row]),
            _ => logits
                .filter(|logits| has_token(logits))
                .map(|logits| sequence.sampler.guess(logits, tokens, later)),
        }
    }
}
