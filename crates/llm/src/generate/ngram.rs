//! Guesses by looking up what followed the last tokens when they occurred before.

/// The longest and the shortest run of tokens that is looked up.
const LONGEST: usize = 4;
const SHORTEST: usize = 2;

/// Up to `most` tokens that followed the longest end of `tokens` where it occurred last before.
pub(crate) fn guess(tokens: &[u32], most: usize) -> &[u32] {
    for length in (SHORTEST..=LONGEST.min(tokens.len().saturating_sub(1))).rev() {
        let end = &tokens[tokens.len() - length..];
        // The end itself does not count.
        let before = &tokens[..tokens.len() - 1];
        if let Some(at) = before.windows(length).rposition(|window| window == end) {
            let next = &tokens[at + length..];
            return &next[..most.min(next.len())];
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_occurrence_of_the_longest_end_counts() {
        assert_eq!(guess(&[1, 2, 3, 4, 1, 2], 3), [3, 4, 1]);
        assert_eq!(guess(&[1, 2, 3, 9, 1, 2, 4, 8, 1, 2], 2), [4, 8]);
        assert_eq!(guess(&[7, 1, 2, 5, 6, 8, 1, 2, 9, 7, 1, 2], 1), [5], "three tokens rather than two");
        assert_eq!(guess(&[3, 3, 3, 3], 8), [3], "an occurrence may overlap the end");
    }

    #[test]
    fn without_an_occurrence_there_is_no_guess() {
        for tokens in [&[][..], &[1], &[1, 1], &[1, 2, 3, 4], &[1, 2, 1]] {
            assert!(guess(tokens, 4).is_empty(), "{tokens:?}");
        }
        assert!(guess(&[1, 2, 3, 1, 2], 0).is_empty());
    }
}
