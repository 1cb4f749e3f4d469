//! Reads lines that are like earlier ones. When a parser has read a line, its layout is kept: the texts
//! between its numbers, and the meaning of each number. If another line has the same texts in the same order,
//! its numbers are the same fields, without searching for names. The parser reads all other lines, and lines
//! with a value that it would not accept.
//!
//! This works because a parser only depends on the texts of a line. Where it inspects a number, it says so
//! ([`Trace`]), and a number with a point never replaces one without.

use super::formats::scaled;
use super::row::{Field, Row};
use super::scan::PREFIX;
use super::text::{Commas, Decimal, Number, Rank, Shown, may_have_rank, number, without_sign};

/// The meaning of a number of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Slot {
    /// The number of the step.
    Step,
    /// The number of the rank that wrote the line.
    Rank,
    /// The number of ranks.
    World,
    /// The number of the run's last step, after adding this.
    LastStep(u64),
    /// The number of the program's units in one of the field's.
    Value(Field, f64, Commas),
    /// Bytes of the unit.
    Memory(Field, f64),
    Other,
}

impl Slot {
    fn field(self) -> Option<Field> {
        match self {
            Slot::Value(field, ..) | Slot::Memory(field, _) => Some(field),
            Slot::Step | Slot::Rank | Slot::World | Slot::LastStep(_) | Slot::Other => None,
        }
    }

    fn commas(self) -> Commas {
        if let Slot::Value(_, _, commas) = self { commas } else { Commas::Decimal }
    }
}

/// Where in a line a parser found its values.
#[derive(Debug)]
pub(super) struct Trace<'l> {
    line: &'l [u8],
    slots: Vec<(usize, Slot)>,
    longest: usize,
    is_unusual: bool,
}

impl<'l> Trace<'l> {
    pub(super) fn new(line: &'l [u8]) -> Trace<'l> {
        Trace { line, slots: Vec::new(), longest: usize::MAX, is_unusual: false }
    }

    /// A part of the line begins with a number, after optional spaces and a sign. If another number is taken
    /// as the step, it replaces the earlier one.
    pub(super) fn number(&mut self, text: &[u8], slot: Slot) {
        let text = without_sign(text.trim_ascii_start());
        let Some(at) = text.as_ptr().addr().checked_sub(self.line.as_ptr().addr()) else {
            self.is_unusual = true;
            return;
        };
        let known = self.slots.iter_mut().find(|(_, known)| match slot {
            Slot::Step => *known == Slot::Step,
            Slot::LastStep(_) => matches!(known, Slot::LastStep(_)),
            _ => false,
        });
        if let Some((_, known)) = known {
            *known = Slot::Other;
        }
        self.slots.push((at, slot));
    }

    /// The parser refuses longer lines.
    pub(super) fn at_most(&mut self, bytes: usize) {
        self.longest = bytes;
    }

    /// The rank found in the line before `before`, the place of its first text of the set or the end of its
    /// prefixes.
    pub(super) fn rank(&mut self, rank: Option<&Rank<'_>>, before: usize) {
        match rank {
            Some(rank) => {
                self.number(rank.text, Slot::Rank);
                if let Some(text) = rank.text_of_world {
                    self.number(text, Slot::World);
                }
                // The text after the numbers must be visible.
                self.is_unusual |= rank.end >= before;
            }
            // A number is too large, or too far away.
            None => self.is_unusual |= may_have_rank(self.line),
        }
    }

    /// The parser's result depends on more than the texts of the line.
    pub(super) fn unusual(&mut self) {
        self.is_unusual = true;
    }

    /// Whether the parser found nothing, and would find nothing in any line with the same texts.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty() && !self.is_unusual
    }
}

/// The layout of a line about a step.
#[derive(Debug)]
pub(super) struct Layout {
    /// The index of the format in [`SPECS`](super::formats::SPECS).
    pub(super) format: usize,
    numbers: Vec<Placed>,
    /// The text after the last number.
    tail: Fixed,
    /// The last number's field, if that value ends the line.
    ends_in: Option<Field>,
    /// The parser reads longer lines.
    longest: usize,
    /// Fields that Primus adds.
    pub(super) vendor_lines: u64,
    pub(super) has_colours: bool,
}

