//! Why functions have no safe wrapper.
//!
//! A row must say what to do instead, or that a wrapper is planned. The generator fails for a row that
//! explains no function any more, because they are wrapped or removed, and for a function without a row.

mod hip;
mod hsa;
mod others;

/// Functions that have no wrapper for one reason.
pub(super) struct Topic {
    pub(super) library: &'static str,
    pub(super) name: &'static str,
    pub(super) reason: &'static str,
    /// Names; a `*` in a name matches any text.
    pub(super) patterns: &'static [&'static str],
}

/// All topics. In a library, the first match counts, so exceptions come before the rule.
pub(super) static TOPICS: &[&[Topic]] = &[hsa::TOPICS, hip::TOPICS, others::TOPICS];

/// The first topic of the library that matches a function, and its pattern.
pub(super) fn find(
    library: &str,
    name: &str,
    topics: &'static [&'static [Topic]],
) -> Option<(&'static Topic, &'static str)> {
    let topics = topics.iter().copied().flatten().filter(|topic| topic.library == library);
    topics
        .flat_map(|topic| topic.patterns.iter().map(move |pattern| (topic, *pattern)))
        .find(|(_, pattern)| matches(pattern, name))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_has_one_star() {
        assert!(matches("hipInit", "hipInit") && !matches("hipInit", "hipInitialise"));
        assert!(matches("hipTexRef*", "hipTexRefGetArray") && !matches("hipTexRef*", "hipTexObjectCreate"));
        assert!(matches("hsa_signal_*_acquire", "hsa_signal_load_acquire"));
        assert!(!matches("hsa_signal_*_acquire", "hsa_signal_load_scacquire"));
        assert!(!matches("hsa_signal_*_acquire", "hsa_signal_acquire"));
        for pattern in TOPICS.iter().copied().flatten().flat_map(|topic| topic.patterns) {
            assert!(pattern.matches('*').count() <= 1, "{pattern}");
        }
    }

    #[test]
    fn topics_have_names_of_their_own_and_fit_into_a_table() {
        let mut names = std::collections::BTreeSet::new();
        for topic in TOPICS.iter().copied().flatten() {
            assert!(names.insert((topic.library, topic.name)), "{} {}", topic.library, topic.name);
            assert!(!topic.name.contains('|') && !topic.reason.contains(['|', '\n']), "{}", topic.name);
        }
    }

    #[test]
    fn the_first_pattern_counts() {
        let (topic, pattern) = find("HIP", "hipGraphicsMapResources", TOPICS).unwrap();
        assert_eq!((topic.name, pattern), ("OpenGL", "hipGraphics*"));
        assert!(find("HSA", "hipGraphicsMapResources", TOPICS).is_none());
    }
}
