//! Findings from hipify's SARIF: as annotations beside the source, as a comment, and for GitLab's widget.

use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::{Error, error};

/// The severity of a finding, as in SARIF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For information.
    None,
    /// For information.
    Note,
    /// May be wrong.
    Warning,
    /// Does not translate.
    Error,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// Its severity.
    pub level: Level,
    /// The rule.
    pub rule: String,
    /// What is wrong, and what to do.
    pub message: String,
}

/// The relevant part of SARIF.
#[derive(Deserialize)]
struct Log {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    #[serde(default)]
    results: Vec<Outcome>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    #[serde(default)]
    rule_id: String,
    #[serde(default = "warning")]
    level: Level,
    message: Message,
    #[serde(default)]
    locations: Vec<Location>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Option<Physical>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
    #[serde(default)]
    region: Region,
}

#[derive(Deserialize)]
struct Artifact {
    uri: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Region {
    #[serde(default)]
    start_line: u64,
    #[serde(default)]
    start_column: u64,
}

/// SARIF's default level.
fn warning() -> Level {
    Level::Warning
}

/// Reads the findings of a SARIF file.
///
/// # Errors
/// The file cannot be read, or is not SARIF.
pub fn read(path: &Path) -> Result<Vec<Finding>, Error> {
    parse(&error::read(path)?).map_err(|reason| Error::input(path, reason))
}

/// Reads findings from SARIF text.
///
/// # Errors
/// The text is not SARIF.
pub fn parse(text: &str) -> Result<Vec<Finding>, String> {
    let log: Log = serde_json::from_str(text).map_err(|error| format!("is not SARIF: {error}"))?;
    let findings = log.runs.into_iter().flat_map(|run| run.results).map(|result| {
        let place = result.locations.into_iter().find_map(|location| location.physical_location);
        let (path, region) =
            place.map_or_else(Default::default, |place| (place.artifact_location.uri, place.region));
        Finding {
            path: decoded(&path),
            line: region.start_line.max(1),
            column: region.start_column.max(1),
            level: result.level,
            rule: result.rule_id,
            message: result.message.text,
        }
    });
    Ok(findings.collect())
}

/// A URI reference as a path.
fn decoded(uri: &str) -> String {
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.strip_prefix("file://").unwrap_or(uri).bytes();
    while let Some(byte) = rest.next() {
        let digits: Vec<u8> =
            rest.clone().take(if byte == b'%' { 2 } else { 0 }).filter(u8::is_ascii_hexdigit).collect();
        let code = match digits.as_slice() {
            [_, _] => {
                std::str::from_utf8(&digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok())
            }
            _ => None,
        };
        match code {
            Some(code) => {
                bytes.push(code);
                rest.nth(1);
            }
            None => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The findings as lines that a system displays beside the source.
///
/// # Errors
/// There is no such system.
pub fn annotations(findings: &[Finding], system: &str) -> Result<String, Error> {
    let mut text = String::new();
    for Finding { path, line, column, level, rule, message } in findings {
        let kind = match level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note | Level::None => "notice",
        };
        let _ = match system {
            "github" => writeln!(
                text,
                "::{kind} file={},line={line},col={column},title={}::{}",
                github(path, true),
                github(rule, true),
                github(message, false)
            ),
            // Azure has no notes.
            "azure" => writeln!(
                text,
                "##vso[task.logissue type={};sourcepath={};linenumber={line};columnnumber={column};code={}]{}",
                if *level == Level::Error { "error" } else { "warning" },
                azure(path),
                azure(rule),
                azure(message)
            ),
            // GitLab reads a file instead, from `code_quality`.
            "gitlab" | "local" => writeln!(text, "{path}:{line}:{column}: {kind}: {message} [{rule}]"),
            other => return Err(Error::unknown("system", other, ["github", "azure", "gitlab", "local"])),
        };
    }
    Ok(text)
}

fn github(text: &str, property: bool) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    if property { text.replace(':', "%3A").replace(',', "%2C") } else { text }
}

fn azure(text: &str) -> String {
    text.replace('%', "%AZP25")
        .replace(';', "%3B")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
        .replace(']', "%5D")
}

/// The findings as GitLab's code quality report.
#[must_use]
pub fn code_quality(findings: &[Finding]) -> String {
    let entries: Vec<_> = findings
        .iter()
        .map(|finding| {
            let place = format!("{} {} {} {}", finding.path, finding.line, finding.rule, finding.message);
            let fingerprint: String =
                Sha256::digest(place.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            json!({
                "description": finding.message,
                "check_name": finding.rule,
                "fingerprint": fingerprint,
                "severity": match finding.level {
                    Level::Error => "major",
                    Level::Warning => "minor",
                    Level::Note | Level::None => "info",
                },
                "location": { "path": finding.path, "lines": { "begin": finding.line } },
            })
        })
        .collect();
    // Only texts and numbers: this cannot fail.
    serde_json::to_string_pretty(&entries).unwrap_or_default() + "\n"
}

/// The maximum number of rows in a comment; the report has them all.
const ROWS: usize = 50;

/// A comment on a pull request.
#[must_use]
pub fn comment(findings: &[Finding], component: &str, url: &str) -> String {
    let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    let mut text = format!("<!-- fleet hipify {component} -->\n### hipify: `{component}`\n\n");
    if errors + warnings == 0 {
        text.push_str("All CUDA sources translate.\n");
    } else {
        let _ = writeln!(text, "{errors} of CUDA's names will not translate, {warnings} may be wrong.\n");
        text.push_str("| where | what |\n|---|---|\n");
        let mut rows: Vec<_> = findings.iter().filter(|finding| finding.level >= Level::Warning).collect();
        rows.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        for finding in rows.iter().take(ROWS) {
            let _ =
                writeln!(text, "| `{}:{}` | {} |", cell(&finding.path), finding.line, cell(&finding.message));
        }
        if rows.len() > ROWS {
            let _ = writeln!(text, "\n{} more are in the report.", rows.len() - ROWS);
        }
    }
    if !url.is_empty() {
        let _ = writeln!(text, "\n[The build]({url})");
    }
    text
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SARIF: &str = r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[
{"ruleId":"unsupported","level":"error","message":{"text":"no `a`, 100%: do | without\nit"},
 "locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/a%20b.cu"},"region":{"startLine":7,"startColumn":3}}}]},
{"message":{"text":"maybe"}}]}]}"#;

    #[test]
    fn findings_are_read_from_sarif() {
        let findings = parse(SARIF).expect("SARIF");
        assert_eq!((findings[0].path.as_str(), findings[0].line, findings[0].column), ("src/a b.cu", 7, 3));
        // The standard's default level.
        assert_eq!((findings[1].level, findings[1].line), (Level::Warning, 1));
        assert!(parse("{}").expect_err("no runs").contains("is not SARIF"));
        assert_eq!(decoded("a%2"), "a%2");
        assert_eq!(decoded("file:///x%C3%A9"), "/xé");
    }

    #[test]
    fn annotations_are_escaped_as_each_system_reads_them() {
        let findings = parse(SARIF).expect("SARIF");
        let line = |system: &str| {
            annotations(&findings, system).expect("lines").lines().next().expect("one").to_owned()
        };
        assert_eq!(
            line("github"),
            "::error file=src/a b.cu,line=7,col=3,title=unsupported::no `a`, 100%25: do | without%0Ait"
        );
        assert_eq!(
            line("azure"),
            "##vso[task.logissue type=error;sourcepath=src/a b.cu;linenumber=7;columnnumber=3;code=unsupported]no `a`, 100%AZP25: do | without%0Ait"
        );
        assert!(
            annotations(&findings, "jenkins").expect_err("none").to_string().contains("no system `jenkins`")
        );
    }

    #[test]
    fn a_comment_says_what_will_not_translate() {
        let text = comment(&parse(SARIF).expect("SARIF"), "reduce", "https://ci/1");
        assert!(text.starts_with("<!-- fleet hipify reduce -->\n"), "{text}");
        assert!(text.contains("1 of CUDA's names will not translate, 1 may be wrong."), "{text}");
        assert!(text.contains("| `src/a b.cu:7` | no `a`, 100%: do \\| without it |"), "{text}");
        assert!(comment(&[], "reduce", "").contains("All CUDA sources translate."));
    }

    #[test]
    fn gitlab_gets_fingerprints_that_differ() {
        let value: serde_json::Value =
            serde_json::from_str(&code_quality(&parse(SARIF).expect("SARIF"))).expect("JSON");
        assert_eq!(value[0]["severity"], "major");
        assert_eq!(value[0]["location"]["lines"]["begin"], 7);
        assert_ne!(value[0]["fingerprint"], value[1]["fingerprint"]);
    }
}
