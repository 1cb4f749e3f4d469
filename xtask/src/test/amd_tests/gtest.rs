//! Parses the output of GoogleTest programs: the names of tests, and their results.

use std::collections::HashMap;
use std::hash::Hash;

/// The outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    Passed,
    Skipped,
    Failed,
    OutOfTime,
    /// The process ended during the test.
    Crashed,
}

/// The names in the output of `--gtest_list_tests`: suites, ending in a dot, each followed by its indented
/// tests.
pub(super) fn names(listing: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut suite = None;
    for line in listing.lines() {
        let text = line.split("  # ").next().unwrap_or_default().trim_end();
        match text.strip_prefix("  ") {
            Some(test) if !test.starts_with(' ') => {
                if let Some(suite) = suite {
                    names.push(format!("{suite}{test}"));
                }
            }
            _ => suite = (text.ends_with('.') && !text.contains(' ')).then_some(text),
        }
    }
    names
}

/// Whether a test is disabled by its name or its suite's name.
pub(super) fn is_disabled(name: &str) -> bool {
    name.split(['/', '.']).any(|part| part.starts_with("DISABLED_"))
}

/// The meaning of an output line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Started(&'a str),
    Ended(&'a str, Outcome),
    Other,
}

/// Parses one line. A parameter may end with a line break, so the time may be on the next line. The final
/// summary repeats names of failed tests, when no test is running.
pub(super) fn line(text: &str) -> Line<'_> {
    if let Some(name) = text.strip_prefix("[ RUN      ] ") {
        return Line::Started(name.trim_end());
    }
    let ends = [
        ("[       OK ] ", Outcome::Passed),
        ("[  SKIPPED ] ", Outcome::Skipped),
        ("[  FAILED  ] ", Outcome::Failed),
    ];
    for (start, outcome) in ends {
        let Some(rest) = text.strip_prefix(start) else { continue };
        let name = rest.split(", where ").next().unwrap_or(rest).trim_end();
        let name =
            name.rsplit_once(" (").filter(|(_, time)| time.ends_with(" ms)")).map_or(name, |(name, _)| name);
        return Line::Ended(name, outcome);
    }
    Line::Other
}

/// A sample: up to `most` items of each group by `key`, spread evenly.
pub(super) fn sample<T, K: Hash + Eq>(all: Vec<T>, most: usize, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut places = HashMap::new();
    for one in all {
        let place = *places.entry(key(&one)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(one);
    }
    let of_group = |group: Vec<T>| {
        let count = group.len();
        let taken = count.min(most);
        let chosen = move |index: usize| (0..taken).any(|number| number * count / taken == index);
        group.into_iter().enumerate().filter(move |(index, _)| chosen(*index)).map(|(_, one)| one)
    };
    groups.into_iter().flat_map(of_group).collect()
}

/// Whether a pattern with `*` for anything matches a name.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_a_listing_with_other_lines() {
        let listing = "rocBLAS info: something.\nRunning main() from x.cc\nFirst.\n  one\n  two  # GetParam() = 4\n_/gemm/7.  # TypeParam = f32\n  quick_f32/0\n";
        assert_eq!(names(listing), ["First.one", "First.two", "_/gemm/7.quick_f32/0"]);
        assert_eq!(names("  lost\n"), [""; 0]);
    }

    #[test]
    fn tests_are_switched_off_by_their_names() {
        assert!(
            is_disabled("A.DISABLED_b") && is_disabled("DISABLED_A/b.c") && is_disabled("p/DISABLED_A.b/0")
        );
        assert!(!is_disabled("A.b_DISABLED_c") && !is_disabled("A.b"));
    }

    #[test]
    fn a_run_tells_what_became_of_each() {
        assert_eq!(line("[ RUN      ] A.b/0"), Line::Started("A.b/0"));
        assert_eq!(line("[       OK ] A.b/0 (12 ms)"), Line::Ended("A.b/0", Outcome::Passed));
        let failed = "[  FAILED  ] A.b/0, where GetParam() = (1, 2) (3 ms)";
        assert_eq!(line(failed), Line::Ended("A.b/0", Outcome::Failed));
        assert_eq!(line("[  SKIPPED ] A.b (0 ms)"), Line::Ended("A.b", Outcome::Skipped));
        assert_eq!(
            line("[  FAILED  ] A.b/0, where GetParam() = { n: 4 }"),
            Line::Ended("A.b/0", Outcome::Failed)
        );
        assert_eq!(line(" (3 ms)"), Line::Other);
        assert_eq!(line("[  PASSED  ] 5 tests."), Line::Other);
    }

    #[test]
    fn samples_are_spread_over_each_group() {
        let names: Vec<String> = (0..10).flat_map(|n| [format!("a.{n}"), format!("b.{n}")]).collect();
        let suite = |name: &String| name.split('.').next().unwrap_or_default().to_owned();
        assert_eq!(sample(names.clone(), 2, suite), ["a.0", "a.5", "b.0", "b.5"]);
        assert_eq!(sample(names, 20, suite).len(), 20);
    }

    #[test]
    fn patterns_match_whole_names() {
        assert!(matches("A.*", "A.b") && matches("*b", "A.b") && matches("A.b", "A.b") && matches("*", ""));
        assert!(matches("A*c*e", "A.b.c.d.e") && matches("A*", "A"));
        assert!(!matches("A.b", "A.bc") && !matches("A*x*e", "A.b.c.d.e") && !matches("b*", "A.b"));
        assert!(!matches("a*a", "a"));
    }
}
