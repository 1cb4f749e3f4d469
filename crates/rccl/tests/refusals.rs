//! Calls that are refused before anything is enqueued, and the errors of ranks that disagree.

mod common;

use std::any::Any;
use std::time::{Duration, Instant};

use common::{LONG, Rank, rank};
use hip::{Device, DeviceBuffer};
use rccl::{Communicator, Error, Group, Op, UniqueId};

fn devices(count: usize) -> Vec<Device> {
    let uri = format!("vgpu:gfx1100?cus=1&memory=256MiB&count={count}");
    Device::open_all(&uri.parse().unwrap()).unwrap()
}

fn ranks(count: usize) -> Vec<Rank> {
    Communicator::all(&devices(count)).unwrap().into_iter().map(rank).collect()
}

/// Tells this test that it runs in the child process.
const CHILD: &str = "FERROCM_TEST_RCCL_VARIABLE";

#[test]
fn a_variable_that_cannot_be_used_is_an_error_that_names_it() {
    if std::env::var_os(CHILD).is_some() {
        let made = Communicator::all(&devices(1)).and_then(|all| all[0].wait_until_ready());
        println!("said: {}", made.map_or_else(|error| error.to_string(), |()| "ready".to_owned()));
        return;
    }
    let said = |value: &std::ffi::OsStr| {
        let mut test = std::process::Command::new(std::env::current_exe().unwrap());
        test.args(["a_variable_that_cannot_be_used_is_an_error_that_names_it", "--exact", "--nocapture"]);
        let output = test.env(CHILD, "1").env("FERROCM_RCCL_TIMEOUT", value).output().unwrap();
        assert!(output.status.success(), "{value:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for value in ["18446744073709551615", "18446744073709551616", "NaN", "inf", "-1", "0", "ten"] {
        let said = said(value.as_ref());
        assert!(said.contains(&format!("FERROCM_RCCL_TIMEOUT=`{value}`: it must be a time")), "{said}");
    }
    let bytes = std::os::unix::ffi::OsStrExt::from_bytes(&[0xff, 0xfe]);
    assert!(said(bytes).contains("FERROCM_RCCL_TIMEOUT=`\u{fffd}\u{fffd}`: it is not UTF-8"));
    for value in ["", " ", "30", "1.5s", "60000ms"] {
        assert!(said(value.as_ref()).contains("said: ready"), "{value}");
    }
}

#[test]
fn bad_arguments_are_refused_and_the_communicator_goes_on() {
    let ranks = ranks(2);
    let Rank { comm, stream } = &ranks[0];
    let mut other = ranks[1].buffer(&[0_u32; 4]);
    let (send, mut receive) = (ranks[0].buffer(&[1_u32; 4]), ranks[0].buffer(&[0_u32; 5]));

    let result = comm.all_reduce(stream, &send, &mut receive, Op::Sum);
    assert!(matches!(result, Err(Error::Length { found: 5, expected: 4, .. })), "{result:?}");
    let result = comm.reduce_scatter(stream, &receive, &mut other, Op::Sum);
    assert!(matches!(result, Err(Error::Indivisible { found: 5, size: 2, .. })), "{result:?}");
    let result = comm.all_gather(stream, &send, receive.slice_mut(..4).unwrap());
    assert!(matches!(result, Err(Error::Length { found: 4, expected: 2, .. })), "{result:?}");
    let result = comm.all_to_all(stream, &send, &mut receive);
    assert!(matches!(result, Err(Error::Length { .. })), "{result:?}");
    let result = comm.all_to_all_v(stream, &send, &[4], &mut receive, &[2, 3]);
    assert!(matches!(result, Err(Error::Length { found: 1, expected: 2, .. })), "{result:?}");
    let result = comm.all_to_all_v(stream, &send, &[2, 3], &mut receive, &[2, 3]);
    assert!(matches!(result, Err(Error::Length { found: 4, expected: 5, .. })), "{result:?}");
    let result = comm.all_to_all_v(stream, &send, &[usize::MAX, 2], &mut receive, &[2, 3]);
    assert!(matches!(result, Err(Error::Length { expected: usize::MAX, .. })), "{result:?}");
    let result = comm.broadcast(stream, &mut receive, 2);
    assert!(matches!(result, Err(Error::Rank { rank: 2, size: 2, .. })), "{result:?}");
    let result = comm.send(stream, &send, usize::MAX);
    assert!(matches!(result, Err(Error::Rank { rank: usize::MAX, .. })), "{result:?}");
    let result = comm.reduce(stream, &send, None, Op::Sum, 0);
    assert!(matches!(result, Err(Error::Root { is_root: true, .. })), "{result:?}");
    let result = comm.gather(stream, &send, Some(receive.as_mut_slice()), 1);
    assert!(matches!(result, Err(Error::Root { is_root: false, .. })), "{result:?}");
    let result = comm.scatter(stream, Some(send.as_slice()), &mut receive, 0);
    assert!(matches!(result, Err(Error::Length { found: 5, expected: 2, .. })), "{result:?}");
    let result = comm.all_reduce(stream, &send, &mut other, Op::Sum);
    assert!(matches!(result, Err(Error::OtherDevice { what: "memory to receive", .. })), "{result:?}");
    let result = comm.all_reduce(&ranks[1].stream, &send, receive.slice_mut(..4).unwrap(), Op::Sum);
    assert!(matches!(result, Err(Error::OtherDevice { what: "stream", .. })), "{result:?}");
    let foreign = ranks[1].comm.scaled_sum(2_u32).unwrap();
    let result = comm.all_reduce(stream, &send, receive.slice_mut(..4).unwrap(), &foreign);
    assert!(matches!(result, Err(Error::OtherCommunicator { .. })), "{result:?}");
    assert!(matches!(comm.split(Some(u32::MAX), 0), Err(Error::Size { .. })));
    assert!(matches!(
        ranks[1].comm.register(DeviceBuffer::<u32>::zeroed(stream, 1).unwrap()),
        Err(Error::OtherDevice { .. })
    ));

    // Nothing was enqueued, so the next operation of both ranks is the same.
    comm.broadcast(stream, receive.slice_mut(..4).unwrap(), 0).unwrap();
    ranks[1].comm.broadcast(&ranks[1].stream, &mut other, 0).unwrap();
    assert_eq!(ranks[1].read(&other), [0; 4]);
    ranks[0].read(&receive);
}

#[test]
fn bad_ranks_and_sizes_are_refused() {
    let devices = devices(1);
    let id = UniqueId::new(&devices[0]).unwrap();
    assert!(matches!(Communicator::all(&[]), Err(Error::Size { size: 0, .. })));
    assert!(matches!(Communicator::new(&devices[0], &id, 0, 0), Err(Error::Size { size: 0, .. })));
    assert!(matches!(Communicator::new(&devices[0], &id, 0, usize::MAX), Err(Error::Size { .. })));
    assert!(matches!(Communicator::new(&devices[0], &id, 3, 3), Err(Error::Rank { rank: 3, size: 3, .. })));
    let many = Communicator::new(&devices[0], &id, 0, 65).unwrap_err();
    assert!(many.to_string().contains("65 ranks"), "{many}");
}

#[test]
fn streams_of_one_communicator_are_captured_together_or_not_at_all() {
    let ranks = ranks(1);
    let Rank { comm, stream } = &ranks[0];
    let (mut one, mut other) = (ranks[0].buffer(&[1_u32; 4]), ranks[0].buffer(&[1_u32; 4]));
    let refuse = |captured: &hip::Stream,
                  one: &mut DeviceBuffer<u32>,
                  other: &mut DeviceBuffer<u32>,
                  stream: &hip::Stream| {
        let mut group = Group::new();
        group.all_reduce_in_place(comm, captured, one, Op::Sum).unwrap();
        group.all_reduce_in_place(comm, stream, other, Op::Sum).unwrap();
        let refused = group.launch();
        assert!(matches!(refused, Err(Error::Captured { .. })), "{refused:?}");
    };
    let graph = comm.device().capture(|captured| {
        refuse(captured, &mut one, &mut other, stream);
        comm.device().capture(|another| {
            refuse(captured, &mut one, &mut other, another);
            Ok(())
        })?;
        Ok(())
    });
    assert!(graph.unwrap().is_empty(), "nothing of it was captured");
    // On another thread, nothing is captured either.
    let graph = comm.device().capture(|captured| {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| comm.all_reduce_in_place(captured, &mut one, Op::Sum));
            let refused = other.join().unwrap();
            assert!(matches!(refused, Err(Error::Hip(_))), "{refused:?}");
        });
        Ok(())
    });
    assert!(graph.unwrap().is_empty());
    comm.all_reduce_in_place(stream, &mut one, Op::Sum).unwrap();
    assert_eq!(ranks[0].read(&one), [1; 4]);
}

