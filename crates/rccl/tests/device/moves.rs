//! Operations that move elements without changing them.

use hip::DeviceBuffer;
use rccl::{Communicator, Error, Group, Op, Options};

use crate::common::{LONG, Rank, devices, rank, ranks};

/// Elements that each encode sender, receiver and position.
fn marked(from: usize, to: usize, count: usize) -> Vec<u32> {
    (0..count).map(|index| (from << 28 | to << 24 | index) as u32).collect()
}

fn empty(ranks: &[Rank], count: usize) -> Vec<DeviceBuffer<u32>> {
    ranks.iter().map(|rank| rank.buffer(&vec![u32::MAX; count])).collect()
}

/// Less than a piece, none, one, and several pieces.
const COUNTS: [usize; 4] = [0, 1, 333, 70_003];

#[test]
fn all_gather_puts_ranks_in_their_order() {
    let Some(ranks) = ranks(4) else { return };
    for count in COUNTS {
        let sent: Vec<_> =
            ranks.iter().enumerate().map(|(at, rank)| rank.buffer(&marked(at, 0, count))).collect();
        let mut received = empty(&ranks, 4 * count);
        let mut group = Group::new();
        for ((rank, send), receive) in ranks.iter().zip(&sent).zip(&mut received) {
            group.all_gather(&rank.comm, &rank.stream, send, receive).unwrap();
        }
        group.launch().unwrap();
        let expected: Vec<u32> = (0..4).flat_map(|from| marked(from, 0, count)).collect();
        for (rank, buffer) in ranks.iter().zip(&received) {
            assert!(rank.read(buffer) == expected, "{count}");
        }
    }
}

#[test]
fn all_to_all_transposes() {
    let Some(ranks) = ranks(4) else { return };
    for count in COUNTS {
        let parts = |from: usize| -> Vec<u32> { (0..4).flat_map(|to| marked(from, to, count)).collect() };
        let sent: Vec<_> = ranks.iter().enumerate().map(|(at, rank)| rank.buffer(&parts(at))).collect();
        let mut received = empty(&ranks, 4 * count);
        let mut group = Group::new();
        for ((rank, send), receive) in ranks.iter().zip(&sent).zip(&mut received) {
            group.all_to_all(&rank.comm, &rank.stream, send, receive).unwrap();
        }
        group.launch().unwrap();
        for (to, (rank, buffer)) in ranks.iter().zip(&received).enumerate() {
            let expected: Vec<u32> = (0..4).flat_map(|from| marked(from, to, count)).collect();
            assert!(rank.read(buffer) == expected, "{count}");
        }
    }
}

#[test]
fn all_to_all_v_takes_parts_of_any_size() {
    let Some(ranks) = ranks(3) else { return };
    let size = |from: usize, to: usize| (from * 5 + to * 3) % 7 * 1000 + from;
    let sizes: Vec<[Vec<usize>; 2]> = (0..3)
        .map(|rank| {
            [(0..3).map(|to| size(rank, to)).collect(), (0..3).map(|from| size(from, rank)).collect()]
        })
        .collect();
    let sent: Vec<_> = ranks
        .iter()
        .enumerate()
        .map(|(from, rank)| {
            let parts: Vec<u32> = (0..3).flat_map(|to| marked(from, to, size(from, to))).collect();
            rank.buffer(&parts)
        })
        .collect();
    let mut received: Vec<_> = ranks
        .iter()
        .zip(&sizes)
        .map(|(rank, [_, from])| rank.buffer(&vec![0_u32; from.iter().sum()]))
        .collect();
    let mut group = Group::new();
    for (((rank, send), receive), [to, from]) in ranks.iter().zip(&sent).zip(&mut received).zip(&sizes) {
        group.all_to_all_v(&rank.comm, &rank.stream, send, to, receive, from).unwrap();
    }
    group.launch().unwrap();
    for (to, (rank, buffer)) in ranks.iter().zip(&received).enumerate() {
        let expected: Vec<u32> = (0..3).flat_map(|from| marked(from, to, size(from, to))).collect();
        assert!(rank.read(buffer) == expected, "{to}");
    }
}

