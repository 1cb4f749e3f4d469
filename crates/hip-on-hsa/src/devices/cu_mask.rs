//! Streams whose kernels run only on some of the device's multiprocessors.

use crate::devices::device::Device;

const BITS: u32 = u32::BITS;

/// A bit for each multiprocessor of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CuMask(pub(crate) Box<[u32]>);

impl CuMask {
    /// All of them.
    pub(crate) fn all(device: &Device) -> Self {
        let count = device.multiprocessors();
        let word = |first: u32| match count - first {
            left if left < BITS => (1 << left) - 1,
            _ => u32::MAX,
        };
        Self((0..count).step_by(BITS as usize).map(word).collect())
    }

    /// The multiprocessors of a program's list that the device has; none if it has none of them, which means
    /// no restriction, as with AMD's runtime.
    pub(crate) fn of(device: &Device, words: &[u32]) -> Option<Self> {
        let mut mask = Self::all(device);
        let words = words.iter().copied().chain(std::iter::repeat(0));
        mask.0.iter_mut().zip(words).for_each(|(bits, wanted)| *bits &= wanted);
        mask.0.iter().any(|&bits| bits != 0).then_some(mask)
    }

    /// The same for HSA, which counts compute units, of which a multiprocessor may have two.
    pub(crate) fn compute_units(&self, device: &Device) -> Vec<u32> {
        let each = device.units_per_multiprocessor();
        let mut units = vec![0; self.0.len() * each as usize];
        for unit in 0..device.multiprocessors() * each {
            let of = unit / each;
            if self.0[(of / BITS) as usize] >> (of % BITS) & 1 == 1 {
                units[(unit / BITS) as usize] |= 1 << (unit % BITS);
            }
        }
        units
    }
}