/// Two ranks make different calls, and both must learn of the mismatch. Their results are kept until then,
/// because freeing memory may wait for work that this thread has not enqueued yet.
fn disagree(first: impl FnOnce(&Rank) -> Box<dyn Any>, second: impl FnOnce(&Rank) -> Box<dyn Any>) {
    let ranks = ranks(2);
    let _kept = (first(&ranks[0]), second(&ranks[1]));
    for rank in &ranks {
        let error = rank.comm.wait(&rank.stream, LONG).unwrap_err();
        assert_eq!(error.code(), Some(rccl::rccl_sys::ncclResult_t::ncclInvalidUsage), "{error}");
        rank.stream.synchronize().unwrap();
    }
}

/// The last rank may get the others' finding at once.
fn enqueued(result: rccl::Result<()>) {
    assert!(matches!(result, Ok(()) | Err(Error::Failed { .. })), "{result:?}");
}

#[test]
fn ranks_that_disagree_are_told() {
    let reduce = |count: usize, op: Op| {
        move |rank: &Rank| {
            let mut buffer = rank.buffer(&vec![1.0_f32; count]);
            enqueued(rank.comm.all_reduce_in_place(&rank.stream, &mut buffer, op));
            Box::new(buffer) as Box<dyn Any>
        }
    };
    disagree(reduce(4, Op::Sum), reduce(5, Op::Sum));
    disagree(reduce(4, Op::Sum), reduce(4, Op::Max));
    disagree(reduce(0, Op::Sum), reduce(200_000, Op::Sum));
    let broadcast = |root: usize| {
        move |rank: &Rank| {
            let mut buffer = rank.buffer(&[1_i32; 4]);
            enqueued(rank.comm.broadcast(&rank.stream, &mut buffer, root));
            Box::new(buffer) as Box<dyn Any>
        }
    };
    disagree(broadcast(0), broadcast(1));
    disagree(broadcast(0), reduce(4, Op::Sum));
    let send = |rank: &Rank| {
        let buffer = rank.buffer(&[1_u32; 4]);
        enqueued(rank.comm.send(&rank.stream, &buffer, 1));
        // The message has been sent, so the sender learns of it in its next operation.
        let mut back = rank.buffer(&[0_u32; 1]);
        enqueued(rank.comm.receive(&rank.stream, &mut back, 1));
        Box::new((buffer, back)) as Box<dyn Any>
    };
    disagree(send, |rank| {
        let mut buffer = rank.buffer(&[0_u32; 3]);
        enqueued(rank.comm.receive(&rank.stream, &mut buffer, 0));
        Box::new(buffer)
    });
    disagree(send, |rank| {
        let mut buffer = rank.buffer(&[0_f32; 4]);
        enqueued(rank.comm.receive(&rank.stream, &mut buffer, 0));
        Box::new(buffer)
    });
}