/// A number and the text before it.
#[derive(Debug)]
struct Placed {
    before: Fixed,
    /// Whether there may be more spaces.
    is_padded: bool,
    may_have_sign: bool,
    /// Whether it only has digits.
    is_whole: bool,
    slot: Slot,
}

/// A text of a line, usually short.
#[derive(Debug)]
struct Fixed {
    text: Vec<u8>,
    /// Its first bytes as an integer, and the mask of their bits.
    head: u128,
    mask: u128,
}

impl Fixed {
    const HEAD: usize = size_of::<u128>();

    fn new(text: &[u8]) -> Fixed {
        let length = text.len().min(Fixed::HEAD);
        let (mut head, mut mask) = ([0; Fixed::HEAD], [0; Fixed::HEAD]);
        head[..length].copy_from_slice(&text[..length]);
        mask[..length].fill(0xff);
        Fixed { text: text.to_vec(), head: u128::from_ne_bytes(head), mask: u128::from_ne_bytes(mask) }
    }

    /// The rest of the line after the text, if the line continues with it. Calling the library's comparison
    /// for a few bytes takes longer than comparing them.
    #[inline]
    fn strip_from<'t>(&self, line: &'t [u8]) -> Option<&'t [u8]> {
        let Some(head) = line.first_chunk() else { return line.strip_prefix(&self.text[..]) };
        if (u128::from_ne_bytes(*head) ^ self.head) & self.mask != 0 {
            return None;
        }
        if let Some(more) = self.text.get(Fixed::HEAD..).filter(|more| !more.is_empty()) {
            return line[Fixed::HEAD..].strip_prefix(more);
        }
        line.get(self.text.len()..)
    }
}

/// What a line says.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) last_step: Option<u64>,
    pub(super) world: Option<u32>,
    /// The end of the line.
    pub(super) end: usize,
}

impl Layout {
    /// The layout of a line that the parser of a format read without leaving anything out. `None` if anything
    /// is unusual.
    pub(super) fn of(
        line: &[u8],
        format: usize,
        row: &Row,
        trace: Trace<'_>,
        vendor_lines: u64,
    ) -> Option<Layout> {
        let Trace { line: clean, mut slots, longest, is_unusual: false } = trace else { return None };
        slots.sort_by_key(|(at, _)| *at);
        let mut fields: Vec<Field> = slots.iter().filter_map(|(_, slot)| slot.field()).collect();
        let count = fields.len();
        fields.sort_by_key(|field| *field as u8);
        fields.dedup();
        if fields.len() < count {
            return None;
        }
        let mut layout = Layout {
            format,
            numbers: Vec::new(),
            tail: Fixed::new(b""),
            ends_in: row.last.map(|(field, _)| field),
            longest,
            vendor_lines,
            has_colours: clean.len() != line.len(),
        };
        layout.place(line, clean, &slots)?;
        let last = layout.numbers.last().and_then(|number| number.slot.field());
        (layout.ends_in.is_none() || layout.ends_in == last).then_some(layout)
    }

