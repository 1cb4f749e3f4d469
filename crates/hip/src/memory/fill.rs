//! Fills with a value of any size, made of sets of 1, 2 or 4 bytes and of copies on the device.

use hip_sys::hipMemcpyKind;
use smallvec::SmallVec;

use super::{DeviceAddress, DeviceCopy, DeviceSliceMut};
use crate::call::call;
use crate::error::Result;
use crate::stream::Stream;

/// One operation of a fill, at an offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FillStep {
    /// Repeats a pattern, whose size divides `bytes`.
    Set { at: usize, bytes: usize, pattern: Pattern },
    /// Copies the first `bytes` bytes, all before `at`, as they are by then.
    Copy { at: usize, bytes: usize },
}

/// A value that one set can repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    One(u8),
    Two(u16),
    Four(i32),
}

impl Pattern {
    /// The shortest pattern of at most `longest` bytes whose repetition gives `bytes`.
    fn of(bytes: &[u8], longest: usize) -> Option<Self> {
        let repeats = |size: usize| {
            size <= longest
                && bytes.len().is_multiple_of(size)
                && bytes.chunks_exact(size).all(|chunk| *chunk == bytes[..size])
        };
        match *bytes {
            [a, ..] if repeats(1) => Some(Self::One(a)),
            [a, b, ..] if repeats(2) => Some(Self::Two(u16::from_ne_bytes([a, b]))),
            [a, b, c, d, ..] if repeats(4) => Some(Self::Four(i32::from_ne_bytes([a, b, c, d]))),
            _ => None,
        }
    }
}

/// The operations that fill `total` bytes at `start` with repetitions of `value`. A pattern takes one set.
/// Any other value is set word by word in its first place and then doubled, so that nothing is read from the
/// host later.
pub(crate) fn fill_steps(start: DeviceAddress, value: &[u8], total: usize) -> SmallVec<[FillStep; 4]> {
    let mut steps = SmallVec::new();
    if value.is_empty() || total == 0 {
        return steps;
    }
    // Sets need addresses that are multiples of their pattern's size.
    let aligned = 1 << start.0.trailing_zeros().min(2);
    if let Some(pattern) = Pattern::of(value, aligned) {
        steps.push(FillStep::Set { at: 0, bytes: total, pattern });
        return steps;
    }
    let word = aligned.min(1 << value.len().trailing_zeros().min(2));
    let mut at = 0;
    for run in value.chunks_exact(word).collect::<Vec<_>>().chunk_by(|a, b| a == b) {
        let bytes = run.len() * word;
        steps.extend(Pattern::of(run[0], word).map(|pattern| FillStep::Set { at, bytes, pattern }));
        at += bytes;
    }
    while at < total {
        let bytes = at.min(total - at);
        steps.push(FillStep::Copy { at, bytes });
        at += bytes;
    }
    steps
}

/// The bytes of a value.
#[inline]
pub(crate) fn bytes_of<T: DeviceCopy>(value: &T) -> &[u8] {
    // SAFETY: a `DeviceCopy` value has no padding, so its bytes are all initialised.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size_of::<T>()) }
}

