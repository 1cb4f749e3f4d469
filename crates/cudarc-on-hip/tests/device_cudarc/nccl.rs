use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use cudarc::nccl::sys::ncclResult_t;
use cudarc::nccl::{Comm, Id, ReduceOp, result};
use test_skip::{Lack, skip};

/// A stream on each of two devices, if there are two.
fn streams() -> Option<Vec<Arc<CudaStream>>> {
    crate::with_two_devices();
    if CudaContext::device_count().unwrap() < 2 {
        skip(Lack::Device, "there is only one device");
        return None;
    }
    let stream = |ordinal| CudaContext::new(ordinal).unwrap().new_stream().unwrap();
    Some(vec![stream(0), stream(1)])
}

#[test]
fn ranks_of_one_thread_combine_what_they_have() {
    let Some(streams) = streams() else { return };
    let ranks = Comm::from_devices(streams.clone()).unwrap();
    assert!(result::get_nccl_version().unwrap() >= 20_000);
    for (index, rank) in ranks.iter().enumerate() {
        assert_eq!((rank.rank(), rank.world_size(), rank.ordinal()), (index, 2, index));
    }
    let own = |rank: usize| -> Vec<f32> { (0..100).map(|index| (index * (rank + 1)) as f32).collect() };
    let sent: Vec<_> = (0..2).map(|rank| streams[rank].clone_htod(&own(rank)).unwrap()).collect();
    let mut sums: Vec<_> = streams.iter().map(|stream| stream.alloc_zeros::<f32>(100).unwrap()).collect();
    let mut all: Vec<_> = streams.iter().map(|stream| stream.alloc_zeros::<f32>(200).unwrap()).collect();
    let mut parts: Vec<_> = streams.iter().map(|stream| stream.alloc_zeros::<f32>(50).unwrap()).collect();
    cudarc::group!({
        for (rank, comm) in ranks.iter().enumerate() {
            comm.all_reduce(&sent[rank], &mut sums[rank], &ReduceOp::Sum).unwrap();
        }
    });
    cudarc::group!({
        for (rank, comm) in ranks.iter().enumerate() {
            comm.all_gather(&sent[rank], &mut all[rank]).unwrap();
        }
    });
    cudarc::group!({
        for (rank, comm) in ranks.iter().enumerate() {
            comm.reduce_scatter(&sent[rank], &mut parts[rank], &ReduceOp::Max).unwrap();
        }
    });
    for rank in 0..2 {
        let expected: Vec<f32> = (0..100).map(|index| (index * 3) as f32).collect();
        assert_eq!(streams[rank].clone_dtoh(&sums[rank]).unwrap(), expected);
        assert_eq!(streams[rank].clone_dtoh(&all[rank]).unwrap(), [own(0), own(1)].concat());
        assert_eq!(streams[rank].clone_dtoh(&parts[rank]).unwrap(), own(1)[rank * 50..][..50]);
    }
    // Data that does not fit is refused before anything is submitted.
    let refused = ranks[0].all_gather(&sent[0], &mut sums[0]).err().unwrap();
    assert_eq!(refused.0, ncclResult_t::ncclInvalidArgument);
}

#[test]
fn ranks_of_threads_send_and_receive() {
    let Some(streams) = streams() else { return };
    let id = Id::new().unwrap();
    let internal = *id.internal();
    std::thread::scope(|scope| {
        for (rank, stream) in streams.iter().enumerate() {
            scope.spawn(move || {
                let comm = Comm::from_rank(stream.clone(), rank, 2, Id::uninit(internal)).unwrap();
                let mut numbers = stream.clone_htod(&[rank as i64 + 5; 64]).unwrap();
                if rank == 0 {
                    comm.send(&numbers, 1).unwrap();
                } else {
                    comm.recv(&mut numbers, 0).unwrap();
                }
                assert_eq!(stream.clone_dtoh(&numbers).unwrap(), [5; 64]);
                // Both at once, in a group.
                let (peer, own) = (1 - rank as i32, stream.clone_htod(&[rank as i64; 8]).unwrap());
                let mut others = stream.alloc_zeros::<i64>(8).unwrap();
                let mut group = comm.group();
                group.send(own.as_view(), peer).unwrap();
                group.recv(others.as_view_mut(), peer).unwrap();
                drop(group);
                assert_eq!(stream.clone_dtoh(&others).unwrap(), [i64::from(peer); 8]);
                comm.broadcast_in_place(&mut others, 1).unwrap();
                assert_eq!(stream.clone_dtoh(&others).unwrap(), [0; 8]);
            });
        }
    });
}