#[test]
fn every_root_broadcasts_gathers_and_scatters() {
    let Some(ranks) = ranks(3) else { return };
    for (root, count) in [(0, 1), (1, 70_003), (2, 333), (1, 0)] {
        let mut buffers: Vec<_> =
            ranks.iter().enumerate().map(|(at, rank)| rank.buffer(&marked(at, 1, count))).collect();
        let mut group = Group::new();
        for (rank, buffer) in ranks.iter().zip(&mut buffers) {
            group.broadcast(&rank.comm, &rank.stream, buffer, root).unwrap();
        }
        group.launch().unwrap();
        for (rank, buffer) in ranks.iter().zip(&buffers) {
            assert!(rank.read(buffer) == marked(root, 1, count), "{root} {count}");
        }

        let all: Vec<u32> = (0..3).flat_map(|from| marked(from, 2, count)).collect();
        let own: Vec<_> =
            ranks.iter().enumerate().map(|(at, rank)| rank.buffer(&marked(at, 2, count))).collect();
        let mut whole = ranks[root].buffer(&vec![0_u32; 3 * count]);
        let mut place = Some(whole.as_mut_slice());
        let mut group = Group::new();
        for (at, (rank, own)) in ranks.iter().zip(&own).enumerate() {
            let receive = if at == root { place.take() } else { None };
            group.gather(&rank.comm, &rank.stream, own, receive, root).unwrap();
        }
        group.launch().unwrap();
        assert!(ranks[root].read(&whole) == all, "{root} {count}");

        let mut parts = empty(&ranks, count);
        let mut group = Group::new();
        for (at, (rank, part)) in ranks.iter().zip(&mut parts).enumerate() {
            let send = (at == root).then(|| whole.as_slice());
            group.scatter(&rank.comm, &rank.stream, send, part, root).unwrap();
        }
        group.launch().unwrap();
        for (at, (rank, part)) in ranks.iter().zip(&parts).enumerate() {
            assert!(rank.read(part) == marked(at, 2, count), "{root} {count}");
        }
    }
}

#[test]
fn a_communicator_is_split_by_color_and_key() {
    let Some(ranks) = ranks(4) else { return };
    let comms: Vec<_> = ranks.iter().map(|rank| rank.comm.clone()).collect();
    // 0 and 2 in reverse order, 1 alone, 3 not at all.
    let split = rccl::Communicator::split_all(&comms, |rank| match rank {
        0 | 2 => (Some(5), -(rank as i32)),
        1 => (Some(0), 0),
        _ => (None, 0),
    });
    let parts: Vec<_> = split.unwrap().into_iter().map(|part| part.map(rank)).collect();
    let place =
        |at: usize| parts[at].as_ref().map(|part| (part.comm.rank().unwrap(), part.comm.size().unwrap()));
    assert_eq!([place(0), place(1), place(2), place(3)], [Some((1, 2)), Some((0, 1)), Some((0, 2)), None]);
    let (zero, two) = (parts[0].as_ref().unwrap(), parts[2].as_ref().unwrap());
    let (a, b) = (zero.buffer(&[10_u32]), two.buffer(&[20_u32]));
    let (mut to_a, mut to_b) = (zero.buffer(&[0_u32; 2]), two.buffer(&[0_u32; 2]));
    let mut group = Group::new();
    group.all_gather(&zero.comm, &zero.stream, &a, &mut to_a).unwrap();
    group.all_gather(&two.comm, &two.stream, &b, &mut to_b).unwrap();
    group.launch().unwrap();
    assert_eq!((zero.read(&to_a), two.read(&to_b)), (vec![20, 10], vec![20, 10]));
    // The whole communicator still works.
    let mut buffers = empty(&ranks, 1);
    let mut group = Group::new();
    for (rank, buffer) in ranks.iter().zip(&mut buffers) {
        group.broadcast(&rank.comm, &rank.stream, buffer, 3).unwrap();
    }
    group.launch().unwrap();
    ranks[0].read(&buffers[0]);
}

