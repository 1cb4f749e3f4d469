//! Memory and events shared between processes: handles as bytes, and opening them.

mod bytes;
#[cfg(test)]
mod tests;

use std::ffi::c_void;

use hip_sys::{hipError_t, hipEvent_t, hipIpcEventHandle_t, hipIpcMemHandle_t};

use crate::error::IpcError;
use bytes::{HANDLE, Reader, Sender, Writer, from_c, to_c};

use crate::call::{call, dropped};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::memory::{Allocation, DeviceAddress, DeviceBuffer, DeviceCopy, DeviceSlice, size_in_bytes};

/// The first bytes of a memory handle, including the version of its format.
const MEMORY: &[u8; 8] = b"hipmem\0\x01";
/// The first bytes of an event handle.
const EVENT: &[u8; 8] = b"hipevt\0\x01";
/// The longest element name that a handle can hold, in bytes.
const NAME: usize = 48;

/// A handle of device memory for other processes: plain bytes, to be sent in any way.
///
/// [`DeviceBuffer::ipc_handle`] makes it; [`open`](Self::open) in another process gives a buffer of the same
/// memory. It holds the place of the elements in their allocation, their number and their type. So it can
/// describe a view, or a buffer in a block of the [cache](crate::Allocator::Caching).
///
/// The other process can access the whole allocation that contains the elements, such as a segment of the
/// cache. [`DeviceBuffer::uninit_direct`] makes a buffer with an allocation of its own.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// let stream = device.stream()?;
/// let buffer = hip::DeviceBuffer::from_slice(&stream, &[1_u32, 2, 3])?;
/// stream.synchronize()?;
/// let bytes = buffer.ipc_handle()?.to_bytes();
/// // … in another process, which has received the bytes:
/// let handle = hip::IpcMemory::from_bytes(&bytes)?;
/// // SAFETY: the first process keeps the buffer, and does not use it until this one says that it is done.
/// let buffer = unsafe { handle.open::<u32>(&device)? };
/// # Ok(())
/// # }
/// ```
#[doc(alias = "hipIpcMemHandle_t")]
#[doc(alias = "cudaIpcMemHandle_t")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IpcMemory {
    sender: Sender,
    /// HIP's handle of the allocation, from its first byte on.
    handle: [u8; HANDLE],
    /// Where the elements begin in the allocation, in bytes.
    offset: u64,
    len: u64,
    /// Bytes of one element.
    size: u64,
    /// The element's type, without paths.
    element: [u8; NAME],
}

/// A handle of an event for other processes: plain bytes, to be sent in any way.
///
/// [`Event::ipc_handle`] makes it of an event [for several processes](crate::EventOptions::interprocess);
/// [`open`](Self::open) in another process gives the same event.
#[doc(alias = "hipIpcEventHandle_t")]
#[doc(alias = "cudaIpcEventHandle_t")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IpcEvent {
    sender: Sender,
    handle: [u8; HANDLE],
}

/// Memory of another process; dropping this closes it.
struct Opened {
    device: Device,
    start: DeviceAddress,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: the memory was opened once for this, and its allocation has waited for everything that uses
        // it.
        let closed = unsafe {
            self.device.release(|| call!(self.device.table(), hipIpcCloseMemHandle(self.start.pointer())))
        };
        dropped("memory of another process", closed);
    }
}

impl IpcMemory {
    /// The size of a handle in bytes.
    pub const SIZE: usize = 8 + Sender::SIZE + HANDLE + 3 * 8 + NAME + Writer::END;

