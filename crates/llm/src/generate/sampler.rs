//! Choosing a token from logits.

use std::collections::{HashMap, HashSet};

use super::{dry, random};
use crate::engine::{Sampling, TokenLogprob};

/// The state of one request's sampling.
#[derive(Debug)]
pub(crate) struct Sampler {
    settings: Sampling,
    /// Tokens that the penalty "don't repeat yourself" does not reach across.
    breakers: HashSet<u32>,
    logprobs: Option<usize>,
    drawn: u64,
}

/// A choice.
#[derive(Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) token: u32,
    pub(crate) logprob: Option<TokenLogprob>,
}

impl Sampler {
    pub(crate) fn new(settings: Sampling, breakers: HashSet<u32>, logprobs: Option<usize>) -> Self {
        Self { settings, breakers, logprobs, drawn: 0 }
    }

    /// Whether the most likely token is chosen, and nothing else is asked for.
    pub(crate) fn is_argmax(&self) -> bool {
        let s = &self.settings;
        s.temperature == 0.0 && self.logprobs.is_none() && s.dry.is_none() && !self.has_penalties()
    }

    /// Whether log-probabilities are asked for, which need the logits on the host.
    pub(crate) fn has_logprobs(&self) -> bool {
        self.logprobs.is_some()
    }

    /// The settings for a device that draws tokens itself, if it can.
    pub(crate) fn device_settings(&self) -> Option<backend::Sampling> {
        let s = &self.settings;
        let is_plain = s.dry.is_none() && s.typical_p >= 1.0 && !self.has_penalties();
        is_plain.then(|| backend::Sampling {
            temperature: s.temperature,
            top_p: s.top_p,
            min_p: s.min_p,
            top_k: u32::try_from(s.top_k).unwrap_or(u32::MAX),
        })
    }

    /// The number that decides about a token: the next one, or one that comes so many tokens later.
    pub(crate) fn uniform(&self, later: usize) -> f32 {
        let number = random::uniform(self.settings.seed, self.drawn + later as u64) as f32;
        // Rounding must not make it 1.
        number.min(1.0 - f32::EPSILON / 2.0)
    }

    /// A token was drawn elsewhere, with its number. The logits are those of which log-probabilities are
    /// asked for, if they are.
    pub(crate) fn take(&mut self, token: u32, logits: Option<&[f32]>) -> Choice {
        self.drawn += 1;
        Choice { token, logprob: logits.and_then(|logits| Some(self.asked(logits)?.of(token))) }
    }

    /// The log-probabilities that are asked for: those of the model, before any setting.
    fn asked(&self, logits: &[f32]) -> Option<Asked> {
        self.logprobs
            .map(|count| Asked { all: LogProbabilities::new(logits), top: most_likely(logits, count) })
    }

    /// The token that would be chosen behind `tokens`, of which the last `later` ones are guesses, without a
    /// constraint.
    pub(crate) fn guess(&self, logits: &mut [f32], tokens: &[u32], later: usize) -> u32 {
        self.penalise(logits, tokens);
        self.draw(logits, self.drawn + later as u64)
    }

    fn has_penalties(&self) -> bool {
        let s = &self.settings;
        s.repeat_penalty != 1.0 || s.presence_penalty != 0.0 || s.frequency_penalty != 0.0
    }

    /// Chooses a token. `tokens` are those of the prompt and of the result so far; `allowed` tells which
    /// tokens a constraint allows.
    pub(crate) fn choose(
        &mut self,
        logits: &mut [f32],
        tokens: &[u32],
        allowed: Option<&dyn Fn(u32) -> bool>,
    ) -> Choice {
        let asked = self.asked(logits);
        self.penalise(logits, tokens);
        if let Some(allowed) = allowed {
            for (token, logit) in logits.iter_mut().enumerate() {
                if !allowed(token as u32) {
                    *logit = f32::NEG_INFINITY;
                }
            }
        }
        let token = self.draw(logits, self.drawn);
        self.drawn += 1;
        Choice { token, logprob: asked.map(|asked| asked.of(token)) }
    }

