//! Finds the few relevant lines of a log at the speed of memory: it searches the text for a set of short
//! texts at once, and only inspects lines that contain one of them.

use std::io::{self, Read};

use aho_corasick::packed;
use memchr::{memchr_iter, memchr2, memrchr, memrchr2};

use super::formats::{Found, SPECS};
use super::layout::{Known, Layout, Trace};
use super::row::{Notes, Row};
use super::settings::{NEEDLES, Settings};
use super::steps::Steps;
use super::summary::Summary;
use super::text::{rank, timestamp, without_colours};
use super::{Format, Options};

/// The number of bytes read at once.
const CHUNK: usize = 1 << 20;
/// A longer line is read in pieces.
const LONGEST_LINE: usize = 16 << 20;
/// The bytes of a line that are searched for a rank.
pub(super) const PREFIX: usize = 160;

/// What has been found in a log so far.
pub(super) struct Collected {
    /// One element for each of [`SPECS`].
    pub(super) steps: [Steps; SPECS.len()],
    pub(super) summaries: [Summary; SPECS.len()],
    pub(super) notes: [Notes; SPECS.len()],
    pub(super) settings: Settings,
    /// The number of GPUs according to the ranks (`rank-7/8`).
    pub(super) world: Option<u64>,
    /// The last line about a step, or its beginning, which has the time of day; by format.
    pub(super) last_line: [LastLine; SPECS.len()],
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// If a compressed log ends in the middle, the decoder's error.
    pub(super) cut: Vec<String>,
}

/// A line, or the beginning of one.
#[derive(Default)]
pub(super) struct LastLine {
    text: Vec<u8>,
    has_colours: bool,
}

impl LastLine {
    fn set(&mut self, line: &[u8], has_colours: bool) {
        self.text.clear();
        // The text may consist of colours for a long stretch.
        let length = if has_colours { line.len() } else { line.len().min(PREFIX) };
        self.text.extend_from_slice(&line[..length]);
        self.has_colours = has_colours;
    }

    /// The time of day at its beginning.
    pub(super) fn timestamp(&self) -> Option<String> {
        let mut buffer = Vec::new();
        timestamp(if self.has_colours { without_colours(&self.text, &mut buffer) } else { &self.text })
    }
}

impl Collected {
    fn count_lines(&mut self, text: &[u8]) {
        self.lines += memchr_iter(b'\n', text).count() as u64;
    }

    /// Adds a line that was read with its layout.
    fn known_line(&mut self, line: &[u8], layout: &Layout, known: &Known, row: &Row, options: &Options) {
        let format = layout.format;
        let summary = &mut self.summaries[format];
        summary.max_steps = known.last_step.or(summary.max_steps);
        summary.vendor_lines += layout.vendor_lines;
        self.last_line[format].set(line, layout.has_colours);
        self.world = known.world.map(u64::from).max(self.world);
        self.steps[format].add(row, self.lines + 1, options.ranks);
    }

    pub(super) fn append(&mut self, other: Collected, options: &Options) {
        for (mine, other) in self.steps.iter_mut().zip(other.steps) {
            mine.append(other, options.ranks);
        }
        for (mine, other) in self.summaries.iter_mut().zip(other.summaries) {
            mine.append(other);
        }
        for (mine, other) in self.notes.iter_mut().zip(other.notes) {
            mine.append(other);
        }
        for (mine, other) in self.last_line.iter_mut().zip(other.last_line) {
            if !other.text.is_empty() {
                *mine = other;
            }
        }
        self.settings.append(other.settings);
        self.world = other.world.max(self.world);
        self.lines += other.lines;
        self.bytes += other.bytes;
        self.cut.extend(other.cut);
    }
}

/// Searches a log.
pub(super) struct Scanner<'o> {
    options: &'o Options,
    searcher: Searcher,
    pub(super) collected: Collected,
    layouts: Layouts,
    /// Reused for lines with colours.
    buffer: Vec<u8>,
}

/// The layouts of the last lines about steps that a parser has read.
#[derive(Default)]
struct Layouts {
    known: Vec<Layout>,
    /// The layout to replace next.
    oldest: usize,
    /// Lines with unknown layouts since the last known one.
    misses: u32,
}

impl Layouts {
    /// A program has one or two, and for each of these another one with a number without its point.
    const MOST: usize = 4;
    /// After this many misses in a row, only one of this many lines is learned: none is like another.
    const HOPELESS: u32 = 32;