    /// Makes a handle of elements in an allocation.
    fn of<T: DeviceCopy>(view: &DeviceSlice<'_, T>) -> Result<Self> {
        let (device, bytes) = (view.device(), view.size_in_bytes());
        let mut shared = Self {
            sender: Sender::this_process(device),
            handle: [0; HANDLE],
            offset: 0,
            len: view.len() as u64,
            size: size_of::<T>() as u64,
            element: bytes::text(&name::<T>()),
        };
        if bytes == 0 {
            return Ok(shared);
        }
        if view.allocation().is_pooled() {
            return Err(Error::Unsupported {
                what: "sharing memory of a pool with other processes".to_owned(),
                instead: "allocate shareable memory with `DeviceBuffer::uninit_direct`".to_owned(),
            });
        }
        // Waits for work of a former owner of the memory, which the other process cannot know.
        let address = view.address();
        let (mut base, mut room): (*mut c_void, usize) = (std::ptr::null_mut(), 0);
        let mut handle = hipIpcMemHandle_t::default();
        device.make_current()?;
        // SAFETY: the results are places to write to, and the address is one of live memory.
        unsafe {
            call!(device.table(), hipMemGetAddressRange(&raw mut base, &raw mut room, address.pointer()))?;
            // For the first byte, because libraries differ in whether a handle includes the offset.
            call!(device.table(), hipIpcGetMemHandle(&raw mut handle, base))?;
        }
        let offset = address.0.checked_sub(base.expose_provenance() as u64);
        let odd = Error::Hip { operation: "hipMemGetAddressRange", code: hipError_t::hipErrorUnknown };
        shared.offset = offset.ok_or(odd)?;
        shared.handle = from_c(handle.reserved);
        Ok(shared)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        // The elements were in memory of a process on this machine, so the number fits.
        self.len as usize
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The type of the elements, without paths, truncated if it is long.
    pub fn element(&self) -> String {
        bytes::from_text(&self.element)
    }

    /// The handle as bytes.
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let writer = Writer::new(MEMORY).sender(&self.sender).bytes(&self.handle);
        let writer = writer.number(self.offset).number(self.len).number(self.size);
        writer.bytes(&self.element).end()
    }

    /// Parses the output of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`Error::Ipc`] says what is wrong: the number of bytes, an event's handle, or bytes damaged in
    /// transit.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, Self::SIZE, MEMORY, "memory")?;
        let handle = Self {
            sender: reader.sender(),
            handle: reader.bytes(),
            offset: reader.number(),
            len: reader.number(),
            size: reader.number(),
            element: reader.bytes(),
        };
        let size = usize::try_from(handle.size).ok();
        let bytes = size.zip(usize::try_from(handle.len).ok()).and_then(|(size, len)| size.checked_mul(len));
        let end = bytes.and_then(|bytes| handle.offset.checked_add(bytes as u64));
        if end.is_none_or(|end| end > isize::MAX as u64) { Err(IpcError::Damaged.into()) } else { Ok(handle) }
    }

    /// Opens the memory in this process, on the device that it belongs to (`hipIpcOpenMemHandle`). It is
    /// closed (`hipIpcCloseMemHandle`) once the buffer is dropped and no stream or graph uses it.
    ///
    /// # Errors
    /// [`Error::Ipc`] if the handle comes from this process or another device, or has elements of another
    /// type or size; else
    /// [`Error::Hip`], such as `hipErrorInvalidHandle` when the first process has freed the memory.
    ///
    /// # Safety
    /// Nothing but the programs themselves keeps the processes' uses of the memory apart:
    /// - The bytes come from [`to_bytes`](Self::to_bytes) in a process that keeps running, and keeps the
    ///   buffer that the handle was made of, until the result and everything that uses it is gone.
    /// - While work of this process uses elements, no other process writes them. While it writes elements, no
    ///   other process uses them. The same holds between this and other buffers of this process that were
    ///   opened from handles of the same elements. Shared events ([`IpcEvent`]), or messages sent after
    ///   waiting, can ensure that.
    #[doc(alias = "hipIpcOpenMemHandle")]
    #[doc(alias = "cudaIpcOpenMemHandle")]
    #[doc(alias = "cuIpcOpenMemHandle")]
    pub unsafe fn open<T: DeviceCopy>(&self, device: &Device) -> Result<DeviceBuffer<T>> {
        self.sender.check(device)?;
        if self.size != size_of::<T>() as u64 || self.element != bytes::text(&name::<T>()) {
            return Err(IpcError::Element {
                shared: self.element(),
                size: self.size as usize,
                wanted: name::<T>(),
                wanted_size: size_of::<T>(),
            }
            .into());
        }
        let bytes = size_in_bytes::<T>(self.len())?;
        if bytes == 0 {
            return DeviceBuffer::uninit(device, self.len());
        }
        let mut start: *mut c_void = std::ptr::null_mut();
        let handle = hipIpcMemHandle_t { reserved: to_c(self.handle) };
        let flags = hip_sys::hipIpcMemLazyEnablePeerAccess;
        device.make_current()?;
        // SAFETY: the result is a place to write to, and the caller vouches for the handle.
        unsafe { call!(device.table(), hipIpcOpenMemHandle(&raw mut start, handle, flags))? };
        let start = DeviceAddress(start.expose_provenance() as u64);
        let opened = Opened { device: device.clone(), start };
        let allocation = Allocation::foreign(device, start.offset(self.offset as usize), bytes, opened);
        Ok(DeviceBuffer::of(allocation, self.len()))
    }
}

