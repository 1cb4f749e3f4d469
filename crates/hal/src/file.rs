//! Files as source and target of queue operations.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::command::Place;
use crate::context::Context;
use crate::error::{Error, Result, check_range};
use crate::memory::Buffer;

/// A file that queues read and write at given offsets. Clones are the same.
#[derive(Clone, Debug)]
pub struct File {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: std::fs::File,
    path: PathBuf,
}

/// A part of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileRange<'a> {
    file: &'a File,
    offset: u64,
    len: u64,
}

impl File {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// [`Error::Open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::with(std::fs::OpenOptions::new().read(true), path.as_ref())
    }

    /// Opens a file for reading and writing. If there is none, it is made; what it has, it keeps.
    ///
    /// # Errors
    /// [`Error::Open`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let mut options = std::fs::OpenOptions::new();
        Self::with(options.read(true).write(true).create(true).truncate(false), path.as_ref())
    }

    fn with(options: &std::fs::OpenOptions, path: &Path) -> Result<Self> {
        match options.open(path) {
            Ok(file) => Ok(Self::new(file, path)),
            Err(error) => Err(Error::open(path, &error)),
        }
    }

    /// Takes a file that is open. Errors call it by this path.
    #[must_use]
    pub fn new(file: std::fs::File, path: impl Into<PathBuf>) -> Self {
        Self { inner: Arc::new(Inner { file, path: path.into() }) }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// `len` bytes of the file from `offset` on, whether they are there or not.
    #[must_use]
    pub fn range(&self, offset: u64, len: u64) -> FileRange<'_> {
        FileRange { file: self, offset, len }
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// From the file to the buffer.
    Read,
    /// From the buffer to the file.
    Write,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "reading",
            Self::Write => "writing",
        }
    }
}

/// Bytes that go from a file to a buffer, or back.
#[derive(Debug)]
pub(crate) struct Transfer {
    way: Way,
    file: File,
    /// In the file.
    offset: u64,
    len: u64,
    buffer: Buffer,
    /// In the buffer.
    at: u64,
}

impl Transfer {
    pub(crate) fn new(
        context: &Arc<Context>,
        way: Way,
        range: FileRange<'_>,
        place: Place<'_>,
    ) -> Result<Self> {
        let (buffer, at) = match place {
            Place::Buffer(buffer, at) => (buffer.clone(), at),
            Place::Binding(slot, _) => {
                let problem = "only command buffers have bindings".to_owned();
                return Err(Error::Binding { slot, problem });
            }
        };
        context.is_same(buffer.context(), "the buffer")?;
        check_range("a buffer", at, range.len, buffer.size())?;
        // Systems count the bytes of files with a sign.
        check_range("a file", range.offset, range.len, i64::MAX as u64)?;
        Ok(Self { way, file: range.file.clone(), offset: range.offset, len: range.len, buffer, at })
    }

    /// Moves the bytes, and returns when that is done.
    pub(crate) fn run(&self) -> Result<()> {
        let done = self.transfer();
        if self.way == Way::Read {
            // Also if only a part was read, which is then no part of the file.
            let refers = done.is_ok() && self.buffer.context().options.refer_to_files;
            let file = refers.then(|| (self.file.path(), self.offset));
            self.buffer.take_down_from(self.at, self.len, file)?;
        }
        done
    }

    fn transfer(&self) -> Result<()> {
        let mut span = timeline::Span::enter("hal", self.way.name());
        span.number("bytes", self.len);
        span.text("file", self.file.path().display());
        if self.len == 0 {
            return Ok(());
        }
        let context = self.buffer.context();
        let calls = context.calls();
        if let (Some(host), true) = (self.buffer.host(), cfg!(unix)) {
            let memory = host.wrapping_add(self.at as usize);
            // SAFETY: the range was checked to be inside the buffer, which this object holds. The system
            // accesses it, so other accesses at the time are not the language's.
            unsafe { self.part(memory, 0, self.len) }?;
            if self.way == Way::Read {
                calls.host_wrote(memory as usize, self.len as usize);
            }
            return Ok(());
        }
        // HSA has locked the memory of its own pools, so devices copy from and to it directly.
        let staging = context.host.take(self.len.min(context.options.staging))?;
        let memory = staging.address as *mut u8;
        let mut done = 0;
        while done != self.len {
            let len = staging.size.min(self.len - done);
            let device = (self.buffer.address() + self.at + done) as *mut std::ffi::c_void;
            // SAFETY: the staging memory has as many bytes and is this function's; the range of the device's
            // memory was checked to be inside the buffer, which this object holds.
            unsafe {
                match self.way {
                    Way::Read => {
                        self.part(memory, done, len)?;
                        calls.host_wrote(memory as usize, len as usize);
                        calls.copy(device, memory.cast_const().cast(), len as usize)?;
                    }
                    Way::Write => {
                        calls.copy(memory.cast(), device.cast_const(), len as usize)?;
                        self.part(memory, done, len)?;
                    }
                }
            }
            done += len;
        }
        Ok(())
    }

    /// Moves `len` bytes between memory of the host and the file, from the byte `from` of the transfer on.
    ///
    /// # Safety
    /// The host can access as many bytes at `memory`. On systems other than Unix, nothing else does.
    unsafe fn part(&self, memory: *mut u8, from: u64, len: u64) -> Result<()> {
        let mut done = 0;
        while done != len {
            let offset = self.offset + from + done;
            let left = len - done;
            let place = memory.wrapping_add(done as usize);
            // SAFETY: as this function's contract.
            let moved = unsafe { once(self.way, &self.file.inner.file, place, left as usize, offset) };
            let (kind, reason) = match moved {
                Ok(0) if self.way == Way::Read => {
                    (io::ErrorKind::UnexpectedEof, "the file ends there".to_owned())
                }
                Ok(0) => (io::ErrorKind::WriteZero, "the system takes no more bytes".to_owned()),
                Ok(moved) => {
                    done += moved as u64;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => (error.kind(), error.to_string()),
            };
            return Err(Error::File {
                operation: self.way.name(),
                path: self.file.path().to_owned(),
                offset,
                len: left,
                kind,
                reason: reason.into(),
            });
        }
        Ok(())
    }
}

/// Reads or writes once, at most `len` bytes.
///
/// # Safety
/// The host can access as many bytes at `memory`. On systems other than Unix, nothing else does.
unsafe fn once(
    way: Way,
    file: &std::fs::File,
    memory: *mut u8,
    len: usize,
    offset: u64,
) -> io::Result<usize> {
    #[cfg(unix)]
    {
        use std::os::fd::AsRawFd as _;

        let offset =
            libc::off_t::try_from(offset).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: as this function's contract; the file is open as long as it is borrowed.
        let moved = unsafe {
            match way {
                Way::Read => libc::pread(file.as_raw_fd(), memory.cast(), len, offset),
                Way::Write => libc::pwrite(file.as_raw_fd(), memory.cast_const().cast(), len, offset),
            }
        };
        usize::try_from(moved).map_err(|_| io::Error::last_os_error())
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::FileExt as _;

        // SAFETY: as this function's contract; memory of HSA's pools has contents.
        let bytes = unsafe { std::slice::from_raw_parts_mut(memory, len) };
        match way {
            Way::Read => file.seek_read(bytes, offset),
            Way::Write => file.seek_write(bytes, offset),
        }
    }
}
