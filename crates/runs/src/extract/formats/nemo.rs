//! NeMo on Lightning.
//!
//! NeMo 2: `Training epoch 0, iteration 49/49 | lr: 7.5e-06 | global_step: 49 | reduced_train_loss: 11.96 |
//! train_step_timing in s: 12.39
//! | …`. NeMo 1 prints them in a progress bar: `Epoch 0: 47%|… | 7/15 [06:19<07:13, reduced_train_loss=11.50, global_step=5.000, …]`.

use memchr::memmem;

use super::super::text::{Commas, Number, number, whole};
use super::{Field, Found, after, hugging_face};

pub(super) fn parse(line: &[u8], found: &mut Found<'_, '_>) {
    if memmem::find(line, b"reduced_train_loss").is_none()
        && memmem::find(line, b"train_step_timing in s").is_none()
    {
        return;
    }
    let (start, separator, equals) = match memmem::find(line, b"Training epoch ") {
        Some(start) => (start, b'|', b':'),
        None => match memmem::find(line, b"Epoch ") {
            Some(start) => (start, b',', b'='),
            None => return,
        },
    };
    let text = &line[start..];
    if separator == b'|' {
        if let Some(iteration) = after(text, b"iteration ")
            && let Some((step, rest)) = whole(iteration)
        {
            found.step(step, iteration);
            // The last iteration's number, which begins with 0.
            if let Some(behind) = rest.strip_prefix(b"/")
                && let Some((last, _)) = whole(behind)
            {
                found.last_step(last, 1, behind);
            }
        }
    } else {
        found.trace.unusual();
        if let Some(bar) = hugging_face::bar(text) {
            found.step(bar.done, text);
            found.summary.max_steps = Some(bar.total);
        }
    }
    for part in text.split(|byte| *byte == separator) {
        let part = part.trim_ascii().trim_suffix_bracket();
        let Some(at) = part.iter().position(|byte| *byte == equals) else { continue };
        let (key, value) = (part[..at].trim_ascii(), part[at + 1..].trim_ascii_start());
        let key = key.rsplit(|byte| matches!(byte, b'[')).next().unwrap_or(key);
        let (field, per) = match key {
            b"train_step_timing in s" => (Field::Seconds, 1.0),
            b"reduced_train_loss" => (Field::Loss, 1.0),
            b"lr" => (Field::LearningRate, 1.0),
            b"grad_norm" | b"gradient_norm" => (Field::GradNorm, 1.0),
            b"global_batch_size" => (Field::GlobalBatch, 1.0),
            b"consumed_samples" => (Field::ConsumedSamples, 1.0),
            b"TFLOPS_per_GPU" => (Field::Tflops, 1.0),
            b"tokens_per_sec_per_gpu" => (Field::TokensPerGpu, 1.0),
            b"samples/sec" => (Field::Samples, 1.0),
            // In bytes. `peak_memory_usage` is the older name for the allocator's peak.
            b"peak_memory_usage" | b"max_memory_reserved" => (Field::PeakReserved, 1e9),
            b"max_memory_allocated" => (Field::PeakAllocated, 1e9),
            b"memory_allocated" => (Field::Allocated, 1e9),
            b"memory_reserved" => (Field::Reserved, 1e9),
            b"global_step" => {
                global_step(value, found);
                continue;
            }
            _ => continue,
        };
        // A bar only prints four digits of large numbers, so these are not step numbers.
        let rounded = separator == b',' && field == Field::ConsumedSamples;
        if !rounded {
            found.take(field, key, value, Commas::Decimal, per);
        }
    }
    if separator == b',' && text.last() == Some(&b']') {
        found.row.last = None;
    }
}

/// `49`, `5.000`; `1.23e+3` is rounded and thus not a step number.
fn global_step(value: &[u8], found: &mut Found<'_, '_>) {
    if let Number::Value(step, rest) = number(value, Commas::Decimal) {
        let exact = !value[..value.len() - rest.len()].iter().any(|byte| byte.eq_ignore_ascii_case(&b'e'));
        if exact && step.fract() == 0.0 && (0.0..1e12).contains(&step) {
            found.step(step as u64, value);
            return;
        }
    }
    found.trace.unusual();
}

trait TrimBracket {
    fn trim_suffix_bracket(&self) -> &Self;
}

impl TrimBracket for [u8] {
    /// Without the bracket that ends a progress bar.
    fn trim_suffix_bracket(&self) -> &[u8] {
        self.strip_suffix(b"]").unwrap_or(self)
    }
}
