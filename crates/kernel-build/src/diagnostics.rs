use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How serious a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Belongs to the message before it.
    Note,
    /// Told by the compiler about its work, such as the result of an optimisation.
    Remark,
    /// The source compiles, but may not do what it should.
    Warning,
    /// The source does not compile.
    Error,
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Line, counted from 1.
    pub line: u32,
    /// Column, counted from 1.
    pub column: u32,
}

/// One message of the compiler or linker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How serious it is.
    pub severity: Severity,
    /// Where. Linker messages have no place.
    pub place: Option<Place>,
    /// The message's first line.
    pub message: String,
    /// The whole text: message, source excerpt and the chain of includes before it.
    pub text: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}

const KINDS: &[(&str, Severity)] = &[
    ("fatal error: ", Severity::Error),
    ("error: ", Severity::Error),
    ("warning: ", Severity::Warning),
    ("remark: ", Severity::Remark),
    ("note: ", Severity::Note),
];

impl Diagnostic {
    /// Splits what clang printed into messages. The text before the first one is part of it.
    #[must_use]
    pub fn read_all(text: &str) -> Vec<Self> {
        parse(text)
    }
}

/// Splits what clang printed into messages. Every line ends up in one, so nothing is lost.
pub(crate) fn parse(text: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut before = String::new();
    for line in text.lines() {
        if let Some((severity, place, message)) = head(line) {
            let mut text = std::mem::take(&mut before);
            text.push_str(line);
            text.push('\n');
            found.push(Diagnostic { severity, place, message, text });
        } else if line.starts_with("In file included from") || found.is_empty() {
            before.push_str(line);
            before.push('\n');
        } else if let Some(last) = found.last_mut() {
            last.text.push_str(line);
            last.text.push('\n');
        }
    }
    if let (Some(last), false) = (found.last_mut(), before.is_empty()) {
        last.text.push_str(&before);
    }
    found
}

/// Leaves out the closing counts ("1 error generated when compiling for gfx1100."), the only lines that name the target:
/// without them, equal messages for several targets are equal texts.
pub(crate) fn without_counts(text: &str) -> String {
    let is_count = |line: &&str| {
        line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" generated when compiling for ")
    };
    text.lines().filter(|line| !is_count(line)).flat_map(|line| [line, "\n"]).collect()
}

/// Gives places below the sources' folder, which debug information calls `.`, their whole path, as the other messages have it.
pub(crate) fn in_folder(text: &str, folder: &Path) -> String {
    let whole = |line: &str| match line.strip_prefix("./") {
        Some(rest) if head(line).is_some_and(|(_, place, _)| place.is_some()) => {
            folder.join(rest).display().to_string()
        }
        _ => line.to_owned(),
    };
    text.lines().map(whole).flat_map(|line| [line, "\n".into()]).collect()
}

fn head(line: &str) -> Option<(Severity, Option<Place>, String)> {
    // `path:line:col: kind: message`, or `program: kind: message`, or, of code that is made from IR, `kind: path:line:col: message`.
    let (at, kind, severity) = KINDS
        .iter()
        .filter_map(|&(kind, severity)| {
            let at = line.find(kind)?;
            (at == 0 || line[..at].ends_with(": ")).then_some((at, kind, severity))
        })
        .min_by_key(|(at, ..)| *at)?;
    let message = &line[at + kind.len()..];
    if at == 0
        && let Some((before, message)) = message.split_once(": ")
        && let Some(place) = place(before)
    {
        return Some((severity, Some(place), message.to_owned()));
    }
    Some((severity, line[..at].strip_suffix(": ").and_then(place), message.to_owned()))
}

/// Reads `path:line:col`.
fn place(text: &str) -> Option<Place> {
    let (rest, column) = text.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some(Place { file: file.into(), line: line.parse().ok()?, column: column.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_below_the_folder_have_their_whole_path() {
        let text = "./a/b.cu:3:5: error: no\n./run.sh\n/c.cu:1:2: note: x\n";
        let expected = "/src/a/b.cu:3:5: error: no\n./run.sh\n/c.cu:1:2: note: x\n";
        assert_eq!(in_folder(text, Path::new("/src")), expected);
    }

    #[test]
    fn messages_are_split_and_nothing_is_lost() {
        let text = "In file included from /a/b.cu:2:
/a/c.cuh:7:5: warning: unused variable 'x' [-Wunused-variable]
    7 | int x;
      |     ^
/a/b.cu:9:1: error: expected ';': here
/a/b.cu:9:1: note: to match this
remark: b.cu:7:0:     VGPRs: 2 [-Rpass-analysis=kernel-resource-usage]
ld.lld: error: undefined symbol: f
>>> referenced by b.cu
1 warning and 1 error generated when compiling for gfx1100.
";
        let found = parse(&without_counts(text));
        let at = |file: &str, line, column| Some(Place { file: file.into(), line, column });
        let heads: Vec<_> = found.iter().map(|d| (d.severity, d.place.clone(), d.message.as_str())).collect();
        assert_eq!(
            heads,
            [
                (Severity::Warning, at("/a/c.cuh", 7, 5), "unused variable 'x' [-Wunused-variable]"),
                (Severity::Error, at("/a/b.cu", 9, 1), "expected ';': here"),
                (Severity::Note, at("/a/b.cu", 9, 1), "to match this"),
                (Severity::Remark, at("b.cu", 7, 0), "    VGPRs: 2 [-Rpass-analysis=kernel-resource-usage]"),
                (Severity::Error, None, "undefined symbol: f"),
            ]
        );
        assert!(found[0].text.starts_with("In file included from /a/b.cu:2:"));
        assert!(found[0].text.contains("7 | int x;"));
        assert!(found[4].text.ends_with(">>> referenced by b.cu\n"));
    }
}
