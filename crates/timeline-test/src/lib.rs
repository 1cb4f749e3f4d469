//! Reads a timeline as a viewer does, and panics where the file breaks a rule of the trace event format. It
//! follows the format's documentation and shares no code with the writer.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// The process and thread of an event.
pub type Track = (u64, u64);

/// A slice: an activity with a start and an end.
#[derive(Debug, Clone)]
pub struct Slice {
    /// Where it is shown.
    pub track: Track,
    /// What kind of thing it is.
    pub category: String,
    /// Its name.
    pub name: String,
    /// Start, in nanoseconds.
    pub start: u64,
    /// End, in nanoseconds.
    pub end: u64,
    /// Additional values.
    pub values: Value,
}

impl Slice {
    /// Whether the slice covers a time.
    pub fn is_at(&self, time: u64) -> bool {
        (self.start..=self.end).contains(&time)
    }

    /// Whether the slice contains another one of the same track.
    pub fn holds(&self, other: &Slice) -> bool {
        self.track == other.track && self.start <= other.start && other.end <= self.end
    }

    /// One of the slice's numbers.
    pub fn number(&self, name: &str) -> u64 {
        self.values[name].as_u64().unwrap_or_else(|| panic!("no number `{name}`: {self:?}"))
    }

    /// One of the slice's texts.
    pub fn text(&self, name: &str) -> &str {
        self.values[name].as_str().unwrap_or_else(|| panic!("no text `{name}`: {self:?}"))
    }
}

/// An arrow between two slices.
#[derive(Debug, Clone, Copy)]
pub struct Arrow {
    /// Where and when it starts.
    pub from: (Track, u64),
    /// Where and when it ends.
    pub to: (Track, u64),
}

/// A moment.
#[derive(Debug, Clone)]
pub struct Instant {
    /// Where it is shown.
    pub track: Track,
    /// What kind of thing it is.
    pub category: String,
    /// Its name.
    pub name: String,
    /// When it was, in nanoseconds.
    pub time: u64,
    /// Additional values.
    pub values: Value,
}

/// The category, name and number of a slice that may overlap others.
type Key = (String, String, String);

/// A timeline that follows the rules.
#[derive(Debug, Default)]
pub struct Timeline {
    /// All slices, by track and start. Of two slices that start together, the longer one comes first.
    pub slices: Vec<Slice>,
    /// All slices that may overlap others of their track, in the order of their ends.
    pub overlapping: Vec<Slice>,
    /// All moments, in the order of the file.
    pub instants: Vec<Instant>,
    /// All arrows.
    pub arrows: Vec<Arrow>,
    /// Names of processes.
    pub processes: BTreeMap<u64, String>,
    /// Names of threads.
    pub threads: BTreeMap<Track, String>,
    /// Whether the array has its end.
    pub is_complete: bool,
}

impl Timeline {
    /// Reads a file and checks it.
    pub fn read(path: &Path) -> Timeline {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // The closing bracket of the array may be missing.
        let is_complete = text.trim_end().ends_with(']');
        let text = if is_complete { text } else { text + "]" };
        let events: Vec<Value> =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut timeline = Timeline { is_complete, ..Timeline::default() };
        let mut ends: BTreeMap<u64, [Option<(Track, u64)>; 2]> = BTreeMap::new();
        let mut open: BTreeMap<Key, Slice> = BTreeMap::new();
        for event in &events {
            timeline.take(event, &mut ends, &mut open);
        }
        assert!(open.is_empty() || !is_complete, "without an end: {open:?}");
        // A process that is killed may never write the second end of an arrow.
        let unpaired = ends.values().filter(|ends| ends.contains(&None)).count();
        assert!(unpaired <= 1, "{unpaired} arrows have only one end");
        let arrows = ends.into_values().filter_map(|[from, to]| Some(Arrow { from: from?, to: to? }));
        timeline.arrows = arrows.collect();
        let order = |slice: &Slice| (slice.track, slice.start, std::cmp::Reverse(slice.end));
        timeline.slices.sort_by_key(order);
        timeline.check();
        timeline
    }

