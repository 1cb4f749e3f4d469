//! Commands that are kernels of the device library.

use std::ops::Range;

use super::{Arg, Grid, Place, Recorder, check_workgroup};
use crate::error::{Error, Result};
use crate::executable::Kernel;
use crate::replay::contents::Command;

/// Work-items of a workgroup of the library's copies and fills.
const WORK_ITEMS: u32 = 256;
/// Bytes that a workgroup moves at a time.
const BYTES: u64 = 16 * WORK_ITEMS as u64;
/// More workgroups than any device holds at once; each goes on with the next part.
const WORKGROUPS: u64 = 4096;

/// The bytes of an update, at most.
const UPDATE: usize = 64 << 10;

impl Recorder {
    fn library(&self, operation: &'static str, kernel: &str) -> Result<Kernel> {
        self.library.as_ref().ok_or(Error::NoLibrary(operation))?.kernel(kernel)
    }

    /// Launches a kernel of the library; returns where its arguments are.
    fn launch(&mut self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<Range<usize>> {
        let arguments = self.write_arguments(kernel, &grid, args)?;
        self.push(kernel, &grid, arguments.clone(), None);
        Ok(arguments)
    }

    /// Copies `len` bytes between places that do not overlap.
    ///
    /// # Errors
    /// A range is outside its buffer, the ranges overlap, or the device was opened without its library.
    pub fn copy(&mut self, to: Place<'_>, from: Place<'_>, len: u64) -> Result<&mut Self> {
        let kernel = self.library("a copy", "hal_copy")?;
        self.check_place(to, len)?;
        self.check_place(from, len)?;
        if let (Place::Buffer(one, first), Place::Buffer(two, second)) = (to, from)
            && one.address() + first < two.address() + second + len
            && two.address() + second < one.address() + first + len
            && len != 0
        {
            return Err(Error::Arguments {
                kernel: kernel.name().to_owned(),
                problem: "source and target of a copy overlap".to_owned(),
            });
        }
        let size = len.to_le_bytes();
        let args = [Arg::At(to), Arg::At(from), Arg::Bytes(&size)];
        self.moving(&kernel, len, &args, &[to, from])?;
        self.take_down(|| Command::Copy { to: to.into(), from: from.into(), len });
        Ok(self)
    }

    /// Fills `len` bytes with a pattern of 1, 2, 4, 8 or 16 bytes, from the first byte on.
    ///
    /// # Errors
    /// The range is outside its buffer, or is no whole number of patterns; the pattern has another size; or
    /// the device was opened without its library.
    pub fn fill(&mut self, to: Place<'_>, pattern: &[u8], len: u64) -> Result<&mut Self> {
        let kernel = self.library("a fill", "hal_fill")?;
        if !matches!(pattern.len(), 1 | 2 | 4 | 8 | 16) || !len.is_multiple_of(pattern.len() as u64) {
            return Err(Error::Arguments {
                kernel: kernel.name().to_owned(),
                problem: format!(
                    "a pattern has 1, 2, 4, 8 or 16 bytes, not {}, and fills a multiple of that, not {len}",
                    pattern.len()
                ),
            });
        }
        let mut words = [0u8; 16];
        for (index, byte) in words.iter_mut().enumerate() {
            *byte = pattern[index % pattern.len()];
        }
        let size = len.to_le_bytes();
        let (low, high) = words.split_at(8);
        let args = [Arg::At(to), Arg::Bytes(&size), Arg::Bytes(low), Arg::Bytes(high)];
        self.moving(&kernel, len, &args, &[to])?;
        self.take_down(|| Command::Fill { to: to.into(), pattern: pattern.into(), len });
        Ok(self)
    }

    /// Writes bytes that are recorded with the command, at most 64 KiB.
    ///
    /// # Errors
    /// The range is outside its buffer, there are more bytes, or the device was opened without its library.
    pub fn update(&mut self, to: Place<'_>, bytes: &[u8]) -> Result<&mut Self> {
        let kernel = self.library("an update", "hal_copy")?;
        let len = bytes.len() as u64;
        if bytes.len() > UPDATE {
            let (what, size) = ("an update".to_owned(), UPDATE as u64);
            return Err(Error::OutOfRange { what, offset: 0, len, size });
        }
        let data = self.draft.arguments(bytes.len(), 1);
        self.draft.bytes(data.clone()).copy_from_slice(bytes);
        let (none, size) = (0u64.to_le_bytes(), len.to_le_bytes());
        let args = [Arg::At(to), Arg::Bytes(&none), Arg::Bytes(&size)];
        if let Some(arguments) = self.moving(&kernel, len, &args, &[to])? {
            self.draft.refer(arguments.start + kernel.description().arguments[1].0, data.start);
        }
        self.take_down(|| Command::Update { to: to.into(), bytes: bytes.into() });
        Ok(self)
    }

    /// Launches a kernel of the library that touches `len` bytes at places, which are checked. Returns where
    /// its arguments are.
    fn moving(
        &mut self,
        kernel: &Kernel,
        len: u64,
        args: &[Arg<'_>],
        places: &[Place<'_>],
    ) -> Result<Option<Range<usize>>> {
        let grid = Grid::linear(len.div_ceil(BYTES).clamp(1, WORKGROUPS) as u32, WORK_ITEMS);
        for &place in places {
            self.check_place(place, len)?;
        }
        // Nothing to do, but the ranges were checked.
        (len != 0).then(|| self.launch(kernel, grid, args)).transpose()
    }

    /// An error unless `len` bytes are inside; a slot has to have them.
    fn check_place(&mut self, place: Place<'_>, len: u64) -> Result<()> {
        match place {
            Place::Buffer(buffer, offset) => {
                crate::error::check_range("a buffer", offset, len, buffer.size())
            }
            Place::Binding(slot, offset) => self.needs(slot, offset, len),
        }
    }

    /// Launches a kernel whose numbers of workgroups are in memory when it begins: three of 32 bits. If one
    /// of them is 0, or a dimension has more than 4,294,967,295 work-items, it does not run.
    ///
    /// # Errors
    /// As for [`dispatch`](Self::dispatch), or the device was opened without its library.
    ///
    /// # Safety
    /// As for [`dispatch`](Self::dispatch).
    pub unsafe fn dispatch_indirect(
        &mut self,
        kernel: &Kernel,
        workgroup: [u32; 3],
        dynamic_lds: u32,
        counts: Place<'_>,
        args: &[Arg<'_>],
    ) -> Result<&mut Self> {
        let patch = self.library("an indirect dispatch", "hal_patch")?;
        self.check_kernel(kernel)?;
        check_workgroup(kernel, workgroup)?;
        self.check_place(counts, 12)?;
        let grid = Grid { workgroups: [1; 3], workgroup, dynamic_lds };
        let captured = self.captured(kernel, args)?;
        let arguments = self.write_arguments(kernel, &grid, args)?;
        let hidden = kernel.description().hidden.block_counts();
        let places = hidden.map(|place| place.map_or(u32::MAX, |(offset, _)| offset as u32));
        let words: Vec<[u8; 4]> = workgroup.iter().chain(&places).map(|word| word.to_le_bytes()).collect();
        let none = 0u64.to_le_bytes();
        let mut own = vec![Arg::Bytes(&none), Arg::Bytes(&none), Arg::At(counts), Arg::Bytes(&none)];
        own.extend(words.iter().map(|word| Arg::Bytes(word)));
        let at = self.launch(&patch, Grid::linear(1, 1), &own)?.start;
        let offset = |index: usize| at + patch.description().arguments[index].0;
        self.draft.refer(offset(1), arguments.start);
        self.push(kernel, &grid, arguments, Some([offset(0), offset(3)]));
        if let Some((kernel, args)) = captured {
            let (counts, lds) = (counts.into(), dynamic_lds);
            self.list.commands.push(Command::Indirect { kernel, workgroup, lds, counts, args });
        }
        Ok(self)
    }

    /// Writes the time of the device's clock to eight bytes, once everything before the last barrier is done.
    ///
    /// # Errors
    /// The range is outside its buffer, or the device was opened without its library.
    pub fn time_stamp(&mut self, to: Place<'_>) -> Result<&mut Self> {
        let kernel = self.library("a time stamp", "hal_time")?;
        self.check_place(to, 8)?;
        self.launch(&kernel, Grid::linear(1, 1), &[Arg::At(to)])?;
        self.take_down(|| Command::TimeStamp { to: to.into() });
        Ok(self)
    }
}
