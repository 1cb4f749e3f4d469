//! torchtune: `Step 12 | loss:1.1174635887145996 lr:2e-05 tokens_per_second_per_gpu:542.97
//! peak_memory_active:14.7 …`.
//!
//! Both its loggers, to standard output and to a file, write these lines. They have no time of the step.

use super::super::text::{Commas, whole};
use super::{Field, Found, after};

/// Memory is printed in units of 2³⁰ bytes.
const GIB_IN_GB: f64 = 1e9 / 1_073_741_824.0;

pub(super) fn parse(line: &[u8], found: &mut Found<'_, '_>) {
    let Some(text) = after(line, b"Step ") else { return };
    let Some((step, rest)) = whole(text) else { return };
    let Some(values) = rest.strip_prefix(b" | ") else { return };
    // Other programs begin their lines with a step and a bar as well.
    if after(values, b"tokens_per_second_per_gpu:").is_none() {
        return;
    }
    found.step(step, text);
    for part in values.split(|byte| *byte == b' ') {
        let Some(colon) = part.iter().position(|byte| *byte == b':') else { continue };
        let (key, value) = (&part[..colon], &part[colon + 1..]);
        let (field, per) = match key {
            b"loss" => (Field::Loss, 1.0),
            b"lr" => (Field::LearningRate, 1.0),
            b"grad_norm" => (Field::GradNorm, 1.0),
            b"tokens_per_second_per_gpu" => (Field::TokensPerGpu, 1.0),
            b"peak_memory_alloc" => (Field::PeakAllocated, GIB_IN_GB),
            b"peak_memory_reserved" => (Field::PeakReserved, GIB_IN_GB),
            _ => continue,
        };
        found.take(field, key, value, Commas::Decimal, per);
    }
    // A space follows each value, so that the last one is whole where there is one.
    if line.ends_with(b" ") {
        found.row.last = None;
    }
}
