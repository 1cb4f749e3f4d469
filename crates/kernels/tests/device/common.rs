//! Shared by the device tests: the device under test and numbers to try.

use hip::{Device, DeviceBuffer, DeviceCopy, Stream};
use kernels::{Element, Kernels};
use test_skip::{Lack, skip};

use crate::record;

/// The device under test: `FERROCM_DEVICE`, or a virtual gfx1100.
pub(crate) struct Bench {
    pub(crate) kernels: Kernels,
    pub(crate) stream: Stream,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let Some(folder) = record::folder() else { return };
        self.note();
        record::leave(&folder, &self.kernels.device().target().processor);
    }
}

impl Bench {
    pub(crate) fn open() -> Self {
        let uri = std::env::var("FERROCM_DEVICE").unwrap_or_else(|_| "vgpu:gfx1100".to_owned());
        let device = Device::open(&uri).unwrap();
        let stream = device.stream().unwrap();
        if record::folder().is_some() {
            // Only virtual GPUs count kernels and name them.
            stream.set_counters(true).unwrap();
        }
        Self { kernels: Kernels::new(&device), stream }
    }

    /// Whether tests of very large tensors run on this device. They take long and check the same on all
    /// targets, so they only run on one.
    pub(crate) fn is_for_sizes(&self) -> bool {
        let is = self.kernels.device().target().processor == "gfx90a";
        if !is {
            skip(Lack::Device, "the largest sizes are run on gfx90a only");
        }
        is
    }

    /// Records which kernels have run, if asked to.
    fn note(&self) {
        if record::folder().is_some() {
            // A test may expect a fault.
            let counted = self.stream.take_counters().unwrap_or_default();
            record::launched(counted.into_iter().map(|counters| counters.kernel));
        }
    }

    pub(crate) fn upload<T: DeviceCopy>(&self, values: &[T]) -> DeviceBuffer<T> {
        DeviceBuffer::from_slice(&self.stream, values).unwrap()
    }

    pub(crate) fn zeroed<T: DeviceCopy>(&self, len: usize) -> DeviceBuffer<T> {
        DeviceBuffer::zeroed(&self.stream, len).unwrap()
    }

    pub(crate) fn download<T: DeviceCopy>(&self, buffer: &DeviceBuffer<T>) -> Vec<T> {
        let values = buffer.to_vec(&self.stream).unwrap();
        self.note();
        values
    }
}

/// Pseudo-random numbers in `-range..range`.
#[allow(dead_code, reason = "not every test file needs random numbers")]
pub(crate) fn random<T: Element>(count: usize, seed: u64, range: f64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(|_| T::from_f64((next() * 2.0 - 1.0) * range)).collect()
}

/// Numbers that arithmetic treats specially, and their neighbours.
#[allow(dead_code, reason = "not every test file needs special numbers")]
pub(crate) fn special<T: Element>() -> Vec<T> {
    let least = T::UNDERFLOW * 2.0;
    let positive = [
        0.0,
        least,
        1e-4,
        0.25,
        0.5,
        0.75,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        7.0,
        10.0,
        60000.0,
        f64::INFINITY,
        f64::NAN,
    ];
    positive.iter().flat_map(|&x| [T::from_f64(x), T::from_f64(-x)]).collect()
}

/// Runs a generic check for every element type.
macro_rules! for_every_type {
    ($check:ident) => {
        $check::<f32>(&$crate::common::Bench::open());
        $check::<half::f16>(&$crate::common::Bench::open());
        $check::<half::bf16>(&$crate::common::Bench::open());
    };
}
pub(crate) use for_every_type;

/// Runs a generic check for every floating-point type.
macro_rules! for_every_real {
    ($check:ident) => {
        $crate::common::for_every_type!($check);
        $check::<f64>(&$crate::common::Bench::open());
        $check::<kernels::F8E4M3>(&$crate::common::Bench::open());
    };
}
pub(crate) use for_every_real;

/// Runs a generic check for every type of elements.
macro_rules! for_every_element {
    ($check:ident) => {
        $crate::common::for_every_real!($check);
        $check::<u8>(&$crate::common::Bench::open());
        $check::<u32>(&$crate::common::Bench::open());
        $check::<i16>(&$crate::common::Bench::open());
        $check::<i32>(&$crate::common::Bench::open());
        $check::<i64>(&$crate::common::Bench::open());
    };
}
pub(crate) use for_every_element;

/// Every index of a shape, in row-major order.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &extent in shape {
        all =
            all.into_iter().flat_map(|index| (0..extent).map(move |i| [&index[..], &[i]].concat())).collect();
    }
    all
}

/// The places of a layout's elements, in row-major order.
pub(crate) fn places(layout: &kernels::Layout) -> Vec<usize> {
    let place =
        |index: Vec<usize>| index.iter().zip(layout.strides()).map(|(i, stride)| i * stride).sum::<usize>();
    indices(layout.shape()).into_iter().map(|index| layout.start() + place(index)).collect()
}

/// Memory with a tensor's elements at the places of a layout, and other values in between.
pub(crate) fn laid_out<T: Element>(values: &[T], layout: &kernels::Layout) -> Vec<T> {
    let mut memory = vec![T::from_f64(55.0); layout.end()];
    for (place, value) in places(layout).into_iter().zip(values) {
        memory[place] = *value;
    }
    memory
}

/// A layout of batch × channels × extents where channels are innermost in memory, between two others.
pub(crate) fn channels_last(shape: &[usize]) -> kernels::Layout {
    let (batch, channels, extents) = (shape[0], shape[1], &shape[2..]);
    let memory = [&[batch], extents, &[channels + 2]].concat();
    let last = memory.len() - 1;
    let axes: Vec<usize> = [0, last].into_iter().chain(1..last).collect();
    let all = kernels::Layout::contiguous(&memory).unwrap();
    all.narrow(last, 1, channels).unwrap().permute(&axes).unwrap()
}
