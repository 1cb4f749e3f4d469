//! Transfers between two ranks: messages through the ring of the ordered pair.
//!
//! All transfers of a batch progress at once; those with one peer in one direction keep their order. So two
//! ranks never wait for each other, in whatever order a program lists them. A message is a header, which
//! describes it, and its bytes.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use crate::batch::Transfer;
use crate::collective::Machine;
use crate::error::{Failure, Result};
use crate::segment::{Ranks, Reason, Segment, Waiting, set};

/// The size of a message's header: the number of bytes that follow, and their type.
const HEADER: usize = 16;

/// The messages of one direction to or from one peer.
struct Lane {
    peer: usize,
    sends: bool,
    /// The messages left; the first one is in transit.
    messages: VecDeque<Transfer>,
    /// Whether the first one's header has passed.
    is_open: bool,
    /// How many bytes of the first one have passed.
    done: usize,
}

/// # Safety
/// As [`Machine::run`].
pub(crate) unsafe fn run(machine: &Machine, transfers: &[Transfer]) -> Result {
    let segment = &*machine.segment;
    let rank = segment.rank;
    let own = |sends: bool| transfers.iter().filter(move |one| one.sends == sends && one.peer == rank);
    for (sent, received) in own(true).zip(own(false)) {
        // SAFETY: the caller's promise; they are of the same size.
        unsafe { machine.copy_own(received.address, sent.address, sent.bytes())? };
    }
    let mut lanes: Vec<Lane> = Vec::new();
    for transfer in transfers.iter().filter(|transfer| transfer.peer != rank) {
        let is_its = |lane: &&mut Lane| (lane.peer, lane.sends) == (transfer.peer, transfer.sends);
        match lanes.iter_mut().find(is_its) {
            Some(lane) => lane.messages.push_back(*transfer),
            None => lanes.push(Lane {
                peer: transfer.peer,
                sends: transfer.sends,
                messages: [*transfer].into(),
                is_open: false,
                done: 0,
            }),
        }
    }
    let mut waiting = Waiting::default();
    while !lanes.is_empty() {
        let bell = segment.bell();
        let mut moved = false;
        for lane in &mut lanes {
            // SAFETY: the caller's promise.
            moved |= unsafe { lane.go_on(machine)? };
        }
        lanes.retain(|lane| !lane.messages.is_empty());
        if !moved && !lanes.is_empty() {
            let peers: Ranks = set(lanes.iter().map(|lane| lane.peer));
            waiting.sleep(segment, bell, peers, false)?;
        }
    }
    Ok(())
}

impl Lane {
    /// Moves what can be moved now. Returns whether it moved anything.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn go_on(&mut self, machine: &Machine) -> Result<bool> {
        let segment = &*machine.segment;
        let (from, to) = if self.sends { (segment.rank, self.peer) } else { (self.peer, segment.rank) };
        let (counts, bytes) = segment.ring(from, to);
        let ring = Ring { bytes, size: segment.ring_bytes() };
        let mut moved = false;
        while let Some(message) = self.messages.front().copied() {
            let (written, read) =
                (counts.written.load(Ordering::Acquire), counts.read.load(Ordering::Acquire));
            let filled = written.wrapping_sub(read) as usize;
            if filled > ring.size {
                return Err(Failure::remote(format!("rank {} has written invalid data", self.peer)));
            }
            let room = if self.sends { ring.size - filled } else { filled };
            let place = if self.sends { written } else { read };
            let count = if self.is_open {
                let rest = message.bytes() - self.done;
                // Otherwise both sides would follow each other in ever smaller pieces. This cannot block: one
                // of the two sides always has enough.
                if room < rest.min(ring.size / 2) {
                    break;
                }
                let (start, most) = ring.piece(place);
                let count = room.min(most).min(rest);
                let device = message.address.offset(self.done);
                // SAFETY: the piece lies in the ring, and the counts say that it belongs to this side; the
                // caller vouches for the address.
                unsafe {
                    match self.sends {
                        true => machine.copies.copy(start, device, count)?,
                        false => machine.copies.copy(device, start, count)?,
                    }
                }
                self.done += count;
                count
            } else if room < HEADER {
                break;
            } else {
                let header = header(&message);
                if self.sends {
                    ring.write(place, &header);
                } else {
                    compare(segment, &message, ring.read(place), header)?;
                }
                self.is_open = true;
                HEADER
            };
            if count != 0 {
                let counter = if self.sends { &counts.written } else { &counts.read };
                counter.store(place.wrapping_add(count as u64), Ordering::Release);
                segment.ring_bell(self.peer);
                moved = true;
            }
            if self.done == message.bytes() {
                self.messages.pop_front();
                (self.is_open, self.done) = (false, 0);
            } else if count == 0 {
                break;
            }
        }
        Ok(moved)
    }
}

fn header(message: &Transfer) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&(message.count as u64).to_ne_bytes());
    header[8..].copy_from_slice(&(message.element as u64).to_ne_bytes());
    header
}

/// Checks that a message is what its receiver expects.
fn compare(segment: &Segment, message: &Transfer, sent: [u8; HEADER], expected: [u8; HEADER]) -> Result {
    if sent == expected {
        return Ok(());
    }
    segment.break_up(Reason::Disagree, segment.rank);
    let count = sent.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    Err(Failure::usage(format!(
        "rank {} sends {count} elements and rank {} receives {}, or their types differ",
        message.peer, segment.rank, message.count
    )))
}

/// The bytes of a ring, whose size is a power of two.
struct Ring {
    bytes: *mut u8,
    size: usize,
}

impl Ring {
    /// The address of a position in the byte stream, and how many bytes follow it contiguously.
    fn piece(&self, place: u64) -> (*mut u8, usize) {
        let at = place as usize & (self.size - 1);
        // SAFETY: the offset is inside the ring.
        (unsafe { self.bytes.add(at) }, self.size - at)
    }

    fn write(&self, place: u64, header: &[u8; HEADER]) {
        for (index, byte) in header.iter().enumerate() {
            // SAFETY: there is at least one byte, and the counts say that it belongs to this side.
            unsafe { self.piece(place.wrapping_add(index as u64)).0.write(*byte) };
        }
    }

    fn read(&self, place: u64) -> [u8; HEADER] {
        // SAFETY: as above.
        std::array::from_fn(|index| unsafe { self.piece(place.wrapping_add(index as u64)).0.read() })
    }
}
