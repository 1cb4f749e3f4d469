//! Properties that hold for any bytes from outside, for tests and fuzz targets.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hip_sys::Table;
use rccl_sys::ncclUniqueId;

use crate::batch::{Address, Collective, Kind, Scale, Transfer, Work};
use crate::collective::Machine;
use crate::device::Copies;
use crate::id::Id;
use crate::number::{Reduction, Type};
use crate::segment::{Reason, Segment};

/// Any bytes as a unique id: they are refused, or the id has exactly these bytes.
pub(crate) fn id(bytes: &[u8]) {
    let mut raw = ncclUniqueId::default();
    raw.internal.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte as _);
    if let Ok(id) = Id::of(&raw) {
        assert_eq!(id.raw().internal, raw.internal);
        if let Ok(name) = id.socket() {
            assert!(
                name.len() < 100 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            );
        }
        assert_ne!(id.part(&[1]).raw().internal, raw.internal);
    }
}

/// The most elements of an operation, and the size of its memory.
const COUNT: usize = 5000;

/// A rank, and host memory for its operations.
struct Rank {
    segment: Arc<Segment>,
    machine: Machine,
    memory: Vec<u64>,
}

thread_local! {
    static RANK: RefCell<Option<Rank>> = const { RefCell::new(None) };
}

/// Sets the flag when dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Any bytes in the memory that ranks share, as another rank might write them: the operations of this rank
/// end, with or without an error.
///
/// The input is cut into pieces: the number of a part, an offset in it, a length, and that many bytes.
pub(crate) fn segment(hip: &'static Table, mut bytes: &[u8]) {
    RANK.with_borrow_mut(|rank| {
        let Rank { segment, machine, memory } = rank.get_or_insert_with(|| {
            let segment = Arc::new(Segment::alone_of_two().unwrap_or_else(|failure| panic!("{failure:?}")));
            let copies = Copies::new(hip).unwrap_or_else(|failure| panic!("{failure:?}"));
            let machine =
                Machine::new(hip, segment.clone(), copies).unwrap_or_else(|failure| panic!("{failure:?}"));
            Rank { segment, machine, memory: vec![0; 2 * COUNT] }
        });
        segment.mend();
        let parts = segment.parts();
        let (mut kind, mut count) = (0, 1);
        while let Some((&[part, low, high, length], rest)) = bytes.split_first_chunk() {
            let (written, rest) = rest.split_at(usize::from(length % 64).min(rest.len()));
            let offset = usize::from(u16::from_le_bytes([low, high]));
            segment.scribble(parts[usize::from(part) % parts.len()] + offset, written);
            (kind, count, bytes) = (part / 8, offset % COUNT, rest);
        }
        let (send, receive) = memory.split_at_mut(COUNT);
        let (send, receive) = (Address(send.as_ptr() as usize), Address(receive.as_mut_ptr() as usize));
        let kinds = [
            Kind::AllReduce,
            Kind::Broadcast,
            Kind::AllGather,
            Kind::Gather,
            Kind::AllToAll,
            Kind::ReduceScatter,
        ];
        let kind = kinds[usize::from(kind) % kinds.len()];
        // With the elements of two ranks.
        let collective = Collective {
            kind,
            send,
            receive,
            count: count / 2,
            element: Type::U64,
            reduction: Reduction::Sum,
            scale: Scale::None,
            root: 1 - usize::from(kind == Kind::Gather),
            bias: Address(0),
        };
        let transfer = |sends, address| Transfer { sends, peer: 1, address, count, element: Type::U64 };
        let works = [
            Work { collectives: vec![collective], ..Work::default() },
            Work { transfers: vec![transfer(false, receive), transfer(true, send)], ..Work::default() },
        ];
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Does what a program would do that waits in vain.
            scope.spawn(|| {
                std::thread::park_timeout(Duration::from_millis(3));
                while !is_over.load(Ordering::Acquire) {
                    segment.break_up(Reason::Aborted, 0);
                    std::thread::park_timeout(Duration::from_millis(1));
                }
            });
            // A panic must end the other thread too.
            let _over = Over(&is_over);
            for work in works {
                // SAFETY: both addresses point to memory with room for the elements of all ranks, which
                // nothing else uses.
                let _ = unsafe { machine.run(&work) };
            }
            let _ = machine.exchange(Kind::Split, [0, 0]);
        });
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn operations_end_whatever_another_rank_writes(
            pieces in prop::collection::vec(
                (any::<u8>(), 0..600_u16, prop::collection::vec(prop_oneof![Just(0), Just(1), Just(255), any::<u8>()], 0..64)),
                0..12,
            ),
        ) {
            let device = hip::Device::open("vgpu:gfx1100?cus=1&memory=64MiB").unwrap();
            let mut input = Vec::new();
            for (part, offset, bytes) in pieces {
                let [low, high] = offset.to_le_bytes();
                input.extend([part, low, high, bytes.len() as u8]);
                input.extend(bytes);
            }
            super::segment(device.table(), &input);
        }
    }
}
