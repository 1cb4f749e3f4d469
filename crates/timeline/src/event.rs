//! Events as JSON. The fields have the names of the trace event format. `ph` is the kind: `X` is a slice, `s`
//! and `f` are the ends of an arrow, `b` and `e` the ends of a slice that may overlap others, `i` is an instant,
//! and `M` is a name. `ts` and `dur` are in microseconds.

use std::fmt::Write as _;

use crate::{Track, is_on, write};

/// Longer names and texts are truncated, because names of template instances can have any length.
const LONGEST: usize = 2000;

/// A value attached to an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// A whole number.
    Number(u64),
    /// A whole number that may be negative.
    Signed(i64),
    /// A number. It is left out if it is not finite, which JSON cannot represent.
    Real(f64),
    /// A string.
    Text(&'a str),
}

/// An activity with a start and an end.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'a> {
    /// Where it is shown.
    pub track: Track,
    /// The kind of activity: `kernel`, `copy`, `wait`, or an API.
    pub category: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its start, in nanoseconds of [`now`](crate::now).
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// Additional values.
    pub values: &'a [(&'a str, Value<'a>)],
}

/// Writes a slice. Two slices of one track must nest or be disjoint.
pub fn slice(slice: &Slice<'_>) {
    if !is_on() {
        return;
    }
    let mut event = Text::begin('X', slice.track, slice.start);
    event.string("cat", slice.category);
    event.string("name", slice.name);
    event.time("dur", slice.end.saturating_sub(slice.start));
    event.values(slice.values);
    write(&event.end());
}

/// Writes an arrow from the slice at a time on one track to the slice at a time on another. No other arrow
/// may have the same number. Prefer times inside a slice: at the instant where one slice ends, another may
/// begin.
pub fn flow(id: u64, from: (Track, u64), to: (Track, u64)) {
    if !is_on() {
        return;
    }
    for (kind, (track, time)) in [('s', from), ('f', to)] {
        let mut event = Text::begin(kind, track, time);
        event.string("cat", "enqueued");
        event.string("name", "enqueued");
        event.field("id");
        let _ = write!(event.0, "{id}");
        if kind == 'f' {
            // The arrow ends at the slice around that time, not at the next one.
            event.string("bp", "e");
        }
        write(&event.end());
    }
}

/// Writes an instant on a thread's track.
pub(crate) fn instant(track: Track, category: &str, name: &str, time: u64, values: &[(&str, Value<'_>)]) {
    if !is_on() {
        return;
    }
    let mut event = Text::begin('i', track, time);
    event.string("cat", category);
    event.string("name", name);
    event.string("s", "t");
    event.values(values);
    write(&event.end());
}

/// Writes one end (`b` or `e`) of a slice that may overlap others of its track. Both ends have the same
/// category, name and number, which no other such slice of the process has.
pub(crate) fn overlapping(
    end: char,
    track: Track,
    category: &str,
    name: &str,
    id: u64,
    time: u64,
    values: &[(&str, Value<'_>)],
) {
    if !is_on() {
        return;
    }
    let mut event = Text::begin(end, track, time);
    event.string("cat", category);
    event.string("name", name);
    event.field("id2");
    let _ = write!(event.0, "{{\"local\":\"{id:#x}\"}}");
    event.values(values);
    write(&event.end());
}

/// Writes the name of a process or thread; `what` is `process_name` or `thread_name`.
pub(crate) fn name(what: &str, track: Track, text: &str, values: &[(&str, Value<'_>)]) -> Text {
    let mut event = Text::begin('M', track, 0);
    event.string("name", what);
    let mut all = vec![("name", Value::Text(text))];
    all.extend_from_slice(values);
    event.values(&all);
    event.end()
}

/// The text of an event: a JSON object on one line.
#[derive(Debug)]
pub(crate) struct Text(pub(crate) String);

impl Text {
    fn begin(kind: char, track: Track, time: u64) -> Self {
        let mut text = Self(String::with_capacity(256));
        let _ = write!(text.0, "{{\"ph\":\"{kind}\",\"pid\":{},\"tid\":{}", track.process, track.thread);
        text.time("ts", time);
        text
    }

    fn end(mut self) -> Self {
        self.0.push('}');
        self
    }

    fn field(&mut self, name: &str) {
        let _ = write!(self.0, ",\"{name}\":");
    }

    fn time(&mut self, name: &str, nanoseconds: u64) {
        self.field(name);
        let _ = write!(self.0, "{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
    }

    fn string(&mut self, name: &str, text: &str) {
        self.field(name);
        self.quoted(text);
    }

    fn quoted(&mut self, text: &str) {
        self.0.push('"');
        let mut characters = text.chars();
        for character in characters.by_ref().take(LONGEST) {
            match character {
                '"' | '\\' => {
                    self.0.push('\\');
                    self.0.push(character);
                }
                '\u{0}'..='\u{1f}' => {
                    let _ = write!(self.0, "\\u{:04x}", u32::from(character));
                }
                _ => self.0.push(character),
            }
        }
        if characters.next().is_some() {
            self.0.push('…');
        }
        self.0.push('"');
    }

    fn values(&mut self, values: &[(&str, Value<'_>)]) {
        let shown =
            |(_, value): &&(&str, Value<'_>)| !matches!(value, Value::Real(real) if !real.is_finite());
        let mut values = values.iter().filter(shown).peekable();
        if values.peek().is_none() {
            return;
        }
        self.field("args");
        self.0.push('{');
        while let Some((name, value)) = values.next() {
            self.quoted(name);
            self.0.push(':');
            match value {
                Value::Number(number) => drop(write!(self.0, "{number}")),
                Value::Signed(number) => drop(write!(self.0, "{number}")),
                Value::Real(real) => drop(write!(self.0, "{real}")),
                Value::Text(text) => self.quoted(text),
            }
            if values.peek().is_some() {
                self.0.push(',');
            }
        }
        self.0.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_of_json_whatever_its_texts_are() {
        let track = Track { process: 1, thread: 2 };
        let nasty = "a\"b\\c\n\u{0}\u{1b}\u{2028}é\u{202e}";
        let long = "x".repeat(3 * LONGEST);
        let values = [
            (nasty, Value::Text(nasty)),
            ("long", Value::Text(&long)),
            ("not a number", Value::Real(f64::NAN)),
            ("real", Value::Real(0.25)),
            ("number", Value::Number(u64::MAX)),
        ];
        let mut event = Text::begin('X', track, 1_234_567);
        event.string("name", nasty);
        event.time("dur", 5);
        event.values(&values);
        let Text(text) = event.end();
        assert!(!text.contains('\n'));
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((json["ts"].as_f64(), json["dur"].as_f64()), (Some(1234.567), Some(0.005)));
        assert_eq!((json["name"].as_str(), json["args"][nasty].as_str()), (Some(nasty), Some(nasty)));
        assert_eq!(json["args"]["number"].as_u64(), Some(u64::MAX));
        assert_eq!(json["args"]["long"].as_str().unwrap().chars().count(), LONGEST + 1);
        assert!(json["args"].get("not a number").is_none());
    }

    #[test]
    fn an_event_without_values_has_none() {
        let mut event = Text::begin('X', Track { process: 1, thread: 2 }, 0);
        event.values(&[("x", Value::Real(f64::INFINITY))]);
        assert_eq!(event.end().0, r#"{"ph":"X","pid":1,"tid":2,"ts":0.000}"#);
    }
}