impl IpcEvent {
    /// The size of a handle in bytes.
    pub const SIZE: usize = 8 + Sender::SIZE + HANDLE + Writer::END;

    /// The handle as bytes.
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        Writer::new(EVENT).sender(&self.sender).bytes(&self.handle).end()
    }

    /// Parses the output of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// As [`IpcMemory::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, Self::SIZE, EVENT, "an event")?;
        Ok(Self { sender: reader.sender(), handle: reader.bytes() })
    }

    /// Opens the event in this process, on the device that it belongs to (`hipIpcOpenEventHandle`). Streams
    /// and threads of both processes can wait for what either has recorded. It does not measure time.
    ///
    /// # Errors
    /// [`Error::Ipc`] if the handle comes from this process or another device, [`Error::KnownFault`] if the
    /// library would not wait for the event, else [`Error::Hip`], such as `hipErrorInvalidHandle` when the
    /// event is gone.
    ///
    /// # Safety
    /// The bytes come from [`to_bytes`](Self::to_bytes) in a process that still runs and still has the event.
    /// Libraries map the memory that the handle names without checking it.
    #[doc(alias = "hipIpcOpenEventHandle")]
    #[doc(alias = "cudaIpcOpenEventHandle")]
    #[doc(alias = "cuIpcOpenEventHandle")]
    pub unsafe fn open(&self, device: &Device) -> Result<Event> {
        self.sender.check(device)?;
        device.allow(&["hipIpcOpenEventHandle"])?;
        let mut event: hipEvent_t = std::ptr::null_mut();
        let handle = hipIpcEventHandle_t { reserved: to_c(self.handle) };
        device.make_current()?;
        // SAFETY: the result is a place to write to, and the caller vouches for the handle.
        unsafe { call!(device.table(), hipIpcOpenEventHandle(&raw mut event, handle))? };
        Ok(Event::opened(device, event))
    }
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Makes a handle with which other processes can open this memory: see [`DeviceSlice::ipc_handle`].
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "hipIpcGetMemHandle")]
    #[doc(alias = "cudaIpcGetMemHandle")]
    #[doc(alias = "cuIpcGetMemHandle")]
    pub fn ipc_handle(&self) -> Result<IpcMemory> {
        self.as_slice().ipc_handle()
    }
}

impl<T: DeviceCopy> DeviceSlice<'_, T> {
    /// Makes a handle with which other processes can open these elements (`hipIpcGetMemHandle`). The caller
    /// must keep the buffer as long as another process has it open; the handle does not.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for memory of a [pool](crate::MemoryPool) or of
    /// [`Allocator::StreamOrdered`](crate::Allocator::StreamOrdered), else [`Error::Hip`], such as
    /// `hipErrorInvalidValue` for memory that does not belong to the device.
    pub fn ipc_handle(&self) -> Result<IpcMemory> {
        IpcMemory::of(self)
    }
}

impl Event {
    /// Makes a handle with which other processes can open this event (`hipIpcGetEventHandle`).
    ///
    /// # Errors
    /// [`Error::Hip`] if the event was not made [for several processes](crate::EventOptions::interprocess),
    /// [`Error::KnownFault`] if the library would not wait for it.
    #[doc(alias = "hipIpcGetEventHandle")]
    #[doc(alias = "cudaIpcGetEventHandle")]
    #[doc(alias = "cuIpcGetEventHandle")]
    pub fn ipc_handle(&self) -> Result<IpcEvent> {
        let mut handle = hipIpcEventHandle_t::default();
        self.device().allow(&["hipIpcGetEventHandle"])?;
        self.device().make_current()?;
        // SAFETY: the result is a place to write to, and the event is valid.
        unsafe {
            call!(self.device().table(), hipIpcGetEventHandle(&raw mut handle, self.handle()))?;
        }
        Ok(IpcEvent { sender: Sender::this_process(self.device()), handle: from_c(handle.reserved) })
    }
}

/// The name of a type without the paths in it, which differ from program to program.
fn name<T>() -> String {
    let mut name = String::new();
    let mut segment = 0;
    for char in std::any::type_name::<T>().chars() {
        match char {
            ':' => name.truncate(segment),
            _ => {
                name.push(char);
                if !char.is_alphanumeric() && char != '_' {
                    segment = name.len();
                }
            }
        }
    }
    name
}