    fn penalise(&self, logits: &mut [f32], tokens: &[u32]) {
        let s = &self.settings;
        if self.has_penalties() {
            let first = if s.repeat_last == 0 { 0 } else { tokens.len().saturating_sub(s.repeat_last) };
            let mut counts: HashMap<u32, u32> = HashMap::new();
            for token in &tokens[first..] {
                *counts.entry(*token).or_default() += 1;
            }
            for (token, count) in counts {
                let Some(logit) = logits.get_mut(token as usize) else { continue };
                *logit = if *logit > 0.0 { *logit / s.repeat_penalty } else { *logit * s.repeat_penalty };
                *logit -= s.presence_penalty + s.frequency_penalty * count as f32;
            }
        }
        if let Some(settings) = s.dry.as_ref().filter(|dry| dry.multiplier > 0.0) {
            for (token, penalty) in dry::penalties(settings, &self.breakers, tokens) {
                if let Some(logit) = logits.get_mut(token as usize) {
                    *logit -= penalty;
                }
            }
        }
    }

    fn draw(&self, logits: &[f32], number: u64) -> u32 {
        let s = &self.settings;
        if s.temperature == 0.0 {
            return argmax(logits);
        }
        let mut candidates: Vec<(u32, f32)> = logits
            .iter()
            .enumerate()
            .map(|(token, &logit)| (token as u32, logit))
            .filter(|(_, logit)| logit.is_finite())
            .collect();
        if candidates.is_empty() {
            return argmax(logits);
        }
        let count = if s.top_k == 0 { candidates.len() } else { s.top_k.min(candidates.len()) };
        if count < candidates.len() {
            candidates.select_nth_unstable_by(count - 1, order);
            candidates.truncate(count);
        }
        candidates.sort_unstable_by(order);
        let highest = f64::from(candidates[0].1);
        let temperature = f64::from(s.temperature);
        let weight = |logit: f32| ((f64::from(logit) - highest) / temperature).exp();
        let mut weighted: Vec<(u32, f64)> =
            candidates.into_iter().map(|(token, logit)| (token, weight(logit))).collect();
        if s.typical_p < 1.0 {
            typical(&mut weighted, f64::from(s.typical_p));
        }
        if s.top_p < 1.0 {
            let count = enough(&weighted, f64::from(s.top_p));
            weighted.truncate(count);
        }
        if s.min_p > 0.0 {
            let least = weighted[0].1 * f64::from(s.min_p);
            let count = weighted.iter().take_while(|(_, weight)| *weight >= least).count().max(1);
            weighted.truncate(count);
        }
        let total: f64 = weighted.iter().map(|(_, weight)| weight).sum();
        let mut left = random::uniform(s.seed, number) * total;
        for (token, weight) in &weighted {
            left -= weight;
            if left < 0.0 {
                return *token;
            }
        }
        weighted[weighted.len() - 1].0
    }
}

/// The most likely first; of equally likely tokens the one with the smaller number.
fn order(a: &(u32, f32), b: &(u32, f32)) -> std::cmp::Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

/// Whether there is a token for these logits: one is above -∞, and none is +∞ or NaN.
pub(crate) fn has_token(logits: &[f32]) -> bool {
    logits.iter().all(|logit| *logit < f32::INFINITY) && logits.iter().any(|logit| logit.is_finite())
}

/// A token that a device drew, if there was one.
pub(crate) fn known_token(token: u32) -> Option<u32> {
    (token != u32::MAX).then_some(token)
}

/// The first of the largest logits.
pub(crate) fn argmax(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (at, logit) in logits.iter().enumerate() {
        if *logit > logits[best] || logits[best].is_nan() {
            best = at;
        }
    }
    best as u32
}

