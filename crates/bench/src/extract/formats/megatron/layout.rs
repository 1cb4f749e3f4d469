//! Reads a line that is like one before. Of a line that was read, its layout is kept: what stands between its numbers, and what each
//! number is. Where another line has the same texts in the same order, its numbers are the same fields, and no names need be found. Any
//! other line is for [`parse`](super::parse), and so is one with a value that it would not take.

use std::ops::Range;

use memchr::memchr;

use super::super::super::row::{Field, Row};
use super::super::super::text::{Commas, Decimal, Number, may_have_rank, number, unit};
use super::super::scaled;
use super::{GIB, ITERATION, MEMORY, Meaning, in_gb, iteration, meaning, parts};

/// The layout of a line about a step.
#[derive(Debug)]
pub(in crate::extract) struct Layout {
    line: Vec<u8>,
    numbers: Vec<Placed>,
    /// Where the text behind the last number begins.
    tail: usize,
    /// Fields that Primus adds.
    pub(in crate::extract) vendor_lines: u64,
    /// Whether lines like this one may name their rank.
    pub(in crate::extract) may_have_rank: bool,
}

/// A number and what is before it.
#[derive(Debug)]
struct Placed {
    before: Range<usize>,
    /// Whether there may be more spaces.
    is_padded: bool,
    slot: Slot,
}

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slot {
    Step,
    LastStep,
    /// How many of the program's units are one of the field's.
    Value(Field, f64),
    /// Bytes of the unit.
    Memory(Field, f64),
    Other,
}

/// What a line says.
#[derive(Debug)]
pub(in crate::extract) struct Known {
    pub(in crate::extract) row: Row,
    pub(in crate::extract) last_step: u64,
    /// Where the line ends.
    pub(in crate::extract) end: usize,
}

impl Layout {
    /// The layout of a line that [`parse`](super::parse) read without leaving anything out, and with no value at its end. None if there
    /// is anything unusual.
    pub(in crate::extract) fn of(line: &[u8]) -> Option<Layout> {
        if memchr(0x1b, line).is_some() || MEMORY.find(line).is_some() {
            return None;
        }
        let mut steps = ITERATION
            .find_iter(line)
            .map(|at| at + ITERATION.needle().len())
            .filter(|at| line[*at..].trim_ascii_start().first().is_some_and(u8::is_ascii_digit));
        let (step, None) = (steps.next()?, steps.next()) else { return None };
        let (_, _, rest) = iteration(&line[step..])?;
        let last_step = line[..line.len() - rest.len()].iter().rposition(|byte| !byte.is_ascii_digit())? + 1;
        let mut slots = vec![
            (line.len() - line[step..].trim_ascii_start().len(), Slot::Step),
            (last_step, Slot::LastStep),
        ];
        let vendor_lines = meanings(rest, line.len() - rest.len(), &mut slots)?;
        let mut layout = Layout {
            line: line.to_vec(),
            numbers: Vec::new(),
            tail: 0,
            vendor_lines,
            may_have_rank: may_have_rank(line),
        };
        layout.place(&slots)?;
        Some(layout)
    }

    /// Finds all numbers, of which the slots are some.
    fn place(&mut self, slots: &[(usize, Slot)]) -> Option<()> {
        let line = &self.line;
        let mut slots = slots.iter().peekable();
        let mut at = 0;
        while at < line.len() {
            let Some(decimal) = Decimal::at_start_of(&line[at..]) else {
                at += 1;
                continue;
            };
            let end = at + decimal.printed.len();
            let slot = slots.next_if(|(place, _)| *place == at).map_or(Slot::Other, |(_, slot)| *slot);
            let next = line.get(end);
            let is_clear = match slot {
                Slot::Step | Slot::LastStep => decimal.whole().is_some() && next != Some(&b'.'),
                Slot::Value(..) => matches!(next, Some(b' ' | b'|' | b'/')),
                Slot::Memory(..) => next.is_some_and(|next| !matches!(next, b'.' | b',' | b'e' | b'E')),
                // A colour without its escape byte.
                Slot::Other => !(line[..at].ends_with(b"[") && next == Some(&b'm')),
            };
            if !is_clear {
                return None;
            }
            let spaces = line[self.tail..at].iter().rev().take_while(|byte| **byte == b' ').count();
            let before = self.tail..at - spaces.saturating_sub(1);
            self.numbers.push(Placed { before, is_padded: spaces > 0, slot });
            self.tail = end;
            at = end;
        }
        // A number with a sign has been passed by.
        slots.next().is_none().then_some(())
    }

