//! Human-readable YAML: keys in order, text blocks, quotes only if needed, comments.

use std::fmt::Write;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Yaml {
    /// A text.
    Text(String),
    /// A number, boolean or empty value, written verbatim.
    Plain(String),
    /// Several values.
    List(Vec<Yaml>),
    /// Several texts in one line.
    Line(Vec<String>),
    /// Keys and their values.
    Map(Vec<Entry>),
}

/// A part of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A key and its value.
    Key(String, Yaml),
    /// A comment of one or several lines, before what comes next.
    Comment(String),
    /// An empty line.
    Gap,
}

/// A text.
pub fn text(text: impl Into<String>) -> Yaml {
    Yaml::Text(text.into())
}

/// A number.
pub fn number(number: u32) -> Yaml {
    Yaml::Plain(number.to_string())
}

/// A boolean.
pub fn truth(truth: bool) -> Yaml {
    Yaml::Plain(truth.to_string())
}

/// Texts in one line.
pub fn line<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Yaml {
    Yaml::Line(texts.into_iter().map(Into::into).collect())
}

/// A key and its value.
pub fn key(key: impl Into<String>, value: Yaml) -> Entry {
    Entry::Key(key.into(), value)
}

/// A map.
pub fn map(entries: impl IntoIterator<Item = Entry>) -> Yaml {
    Yaml::Map(entries.into_iter().collect())
}

/// A map of texts.
pub fn texts<K: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (K, V)>) -> Yaml {
    map(pairs.into_iter().map(|(name, value)| key(name, text(value))))
}

impl Yaml {
    /// The document.
    #[must_use]
    pub fn document(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out
    }

    fn write(&self, out: &mut String, indent: usize) {
        match self {
            Self::Map(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    // The first key of a map in a list follows the dash.
                    if index > 0 || out.is_empty() || out.ends_with('\n') {
                        pad(out, if *entry == Entry::Gap { 0 } else { indent });
                    }
                    entry.write(out, indent);
                }
            }
            Self::List(values) => {
                for value in values {
                    pad(out, indent);
                    match value {
                        Self::Map(_) => {
                            out.push_str("- ");
                            value.write(out, indent + 2);
                        }
                        _ => {
                            out.push('-');
                            value.write_behind(out, indent);
                        }
                    }
                }
            }
            _ => self.write_behind(out, indent),
        }
    }

    /// Writes a value after its key or dash.
    fn write_behind(&self, out: &mut String, indent: usize) {
        match self {
            Self::Plain(text) if text.is_empty() => out.push('\n'),
            Self::Plain(text) => {
                let _ = writeln!(out, " {text}");
            }
            Self::Text(text) if text.contains('\n') => {
                out.push_str(if text.ends_with('\n') { " |\n" } else { " |-\n" });
                for line in text.lines() {
                    pad(out, if line.is_empty() { 0 } else { indent + 2 });
                    out.push_str(line);
                    out.push('\n');
                }
            }
            Self::Text(text) => {
                let _ = writeln!(out, " {}", scalar(text, false));
            }
            Self::Line(texts) => {
                let texts: Vec<_> = texts.iter().map(|text| scalar(text, true)).collect();
                let _ = writeln!(out, " [{}]", texts.join(", "));
            }
            Self::List(values) if values.is_empty() => out.push_str(" []\n"),
            Self::Map(entries) if entries.is_empty() => out.push_str(" {}\n"),
            Self::List(_) | Self::Map(_) => {
                out.push('\n');
                self.write(out, indent + 2);
            }
        }
    }
}

impl Entry {
    fn write(&self, out: &mut String, indent: usize) {
        match self {
            Self::Gap => out.push('\n'),
            Self::Comment(comment) => {
                for (index, line) in comment.lines().enumerate() {
                    if index > 0 {
                        pad(out, indent);
                    }
                    let _ = writeln!(out, "# {line}");
                }
            }
            Self::Key(name, value) => {
                out.push_str(&scalar(name, false));
                out.push(':');
                value.write_behind(out, indent);
            }
        }
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// A text in one line, quoted if it would otherwise mean something else; in an inline list, this includes
/// commas and brackets.
fn scalar(text: &str, in_line: bool) -> String {
    let first = text.chars().next();
    let special = first.is_none_or(|first| "-?:,[]{}#&*!|>'\"%@`~ 0123456789.+".contains(first))
        || text.ends_with([' ', ':'])
        || text.contains(": ")
        || text.contains(" #")
        || text.chars().any(char::is_control)
        || in_line && text.contains([',', '[', ']', '{', '}'])
        || ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_lowercase().as_str());
    // `on` is a key of GitHub's, whose readers accept it unquoted.
    if !special || text == "on" {
        return text.to_owned();
    }
    if text.chars().any(char::is_control) {
        return format!("{text:?}");
    }
    if text.contains('\'') && !text.contains(['"', '\\']) {
        return format!("\"{text}\"");
    }
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_look_as_people_write_them() {
        let document = map([
            Entry::Comment("Two\nlines".into()),
            key("on", map([key("push", map([key("branches", line(["main", "v*"]))]))])),
            Entry::Gap,
            key(
                "jobs",
                Yaml::List(vec![
                    map([key("run", text("a\nb\n")), key("name", text("x: y"))]),
                    text("plain"),
                    map([key("deep", Yaml::List(vec![map([key("a", number(1))])]))]),
                ]),
            ),
            key("none", map([])),
            key("empty", text("")),
        ]);
        let expected = "# Two\n# lines\non:\n  push:\n    branches: [main, v*]\n\njobs:\n  - run: |\n      a\n      b\n    name: 'x: y'\n  - plain\n  - deep:\n      - a: 1\nnone: {}\nempty: ''\n";
        assert_eq!(document.document(), expected);
    }

    #[test]
    fn what_would_be_something_else_is_quoted() {
        for (text, expected) in [
            ("true", "'true'"),
            ("7.2", "'7.2'"),
            ("17 2 * * *", "'17 2 * * *'"),
            ("it's: so", "\"it's: so\""),
            ("${{ a.b }}", "${{ a.b }}"),
            ("*/x", "'*/x'"),
            ("a #b", "'a #b'"),
            ("'a' == \"b\"", "'''a'' == \"b\"'"),
        ] {
            assert_eq!(scalar(text, false), expected);
        }
        assert_eq!(scalar("a, b", true), "'a, b'");
    }
}
