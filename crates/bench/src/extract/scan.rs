//! Finds the few lines of a log that say something, at the speed of memory: the text is searched for a set of short texts at once, and only
//! a line with one of them is looked at.

use std::io::{self, Read};

use aho_corasick::packed;
use memchr::{memchr_iter, memchr2, memrchr, memrchr2};

use super::formats::{Found, Known, Layout, SPECS};
use super::row::{Notes, Row};
use super::settings::{NEEDLES, Settings};
use super::steps::Steps;
use super::summary::Summary;
use super::text::{rank, without_colours};
use super::{Format, Options};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;
/// A line that is longer is read in pieces.
const LONGEST_LINE: usize = 16 << 20;
/// Bytes of a line that are searched for a rank.
const PREFIX: usize = 160;

/// What was found in a log so far.
pub(super) struct Collected {
    /// A place for each of [`SPECS`].
    pub(super) steps: [Steps; SPECS.len()],
    pub(super) summaries: [Summary; SPECS.len()],
    pub(super) notes: [Notes; SPECS.len()],
    pub(super) settings: Settings,
    /// GPUs by what ranks say of themselves (`rank-7/8`).
    pub(super) world: Option<u64>,
    /// The beginning of the last line about a step, which has the time of day; by format.
    pub(super) last_prefix: [Vec<u8>; SPECS.len()],
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// Where compressed logs end in the middle, and what the decoder says.
    pub(super) cut: Vec<String>,
}

impl Collected {
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
        for (mine, other) in self.last_prefix.iter_mut().zip(other.last_prefix) {
            if !other.is_empty() {
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
    /// That of the last line of the first format which was searched for its fields.
    layout: Option<Layout>,
    /// Reused for lines with colours.
    buffer: Vec<u8>,
}

/// Which formats, as bits in the order of [`SPECS`], a text of the set belongs to; the settings are one more bit.
const SETTINGS: u16 = 1 << SPECS.len();

struct Searcher {
    packed: packed::Searcher,
    /// By the pattern's number.
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

    /// The next text of the set: its bits and where it is.
    fn find(&self, text: &[u8], from: usize) -> Option<(u16, usize, usize)> {
        if text.len() < from + self.minimum {
            return None;
        }
        let found = self.packed.find_in(text, (from..text.len()).into())?;
        Some((self.bits[found.pattern().as_usize()], found.start(), found.end()))
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
            last_prefix: Default::default(),
            lines: 0,
            bytes: 0,
            cut: Vec::new(),
        };
        Scanner { options, searcher: Searcher::new(options), collected, layout: None, buffer: Vec::new() }
    }

    /// Reads a log to its end.
    pub(super) fn read(&mut self, mut log: impl Read) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        let mut filled = 0;
        loop {
            if filled == chunk.len() {
                if chunk.len() >= LONGEST_LINE {
                    // No end of a line in all that: what is there is a line.
                    self.text(&chunk[..filled]);
                    filled = 0;
                } else {
                    chunk.resize(2 * chunk.len(), 0);
                }
            }
            let read = match log.read(&mut chunk[filled..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A program that was killed leaves compressed data without its end. What is there counts, and a finding tells.
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
        // The beginning of a line, and how far lines have been counted.
        let (mut from, mut counted) = (0, 0);
        loop {
            if let Some(known) = self.layout.as_ref().and_then(|layout| layout.read(&text[from..])) {
                self.count_lines(&text[counted..from]);
                counted = from;
                let line_end = from + known.end;
                self.known_line(&text[from..line_end], known);
                from = text.len().min(line_end + 1);
                continue;
            }
            let Some((mut bits, start, end)) = self.searcher.find(text, from) else { break };
            // A carriage return ends a line, too: programs write progress bars over themselves.
            let line_start = memrchr2(b'\n', b'\r', &text[from..start]).map_or(from, |at| from + at + 1);
            // No other format is tried before the first one, so that what else is in the line need not be known to try that one.
            let tried = bits & 1;
            if tried != 0 && line_start > from && self.layout.is_some() {
                from = line_start;
                continue;
            }
            self.count_lines(&text[counted..line_start]);
            counted = line_start;
            let line_end = memchr2(b'\n', b'\r', &text[end..]).map_or(text.len(), |at| end + at);
            let line = &text[line_start..line_end];
            if tried == 0 || !self.line(line, start - line_start, tried) {
                let mut next = end;
                while let Some((more, _, end)) = self.searcher.find(&text[..line_end], next) {
                    bits |= more;
                    next = end;
                }
                self.line(line, start - line_start, bits & !tried);
            }
            from = text.len().min(line_end + 1);
        }
        self.count_lines(&text[counted..]);
    }

    fn count_lines(&mut self, text: &[u8]) {
        self.collected.lines += memchr_iter(b'\n', text).count() as u64;
    }

    /// Adds a line of the first format that was read by its layout.
    fn known_line(&mut self, line: &[u8], known: Known) {
        let Some(layout) = &self.layout else { return };
        let summary = &mut self.collected.summaries[0];
        summary.max_steps = Some(known.last_step);
        summary.vendor_lines += layout.vendor_lines;
        let first = layout.may_have_rank.then(|| self.searcher.find(line, 0)).flatten();
        self.row(0, line, first.map(|(_, start, _)| start), known.row);
    }

    /// Adds what a line without colours says of a step, in the format of that place. `first` is where its first text of the set was before
    /// colours were removed, if it may have a rank.
    fn row(&mut self, place: usize, line: &[u8], first: Option<usize>, mut row: Row) {
        let collected = &mut self.collected;
        let prefix = |length: usize| &line[..line.len().min(length).min(PREFIX)];
        if let Some((rank, world)) = first.and_then(|first| rank(prefix(first.max(16)))) {
            row.rank = Some(rank);
            collected.world = world.map(u64::from).max(collected.world);
        }
        collected.last_prefix[place].clear();
        collected.last_prefix[place].extend_from_slice(prefix(PREFIX));
        collected.steps[place].add(row, collected.lines + 1, self.options.ranks);
    }

    /// Looks at a line with a text of the set in it. Whether it is one about a step.
    fn line(&mut self, line: &[u8], first: usize, bits: u16) -> bool {
        let number = self.collected.lines + 1;
        let mut buffer = std::mem::take(&mut self.buffer);
        let clean = without_colours(line, &mut buffer);
        let mut is_row = false;
        for (place, spec) in SPECS.iter().enumerate().filter(|(place, _)| bits & 1 << place != 0) {
            let collected = &mut self.collected;
            let notes = &mut collected.notes[place];
            notes.line = number;
            let ignored = notes.count;
            let mut row = Row::default();
            (spec.parse)(
                clean,
                &mut Found { row: &mut row, notes, summary: &mut collected.summaries[place] },
            );
            if row.is_empty() {
                continue;
            }
            is_row = true;
            let is_whole = notes.count == ignored && row.last.is_none() && clean.len() == line.len();
            if place == 0
                && is_whole
                && let Some(layout) = Layout::of(clean)
            {
                self.layout = Some(layout);
            }
            self.row(place, clean, Some(first), row);
            // The first format that reads a line has it.
            break;
        }
        if !is_row && bits & SETTINGS != 0 {
            self.collected.settings.read(clean, number);
        }
        self.buffer = buffer;
        is_row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_as_small_as_the_fast_search_wants_it() {
        let searcher = Searcher::new(&Options::default());
        // With more than 32, half as many bytes are looked at at once.
        assert_eq!(searcher.bits.len(), 32);
        assert!(searcher.minimum >= 4, "a text of {} bytes", searcher.minimum);
    }
}
