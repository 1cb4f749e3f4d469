//! The caching allocator's bookkeeping of free memory. It never calls a device.
//!
//! Memory comes from the device in *segments*, which are divided into *blocks*. Each block is handed out or
//! free. Three classes separate sizes of different magnitude, so that a small long-lived block cannot keep a
//! large segment:
//!
//! | class | requests | rounded to | segment | why |
//! |---|---|---|---|---|
//! | small | up to 1 MiB | 512 B | 2 MiB | a segment is one large page of the device; 512 B keeps blocks apart by more than any cache line |
//! | medium | up to 16 MiB | 64 KiB | 32 MiB | one call to the device serves several blocks; 64 KiB is the device's middle page size |
//! | large | above | 2 MiB | its own | whole pages, never divided: free ones can always be returned to the device |
//!
//! A small or medium request takes the smallest block that is large enough, and the rest becomes a free
//! block. A free block joins its free neighbours. A large request takes the smallest segment that is large
//! enough, if it wastes at most an eighth of the request. Every step is a look-up in an ordered map: O(log
//! n).
//!
//! Free blocks are sorted by the stream that may still work on them ([`Tag`]), so that the caller chooses
//! which stream to wait for. Neighbours with different tags stay apart until [`Blocks::join_all`], because a
//! joined block would belong to no single stream.

use std::collections::{BTreeMap, BTreeSet};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The streams that may still work on a free block.
pub(crate) trait Uses: Clone + Default {
    /// The tag of these uses.
    fn tag(&self) -> Tag;
    /// Adds the uses of a block that is joined with this one.
    fn join(&mut self, other: Self);
    /// Removes these streams, which are idle.
    fn forget(&mut self, done: &[u64]);
    /// Whether `forget` would change anything.
    fn is_changed_by(&self, done: &[u64]) -> bool;
}

/// Groups free blocks by the streams that may still work on them: none, one (after any others), or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tag {
    /// No stream.
    Idle,
    /// The one with this id.
    Stream(u64),
    /// More than one.
    Several,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Small,
    Medium,
    Large,
}

/// A request's rounded size, and its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    class: Class,
    size: u64,
}

impl Request {
    /// A request for `bytes` bytes, at most `isize::MAX`.
    pub(crate) fn of(bytes: usize) -> Self {
        let bytes = (bytes as u64).max(1);
        let (class, grain) = if bytes <= MIB {
            (Class::Small, 512)
        } else if bytes <= 16 * MIB {
            (Class::Medium, 64 * KIB)
        } else {
            (Class::Large, 2 * MIB)
        };
        Self { class, size: bytes.next_multiple_of(grain) }
    }

    /// The rounded size in bytes.
    #[cfg(test)]
    pub(crate) fn size(self) -> u64 {
        self.size
    }

    /// Sizes of segments that can serve it, the best first. The others are for devices that are short of
    /// memory.
    pub(crate) fn segments(self) -> impl Iterator<Item = u64> {
        let usual = match self.class {
            Class::Small => 2 * MIB,
            Class::Medium => 32 * MIB,
            Class::Large => self.size,
        };
        let least = (self.size < usual).then_some(self.size);
        std::iter::once(usual).chain(least)
    }

    /// Whether a free block of this size can serve it.
    fn fits(self, size: u64) -> bool {
        size >= self.size && (self.class != Class::Large || size - self.size <= self.size / 8)
    }
}

/// A block that has been handed out.
#[derive(Debug)]
pub(crate) struct Taken<U> {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// Pending uses by its former owners.
    pub(crate) uses: U,
}

/// A segment that is returned to the device.
#[derive(Debug)]
pub(crate) struct Segment<U> {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// The uses to wait for first.
    pub(crate) uses: U,
}

#[derive(Debug)]
struct Block<U> {
    size: u64,
    /// The start of its segment.
    segment: u64,
    free: Option<Free<U>>,
}

#[derive(Debug)]
struct Free<U> {
    uses: U,
    /// [`Blocks::now`] at the time when its youngest part was freed.
    since: u64,
}

