//! MaxText: `completed step: 49, seconds: 5.018, TFLOP/s/device: 107.127, Tokens/s/device: 6529.527,
//! total_weights: 262144, loss: 10.172`.

use super::super::text::{Commas, whole};
use super::{Field, Found, after};

pub(super) fn parse(line: &[u8], found: &mut Found<'_, '_>) {
    let Some(text) = after(line, b"completed step: ") else { return };
    let Some((step, rest)) = whole(text) else {
        found.notes.ignore(b"completed step", "no number", text);
        return;
    };
    found.step(step, text);
    let mut rest = rest;
    while let Some(colon) = rest.iter().position(|byte| *byte == b':') {
        let key = rest[..colon].trim_ascii_start();
        let key = key.strip_prefix(b",").unwrap_or(key).trim_ascii();
        let value = rest[colon + 1..].trim_ascii_start();
        let field = match key {
            b"seconds" => Some(Field::Seconds),
            b"TFLOP/s/device" => Some(Field::Tflops),
            b"Tokens/s/device" => Some(Field::TokensPerGpu),
            // Tokens that count, of all devices.
            b"total_weights" => Some(Field::TokensOfStep),
            b"loss" => Some(Field::Loss),
            b"lr" => Some(Field::LearningRate),
            b"grad_norm" => Some(Field::GradNorm),
            _ => None,
        };
        let behind = field.and_then(|field| found.take(field, key, value, Commas::Decimal, 1.0));
        // Go on with the next field, whatever the value of this one.
        let Some(comma) = behind.unwrap_or(value).iter().position(|byte| *byte == b',') else { break };
        rest = &behind.unwrap_or(value)[comma + 1..];
    }
}
