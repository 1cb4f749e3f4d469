//! Results of tests as JUnit: read from other programs, judged, and written.
//!
//! The output follows Jenkins's schema (`junit-10.xsd`).

use std::fmt::Write;
use std::path::Path;

use roxmltree::{Document, Node};

use crate::component::Exception;
use crate::{Error, error};

/// Times are capped at this many seconds, so that sums stay finite.
const LONGEST: f64 = 1e9;

/// The outcome of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It failed, and how.
    Failed(String),
    /// It did not run, and why.
    Skipped(String),
}

/// A test.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its class.
    pub class: String,
    /// Its name.
    pub name: String,
    /// Seconds.
    pub time: f64,
    /// Its outcome.
    pub outcome: Outcome,
    /// What it wrote to standard output.
    pub output: String,
    /// What it wrote to standard error.
    pub error: String,
}

/// The tests of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Suite {
    /// Its name: component, target and device.
    pub name: String,
    /// Its tests.
    pub cases: Vec<Case>,
}

/// How many tests there are of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All.
    pub tests: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that did not run, or failed as expected.
    pub skipped: usize,
}

impl Suite {
    /// How many tests there are of each kind.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let count =
            |wanted: fn(&Outcome) -> bool| self.cases.iter().filter(|case| wanted(&case.outcome)).count();
        Counts {
            tests: self.cases.len(),
            failed: count(|outcome| matches!(outcome, Outcome::Failed(_))),
            skipped: count(|outcome| matches!(outcome, Outcome::Skipped(_))),
        }
    }

    /// Reads a JUnit file from cargo-nextest or [`to_xml`](Self::to_xml). All suites in it are merged.
    ///
    /// # Errors
    /// The file cannot be read, is not XML, or is not JUnit.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(&error::read(path)?).map_err(|reason| Error::input(path, reason))
    }

    /// Reads the text of a JUnit file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let document = Document::parse(text).map_err(|error| format!("is not XML: {error}"))?;
        let root = document.root_element();
        if !matches!(root.tag_name().name(), "testsuites" | "testsuite") {
            return Err(format!(
                "is not JUnit: it begins with <{}>, not <testsuites>",
                root.tag_name().name()
            ));
        }
        let name = root.attribute("name").unwrap_or_default().to_owned();
        let cases = root
            .descendants()
            .filter(|node| node.has_tag_name("testcase"))
            .map(case)
            .collect::<Result<_, _>>()?;
        Ok(Self { name, cases })
    }

    /// The suite as a JUnit file.
    #[must_use]
    pub fn to_xml(&self) -> String {
        let Counts { tests, failed, skipped } = self.counts();
        // In Rust, an empty sum is -0, which the schema does not allow.
        let time = self.cases.iter().fold(0.0, |sum, case| sum + case.time);
        let name = attribute(&self.name);
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            xml,
            "<testsuites name=\"{name}\" tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" time=\"{time:.3}\">"
        );
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"{time:.3}\">"
        );
        for case in &self.cases {
            let _ = writeln!(
                xml,
                "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\">",
                attribute(&case.class),
                attribute(&case.name),
                case.time
            );
            match &case.outcome {
                Outcome::Passed => {}
                Outcome::Failed(how) => {
                    let first = how.lines().next().unwrap_or_default();
                    let _ = writeln!(
                        xml,
                        "      <failure message=\"{}\">{}</failure>",
                        attribute(first),
                        content(how)
                    );
                }
                Outcome::Skipped(why) => {
                    let _ = writeln!(xml, "      <skipped message=\"{}\"/>", attribute(why));
                }
            }
            for (tag, text) in [("system-out", &case.output), ("system-err", &case.error)] {
                if !text.is_empty() {
                    let _ = writeln!(xml, "      <{tag}>{}</{tag}>", content(text));
                }
            }
            xml.push_str("    </testcase>\n");
        }
        xml.push_str("  </testsuite>\n</testsuites>\n");
        xml
    }

    /// Applies the component's rows to the tests. Expected failures pass; an expected failure that does not
    /// occur fails.
    pub fn judge(&mut self, expected: &[Exception], target: &str, device: &str) {
        for case in &mut self.cases {
            let Some(row) = expected.iter().find(|row| row.holds(&case.name, target, device)) else {
                continue;
            };
            case.outcome = match &case.outcome {
                Outcome::Failed(how) => {
                    let first = how.lines().next().unwrap_or_default();
                    Outcome::Skipped(format!("expected failure: {} ({first})", row.reason))
                }
                Outcome::Passed => Outcome::Failed(format!(
                    "passes now: remove the row\n[[expected-failure]] `{}` ({}) says that it fails on {target}, {device}",
                    row.test, row.reason
                )),
                Outcome::Skipped(why) => Outcome::Skipped(why.clone()),
            };
        }
    }
}

