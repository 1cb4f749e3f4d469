//! Megatron-LM and what prints its lines: Primus, Megatron-DeepSpeed, Megatron Bridge.
//!
//! ` iteration  126/ 5000 | consumed samples: 16128 | elapsed time per iteration (ms): 13372.8 | … | lm loss: 6.5E-03 | grad norm: 0.061 |
//! …`. Primus prints the current value and the average (`13372.8/13364.7`, `615.5 (avg 615.0)`): the current one is taken.

use std::sync::LazyLock;

use memchr::memmem;

use super::super::text::{Commas, whole};
use super::{Field, Found};

/// `hip mem usage` is printed in 2³⁰ bytes and called GB.
const GIB: f64 = 1_073_741_824.0;

pub(super) fn parse(line: &[u8], found: &mut Found<'_>) {
    static ITERATION: LazyLock<memmem::Finder<'static>> =
        LazyLock::new(|| memmem::Finder::new(b"iteration "));
    static MEMORY: LazyLock<memmem::Finder<'static>> =
        LazyLock::new(|| memmem::Finder::new(b"iterations) memory (MB) |"));
    if MEMORY.find(line).is_some() {
        memory(line, found);
        return;
    }
    // `iteration`, then two numbers. A line that was cut may have the next one in it: the last one is whole.
    let mut starts = ITERATION.find_iter(line).filter_map(|at| iteration(&line[at + 10..]));
    let first = starts.next();
    let Some((step, total, mut rest)) = first else {
        // Without a number of the step, as in an excerpt.
        fields(line, found);
        return;
    };
    found.step(step);
    found.summary.max_steps = Some(total);
    if let Some((step, total, behind)) = starts.last() {
        found.notes.ignore(b"iteration", "cut by the line of another step", rest);
        found.step(step);
        found.summary.max_steps = Some(total);
        rest = behind;
    }
    fields(rest, found);
}

/// `126/ 5000`, and what is behind.
fn iteration(text: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (step, rest) = whole(text)?;
    let (total, rest) = whole(rest.trim_ascii_start().strip_prefix(b"/")?)?;
    Some((step, total, rest))
}

fn fields(text: &[u8], found: &mut Found<'_>) {
    let mut from = 0;
    let ends = memchr::memchr_iter(b'|', text).chain(std::iter::once(text.len()));
    for end in ends {
        let part = text[from..end].trim_ascii_start();
        let closed = end < text.len();
        from = end + 1;
        // A prefix may have a time of day with colons.
        let colon =
            memchr::memchr_iter(b':', part).find(|at| part.get(at + 1).is_none_or(|byte| *byte == b' '));
        let Some(colon) = colon.or_else(|| memchr::memchr(b':', part)) else { continue };
        let (key, value) = (part[..colon].trim_ascii_end(), part[colon + 1..].trim_ascii_start());
        field(key, value, closed, found);
    }
}

fn field(key: &[u8], value: &[u8], closed: bool, found: &mut Found<'_>) {
    let simple = match key {
        _ if key.ends_with(b"elapsed time per iteration (ms)") => Some((Field::Seconds, 1e3)),
        b"throughput per GPU (TFLOP/s/GPU)" | b"compute per GPU (TFLOP/s/GPU)" | b"TFLOPs" => {
            Some((Field::Tflops, 1.0))
        }
        b"tokens per GPU (tokens/s/GPU)" | b"tokens/s/GPU inst/harmonic mean" => {
            found.summary.vendor_lines += 1;
            Some((Field::TokensPerGpu, 1.0))
        }
        b"tokens/sec/GPU" | b"tokens per gpu per second (tgs)" => Some((Field::TokensPerGpu, 1.0)),
        b"samples per second" => Some((Field::Samples, 1.0)),
        b"learning rate" => Some((Field::LearningRate, 1.0)),
        b"lm loss" | b"loss" => Some((Field::Loss, 1.0)),
        b"grad norm" => Some((Field::GradNorm, 1.0)),
        b"global batch size" => Some((Field::GlobalBatch, 1.0)),
        b"consumed samples" => Some((Field::ConsumedSamples, 1.0)),
        _ => None,
    };
    if let Some((field, per)) = simple {
        found.take(field, key, value, Commas::Decimal, per);
        // The value of an average is no end of a line.
        if closed {
            found.row.last = None;
        }
    } else if key == b"hip mem usage/free/total/usage_ratio" {
        found.summary.vendor_lines += 1;
        found.summary.is_amd = true;
        let Some(rest) = found.take_memory(Field::Used, key, value, GIB) else { return };
        // Behind what is free.
        let mut parts = rest.split(|byte| *byte == b'/').skip(2);
        if let Some(total) = parts.next() {
            found.take_memory(Field::TotalMemory, key, total, GIB);
        }
    }
}

/// `(after 20 iterations) memory (MB) | allocated: 1570.77 | max allocated: 2589.1 | reserved: 2608.0 | max reserved: 2608.0`, in 2²⁰
/// bytes. Several ranks may have written it into one line; each rank's peak is one of the run's.
fn memory(line: &[u8], found: &mut Found<'_>) {
    const MIB_IN_GB: f64 = 1e9 / 1_048_576.0;
    let mut peaks = [
        (Field::Allocated, 0.0),
        (Field::PeakAllocated, 0.0),
        (Field::Reserved, 0.0),
        (Field::PeakReserved, 0.0),
    ];
    let mut starts: Vec<usize> = memmem::find_iter(line, b"(after ").collect();
    starts.push(line.len());
    for bounds in starts.windows(2) {
        let part = &line[bounds[0]..bounds[1]];
        if let Some((step, _)) = super::after(part, b"(after ").and_then(whole) {
            found.step(step);
        }
        let part = memmem::find(part, b"[Rank").map_or(part, |end| &part[..end]);
        for part in part.split(|byte| *byte == b'|').skip(1) {
            let Some(colon) = part.iter().position(|byte| *byte == b':') else { continue };
            let (key, value) = (part[..colon].trim_ascii(), &part[colon + 1..]);
            let place = match key {
                b"allocated" => 0,
                b"max allocated" => 1,
                b"reserved" => 2,
                b"max reserved" => 3,
                _ => continue,
            };
            let (field, before) = peaks[place];
            found.take(field, key, value, Commas::Decimal, MIB_IN_GB);
            let peak = found.row.get(field).map_or(before, |value| value.max(before));
            peaks[place].1 = peak;
            if peak > 0.0 {
                let _ = found.row.set(field, peak);
            }
        }
    }
    // It is no line about a step, so it says nothing about how those end.
    found.row.last = None;
}