    /// Finds all numbers; the slots are some of them.
    fn place(&mut self, line: &[u8], clean: &[u8], slots: &[(usize, Slot)]) -> Option<()> {
        let mut tail = 0;
        // The place in the line of each byte of the text without colours.
        let shown: Vec<usize> = if self.has_colours { Shown::of(line).collect() } else { Vec::new() };
        let in_line = |at: usize| if self.has_colours { shown.get(at).copied() } else { Some(at) };
        let mut slots = slots.iter().peekable();
        let mut at = 0;
        while at < clean.len() {
            if !clean[at].is_ascii_digit() {
                at += 1;
                continue;
            }
            let slot = slots.next_if(|(place, _)| *place == at).map_or(Slot::Other, |(_, slot)| *slot);
            let Printed { length, is_whole, .. } = Printed::at_start_of(&clean[at..], slot.commas())?;
            let rest = &clean[at + length..];
            let (start, end) = (in_line(at)?, in_line(at + length - 1)? + 1);
            let is_clear = match slot {
                Slot::Step | Slot::Rank | Slot::World | Slot::LastStep(_) => {
                    is_whole && rest.first() != Some(&b'.')
                }
                // Characters that would be part of the number, or invalidate it.
                Slot::Value(..) | Slot::Memory(..) => {
                    !matches!(rest, [b'.' | b'e' | b'E', ..] | [b',', b'0'..=b'9', ..])
                }
                Slot::Other => true,
            };
            // A colour without its escape byte.
            let is_colour = clean[..at].ends_with(b"[") && rest.first() == Some(&b'm');
            if !is_clear || is_colour || end - start != length {
                return None;
            }
            let is_value = slot.field().is_some();
            let has_sign = matches!(clean[..at], [.., b'-' | b'+']);
            let unsigned = &clean[..at - usize::from(has_sign)];
            let may_have_sign = (is_value || slot == Slot::Other && !is_whole)
                && matches!(unsigned, [.., b' ' | b'(' | b'=' | b'\'' | b'"'])
                && !unsigned.trim_ascii_start().is_empty();
            let before = start - usize::from(has_sign && may_have_sign);
            let sign_is_there = line[before..start] == clean[at - (start - before)..at];
            if !sign_is_there || is_value && has_sign && !may_have_sign {
                return None;
            }
            let spaces = line[tail..before].iter().rev().take_while(|byte| **byte == b' ').count();
            // A rank is not far from its word.
            let is_padded = spaces > 0 && !matches!(slot, Slot::Rank | Slot::World);
            self.numbers.push(Placed {
                before: Fixed::new(&line[tail..before - if is_padded { spaces - 1 } else { 0 }]),
                is_padded,
                may_have_sign,
                is_whole,
                slot,
            });
            tail = end;
            at += length;
        }
        self.tail = Fixed::new(&line[tail..]);
        // A number that is not where its parser found it.
        slots.next().is_none().then_some(())
    }

    /// Reads the line at the beginning of a text.
    pub(super) fn read(&self, text: &[u8], row: &mut Row) -> Option<Known> {
        *row = Row::default();
        let (mut last_step, mut world) = (None, None);
        let mut last: &[u8] = &[];
        let mut rest = text;
        for Placed { before, is_padded, may_have_sign, is_whole, slot } in &self.numbers {
            rest = before.strip_from(rest)?;
            if *is_padded {
                while let [b' ', behind @ ..] = rest {
                    rest = behind;
                }
            }
            let sign =
                if *may_have_sign { rest.first().filter(|byte| matches!(byte, b'-' | b'+')) } else { None };
            let signs = usize::from(sign.is_some());
            let found = Printed::at_start_of(&rest[signs..], slot.commas())?;
            if found.is_whole != *is_whole {
                return None;
            }
            let (printed, behind) = rest.split_at(signs + found.length);
            let value = || found.value().map(|value| if sign == Some(&b'-') { -value } else { value });
            match *slot {
                Slot::Step => row.step = Some(found.whole().filter(|step| super::formats::is_step(*step))?),
                Slot::Rank => row.rank = Some(u32::try_from(found.whole()?).ok()?),
                Slot::World => world = Some(u32::try_from(found.whole()?).ok()?),
                Slot::LastStep(more) => last_step = Some(found.whole()?.checked_add(more)?),
                Slot::Value(field, per, _) => row.set(field, scaled(value()?, printed, per)).ok()?,
                Slot::Memory(field, bytes) => {
                    row.set(field, super::formats::in_gb(value()?, bytes)).ok()?;
                }
                Slot::Other => {}
            }
            if matches!(slot, Slot::Rank | Slot::World) && text.len() - behind.len() >= PREFIX {
                return None;
            }
            (last, rest) = (printed, behind);
        }
        rest = self.tail.strip_from(rest)?;
        let end = text.len() - rest.len();
        if !matches!(rest.first(), None | Some(b'\n' | b'\r')) || end > self.longest {
            return None;
        }
        row.last = self.ends_in.map(|field| (field, super::formats::decimals(last)));
        Some(Known { last_step, world, end })
    }
}