impl Suite {
    /// Adds a failure for each row that applies to a device of a target and matches none of the tests, which
    /// must be all tests.
    pub fn refuse_rows_without_tests(&mut self, rows: &[Exception], target: &str, device: &str) {
        let fits = |row: &Exception| self.cases.iter().any(|case| row.holds(&case.name, target, device));
        let stale: Vec<_> = rows.iter().filter(|row| row.about(target, device) && !fits(row)).collect();
        self.cases.extend(stale.into_iter().map(|row| Case {
            class: "rows of .ferrocm/fleet.toml".to_owned(),
            name: row.test.clone(),
            time: 0.0,
            outcome: Outcome::Failed(format!(
                "no test has this name: remove the row\nits reason is: {}",
                row.reason
            )),
            output: String::new(),
            error: String::new(),
        }));
    }
}

fn case(node: Node<'_, '_>) -> Result<Case, String> {
    let name = node.attribute("name").ok_or("a <testcase> has no name")?.to_owned();
    let time = node.attribute("time").unwrap_or("0");
    let time = match time.parse() {
        Ok(seconds) if (0.0..=LONGEST).contains(&seconds) => seconds,
        _ => return Err(format!("test `{name}` took `{time}`, which is not a number of seconds")),
    };
    let child = |names: &[&str]| node.children().find(|child| names.contains(&child.tag_name().name()));
    let text = |node: Node<'_, '_>| node.text().unwrap_or_default().to_owned();
    let told = |node: Node<'_, '_>| {
        let message = node.attribute("message").unwrap_or_default();
        let body = text(node);
        match (message.is_empty(), body.trim().is_empty()) {
            (_, true) => message.to_owned(),
            (true, _) => body,
            _ if body.starts_with(message) => body,
            _ => format!("{message}\n{body}"),
        }
    };
    let outcome = if let Some(failure) = child(&["failure", "error"]) {
        Outcome::Failed(told(failure))
    } else if let Some(skipped) = child(&["skipped"]) {
        Outcome::Skipped(told(skipped))
    } else {
        Outcome::Passed
    };
    Ok(Case {
        class: node.attribute("classname").unwrap_or_default().to_owned(),
        name,
        time,
        outcome,
        output: child(&["system-out"]).map(text).unwrap_or_default(),
        error: child(&["system-err"]).map(text).unwrap_or_default(),
    })
}

/// Text without characters that XML does not allow.
fn legal(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().map(|c| match c {
        '\t' | '\n' | '\r' => c,
        '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        _ => c,
    })
}

fn content(text: &str) -> String {
    legal(text).fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Otherwise, readers turn it into a line break.
            '\r' => out.push_str("&#13;"),
            c => out.push(c),
        }
        out
    })
}

