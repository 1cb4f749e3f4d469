//! Reading records, including the output of Python's `json`, which writes `NaN`, `Infinity` and `-Infinity`
//! although they are not JSON.

use std::fs;
use std::path::{Path, PathBuf};

use super::Record;

/// Why bytes are not a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        cause: std::io::Error,
    },
    /// The bytes are not UTF-8.
    #[error("{}: byte {offset} is not UTF-8; a record is JSON in UTF-8", name(path.as_deref()))]
    Text {
        /// The file, if the bytes come from one.
        path: Option<PathBuf>,
        /// The number of bytes before the invalid one.
        offset: usize,
    },
    /// The text is not JSON, or a value has the wrong type for its field.
    #[error("{}:{line}:{column}: {what}{}", name(path.as_deref()), in_line(excerpt))]
    Value {
        /// The file, if the bytes come from one.
        path: Option<PathBuf>,
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
        /// What is wrong.
        what: String,
        /// The line's text, shortened.
        excerpt: String,
    },
}

fn name(path: Option<&Path>) -> String {
    path.map_or_else(|| "record".to_owned(), |path| path.display().to_string())
}

fn in_line(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!(", in `{line}`") }
}

impl ReadError {
    /// The same error, with the file that the bytes come from.
    #[must_use]
    pub fn of_file(mut self, file: &Path) -> ReadError {
        match &mut self {
            ReadError::Text { path, .. } | ReadError::Value { path, .. } => *path = Some(file.to_owned()),
            ReadError::File { .. } => {}
        }
        self
    }
}

impl Record {
    /// Reads a record in either shape.
    ///
    /// `NaN`, `Infinity` and `-Infinity` are read as null: a missing value of a field, and NaN in a list.
    ///
    /// # Errors
    /// [`ReadError::Text`] and [`ReadError::Value`], without a file.
    ///
    /// ```
    /// let record = runs::Record::read(br#"{"platform": "amd", "raw_step_times": [2.5, NaN]}"#)?;
    /// assert_eq!(record.step_times[0], 2.5);
    /// assert!(record.step_times[1].is_nan());
    /// # Ok::<(), runs::record::ReadError>(())
    /// ```
    pub fn read(bytes: &[u8]) -> Result<Record, ReadError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes)
            .map_err(|error| ReadError::Text { path: None, offset: error.valid_up_to() })?;
        let json = without_literals_of_python(text);
        serde_json::from_str(&json.text).map_err(|error| {
            let line = error.line();
            let column = error.column();
            let shift = json.added.iter().filter(|&&(of, at)| of == line && at < column).count();
            let excerpt = text.lines().nth(line.saturating_sub(1)).unwrap_or("").trim();
            let what = error.to_string();
            // serde_json appends the place, which refers to the text without Python's literals.
            let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            ReadError::Value {
                path: None,
                line: line.max(1),
                column: (column - shift).max(1),
                what: what.replace("expected struct Record", "expected an object, the record of one run"),
                excerpt: shortened(excerpt, 60),
            }
        })
    }

    /// Reads the record in a file.
    ///
    /// # Errors
    /// [`ReadError`], which names the file, and line and column in it.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Record, ReadError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|cause| ReadError::File { path: path.to_owned(), cause })?;
        Record::read(&bytes).map_err(|error| error.of_file(path))
    }
}

/// The first characters of a text, and an ellipsis if there are more.
fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text without the literals that Python adds to JSON.
struct Json {
    text: String,
    /// Line and column of the added bytes.
    added: Vec<(usize, usize)>,
}

/// Python's literals. `-Infinity` is found by its `Infinity`; the sign is looked for before it.
const LITERALS: [&str; 2] = ["NaN", "Infinity"];

