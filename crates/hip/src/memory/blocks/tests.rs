use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

impl Uses for BTreeSet<u64> {
    fn tag(&self) -> Tag {
        match self.iter().collect::<Vec<_>>()[..] {
            [] => Tag::Idle,
            [id] => Tag::Stream(*id),
            _ => Tag::Several,
        }
    }

    fn join(&mut self, other: Self) {
        self.extend(other);
    }

    fn forget(&mut self, done: &[u64]) {
        self.retain(|id| !done.contains(id));
    }

    fn is_changed_by(&self, done: &[u64]) -> bool {
        done.iter().any(|id| self.contains(id))
    }
}

type Plain = Blocks<BTreeSet<u64>>;

fn uses(ids: &[u64]) -> BTreeSet<u64> {
    ids.iter().copied().collect()
}

/// The invariants between any two calls.
fn check(blocks: &Plain) {
    let mut covered = BTreeMap::new();
    let (mut taken, mut free) = (0, BTreeSet::new());
    for (&address, block) in &blocks.blocks {
        let end = covered.entry(block.segment).or_insert(block.segment);
        assert_eq!(*end, address, "blocks of a segment follow one another");
        *end = address + block.size;
        assert!(block.size > 0);
        match &block.free {
            Some(state) => {
                let (class, _) = blocks.segments[&block.segment];
                free.insert((class, state.uses.tag(), block.size, address));
                assert!(state.since <= blocks.now);
            }
            None => taken += block.size,
        }
    }
    let ends: BTreeMap<u64, u64> = blocks.segments.iter().map(|(a, (_, size))| (*a, a + size)).collect();
    assert_eq!(covered, ends, "blocks cover their segments");
    let listed = blocks
        .free
        .iter()
        .flat_map(|((class, tag), set)| set.iter().map(|(size, address)| (*class, *tag, *size, *address)));
    assert_eq!(listed.collect::<BTreeSet<_>>(), free, "the lists hold what is free");
    assert_eq!(blocks.taken, taken);
    assert_eq!(blocks.reserved, blocks.segments.values().map(|(_, size)| size).sum::<u64>());
}

/// A device whose segments follow one another at rising addresses, without gaps.
#[derive(Default)]
struct Fixture {
    blocks: Plain,
    end: u64,
}

impl Fixture {
    fn new() -> Self {
        Self { end: 1 << 30, ..Self::default() }
    }

    fn grow(&mut self, request: Request) -> Taken<BTreeSet<u64>> {
        let (address, size) = (self.end, request.segments().next().unwrap());
        self.end += size;
        self.blocks.grow(address, size, request)
    }

    fn take(&mut self, bytes: usize) -> Taken<BTreeSet<u64>> {
        let request = Request::of(bytes);
        match self.blocks.take_any(request) {
            Some(taken) => taken,
            None => self.grow(request),
        }
    }
}

#[test]
fn sizes_are_rounded_by_class() {
    for (bytes, class, size) in [
        (1, Class::Small, 512),
        (512, Class::Small, 512),
        (513, Class::Small, 1024),
        (1 << 20, Class::Small, 1 << 20),
        ((1 << 20) + 1, Class::Medium, (1 << 20) + (64 << 10)),
        (16 << 20, Class::Medium, 16 << 20),
        ((16 << 20) + 1, Class::Large, 18 << 20),
        (usize::MAX / 2, Class::Large, 1 << 63),
    ] {
        assert_eq!(Request::of(bytes), Request { class, size }, "{bytes}");
    }
    assert_eq!(Request::of(1000).segments().collect::<Vec<_>>(), [2 << 20, 1024]);
    assert_eq!(Request::of(40 << 20).segments().collect::<Vec<_>>(), [40 << 20]);
}

