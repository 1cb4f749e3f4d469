//! Host memory that a program and its graphs share.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::{DeviceCopy, HostBuffer};
use crate::stream::{in_host_function, release};
use crate::usage::Usage;

/// Pinned host memory that graphs copy from and to each time they run, and that the program reads and writes in between.
///
/// A clone is another handle of the same memory; graphs that use it hold one. [`lock`](Self::lock) waits for the graphs that
/// run and gives the elements; a graph that uses the memory is not launched as long as the program has it locked.
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
///     input.lock()?.fill(step as f32);
///     exec.launch(&stream)?;
/// }
/// # Ok(())
/// # }
/// ```
pub struct SharedHostBuffer<T: DeviceCopy>(Arc<Shared<T>>);

struct Shared<T: DeviceCopy> {
    /// There until this is dropped. Its elements are those of whoever has the turn below.
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
    /// The program, as long as it sees the elements.
    Program,
    /// A thread that launches a graph, until that is enqueued.
    Launch,
}

/// Keeps everybody else from the elements.
pub(crate) struct Held<'a>(&'a Turn);

impl Turn {
    fn lock(&self) -> MutexGuard<'_, Holder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the turn after those for whom `is_waited_for` says so, else not at all.
    fn take(&self, holder: Holder, is_waited_for: impl Fn(Holder) -> bool) -> Option<Held<'_>> {
        let mut now = self.lock();
        while *now != Holder::Nobody {
            if !is_waited_for(*now) {
                return None;
            }
            now = self.1.wait(now).unwrap_or_else(PoisonError::into_inner);
        }
        *now = holder;
        Some(Held(self))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0.lock() = Holder::Nobody;
        self.0.1.notify_all();
    }
}

// SAFETY: the elements may go to any thread, and are only reached by who has the turn, when no stream uses them.
unsafe impl<T: DeviceCopy> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: DeviceCopy> Sync for Shared<T> {}

/// Shared host memory without its type.
pub(crate) trait HostMemory: Send + Sync {
    /// Keeps the program and other launches from the elements, unless the program has them.
    fn hold(&self) -> Option<Held<'_>>;
    fn usage(&self) -> &Usage;
}

impl<T: DeviceCopy> HostMemory for Shared<T> {
    fn hold(&self) -> Option<Held<'_>> {
        self.turn.take(Holder::Launch, |holder| holder == Holder::Launch)
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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// The device that the memory was pinned for.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Waits until no launched graph uses the memory, and gives its elements. Graphs that use it cannot be launched as long
    /// as the result lives; another thread's lock is waited for.
    ///
    /// # Errors
    /// [`Error::Hip`] if a stream cannot be waited for, [`Error::HostFunction`] where a host function would have to wait. What failed on
    /// a stream that has faulted is found by [`Stream::synchronize`](crate::Stream::synchronize).
    pub fn lock(&self) -> Result<SharedHostGuard<'_, T>> {
        // Whoever has it may wait for the stream that runs the host function.
        let waits = !in_host_function();
        let held = self.0.turn.take(Holder::Program, |_| waits).ok_or(Error::HostFunction)?;
        self.0.usage.wait()?;
        Ok(SharedHostGuard { shared: &self.0, _held: held })
    }

    /// Where the elements lie, for a node that is added with [`memory`](Self::memory).
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

/// The elements of a [`SharedHostBuffer`], which no graph uses as long as this lives.
pub struct SharedHostGuard<'a, T: DeviceCopy> {
    shared: &'a Shared<T>,
    _held: Held<'a>,
}

impl<T: DeviceCopy> Deref for SharedHostGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the elements live as long as `shared`; the turn keeps other threads and launches away, and what was
        // launched before is over.
        unsafe { std::slice::from_raw_parts(self.shared.elements.as_ptr(), self.shared.len) }
    }
}

impl<T: DeviceCopy> DerefMut for SharedHostGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.shared.elements.as_ptr(), self.shared.len) }
    }
}

impl<T: DeviceCopy + fmt::Debug> fmt::Debug for SharedHostGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
