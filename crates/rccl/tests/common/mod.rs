//! Shared by the tests: devices, ranks on them, and numbers of all types.
#![allow(dead_code, reason = "no test uses all of it")]

use std::time::Duration;

use hip::{Device, DeviceBuffer, DeviceCopy, DeviceUri, Stream};
use rccl::{Communicator, Element, Op, Options};
use test_skip::{Lack, skip};

/// Long enough for anything on a busy machine, and for AMD's RCCL to start on virtual GPUs.
pub(crate) const LONG: Duration = Duration::from_secs(180);
/// The folder of AMD's libraries, if the tests run on them.
const SYSROOT: &str = "FERROCM_ROCM_SYSROOT";

/// Opens `count` devices of the kind that `FERROCM_DEVICE` names, else virtual ones. `None` if the machine
/// has fewer.
pub(crate) fn devices(count: usize) -> Option<Vec<Device>> {
    let uri = std::env::var(hip::uri::DEVICE_VARIABLE).ok().filter(|uri| !uri.is_empty());
    let uri = uri.unwrap_or_else(|| "vgpu:gfx1100".to_owned());
    let uri = match uri.starts_with("vgpu") {
        true => {
            let mark = if uri.contains('?') { '&' } else { '?' };
            format!("{uri}{mark}cus=1&memory=256MiB&count={count}")
        }
        false => uri.split(':').next().unwrap_or_default().to_owned(),
    };
    let mut devices = Device::open_all(&uri.parse::<DeviceUri>().unwrap()).unwrap();
    if devices.len() < count {
        skip(Lack::Device, format_args!("{count} devices are needed, and there are {}", devices.len()));
        return None;
    }
    devices.truncate(count);
    Some(devices)
}

/// One rank and its stream.
pub(crate) struct Rank {
    pub(crate) comm: Communicator,
    pub(crate) stream: Stream,
}

/// A communicator of `count` devices of this process.
pub(crate) fn ranks(count: usize) -> Option<Vec<Rank>> {
    let comms = Communicator::all_with(&devices(count)?, Options::new().limit(LONG)).unwrap();
    let ranks: Vec<_> = comms.into_iter().map(rank).collect();
    if ranks[0].comm.device().backend() == hip::Backend::Cuda {
        connect(&ranks);
    }
    Some(ranks)
}

/// NCCL's ranks connect to each other at their first collective, for which one thread must call all of them, and no
/// stream may be held.
fn connect(ranks: &[Rank]) {
    let mut buffers: Vec<_> = ranks.iter().map(|rank| rank.buffer(&[0_u32; 1000])).collect();
    let mut group = rccl::Group::new();
    for (rank, buffer) in ranks.iter().zip(&mut buffers) {
        group.all_reduce_in_place(&rank.comm, &rank.stream, buffer, Op::Sum).unwrap();
    }
    group.launch().unwrap();
    for (rank, buffer) in ranks.iter().zip(&buffers) {
        assert_eq!(rank.read(buffer), [0; 1000]);
    }
}

pub(crate) fn rank(comm: Communicator) -> Rank {
    if let Some(sysroot) = std::env::var_os(SYSROOT).filter(|_| comm.device().backend() == hip::Backend::Amd)
    {
        let library = comm.implementation();
        assert!(std::path::Path::new(&library).starts_with(sysroot), "RCCL is {library}");
    }
    let stream = comm.device().stream().unwrap();
    Rank { comm, stream }
}

impl Rank {
    pub(crate) fn buffer<T: DeviceCopy>(&self, values: &[T]) -> DeviceBuffer<T> {
        DeviceBuffer::from_slice(&self.stream, values).unwrap()
    }

    /// Reads the elements after everything on the stream.
    pub(crate) fn read<T: DeviceCopy>(&self, buffer: &DeviceBuffer<T>) -> Vec<T> {
        self.comm.wait(&self.stream, LONG).unwrap();
        buffer.to_vec(&self.stream).unwrap()
    }
}

/// A number type as the tests need it: making values, and checking results.
pub(crate) trait Number: Element + PartialEq + std::fmt::Debug {
    /// The largest error against exact arithmetic, relative to the largest intermediate value; 0 for
    /// integers.
    const EPSILON: f64;
    /// Converts a value that is a multiple of 1/8 between -4 and 4. Integers take eight times the value;
    /// unsigned ones of its absolute value.
    fn make(value: f64) -> Self;
    fn exact(self) -> f64;
    /// An exact result converted to the type: integers wrap around.
    fn wrap(value: i128) -> Self;
}

