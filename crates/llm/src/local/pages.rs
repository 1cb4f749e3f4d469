//! Pages of the cache of keys and values, and which of them hold the beginnings of earlier texts.
//!
//! Models with states need those behind a beginning, too, to go on from it. They are kept for some pages, in
//! places of their own, and only beginnings that end with such a page are taken over.

use std::collections::HashMap;

use backend::{KvLayout, PagePool};

/// A page with keys and values of known tokens, after those of its parent.
#[derive(Debug)]
struct Kept {
    parent: u64,
    tokens: Box<[u32]>,
    page: u32,
    children: usize,
    last_used: u64,
    /// Where the states behind this page are kept.
    state: Option<u32>,
}

/// All pages.
///
/// Full pages of finished and running sequences are kept for later ones that begin with the same tokens, and
/// given up, the longest unused first, when a sequence needs room.
#[derive(Debug)]
pub(super) struct Pages {
    pool: PagePool,
    layout: KvLayout,
    kept: HashMap<u64, Kept>,
    /// By parent and tokens.
    index: HashMap<(u64, Box<[u32]>), u64>,
    next: u64,
    clock: u64,
    /// Free places of states, in models that have some.
    places: Option<Vec<u32>>,
}

/// States that are to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StateCopy {
    /// From this place, or else zeros.
    pub(super) from: Option<u32>,
    pub(super) to: u32,
}

/// The pages of one sequence.
#[derive(Debug, Default)]
pub(super) struct SequencePages {
    /// In the order of positions.
    pub(super) pages: Vec<u32>,
    /// Where its states are, in models that have some.
    pub(super) state: Option<u32>,
    /// Where those before the tokens are that are being judged.
    saved: Option<u32>,
    /// The kept pages that the first ones are, or equal.
    chain: Vec<u64>,
}

/// The parent of first pages.
const ROOT: u64 = 0;

impl Pages {
    /// With so many places of states, in models that have some: more than there are sequences at a time.
    pub(super) fn new(layout: KvLayout, places: Option<usize>) -> Self {
        Self {
            pool: PagePool::new(layout.pages),
            layout,
            kept: HashMap::new(),
            index: HashMap::new(),
            next: ROOT + 1,
            clock: 0,
            places: places.map(|places| (0..places as u32).rev().collect()),
        }
    }

    pub(super) fn layout(&self) -> KvLayout {
        self.layout
    }

    /// Positions of pages in use, also of those that are only kept.
    pub(super) fn used_positions(&self) -> usize {
        (self.layout.pages - self.pool.available()) * self.layout.page
    }

    /// Whether so many positions would find room, if no sequence took more.
    pub(super) fn has_room(&self, positions: usize) -> bool {
        let only_kept = self.kept.values().filter(|kept| self.pool.users(kept.page) == 1).count();
        positions.div_ceil(self.layout.page) <= self.pool.available() + only_kept
    }

    /// Pages with the first of these tokens, from earlier sequences, and what its states begin with. At least
    /// one token is left over.
    pub(super) fn reuse(&mut self, tokens: &[u32]) -> (SequencePages, Option<StateCopy>) {
        let mut found = SequencePages::default();
        self.clock += 1;
        for page in tokens[..tokens.len().saturating_sub(1)].chunks_exact(self.layout.page) {
            let key = (found.chain.last().copied().unwrap_or(ROOT), Box::from(page));
            let Some(id) = self.index.get(&key).copied() else { break };
            let Some(kept) = self.kept.get_mut(&id).filter(|kept| self.pool.share(kept.page)) else { break };
            kept.last_used = self.clock;
            found.pages.push(kept.page);
            found.chain.push(id);
        }
        if self.places.is_none() {
            return (found, None);
        }
        let state_of = |id: &u64| self.kept.get(id).and_then(|kept| kept.state);
        let usable = found.chain.iter().rposition(|id| state_of(id).is_some()).map_or(0, |at| at + 1);
        for page in found.pages.drain(usable..) {
            self.pool.release(page);
        }
        found.chain.truncate(usable);
        let from = found.chain.last().copied();
        found.state = self.take_place(from);
        let from = from.and_then(|id| self.kept.get(&id)).and_then(|kept| kept.state);
        let copy = found.state.map(|to| StateCopy { from, to });
        (found, copy)
    }

