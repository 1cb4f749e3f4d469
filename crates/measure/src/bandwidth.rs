//! Memory: how fast it is copied, read and written, on the device and between devices.

use hip::{Device, DeviceBuffer, HostBuffer, Pending};
use kernels::ReduceOp;

use crate::check::Check;
use crate::context::{Case, Clock, Context};
use crate::error::Result;
use crate::options::Size;
use crate::random::numbers;

const GROUP: &str = "bandwidth";
/// Elements that a workgroup adds up in the measurement that only reads memory.
const READ_GROUP: usize = 1 << 16;
/// The factor of the triad.
const FACTOR: f32 = 0.25;

/// Bytes of an array.
fn bytes(size: Size) -> &'static [usize] {
    match size {
        Size::Tiny => &[1 << 18],
        Size::Small => &[64 << 20],
        Size::Full => &[64 << 20, 1 << 30],
    }
}

/// `256 MiB`, `512 KiB`.
pub(crate) fn text(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// The cases of a size, and transfers to other devices, if any.
pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    for bytes in bytes(context.size) {
        let what = format!("{GROUP} of {}", text(*bytes));
        context.attempt(&what, |context| device(context, *bytes))?;
        context.attempt(&what, |context| pinned(context, *bytes))?;
        let (devices, first) = (context.devices.clone(), context.device().clone());
        for (index, other) in devices.iter().enumerate().skip(1) {
            context.attempt(&what, |context| peer(context, *bytes, &first, index, other))?;
        }
    }
    Ok(())
}

fn case(name: &str, size: usize, moved: usize) -> Case {
    Case {
        group: GROUP,
        name: format!("{name} {}", text(size)),
        bytes: Some(moved as f64),
        ..Case::default()
    }
}

/// An array on the host, two on the device, and the sums of one of these.
struct Arrays {
    host: Vec<f32>,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    /// The sum of each [`READ_GROUP`] elements.
    sums: DeviceBuffer<f32>,
}

/// Copy, read, write and triad.
fn device(context: &mut Context<'_>, size: usize) -> Result<()> {
    let count = size / size_of::<f32>();
    let host: Vec<f32> = numbers(count, 1, 1.0);
    let x = DeviceBuffer::from_slice(&context.stream, &host)?;
    let y = DeviceBuffer::zeroed(&context.stream, count)?;
    let sums = DeviceBuffer::zeroed(&context.stream, count.div_ceil(READ_GROUP))?;
    let mut arrays = Arrays { host, x, y, sums };

    context.measure(
        case("copy device-device", size, 2 * size),
        Clock::Device,
        &mut arrays,
        |context, Arrays { x, y, .. }| Ok(y.copy_from(&context.stream, &*x)?),
        |context, Arrays { host, y, .. }| Ok(Check::same(&y.to_vec(&context.stream)?, host)),
    )?;
    arrays.y.fill(&context.stream, 0.0)?;
    context.measure(
        case("copy by a kernel", size, 2 * size),
        Clock::Device,
        &mut arrays,
        |context, Arrays { x, y, .. }| Ok(context.kernels.copy(&context.stream, &*x, y)?),
        |context, Arrays { host, y, .. }| Ok(Check::same(&y.to_vec(&context.stream)?, host)),
    )?;
    context.measure(
        case("read", size, size),
        Clock::Device,
        &mut arrays,
        |context, Arrays { x, sums, .. }| {
            Ok(context.kernels.reduce(&context.stream, ReduceOp::Sum, &*x, READ_GROUP, sums)?)
        },
        |context, Arrays { host, sums, .. }| {
            let expected = host.chunks(READ_GROUP).map(|group| {
                let terms = || group.iter().map(|x| f64::from(*x));
                // There are at most as many roundings as terms; each errs by half a unit of a partial sum,
                // and they are independent.
                let lost = 4.0 * (group.len() as f64).sqrt() * f64::from(f32::EPSILON) / 2.0;
                (terms().sum(), lost * terms().map(f64::abs).sum::<f64>())
            });
            Ok(Check::elements(sums.to_vec(&context.stream)?, expected))
        },
    )?;
    context.measure(
        case("write", size, size),
        Clock::Device,
        &mut arrays,
        |context, Arrays { y, .. }| Ok(context.kernels.fill(&context.stream, 1.5_f32, y)?),
        |context, Arrays { host, y, .. }| {
            Ok(Check::same(&y.to_vec(&context.stream)?, &vec![1.5; host.len()]))
        },
    )?;
    // y = 1.5 + FACTOR x, once; later it grows.
    context.measure(
        case("triad", size, 3 * size),
        Clock::Device,
        &mut arrays,
        |context, Arrays { x, y, .. }| Ok(context.kernels.axpy(&context.stream, FACTOR, &*x, y)?),
        |context, Arrays { host, y, .. }| {
            let expected = host.iter().map(|x| {
                let product = f64::from(FACTOR) * f64::from(*x);
                (1.5 + product, f64::from(f32::EPSILON) * product.abs())
            });
            Ok(Check::elements(y.to_vec(&context.stream)?, expected))
        },
    )
}

