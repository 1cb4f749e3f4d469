//! The formats: what each program prints about a step, one file per program.

mod deepspeed;
mod hugging_face;
mod llmc;
mod maxtext;
mod megatron;
mod nemo;
mod plain;
mod torchtitan;
mod torchtune;

use memchr::memmem;

use super::Format;
use super::layout::{Slot, Trace};
use super::row::{Field, Notes, Row};
use super::summary::Summary;
use super::text::{Commas, Number, number, plain_decimal, unit};

/// The data that a parser fills.
pub(super) struct Found<'a, 'l> {
    pub(super) row: &'a mut Row,
    pub(super) notes: &'a mut Notes,
    pub(super) summary: &'a mut Summary,
    pub(super) trace: &'a mut Trace<'l>,
}

/// How to find and read the lines of one program.
pub(super) struct Spec {
    pub(super) format: Format,
    /// Its name in messages and records.
    pub(super) name: &'static str,
    /// Each line about a step contains at least one of these texts.
    pub(super) needles: &'static [&'static str],
    /// Whether all values of a field are printed with equally many decimals.
    pub(super) fixed_decimals: bool,
    /// Reads a line without colours. A line of another format leaves the row empty.
    pub(super) parse: for<'l> fn(&'l [u8], &mut Found<'_, 'l>),
}

const fn spec(
    format: Format,
    name: &'static str,
    needles: &'static [&'static str],
    fixed_decimals: bool,
    parse: for<'l> fn(&'l [u8], &mut Found<'_, 'l>),
) -> Spec {
    Spec { format, name, needles, fixed_decimals, parse }
}

/// The formats in the order in which they are tried. Primus prints Megatron-LM's lines. Texts have at least
/// four bytes, which makes the search fast; several formats may share a text.
// NEW-LOG-FORMAT: a row.
pub(super) const SPECS: [Spec; 9] = [
    spec(
        Format::Megatron,
        "megatron",
        &["elapsed time per iteration", "memory (MB) |"],
        true,
        megatron::parse,
    ),
    spec(Format::Nemo, "nemo", &["train_step_timing in s", "loss"], false, nemo::parse),
    spec(Format::Torchtitan, "torchtitan", &["tps: "], false, torchtitan::parse),
    spec(Format::Torchtune, "torchtune", &["loss"], false, torchtune::parse),
    spec(Format::MaxText, "maxtext", &["completed step: "], true, maxtext::parse),
    spec(Format::DeepSpeed, "deepspeed", &["SamplesPerSec=", "skipped="], false, deepspeed::parse),
    spec(
        Format::HuggingFace,
        "hugging-face",
        &["loss", "train_runtime", "it/s", "s/it"],
        false,
        hugging_face::parse,
    ),
    spec(Format::LlmC, "llm.c", &[" tok/s"], false, llmc::parse),
    spec(Format::Plain, "plain", &["loss", "Loss"], false, plain::parse),
];

/// Whether a number followed by this text is complete.
fn ends_number(rest: &[u8]) -> bool {
    rest.first().is_none_or(|byte| {
        matches!(
            byte,
            b' ' | b'\t' | b'|' | b'/' | b',' | b';' | b')' | b']' | b'}' | b'[' | b'(' | b'\'' | b'"'
        )
    })
}

/// A printed number divided by a power of ten or another factor. Powers of ten move the point of the printed
/// text, so that 6046.6 ms are 6.0466 s to the last bit, as the program meant; dividing the rounded number
/// may be one bit off.
pub(super) fn scaled(value: f64, printed: &[u8], per: f64) -> f64 {
    let exponent = match per {
        1.0 => return value,
        1e3 => -3,
        1e6 => -6,
        1e9 => -9,
        _ => return value / per,
    };
    plain_decimal(printed.trim_ascii(), exponent).unwrap_or(value / per)
}

/// GB for a number in a unit of bytes.
pub(super) fn in_gb(value: f64, bytes: f64) -> f64 {
    value * bytes / 1e9
}

/// Whether a number can be a step's: one so far off comes from a broken line.
pub(super) fn is_step(step: u64) -> bool {
    step < 1 << 40
}

