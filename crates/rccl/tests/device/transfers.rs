//! Sends and receives, and a model of how they match: those of one pair of ranks match in order, whatever
//! else is in the group.

use std::collections::HashMap;

use hip::DeviceBuffer;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rccl::{Error, Group};

use crate::common::{Rank, ranks};

#[test]
fn a_ring_of_more_than_fits_at_once() {
    let Some(ranks) = ranks(4) else { return };
    for count in [0, 1, 100_003] {
        let sent: Vec<_> =
            ranks.iter().enumerate().map(|(at, rank)| rank.buffer(&vec![at as u32; count])).collect();
        let mut received: Vec<_> = ranks.iter().map(|rank| rank.buffer(&vec![9_u32; count])).collect();
        let mut group = Group::new();
        for (at, ((rank, send), receive)) in ranks.iter().zip(&sent).zip(&mut received).enumerate() {
            group.send(&rank.comm, &rank.stream, send, (at + 1) % 4).unwrap();
            group.receive(&rank.comm, &rank.stream, receive, (at + 3) % 4).unwrap();
        }
        group.launch().unwrap();
        for (at, (rank, buffer)) in ranks.iter().zip(&received).enumerate() {
            assert!(rank.read(buffer) == vec![(at as u32 + 3) % 4; count]);
        }
    }
}

#[test]
fn a_rank_sends_to_itself_in_a_group_only() {
    let Some(ranks) = ranks(2) else { return };
    let Rank { comm, stream } = &ranks[0];
    let (send, mut receive) = (ranks[0].buffer(&[5_u8, 6]), ranks[0].buffer(&[0_u8; 2]));
    let alone = comm.send(stream, &send, 0);
    assert!(matches!(alone, Err(Error::OwnTransfer { rank: 0 })), "{alone:?}");
    let mut group = Group::new();
    group.send(comm, stream, &send, 0).unwrap();
    group.receive(comm, stream, receive.slice_mut(..1).unwrap(), 0).unwrap();
    assert!(matches!(group.launch(), Err(Error::OwnTransfer { rank: 0 })));
    let mut group = Group::new();
    group.receive(comm, stream, &mut receive, 0).unwrap();
    group.send(comm, stream, &send, 0).unwrap();
    group.launch().unwrap();
    assert_eq!(ranks[0].read(&receive), [5, 6]);
}

/// A message of the model: from, to, how many elements.
type Message = (usize, usize, usize);

/// Messages, and for each rank the order in which it calls its sides of them. Sides of one pair keep the
/// order of the messages.
fn plans() -> impl Strategy<Value = (Vec<Message>, Vec<u64>)> {
    let message = (0..3_usize, 0..3_usize, prop_oneof![Just(0_usize), 1..50_usize, 20_000..40_000_usize]);
    (prop::collection::vec(message, 1..10), prop::collection::vec(any::<u64>(), 20))
}

/// Each rank's sides of the messages, interleaved by `picks`. A lane is (sends, peer), and keeps its order.
fn sides(rank: usize, messages: &[Message], picks: &[u64]) -> Vec<(bool, usize)> {
    let mut lanes: Vec<((bool, usize), Vec<usize>)> = Vec::new();
    for (index, &(from, to, _)) in messages.iter().enumerate() {
        for (sends, own, peer) in [(true, from, to), (false, to, from)] {
            if own == rank {
                match lanes.iter_mut().find(|(lane, _)| *lane == (sends, peer)) {
                    Some((_, list)) => list.push(index),
                    None => lanes.push(((sends, peer), vec![index])),
                }
            }
        }
    }
    let mut order = Vec::new();
    for turn in 0.. {
        lanes.retain(|(_, list)| !list.is_empty());
        if lanes.is_empty() {
            break;
        }
        let pick = picks[(turn + rank) % picks.len()] as usize % lanes.len();
        let ((sends, _), list) = &mut lanes[pick];
        order.push((*sends, list.remove(0)));
    }
    order
}

#[test]
fn messages_of_a_pair_keep_their_order_whatever_the_group() {
    let Some(ranks) = ranks(3) else { return };
    let mut runner = TestRunner::new(Config { cases: 40, failure_persistence: None, ..Config::default() });
    let check = |(messages, picks): (Vec<Message>, Vec<u64>)| {
        let content = |index: usize| vec![index as u32 + 1; messages[index].2];
        let sent: Vec<_> =
            messages.iter().enumerate().map(|(index, one)| ranks[one.0].buffer(&content(index))).collect();
        let uninit = |one: &Message| DeviceBuffer::<u32>::zeroed(&ranks[one.1].stream, one.2).unwrap();
        let mut received: Vec<_> = messages.iter().map(uninit).collect();
        let mut places: HashMap<usize, _> = received.iter_mut().enumerate().collect();
        let mut group = Group::new();
        for (at, rank) in ranks.iter().enumerate() {
            for (sends, index) in sides(at, &messages, &picks) {
                let (from, to, _) = messages[index];
                match sends {
                    true => group.send(&rank.comm, &rank.stream, &sent[index], to).unwrap(),
                    false => {
                        let place = places.remove(&index).unwrap();
                        group.receive(&rank.comm, &rank.stream, place, from).unwrap();
                    }
                }
            }
        }
        group.launch().unwrap();
        for (index, (one, buffer)) in messages.iter().zip(&received).enumerate() {
            prop_assert!(ranks[one.1].read(buffer) == content(index), "message {index} of {messages:?}");
        }
        Ok(())
    };
    runner.run(&plans(), check).unwrap();
}