fn attribute(text: &str) -> String {
    content(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, outcome: Outcome) -> Case {
        Case {
            class: "tests".into(),
            name: name.into(),
            time: 0.25,
            outcome,
            output: String::new(),
            error: String::new(),
        }
    }

    #[test]
    fn what_is_written_is_read_the_same() {
        let hostile = "a < b && \"c\"\u{1b}[0m\r\n]]> é";
        let mut suite = Suite {
            name: "reduce \"gfx942\" <vgpu>".into(),
            cases: vec![
                case("passes", Outcome::Passed),
                case("fails<int>", Outcome::Failed(format!("first\n{hostile}"))),
                case("is skipped", Outcome::Skipped("no\nGPU".into())),
            ],
        };
        suite.cases[1].output = hostile.into();
        let mut expected = suite.clone();
        expected.cases[1].output = hostile.replace('\u{1b}', "\u{fffd}");
        expected.cases[1].outcome = Outcome::Failed(format!("first\n{}", expected.cases[1].output));
        assert_eq!(Suite::parse(&suite.to_xml()).expect("JUnit"), expected);
        assert_eq!(suite.counts(), Counts { tests: 3, failed: 1, skipped: 1 });
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_carried(name in "[^\\p{C}]+", told in ".*", output in "(?s).*") {
            let how = told.clone();
            let mut single = case(&name, Outcome::Failed(how));
            single.output = output.clone();
            let xml = Suite { name: told, cases: vec![single] }.to_xml();
            let read = Suite::parse(&xml).expect("JUnit");
            let shown: String = legal(&output).collect();
            proptest::prop_assert!(read.cases[0].output == shown, "{:?} {:?}", read.cases[0].output, shown);
            proptest::prop_assert_eq!(&read.cases[0].name, &name);
            proptest::prop_assert_eq!(read.counts().failed, 1);
        }
    }

    #[test]
    fn a_suite_without_tests_took_no_time() {
        let xml = Suite { name: "x".into(), cases: Vec::new() }.to_xml();
        assert!(
            xml.contains("tests=\"0\"") && xml.contains("time=\"0.000\"") && !xml.contains("\"-0"),
            "{xml}"
        );
    }

    #[test]
    fn files_of_nextest_are_read() {
        // As in its documentation.
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="2" failures="1" errors="0" uuid="45c50042" timestamp="2022-06-06T16:32:18.770+00:00" time="0.079">
    <testsuite name="nextest-tests::basic" tests="2" disabled="0" errors="0" failures="1">
        <testcase name="test_cwd" classname="nextest-tests::basic" timestamp="2022-06-06T16:32:18.770+00:00" time="0.004">
        </testcase>
        <testcase name="test_failure_assert" classname="nextest-tests::basic" timestamp="2022-06-06T16:32:18.770+00:00" time="0.004">
            <failure message="thread 'x' panicked at 'assertion failed'" type="test failure">thread 'x' panicked at 'assertion failed', basic.rs:16:5
stack</failure>
            <system-out>running 1 test</system-out>
            <system-err>note: run</system-err>
        </testcase>
    </testsuite>
</testsuites>"#;
        let suite = Suite::parse(text).expect("JUnit");
        assert_eq!(suite.counts(), Counts { tests: 2, failed: 1, skipped: 0 });
        assert!(
            matches!(&suite.cases[1].outcome, Outcome::Failed(how) if how.ends_with("basic.rs:16:5\nstack"))
        );
        assert_eq!(suite.cases[1].error, "note: run");
    }

    #[test]
    fn what_is_no_junit_is_refused() {
        for (text, part) in [
            ("<a", "is not XML"),
            ("<html/>", "begins with <html>"),
            ("<testsuites><testcase/></testsuites>", "has no name"),
            ("<testsuites><testcase name='a' time='x'/></testsuites>", "took `x`"),
            ("<testsuites><testcase name='a' time='nan'/></testsuites>", "took `nan`"),
            ("<testsuites><testcase name='a' time='-1'/></testsuites>", "took `-1`"),
            ("<testsuites><testcase name='a' time='1e300'/></testsuites>", "took `1e300`"),
        ] {
            let told = Suite::parse(text).expect_err(text);
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn expected_failures_are_none_and_unexpected_passes_are() {
        let row = |test: &str| Exception {
            test: test.into(),
            targets: vec!["gfx942".into()],
            devices: Vec::new(),
            reason: "issue 17".into(),
        };
        let mut suite = Suite {
            name: "x".into(),
            cases: vec![
                case("a", Outcome::Failed("exit code 1".into())),
                case("b", Outcome::Passed),
                case("c", Outcome::Failed("exit code 2".into())),
            ],
        };
        suite.judge(&[row("a"), row("b")], "gfx942", "vgpu:gfx942");
        assert_eq!(
            suite.cases[0].outcome,
            Outcome::Skipped("expected failure: issue 17 (exit code 1)".into())
        );
        assert!(
            matches!(&suite.cases[1].outcome, Outcome::Failed(how) if how.starts_with("passes now: remove the row"))
        );
        assert_eq!(suite.cases[2].outcome, Outcome::Failed("exit code 2".into()));
        let rows = [row("a"), row("gone_*")];
        suite.refuse_rows_without_tests(&rows, "gfx90a", "vgpu:gfx90a");
        assert_eq!(suite.cases.len(), 3, "a row for another target says nothing here");
        suite.refuse_rows_without_tests(&rows, "gfx942", "vgpu:gfx942");
        assert_eq!(suite.cases.len(), 4);
        assert!(
            matches!(&suite.cases[3].outcome, Outcome::Failed(how) if how.starts_with("no test has this name"))
        );
        let mut other = Suite { name: "x".into(), cases: vec![case("b", Outcome::Passed)] };
        other.judge(&[row("b")], "gfx90a", "vgpu:gfx90a");
        assert_eq!(other.counts().failed, 0);
    }
}
