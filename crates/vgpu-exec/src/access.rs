//! What a wave can access besides its registers: checked global memory, LDS and scratch.

use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

use gpu_report::{AccessKind, Allocation, FaultKind, Space};

use super::fault::WaveFault;
use super::wave_sync::WaveSync;

/// The global memory that waves access: which ranges of it are live.
///
/// # Safety
/// A range returned by [`find`](GlobalMemory::find) or [`find_variable`](GlobalMemory::find_variable) can be
/// read, and also written if the result says so, until the wave that asked begins its next time slice.
pub unsafe trait GlobalMemory: std::fmt::Debug + Send + Sync {
    /// The live allocation that contains `[address, address + size)`: its start, its end, and whether it is
    /// writable.
    fn find(&self, address: u64, size: u64) -> Option<(u64, u64, bool)>;

    /// The variables of a code object that contain `[address, address + size)`: their start and end.
    fn find_variable(&self, address: u64, size: u64) -> Option<(u64, u64)>;

    /// The allocation that contains the address.
    fn lookup(&self, address: u64) -> Option<Allocation>;

    /// The reason why an access is refused.
    fn explain(&self, access: AccessKind, address: u64, size: u64) -> FaultKind;
}

/// Base of the LDS aperture in flat addresses. Its low 32 bits are zero, and so are the low 16 bits of its
/// high half, as `HW_REG_SH_MEM_BASES` requires.
pub const SHARED_APERTURE: u64 = 0x0001_0000_0000_0000;
/// Base of the scratch aperture in flat addresses.
pub const PRIVATE_APERTURE: u64 = 0x0002_0000_0000_0000;
/// The value of `HW_REG_SH_MEM_BASES`: bits 63..48 of the private and shared aperture.
pub(crate) const SH_MEM_BASES: u32 = ((SHARED_APERTURE >> 48) << 16 | PRIVATE_APERTURE >> 48) as u32;

/// The number of ranges that a wave remembers.
const WAYS: usize = 4;

/// A verified range of global memory.
#[derive(Clone, Copy, Debug)]
struct Verified {
    start: u64,
    end: u64,
    writable: bool,
}

/// The location of a kernel's arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arguments {
    /// Their address.
    pub start: u64,
    /// Bytes that the kernel declares.
    pub size: u32,
}

impl Arguments {
    /// The rest of their last page. Compilers load whole pieces of 16 bytes, the alignment of the segment.
    fn rest(self) -> Range<u64> {
        let end = self.start.saturating_add(u64::from(self.size).next_multiple_of(16));
        end..end.checked_next_multiple_of(4096).unwrap_or(end)
    }
}

impl Verified {
    /// Whether it contains `[address, address + size)` and permits the access.
    #[inline(always)]
    fn permits(&self, access: AccessKind, address: u64, size: u64) -> bool {
        let bytes = self.end - self.start;
        let inside = size <= bytes && address.wrapping_sub(self.start) <= bytes - size;
        inside && (access == AccessKind::Read || self.writable)
    }
}

/// Where a wave's [`Access`] has what native code reads, relative to it.
pub(crate) const RANGES: crate::native::Ranges = crate::native::Ranges {
    first: offset_of!(Access, verified) as i32,
    size: size_of::<Verified>() as i32,
    count: WAYS as i32,
    start: offset_of!(Verified, start) as i32,
    end: offset_of!(Verified, end) as i32,
    writable: offset_of!(Verified, writable) as i32,
};

const NOTHING: Verified = Verified { start: 0, end: 0, writable: false };

/// A wave's access to memory.
#[derive(Debug)]
pub struct Access {
    /// Ranges known to be live in `epoch`, most recent first. The wave's own scratch memory is never among
    /// them.
    verified: [Verified; WAYS],
    epoch: u64,
    memory: Arc<dyn GlobalMemory>,
    /// The running code object, which must not change its own constants.
    code: Range<u64>,
    /// The running kernel's arguments, if their bounds are checked.
    arguments: Option<Arguments>,
    /// The workgroup's LDS and its size in bytes.
    pub lds: *mut u8,
    /// See `lds`.
    pub lds_size: u32,
    /// Whether an access beyond the end of LDS is a fault. On hardware, it reads zero and writes nothing.
    pub strict_lds: bool,
    /// The target of accesses that hardware drops.
    nowhere: [u64; 2],
    /// The wave's scratch memory: dword `d` of lane `l` at dword `d * lanes + l`. 64-byte aligned.
    pub scratch: *mut u8,
    /// Bytes of scratch memory each lane has.
    pub scratch_size: u32,
    /// The global wave sync of the wave's dispatch.
    pub sync: *const WaveSync,
}