    /// A place of states: a free one, or that which has been kept unused for the longest time, but not that
    /// of the page `but`.
    fn take_place(&mut self, but: Option<u64>) -> Option<u32> {
        if let Some(place) = self.places.as_mut()?.pop() {
            return Some(place);
        }
        let oldest = self
            .kept
            .iter_mut()
            .filter(|(id, kept)| kept.state.is_some() && Some(**id) != but)
            .min_by_key(|(id, kept)| (kept.last_used, **id));
        oldest.and_then(|(_, kept)| kept.state.take())
    }

    fn free_place(&mut self, place: Option<u32>) {
        if let Some(places) = &mut self.places {
            places.extend(place);
        }
    }

    /// A sequence's states are to be copied, so that it can go back to them.
    pub(super) fn save(&mut self, sequence: &mut SequencePages) -> Option<StateCopy> {
        let from = sequence.state?;
        sequence.saved = self.take_place(None);
        sequence.saved.map(|to| StateCopy { from: Some(from), to })
    }

    /// The sequence goes on with its states, or with those that were saved if it goes back; whether it did.
    pub(super) fn settle(&mut self, sequence: &mut SequencePages, goes_back: bool) -> bool {
        let Some(saved) = sequence.saved.take() else { return false };
        let other = if goes_back { sequence.state.replace(saved) } else { Some(saved) };
        self.free_place(other);
        goes_back
    }

    /// Takes pages until there are enough for these positions; whether there are. Those that it took are kept
    /// otherwise, too.
    pub(super) fn grow(&mut self, sequence: &mut SequencePages, positions: usize) -> bool {
        while sequence.pages.len() * self.layout.page < positions {
            match self.pool.take() {
                Some(page) => sequence.pages.push(page),
                None if self.give_up_one() => {}
                None => return false,
            }
        }
        true
    }

    /// Gives up the kept page that has not been used for the longest time, and is the end of its text.
    fn give_up_one(&mut self) -> bool {
        let free = |kept: &&Kept| kept.children == 0 && self.pool.users(kept.page) == 1;
        let oldest =
            self.kept.iter().filter(|(_, kept)| free(kept)).min_by_key(|(id, kept)| (kept.last_used, **id));
        let Some(id) = oldest.map(|(id, _)| *id) else { return false };
        self.forget(id);
        true
    }

    fn forget(&mut self, id: u64) {
        let Some(kept) = self.kept.remove(&id) else { return };
        self.pool.release(kept.page);
        self.free_place(kept.state);
        if let Some(parent) = self.kept.get_mut(&kept.parent) {
            parent.children -= 1;
        }
        self.index.remove(&(kept.parent, kept.tokens));
    }

    /// Keeps the full pages of a sequence whose first `computed` tokens are in the cache. Its states are to
    /// be copied if they are those behind a full page.
    pub(super) fn keep(
        &mut self,
        sequence: &mut SequencePages,
        tokens: &[u32],
        computed: usize,
    ) -> Option<StateCopy> {
        let size = self.layout.page;
        self.clock += 1;
        while (sequence.chain.len() + 1) * size <= computed {
            let at = sequence.chain.len();
            let parent = sequence.chain.last().copied().unwrap_or(ROOT);
            let page_tokens: Box<[u32]> = Box::from(&tokens[at * size..][..size]);
            let key = (parent, page_tokens);
            if let Some(id) = self.index.get(&key) {
                // Another sequence computed the same at the same time: one page is enough.
                let kept = self.kept.get_mut(id)?;
                kept.last_used = self.clock;
                if self.pool.share(kept.page) {
                    self.pool.release(std::mem::replace(&mut sequence.pages[at], kept.page));
                }
                sequence.chain.push(*id);
                continue;
            }
            let page = sequence.pages[at];
            if !self.pool.share(page) {
                return None;
            }
            if let Some(parent) = self.kept.get_mut(&parent) {
                parent.children += 1;
            }
            let id = self.next;
            self.next += 1;
            let (tokens, last_used) = (key.1.clone(), self.clock);
            let kept = Kept { parent, tokens, page, children: 0, last_used, state: None };
            self.kept.insert(id, kept);
            self.index.insert(key, id);
            sequence.chain.push(id);
        }
        let (from, id) = (sequence.state?, *sequence.chain.last()?);
        let is_behind = computed == sequence.chain.len() * size;
        if !is_behind || self.kept.get(&id).is_none_or(|kept| kept.state.is_some()) {
            return None;
        }
        let to = self.take_place(None)?;
        self.kept.get_mut(&id)?.state = Some(to);
        Some(StateCopy { from: Some(from), to })
    }