/// The number at the beginning of a text, without a sign.
struct Printed<'t> {
    decimal: Decimal<'t>,
    /// Whether commas separate thousands.
    grouped: Option<f64>,
    length: usize,
    is_whole: bool,
}

impl<'t> Printed<'t> {
    /// `None` if the digits alone do not determine the value.
    #[inline(always)]
    fn at_start_of(text: &'t [u8], commas: Commas) -> Option<Printed<'t>> {
        let decimal = Decimal::at_start_of(text)?;
        let length = decimal.printed.len();
        if commas == Commas::Thousands && text.get(length) == Some(&b',') {
            let Number::Value(value, rest) = number(text, commas) else { return None };
            let length = text.len() - rest.len();
            let is_whole = !text[..length].contains(&b'.');
            return Some(Printed { decimal, grouped: Some(value), length, is_whole });
        }
        let is_whole = decimal.has_digits_alone();
        (!is_whole || decimal.whole().is_some()).then_some(Printed {
            decimal,
            grouped: None,
            length,
            is_whole,
        })
    }

    #[inline]
    fn value(&self) -> Option<f64> {
        self.grouped.or_else(|| self.decimal.value())
    }

    #[inline]
    fn whole(&self) -> Option<u64> {
        if self.grouped.is_some() { None } else { self.decimal.whole() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::formats::{Found, SPECS};
    use super::super::row::Notes;
    use super::super::summary::Summary;
    use super::*;

    const MEGATRON: &str = " [2026-03-02 10:00:00] iteration       9/     100 | consumed samples:          144 | elapsed time per iteration \
        (ms): 2000.5 | learning rate: 1.500000E-04 | global batch size:    16 | lm loss: 4.500000E+00 | loss scale: 1.0 | grad norm: 0.500 |";
    const PRIMUS: &str = "[20260302 10:00:00][rank-7/8][INFO ] : iteration 126/ 5000 | consumed samples: 16128 | elapsed time per iteration \
        (ms): 13372.8/13364.7 | hip mem usage/free/total/usage_ratio: 153.81GB/102.17GB/255.98GB/60.09% | tokens per GPU (tokens/s/GPU): \
        9801.4/9807.3 | lm loss: 6.548988E-03 |";
    const NEMO: &str = "Training epoch 0, iteration 48/99 | lr: 7.5e-06 | global_batch_size: 128 | global_step: 48 | reduced_train_loss: \
        11.96 | train_step_timing in s: 12.39 | consumed_samples: 6272";
    const TORCHTITAN: &str = "[rank0]:[titan] 2026-03-02 10:00:00,500 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss:  7.0000  \
        \x1b[38;2;180;60;0mgrad_norm:  1.0000  \x1b[36mmemory: 50.00GiB(62.50%)  \x1b[34mtps: 1,000  \x1b[35mmfu: 30.00%\x1b[39m";
    const MAXTEXT: &str = "completed step: 49, seconds: 5.018, TFLOP/s/device: 107.127, Tokens/s/device: 6529.527, loss: 10.172";
    const DEEPSPEED: &str = "[2026-03-02 10:00:00,646] [INFO] epoch=0/micro_step=199/global_step=199, RunningAvgSamplesPerSec=58.7, \
        CurrSamplesPerSec=61.35, MemAllocated=6.01GB, MaxMemAllocated=19.52GB";
    const HUGGING_FACE: &str = "{'loss': 2.512, 'grad_norm': 1.25, 'learning_rate': 2e-05, 'epoch': 0.01}";
    const LLM_C: &str = "step    1/10 | loss 11.032358 (+0.12z)| norm 22.1414 (-1.20z)| lr 8.57e-07 | 2575.63 ms | 203557 tok/s";
    const PLAIN: &str = "[step 5/100] train_loss=2.31 lr=1e-4 step_time=0.51s tok/s=12345";

    /// What a line says.
    #[derive(Debug)]
    struct Read {
        row: String,
        last_step: Option<u64>,
        vendor_lines: u64,
        world: Option<u32>,
    }

    /// What the parser reads, or `None` if it leaves something out; and the layout.
    fn parsed(format: Format, line: &str) -> Option<(Read, Option<Layout>)> {
        let place = SPECS.iter().position(|spec| spec.format == format).expect("a format");
        let mut buffer = Vec::new();
        let clean = super::super::text::without_colours(line.as_bytes(), &mut buffer);
        let (mut row, mut notes, mut summary) = (Row::default(), Notes::default(), Summary::default());
        let mut trace = Trace::new(clean);
        let found = &mut Found { row: &mut row, notes: &mut notes, summary: &mut summary, trace: &mut trace };
        (SPECS[place].parse)(clean, found);
        let prefix = &clean[..clean.len().min(PREFIX)];
        let rank = super::super::text::rank(prefix);
        trace.rank(rank.as_ref(), prefix.len());
        row.rank = rank.map(|rank| rank.rank);
        let layout = Layout::of(line.as_bytes(), place, &row, trace, summary.vendor_lines);
        let (last_step, vendor_lines) = (summary.max_steps, summary.vendor_lines);
        let world = rank.and_then(|rank| rank.world);
        let read = Read { row: format!("{row:?}"), last_step, vendor_lines, world };
        (notes.count == 0 && !row.is_empty()).then_some((read, layout))
    }

    fn layout(format: Format, line: &str) -> Option<Layout> {
        parsed(format, line)?.1
    }

    #[test]
    fn lines_with_other_numbers_are_read_as_by_names() {
        for (format, first, changes) in [
            (
                Format::Megatron,
                MEGATRON,
                &[
                    ("       9/", " 12345678/"),
                    ("       144 ", " 123456789 "),
                    ("2000.5", "17.0"),
                    ("1.500000E-04", "0.00015"),
                    ("1.500000E-04", "1.5e-300"),
                    ("4.500000E+00", "4.503599627370496123456789"),
                    ("4.500000E+00", "-4.500000E+00"),
                    ("10:00:00", "23:59:59"),
                    ("0.500", "0.0"),
                ][..],
            ),
            (
                Format::Megatron,
                PRIMUS,
                &[("rank-7/8", "rank-12/16"), ("153.81", "9.5"), ("13372.8/", "1E4/"), ("60.09", "7.5")],
            ),
            (
                Format::Nemo,
                NEMO,
                &[
                    ("iteration 48", "iteration 9"),
                    ("48 |", "123456 |"),
                    ("7.5e-06", "0.1"),
                    ("11.96", "-1.5"),
                    ("6272", "7"),
                ],
            ),
            (
                Format::Torchtitan,
                TORCHTITAN,
                &[
                    ("step:  1", "step: 1000"),
                    ("7.0000", "-0.5"),
                    ("1,000", "950"),
                    ("1,000", "1,234,567"),
                    ("50.00GiB", "9.5GiB"),
                ],
            ),
            (
                Format::MaxText,
                MAXTEXT,
                &[("49", "50"), ("10.172", "9.1"), ("10.172", "1.5e-3"), ("5.018", "12.5")],
            ),
            (
                Format::DeepSpeed,
                DEEPSPEED,
                &[("global_step=199", "global_step=1000"), ("6.01", "12.5"), ("61.35", "7.5")],
            ),
            (Format::HuggingFace, HUGGING_FACE, &[("2.512", "-0.5"), ("2e-05", "0.0"), ("0.01", "3.0")]),
            (
                Format::LlmC,
                LLM_C,
                &[
                    ("+0.12", "-0.12"),
                    ("-1.20", "1.5"),
                    ("   1/", "12345/"),
                    ("203557", "9"),
                    ("2575.63", "9.5"),
                ],
            ),
            (
                Format::Plain,
                PLAIN,
                &[("5/100", "50/1000"), ("2.31", "-2.5"), ("1e-4", "0.5"), ("0.51", "1.5"), ("12345", "7")],
            ),
        ] {
            let (_, layout) = parsed(format, first).expect("a row");
            let layout = layout.unwrap_or_else(|| panic!("no layout of {first}"));
            for (from, to) in changes.iter().copied().chain([("\u{0}", "")]) {
                let line = first.replacen(from, to, 1);
                let (read, _) = parsed(format, &line).unwrap_or_else(|| panic!("no row of {line}"));
                let mut row = Row::default();
                let known = layout.read((line.clone() + "\nnext").as_bytes(), &mut row);
                let known = known.unwrap_or_else(|| panic!("{line}"));
                assert_eq!(format!("{row:?}"), read.row, "{line}");
                assert_eq!((known.last_step, known.end), (read.last_step, line.len()), "{line}");
                assert_eq!((layout.vendor_lines, known.world), (read.vendor_lines, read.world), "{line}");
            }
        }
    }

    #[test]
    fn other_lines_are_left_to_the_names() {
        let (far, long) = (format!("[{}20260302", " ".repeat(PREFIX)), " ".repeat(1000) + "5");
        for (format, first, changes) in [
            (
                Format::Megatron,
                MEGATRON,
                &[
                    ("lm loss", "loss"),
                    ("4.500000E+00", "nan"),
                    ("4.500000E+00", "1e999"),
                    ("1.500000E-04", "-1.500000E-04"),
                    ("2000.5", "0.0"),
                    ("2000.5", "17"),
                    ("2000.5", "2,000.5"),
                    ("2000.5", "2000."),
                    ("2000.5", "20.00.5"),
                    ("2000.5", "2000.5ms"),
                    ("       9/", "     9.5/"),
                    ("       9/", "     -9/"),
                    ("       9/", " 1099511627776/"),
                    ("0.500 |", "0.5"),
                    ("0.500 |", "0.500 | "),
                    ("grad norm: ", "grad norm:"),
                    (" | loss scale", "\n | loss scale"),
                    ("[2026", "[\x1b[1m2026"),
                ][..],
            ),
            (
                Format::Megatron,
                PRIMUS,
                &[
                    ("rank-7", "rank-  7"),
                    ("rank-7", "rank-9999999999"),
                    ("rank-7/8", "rank-7/9999999999"),
                    ("[20260302", &far),
                ],
            ),
            (
                Format::Torchtitan,
                TORCHTITAN,
                &[
                    ("[32m", "[33m"),
                    ("1,000", "1,00"),
                    ("\x1b[31m", ""),
                    ("7.0000", "7.00\x1b[m00"),
                    ("1,000", "1,000.5"),
                ],
            ),
            (Format::Plain, PLAIN, &[("5", &long)]),
        ] {
            let layout = layout(format, first).expect("a layout");
            for (from, to) in changes {
                let line = first.replacen(from, to, 1);
                assert_ne!(line, first);
                assert!(layout.read(line.as_bytes(), &mut Row::default()).is_none(), "{line}");
            }
        }
    }

    #[test]
    fn unusual_lines_have_no_layout() {
        for (format, line, from, to) in [
            (Format::Megatron, MEGATRON, "[2026-03-02", "[2026\x1b[1m03-02"),
            (Format::Megatron, MEGATRON, "2000.5", "20\x1b[1m00.5"),
            (Format::Megatron, MEGATRON, "2000.5", "2000,5"),
            (Format::Megatron, MEGATRON, "10:00:00", "[1m"),
            (Format::Megatron, MEGATRON, "lm loss: ", "loss: 1.0 | lm loss: "),
            (Format::Nemo, NEMO, "global_step: 48", "global_step: 4.8e+1"),
            (Format::HuggingFace, HUGGING_FACE, "{'", " 50/378 [17:05<1:52:03]{'"),
            (Format::Plain, PLAIN, "step_time=0.51s", "step_time=1,234s"),
        ] {
            let changed = line.replacen(from, to, 1);
            assert_ne!(changed, line);
            assert!(layout(format, &changed).is_none(), "{changed}");
        }
    }
}
