//! Hugging Face's Trainer: dictionaries as Python prints them, and progress bars.
//!
//! `{'loss': 2.512, 'grad_norm': 1.25, 'learning_rate': 2e-05, 'epoch': 0.01}`, and at the end
//! `{'train_runtime': 9117.7, 'train_samples_per_second': 0.663, 'train_steps_per_second': 0.041,
//! 'train_loss': 0.26, 'epoch': 3.0}`. A dictionary has no step number, but the bar before it does: ` 13%|█▎ |
//! 50/378 [17:05<1:52:03, 20.5s/it]`.

use memchr::memmem;

use super::super::text::{Commas, Number, number, whole};
use super::{Field, Found, after};

pub(super) fn parse(line: &[u8], found: &mut Found<'_, '_>) {
    let bar = bar(line);
    if memmem::find(line, b" [").is_some() && line.contains(&b'<') {
        // Its numbers decide whether it is a bar.
        found.trace.unusual();
    }
    if let Some(bar) = bar
        // An evaluation has a separate bar with fewer steps.
        && found.summary.bar.is_none_or(|(done, total, _)| bar.total > total || bar.total == total && bar.done >= done)
    {
        found.summary.bar = Some((bar.done, bar.total, bar.elapsed));
    }
    let Some(start) = line.windows(2).position(|pair| matches!(pair, b"{'" | b"{\"")) else { return };
    let Some(end) = line[start..].iter().position(|byte| *byte == b'}') else {
        if memmem::find(&line[start..], b"loss").is_some() {
            found.notes.ignore(b"dictionary", "cut", &line[start..]);
        }
        return;
    };
    let text = &line[start + 1..start + end];
    let value = |key: &str| {
        [b'\'', b'"'].into_iter().find_map(|quote| {
            let quoted: Vec<u8> = [&[quote], key.as_bytes(), &[quote, b':']].concat();
            let value = after(text, &quoted)?.trim_ascii_start();
            // Newer versions print values as texts.
            Some(value.strip_prefix(b"'").or_else(|| value.strip_prefix(b"\"")).unwrap_or(value))
        })
    };
    if value("train_runtime").is_some() {
        let mut positive = |key: &str| {
            let text = value(key)?;
            match number(text, Commas::Decimal) {
                Number::Value(value, _) if value > 0.0 => Some(value),
                _ => {
                    found.notes.ignore(key.as_bytes(), "not a positive number", text);
                    None
                }
            }
        };
        let runtime = positive("train_runtime");
        let steps = positive("train_steps_per_second");
        let samples = positive("train_samples_per_second");
        let tokens = value("train_tokens_per_second").and_then(|_| positive("train_tokens_per_second"));
        let summary = &mut *found.summary;
        (summary.runtime, summary.steps_per_second, summary.samples_per_second) = (runtime, steps, samples);
        summary.tokens_per_second = tokens;
        return;
    }
    let Some(loss) = value("loss") else { return };
    found.take(Field::Loss, b"loss", loss, Commas::Decimal, 1.0);
    for (key, field) in [("learning_rate", Field::LearningRate), ("grad_norm", Field::GradNorm)] {
        if let Some(value) = value(key) {
            found.take(field, key.as_bytes(), value, Commas::Decimal, 1.0);
        }
    }
    // The bracket ends the dictionary, so none of its values is cut.
    found.row.last = None;
    let printed = value("step").and_then(|text| Some((whole(text)?.0, text)));
    if let Some((step, text)) = printed.or(bar.map(|bar| (bar.done, line))) {
        found.step(step, text);
    }
}

/// A progress bar's `50/378 [17:05<…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) done: u64,
    pub(super) total: u64,
    /// Seconds since the start of the bar.
    pub(super) elapsed: u64,
}

/// The last progress bar in a line.
pub(super) fn bar(line: &[u8]) -> Option<Bar> {
    memmem::rfind_iter(line, b" [").find_map(|at| {
        let (before, time) = (&line[..at], &line[at + 2..]);
        let slash = before.iter().rposition(|byte| *byte == b'/')?;
        let (total, rest) = whole(&before[slash + 1..])?;
        let digits = before[..slash].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (done, _) = whole(&before[slash - digits..slash])?;
        if !rest.is_empty() || done > total {
            return None;
        }
        let time = &time[..time.iter().position(|byte| *byte == b'<')?];
        let mut elapsed = 0_u64;
        for part in time.split(|byte| *byte == b':') {
            let (value, rest) = whole(part)?;
            if !rest.is_empty() {
                return None;
            }
            elapsed = elapsed.checked_mul(60)?.checked_add(value)?;
        }
        Some(Bar { done, total, elapsed })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_tells_steps_and_seconds() {
        for (line, expected) in [
            (" 13%|█▎        | 50/378 [17:05<1:52:03, 20.51s/it]", Some((50, 378, 1025))),
            ("100%|███| 378/378 [2:31:47<00:00, 20.51s/it]{'train_runtime': 1.0}", Some((378, 378, 9107))),
            ("Epoch 0: :  47%|████▋     | 7/15 [06:19<07:13, reduced_train_loss=11.50]", Some((7, 15, 379))),
            (" 0%| | 0/9 [00:00<?, ?it/s]", Some((0, 9, 0))),
            ("9/3 [00:01<00:01]", None),
            ("a/b [00:01<", None),
            ("1/2 [xx:xx<00:00", None),
            ("no bar", None),
        ] {
            let found = bar(line.as_bytes()).map(|bar| (bar.done, bar.total, bar.elapsed));
            assert_eq!(found, expected, "{line}");
        }
    }
}
