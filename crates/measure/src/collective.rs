//! Operations between devices, by AMD's RCCL or this project's.

use std::time::Duration;

use half::bf16;
use hip::{DeviceBuffer, Stream};
use kernels::Element;
use rccl::{Communicator, Group, Op};

use crate::bandwidth::text;
use crate::check::Check;
use crate::context::{Case, Clock, Context};
use crate::error::Result;
use crate::options::Size;
use crate::random::numbers;

const GROUP: &str = "collective";
/// How long ranks wait for each other.
const LIMIT: Duration = Duration::from_secs(60);

/// Bytes of each rank.
fn bytes(size: Size) -> &'static [usize] {
    match size {
        Size::Tiny => &[1 << 16],
        Size::Small => &[1 << 20, 64 << 20],
        Size::Full => &[1 << 20, 64 << 20, 1 << 30],
    }
}

/// The measured operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
    AllToAll,
}

impl Kind {
    const ALL: [Self; 5] =
        [Self::AllReduce, Self::AllGather, Self::ReduceScatter, Self::Broadcast, Self::AllToAll];

    fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Broadcast => "broadcast",
            Self::AllToAll => "all-to-all",
        }
    }

    /// Bytes that each link must carry, divided by the size of the larger buffer: the factor of the bus
    /// bandwidth of nccl-tests.
    fn bus_factor(self, ranks: f64) -> f64 {
        match self {
            Self::AllReduce => 2.0 * (ranks - 1.0) / ranks,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => (ranks - 1.0) / ranks,
            Self::Broadcast => 1.0,
        }
    }

    /// Elements that a rank sends and receives, of `count`, which is a multiple of the number of ranks.
    fn lengths(self, count: usize, ranks: usize) -> (usize, usize) {
        match self {
            Self::AllReduce | Self::Broadcast | Self::AllToAll => (count, count),
            Self::AllGather => (count / ranks, count),
            Self::ReduceScatter => (count, count / ranks),
        }
    }
}

/// Every operation of every size in f32 and bf16, if there are at least two devices.
pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    if context.devices.len() < 2 {
        let text = format!("{GROUP}: operations between devices need two devices, but there is one");
        context.find("not-measured", text);
        return Ok(());
    }
    let ranks = Communicator::all(&context.devices)?;
    let streams = context.devices.iter().map(hip::Device::stream).collect::<hip::Result<Vec<_>>>()?;
    for bytes in bytes(context.size) {
        for kind in Kind::ALL {
            of::<f32>(context, &ranks, &streams, kind, *bytes)?;
            of::<bf16>(context, &ranks, &streams, kind, *bytes)?;
        }
    }
    Ok(())
}

struct Buffers<T: rccl::Element> {
    send: Vec<DeviceBuffer<T>>,
    receive: Vec<DeviceBuffer<T>>,
}

