//! `tojson`, as Python's `json.dumps(value, ensure_ascii=False)` writes.

use std::io;

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, Value};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};

/// The filter, with `indent` as an argument or by name, and `ensure_ascii`, `sort_keys` and `separators` only
/// at the values that `transformers` has.
pub(super) fn filter(value: Value, indent: Option<Value>, arguments: Kwargs) -> Result<String, Error> {
    let indent = match indent {
        Some(indent) => Some(indent),
        None => arguments.get::<Option<Value>>("indent")?,
    };
    let is_ascii = arguments.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false);
    let separators = arguments.get::<Option<Vec<String>>>("separators")?;
    if is_ascii || arguments.get::<Option<bool>>("sort_keys")?.unwrap_or(false) {
        let problem = "tojson: ensure_ascii and sort_keys are not supported";
        return Err(Error::new(ErrorKind::InvalidOperation, problem));
    }
    arguments.assert_all_used()?;
    let indent = match indent.filter(|indent| !indent.is_none() && !indent.is_undefined()) {
        None => return write(&value, Line { separators: separators.as_deref() }),
        Some(indent) => usize::try_from(indent)?.min(64),
    };
    if separators.is_some() {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "tojson: separators with indent are not supported",
        ));
    }
    write(&value, PrettyFormatter::with_indent(" ".repeat(indent).as_bytes()))
}

fn write(value: &Value, formatter: impl Formatter) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    let failed =
        |error: &dyn std::fmt::Display| Error::new(ErrorKind::InvalidOperation, format!("tojson: {error}"));
    value.serialize(&mut serializer).map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

/// One line, with a space after commas and colons.
struct Line<'s> {
    separators: Option<&'s [String]>,
}

impl Line<'_> {
    fn separator(&self, at: usize, otherwise: &'static str) -> &[u8] {
        self.separators.and_then(|separators| separators.get(at)).map_or(otherwise, String::as_str).as_bytes()
    }
}

impl Formatter for Line<'_> {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(self.separator(0, ", ")) }
    }
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(self.separator(0, ", ")) }
    }
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(self.separator(1, ": "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_written_as_python_does() {
        let value: Value =
            serde_json::from_str(r#"{"b": [1, 2.5, null, true], "a": {"é": "<'\"\n"}}"#).expect("json");
        let written = |template: &str| {
            let mut environment = minijinja::Environment::new();
            environment.add_filter("tojson", filter);
            environment
                .render_str(template, minijinja::context! { v => value.clone() })
                .map_err(|error| error.to_string())
        };
        let line = r#"{"b": [1, 2.5, null, true], "a": {"é": "<'\"\n"}}"#;
        assert_eq!(written("{{ v|tojson }}").as_deref(), Ok(line));
        assert_eq!(written("{{ v|tojson(ensure_ascii=false, indent=none) }}").as_deref(), Ok(line));
        let pretty = "{\n  \"b\": [\n    1,\n    2.5,\n    null,\n    true\n  ],\n  \"a\": {\n    \"é\": \"<'\\\"\\n\"\n  }\n}";
        assert_eq!(written("{{ v|tojson(indent=2) }}").as_deref(), Ok(pretty));
        assert_eq!(written("{{ v.b|tojson(separators=[',', ':']) }}").as_deref(), Ok("[1,2.5,null,true]"));
        assert!(written("{{ v|tojson(sort_keys=true) }}").is_err());
    }
}
