//! Megatron-LM, and programs that print its lines: Primus, Megatron-DeepSpeed, Megatron Bridge.
//!
//! ` iteration 126/ 5000 | consumed samples: 16128 | elapsed time per iteration (ms): 13372.8 | … | lm loss:
//! 6.5E-03 | grad norm: 0.061 | …`. Primus prints the current value and the average (`13372.8/13364.7`,
//! `615.5 (avg 615.0)`): the parser takes the current one.

use std::sync::LazyLock;

use memchr::memmem;

use super::super::text::{Commas, whole};
use super::{Field, Found};

/// `hip mem usage` is in units of 2³⁰ bytes, called GB.
const GIB: f64 = 1_073_741_824.0;

static ITERATION: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"iteration "));
static MEMORY: LazyLock<memmem::Finder<'static>> =
    LazyLock::new(|| memmem::Finder::new(b"iterations) memory (MB) |"));

pub(super) fn parse(line: &[u8], found: &mut Found<'_, '_>) {
    if MEMORY.find(line).is_some() {
        // Possibly lines of several ranks, merged into one.
        found.trace.unusual();
        memory(line, found);
        return;
    }
    // `iteration`, then two numbers. A cut line may contain the next one: the last one is complete.
    let mut starts = ITERATION.find_iter(line).filter_map(|at| iteration(&line[at + 10..]));
    let first = starts.next();
    let Some(mut last) = first else {
        // Without a step number, as in an excerpt.
        fields(line, found);
        return;
    };
    if let Some(another) = starts.last() {
        found.notes.ignore(b"iteration", "cut by the line of another step", last.rest);
        last = another;
    }
    found.step(last.step.0, last.step.1);
    found.last_step(last.total.0, 0, last.total.1);
    fields(last.rest, found);
}

/// `126/ 5000`: two numbers with the texts that they begin, and the text after them.
struct Iteration<'t> {
    step: (u64, &'t [u8]),
    total: (u64, &'t [u8]),
    rest: &'t [u8],
}

fn iteration(text: &[u8]) -> Option<Iteration<'_>> {
    let (step, rest) = whole(text)?;
    let behind = rest.trim_ascii_start().strip_prefix(b"/")?;
    let (total, rest) = whole(behind)?;
    Some(Iteration { step: (step, text), total: (total, behind), rest })
}

/// A field of a line, with its name.
struct Part<'t> {
    key: &'t [u8],
    value: &'t [u8],
    /// Its end in the text.
    end: usize,
}

fn parts(text: &[u8]) -> impl Iterator<Item = Part<'_>> {
    let mut from = 0;
    let ends = memchr::memchr_iter(b'|', text).chain(std::iter::once(text.len()));
    ends.filter_map(move |end| {
        let part = text[from..end].trim_ascii_start();
        from = end + 1;
        // A prefix may contain a time of day with colons.
        let colon =
            memchr::memchr_iter(b':', part).find(|at| part.get(at + 1).is_none_or(|byte| *byte == b' '));
        let colon = colon.or_else(|| memchr::memchr(b':', part))?;
        Some(Part { key: part[..colon].trim_ascii_end(), value: part[colon + 1..].trim_ascii_start(), end })
    })
}

/// The values after a key.
enum Meaning {
    /// A number, and the number of its units in one of the field's.
    Value(Field, f64),
    /// Memory in use, free, and in total.
    UsedAndTotal,
    None,
}

/// The meaning of the values after a key, and whether Primus adds the field to Megatron-LM's.
fn meaning(key: &[u8]) -> (Meaning, bool) {
    match key {
        _ if key.ends_with(b"elapsed time per iteration (ms)") => {
            (Meaning::Value(Field::Seconds, 1e3), false)
        }
        b"throughput per GPU (TFLOP/s/GPU)" | b"compute per GPU (TFLOP/s/GPU)" | b"TFLOPs" => {
            (Meaning::Value(Field::Tflops, 1.0), false)
        }
        b"tokens per GPU (tokens/s/GPU)" | b"tokens/s/GPU inst/harmonic mean" => {
            (Meaning::Value(Field::TokensPerGpu, 1.0), true)
        }
        b"tokens/sec/GPU" | b"tokens per gpu per second (tgs)" => {
            (Meaning::Value(Field::TokensPerGpu, 1.0), false)
        }
        b"samples per second" => (Meaning::Value(Field::Samples, 1.0), false),
        b"learning rate" => (Meaning::Value(Field::LearningRate, 1.0), false),
        b"lm loss" | b"loss" => (Meaning::Value(Field::Loss, 1.0), false),
        b"grad norm" => (Meaning::Value(Field::GradNorm, 1.0), false),
        b"global batch size" => (Meaning::Value(Field::GlobalBatch, 1.0), false),
        b"consumed samples" => (Meaning::Value(Field::ConsumedSamples, 1.0), false),
        b"hip mem usage/free/total/usage_ratio" => (Meaning::UsedAndTotal, true),
        _ => (Meaning::None, false),
    }
}

fn fields(text: &[u8], found: &mut Found<'_, '_>) {
    for Part { key, value, end } in parts(text) {
        let (meaning, of_vendor) = meaning(key);
        found.summary.vendor_lines += u64::from(of_vendor);
        match meaning {
            Meaning::Value(field, per) => {
                found.take(field, key, value, Commas::Decimal, per);
                // An average does not count as the end of a line.
                if end < text.len() {
                    found.row.last = None;
                }
            }
            Meaning::UsedAndTotal => {
                found.summary.is_amd = true;
                let Some(rest) = found.take_memory(Field::Used, key, value, GIB) else { continue };
                // After the free memory.
                if let Some(total) = rest.split(|byte| *byte == b'/').nth(2) {
                    found.take_memory(Field::TotalMemory, key, total, GIB);
                }
            }
            Meaning::None => {}
        }
    }
}

/// `(after 20 iterations) memory (MB) | allocated: 1570.77 | max allocated: 2589.1 | reserved: 2608.0 | max
/// reserved: 2608.0`, in 2²⁰ bytes. Several ranks may have written to one line; each rank's peak counts for
/// the run.
fn memory(line: &[u8], found: &mut Found<'_, '_>) {
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
        if let Some(text) = super::after(part, b"(after ")
            && let Some((step, _)) = whole(text)
        {
            found.step(step, text);
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
    // It is not a line about a step, so it does not show how those end.
    found.row.last = None;
}
