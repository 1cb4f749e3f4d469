//! Copies between any two places, plain or in rows, in stream order.
//!
//! Copies between places that a device can reach go through HSA's copy engines, ordered by signals. Pageable
//! memory
//! goes through staging buffers: when an asynchronous copy *from* pageable memory returns, the memory has
//! been read;
//! a copy *to* pageable memory returns when the memory is written. So no copy uses the program's pageable
//! memory
//! after its call. If the host can access the device's memory directly and fast, it does synchronous copies
//! itself.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::{hipError_t, hipMemcpyKind};

use crate::caller;
use crate::caller::Access;
use crate::devices::device::Device;
use crate::devices::stream::{Role, Stream};
use crate::devices::turn::{Order, Turn};
use crate::error::Result;
use crate::gpu::{STAGING_BYTES, Staging};
use crate::memory::allocation::{Use, memory};
use crate::memory::external::is_in_reach;
use crate::memory::rect::{Piece, Rect, Rows};
use crate::queue::progress::Progress;
use crate::queue::submitter::CopyOp;
use crate::runtime::Runtime;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Over a bus, the host itself writes at most the first number of bytes of device memory, and reads at most
/// the second.
const HOST_WRITES: usize = 16 << 10;
const HOST_READS: usize = 256;
/// On an idle stream, the host itself does asynchronous copies of near memory up to this size.
const HOST_ASYNC: usize = 64 << 10;
/// Staging buffers in flight for one copy.
const IN_FLIGHT: usize = 4;

/// A staging buffer being filled, and the destinations of its contents.
struct Landing {
    progress: Arc<Progress>,
    fence: u64,
    staging: Arc<Staging>,
    batch: Vec<Piece>,
}

/// One end of a copy.
#[derive(Clone, Copy)]
enum Place {
    /// Memory of a device.
    Device(&'static Device),
    /// Host memory that devices access, at this distance from its host address.
    Pinned(usize),
    /// Any other memory of the program.
    Pageable,
}

impl Place {
    /// Identifies one end of a copy, and checks that a known allocation contains all of it and allows the
    /// access.
    fn of(runtime: &Runtime, rows: Rows, what: Use) -> Result<(Self, usize)> {
        let (address, extent) = (rows.start, rows.extent().ok_or(INVALID_VALUE)?);
        if address.checked_add(extent).is_none() {
            return Err(INVALID_VALUE);
        }
        let Some((found, offset)) = memory(runtime).find(address) else {
            // Freed memory is no longer the program's, and accessing it would end the process.
            let ends = [address, address + extent.max(1) - 1];
            let access = if what.writes { Access::Write } else { Access::Read };
            let is_own = ends.into_iter().all(|end| runtime.hsa.host_can_access(end))
                && caller::is_accessible(address, extent, access);
            return if is_own { Ok((Self::Pageable, address)) } else { Err(INVALID_VALUE) };
        };
        if !memory(runtime).holds(&found, offset, extent, what) {
            return Err(INVALID_VALUE);
        }
        Ok(match found.memory_of() {
            Some(device) => (Self::Device(device), address),
            None => (Self::Pinned(found.device_base.wrapping_sub(found.base)), found.base + offset),
        })
    }

    fn device(self) -> Option<&'static Device> {
        match self {
            Self::Device(device) => Some(device),
            _ => None,
        }
    }
}

/// Copies by the host.
///
/// # Safety
/// Both places are valid for the host and nothing else writes them meanwhile.
unsafe fn copy_on_host(_turn: Turn, rect: Rect) {
    let mut span = timeline::Span::enter("copy", "copy by the host");
    span.number("bytes", rect.bytes() as u64);
    for (dst, src, size) in rect.rows() {
        // SAFETY: as this function's contract; `copy` allows overlap.
        unsafe { std::ptr::copy(src as *const u8, dst as *mut u8, size) };
    }
}

/// Makes the host's writes to a device's memory visible to the device.
fn written_by_host(runtime: &Runtime, rect: Rect, dst: Place) {
    if let Some(device) = dst.device() {
        for (dst, _, size) in rect.rows() {
            runtime.hsa.host_wrote(dst, size);
        }
        device.info.hdp_mem_flush.flush();
    }
}