impl Access {
    /// Creates a wave's access to `memory`. LDS and scratch are set for each workgroup.
    pub fn new<M: GlobalMemory + 'static>(memory: Arc<M>) -> Self {
        Access {
            verified: [NOTHING; WAYS],
            epoch: 0,
            memory,
            code: 0..0,
            arguments: None,
            lds: std::ptr::null_mut(),
            lds_size: 0,
            strict_lds: false,
            nowhere: [0; 2],
            scratch: std::ptr::null_mut(),
            scratch_size: 0,
            sync: std::ptr::null(),
        }
    }

    /// Sets the range of the code object whose kernel the wave runs from now on.
    pub fn set_code(&mut self, code: Range<u64>) {
        if self.code != code {
            self.code = code;
            self.verified = [NOTHING; WAYS];
        }
    }

    /// Sets the arguments of the kernel that the wave runs from now on, if their bounds are checked.
    pub fn set_arguments(&mut self, arguments: Option<Arguments>) {
        if self.arguments != arguments {
            self.arguments = arguments;
            self.verified = [NOTHING; WAYS];
        }
    }

    /// Begins a time slice of the wave. If the memory's epoch has changed, forgets all ranges, because they
    /// may have been freed since they were verified.
    #[inline]
    pub fn begin_slice(&mut self, epoch: u64) {
        if epoch != self.epoch {
            self.verified = [NOTHING; WAYS];
            self.epoch = epoch;
        }
    }

    /// Whether a single live allocation contains `[address, address + size)` and permits the access.
    #[inline(always)]
    pub fn permits(&mut self, access: AccessKind, address: u64, size: u64) -> bool {
        for range in &self.verified {
            if range.permits(access, address, size) {
                return true;
            }
        }
        self.look_up(access, address, size)
    }

    /// The live allocation that contains `[address, address + size)`, if it permits the access.
    #[inline(always)]
    pub(crate) fn range(&mut self, access: AccessKind, address: u64, size: u64) -> Option<(u64, u64)> {
        for range in &self.verified {
            if range.permits(access, address, size) {
                return Some((range.start, range.end));
            }
        }
        let found = self.look_up(access, address, size);
        found.then_some((self.verified[0].start, self.verified[0].end))
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, access: AccessKind, address: u64, size: u64) -> bool {
        let Some((start, end, writable)) = self.memory.find(address, size) else { return false };
        let mut found = Verified { start, end, writable };
        if !writable && access != AccessKind::Read && !self.code.contains(&address) {
            let Some((start, end)) = self.memory.find_variable(address, size) else { return false };
            found = Verified { start, end, writable: true };
        }
        if let Some(rest) = self.arguments.map(|arguments| arguments.rest()) {
            if rest.start < address + size && address < rest.end {
                return false;
            }
            match address < rest.start {
                true => found.end = found.end.min(rest.start),
                false => found.start = found.start.max(rest.end),
            }
        }
        self.verified.rotate_right(1);
        self.verified[0] = found;
        found.writable || access == AccessKind::Read
    }

    /// The fault for an access to global memory that [`Access::permits`] refused.
    #[cold]
    pub(crate) fn refused(
        &self,
        access: AccessKind,
        address: u64,
        size: u64,
        lane: Option<usize>,
    ) -> Box<WaveFault> {
        let beyond = self.arguments.filter(|arguments| {
            let rest = arguments.rest();
            rest.start < address.saturating_add(size) && address < rest.end
        });
        let kind = match beyond {
            Some(Arguments { start, size: limit }) => {
                let address = address.wrapping_sub(start);
                FaultKind::BeyondArguments { access, address, size, limit: limit.into() }
            }
            None => self.memory.explain(access, address, size),
        };
        Box::new(WaveFault { kind, lane: lane.map(|lane| lane as u8), other: None })
    }

    /// Returns a pointer to `bytes` bytes of LDS (at most 16). Beyond the end of the workgroup's LDS, it
    /// points to a place that reads as zero and loses writes, or it is a fault if accesses are strict.
    #[inline]
    pub(crate) fn lds_place(
        &mut self,
        access: AccessKind,
        address: u64,
        bytes: u64,
        lane: Option<usize>,
    ) -> Result<*mut u8, Box<WaveFault>> {
        if address.checked_add(bytes).is_some_and(|end| end <= u64::from(self.lds_size)) {
            return Ok(self.lds.wrapping_add(address as usize));
        }
        if self.strict_lds {
            return Err(self.beyond(Space::Lds, access, address, bytes, lane));
        }
        Ok(self.nowhere())
    }

    /// Sixteen zero bytes for dropped accesses; nobody reads what is written there.
    pub(crate) fn nowhere(&mut self) -> *mut u8 {
        self.nowhere = [0; 2];
        self.nowhere.as_mut_ptr().cast()
    }

    /// The fault for an access beyond the end of LDS or scratch.
    #[cold]
    pub(crate) fn beyond(
        &self,
        space: Space,
        access: AccessKind,
        address: u64,
        size: u64,
        lane: Option<usize>,
    ) -> Box<WaveFault> {
        let limit = u64::from(if space == Space::Lds { self.lds_size } else { self.scratch_size });
        let kind = FaultKind::BeyondLimit { space, access, address, size, limit };
        Box::new(WaveFault { kind, lane: lane.map(|lane| lane as u8), other: None })
    }

    /// The fault for a misaligned access.
    #[cold]
    pub(crate) fn misaligned(
        &self,
        space: Space,
        access: AccessKind,
        address: u64,
        required: u64,
        lane: usize,
    ) -> Box<WaveFault> {
        let allocation = if space == Space::Global { self.memory.lookup(address) } else { None };
        let kind = FaultKind::Misaligned { space, access, address, required, allocation };
        Box::new(WaveFault { kind, lane: Some(lane as u8), other: None })
    }
}

/// Memory without any allocation.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct NoMemory;

// SAFETY: it finds nothing.
#[cfg(test)]
unsafe impl GlobalMemory for NoMemory {
    fn find(&self, _: u64, _: u64) -> Option<(u64, u64, bool)> {
        None
    }

    fn find_variable(&self, _: u64, _: u64) -> Option<(u64, u64)> {
        None
    }

    fn lookup(&self, _: u64) -> Option<Allocation> {
        None
    }

    fn explain(&self, access: AccessKind, address: u64, size: u64) -> FaultKind {
        FaultKind::OutOfBounds { access, address, size, nearest: None }
    }
}