/// Pinned memory that a copy may own.
enum Pinned {
    Here(HostBuffer<f32>),
    Travels(Pending<HostBuffer<f32>>),
    Lost,
}

impl Pinned {
    /// The memory, once its copy is done.
    fn take(&mut self) -> hip::Result<Option<HostBuffer<f32>>> {
        match std::mem::replace(self, Self::Lost) {
            Self::Here(buffer) => Ok(Some(buffer)),
            Self::Travels(pending) => pending.wait().map(Some),
            Self::Lost => Ok(None),
        }
    }

    /// Starts a copy with the memory; does nothing if an earlier copy has failed and lost it.
    fn send(
        &mut self,
        copy: impl FnOnce(HostBuffer<f32>) -> hip::Result<Pending<HostBuffer<f32>>>,
    ) -> hip::Result<()> {
        if let Some(buffer) = self.take()? {
            *self = Self::Travels(copy(buffer)?);
        }
        Ok(())
    }

    /// The numbers, once the copy is done; `None` if they are lost.
    fn numbers(&mut self) -> hip::Result<Vec<f32>> {
        let Some(buffer) = self.take()? else { return Ok(Vec::new()) };
        let numbers = buffer.to_vec();
        *self = Self::Here(buffer);
        Ok(numbers)
    }
}

/// Between pinned memory of the host and the device.
fn pinned(context: &mut Context<'_>, size: usize) -> Result<()> {
    let count = size / size_of::<f32>();
    let host: Vec<f32> = numbers(count, 2, 1.0);
    let from = HostBuffer::from_slice(context.device(), &host)?;
    let to = HostBuffer::zeroed(context.device(), count)?;
    let buffer = DeviceBuffer::<f32>::zeroed(&context.stream, count)?;
    let mut state = (Pinned::Here(from), Pinned::Here(to), buffer);
    context.measure(
        case("copy pinned-device", size, size),
        Clock::Device,
        &mut state,
        |context, (from, _, buffer)| Ok(from.send(|host| buffer.upload(&context.stream, host))?),
        |context, (_, _, buffer)| Ok(Check::same(&buffer.to_vec(&context.stream)?, &host)),
    )?;
    context.measure(
        case("copy device-pinned", size, size),
        Clock::Device,
        &mut state,
        |context, (_, to, buffer)| Ok(to.send(|host| buffer.download(&context.stream, host))?),
        |_, (_, to, _)| Ok(Check::same(&to.numbers()?, &host)),
    )
}

/// From the first device to another one.
fn peer(context: &mut Context<'_>, size: usize, first: &Device, index: usize, other: &Device) -> Result<()> {
    let count = size / size_of::<f32>();
    let host: Vec<f32> = numbers(count, 3, 1.0);
    let direct = first.can_access_peer(other)?;
    if direct {
        first.enable_peer_access(other)?;
    }
    let stream = other.stream()?;
    let from = DeviceBuffer::from_slice(&context.stream, &host)?;
    let to = DeviceBuffer::<f32>::zeroed(&stream, count)?;
    stream.synchronize()?;
    let name = format!("copy device 0-device {index}");
    let mut case = case(&name, size, size);
    case.other.push(("peer_access", direct.into()));
    context.measure(
        case,
        Clock::Device,
        &mut (from, to),
        |context, (from, to)| Ok(to.copy_from(&context.stream, &*from)?),
        |_, (_, to)| Ok(Check::same(&to.to_vec(&stream)?, &host)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_the_units_of_memory() {
        assert_eq!([1 << 30, 64 << 20, 3 << 10, 1000].map(text), ["1024 MiB", "64 MiB", "3 KiB", "1000 B"]);
    }
}