/// How many of the first candidates reach this part of the sum; one at least.
fn enough(weighted: &[(u32, f64)], part: f64) -> usize {
    let wanted = weighted.iter().map(|(_, weight)| weight).sum::<f64>() * part;
    let mut sum = 0.0;
    for (at, (_, weight)) in weighted.iter().enumerate() {
        sum += weight;
        if sum >= wanted {
            return at + 1;
        }
    }
    weighted.len()
}

/// Keeps the tokens whose information is closest to the mean, up to this sum of probabilities; sorted by
/// probability again.
fn typical(weighted: &mut Vec<(u32, f64)>, part: f64) {
    let total: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    let information = |weight: f64| -(weight / total).max(f64::MIN_POSITIVE).ln();
    let mean: f64 = weighted.iter().map(|(_, weight)| weight / total * information(*weight)).sum();
    let distance = |weight: f64| (information(weight) - mean).abs();
    weighted.sort_by(|a, b| distance(a.1).total_cmp(&distance(b.1)).then(a.0.cmp(&b.0)));
    let count = enough(weighted, part);
    weighted.truncate(count);
    weighted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}

fn most_likely(logits: &[f32], count: usize) -> Vec<(u32, f32)> {
    let mut all: Vec<(u32, f32)> =
        logits.iter().enumerate().map(|(token, &logit)| (token as u32, logit)).collect();
    let count = count.min(all.len());
    if count > 0 && count < all.len() {
        all.select_nth_unstable_by(count - 1, order);
    }
    all.truncate(count);
    all.sort_unstable_by(order);
    all
}

/// Log-probabilities of the logits before any change.
struct LogProbabilities {
    logits: Vec<f32>,
    log_sum: f64,
}

impl LogProbabilities {
    fn new(logits: &[f32]) -> Self {
        let highest = f64::from(logits[argmax(logits) as usize]);
        let sum: f64 = logits.iter().map(|&logit| (f64::from(logit) - highest).exp()).sum();
        Self { logits: logits.to_vec(), log_sum: highest + sum.ln() }
    }

    fn of(&self, token: u32) -> f32 {
        (f64::from(self.logits[token as usize]) - self.log_sum) as f32
    }
}

/// The log-probabilities that a request asks for, and the most likely tokens.
struct Asked {
    all: LogProbabilities,
    top: Vec<(u32, f32)>,
}

