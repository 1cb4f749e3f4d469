//! Stop sequences.

/// Finds the one of some texts that ends first in a text that comes in pieces, and holds back what may be the
/// beginning of one.
#[derive(Debug, Default)]
pub(crate) struct StopFinder {
    stops: Vec<String>,
    /// Text that may be the beginning of a stop sequence.
    held: String,
}

/// What a piece of text leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Text that is certainly before any stop sequence.
    pub(crate) text: String,
    /// The stop sequence that came.
    pub(crate) stop: Option<String>,
}

impl StopFinder {
    /// Empty texts stop nothing.
    pub(crate) fn new(stops: &[String]) -> Self {
        Self { stops: stops.iter().filter(|stop| !stop.is_empty()).cloned().collect(), held: String::new() }
    }

    /// The next piece.
    pub(crate) fn push(&mut self, piece: &str) -> Found {
        if self.stops.is_empty() {
            return Found { text: piece.to_owned(), stop: None };
        }
        self.held.push_str(piece);
        // The one that ends first, because nothing is generated after it; of several, the one that begins
        // first.
        let found = self.stops.iter().filter_map(|stop| Some((self.held.find(stop.as_str())?, stop)));
        if let Some((at, stop)) = found.min_by_key(|(at, stop)| (at + stop.len(), *at)) {
            let stop = stop.clone();
            let mut text = std::mem::take(&mut self.held);
            text.truncate(at);
            return Found { text, stop: Some(stop) };
        }
        let begins = |at: &usize| self.stops.iter().any(|stop| stop.starts_with(&self.held[*at..]));
        let from = self.held.char_indices().map(|(at, _)| at).find(begins).unwrap_or(self.held.len());
        let rest = self.held.split_off(from);
        Found { text: std::mem::replace(&mut self.held, rest), stop: None }
    }

    /// What was held back, as nothing more comes.
    pub(crate) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finder(stops: &[&str]) -> StopFinder {
        StopFinder::new(&stops.iter().map(|stop| (*stop).to_owned()).collect::<Vec<_>>())
    }

    fn pushed(finder: &mut StopFinder, piece: &str) -> (String, Option<String>) {
        let found = finder.push(piece);
        (found.text, found.stop)
    }

    #[test]
    fn a_possible_beginning_is_held_back() {
        let mut stops = finder(&["</end>", "\n\n"]);
        assert_eq!(pushed(&mut stops, "one <"), ("one ".into(), None));
        assert_eq!(pushed(&mut stops, "/e"), (String::new(), None));
        assert_eq!(pushed(&mut stops, "x\n"), ("</ex".into(), None));
        assert_eq!(pushed(&mut stops, "\nmore"), (String::new(), Some("\n\n".into())));
        let mut stops = finder(&["abc"]);
        assert_eq!(pushed(&mut stops, "ab"), (String::new(), None));
        assert_eq!(stops.finish(), "ab");
        assert_eq!(pushed(&mut finder(&[""]), "ab"), ("ab".into(), None));
    }

    #[test]
    fn the_first_end_decides_and_then_the_first_beginning() {
        assert_eq!(pushed(&mut finder(&["b", "abc"]), "xabc"), ("xa".into(), Some("b".into())));
        assert_eq!(pushed(&mut finder(&["abc", "ab"]), "xabc"), ("x".into(), Some("ab".into())));
        assert_eq!(pushed(&mut finder(&["b", "ab"]), "xabc"), ("x".into(), Some("ab".into())));
    }

    proptest! {
        /// However a text is cut, the result is that of a search in the whole text.
        #[test]
        fn pieces_do_not_matter(text in "[abé]{0,30}", stops in proptest::collection::vec("[abé]{1,4}", 1..3), cuts in proptest::collection::vec(0..30_usize, 0..6)) {
            let stops: Vec<String> = stops;
            let places = stops.iter().filter_map(|stop| Some((text.find(stop.as_str())?, stop.len())));
            let first = places.map(|(at, len)| (at + len, at)).min();
            let expected = first.map_or(text.as_str(), |(_, at)| &text[..at]);
            let mut finder = StopFinder::new(&stops);
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|&at| at <= text.len() && text.is_char_boundary(at)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut got = String::new();
            let mut stopped = false;
            for pair in cuts.windows(2) {
                let found = finder.push(&text[pair[0]..pair[1]]);
                got.push_str(&found.text);
                if found.stop.is_some() {
                    stopped = true;
                    break;
                }
            }
            if !stopped {
                got.push_str(&finder.finish());
            }
            prop_assert_eq!(got, expected);
        }
    }
}