    /// Reads the line at the beginning of a text.
    pub(in crate::extract) fn read(&self, text: &[u8]) -> Option<Known> {
        let mut row = Row::default();
        let mut last_step = 0;
        let mut rest = text;
        for Placed { before, is_padded, slot } in &self.numbers {
            rest = rest.strip_prefix(&self.line[before.clone()])?;
            if *is_padded {
                while let [b' ', behind @ ..] = rest {
                    rest = behind;
                }
            }
            let decimal = Decimal::at_start_of(rest)?;
            match *slot {
                Slot::Step => row.step = Some(decimal.whole().filter(|step| super::is_step(*step))?),
                Slot::LastStep => last_step = decimal.whole()?,
                Slot::Value(field, per) => {
                    row.set(field, scaled(decimal.value()?, decimal.printed, per)).ok()?;
                }
                Slot::Memory(field, bytes) => row.set(field, in_gb(decimal.value()?, bytes)).ok()?,
                Slot::Other => {}
            }
            rest = &rest[decimal.printed.len()..];
        }
        rest = rest.strip_prefix(&self.line[self.tail..])?;
        matches!(rest.first(), None | Some(b'\n' | b'\r')).then(|| Known {
            row,
            last_step,
            end: text.len() - rest.len(),
        })
    }
}

/// What the numbers behind that of the step are, with their places in the line, and how many fields are of Primus.
fn meanings(text: &[u8], offset: usize, slots: &mut Vec<(usize, Slot)>) -> Option<u64> {
    let mut vendor_lines = 0;
    for part in parts(text) {
        // What is left of the part from there on.
        let place = |behind: &[u8]| offset + part.end - behind.len();
        let (found, of_vendor) = meaning(part.key);
        vendor_lines += u64::from(of_vendor);
        match found {
            Meaning::Value(field, per) => slots.push((place(part.value), Slot::Value(field, per))),
            Meaning::UsedAndTotal => {
                let memory = |text| match number(text, Commas::Decimal) {
                    Number::Value(_, rest) => unit(rest),
                    _ => None,
                };
                let of_unit = |bytes| if bytes == 1e9 { GIB } else { bytes };
                let (bytes, rest) = memory(part.value)?;
                slots.push((place(part.value), Slot::Memory(Field::Used, of_unit(bytes))));
                let total = rest.splitn(3, |byte| *byte == b'/').nth(2)?.trim_ascii_start();
                slots.push((place(total), Slot::Memory(Field::TotalMemory, of_unit(memory(total)?.0))));
            }
            Meaning::None => {}
        }
    }
    Some(vendor_lines)
}

#[cfg(test)]
mod tests {
    use super::super::super::super::row::Notes;
    use super::super::super::super::summary::Summary;
    use super::super::{Found, parse};
    use super::*;

    const MEGATRON: &str = " [2026-03-02 10:00:00] iteration       9/     100 | consumed samples:          144 | elapsed time per iteration \
        (ms): 2000.5 | learning rate: 1.500000E-04 | global batch size:    16 | lm loss: 4.500000E+00 | loss scale: 1.0 | grad norm: 0.500 |";
    const PRIMUS: &str = "[20260302 10:00:00][rank-7/8][INFO ] : iteration 126/ 5000 | consumed samples: 16128 | elapsed time per iteration \
        (ms): 13372.8/13364.7 | hip mem usage/free/total/usage_ratio: 153.81GB/102.17GB/255.98GB/60.09% | tokens per GPU (tokens/s/GPU): \
        9801.4/9807.3 | lm loss: 6.548988E-03 |";