macro_rules! integers {
    ($($type:ty: $signed:expr;)+) => {$(
        impl Number for $type {
            const EPSILON: f64 = 0.0;
            fn make(value: f64) -> Self {
                (if $signed { value * 8.0 } else { value.abs() * 8.0 }) as Self
            }
            fn exact(self) -> f64 {
                self as f64
            }
            fn wrap(value: i128) -> Self {
                value as Self
            }
        }
    )+};
}

integers! { i8: true; u8: false; i32: true; u32: false; i64: true; u64: false; }

macro_rules! floats {
    ($($type:ty: $epsilon:expr, $make:expr, $exact:expr;)+) => {$(
        impl Number for $type {
            const EPSILON: f64 = $epsilon;
            fn make(value: f64) -> Self {
                $make(value)
            }
            fn exact(self) -> f64 {
                $exact(self)
            }
            fn wrap(_: i128) -> Self {
                unreachable!("floats do not wrap")
            }
        }
    )+};
}

floats! {
    half::f16: 1.0 / 1024.0, half::f16::from_f64, half::f16::to_f64;
    half::bf16: 1.0 / 128.0, half::bf16::from_f64, half::bf16::to_f64;
    f32: f32::EPSILON as f64, |value| value as f32, f64::from;
    f64: f64::EPSILON, |value| value, |value| value;
}

/// The `index`th element of a rank: a multiple of 1/8 between -2 and 2, never 0.
pub(crate) fn value(rank: usize, index: usize) -> f64 {
    let mixed = (rank * 7919 + index * 104_729 + 12_345).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let eighth = (mixed % 16) as f64 + 1.0;
    if mixed & 64 == 0 { eighth / 8.0 } else { -eighth / 8.0 }
}

pub(crate) fn values<T: Number>(rank: usize, count: usize) -> Vec<T> {
    (0..count).map(|index| T::make(value(rank, index))).collect()
}

/// Checks a reduction of numbers against exact arithmetic.
pub(crate) fn assert_reduced<T: Number>(op: Op, inputs: &[T], found: T, where_: &str) {
    let exact: Vec<f64> = inputs.iter().map(|input| input.exact()).collect();
    let count = exact.len() as f64;
    if T::EPSILON == 0.0 {
        let exact: Vec<i128> = exact.iter().map(|value| *value as i128).collect();
        let sum: i128 = exact.iter().sum();
        let expected = match op {
            Op::Sum => sum,
            Op::Product => exact.iter().product(),
            Op::Min => *exact.iter().min().unwrap(),
            Op::Max => *exact.iter().max().unwrap(),
            // Of the sum after it has wrapped.
            Op::Average => T::wrap(sum).exact() as i128 / exact.len() as i128,
        };
        assert_eq!(found, T::wrap(expected), "{where_}: {op:?} of {inputs:?}");
        return;
    }
    let (expected, size) = match op {
        Op::Sum => (exact.iter().sum(), exact.iter().map(|value| value.abs()).sum()),
        Op::Product => {
            let product: f64 = exact.iter().product();
            (product, product.abs())
        }
        Op::Min => (exact.iter().copied().fold(f64::INFINITY, f64::min), 0.0),
        Op::Max => (exact.iter().copied().fold(f64::NEG_INFINITY, f64::max), 0.0),
        Op::Average => {
            (exact.iter().sum::<f64>() / count, exact.iter().map(|value| value.abs()).sum::<f64>() / count)
        }
    };
    let off = (found.exact() - expected).abs();
    assert!(off <= T::EPSILON * count * size, "{where_}: {op:?} of {inputs:?}: {found:?}, not {expected}");
}

/// A command that starts this test program again, through the same loader if the command line names one, as
/// test runners do.
pub(crate) fn this_program() -> std::process::Command {
    use std::os::unix::ffi::OsStringExt as _;
    let line = std::fs::read("/proc/self/cmdline").unwrap();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    let words = line.split(|byte| *byte == 0).map(|word| std::ffi::OsString::from_vec(word.to_vec()));
    let mut words: Vec<_> = words.collect();
    // The program's own arguments come last.
    words.truncate(words.len() + 1 - std::env::args_os().len());
    let mut command = std::process::Command::new(&words[0]);
    command.args(&words[1..]);
    command
}
