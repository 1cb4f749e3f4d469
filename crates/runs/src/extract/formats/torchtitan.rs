//! torchtitan: `step: 10  loss:  7.0812  grad_norm:  1.0012  memory: 50.00GiB(62.50%)  tps: 1,000  tflops: 400.00  mfu: 30.00%`.
//!
//! `memory` is the allocator's peak; `tps` is tokens per second of one GPU.

use super::super::text::{Commas, whole};
use super::{Field, Found, after};

pub(super) fn parse(line: &[u8], found: &mut Found<'_, '_>) {
    let Some(text) = after(line, b"step: ") else { return };
    // Other programs print tokens per second with the same letters.
    if memchr::memmem::find(text, b"loss:").is_none() {
        return;
    }
    let Some((step, rest)) = whole(text) else {
        found.notes.ignore(b"step", "no number", text);
        return;
    };
    found.step(step, text);
    for (key, field) in [
        (&b"loss:"[..], Field::Loss),
        (b"grad_norm:", Field::GradNorm),
        (b"lr:", Field::LearningRate),
        (b"tps:", Field::TokensPerGpu),
        (b"tflops:", Field::Tflops),
    ] {
        if let Some(value) = after(rest, key) {
            found.take(field, key, value, Commas::Thousands, 1.0);
        }
    }
    if let Some(value) = after(rest, b"memory:") {
        found.take_memory(Field::PeakReserved, b"memory", value, 1e9);
    }
}
