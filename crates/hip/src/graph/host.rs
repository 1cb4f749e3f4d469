//! Host memory that a program and its graphs share.

use std::cell::UnsafeCell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use super::GraphError;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::{DeviceCopy, HostBuffer};
use crate::stream::{in_host_function, release};
use crate::usage::Usage;

/// Pinned host memory that graphs copy from or to each time they run, and that the program reads and writes
/// in between.
///
/// A clone is another handle of the same memory; graphs that use it hold one. [`lock`](Self::lock) waits for
/// running graphs and lends the elements to a function. Graphs that use the memory cannot be launched until
/// that function has returned.
///
/// ```no_run
/// # fn main() -> hip::Result<()> {
/// # let device = hip::Device::open("auto")?;
/// # let stream = device.stream()?;
/// let mut buffer = hip::DeviceBuffer::<f32>::zeroed(&stream, 3)?;
/// let input = hip::SharedHostBuffer::new(hip::HostBuffer::zeroed(&device, 3)?);
/// let mut graph = hip::Graph::new(&device)?;
/// graph.add_upload(&mut buffer, &input, &[])?;
/// let exec = graph.instantiate()?;
/// for step in 0..10 {
///     input.lock(|elements| elements.fill(step as f32))?;
///     exec.launch(&stream)?;
/// }
/// # Ok(())
/// # }
/// ```
pub struct SharedHostBuffer<T: DeviceCopy>(Arc<Shared<T>>);

struct Shared<T: DeviceCopy> {
    /// `Some` until this is dropped. Only the holder of the turn below may access its elements.
    buffer: UnsafeCell<Option<HostBuffer<T>>>,
    elements: NonNull<T>,
    len: usize,
    device: Device,
    turn: Turn,
    usage: Usage,
}

/// Who may use the elements.
#[derive(Default)]
struct Turn(Mutex<Holder>, Condvar);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Holder {
    #[default]
    Nobody,
    /// The program, while this thread accesses the elements.
    Program(ThreadId),
    /// A thread that launches a graph, until the launch is enqueued.
    Launch,
}

/// Holds the turn: nobody else can access the elements.
pub(crate) struct Held<'a>(&'a Turn);

impl Turn {
    fn lock(&self) -> MutexGuard<'_, Holder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the turn, waiting for any holder that `is_waited_for` accepts. If it rejects the holder, returns
    /// the holder as an error.
    fn take(&self, holder: Holder, is_waited_for: impl Fn(Holder) -> bool) -> Result<Held<'_>, Holder> {
        let mut now = self.lock();
        while *now != Holder::Nobody {
            if !is_waited_for(*now) {
                return Err(*now);
            }
            now = self.1.wait(now).unwrap_or_else(PoisonError::into_inner);
        }
        *now = holder;
        Ok(Held(self))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0.lock() = Holder::Nobody;
        self.0.1.notify_all();
    }
}

// SAFETY: the elements may move between threads, and only the holder of the turn accesses them, when no
// stream uses them.
unsafe impl<T: DeviceCopy> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: DeviceCopy> Sync for Shared<T> {}

/// Shared host memory without its type.
pub(crate) trait HostMemory: Send + Sync {
    /// Takes the turn for a launch, unless the program has it.
    fn hold(&self) -> Option<Held<'_>>;
    fn usage(&self) -> &Usage;
}

impl<T: DeviceCopy> HostMemory for Shared<T> {
    fn hold(&self) -> Option<Held<'_>> {
        self.turn.take(Holder::Launch, |holder| holder == Holder::Launch).ok()
    }

    fn usage(&self) -> &Usage {
        &self.usage
    }
}

impl<T: DeviceCopy> SharedHostBuffer<T> {
    /// Shares a host buffer.
    pub fn new(mut buffer: HostBuffer<T>) -> Self {
        let (len, device) = (buffer.len(), buffer.device().clone());
        let elements = NonNull::new(buffer.as_mut_ptr()).unwrap_or(NonNull::dangling());
        let (buffer, turn) = (UnsafeCell::new(Some(buffer)), Turn::default());
        Self(Arc::new(Shared { buffer, elements, len, device, turn, usage: Usage::default() }))
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// The device that the memory was pinned for.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Waits until no launched graph uses the memory, lends the elements to `access`, and returns its result.
    /// Meanwhile graphs that use the memory cannot be launched ([`GraphError::HostBufferLocked`]). If another
    /// thread has locked the memory, this waits for it.
    ///
    /// # Errors
    /// [`GraphError::HostBufferLocked`] within another `access` of the same memory, since that would
    /// deadlock; [`Error::Hip`] if waiting for a stream fails; [`Error::HostFunction`] if a host function
    /// would have to wait. `access` is then not called. For the fault of a stream, call
    /// [`Stream::synchronize`](crate::Stream::synchronize).
    // Takes a function instead of returning a guard, because a leaked guard would never unlock.
    pub fn lock<R>(&self, access: impl FnOnce(&mut [T]) -> R) -> Result<R> {
        let own = Holder::Program(std::thread::current().id());
        // The holder may be waiting for the stream that runs this host function.
        let waits = !in_host_function();
        let held = self.0.turn.take(own, |holder| waits && holder != own);
        let _held = held.map_err(|holder| match holder == own {
            true => GraphError::HostBufferLocked.into(),
            false => Error::HostFunction,
        })?;
        self.0.usage.wait()?;
        // SAFETY: the elements live as long as `self`; the turn keeps other threads and launches away until
        // `access` has returned or panicked, and earlier launches have ended.
        Ok(access(unsafe { std::slice::from_raw_parts_mut(self.0.elements.as_ptr(), self.0.len) }))
    }

    /// The address of the elements, for a node that is added with [`memory`](Self::memory).
    pub(crate) fn elements(&self) -> *mut T {
        self.0.elements.as_ptr()
    }

    pub(crate) fn memory(&self) -> Arc<dyn HostMemory> {
        self.0.clone()
    }
}

impl<T: DeviceCopy> Clone for SharedHostBuffer<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: DeviceCopy> fmt::Debug for SharedHostBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedHostBuffer")
            .field("type", &std::any::type_name::<T>())
            .field("len", &self.len())
            .field("device", self.device())
            .finish()
    }
}

impl<T: DeviceCopy> Drop for Shared<T> {
    fn drop(&mut self) {
        let (buffer, mut usage) = (self.buffer.get_mut().take(), std::mem::take(&mut self.usage));
        release("shared host buffer", move || usage.finish("shared host buffer", buffer, drop));
    }
}