    fn take(
        &mut self,
        event: &Value,
        ends: &mut BTreeMap<u64, [Option<(Track, u64)>; 2]>,
        open: &mut BTreeMap<Key, Slice>,
    ) {
        let text = |name: &str| event[name].as_str().unwrap_or_else(|| panic!("no text `{name}` in {event}"));
        let number =
            |name: &str| event[name].as_u64().unwrap_or_else(|| panic!("no number `{name}` in {event}"));
        // Times are microseconds with decimals.
        let time = |name: &str| {
            let time = event[name].as_f64().unwrap_or_else(|| panic!("no time `{name}` in {event}"));
            assert!(time >= 0.0, "{event}");
            (time * 1000.0).round() as u64
        };
        let track = (number("pid"), number("tid"));
        match text("ph") {
            "X" => self.slices.push(Slice {
                track,
                category: text("cat").to_owned(),
                name: text("name").to_owned(),
                start: time("ts"),
                end: time("ts") + time("dur"),
                values: event["args"].clone(),
            }),
            "i" => {
                assert_eq!(text("s"), "t", "not of a thread: {event}");
                let (category, name) = (text("cat").to_owned(), text("name").to_owned());
                let instant =
                    Instant { track, category, name, time: time("ts"), values: event["args"].clone() };
                self.instants.push(instant);
            }
            kind @ ("b" | "e") => {
                let (category, name) = (text("cat").to_owned(), text("name").to_owned());
                let id = event["id2"]["local"].as_str().unwrap_or_else(|| panic!("no number in {event}"));
                let key = (category.clone(), name.clone(), id.to_owned());
                if kind == "b" {
                    let (start, values) = (time("ts"), event["args"].clone());
                    let slice = Slice { track, category, name, start, end: start, values };
                    assert!(open.insert(key, slice).is_none(), "twice: {event}");
                } else {
                    let mut slice =
                        open.remove(&key).unwrap_or_else(|| panic!("ends, but has not begun: {event}"));
                    slice.end = time("ts");
                    assert!(slice.start <= slice.end, "back in time: {slice:?}");
                    self.overlapping.push(slice);
                }
            }
            kind @ ("s" | "f") => {
                let end = usize::from(kind == "f");
                assert!(kind == "s" || text("bp") == "e", "{event}");
                let place = &mut ends.entry(number("id")).or_default()[end];
                assert!(place.is_none(), "twice: {event}");
                *place = Some((track, time("ts")));
                assert!(!text("cat").is_empty() && !text("name").is_empty());
            }
            "M" => {
                let name = event["args"]["name"].as_str().unwrap_or_else(|| panic!("no name in {event}"));
                match text("name") {
                    "process_name" => drop(self.processes.insert(track.0, name.to_owned())),
                    "thread_name" => drop(self.threads.insert(track, name.to_owned())),
                    _ => panic!("unknown: {event}"),
                }
            }
            _ => panic!("unknown: {event}"),
        }
    }

    fn check(&self) {
        let mut open: Vec<&Slice> = Vec::new();
        for slice in &self.slices {
            assert!(self.processes.contains_key(&slice.track.0), "its process has no name: {slice:?}");
            assert!(self.threads.contains_key(&slice.track), "its track has no name: {slice:?}");
            while open.last().is_some_and(|last| last.track != slice.track || last.end <= slice.start) {
                open.pop();
            }
            if let Some(last) = open.last() {
                assert!(
                    slice.end <= last.end,
                    "they overlap, and neither contains the other: {last:?} {slice:?}"
                );
            }
            open.push(slice);
        }
        for Arrow { from, to } in &self.arrows {
            assert!(from.1 <= to.1, "back in time: {from:?} {to:?}");
            for (track, time) in [from, to] {
                let is_there = self.slices.iter().any(|slice| slice.track == *track && slice.is_at(*time));
                assert!(is_there, "no slice at the end of an arrow: {track:?} {time}");
            }
        }
        // A device's activities on one queue do not overlap.
        for pair in self.slices.windows(2) {
            if pair[0].track == pair[1].track && !self.is_of_host(&pair[0]) {
                assert!(pair[0].end <= pair[1].start, "at the same time on one queue: {pair:?}");
            }
        }
    }

    /// Whether it is on the track of a host thread, not of a device.
    pub fn is_of_host(&self, slice: &Slice) -> bool {
        // Linux's process ids are below this.
        slice.track.0 < 1 << 22
    }

    /// All slices of a category.
    pub fn of(&self, category: &str) -> Vec<&Slice> {
        self.slices.iter().filter(|slice| slice.category == category).collect()
    }

    /// All slices with a name.
    pub fn named(&self, name: &str) -> Vec<&Slice> {
        self.slices.iter().filter(|slice| slice.name == name).collect()
    }

    /// The innermost slice that covers a time on a track and has one of these categories.
    pub fn at(&self, (track, time): (Track, u64), category: &str) -> Option<&Slice> {
        let at = |slice: &&Slice| slice.track == track && slice.is_at(time) && slice.category == category;
        self.slices.iter().rfind(at)
    }

    /// The slice of a category where an arrow to this slice starts.
    pub fn origin(&self, slice: &Slice, category: &str) -> Option<&Slice> {
        let arrow = self.arrows.iter().find(|arrow| arrow.to.0 == slice.track && slice.is_at(arrow.to.1))?;
        self.at(arrow.from, category)
    }

    /// The distinct tracks of some slices.
    pub fn tracks(slices: &[&Slice]) -> BTreeSet<Track> {
        slices.iter().map(|slice| slice.track).collect()
    }
}