/// All segments of one device.
#[derive(Debug)]
pub(crate) struct Blocks<U> {
    /// Blocks by address. Together they cover every segment.
    blocks: BTreeMap<u64, Block<U>>,
    /// Class and size by address.
    segments: BTreeMap<u64, (Class, u64)>,
    /// Free blocks by size, then address.
    free: BTreeMap<(Class, Tag), BTreeSet<(u64, u64)>>,
    now: u64,
    reserved: u64,
    taken: u64,
}

impl<U> Default for Blocks<U> {
    fn default() -> Self {
        Self {
            blocks: BTreeMap::new(),
            segments: BTreeMap::new(),
            free: BTreeMap::new(),
            now: 0,
            reserved: 0,
            taken: 0,
        }
    }
}

impl<U: Uses> Blocks<U> {
    /// Bytes of all segments.
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Bytes of all blocks handed out.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// A clock that ticks with each freed block.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Takes the best block of one tag.
    pub(crate) fn take(&mut self, request: Request, tag: Tag) -> Option<Taken<U>> {
        let (_, address) = best(self.free.get(&(request.class, tag))?, request)?;
        Some(self.occupy(address, request))
    }

    /// Takes the best block of any tag.
    pub(crate) fn take_any(&mut self, request: Request) -> Option<Taken<U>> {
        let kinds = self.free.range((request.class, Tag::Idle)..=(request.class, Tag::Several));
        let (_, address) = kinds.filter_map(|(_, set)| best(set, request)).min()?;
        Some(self.occupy(address, request))
    }

    /// The uses of the best block of each tag.
    pub(crate) fn candidates(&self, request: Request) -> impl Iterator<Item = &U> {
        let kinds = self.free.range((request.class, Tag::Idle)..=(request.class, Tag::Several));
        let best = kinds.filter_map(move |(_, set)| best(set, request));
        best.filter_map(|(_, address)| Some(&self.blocks.get(&address)?.free.as_ref()?.uses))
    }

    /// The uses of all free blocks.
    pub(crate) fn free_uses(&self) -> impl Iterator<Item = &U> {
        self.blocks.values().filter_map(|block| Some(&block.free.as_ref()?.uses))
    }

    /// Adds a new segment, large enough for the request, and takes a block of it.
    pub(crate) fn grow(&mut self, address: u64, size: u64, request: Request) -> Taken<U> {
        debug_assert!(size >= request.size);
        self.segments.insert(address, (request.class, size));
        self.reserved += size;
        self.blocks.insert(address, Block { size, segment: address, free: None });
        self.insert_free(address, Free { uses: U::default(), since: self.now });
        self.occupy(address, request)
    }

    /// Frees a block. `false` if it was not handed out.
    pub(crate) fn give_back(&mut self, address: u64, uses: U) -> bool {
        let Some(block) = self.blocks.get(&address).filter(|block| block.free.is_none()) else {
            return false;
        };
        self.taken -= block.size;
        self.now += 1;
        let tag = uses.tag();
        self.insert_free(address, Free { uses, since: self.now });
        self.join(address, |other| other == tag);
        true
    }

    /// Records that the streams `done` have completed everything that was enqueued by the time `until`.
    pub(crate) fn settle(&mut self, done: &[u64], until: u64) {
        let kinds = self.free.iter().filter(|((_, tag), _)| *tag != Tag::Idle);
        let addresses: Vec<u64> =
            kinds.flat_map(|(_, set)| set.iter().map(|(_, address)| *address)).collect();
        for address in addresses {
            // Joining may have removed the block by now.
            let free = self.blocks.get(&address).and_then(|block| block.free.as_ref());
            if free.is_some_and(|free| free.since <= until && free.uses.is_changed_by(done))
                && let Some(mut free) = self.remove_free(address)
            {
                free.uses.forget(done);
                let tag = free.uses.tag();
                self.insert_free(address, free);
                self.join(address, |other| other == tag);
            }
        }
    }

    /// Joins all free neighbours, whatever their tags.
    pub(crate) fn join_all(&mut self) {
        let free = self.free.values().flat_map(|set| set.iter().map(|(_, address)| *address));
        let addresses: Vec<u64> = free.collect();
        for address in addresses {
            if self.blocks.get(&address).is_some_and(|block| block.free.is_some()) {
                self.join(address, |_| true);
            }
        }
    }