/// Whether destination and source must be memory of a device, by the direction that the program names.
///
/// # Errors
/// There is no such direction.
pub(crate) fn device_ends(kind: hipMemcpyKind) -> Result<[bool; 2]> {
    match kind {
        hipMemcpyKind::hipMemcpyHostToHost | hipMemcpyKind::hipMemcpyDefault => Ok([false, false]),
        hipMemcpyKind::hipMemcpyHostToDevice => Ok([true, false]),
        hipMemcpyKind::hipMemcpyDeviceToHost => Ok([false, true]),
        hipMemcpyKind::hipMemcpyDeviceToDevice | hipMemcpyKind::hipMemcpyDeviceToDeviceNoCU => {
            Ok([true, true])
        }
        _ => Err(hipError_t::hipErrorInvalidMemcpyDirection),
    }
}

/// A copy as requested by a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) rect: Rect,
    pub(crate) kind: hipMemcpyKind,
}

impl Transfer {
    /// A plain copy.
    pub(crate) fn plain(dst: *mut c_void, src: *const c_void, size: usize, kind: hipMemcpyKind) -> Self {
        Self { rect: Rect::row(dst as usize, src as usize, size), kind }
    }

    /// Checks the copy against the current memory at its addresses. `device` is the stream's, once there is
    /// one.
    pub(crate) fn check(self, runtime: &Runtime, device: Option<&'static Device>) -> Result {
        self.sort_out(runtime, device).map(drop)
    }

    /// Whether destination and source are memory of devices; nothing for an empty copy.
    pub(crate) fn ends(self, runtime: &Runtime) -> Result<Option<[bool; 2]>> {
        let found = self.sort_out(runtime, None)?;
        Ok(found.map(|(_, dst, src)| [dst, src].map(|place| place.device().is_some())))
    }

    /// Copies in stream order; with `wait`, the copy has completed on return. Copies within a device are
    /// never waited for.
    ///
    /// Returns whether the call is one that waits: because of `wait`, or because of pageable memory.
    pub(crate) fn start(self, runtime: &'static Runtime, stream: &Arc<Stream>, wait: bool) -> Result<bool> {
        let Some((rect, dst, src)) = self.sort_out(runtime, Some(stream.device))? else { return Ok(wait) };
        let request = Request { runtime, stream: stream.clone(), rect, dst, src };
        let waits = request.waits(wait);
        let on_a_device =
            matches!((dst, src), (Place::Device(to), Place::Device(from)) if std::ptr::eq(to, from));
        // A synchronising call reports a failed stream and lets a default stream recover, even if the copy
        // was not finished.
        let done = request.run(wait && !on_a_device).map_err(|code| match wait {
            true => stream.synchronize(runtime).err().unwrap_or(code),
            false => code,
        });
        done.map(|()| waits)
    }

    /// Enqueues the copy as part of other work of the stream: it accesses nothing before its turn, and this
    /// call does not wait.
    pub(crate) fn enqueue(self, runtime: &'static Runtime, stream: &Arc<Stream>) -> Result {
        match self.sort_out(runtime, Some(stream.device))? {
            Some((rect, dst, src)) => {
                Request { runtime, stream: stream.clone(), rect, dst, src }.run_in_turn()
            }
            None => Ok(()),
        }
    }

    /// Identifies both ends; `None` for an empty copy.
    fn sort_out(
        self,
        runtime: &Runtime,
        device: Option<&'static Device>,
    ) -> Result<Option<(Rect, Place, Place)>> {
        let Self { rect, kind } = self;
        let device_end = device_ends(kind)?;
        if rect.dst.is_empty() {
            return Ok(None);
        }
        if rect.dst.start == 0 || rect.src.start == 0 {
            return Err(INVALID_VALUE);
        }
        if !rect.dst.is_apart() || !rect.src.is_apart() {
            return Err(hipError_t::hipErrorInvalidPitchValue);
        }
        let (dst, dst_address) = Place::of(runtime, rect.dst, Use { writes: true, device })?;
        let (src, src_address) = Place::of(runtime, rect.src, Use { writes: false, device })?;
        // The kind does not change what the memory is. But a device end cannot be memory that no device
        // accesses, unless the program has swapped the directions, and the other end is the device's.
        let pageable = [dst, src].map(|place| matches!(place, Place::Pageable));
        let is_other_way = device_end != [true, true] && pageable[0] != pageable[1];
        if !is_other_way && device_end.into_iter().zip(pageable).any(|(device, pageable)| device && pageable)
        {
            return Err(INVALID_VALUE);
        }
        let rect = rect.at(dst_address, src_address).simplified();
        Ok(Some((rect, dst, src)))
    }
}

