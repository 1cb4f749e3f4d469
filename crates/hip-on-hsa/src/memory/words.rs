//! Waits for values in memory and writes of values, single or in batches, in stream order.
//!
//! The host does both: a thread of the stream reads the memory until it has the value. So they work for
//! memory that the host can access, which is all except memory of devices behind a small window.

use std::convert::Infallible;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hip_sys::{hipError_t, hipStreamBatchMemOpParams, hipStreamBatchMemOpType};

use crate::caller;
use crate::devices::device::Device;
use crate::devices::stream::Stream;
use crate::devices::turn::Turn;
use crate::error::Result;
use crate::memory::allocation::{Use, memory};
use crate::memory::external::is_in_reach;
use crate::patience::wait_until;
use crate::runtime::Runtime;

type Kind = hipStreamBatchMemOpType;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Maximum operations of a batch. (The headers say "less than 256", but AMD's library accepts 256.)
const MOST: u32 = 256;

/// A word in memory that the host can access.
#[derive(Clone, Copy)]
struct Word {
    address: usize,
    is_long: bool,
    /// The owner of the memory.
    device: Option<&'static Device>,
}

impl Word {
    /// Checks that the address is that of an aligned word in known memory.
    fn of(runtime: &Runtime, address: usize, is_long: bool, what: Use) -> Result<Self> {
        let size = if is_long { 8 } else { 4 };
        let (found, offset) = memory(runtime).find(address).ok_or(INVALID_VALUE)?;
        let holds = size <= found.size - offset && memory(runtime).holds(&found, offset, size, what);
        if !holds || !address.is_multiple_of(size) {
            return Err(INVALID_VALUE);
        }
        let device = found.memory_of();
        if device.is_some_and(|device| !device.host_visible || !is_in_reach(runtime, address)) {
            return Err(hipError_t::hipErrorNotSupported);
        }
        Ok(Self { address: found.base + offset, is_long, device })
    }

    /// # Safety
    /// The memory is still allocated.
    unsafe fn load(self) -> u64 {
        // SAFETY: as this function's contract; the word is aligned, and everybody uses it by atomic accesses
        // of its size.
        unsafe {
            if self.is_long {
                AtomicU64::from_ptr(self.address as *mut u64).load(Ordering::Acquire)
            } else {
                AtomicU32::from_ptr(self.address as *mut u32).load(Ordering::Acquire).into()
            }
        }
    }

    /// # Safety
    /// The memory is still allocated.
    unsafe fn store(self, value: u64) {
        // SAFETY: as this function's contract; the word is aligned, and everybody uses it by atomic accesses
        // of its size.
        unsafe {
            if self.is_long {
                AtomicU64::from_ptr(self.address as *mut u64).store(value, Ordering::Release);
            } else {
                AtomicU32::from_ptr(self.address as *mut u32).store(value as u32, Ordering::Release);
            }
        }
        if let Some(device) = self.device {
            device.info.hdp_mem_flush.flush();
        }
    }
}

/// The condition of a wait.
#[derive(Clone, Copy)]
struct Condition {
    kind: u32,
    value: u64,
    mask: u64,
}

impl Condition {
    fn new(kind: u32, value: u64, mask: u64) -> Result<Self> {
        if kind > hip_sys::hipStreamWaitValueNor {
            Err(INVALID_VALUE)
        } else {
            Ok(Self { kind, value, mask })
        }
    }

    /// `width` has the bits of the word.
    fn holds(self, word: u64, width: u64) -> bool {
        let Self { kind, value, mask } = self;
        match kind {
            hip_sys::hipStreamWaitValueGte => word & mask >= value,
            hip_sys::hipStreamWaitValueEq => word & mask == value,
            hip_sys::hipStreamWaitValueAnd => word & mask & value != 0,
            _ => !((word & mask) | (value & mask)) & width != 0,
        }
    }
}

/// What to do with a word.
#[derive(Clone, Copy)]
enum Action {
    Wait(Condition),
    Write(u64),
}

/// One operation on a word of memory.
#[derive(Clone, Copy)]
struct MemoryOp {
    address: usize,
    is_long: bool,
    action: Action,
}

impl MemoryOp {
    /// # Safety
    /// The parameters have the member that their operation names.
    unsafe fn of(params: &hipStreamBatchMemOpParams) -> Result<Self> {
        // SAFETY: every member begins with the operation, and the others are as this function's contract
        // says.
        unsafe {
            let (kind, wait, write) = (params.operation, params.waitValue, params.writeValue);
            let is_long = matches!(kind, Kind::hipStreamMemOpWaitValue64 | Kind::hipStreamMemOpWriteValue64);
            let (address, value, action): (_, _, fn(u32, u64) -> Result<Action>) = match kind {
                Kind::hipStreamMemOpWaitValue32 | Kind::hipStreamMemOpWaitValue64 => {
                    (wait.address, wait.__bindgen_anon_1.value64, |flags, value| {
                        Ok(Action::Wait(Condition::new(flags, value, u64::MAX)?))
                    })
                }
                Kind::hipStreamMemOpWriteValue32 | Kind::hipStreamMemOpWriteValue64 => {
                    (write.address, write.__bindgen_anon_1.value64, |flags, value| match flags {
                        0 => Ok(Action::Write(value)),
                        _ => Err(INVALID_VALUE),
                    })
                }
                // Flushes and barriers are not supported by AMD, the headers say.
                _ => return Err(INVALID_VALUE),
            };
            let value = if is_long { value } else { value & u64::from(u32::MAX) };
            Ok(Self { address: address as usize, is_long, action: action(wait.flags, value)? })
        }
    }

    /// The parameters of a batch that has this operation; a mask is not among them.
    fn params(self) -> hipStreamBatchMemOpParams {
        let Self { address, is_long, action } = self;
        let mut params = hipStreamBatchMemOpParams::default();
        let address = address as *mut c_void;
        match action {
            Action::Wait(Condition { kind, value, .. }) => {
                params.waitValue.address = address;
                params.waitValue.__bindgen_anon_1.value64 = value;
                params.waitValue.flags = kind;
                params.waitValue.operation = match is_long {
                    true => Kind::hipStreamMemOpWaitValue64,
                    false => Kind::hipStreamMemOpWaitValue32,
                };
            }
            Action::Write(value) => {
                params.writeValue.address = address;
                params.writeValue.__bindgen_anon_1.value64 = value;
                params.writeValue.operation = match is_long {
                    true => Kind::hipStreamMemOpWriteValue64,
                    false => Kind::hipStreamMemOpWriteValue32,
                };
            }
        }
        params
    }

    /// Does it, unless `goes_on` reports that the stream has failed.
    ///
    /// # Safety
    /// The memory is still allocated.
    unsafe fn run(self, word: Word, goes_on: &impl Fn() -> bool) {
        let condition = match self.action {
            // SAFETY: as this function's contract.
            Action::Write(value) => return unsafe { word.store(value) },
            Action::Wait(condition) => condition,
        };
        let width = if self.is_long { u64::MAX } else { u32::MAX.into() };
        // SAFETY: as this function's contract.
        let is_there = || condition.holds(unsafe { word.load() }, width);
        let Ok(()) = wait_until(is_there, || Ok::<_, Infallible>(goes_on()));
    }
}

/// Operations on words of memory, done one after the other.
pub(crate) struct MemoryOps {
    ops: Box<[MemoryOp]>,
    /// The same in the form that programs pass and receive.
    params: Box<[hipStreamBatchMemOpParams]>,
}

// SAFETY: the addresses in the parameters are only handed back.
unsafe impl Send for MemoryOps {}
// SAFETY: as above; nothing is changed.
unsafe impl Sync for MemoryOps {}

impl MemoryOps {
    /// Reads a program's list.
    ///
    /// # Safety
    /// The list is null or has as many readable entries, each with the member that its operation names.
    pub(crate) unsafe fn of(
        list: *const hipStreamBatchMemOpParams,
        count: u32,
        flags: u32,
    ) -> Result<Arc<Self>> {
        if list.is_null() || count == 0 || count > MOST || flags != 0 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: as this function's contract.
        let params = unsafe { caller::list(list, count as usize) }?;
        // SAFETY: as this function's contract.
        let ops = params.iter().map(|params| unsafe { MemoryOp::of(params) }).collect::<Result<_>>()?;
        Ok(Arc::new(Self { ops, params: params.into() }))
    }

    /// A wait for a value: kind of comparison, value and mask.
    pub(crate) fn wait(
        address: usize,
        is_long: bool,
        (kind, value, mask): (u32, u64, u64),
    ) -> Result<Arc<Self>> {
        let action = Action::Wait(Condition::new(kind, value, mask)?);
        Ok(Self::one(MemoryOp { address, is_long, action }))
    }

    /// A write of a value.
    pub(crate) fn write(address: usize, is_long: bool, value: u64) -> Arc<Self> {
        Self::one(MemoryOp { address, is_long, action: Action::Write(value) })
    }

    fn one(op: MemoryOp) -> Arc<Self> {
        Arc::new(Self { ops: Box::new([op]), params: Box::new([op.params()]) })
    }

    /// The operations as the program passed them.
    pub(crate) fn params(&self) -> &[hipStreamBatchMemOpParams] {
        &self.params
    }

    /// Checks that all addresses are those of aligned words in known memory that the host can access.
    /// `device` is the stream's, once there is one.
    pub(crate) fn check(&self, runtime: &Runtime, device: Option<&'static Device>) -> Result {
        self.words(runtime, device).map(drop)
    }

    fn words(&self, runtime: &Runtime, device: Option<&'static Device>) -> Result<Vec<(MemoryOp, Word)>> {
        let word = |&op: &MemoryOp| {
            let what = Use { writes: matches!(op.action, Action::Write(_)), device };
            Ok((op, Word::of(runtime, op.address, op.is_long, what)?))
        };
        self.ops.iter().map(word).collect()
    }

    /// Enqueues the operations behind everything submitted to the stream.
    pub(crate) fn enqueue(&self, runtime: &'static Runtime, stream: &Arc<Stream>) -> Result {
        let words = self.words(runtime, Some(stream.device))?;
        stream.run_in_turn(runtime, true, move |turn, progress| {
            // The wait ends if the stream fails meanwhile.
            let goes_on = || progress.fault().is_none();
            if let Ok(turn) = turn {
                // SAFETY: the memory's free waits for the device, or for the stream, which this is part of.
                unsafe { run_now(turn, words, goes_on) };
            }
        })
    }
}

/// Does operations one after the other, until `goes_on` reports that the stream has failed.
///
/// # Safety
/// The memory is still allocated.
unsafe fn run_now(_turn: Turn, words: Vec<(MemoryOp, Word)>, goes_on: impl Fn() -> bool) {
    for (index, (op, word)) in words.into_iter().enumerate() {
        if index != 0 && !goes_on() {
            return;
        }
        // SAFETY: as this function's contract.
        unsafe { op.run(word, &goes_on) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_those_of_the_header() {
        use hip_sys::*;
        let holds =
            |kind, value, mask, word| Condition::new(kind, value, mask).unwrap().holds(word, u32::MAX.into());
        assert!(holds(hipStreamWaitValueGte, 5, !0, 5) && holds(hipStreamWaitValueGte, 5, !0, 9));
        assert!(!holds(hipStreamWaitValueGte, 5, !0, 4) && !holds(hipStreamWaitValueGte, 5, 3, 8));
        assert!(holds(hipStreamWaitValueEq, 5, 7, 13) && !holds(hipStreamWaitValueEq, 5, !0, 13));
        assert!(holds(hipStreamWaitValueAnd, 6, !0, 2) && !holds(hipStreamWaitValueAnd, 6, 1, 7));
        assert!(!holds(hipStreamWaitValueNor, 0, u64::MAX, u32::MAX.into()));
        assert!(holds(hipStreamWaitValueNor, 0, u64::MAX, 0xffff_fffe));
        assert!(Condition::new(4, 0, 0).is_err());
    }
}