    /// Removes unused segments, the longest unused first, until at most `keep` bytes are reserved or `which`
    /// accepts no more.
    pub(crate) fn release(&mut self, keep: u64, which: impl Fn(Tag) -> bool) -> Vec<Segment<U>> {
        if self.reserved <= keep {
            return Vec::new();
        }
        let whole = self.segments.iter().filter_map(|(address, (_, size))| {
            let block = self.blocks.get(address).filter(|block| block.size == *size)?;
            let free = block.free.as_ref().filter(|free| which(free.uses.tag()))?;
            Some((free.since, *address, *size))
        });
        let mut whole: Vec<_> = whole.collect();
        whole.sort_unstable();
        let mut released = Vec::new();
        for (_, address, size) in whole {
            if self.reserved <= keep {
                break;
            }
            if let Some(free) = self.remove_free(address) {
                self.blocks.remove(&address);
                self.segments.remove(&address);
                self.reserved -= size;
                released.push(Segment { address, size, uses: free.uses });
            }
        }
        released
    }

    /// Hands out a free block, and frees the part that the request does not need.
    fn occupy(&mut self, address: u64, request: Request) -> Taken<U> {
        let free = self.remove_free(address);
        let (uses, since) = free.map_or((U::default(), self.now), |free| (free.uses, free.since));
        let mut size = request.size;
        let mut rest = None;
        if let Some(block) = self.blocks.get_mut(&address) {
            if request.class == Class::Large || block.size <= size {
                size = block.size;
            } else {
                rest = Some(Block { size: block.size - size, segment: block.segment, free: None });
                block.size = size;
            }
        }
        if let Some(rest) = rest {
            self.blocks.insert(address + size, rest);
            self.insert_free(address + size, Free { uses: uses.clone(), since });
        }
        self.taken += size;
        Taken { address, size, uses }
    }

    /// Joins a free block with its free neighbours whose tags `with` accepts.
    fn join(&mut self, address: u64, with: impl Fn(Tag) -> bool) {
        let Some(block) = self.blocks.get(&address) else { return };
        let segment = block.segment;
        let agrees = |block: &Block<U>| {
            block.segment == segment && block.free.as_ref().is_some_and(|free| with(free.uses.tag()))
        };
        let after = address + block.size;
        if self.blocks.get(&after).is_some_and(agrees) {
            self.merge(address, after);
        }
        let before = self.blocks.range(..address).next_back();
        if let Some((&before, _)) = before.filter(|(_, block)| agrees(block)) {
            self.merge(before, address);
        }
    }

    /// Merges two free neighbours.
    fn merge(&mut self, first: u64, second: u64) {
        let (Some(mut free), Some(other)) = (self.remove_free(first), self.remove_free(second)) else {
            return;
        };
        let size = self.blocks.remove(&second).map_or(0, |block| block.size);
        if let Some(block) = self.blocks.get_mut(&first) {
            block.size += size;
        }
        free.uses.join(other.uses);
        free.since = free.since.max(other.since);
        self.insert_free(first, free);
    }

    fn insert_free(&mut self, address: u64, free: Free<U>) {
        let Some(block) = self.blocks.get_mut(&address) else { return };
        let Some((class, _)) = self.segments.get(&block.segment) else { return };
        let kind = (*class, free.uses.tag());
        block.free = Some(free);
        self.free.entry(kind).or_default().insert((block.size, address));
    }

    fn remove_free(&mut self, address: u64) -> Option<Free<U>> {
        let block = self.blocks.get_mut(&address)?;
        let free = block.free.take()?;
        let (class, _) = self.segments.get(&block.segment)?;
        let kind = (*class, free.uses.tag());
        if let Some(set) = self.free.get_mut(&kind) {
            set.remove(&(block.size, address));
            if set.is_empty() {
                self.free.remove(&kind);
            }
        }
        Some(free)
    }
}

/// The smallest block that can serve a request.
fn best(set: &BTreeSet<(u64, u64)>, request: Request) -> Option<(u64, u64)> {
    set.range((request.size, 0)..).next().copied().filter(|(size, _)| request.fits(*size))
}

#[cfg(test)]
mod tests;