#[test]
fn what_is_given_back_is_handed_out_again() {
    let mut f = Fixture::new();
    let first = f.take(1000);
    let second = f.take(1000);
    assert_eq!(second.address, first.address + 1024);
    assert!(f.blocks.give_back(first.address, uses(&[7])));
    assert!(!f.blocks.give_back(first.address, uses(&[7])), "it is free already");
    assert!(!f.blocks.give_back(first.address + 1, uses(&[])), "nothing starts there");
    assert!(f.blocks.take(Request::of(1000), Tag::Stream(8)).is_none());
    let again = f.blocks.take(Request::of(900), Tag::Stream(7)).unwrap();
    assert_eq!((again.address, again.uses), (first.address, uses(&[7])));
    check(&f.blocks);
}

#[test]
fn neighbours_of_different_streams_stay_apart_until_they_must_join() {
    let mut f = Fixture::new();
    let half = 1 << 20;
    let (low, high) = (f.take(half), f.take(half));
    f.blocks.give_back(low.address, uses(&[1]));
    f.blocks.give_back(high.address, uses(&[2]));
    assert_eq!(f.blocks.take(Request::of(half), Tag::Stream(2)).unwrap().address, high.address);
    f.blocks.give_back(high.address, uses(&[2]));
    assert!(f.blocks.release(0, |tag| tag == Tag::Several).is_empty());
    f.blocks.join_all();
    check(&f.blocks);
    let released = f.blocks.release(0, |_| true);
    assert_eq!((released[0].address, &released[0].uses), (low.address, &uses(&[1, 2])));
    assert_eq!((f.blocks.reserved(), f.blocks.taken()), (0, 0));
    check(&f.blocks);
}

#[test]
fn streams_that_are_done_leave_idle_blocks_of_their_time() {
    let mut f = Fixture::new();
    let taken: Vec<_> = (0..4).map(|_| f.take(1 << 19)).collect();
    f.blocks.give_back(taken[0].address, uses(&[1]));
    f.blocks.give_back(taken[2].address, uses(&[1, 2]));
    let until = f.blocks.now();
    f.blocks.give_back(taken[3].address, uses(&[1]));
    f.blocks.settle(&[1], until);
    check(&f.blocks);
    let tag = |address| f.blocks.blocks[&address].free.as_ref().unwrap().uses.tag();
    assert_eq!(tag(taken[0].address), Tag::Idle);
    assert_eq!(tag(taken[2].address), Tag::Stream(2));
    assert_eq!(tag(taken[3].address), Tag::Stream(1), "it was given back later");
}

#[test]
fn large_blocks_waste_little_and_are_not_divided() {
    let mut f = Fixture::new();
    let large = f.take(80 << 20);
    f.blocks.give_back(large.address, uses(&[]));
    assert!(f.blocks.take_any(Request::of(70 << 20)).is_none());
    let taken = f.blocks.take_any(Request::of(72 << 20)).unwrap();
    assert_eq!((taken.address, taken.size), (large.address, 80 << 20));
    assert_eq!(f.blocks.taken(), 80 << 20);
    check(&f.blocks);
}

#[test]
fn the_longest_unused_segments_go_first() {
    let mut f = Fixture::new();
    let taken: Vec<_> = (0..3).map(|_| f.take(20 << 20)).collect();
    for index in [1, 2, 0] {
        f.blocks.give_back(taken[index].address, uses(&[]));
    }
    let released = f.blocks.release(30 << 20, |_| true);
    assert_eq!(released.iter().map(|s| s.address).collect::<Vec<_>>(), [taken[1].address, taken[2].address]);
}