    /// What [`parse`] reads, or `None` if it leaves something out.
    fn parsed(line: &str) -> Option<(Row, Summary)> {
        let (mut row, mut notes, mut summary) = (Row::default(), Notes::default(), Summary::default());
        parse(line.as_bytes(), &mut Found { row: &mut row, notes: &mut notes, summary: &mut summary });
        (notes.count == 0).then_some((row, summary))
    }

    #[test]
    fn lines_with_other_numbers_are_read_as_by_names() {
        for (first, changes) in [
            (
                MEGATRON,
                &[
                    ("       9/", " 12345678/"),
                    ("       144 ", " 123456789 "),
                    ("2000.5", "17"),
                    ("1.500000E-04", "0.00015"),
                    ("1.500000E-04", "1.5e-300"),
                    ("4.500000E+00", "4.503599627370496123456789"),
                    ("10:00:00", "23:59:59"),
                    ("0.500", "0.0"),
                ][..],
            ),
            (PRIMUS, &[("rank-7/8", "rank-12/16"), ("153.81", "9.5"), ("13372.8/", "1E4/"), ("60.09", "7")]),
        ] {
            let layout = Layout::of(first.as_bytes()).expect("a layout");
            for (from, to) in changes.iter().copied().chain([("|", "|")]) {
                let line = first.replacen(from, to, 1);
                let (row, summary) = parsed(&line).expect("a row");
                let known =
                    layout.read((line.clone() + "\nnext").as_bytes()).unwrap_or_else(|| panic!("{line}"));
                assert_eq!(format!("{:?}", known.row), format!("{row:?}"), "{line}");
                assert_eq!((Some(known.last_step), known.end), (summary.max_steps, line.len()), "{line}");
                assert_eq!(layout.vendor_lines, summary.vendor_lines, "{line}");
            }
        }
        assert!(!Layout::of(MEGATRON.as_bytes()).expect("a layout").may_have_rank);
        assert!(Layout::of(PRIMUS.as_bytes()).expect("a layout").may_have_rank);
    }

    #[test]
    fn other_lines_are_left_to_the_names() {
        let layout = Layout::of(MEGATRON.as_bytes()).expect("a layout");
        for (from, to) in [
            ("lm loss", "loss"),
            ("4.500000E+00", "nan"),
            ("4.500000E+00", "-4.5"),
            ("4.500000E+00", "1e999"),
            ("2000.5", "0.0"),
            ("2000.5", "2,000.5"),
            ("2000.5", "2000."),
            ("2000.5", "20.00.5"),
            ("2000.5", "2000.5ms"),
            ("       9/", "     9.5/"),
            ("       9/", " 1099511627776/"),
            ("0.500 |", "0.5"),
            ("0.500 |", "0.500 | "),
            ("grad norm: ", "grad norm:"),
            (" | loss scale", "\n | loss scale"),
            ("[2026", "[\x1b[1m2026"),
        ] {
            let line = MEGATRON.replacen(from, to, 1);
            assert_ne!(line, MEGATRON);
            assert!(layout.read(line.as_bytes()).is_none(), "{line}");
        }
        for (from, to) in [
            ("iteration       9", "iteration 8/ 100 | iteration 9"),
            ("[2026-03-02", "\x1b[1m[2026-03-02"),
            ("1.500000E-04", "-1.500000E-04"),
            ("2000.5", "2000,5"),
            ("iteration       9/     100 |", ""),
            ("10:00:00", "[1m"),
        ] {
            let line = MEGATRON.replacen(from, to, 1);
            assert_ne!(line, MEGATRON);
            assert!(Layout::of(line.as_bytes()).is_none(), "{line}");
        }
    }
}