    /// The sequence ends. Its kept pages stay.
    pub(super) fn release(&mut self, sequence: SequencePages) {
        for page in sequence.pages {
            self.pool.release(page);
        }
        self.free_place(sequence.state);
        self.free_place(sequence.saved);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pages(count: usize) -> Pages {
        Pages::new(KvLayout::paged(count * 16, 16), None)
    }

    /// A sequence that computes all of its tokens.
    fn run(pages: &mut Pages, tokens: &[u32]) -> (SequencePages, usize) {
        let (mut sequence, _) = pages.reuse(tokens);
        let reused = sequence.pages.len() * 16;
        assert!(pages.grow(&mut sequence, tokens.len()), "room");
        pages.keep(&mut sequence, tokens, tokens.len());
        (sequence, reused)
    }

    #[test]
    fn a_text_that_begins_as_an_earlier_one_shares_its_pages() {
        let mut pages = pages(8);
        let tokens: Vec<u32> = (0..40).collect();
        let (first, reused) = run(&mut pages, &tokens);
        assert_eq!((first.pages.len(), reused), (3, 0));
        let (second, reused) = run(&mut pages, &tokens);
        assert_eq!((reused, &second.pages[..2]), (32, &first.pages[..2]));
        assert_ne!(second.pages[2], first.pages[2]);
        let other: Vec<u32> = (0..20).chain(90..110).collect();
        let (third, reused) = run(&mut pages, &other);
        assert_eq!((reused, third.pages[0]), (16, first.pages[0]));
        // The last token is always computed anew.
        let (fourth, reused) = run(&mut pages, &tokens[..32]);
        assert_eq!(reused, 16);
        for sequence in [first, second, third, fourth] {
            pages.release(sequence);
        }
        assert_eq!(pages.used_positions(), 3 * 16, "0..16, 16..32, and 16..20 with 90..102");
        let (mut whole, _) = pages.reuse(&tokens);
        assert!(pages.grow(&mut whole, 8 * 16), "a sequence alone has all pages");
        pages.release(whole);
    }

    #[test]
    fn kept_pages_give_way_the_oldest_first() {
        let mut pages = pages(4);
        let texts = [0, 1, 2].map(|text| vec![text; 20]);
        for text in &texts {
            let (sequence, _) = run(&mut pages, text);
            pages.release(sequence);
        }
        assert!(pages.has_room(64));
        let (sequence, reused) = run(&mut pages, &texts[1]);
        assert_eq!(reused, 16);
        pages.release(sequence);
        // Two pages are needed and one is free.
        let (sequence, _) = run(&mut pages, &[9; 30]);
        assert_eq!(pages.reuse(&texts[0]).0.pages.len(), 0, "the oldest gave way");
        let (found, _) = pages.reuse(&texts[1]);
        assert_eq!(found.pages.len(), 1);
        pages.release(found);
        assert!(!pages.has_room(48) && pages.has_room(32));
        let mut more = SequencePages::default();
        assert!(!pages.grow(&mut more, 48), "pages in use do not give way");
        pages.release(more);
        pages.release(sequence);
    }

    #[test]
    fn only_beginnings_whose_states_are_kept_are_taken_over() {
        let mut pages = Pages::new(KvLayout::paged(8 * 16, 16), Some(3));
        let tokens: Vec<u32> = (0..60).collect();
        let (mut first, begin) = pages.reuse(&tokens);
        assert_eq!(begin, Some(StateCopy { from: None, to: 0 }));
        assert!(pages.grow(&mut first, 60), "room");
        // The states behind the second page are kept, and those of the third are not, as it was not full.
        assert_eq!(pages.keep(&mut first, &tokens, 32), Some(StateCopy { from: Some(0), to: 1 }));
        assert_eq!(pages.keep(&mut first, &tokens, 59), None);
        let (second, begin) = pages.reuse(&tokens);
        assert_eq!((second.pages.len(), begin), (2, Some(StateCopy { from: Some(1), to: 2 })));
        // No place is free, so the kept one makes way.
        let (third, begin) = pages.reuse(&[9; 20]);
        assert_eq!((third.pages.len(), begin), (0, Some(StateCopy { from: None, to: 1 })));
        pages.release(second);
        let (fourth, begin) = pages.reuse(&tokens);
        assert_eq!((fourth.pages.len(), begin), (0, Some(StateCopy { from: None, to: 2 })));
        for sequence in [first, third, fourth] {
            pages.release(sequence);
        }
        assert_eq!(pages.places.as_ref().map(Vec::len), Some(3));
    }

    #[test]
    fn a_sequence_goes_back_to_the_states_that_it_saved() {
        let mut pages = Pages::new(KvLayout::paged(8 * 16, 16), Some(2));
        let (mut sequence, _) = pages.reuse(&[1, 2, 3]);
        assert_eq!(pages.save(&mut sequence), Some(StateCopy { from: Some(0), to: 1 }));
        assert!(!pages.settle(&mut sequence, false) && sequence.state == Some(0));
        assert_eq!(pages.save(&mut sequence), Some(StateCopy { from: Some(0), to: 1 }));
        assert!(pages.settle(&mut sequence, true) && sequence.state == Some(1));
        assert!(!pages.settle(&mut sequence, true), "nothing is saved");
        assert_eq!(pages.save(&mut sequence), Some(StateCopy { from: Some(1), to: 0 }));
        // It ends before its tokens are judged.
        pages.release(sequence);
        assert_eq!(pages.places.as_ref().map(Vec::len), Some(2));
        // Without states there is nothing to save.
        let mut others = self::pages(8);
        let (mut sequence, _) = others.reuse(&[1, 2, 3]);
        assert_eq!(others.save(&mut sequence), None);
        assert!(!others.settle(&mut sequence, true));
    }

    proptest! {
        /// Whatever happens, a page belongs to one text only, and all are free in the end.
        #[test]
        fn no_page_is_lost_or_shared_by_different_texts(steps in proptest::collection::vec((0..4_u32, 1..60_usize, any::<bool>()), 1..40)) {
            let mut pages = pages(12);
            let mut running: Vec<(Vec<u32>, SequencePages)> = Vec::new();
            for (text, length, ends) in steps {
                if ends && !running.is_empty() {
                    let (_, sequence) = running.remove(text as usize % running.len());
                    pages.release(sequence);
                    continue;
                }
                let tokens: Vec<u32> = (0..length as u32).map(|at| if at < 20 { at } else { at * 10 + text }).collect();
                let (mut sequence, _) = pages.reuse(&tokens);
                if !pages.grow(&mut sequence, tokens.len()) {
                    pages.release(sequence);
                    continue;
                }
                pages.keep(&mut sequence, &tokens, tokens.len());
                running.push((tokens, sequence));
                let mut owners: HashMap<u32, Vec<u32>> = HashMap::new();
                for (tokens, sequence) in &running {
                    for (at, page) in sequence.pages.iter().enumerate() {
                        let prefix = tokens[..tokens.len().min((at + 1) * 16)].to_vec();
                        if let Some(known) = owners.insert(*page, prefix.clone()) {
                            prop_assert_eq!(known, prefix);
                        }
                    }
                }
            }
            for (_, sequence) in running {
                pages.release(sequence);
            }
            prop_assert!(pages.has_room(12 * 16));
        }
    }
}
