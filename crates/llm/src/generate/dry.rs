//! The penalty "don't repeat yourself".

use std::collections::{HashMap, HashSet};

use crate::engine::Dry;

/// What each token would lose that continues a repetition at the end of `tokens`. `breakers` are tokens that
/// repetitions do not reach across.
pub(crate) fn penalties(dry: &Dry, breakers: &HashSet<u32>, tokens: &[u32]) -> HashMap<u32, f32> {
    let first = if dry.last == 0 { 0 } else { tokens.len().saturating_sub(dry.last) };
    let tokens = &tokens[first..];
    let mut longest: HashMap<u32, usize> = HashMap::new();
    let Some(last) = tokens.last().filter(|last| !breakers.contains(last)) else { return HashMap::new() };
    // An earlier place of the last token, and the token that followed it.
    for at in 0..tokens.len() - 1 {
        if tokens[at] != *last || breakers.contains(&tokens[at + 1]) {
            continue;
        }
        let same = |back: &usize| {
            let (a, b) = (tokens[at - back], tokens[tokens.len() - 1 - back]);
            a == b && !breakers.contains(&a)
        };
        let length = (0..=at).take_while(same).count();
        let known = longest.entry(tokens[at + 1]).or_default();
        *known = length.max(*known);
    }
    let allowed = dry.allowed.max(1);
    let penalty = |length: usize| dry.multiplier * dry.base.powi((length - allowed).min(100) as i32);
    longest
        .into_iter()
        .filter(|(_, length)| *length >= allowed)
        .map(|(token, length)| (token, penalty(length)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tokens: &[u32], breakers: &[u32]) -> Vec<(u32, f32)> {
        let dry = Dry { multiplier: 1.0, base: 2.0, allowed: 2, last: 0, breakers: Vec::new() };
        let mut found: Vec<_> =
            penalties(&dry, &breakers.iter().copied().collect(), tokens).into_iter().collect();
        found.sort_by_key(|(token, _)| *token);
        found
    }

    #[test]
    fn longer_repetitions_cost_more() {
        assert_eq!(found(&[1, 2, 9, 1, 2], &[]), [(9, 1.0)]);
        assert_eq!(found(&[5, 1, 2, 9, 5, 1, 2], &[]), [(9, 2.0)]);
        assert_eq!(found(&[5, 2, 9, 6, 2], &[]), [], "one token is allowed");
        assert_eq!(found(&[1, 2, 8, 1, 2, 9, 1, 2], &[]), [(8, 1.0), (9, 1.0)]);
        assert_eq!(found(&[3, 3, 3], &[]), [(3, 1.0)]);
        assert_eq!(found(&[], &[]), []);
    }

    #[test]
    fn nothing_reaches_across_a_breaker() {
        assert_eq!(found(&[5, 1, 2, 9, 5, 1, 2], &[1]), []);
        assert_eq!(found(&[1, 2, 9, 1, 2], &[9]), []);
        assert_eq!(found(&[1, 2, 9, 1, 2], &[2]), []);
    }
}