impl<T: DeviceCopy> DeviceSliceMut<'_, T> {
    /// Sets every element to `value`; does not block.
    ///
    /// Elements of 1, 2 and 4 bytes, and values that repeat such a pattern, take one `hipMemsetD8Async`,
    /// `…D16Async` or `…D32Async`. For other values, a few of these set the first element, and copies on the
    /// device then double it (`hipMemcpyAsync`).
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) if the stream belongs to another device,
    /// [`Error::Fault`](crate::Error::Fault) if it has faulted, else [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "hipMemsetAsync")]
    #[doc(alias = "cudaMemsetAsync")]
    pub fn fill(&mut self, stream: &Stream, value: T) -> Result<()> {
        self.repeat(stream, bytes_of(&value))
    }

    /// Sets every byte to zero.
    pub(crate) fn fill_zero(&mut self, stream: &Stream) -> Result<()> {
        self.repeat(stream, &[0])
    }

    fn repeat(&mut self, stream: &Stream, value: &[u8]) -> Result<()> {
        stream.device().reaches(self.device(), "fill", "buffer")?;
        let (start, bytes) = (self.start(), self.size_in_bytes());
        if bytes == 0 {
            return Ok(());
        }
        stream.make_current_or_capture()?;
        self.allocation().write_on(stream)?;
        let (table, handle) = (stream.table(), stream.handle());
        let place = |at: usize| start.offset(at).pointer();
        fill_steps(start, value, bytes).into_iter().try_for_each(|step| {
            // SAFETY: all of it is inside the view, and each copy's source comes before its destination.
            stream.check(unsafe {
                match step {
                    FillStep::Set { at, bytes, pattern: Pattern::One(value) } => {
                        call!(table, hipMemsetD8Async(place(at), value, bytes, handle))
                    }
                    FillStep::Set { at, bytes, pattern: Pattern::Two(value) } => {
                        call!(table, hipMemsetD16Async(place(at), value, bytes / 2, handle))
                    }
                    FillStep::Set { at, bytes, pattern: Pattern::Four(value) } => {
                        call!(table, hipMemsetD32Async(place(at), value, bytes / 4, handle))
                    }
                    FillStep::Copy { at, bytes } => {
                        let (source, kind) = (place(0).cast_const(), hipMemcpyKind::hipMemcpyDeviceToDevice);
                        call!(table, hipMemcpyAsync(place(at), source, bytes, kind, handle))
                    }
                }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_pattern_is_found() {
        assert_eq!(Pattern::of(&[0; 16], 4), Some(Pattern::One(0)));
        assert_eq!(Pattern::of(&[1, 2, 1, 2], 4), Some(Pattern::Two(u16::from_ne_bytes([1, 2]))));
        assert_eq!(Pattern::of(&[1, 2, 1, 2], 1), None);
        assert_eq!(Pattern::of(&1.0_f32.to_ne_bytes(), 4), Some(Pattern::Four(1.0_f32.to_bits() as i32)));
        assert_eq!(Pattern::of(&1.5_f64.to_ne_bytes(), 4), None);
        assert_eq!(Pattern::of(&[1, 2, 3], 4), None);
        assert_eq!(Pattern::of(&[7, 7, 7], 4), Some(Pattern::One(7)));
        assert_eq!(Pattern::of(&[], 4), None);
    }

    /// Executes the steps on the host, and checks their guarantees.
    fn run(start: u64, value: &[u8], total: usize) -> Vec<u8> {
        let mut memory = vec![0xee; total];
        for step in fill_steps(DeviceAddress(start), value, total) {
            match step {
                FillStep::Set { at, bytes, pattern } => {
                    let word = match pattern {
                        Pattern::One(value) => value.to_ne_bytes().to_vec(),
                        Pattern::Two(value) => value.to_ne_bytes().to_vec(),
                        Pattern::Four(value) => value.to_ne_bytes().to_vec(),
                    };
                    assert!((start as usize + at).is_multiple_of(word.len()), "aligned");
                    assert!(bytes.is_multiple_of(word.len()), "whole words");
                    memory[at..at + bytes]
                        .chunks_exact_mut(word.len())
                        .for_each(|to| to.copy_from_slice(&word));
                }
                FillStep::Copy { at, bytes } => {
                    assert!(bytes <= at, "no overlap");
                    memory.copy_within(..bytes, at);
                }
            }
        }
        memory
    }

    #[test]
    fn every_value_is_repeated_from_every_address() {
        // All of them would take Miri a quarter of an hour.
        let (step, most) = if cfg!(miri) { (7, 7) } else { (1, 100) };
        for size in (1..=24_usize).step_by(step) {
            let values: [Vec<u8>; 4] = [
                (1..=size as u8).collect(),
                vec![9; size],
                (0..size).map(|byte| u8::from(byte >= size / 2)).collect(),
                (0..size).map(|byte| [1, 2, 3, 4][byte % 4]).collect(),
            ];
            for (value, start) in values.iter().flat_map(|value| (256..264).map(move |start| (value, start)))
            {
                for elements in [1, 2, 3, 7, 64, 100].into_iter().filter(|&elements| elements <= most) {
                    assert_eq!(run(start, value, size * elements), value.repeat(elements), "{size} {start}");
                }
            }
        }
        assert!(fill_steps(DeviceAddress(256), &[], 0).is_empty());
    }

    #[test]
    fn equal_words_are_one_set_and_copies_double() {
        let mut value = [0_u8; 16];
        value[12] = 1;
        let last = i32::from_ne_bytes([1, 0, 0, 0]);
        let expected = [
            FillStep::Set { at: 0, bytes: 12, pattern: Pattern::One(0) },
            FillStep::Set { at: 12, bytes: 4, pattern: Pattern::Four(last) },
            FillStep::Copy { at: 16, bytes: 16 },
            FillStep::Copy { at: 32, bytes: 32 },
            FillStep::Copy { at: 64, bytes: 16 },
        ];
        assert_eq!(fill_steps(DeviceAddress(256), &value, 80)[..], expected);
    }
}
