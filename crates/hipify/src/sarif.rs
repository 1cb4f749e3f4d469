//! Reports as SARIF 2.1.0, which code hosts display beside the source.

use serde_json::{Value, json};

use crate::report::FileReport;
use crate::{Finding, Rule, Severity};

/// The report as SARIF.
///
/// # Errors
/// None known: all values can be serialised.
pub fn sarif(files: &[FileReport]) -> serde_json::Result<String> {
    let rules: Vec<Value> = Rule::ALL
        .iter()
        .map(|rule| {
            json!({
                "id": rule.name(),
                "shortDescription": { "text": rule.description() },
            })
        })
        .collect();
    let results: Vec<Value> =
        files.iter().flat_map(|file| file.findings.iter().map(|finding| result(file, finding))).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "ferrocm-hipify",
                    "version": env!("CARGO_PKG_VERSION"),
                    "informationUri": env!("CARGO_PKG_REPOSITORY"),
                    "rules": rules,
                },
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log).map(|text| text + "\n")
}

fn result(file: &FileReport, finding: &Finding) -> Value {
    let index = Rule::ALL.iter().position(|&rule| rule == finding.rule);
    let level = match finding.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    json!({
        "ruleId": finding.rule.name(),
        "ruleIndex": index,
        "level": level,
        "message": { "text": format!("{}: {}", finding.message, finding.advice) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(&file.path) },
                "region": {
                    "startLine": finding.line,
                    "startColumn": finding.column,
                    "endLine": finding.line,
                    "endColumn": finding.end_column,
                },
            },
        }],
    })
}

/// A path as a relative reference, or as an absolute URI if it is absolute.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b'+' => {
                uri.push(char::from(byte));
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("a b/c#.cu"), "a%20b/c%23.cu");
        assert_eq!(uri("/a/b.cu"), "file:///a/b.cu");
    }
}
