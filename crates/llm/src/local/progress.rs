//! How many tokens of a sequence have been computed: by the model, and by the one that guesses.

use crate::model::Cache;

/// What a model keeps of the tokens that it has computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// Keys and values by position. Those of wrong guesses are written over.
    Positions,
    /// Also states, which each token changes: only those from before wrong guesses lead back.
    States,
}

impl Memory {
    pub(super) fn of(cache: &Cache) -> Self {
        if cache.states.is_some() { Self::States } else { Self::Positions }
    }

    /// The tokens that are computed after guesses were judged, of so many that were computed with the guesses
    /// and so many that are right. The sequence may be back where it was before the guesses.
    fn behind(self, with_guesses: usize, right: usize, back_at: Option<usize>) -> usize {
        match (self, back_at) {
            (Self::States, Some(before)) => before,
            _ => with_guesses.min(right),
        }
    }
}

/// The memories of an engine's models.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memories {
    pub(super) model: Memory,
    /// That of the model that guesses, if there is one.
    pub(super) drafter: Option<Memory>,
}

/// How many of a sequence's tokens each model has computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The tokens whose keys and values are in the model's cache.
    pub(super) computed: usize,
    /// The same of the model that guesses. Without one, it means nothing.
    pub(super) drafted: usize,
}

/// How guesses were judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    /// Before the step, and before the guesses were made.
    pub(super) before: Progress,
    /// Tokens of the step that were no guesses.
    pub(super) known: usize,
    pub(super) guesses: usize,
    /// Guesses that were right, up to the first one that was not.
    pub(super) right: usize,
    /// Whether the sequence has the states from before the guesses again.
    pub(super) is_back: bool,
}

impl Progress {
    /// Both models are here.
    pub(super) fn at(position: usize) -> Self {
        Self { computed: position, drafted: position }
    }

    /// The guesses of a step were judged. The token that follows the right ones is not computed; a text that
    /// ends with a right guess has none.
    pub(super) fn settle(&mut self, memories: Memories, judged: &Judged) {
        let Judged { before, known, guesses, right, is_back } = *judged;
        let step = before.computed + known;
        let back = |at: usize| is_back.then_some(at);
        self.computed = memories.model.behind(step + guesses, step + right, back(before.computed));
        if let Some(memory) = memories.drafter {
            self.drafted = memory.behind(self.drafted, step + right, back(before.drafted));
        }
    }

    /// The number of tokens whose pages can be kept for later sequences. States are those of both models
    /// behind the same token, so where there are some and the models are at different tokens, nothing is
    /// kept.
    pub(super) fn kept(self, memories: Memories) -> Option<usize> {
        let Some(drafter) = memories.drafter else { return Some(self.computed) };
        let have_states = memories.model == Memory::States || drafter == Memory::States;
        (!have_states || self.computed == self.drafted).then_some(self.computed.min(self.drafted))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a model has computed.
    #[derive(Clone, Debug, Default)]
    struct Simulated {
        /// By position.
        keys: Vec<u32>,
        /// All tokens that the states have seen, and the same before guesses.
        states: Vec<u32>,
        saved: Vec<u32>,
    }

    impl Simulated {
        fn compute(&mut self, position: usize, tokens: &[u32]) {
            self.keys.truncate(self.keys.len().max(position));
            for (at, &token) in (position..).zip(tokens) {
                match self.keys.get_mut(at) {
                    Some(key) => *key = token,
                    None => self.keys.push(token),
                }
            }
            self.states.extend(tokens);
        }

        fn has(&self, memory: Memory, tokens: &[u32]) -> bool {
            self.keys.starts_with(tokens) && (memory == Memory::Positions || self.states == tokens)
        }
    }

    fn memory() -> impl Strategy<Value = Memory> {
        prop_oneof![Just(Memory::Positions), Just(Memory::States)]
    }

    proptest! {
        /// Whatever is guessed, what counts as computed is what the models have seen, and the text goes on.
        #[test]
        fn models_have_seen_the_tokens_that_are_computed(
            model in memory(),
            drafter in proptest::option::of(memory()),
            steps in proptest::collection::vec((0..5_usize, 0..5_usize, any::<bool>()), 1..30),
        ) {
            let memories = Memories { model, drafter };
            let have_states = model == Memory::States || drafter == Some(Memory::States);
            let (mut large, mut small) = (Simulated::default(), Simulated::default());
            let mut tokens: Vec<u32> = (0..7).collect();
            large.compute(0, &tokens[..6]);
            small.compute(0, &tokens[..6]);
            let mut progress = Progress::at(6);
            for (wanted, right, ends) in steps {
                let before = progress;
                let known = tokens.len() - before.computed;
                prop_assert!(known >= 1);
                let count = if known == 1 { wanted } else { 0 };
                let next = tokens.len() as u32;
                let right = right.min(count);
                // A guess that is wrong is a token that never follows.
                let guesses: Vec<u32> =
                    (0..count).map(|at| if at < right { next + at as u32 } else { 1000 + at as u32 }).collect();
                let is_saved = have_states && count > 0;
                if is_saved {
                    large.saved.clone_from(&large.states);
                    small.saved.clone_from(&small.states);
                }
                if drafter.is_some() && count > 0 {
                    let text = [&tokens[..], &guesses[..count - 1]].concat();
                    small.compute(progress.drafted, &text[progress.drafted..]);
                    progress.drafted = text.len();
                }
                large.compute(before.computed, &[&tokens[before.computed..], &guesses[..]].concat());
                let ends_with_a_guess = ends && right > 0;
                tokens.extend((0..right + usize::from(!ends_with_a_guess)).map(|at| next + at as u32));
                let is_back = is_saved && right < count;
                if is_back {
                    large.states.clone_from(&large.saved);
                    small.states.clone_from(&small.saved);
                }
                progress.settle(memories, &Judged { before, known, guesses: count, right, is_back });
                prop_assert!(large.has(model, &tokens[..progress.computed]), "{progress:?}");
                prop_assert!(progress.computed < tokens.len() || ends_with_a_guess);
                // Guesses of each step are right or lead back, so no step is made for nothing twice.
                prop_assert!(progress.computed > before.computed || is_back);
                if let Some(memory) = drafter {
                    prop_assert!(small.has(memory, &tokens[..progress.drafted]), "{progress:?}");
                }
                match progress.kept(memories) {
                    Some(kept) => {
                        prop_assert!(large.has(Memory::Positions, &tokens[..kept]));
                        let states = [Some((model, &large)), drafter.map(|memory| (memory, &small))];
                        for (memory, model) in states.into_iter().flatten() {
                            prop_assert!(model.has(Memory::Positions, &tokens[..kept]));
                            prop_assert!(!have_states || model.has(memory, &tokens[..kept]));
                        }
                    }
                    None => prop_assert!(have_states && progress.computed != progress.drafted),
                }
                if ends_with_a_guess {
                    return Ok(());
                }
            }
        }
    }
}