    /// Reads the line at the beginning of a text, and returns its layout.
    fn read(&mut self, text: &[u8], row: &mut Row) -> Option<(&Layout, Known)> {
        let found = self.known.iter().find_map(|layout| Some((layout, layout.read(text, row)?)))?;
        self.misses = 0;
        Some(found)
    }

    /// Whether to learn from a line with an unknown layout.
    fn learns(&mut self) -> bool {
        self.misses = self.misses.saturating_add(1);
        self.misses < Layouts::HOPELESS || self.misses.is_multiple_of(Layouts::HOPELESS)
    }

    fn add(&mut self, layout: Layout) {
        if self.known.len() < Layouts::MOST {
            self.known.push(layout);
        } else {
            self.known[self.oldest] = layout;
            self.oldest = (self.oldest + 1) % Layouts::MOST;
        }
    }
}

/// The formats that a text of the set belongs to, as bits in the order of [`SPECS`]; the settings have one
/// more bit.
const SETTINGS: u16 = 1 << SPECS.len();

struct Searcher {
    packed: packed::Searcher,
    /// Indexed by the pattern's number.
    bits: Vec<u16>,
    minimum: usize,
}

impl Searcher {
    fn new(options: &Options) -> Searcher {
        let wanted = |format: Format| options.format.is_none_or(|wanted| wanted.lines_of() == format);
        let rows = SPECS.iter().enumerate().filter(|(_, spec)| wanted(spec.format));
        let of_rows =
            rows.flat_map(|(place, spec)| spec.needles.iter().map(move |needle| (*needle, 1 << place)));
        let mut patterns: Vec<(&str, u16)> = Vec::new();
        for (needle, bit) in of_rows.chain(NEEDLES.iter().map(|needle| (*needle, SETTINGS))) {
            match patterns.iter_mut().find(|(known, _)| *known == needle) {
                Some((_, bits)) => *bits |= bit,
                None => patterns.push((needle, bit)),
            }
        }
        let packed = packed::Config::new()
            .match_kind(packed::MatchKind::LeftmostFirst)
            .builder()
            .extend(patterns.iter().map(|(needle, _)| needle))
            .build();
        Searcher {
            // The set is not empty, has no empty text, and is smaller than the limit of 128 texts.
            packed: packed.expect("a set of texts that can be searched"),
            minimum: patterns.iter().map(|(needle, _)| needle.len()).min().unwrap_or(1),
            bits: patterns.into_iter().map(|(_, bits)| bits).collect(),
        }
    }

    /// The next text of the set: its bits and its place.
    fn find(&self, text: &[u8], from: usize) -> Option<(u16, usize, usize)> {
        if text.len() < from + self.minimum {
            return None;
        }
        let found = self.packed.find_in(text, (from..text.len()).into())?;
        Some((self.bits[found.pattern().as_usize()], found.start(), found.end()))
    }

    /// The bits of all texts of the set from this place.
    fn bits_of(&self, text: &[u8], mut from: usize) -> u16 {
        let mut bits = 0;
        while let Some((more, _, end)) = self.find(text, from) {
            bits |= more;
            from = end;
        }
        bits
    }
}

impl<'o> Scanner<'o> {
    pub(super) fn new(options: &'o Options) -> Scanner<'o> {
        let collected = Collected {
            steps: Default::default(),
            summaries: Default::default(),
            notes: Default::default(),
            settings: Settings::default(),
            world: None,
            last_line: Default::default(),
            lines: 0,
            bytes: 0,
            cut: Vec::new(),
        };
        let (searcher, layouts) = (Searcher::new(options), Layouts::default());
        Scanner { options, searcher, collected, layouts, buffer: Vec::new() }
    }

    /// Reads a log to its end.
    pub(super) fn read(&mut self, mut log: impl Read) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        let mut filled = 0;
        loop {
            if filled == chunk.len() {
                if chunk.len() >= LONGEST_LINE {
                    // There is no line end in all of this, so it counts as a line.
                    self.text(&chunk[..filled]);
                    filled = 0;
                } else {
                    chunk.resize(2 * chunk.len(), 0);
                }
            }
            let read = match log.read(&mut chunk[filled..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A killed program leaves compressed data without its end. The existing part counts, and a
                // finding reports it.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && self.collected.bytes > 0 => {
                    self.collected.cut.push(error.to_string());
                    break;
                }
                Err(error) => return Err(error),
            };
            if read == 0 {
                break;
            }
            self.collected.bytes += read as u64;
            let new = filled;
            filled += read;
            if let Some(end) = memrchr(b'\n', &chunk[new..filled]).map(|end| new + end + 1) {
                self.text(&chunk[..end]);
                chunk.copy_within(end..filled, 0);
                filled -= end;
            }
        }
        if filled > 0 {
            self.text(&chunk[..filled]);
            self.collected.lines += 1;
        }
        Ok(())
    }