fn of<T: rccl::Element + Element>(
    context: &mut Context<'_>,
    ranks: &[Communicator],
    streams: &[Stream],
    kind: Kind,
    bytes: usize,
) -> Result<()> {
    let size = ranks.len();
    let count = (bytes / size_of::<T>()).next_multiple_of(size);
    let (sent, received) = kind.lengths(count, size);
    let mut case = Case {
        group: GROUP,
        name: format!("{} {size} ranks {} {}", kind.name(), text(bytes), T::NAME),
        bytes: Some(kind.bus_factor(size as f64) * (count * size_of::<T>()) as f64),
        ..Case::default()
    };
    case.other.push(("implementation", ranks[0].implementation().into()));
    context.attempt(&format!("{GROUP} {}", case.name.clone()), |context| {
        let host: Vec<Vec<T>> = (0..size).map(|rank| numbers(sent, 61 + rank as u64, 1.0)).collect();
        let upload = |(values, stream): (&Vec<T>, &Stream)| DeviceBuffer::from_slice(stream, values);
        let send = host.iter().zip(streams).map(upload).collect::<hip::Result<Vec<_>>>()?;
        let zeroed = |stream| DeviceBuffer::zeroed(stream, received);
        let receive = streams.iter().map(zeroed).collect::<hip::Result<Vec<_>>>()?;
        let mut buffers = Buffers { send, receive };
        if kind == Kind::Broadcast {
            // In place, from the first rank's buffer.
            buffers.receive[0].copy_from(&streams[0], &buffers.send[0])?;
        }
        context.measure(
            case,
            Clock::Host,
            &mut buffers,
            |_, Buffers { send, receive }| {
                let mut group = Group::new();
                let buffers = send.iter().zip(receive);
                for ((communicator, stream), (from, to)) in ranks.iter().zip(streams).zip(buffers) {
                    match kind {
                        Kind::AllReduce => group.all_reduce(communicator, stream, from, to, Op::Sum)?,
                        Kind::AllGather => group.all_gather(communicator, stream, from, to)?,
                        Kind::ReduceScatter => {
                            group.reduce_scatter(communicator, stream, from, to, Op::Sum)?
                        }
                        Kind::Broadcast => group.broadcast(communicator, stream, to, 0)?,
                        Kind::AllToAll => group.all_to_all(communicator, stream, from, to)?,
                    }
                }
                group.launch()?;
                for (communicator, stream) in ranks.iter().zip(streams) {
                    communicator.wait(stream, LIMIT)?;
                }
                Ok(())
            },
            |_, Buffers { receive, .. }| {
                let mut worst: Option<Check> = None;
                for (rank, (receive, stream)) in receive.iter().zip(streams).enumerate() {
                    let got = receive.to_vec(stream)?;
                    let check = Check::elements(got, expected(kind, &host, rank, received));
                    worst = Some(worst.map_or(check, |worst| worst.worse(check)));
                }
                Ok(worst.unwrap_or(Check { error: f64::INFINITY, bound: 0.0 }))
            },
        )
    })
}

/// What a rank receives, and the error of a sum over this many ranks: each addend except the first is rounded
/// once.
fn expected<T: Element>(kind: Kind, host: &[Vec<T>], rank: usize, received: usize) -> Vec<(f64, f64)> {
    let ranks = host.len();
    let exact = |value: T| (value.to_f64(), 0.0);
    let sum = |i: usize| {
        let terms = || host.iter().map(|values| values[i].to_f64());
        (terms().sum(), (ranks - 1) as f64 * T::UNIT_ROUNDOFF * terms().map(f64::abs).sum::<f64>())
    };
    let part = received / ranks;
    (0..received)
        .map(|i| match kind {
            Kind::AllReduce => sum(i),
            Kind::AllGather => exact(host[i / part][i % part]),
            Kind::ReduceScatter => sum(rank * received + i),
            Kind::Broadcast => exact(host[0][i]),
            Kind::AllToAll => exact(host[i / part][rank * part + i % part]),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_get_what_the_operations_say() {
        let host = [vec![1.0_f32, 2.0, 3.0, 4.0], vec![10.0, 20.0, 30.0, 40.0]];
        let values = |kind, rank, received| -> Vec<f64> {
            expected(kind, &host, rank, received).into_iter().map(|(value, _)| value).collect()
        };
        assert_eq!(values(Kind::AllReduce, 1, 4), [11.0, 22.0, 33.0, 44.0]);
        assert_eq!(values(Kind::ReduceScatter, 1, 2), [33.0, 44.0]);
        assert_eq!(values(Kind::Broadcast, 1, 4), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(values(Kind::AllToAll, 1, 4), [3.0, 4.0, 30.0, 40.0]);
        let host = [vec![1.0_f32, 2.0], vec![10.0, 20.0]];
        let gathered: Vec<f64> =
            expected(Kind::AllGather, &host, 0, 4).into_iter().map(|(value, _)| value).collect();
        assert_eq!(gathered, [1.0, 2.0, 10.0, 20.0]);
    }

    #[test]
    fn a_link_of_an_all_reduce_carries_nearly_twice_the_buffer() {
        assert_eq!(Kind::AllReduce.bus_factor(2.0), 1.0);
        assert_eq!(Kind::AllReduce.bus_factor(8.0), 1.75);
        assert_eq!(Kind::AllGather.lengths(8, 2), (4, 8));
    }
}
