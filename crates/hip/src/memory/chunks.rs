//! Views divided into chunks of equal length.

use std::fmt;
use std::iter::FusedIterator;

use super::{DeviceCopy, DeviceSlice, DeviceSliceMut};
use crate::error::{Error, Result};

/// An iterator over shared views of chunks of device memory: made by `chunks`.
#[derive(Clone)]
pub struct Chunks<'a, T> {
    rest: DeviceSlice<'a, T>,
    size: usize,
}

/// An iterator over exclusive views of chunks of device memory, which can be written independently: made by
/// `chunks_mut`.
pub struct ChunksMut<'a, T> {
    rest: Option<DeviceSliceMut<'a, T>>,
    size: usize,
}

/// The length of the last chunk.
fn last(len: usize, size: usize) -> usize {
    match len % size {
        0 => size.min(len),
        rest => rest,
    }
}

fn some_elements(size: usize) -> Result<()> {
    if size == 0 { Err(Error::ChunkSize) } else { Ok(()) }
}

impl<'a, T: DeviceCopy> Chunks<'a, T> {
    pub(super) fn new(view: DeviceSlice<'a, T>, size: usize) -> Result<Self> {
        some_elements(size)?;
        Ok(Self { rest: view, size })
    }

    fn remaining(&self) -> usize {
        self.rest.len().div_ceil(self.size)
    }

    /// Returns the part before `middle`, or from it on, and keeps the other.
    fn split(&mut self, middle: usize, front: bool) -> Option<DeviceSlice<'a, T>> {
        if self.rest.is_empty() {
            return None;
        }
        let (before, after) = self.rest.split_at(middle).ok()?;
        let (piece, rest) = if front { (before, after) } else { (after, before) };
        self.rest = rest;
        Some(piece)
    }
}

impl<'a, T: DeviceCopy> ChunksMut<'a, T> {
    pub(super) fn new(view: DeviceSliceMut<'a, T>, size: usize) -> Result<Self> {
        some_elements(size)?;
        Ok(Self { rest: Some(view), size })
    }

    fn len_of_rest(&self) -> usize {
        self.rest.as_ref().map_or(0, DeviceSliceMut::len)
    }

    fn remaining(&self) -> usize {
        self.len_of_rest().div_ceil(self.size)
    }

    /// As [`Chunks::split`].
    fn split(&mut self, middle: usize, front: bool) -> Option<DeviceSliceMut<'a, T>> {
        let rest = self.rest.take().filter(|rest| !rest.is_empty())?;
        let (before, after) = rest.split_at_mut(middle).ok()?;
        let (piece, rest) = if front { (before, after) } else { (after, before) };
        self.rest = Some(rest);
        Some(piece)
    }
}

impl<'a, T: DeviceCopy> Iterator for Chunks<'a, T> {
    type Item = DeviceSlice<'a, T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.split(self.size.min(self.rest.len()), true)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining(), Some(self.remaining()))
    }
}

impl<T: DeviceCopy> DoubleEndedIterator for Chunks<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let len = self.rest.len();
        self.split(len - last(len, self.size), false)
    }
}

impl<'a, T: DeviceCopy> Iterator for ChunksMut<'a, T> {
    type Item = DeviceSliceMut<'a, T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.split(self.size.min(self.len_of_rest()), true)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining(), Some(self.remaining()))
    }
}

impl<T: DeviceCopy> DoubleEndedIterator for ChunksMut<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let len = self.len_of_rest();
        self.split(len - last(len, self.size), false)
    }
}

impl<T: DeviceCopy> ExactSizeIterator for Chunks<'_, T> {}
impl<T: DeviceCopy> ExactSizeIterator for ChunksMut<'_, T> {}
impl<T: DeviceCopy> FusedIterator for Chunks<'_, T> {}
impl<T: DeviceCopy> FusedIterator for ChunksMut<'_, T> {}

impl<T> fmt::Debug for Chunks<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks").field("rest", &self.rest).field("size", &self.size).finish()
    }
}

impl<T> fmt::Debug for ChunksMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunksMut").field("rest", &self.rest).field("size", &self.size).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::DeviceBuffer;

    #[test]
    fn pieces_are_those_of_a_slice_from_both_ends() {
        let device = crate::fake::device(0);
        for (len, size) in [(0, 1), (1, 1), (7, 3), (9, 3), (2, 5), (5, usize::MAX)] {
            let host: Vec<u16> = (0..len).collect();
            let mut buffer = DeviceBuffer::<u16>::uninit(&device, host.len()).unwrap();
            let start = buffer.address().0;
            let place = |address: u64, len: usize| ((address - start) as usize / 2, len);
            let expected: Vec<_> =
                host.chunks(size).map(|chunk| (usize::from(chunk[0]), chunk.len())).collect();
            let chunks = buffer.chunks(size).unwrap();
            assert_eq!(chunks.len(), expected.len());
            assert_eq!(chunks.map(|view| place(view.start().0, view.len())).collect::<Vec<_>>(), expected);
            let reversed: Vec<_> = expected.iter().rev().copied().collect();
            let back = buffer.chunks(size).unwrap().rev().map(|view| place(view.start().0, view.len()));
            assert_eq!(back.collect::<Vec<_>>(), reversed);
            let chunks = buffer.chunks_mut(size).unwrap();
            assert_eq!(chunks.len(), expected.len());
            assert_eq!(chunks.map(|view| place(view.start().0, view.len())).collect::<Vec<_>>(), expected);
            let back = buffer.chunks_mut(size).unwrap().rev().map(|view| place(view.start().0, view.len()));
            assert_eq!(back.collect::<Vec<_>>(), reversed);
            let mut chunks = buffer.chunks(size).unwrap();
            while chunks.next().is_some() {}
            assert!(chunks.next().is_none() && chunks.next_back().is_none());
        }
        let buffer = DeviceBuffer::<u16>::uninit(&device, 4).unwrap();
        assert!(matches!(buffer.chunks(0), Err(Error::ChunkSize)));
    }
}