/// Copies now, by whatever means necessary.
///
/// # Safety
/// The rectangle lies within an allocation at each end, or in memory for which the program is responsible;
/// nothing else uses
/// it meanwhile.
unsafe fn copy_now(turn: Turn, runtime: &Runtime, rect: Rect, dst: Place, src: Place) -> Result {
    let by_host = |place: Place, address| match place.device() {
        Some(device) => device.host_near(runtime) && is_in_reach(runtime, address),
        None => true,
    };
    if by_host(dst, rect.dst.start) && by_host(src, rect.src.start) {
        // SAFETY: as this function's contract; the host can access both ends.
        unsafe { copy_on_host(turn, rect) };
        written_by_host(runtime, rect, dst);
        return Ok(());
    }
    let strangers = match (dst, src) {
        (Place::Device(to), Place::Device(from)) => !std::ptr::eq(to, from) && !reaches(to, from),
        _ => false,
    };
    let mut host = vec![0u8; if strangers { STAGING_BYTES.min(rect.dst.width) } else { 0 }];
    for (dst, src, size) in rect.rows() {
        if !strangers {
            // SAFETY: as this function's contract.
            unsafe { runtime.hsa.copy(dst as *mut c_void, src as *const c_void, size) }?;
            continue;
        }
        for at in (0..size).step_by(STAGING_BYTES) {
            let part = (size - at).min(STAGING_BYTES);
            // SAFETY: as this function's contract; the buffer has as many bytes.
            unsafe {
                runtime.hsa.copy(host.as_mut_ptr().cast(), (src + at) as *const c_void, part)?;
                runtime.hsa.copy((dst + at) as *mut c_void, host.as_ptr().cast(), part)?;
            }
        }
    }
    Ok(())
}

/// An analysed copy request.
pub(crate) struct Request {
    runtime: &'static Runtime,
    stream: Arc<Stream>,
    rect: Rect,
    dst: Place,
    src: Place,
}

impl Request {
    /// Whether the host can do the copy itself reasonably fast.
    fn suits_host(&self) -> bool {
        let size = self.rect.bytes();
        let end = |place: Place, address: usize, limit: usize| match place {
            Place::Device(device) => {
                (device.host_near(self.runtime) || (device.host_visible && size <= limit))
                    && is_in_reach(self.runtime, address)
            }
            _ => true,
        };
        end(self.dst, self.rect.dst.start, HOST_WRITES) && end(self.src, self.rect.src.start, HOST_READS)
    }