/// The number of printed decimals.
pub(super) fn decimals(printed: &[u8]) -> u8 {
    let point = printed.iter().rposition(|byte| matches!(byte, b'.' | b','));
    point.map_or(0, |point| u8::try_from(printed.len() - point - 1).unwrap_or(u8::MAX))
}

impl Found<'_, '_> {
    /// Reads a value into a field, divided by the number of the program's units in one of the field's, and
    /// returns the text after it. An invalid value is counted and left out.
    fn take<'t>(
        &mut self,
        field: Field,
        name: &[u8],
        text: &'t [u8],
        commas: Commas,
        per: f64,
    ) -> Option<&'t [u8]> {
        match number(text, commas) {
            Number::Value(value, rest) if ends_number(rest) => {
                self.trace.number(text, Slot::Value(field, per, commas));
                self.set(field, name, scaled(value, &text[..text.len() - rest.len()], per), text);
                self.ends_line(field, text, rest);
                Some(rest)
            }
            Number::NotFinite(rest) if ends_number(rest) => {
                self.row.set_not_finite(field);
                self.notes.ignore(name, "not finite", text);
                Some(rest)
            }
            Number::Value(..) | Number::NotFinite(_) | Number::Malformed => {
                self.notes.ignore(name, "malformed", text);
                None
            }
            Number::None => {
                self.notes.ignore(name, if text.trim_ascii().is_empty() { "cut" } else { "no number" }, text);
                None
            }
        }
    }

    /// The same for a number followed by a unit of memory; the field gets GB. `gb` is the number of bytes
    /// that the program calls GB.
    fn take_memory<'t>(&mut self, field: Field, name: &[u8], text: &'t [u8], gb: f64) -> Option<&'t [u8]> {
        match number(text, Commas::Decimal) {
            Number::Value(value, rest) => match unit(rest) {
                Some((bytes, behind)) => {
                    let bytes = if bytes == 1e9 { gb } else { bytes };
                    self.trace.number(text, Slot::Memory(field, bytes));
                    self.set(field, name, in_gb(value, bytes), text);
                    Some(behind)
                }
                None => {
                    self.notes.ignore(name, if rest.is_empty() { "cut" } else { "no unit" }, text);
                    None
                }
            },
            Number::NotFinite(_) | Number::Malformed | Number::None => {
                self.notes.ignore(name, "malformed", text);
                None
            }
        }
    }

    fn set(&mut self, field: Field, name: &[u8], value: f64, text: &[u8]) {
        if let Err(why) = self.row.set(field, value) {
            self.notes.ignore(name, why, text);
        }
    }

    fn ends_line(&mut self, field: Field, text: &[u8], rest: &[u8]) {
        // A comma may be a decimal point or a thousands separator.
        if matches!(rest.trim_ascii_end(), b"" | b",") {
            self.row.last = Some((field, decimals(&text[..text.len() - rest.len()])));
        }
    }

    /// Sets the step number at the beginning of a text.
    fn step(&mut self, step: u64, text: &[u8]) {
        if is_step(step) {
            self.trace.number(text, Slot::Step);
            self.row.step = Some(step);
        } else {
            self.trace.unusual();
        }
    }

    /// Sets the number of the last step from the beginning of a text, plus this much.
    fn last_step(&mut self, last: u64, more: u64, text: &[u8]) {
        self.trace.number(text, Slot::LastStep(more));
        self.summary.max_steps = last.checked_add(more);
    }
}

/// The text after the first occurrence of a key.
fn after<'t>(text: &'t [u8], key: &[u8]) -> Option<&'t [u8]> {
    memmem::find(text, key).map(|at| &text[at + key.len()..])
}

/// The number that ends where a unit begins, and where the number begins: `349.48` of `(349.48 ms`.
fn number_before(text: &[u8], end: usize) -> Option<(usize, &[u8])> {
    let before = text[..end].trim_ascii_end();
    let digits = before
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'-' | b'+' | b'e' | b'E'))
        .count();
    let number = &before[before.len() - digits..];
    // A comma or a letter before the number belongs to the text.
    let skip = number.iter().take_while(|byte| matches!(byte, b',' | b'e' | b'E')).count();
    let number = &number[skip..];
    (!number.is_empty()).then(|| (before.len() - number.len(), number))
}