#[test]
fn a_communicator_is_shrunk() {
    let Some(ranks) = ranks(4) else { return };
    let comms: Vec<_> = [0, 2, 3].map(|at: usize| ranks[at].comm.clone()).into();
    for (without, what) in
        [(vec![], "none"), (vec![1, 1], "twice"), (vec![4], "no rank"), (vec![1, 2], "itself")]
    {
        let refused = Communicator::shrink_all(&comms, &without);
        assert!(matches!(refused, Err(Error::Size { .. } | Error::Rank { .. })), "{what}: {refused:?}");
    }
    let shrunk = Communicator::shrink_all(&comms, &[1]).unwrap();
    let streams: Vec<_> = shrunk.iter().map(|comm| comm.device().stream().unwrap()).collect();
    let mut sums = Vec::new();
    for (at, (comm, stream)) in shrunk.iter().zip(&streams).enumerate() {
        assert_eq!((comm.rank().unwrap(), comm.size().unwrap()), (at, 3));
        sums.push(DeviceBuffer::from_slice(stream, &vec![1_u32 << at; 1000]).unwrap());
    }
    let mut group = Group::new();
    for ((comm, stream), sum) in shrunk.iter().zip(&streams).zip(&mut sums) {
        group.all_reduce_in_place(comm, stream, sum, Op::Sum).unwrap();
    }
    group.launch().unwrap();
    for ((comm, stream), sum) in shrunk.iter().zip(&streams).zip(&sums) {
        comm.wait(stream, LONG).unwrap();
        assert_eq!(sum.to_vec(stream).unwrap(), [7; 1000]);
    }
}

#[test]
fn registered_and_allocated_memory_is_memory() {
    let Some(ranks) = ranks(2) else { return };
    let mut buffers = Vec::new();
    for (at, rank) in ranks.iter().enumerate() {
        let mut buffer = rccl::allocate::<u32>(rank.comm.device(), 500).unwrap();
        buffer.copy_from_host(&rank.stream, &marked(at, 0, 500)).unwrap();
        buffers.push(rank.comm.register(buffer).unwrap());
    }
    let mut group = Group::new();
    for (rank, buffer) in ranks.iter().zip(&mut buffers) {
        group.broadcast(&rank.comm, &rank.stream, buffer.as_mut_slice(), 1).unwrap();
    }
    group.launch().unwrap();
    for (rank, buffer) in ranks.iter().zip(buffers) {
        let buffer = buffer.into_buffer().unwrap();
        assert!(rank.read(&buffer) == marked(1, 0, 500));
    }
}

#[test]
fn ranks_may_share_a_device() {
    let Some(devices) = devices(2) else { return };
    let places = [(&devices[0], 0), (&devices[1], 1), (&devices[0], 2)];
    let id = rccl::UniqueId::new(&devices[0]).unwrap();
    let made = Communicator::some(&places, &id, 3, Options::new().limit(LONG).virtual_id(0));
    if let Err(Error::Unsupported { function }) = &made {
        assert_eq!(*function, "ncclCommInitRankMulti");
        assert_ne!(devices[0].backend(), hip::Backend::Virtual, "RCCL of later releases, and not NCCL");
        return;
    }
    let ranks: Vec<_> = made.unwrap().into_iter().map(rank).collect();
    let mut buffers: Vec<_> = ranks.iter().zip(1..).map(|(rank, at)| rank.buffer(&[at; 1001])).collect();
    let mut group = Group::new();
    for (rank, buffer) in ranks.iter().zip(&mut buffers) {
        group.all_reduce_in_place(&rank.comm, &rank.stream, buffer, Op::Sum).unwrap();
    }
    group.launch().unwrap();
    for (rank, buffer) in ranks.iter().zip(&buffers) {
        assert_eq!(rank.read(buffer), [6; 1001]);
    }
}