impl Asked {
    /// Those that come with a token.
    fn of(self, token: u32) -> TokenLogprob {
        let Self { all, top } = self;
        TokenLogprob {
            logprob: all.of(token),
            top: top.into_iter().map(|(token, _)| (token, all.of(token))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(settings: Sampling) -> Sampler {
        Sampler::new(settings, HashSet::new(), None)
    }

    /// How often each token is chosen of 4000.
    fn counts(settings: &Sampling, logits: &[f32]) -> Vec<usize> {
        let mut counts = vec![0; logits.len()];
        let mut sampler = sampler(settings.clone());
        for _ in 0..4000 {
            counts[sampler.choose(&mut logits.to_vec(), &[], None).token as usize] += 1;
        }
        counts
    }

    fn plain() -> Sampling {
        Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..Sampling::default() }
    }

    fn logits() -> [f32; 5] {
        [0.25_f32, 0.5, 0.0625, 0.125, 0.0625].map(f32::ln)
    }

    #[test]
    fn tokens_come_as_often_as_their_probabilities_say() {
        let expected = [1000, 2000, 250, 500, 250];
        let close = |counts: &[usize], expected: &[usize]| {
            counts.iter().zip(expected).all(|(&got, &expected)| got.abs_diff(expected) <= expected / 5)
        };
        let got = counts(&plain(), &logits());
        assert!(close(&got, &expected), "{got:?}");
        // At half the temperature, probabilities are squared: 16, 64, 1, 4, 1 of 86.
        let got = counts(&Sampling { temperature: 0.5, ..plain() }, &logits());
        assert!(close(&got[..2], &[744, 2977]), "{got:?}");
    }

    #[test]
    fn filters_keep_what_they_say() {
        let kept = |settings: Sampling| -> Vec<usize> {
            let counts = counts(&settings, &logits());
            (0..5).filter(|&token| counts[token] > 0).collect()
        };
        assert_eq!(kept(Sampling { top_k: 2, ..plain() }), [0, 1]);
        assert_eq!(kept(Sampling { top_k: 4, ..plain() }), [0, 1, 2, 3], "of equal ones the first");
        assert_eq!(kept(Sampling { top_p: 0.7, ..plain() }), [0, 1]);
        assert_eq!(kept(Sampling { top_p: 0.0, ..plain() }), [1]);
        assert_eq!(kept(Sampling { min_p: 0.24, ..plain() }), [0, 1, 3]);
        // The mean information is 1.875 bits: that of 1/4 is closest, then that of 1/2.
        assert_eq!(kept(Sampling { typical_p: 0.2, ..plain() }), [0]);
        assert_eq!(kept(Sampling { typical_p: 0.7, ..plain() }), [0, 1]);
        assert_eq!(kept(Sampling::greedy()), [1]);
    }

    #[test]
    fn the_same_seed_chooses_the_same_tokens() {
        let drawn = |seed: u64| -> Vec<u32> {
            let mut sampler = sampler(Sampling { seed, ..plain() });
            (0..20).map(|_| sampler.choose(&mut logits(), &[], None).token).collect()
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    #[test]
    fn penalties_change_the_logits_of_tokens_that_occurred() {
        let penalised = |settings: Sampling, tokens: &[u32]| {
            let mut logits = vec![2.0, -2.0, 1.0, 0.0];
            sampler(settings).penalise(&mut logits, tokens);
            logits
        };
        let repeat = Sampling { repeat_penalty: 2.0, repeat_last: 3, ..plain() };
        assert_eq!(penalised(repeat, &[2, 0, 1, 1]), [1.0, -4.0, 1.0, 0.0], "the first is too long ago");
        let counted = Sampling { presence_penalty: 0.5, frequency_penalty: 0.25, repeat_last: 0, ..plain() };
        assert_eq!(penalised(counted, &[2, 2, 9]), [2.0, -2.0, 0.0, 0.0]);
        let dry =
            Sampling { dry: Some(crate::engine::Dry { multiplier: 1.0, ..Default::default() }), ..plain() };
        assert_eq!(penalised(dry, &[1, 2, 3, 1, 2]), [2.0, -2.0, 1.0, -1.0]);
    }

    #[test]
    fn log_probabilities_are_the_models_own() {
        let mut sampler = Sampler::new(Sampling { top_k: 1, ..plain() }, HashSet::new(), Some(2));
        let choice = sampler.choose(&mut logits(), &[], None);
        let logprob = choice.logprob.expect("asked for");
        assert_eq!((choice.token, logprob.top[0].0, logprob.top[1].0), (1, 1, 0));
        assert!(
            (logprob.logprob - 0.5_f32.ln()).abs() < 1e-6 && (logprob.top[1].1 - 0.25_f32.ln()).abs() < 1e-6
        );
    }

    #[test]
    fn there_is_a_token_only_for_logits_that_are_finite() {
        const MINUS: f32 = f32::NEG_INFINITY;
        assert!(has_token(&[MINUS, 0.0, f32::MAX]) && has_token(&[f32::MIN]));
        for logits in [[1.0, f32::NAN, 2.0], [f32::INFINITY, 0.0, 1.0], [MINUS, f32::NAN, 0.0], [MINUS; 3]] {
            assert!(!has_token(&logits), "{logits:?}");
        }
    }

    #[test]
    fn only_allowed_tokens_are_chosen() {
        let mut sampler = sampler(Sampling::greedy());
        assert_eq!(sampler.choose(&mut logits(), &[], Some(&|token| token > 1)).token, 3);
    }
}
