//! Lines of programs without a specific format: `step 10 loss 3.21`, `iter 100: loss 4.8186, time 1537.05ms,
//! mfu 14.52%`, `[step 5/100] train_loss=2.31 lr=1e-4 step_time=0.51s tok/s=12345`.
//!
//! A key is followed by `:`, `=` or a space, and a value. A time needs a unit, after it or in its key;
//! without a unit it is left out.

use memchr::memchr_iter;

use super::super::text::{Commas, Number, number, whole};
use super::{Field, Found, Slot};

/// Where a text is in a line. Each line is searched for dozens of texts, and is too short to prepare a
/// searcher for each.
fn places<'t>(line: &'t [u8], text: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    memchr_iter(text[0], line).filter(move |at| line[*at..].starts_with(text))
}

/// Where a key is in the text, as a separate word, in upper or lower case; and the text after its `:`, `=` or
/// space.
fn keyed<'t>(lower: &[u8], text: &'t [u8], key: &str) -> Option<(usize, &'t [u8])> {
    places(lower, key.as_bytes()).find_map(|at| {
        let before = at.checked_sub(1).map(|place| lower[place]);
        if before
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b'\'' | b'"'))
        {
            return None;
        }
        let rest = &text[at + key.len()..];
        let spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b':' | b'=')).count();
        (spaces > 0).then(|| (at, &rest[spaces..]))
    })
}

/// The maximum bytes of a line about a step.
const LONGEST: usize = 1000;

/// Keys of a value, and the number of its units in one of the field's.
const KEYS: &[(&[&str], Field, f64)] = &[
    (&["train_loss", "train loss", "training loss", "loss"], Field::Loss, 1.0),
    (&["learning_rate", "learning rate", "lr"], Field::LearningRate, 1.0),
    (&["grad_norm", "grad norm", "gradnorm", "gnorm", "norm"], Field::GradNorm, 1.0),
    (
        &["tokens_per_sec", "tokens_per_second", "tokens/sec", "tokens/s", "tok/sec", "tok/s"],
        Field::Tokens,
        1.0,
    ),
    (&["step_time_ms", "time_ms", "dt_ms", "ms/step", "ms/iter", "ms_per_step"], Field::Seconds, 1e3),
    (&["step_time_s", "time_s", "s/step", "sec/step", "seconds_per_step", "seconds"], Field::Seconds, 1.0),
];

/// Keys of a time whose unit follows the value.
const TIMES: [&str; 6] = ["step_time", "step time", "iter_time", "elapsed", "time", "dt"];

pub(super) fn parse(line: &[u8], found: &mut Found<'_, '_>) {
    // A longer line is not about a step.
    found.trace.at_most(LONGEST);
    if line.len() > LONGEST {
        return;
    }
    let lower = line.to_ascii_lowercase();
    // Losses of an evaluation do not belong to a step.
    if [&b"val"[..], b"eval", b"test loss", b"perplexity"]
        .into_iter()
        .any(|word| places(&lower, word).next().is_some())
    {
        return;
    }
    let step =
        ["global_step", "step", "iteration", "iter"].into_iter().find_map(|key| keyed(&lower, line, key));
    let Some((_, text)) = step else { return };
    let Some((step, rest)) = whole(text) else { return };
    // `step 3 of`, or `step 3/100`, or a delimiter, which a comma within digits is not.
    if rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric())
        || matches!(rest, [b',', b'0'..=b'9', ..])
    {
        return;
    }
    if !KEYS[0].0.iter().any(|key| keyed(&lower, line, key).is_some()) {
        return;
    }
    found.step(step, text);
    if let Some(behind) = rest.strip_prefix(b"/")
        && let Some((total, _)) = whole(behind)
    {
        found.last_step(total, 0, behind);
    }
    for (keys, field, per) in KEYS {
        let Some((key, value)) =
            keys.iter().find_map(|key| keyed(&lower, line, key).map(|(_, value)| (*key, value)))
        else {
            continue;
        };
        if let Number::None = number(value, Commas::Decimal) {
            continue;
        }
        found.take(*field, key.as_bytes(), value, Commas::Decimal, *per);
    }
    if found.row.get(Field::Seconds).is_none()
        && let Some((key, value)) =
            TIMES.iter().find_map(|key| keyed(&lower, line, key).map(|(_, value)| (*key, value)))
    {
        timed(key, value, found);
    }
    if found.row.get(Field::Tokens).is_none() {
        before_unit(line, found);
    }
}

/// A time followed by its unit.
fn timed(key: &str, value: &[u8], found: &mut Found<'_, '_>) {
    let Number::Value(time, rest) = number(value, Commas::Decimal) else {
        found.trace.unusual();
        return;
    };
    let behind = rest.len();
    let rest = rest.trim_ascii_start();
    let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let per = match &rest[..letters] {
        b"ms" | b"msec" => 1e3,
        b"s" | b"sec" | b"secs" | b"seconds" => 1.0,
        b"us" => 1e6,
        _ => {
            found.notes.ignore(key.as_bytes(), "a time without a unit", value);
            return;
        }
    };
    found.trace.number(value, Slot::Value(Field::Seconds, per, Commas::Decimal));
    let time = super::scaled(time, &value[..value.len() - behind], per);
    found.set(Field::Seconds, key.as_bytes(), time, value);
}

/// `12345 tok/s`.
fn before_unit(line: &[u8], found: &mut Found<'_, '_>) {
    for unit in [&b" tok/s"[..], b" tokens/s", b" tok/sec"] {
        let Some(end) = places(line, unit).next() else { continue };
        if let Some((_, value)) = super::number_before(line, end) {
            let last = found.row.last;
            found.take(Field::Tokens, unit, value, Commas::Decimal, 1.0);
            found.row.last = last;
        }
        return;
    }
}