#[test]
fn an_abort_reaches_the_others_and_a_group_that_is_dropped_does_nothing() {
    let ranks = ranks(2);
    let (mut first, mut second) = (ranks[0].buffer(&[1_u32; 4]), ranks[1].buffer(&[1_u32; 4]));
    let mut group = Group::new();
    group.all_reduce_in_place(&ranks[0].comm, &ranks[0].stream, &mut first, Op::Sum).unwrap();
    assert_eq!(group.len(), 1);
    drop(group);
    ranks[1].comm.all_reduce_in_place(&ranks[1].stream, &mut second, Op::Sum).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(ranks[0].stream.is_done().unwrap() && !ranks[1].stream.is_done().unwrap());
    ranks[0].comm.abort().unwrap();
    ranks[0].comm.abort().unwrap();
    let error = ranks[1].comm.wait(&ranks[1].stream, LONG).unwrap_err();
    assert!(error.to_string().contains("rank 0 has aborted"), "{error}");
}

#[test]
fn a_rank_that_is_dropped_gives_up_what_nobody_ends() {
    let options = rccl::Options::new().limit(Duration::from_millis(200));
    let mut ranks: Vec<_> =
        Communicator::all_with(&devices(2), options).unwrap().into_iter().map(rank).collect();
    let mut buffer = ranks[0].buffer(&[1_u32; 4]);
    ranks[0].comm.all_reduce_in_place(&ranks[0].stream, &mut buffer, Op::Sum).unwrap();
    let began = Instant::now();
    let Rank { comm, stream } = ranks.remove(0);
    drop(comm);
    assert!(began.elapsed() >= Duration::from_millis(200) && began.elapsed() < LONG / 2);
    stream.synchronize().unwrap();
    let error = ranks[0].comm.check().unwrap_err();
    assert!(error.to_string().contains("rank 0 has aborted"), "{error}");
}
