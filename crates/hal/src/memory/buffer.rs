//! Buffers.

use std::ffi::c_void;
use std::path::Path;
use std::sync::{Arc, Weak};

use super::import::Memory;
use crate::context::Context;
use crate::error::{Result, check_range};

/// Where a buffer's memory is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryKind {
    /// In a GPU's memory, which the GPU reaches fastest. Work of the device sees the host's writes when it
    /// begins, and the host sees the work's when the semaphore that it signals has the value.
    Device,
    /// In the host's memory, which host and GPUs access directly.
    Host,
}

/// Memory for the work of a device. Clones are the same buffer; submitted work holds it.
#[derive(Clone, Debug)]
pub struct Buffer {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    kind: MemoryKind,
    /// Before the context, whose pools it goes back to.
    memory: Memory,
    /// In the log of the device, if it has one.
    number: u32,
    context: Arc<Context>,
}

/// A buffer that may be gone.
#[derive(Clone, Default, Debug)]
pub(crate) struct WeakBuffer {
    inner: Weak<Inner>,
}

impl WeakBuffer {
    pub(crate) fn upgrade(&self) -> Option<Buffer> {
        self.inner.upgrade().map(|inner| Buffer { inner })
    }
}

impl Buffer {
    /// A buffer of memory near one of the device's GPUs.
    ///
    /// # Errors
    /// The device has a log, and the memory cannot be read or cleared for it.
    pub(crate) fn new(
        context: &Arc<Context>,
        kind: MemoryKind,
        member: usize,
        memory: Memory,
    ) -> Result<Self> {
        let log = context.log.as_ref();
        let size = memory.size();
        let number = log.map_or(0, |log| log.buffer(kind == MemoryKind::Host, member, size));
        let is_new = matches!(memory, Memory::Piece(_));
        let buffer = Self { inner: Arc::new(Inner { kind, memory, number, context: context.clone() }) };
        if let Some(log) = log {
            if is_new {
                buffer.clear()?;
            } else {
                buffer.take_down(0, size)?;
            }
            log.holds(number, WeakBuffer { inner: Arc::downgrade(&buffer.inner) });
        }
        Ok(buffer)
    }

    /// Its number in the log of the device.
    pub(crate) fn number(&self) -> u32 {
        self.inner.number
    }

    /// Fills it with zeros.
    pub(crate) fn clear(&self) -> Result<()> {
        let zeros = vec![0; self.size().min(1 << 20) as usize];
        let mut offset = 0;
        while offset != self.size() {
            let len = zeros.len().min((self.size() - offset) as usize);
            self.put(offset, &zeros[..len])?;
            offset += len as u64;
        }
        Ok(())
    }

    /// Takes what a range has now down in the log of the device, if there is one.
    pub(crate) fn take_down(&self, offset: u64, len: u64) -> Result<()> {
        self.take_down_from(offset, len, None)
    }

    /// As [`take_down`](Self::take_down), for what has been read from a file at an offset, which the log may
    /// refer to.
    pub(crate) fn take_down_from(&self, offset: u64, len: u64, file: Option<(&Path, u64)>) -> Result<()> {
        if let Some(log) = self.inner.context.log.as_ref().filter(|_| len != 0) {
            let mut bytes = vec![0; len as usize];
            self.read(offset, &mut bytes)?;
            let path = file.and_then(|(path, at)| Some((std::path::absolute(path).ok()?, at)));
            match path.as_ref().and_then(|(path, at)| Some((path.to_str()?, *at))) {
                Some((path, at)) => log.read(self.number(), offset, path, at, &bytes),
                None => log.wrote(self.number(), offset, &bytes),
            }
        }
        Ok(())
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.inner.context
    }

    /// Where its memory is.
    #[must_use]
    pub fn kind(&self) -> MemoryKind {
        self.inner.kind
    }

    /// Bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.inner.memory.size()
    }

    /// The address, valid for kernels while a clone of the buffer exists.
    #[must_use]
    pub fn address(&self) -> u64 {
        match &self.inner.memory {
            Memory::Piece(piece) => piece.address,
            Memory::Locked(locked) => locked.address,
            Memory::Foreign(foreign) => foreign.address,
        }
    }

    /// The address for the host, if the host accesses the memory directly.
    pub(crate) fn host(&self) -> Option<*mut u8> {
        match &self.inner.memory {
            Memory::Piece(piece) => (self.kind() == MemoryKind::Host).then_some(piece.address as *mut u8),
            Memory::Locked(locked) => Some(locked.host),
            Memory::Foreign(_) => None,
        }
    }

    /// A byte, as HSA's copies take it.
    fn byte(&self, offset: u64) -> *mut c_void {
        self.host().map_or(self.address() as *mut u8, |host| host).wrapping_add(offset as usize).cast()
    }

    /// Writes bytes from the host, and returns when that is done. Work that uses the buffer at the time may
    /// see any mixture.
    ///
    /// # Errors
    /// The range is outside the buffer, or HSA's error.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.put(offset, bytes)?;
        if let Some(log) = &self.inner.context.log {
            log.wrote(self.number(), offset, bytes);
        }
        Ok(())
    }

    fn put(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        check_range("a buffer", offset, bytes.len() as u64, self.size())?;
        if bytes.is_empty() {
            return Ok(());
        }
        let to = self.byte(offset);
        // SAFETY: the range is in this buffer, whose memory every agent of the device and the host reach; the
        // bytes are borrowed for the call. HSA copies, so other accesses at the time are not the language's.
        unsafe { self.inner.context.calls().copy(to, bytes.as_ptr().cast(), bytes.len()) }
    }

    /// Reads bytes to the host, and returns when that is done.
    ///
    /// # Errors
    /// The range is outside the buffer, or HSA's error.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        check_range("a buffer", offset, bytes.len() as u64, self.size())?;
        if bytes.is_empty() {
            return Ok(());
        }
        let from = self.byte(offset).cast_const();
        // SAFETY: as above, with the bytes borrowed exclusively.
        unsafe { self.inner.context.calls().copy(bytes.as_mut_ptr().cast(), from, bytes.len()) }
    }
}