    /// The copy's position in the order of streams.
    fn order(&self) -> Order<'_> {
        self.stream.order_with([self.dst.device(), self.src.device()])
    }

    /// The copy's turn for the host. Waits for the turn only if the call waits for the copy anyway.
    fn turn(&self, wait: bool) -> Result<Option<Turn>> {
        match wait {
            true => self.order().await_turn(self.runtime).map(Some),
            false => Ok(self.order().turn_now(self.runtime)),
        }
    }

    /// Copies by the host.
    fn copy_on_host(&self, turn: Turn) {
        // SAFETY: known allocations hold their extents, the caller is responsible for pageable memory; it is
        // the copy's turn.
        unsafe { copy_on_host(turn, self.rect) };
        written_by_host(self.runtime, self.rect, self.dst);
    }

    /// Whether the call ends after the copy: because of `wait`, or because pageable memory is always written,
    /// or read by the host, on return.
    fn waits(&self, wait: bool) -> bool {
        wait || matches!((self.dst, self.src), (Place::Pageable, _) | (Place::Pinned(_), Place::Pageable))
    }

    fn run(self, wait: bool) -> Result {
        // Copies that the host does at once, if their turn has come or is waited for.
        let by_host = match (self.dst, self.src) {
            (Place::Device(_), Place::Pageable) | (Place::Pageable, Place::Device(_)) => self.suits_host(),
            (Place::Pageable | Place::Pinned(_), Place::Pageable | Place::Pinned(_)) => true,
            (Place::Device(to), Place::Device(from)) if !std::ptr::eq(to, from) && !reaches(to, from) => {
                return self.copy_between_strangers();
            }
            _ => (wait || self.rect.bytes() <= HOST_ASYNC) && self.suits_host(),
        };
        if by_host && let Some(turn) = self.turn(self.waits(wait))? {
            self.copy_on_host(turn);
            return Ok(());
        }
        match (self.dst, self.src) {
            (Place::Device(_), Place::Pageable) => self.stage_in(wait),
            (Place::Pageable, Place::Device(_)) => self.stage_out(),
            (Place::Pageable | Place::Pinned(_), Place::Pageable | Place::Pinned(_)) => {
                let rect = self.rect;
                self.order().run_on_host(self.runtime, true, move |turn| {
                    if let Ok(turn) = turn {
                        // SAFETY: pinned memory stays until the devices are idle, and this is part of a
                        // stream's work.
                        unsafe { copy_on_host(turn, rect) };
                    }
                })
            }
            _ => self.copy_by_device(wait),
        }
    }

    /// Enqueues a copy neither end of which may be accessed before its turn.
    fn run_in_turn(self) -> Result {
        let by_device = match (self.dst, self.src) {
            (Place::Device(to), Place::Device(from)) => std::ptr::eq(to, from) || reaches(to, from),
            (Place::Device(_), Place::Pinned(_)) | (Place::Pinned(_), Place::Device(_)) => true,
            _ => false,
        };
        if by_device {
            return self.run(false);
        }
        let Self { runtime, rect, dst, src, .. } = self;
        self.order().run_in_turn(runtime, true, move |turn, progress| {
            let Ok(turn) = turn else { return };
            // SAFETY: known allocations hold their extents, and their frees wait for this stream; the program
            // is responsible for pageable memory.
            if let Err(code) = unsafe { copy_now(turn, runtime, rect, dst, src) } {
                progress.fail_stream(code, "a copy of a graph failed".to_owned());
            }
        })
    }

    /// Agent and device address of an end.
    fn end(&self, place: Place, address: usize) -> (hsa_sys::hsa_agent_t, usize) {
        match place {
            Place::Device(device) => (device.agent, address),
            Place::Pinned(distance) => (self.runtime.cpu, address.wrapping_add(distance)),
            Place::Pageable => (self.runtime.cpu, address),
        }
    }

    fn op(&self, dst: usize, src: usize, size: usize) -> CopyOp {
        let (dst_agent, dst) = self.end(self.dst, dst);
        let (src_agent, src) = self.end(self.src, src);
        CopyOp { dst: dst as *mut c_void, dst_agent, src: src as *const c_void, src_agent, size }
    }

    fn copy_by_device(self, wait: bool) -> Result {
        let ops: Vec<CopyOp> = self.rect.rows().map(|(dst, src, size)| self.op(dst, src, size)).collect();
        // SAFETY: both ends are allocations that hold their extents; frees wait for the device, or for the
        // stream.
        let copy = |submitter: &mut crate::queue::submitter::Submitter| unsafe { submitter.copy(&ops, None) };
        if wait {
            self.order().run(self.runtime, copy)
        } else {
            self.order().submit(self.runtime, copy).map(drop)
        }
    }

    /// The rows in pieces, each no larger than a staging buffer.
    fn pieces(&self) -> impl Iterator<Item = Piece> + use<> {
        self.rect.rows().flat_map(|(dst, src, size)| {
            (0..size)
                .step_by(STAGING_BYTES)
                .map(move |at| (dst + at, src + at, (size - at).min(STAGING_BYTES)))
        })
    }

    /// The pieces in groups that fill a staging buffer each.
    fn batches(&self) -> impl Iterator<Item = Vec<Piece>> + use<> {
        let mut pieces = self.pieces().peekable();
        std::iter::from_fn(move || {
            let mut batch = vec![pieces.next()?];
            let mut used = batch[0].2;
            while let Some(piece) = pieces.next_if(|piece| used + piece.2 <= STAGING_BYTES) {
                used += piece.2;
                batch.push(piece);
            }
            Some(batch)
        })
    }

    /// Copies from pageable memory to a device. The memory has been read on return.
    fn stage_in(self, wait: bool) -> Result {
        let Place::Device(device) = self.dst else { return Err(INVALID_VALUE) };
        let mut flying: VecDeque<(Arc<Progress>, u64)> = VecDeque::new();
        for batch in self.batches() {
            if flying.len() >= IN_FLIGHT
                && let Some((progress, fence)) = flying.pop_front()
            {
                progress.wait(self.runtime, fence)?;
            }
            let staging = Arc::new(Staging::new(self.runtime, device)?);
            let mut ops = Vec::with_capacity(batch.len());
            let mut used = 0;
            for (dst, src, size) in batch {
                // SAFETY: the caller is responsible for the source; the batch fits the buffer.
                let staged = unsafe {
                    let staged = staging.pointer().add(used);
                    staged.copy_from_nonoverlapping(src as *const u8, size);
                    staged
                };
                ops.push(CopyOp {
                    dst: dst as *mut c_void,
                    dst_agent: device.agent,
                    src: staged.cast_const().cast(),
                    src_agent: self.runtime.cpu,
                    size,
                });
                used += size;
            }
            let submitted = self.order().submit(self.runtime, |submitter| {
                // SAFETY: the staging buffer stays with the submitter until the copies have completed; the
                // destination is an allocation whose free waits for the device.
                let fence = unsafe { submitter.copy(&ops, Some(staging)) }?;
                Ok((submitter.progress.clone(), fence))
            })?;
            flying.push_back(submitted);
        }
        if wait { self.stream.synchronize(self.runtime) } else { Ok(()) }
    }

    /// Copies from a device to pageable memory, which is written on return.
    fn stage_out(self) -> Result {
        let Place::Device(device) = self.src else { return Err(INVALID_VALUE) };
        // Each buffer is held here as well as by its copies, because it is read after them.
        let mut flying: VecDeque<Landing> = VecDeque::new();
        let land = |Landing { progress, fence, staging, batch }: Landing| {
            progress.wait(self.runtime, fence)?;
            let mut used = 0;
            for (dst, _, size) in batch {
                // SAFETY: the caller is responsible for the destination; the copies have completed.
                unsafe { (dst as *mut u8).copy_from_nonoverlapping(staging.pointer().add(used), size) };
                used += size;
            }
            Ok(())
        };
        let mut result = Ok(());
        for batch in self.batches() {
            if flying.len() >= IN_FLIGHT
                && let Some(landing) = flying.pop_front()
            {
                result = result.and(land(landing));
            }
            if result.is_err() {
                break;
            }
            let staging = Arc::new(Staging::new(self.runtime, device)?);
            let mut ops = Vec::with_capacity(batch.len());
            let mut used = 0;
            for &(_, src, size) in &batch {
                ops.push(CopyOp {
                    // SAFETY: the batch fits the buffer.
                    dst: unsafe { staging.pointer().add(used) }.cast(),
                    dst_agent: self.runtime.cpu,
                    src: src as *const c_void,
                    src_agent: device.agent,
                    size,
                });
                used += size;
            }
            let submitted = self.order().submit(self.runtime, |submitter| {
                // SAFETY: the buffer stays with the submitter until the copies have completed, or the
                // submitter is
                // gone; the source is an allocation whose free waits for the device.
                let fence = unsafe { submitter.copy(&ops, Some(staging.clone())) }?;
                Ok((submitter.progress.clone(), fence))
            });
            match submitted {
                Ok((progress, fence)) => flying.push_back(Landing { progress, fence, staging, batch }),
                Err(code) => {
                    result = Err(code);
                    break;
                }
            }
        }
        for landing in flying {
            result = result.and(land(landing));
        }
        // A failure was noticed during the copy; the synchronising call reports it and lets a default stream
        // recover.
        result.map_err(|code| self.stream.synchronize(self.runtime).err().unwrap_or(code))
    }

    /// Copies through the host between devices without access to each other's memory.
    fn copy_between_strangers(self) -> Result {
        let mut host = vec![0u8; STAGING_BYTES.min(self.rect.bytes())];
        for (dst, src, size) in self.pieces() {
            let through = host.as_mut_ptr() as usize;
            let part = |rect: Rect, dst: Place, src: Place| Request {
                runtime: self.runtime,
                stream: self.stream.clone(),
                rect,
                dst,
                src,
            };
            part(Rect::row(through, src, size), Place::Pageable, self.src).run(true)?;
            part(Rect::row(dst, through, size), self.dst, Place::Pageable).run(true)?;
        }
        Ok(())
    }
}

/// Whether a device was given access to another one's memory.
fn reaches(device: &Device, other: &Device) -> bool {
    device.peers.lock().is_ok_and(|peers| peers.contains(&other.ordinal))
}

/// Writes a few bytes of a device's memory, unordered with the programs' work, and waits for that.
pub(crate) fn upload(
    runtime: &'static Runtime,
    device: &'static Device,
    address: usize,
    bytes: &[u8],
) -> Result {
    let staging = Arc::new(Staging::new(runtime, device)?);
    if bytes.len() > STAGING_BYTES {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the buffer has room for the bytes.
    unsafe { staging.pointer().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    let copy = CopyOp {
        dst: address as *mut c_void,
        dst_agent: device.agent,
        src: staging.pointer().cast_const().cast(),
        src_agent: runtime.cpu,
        size: bytes.len(),
    };
    let stream = Stream::new(device, hip_sys::hipStreamNonBlocking, 0, Role::User);
    // SAFETY: the buffer stays with the submitter until the copy has completed; the caller knows the
    // destination.
    let copied = stream.order().run(runtime, |submitter| unsafe { submitter.copy(&[copy], Some(staging)) });
    stream.close(runtime);
    copied
}