    /// Searches whole lines.
    fn text(&mut self, text: &[u8]) {
        // The beginning of a line, and the place up to which lines have been counted.
        let (mut from, mut counted) = (0, 0);
        let mut found = None;
        let mut row = Row::default();
        loop {
            if let Some((layout, known)) = self.layouts.read(&text[from..], &mut row) {
                let collected = &mut self.collected;
                collected.count_lines(&text[counted..from]);
                let line_end = from + known.end;
                collected.known_line(&text[from..line_end], layout, &known, &row, self.options);
                collected.lines += u64::from(text.get(line_end) == Some(&b'\n'));
                from = text.len().min(line_end + 1);
                counted = from;
                found = None;
                continue;
            }
            let Some((mut bits, start, end)) = found.or_else(|| self.searcher.find(text, from)) else {
                break;
            };
            // A carriage return ends a line, too: programs overwrite their progress bars.
            let line_start = memrchr2(b'\n', b'\r', &text[from..start]).map_or(from, |at| from + at + 1);
            if line_start > from && !self.layouts.known.is_empty() {
                from = line_start;
                found = Some((bits, start, end));
                continue;
            }
            self.collected.count_lines(&text[counted..line_start]);
            counted = line_start;
            let line_end = memchr2(b'\n', b'\r', &text[end..]).map_or(text.len(), |at| end + at);
            bits |= self.searcher.bits_of(&text[..line_end], end);
            self.line(&text[line_start..line_end], start - line_start, bits);
            from = text.len().min(line_end + 1);
            found = None;
        }
        self.collected.count_lines(&text[counted..]);
    }

    /// Inspects a line that contains texts of the set, the first of them at this place.
    fn line(&mut self, line: &[u8], first: usize, bits: u16) {
        let number = self.collected.lines + 1;
        let mut buffer = std::mem::take(&mut self.buffer);
        let clean = without_colours(line, &mut buffer);
        let (first, bits) = if clean.len() == line.len() {
            (first, bits)
        } else {
            // A colour may be in the middle of a text of the set, and its last letter may look like the first
            // one of a text.
            match self.searcher.find(clean, 0) {
                Some((bits, start, end)) => (start, bits | self.searcher.bits_of(clean, end)),
                None => (0, 0),
            }
        };
        let mut is_row = false;
        // Whether such a line belongs to none of the tried formats.
        let mut is_only_of = true;
        for (place, spec) in SPECS.iter().enumerate().filter(|(place, _)| bits & 1 << place != 0) {
            let collected = &mut self.collected;
            let (notes, summary) = (&mut collected.notes[place], &mut collected.summaries[place]);
            notes.line = number;
            let before = (notes.count, summary.vendor_lines);
            let (mut row, mut trace) = (Row::default(), Trace::new(clean));
            (spec.parse)(clean, &mut Found { row: &mut row, notes, summary, trace: &mut trace });
            let is_whole = notes.count == before.0;
            if row.is_empty() {
                is_only_of &= is_whole && trace.is_empty();
                continue;
            }
            is_row = true;
            let prefix = clean.len().min(first.max(16)).min(PREFIX);
            let named = rank(&clean[..prefix]);
            trace.rank(named.as_ref(), first.min(prefix));
            row.rank = named.map(|named| named.rank);
            let world = named.and_then(|named| named.world);
            collected.world = world.map(u64::from).max(collected.world);
            if is_only_of
                && is_whole
                && self.layouts.learns()
                && let Some(layout) = Layout::of(line, place, &row, trace, summary.vendor_lines - before.1)
            {
                self.layouts.add(layout);
            }
            collected.last_line[place].set(clean, false);
            collected.steps[place].add(&row, number, self.options.ranks);
            // A line belongs to the first format that can read it.
            break;
        }
        if !is_row && bits & SETTINGS != 0 {
            self.collected.settings.read(clean, number);
        }
        self.buffer = buffer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_as_small_as_the_fast_search_wants_it() {
        let searcher = Searcher::new(&Options::default());
        // With more than 32, the search looks at half as many bytes at once.
        assert_eq!(searcher.bits.len(), 32);
        assert!(searcher.minimum >= 4, "a text of {} bytes", searcher.minimum);
    }
}
