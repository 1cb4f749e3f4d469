//! The page of a run: one file, without scripts and without anything from elsewhere.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use fleet::junit::{Case, Outcome};

use crate::results::Run;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#1b1b1b;\
background:#fff}table{border-collapse:collapse;margin:.5em 0 1.5em}td,th{border:1px solid #ccc;padding:.2em .6em;\
text-align:left;vertical-align:top}td.n{text-align:right}.failed{color:#b00020;font-weight:600}.skipped{color:#775500}\
pre{background:#f4f4f4;padding:.6em;overflow-x:auto;white-space:pre-wrap}summary{cursor:pointer}\
@media(prefers-color-scheme:dark){body{background:#161616;color:#e4e4e4}pre{background:#262626}td,th{border-color:#444}\
.failed{color:#ff7b8a}.skipped{color:#e0b050}}";

/// The page, with rows about the run.
pub(crate) fn page(run: &Run, about: &[(String, String)]) -> String {
    let counts = run.suite().counts();
    let passed = counts.tests - counts.failed - counts.skipped;
    let title = format!("{passed} passed, {} failed, {} skipped", counts.failed, counts.skipped);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n<table>\n"
    );
    for (name, text) in about {
        let _ = writeln!(html, "<tr><th>{}</th><td>{}</td></tr>", escaped(name), escaped(text));
    }
    html.push_str("</table>\n");

    let failed: Vec<&Case> =
        run.cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed(_))).collect();
    if !failed.is_empty() {
        html.push_str("<h2>Failed</h2>\n");
    }
    for case in failed {
        let Outcome::Failed(how) = &case.outcome else { continue };
        let _ = writeln!(
            html,
            "<details open><summary class=\"failed\">{} {}</summary><pre>{}</pre>",
            escaped(&case.class),
            escaped(&case.name),
            escaped(how)
        );
        for (what, text) in [("standard output", &case.output), ("standard error", &case.error)] {
            if !text.trim().is_empty() {
                let _ = writeln!(html, "<p>{what}</p><pre>{}</pre>", escaped(text));
            }
        }
        html.push_str("</details>\n");
    }

    let reasons = run.reasons();
    if !reasons.is_empty() {
        html.push_str(
            "<h2>Skipped, in whole or in part</h2>\n<table><tr><th>tests</th><th>reason</th></tr>\n",
        );
        for (reason, count) in reasons {
            let _ = writeln!(html, "<tr><td class=\"n\">{count}</td><td>{}</td></tr>", escaped(&reason));
        }
        html.push_str("</table>\n");
    }

    let mut programs = BTreeMap::<&str, Vec<&Case>>::new();
    run.cases.iter().for_each(|case| programs.entry(&case.class).or_default().push(case));
    html.push_str("<h2>All tests</h2>\n");
    for (program, mut cases) in programs {
        let seconds: f64 = cases.iter().map(|case| case.time).sum();
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        let _ = writeln!(
            html,
            "<details><summary>{}: {} tests, {seconds:.1} s</summary>\n<table><tr><th>test</th><th>seconds</th><th>outcome</th></tr>",
            escaped(program),
            cases.len()
        );
        for case in cases {
            let outcome = match &case.outcome {
                Outcome::Passed => "passed".to_owned(),
                Outcome::Failed(_) => "<span class=\"failed\">failed</span>".to_owned(),
                Outcome::Skipped(why) => format!("<span class=\"skipped\">skipped: {}</span>", escaped(why)),
            };
            let _ = writeln!(
                html,
                "<tr><td>{}</td><td class=\"n\">{:.2}</td><td>{outcome}</td></tr>",
                escaped(&case.name),
                case.time
            );
        }
        html.push_str("</table></details>\n");
    }
    html.push_str("</body></html>\n");
    html
}

fn escaped(text: &str) -> impl Display {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, outcome: Outcome) -> Case {
        Case {
            class: "p::device".to_owned(),
            name: name.to_owned(),
            time: 1.25,
            outcome,
            output: "said <this>".to_owned(),
            error: String::new(),
        }
    }

    #[test]
    fn the_page_has_every_test_and_shows_failures_first() {
        let run = Run {
            name: "GPU".to_owned(),
            cases: vec![
                case("a", Outcome::Passed),
                case("b", Outcome::Failed("1 < 2 & 3".to_owned())),
                case("c", Outcome::Skipped("no C".to_owned())),
            ],
        };
        let html = page(&run, &[("device".to_owned(), "a <GPU>".to_owned())]);
        for part in [
            "<h1>1 passed, 1 failed, 1 skipped</h1>",
            "<td>a &lt;GPU&gt;</td>",
            "<pre>1 &lt; 2 &amp; 3</pre>",
            "<pre>said &lt;this&gt;</pre>",
            "<td class=\"n\">1</td><td>no C</td>",
            "<td>a</td><td class=\"n\">1.25</td><td>passed</td>",
            "3 tests, 3.8 s",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(html.find("Failed").unwrap() < html.find("All tests").unwrap());
    }
}