/// Replaces the literals outside of strings with null. Every other byte keeps its line; `added` says which
/// columns move.
fn without_literals_of_python(text: &str) -> Json {
    // Most texts have none, and may have a million steps.
    if !LITERALS.into_iter().any(|literal| text.contains(literal)) {
        return Json { text: text.to_owned(), added: Vec::new() };
    }
    let mut json = Json { text: String::with_capacity(text.len()), added: Vec::new() };
    let (mut line, mut line_start) = (1, 0);
    let mut in_string = false;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let literal =
            if in_string { None } else { LITERALS.into_iter().find(|literal| rest.starts_with(literal)) };
        if let Some(literal) = literal {
            let negative = json.text.ends_with('-');
            if negative {
                json.text.pop();
            }
            json.text.push_str("null");
            let width = literal.len() + usize::from(negative);
            if width < 4 {
                json.added.push((line, json.text.len() - line_start));
            }
            json.text.extend(std::iter::repeat_n(' ', width.saturating_sub(4)));
            rest = &rest[literal.len()..];
            continue;
        }
        let mut taken = next.len_utf8();
        match next {
            '"' => in_string = !in_string,
            // An escaped character does not end a string.
            '\\' if in_string => taken += rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => {}
        }
        json.text.push_str(&rest[..taken]);
        if rest[..taken].contains('\n') {
            line += 1;
            line_start = json.text.len();
        }
        rest = &rest[taken..];
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_literals_of_python_are_missing_values() {
        let text = br#"{"platform": "amd", "gpu_info": {"total_memory_gb": Infinity, "note": "NaN or \" -Infinity"},
            "step_times": [1.5, NaN, -Infinity, Infinity, null], "performance_metrics": {"tokens_per_second": NaN}}"#;
        let record = Record::read(text).expect("a record");
        assert_eq!(record.step_times[0], 1.5);
        assert!(record.step_times[1..].iter().all(|seconds| seconds.is_nan()));
        assert_eq!(record.step_times.len(), 5);
        assert_eq!(
            (record.gpu_info.total_memory_gb, record.performance_metrics.tokens_per_second),
            (None, None)
        );
        assert_eq!(record.gpu_info.other["note"], "NaN or \" -Infinity");
    }

    #[test]
    fn an_error_tells_line_column_and_value() {
        let told = |text: &str| Record::read(text.as_bytes()).expect_err("no record").to_string();
        let error = told("{\n  \"step_times\": [NaN, NaN, -Infinity, \"x\"]\n}");
        assert!(error.starts_with("record:2:41: invalid type: string \"x\", expected f64"), "{error}");
        assert!(error.ends_with(r#"in `"step_times": [NaN, NaN, -Infinity, "x"]`"#), "{error}");
        let error = told("{\n  \"gpu_info\": {\"device_count\": -8}}");
        assert!(error.contains("record:2:33: invalid value: integer `-8`, expected u64"), "{error}");
        let error = told("{\"step_times\": [1.0, nan]}");
        assert!(error.starts_with("record:1:23: expected"), "{error}");
        let error = told("[]");
        assert!(
            error.ends_with("invalid type: sequence, expected an object, the record of one run, in `[]`"),
            "{error}"
        );
        assert!(told("").starts_with("record:1:1: EOF"), "{}", told(""));
        assert!(told("{\"a\": NaNa}").starts_with("record:1:10:"), "{}", told("{\"a\": NaNa}"));
        let error = Record::read(b"{\"a\": \"\xff\"}").expect_err("no text").to_string();
        assert_eq!(error, "record: byte 7 is not UTF-8; a record is JSON in UTF-8");
    }

    #[test]
    fn a_file_is_named() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("run.json");
        let error = Record::from_path(&path).expect_err("no file").to_string();
        assert!(error.starts_with(&format!("cannot read {}: ", path.display())), "{error}");
        fs::write(&path, "[1]").expect("write");
        let error = Record::from_path(&path).expect_err("no record").to_string();
        assert!(error.starts_with(&format!("{}:1:", path.display())), "{error}");
        fs::write(&path, "\u{feff}{\"platform\": \"nvidia\"}").expect("write");
        assert_eq!(Record::from_path(&path).expect("a record").platform, super::super::Platform::Nvidia);
    }
}
