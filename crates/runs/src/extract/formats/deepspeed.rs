//! DeepSpeed's own lines.
//!
//! `epoch=0/micro_step=199/global_step=199, RunningAvgSamplesPerSec=58.7, CurrSamplesPerSec=61.3,
//! MemAllocated=6.01GB, MaxMemAllocated=19.52GB` and `step=10, skipped=0, lr=[0.0001], mom=[(0.9, 0.999)]`.
//! DeepSpeed calls 2³⁰ bytes GB.

use super::super::text::{Commas, whole};
use super::{Field, Found, after};

const GIB: f64 = 1_073_741_824.0;

pub(super) fn parse(line: &[u8], found: &mut Found<'_, '_>) {
    if let Some(value) = after(line, b"CurrSamplesPerSec=") {
        let text = after(line, b"global_step=").unwrap_or_default();
        let Some((step, _)) = whole(text) else {
            found.notes.ignore(b"global_step", "no number", line);
            return;
        };
        found.step(step, text);
        found.take(Field::Samples, b"CurrSamplesPerSec", value, Commas::Decimal, 1.0);
        for (key, field) in
            [(&b" MemAllocated="[..], Field::Allocated), (b"MaxMemAllocated=", Field::PeakAllocated)]
        {
            if let Some(value) = after(line, key) {
                found.take_memory(field, key, value, GIB);
            }
        }
    } else if let Some(text) = after(line, b" step=")
        && let Some((step, rest)) = whole(text)
        && rest.starts_with(b", skipped=")
    {
        found.step(step, text);
        if let Some(value) = after(rest, b"lr=[") {
            found.take(Field::LearningRate, b"lr", value, Commas::Decimal, 1.0);
        }
    }
}