#[derive(Clone, Debug)]
enum Step {
    Take { bytes: usize, stream: u64 },
    GiveBack { index: usize, streams: Vec<u64> },
    Settle { stream: u64 },
    JoinAll,
    Release { keep: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![1_usize..5000, 1_usize..(2 << 20), 1_usize..(40 << 20)];
    let step = prop_oneof![
        6 => (bytes, 1_u64..4).prop_map(|(bytes, stream)| Step::Take { bytes, stream }),
        6 => (any::<usize>(), prop::collection::vec(1_u64..4, 0..3))
            .prop_map(|(index, streams)| Step::GiveBack { index, streams }),
        1 => (1_u64..4).prop_map(|stream| Step::Settle { stream }),
        1 => Just(Step::JoinAll),
        1 => (0_u64..(100 << 20)).prop_map(|keep| Step::Release { keep }),
    ];
    prop::collection::vec(step, 1..if cfg!(miri) { 30 } else { 200 })
}

/// Removes a range from the used ones.
fn cut(used: &mut Vec<(u64, u64, u64)>, start: u64, end: u64) {
    let before = used.iter().map(|(from, to, stream)| (*from, *to.min(&start), *stream));
    let after = used.iter().map(|(from, to, stream)| (*from.max(&end), *to, *stream));
    *used = before.chain(after).filter(|(from, to, _)| from < to).collect();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 8 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Compares with a list of the owners of bytes: no two owners share a byte, and every former use is
    /// passed on until its stream is known to be done.
    #[test]
    fn no_byte_has_two_owners_and_no_use_is_lost(steps in steps()) {
        let mut f = Fixture::new();
        let mut owned: Vec<(u64, u64)> = Vec::new();
        // Former uses: start, end, stream.
        let mut used: Vec<(u64, u64, u64)> = Vec::new();
        for step in steps {
            match step {
                Step::Take { bytes, stream } => {
                    let request = Request::of(bytes);
                    let own = f.blocks.take(request, Tag::Stream(stream));
                    if let Some(own) = &own {
                        prop_assert_eq!(&own.uses, &uses(&[stream]));
                    }
                    let taken = own.or_else(|| f.blocks.take(request, Tag::Idle));
                    let taken = taken.unwrap_or_else(|| f.take(bytes));
                    prop_assert!(taken.size >= bytes as u64 && taken.size <= request.size() + request.size() / 8);
                    let end = taken.address + taken.size;
                    prop_assert!(owned.iter().all(|(start, stop)| end <= *start || *stop <= taken.address));
                    for (start, stop, stream) in &used {
                        let apart = end <= *start || *stop <= taken.address;
                        prop_assert!(apart || taken.uses.contains(stream));
                    }
                    owned.push((taken.address, end));
                }
                Step::GiveBack { index, streams } if !owned.is_empty() => {
                    let (start, end) = owned.swap_remove(index % owned.len());
                    prop_assert!(f.blocks.give_back(start, uses(&streams)));
                    // An owner lists all its streams, because it has waited for the others.
                    cut(&mut used, start, end);
                    used.extend(streams.iter().map(|stream| (start, end, *stream)));
                }
                Step::GiveBack { .. } => {}
                Step::Settle { stream } => {
                    f.blocks.settle(&[stream], f.blocks.now());
                    used.retain(|(_, _, user)| *user != stream);
                }
                Step::JoinAll => f.blocks.join_all(),
                Step::Release { keep } => {
                    for segment in f.blocks.release(keep, |_| true) {
                        let end = segment.address + segment.size;
                        prop_assert!(owned.iter().all(|(start, stop)| end <= *start || *stop <= segment.address));
                        for (start, stop, stream) in &used {
                            let apart = end <= *start || *stop <= segment.address;
                            prop_assert!(apart || segment.uses.contains(stream));
                        }
                        cut(&mut used, segment.address, end);
                    }
                }
            }
            check(&f.blocks);
        }
        // Once everything is free, everything can be released.
        for (start, _) in owned {
            prop_assert!(f.blocks.give_back(start, uses(&[])));
        }
        f.blocks.join_all();
        f.blocks.release(0, |_| true);
        check(&f.blocks);
        prop_assert_eq!((f.blocks.reserved(), f.blocks.taken(), f.blocks.blocks.len()), (0, 0, 0));
    }
}
