//! Messages of compilers.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How serious a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Belongs to the preceding message.
    Note,
    /// Information about the compiler's work, such as the result of an optimisation.
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
    /// Column, counted from 1; 1 if the compiler names none, as with nvcc.
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
    /// The whole text: the preceding chain of includes, the message, and the source excerpt.
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
    /// Splits clang's output into messages. Text before the first message becomes part of it.
    #[must_use]
    pub fn read_all(text: &str) -> Vec<Self> {
        parse(text)
    }
}

/// Splits clang's output into messages. Every line ends up in one, so nothing is lost.
fn parse(text: &str) -> Vec<Diagnostic> {
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

/// Texts in the final counts of clang ("1 error generated when compiling for gfx1100.") and nvcc ("1 error
/// detected in the compilation of "a.cu".").
const COUNTS: [&str; 2] = [" generated when compiling for ", " detected in the compilation of "];

/// Removes the final counts. Clang's are the only lines that name the target; without them, equal messages
/// for several targets are equal texts. Also removes nvcc's advice on turning warnings off.
#[must_use]
pub fn without_counts(text: &str) -> String {
    let is_count = |line: &&str| {
        (line.starts_with(|c: char| c.is_ascii_digit()) && COUNTS.iter().any(|words| line.contains(words)))
            || line.starts_with("Remark: The warnings can be suppressed with ")
    };
    text.lines().filter(|line| !is_count(line)).flat_map(|line| [line, "\n"]).collect()
}

/// Gives places below the sources' folder, which debug information calls `.`, and below its parent, their
/// whole path, as the other messages have it.
#[must_use]
pub fn in_folder(text: &str, folder: &Path) -> String {
    let whole = |line: &str| {
        let inside = line.strip_prefix("./").map(|rest| folder.join(rest));
        let beside = || Some(folder.parent()?.join(line.strip_prefix("../")?));
        match inside.or_else(beside) {
            Some(path) if head(line).is_some_and(|(_, place, _)| place.is_some()) => {
                path.display().to_string()
            }
            _ => line.to_owned(),
        }
    };
    text.lines().map(whole).flat_map(|line| [line, "\n".into()]).collect()
}

fn head(line: &str) -> Option<(Severity, Option<Place>, String)> {
    if let Some(found) = nvccs_head(line) {
        return Some(found);
    }
    // `path:line:col: kind: message`, or `program: kind: message`, or, for code compiled from IR, `kind:
    // path:line:col: message`.
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

/// nvcc's form: `path(line): kind #number: message`, or, from one of its programs, `ptxas fatal : message`.
fn nvccs_head(line: &str) -> Option<(Severity, Option<Place>, String)> {
    let severity = |word: &str| match word {
        "error" | "catastrophic error" | "internal error" | "fatal" => Some(Severity::Error),
        "warning" => Some(Severity::Warning),
        "remark" => Some(Severity::Remark),
        "note" => Some(Severity::Note),
        _ => None,
    };
    if let Some((before, rest)) = line.split_once("): ")
        && let Some((file, number)) = before.rsplit_once('(')
        && let Ok(number) = number.parse()
    {
        let (kind, message) = rest.split_once(": ")?;
        let kind = kind.split_once(" #").map_or(kind, |(kind, _)| kind);
        return Some((
            severity(kind)?,
            Some(Place { file: file.into(), line: number, column: 1 }),
            message.to_owned(),
        ));
    }
    let (before, message) = line.split_once(": ")?;
    let program =
        ["nvcc ", "ptxas ", "nvlink ", "cicc "].into_iter().find(|name| before.starts_with(name))?;
    let before = before[program.len()..].trim_end();
    let kind = before.rsplit_once("; ").map_or(before, |(_, kind)| kind);
    Some((severity(kind)?, None, message.to_owned()))
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

    #[test]
    fn messages_of_nvcc_have_lines_and_kinds() {
        let text = "/a/b.cu(4): error: identifier \"y\" is undefined
      x[0] = y;
             ^

/a/b (2).cu(3): warning #177-D: variable \"unused\" was declared but never referenced
      int unused = 3;
          ^

Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"

/a/m.cu:1:10: fatal error: missing.cuh: No such file or directory
    1 | #include \"missing.cuh\"
compilation terminated.
ptxas fatal   : Unresolved extern function '_Z1fv'
ptxas /tmp/x.ptx, line 20; error   : Unknown symbol 'a'
nvcc warning : incompatible redefinition for option 'std', the last value of this option was used
2 errors detected in the compilation of \"/a/b.cu\".
";
        let found = parse(&without_counts(text));
        let at = |file: &str, line, column| Some(Place { file: file.into(), line, column });
        let heads: Vec<_> = found.iter().map(|d| (d.severity, d.place.clone(), d.message.as_str())).collect();
        let option = "incompatible redefinition for option 'std', the last value of this option was used";
        assert_eq!(
            heads,
            [
                (Severity::Error, at("/a/b.cu", 4, 1), "identifier \"y\" is undefined"),
                (
                    Severity::Warning,
                    at("/a/b (2).cu", 3, 1),
                    "variable \"unused\" was declared but never referenced"
                ),
                (Severity::Error, at("/a/m.cu", 1, 10), "missing.cuh: No such file or directory"),
                (Severity::Error, None, "Unresolved extern function '_Z1fv'"),
                (Severity::Error, None, "Unknown symbol 'a'"),
                (Severity::Warning, None, option),
            ]
        );
        assert!(found[0].text.contains("x[0] = y;"));
        assert!(!found[5].text.contains("detected") && !found[1].text.contains("Remark"));
    }
}
