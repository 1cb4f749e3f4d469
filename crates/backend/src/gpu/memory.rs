//! Memory of a GPU's tensors.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hip::{DeviceBuffer, Stream};

use super::numbers::Numbers;
use crate::error::Result;
use crate::tensor::Storage;

/// Device memory that tensors share. It is freed once no work uses it.
#[derive(Debug)]
pub(super) struct GpuMemory {
    owner: u64,
    pub(super) buffer: DeviceBuffer<u8>,
    in_use: Arc<AtomicU64>,
    written: Written,
    /// Of quantised matrices.
    pub(super) numbers: Numbers,
}

/// The period of what a graph writes each time it is launched, from its capture on.
const ALWAYS: u64 = u64::MAX;
/// The period of memory of which nothing is known: work on what was there before may be under way.
const UNKNOWN: u64 = u64::MAX - 1;

/// The period in which memory was last written.
#[derive(Debug)]
pub(super) struct Written(AtomicU64);

impl Written {
    fn unknown() -> Self {
        Self(AtomicU64::new(UNKNOWN))
    }

    /// Work that is about to be submitted writes the memory; a `captured` one does so with each launch.
    fn again(&self, periods: &Periods, captured: bool) {
        let period = if captured { ALWAYS } else { periods.now.load(Ordering::Relaxed) };
        if self.0.load(Ordering::Relaxed) != ALWAYS {
            self.0.store(period, Ordering::Relaxed);
        }
    }

    /// Whether it is known which work wrote the memory last, and no launch of a graph writes it again.
    fn is_known(&self) -> bool {
        self.0.load(Ordering::Relaxed) < UNKNOWN
    }

    /// Whether all that was written was there when the host last waited, so that no kernel that may still run
    /// writes here.
    fn is_settled(&self, periods: &Periods) -> bool {
        self.0.load(Ordering::Relaxed) < periods.settled.load(Ordering::Relaxed)
    }
}

/// Periods between synchronisations, by which it is known whether what was written to memory is there. All of
/// it happens while the right to submit work is held.
#[derive(Debug, Default)]
pub(super) struct Periods {
    now: AtomicU64,
    /// Work of the periods before this one has ended.
    settled: AtomicU64,
}

impl Periods {
    /// Begins the next one, which is returned.
    pub(super) fn begin(&self) -> u64 {
        self.now.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// All work submitted before this period has ended.
    pub(super) fn settle(&self, period: u64) {
        self.settled.fetch_max(period, Ordering::Relaxed);
    }
}

impl GpuMemory {
    /// Unspecified bytes.
    pub(super) fn uninit(owner: u64, stream: &Stream, bytes: usize, in_use: &Arc<AtomicU64>) -> Result<Self> {
        let buffer = DeviceBuffer::uninit_on(stream, bytes)?;
        in_use.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(Self {
            owner,
            buffer,
            in_use: in_use.clone(),
            written: Written::unknown(),
            numbers: Numbers::default(),
        })
    }

    /// [`Written::again`]. Numbers of what was there are forgotten.
    pub(super) fn is_written(&self, periods: &Periods, captured: bool) {
        self.written.again(periods, captured);
        self.numbers.forget();
    }

    /// [`Written::is_known`].
    pub(super) fn is_known(&self) -> bool {
        self.written.is_known()
    }

    /// [`Written::is_settled`].
    pub(super) fn is_settled(&self, periods: &Periods) -> bool {
        self.written.is_settled(periods)
    }
}

impl Drop for GpuMemory {
    fn drop(&mut self) {
        self.in_use.fetch_sub(self.buffer.len() as u64, Ordering::Relaxed);
    }
}

impl Storage for GpuMemory {
    fn size_in_bytes(&self) -> usize {
        self.buffer.len()
    }

    fn backend(&self) -> u64 {
        self.owner
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_settled_once_the_host_has_waited_for_its_last_write() {
        let (periods, written) = (Periods::default(), Written::unknown());
        let wait = |during: &dyn Fn()| {
            let period = periods.begin();
            during();
            periods.settle(period);
        };
        wait(&|| ());
        assert!(!written.is_settled(&periods) && !written.is_known(), "nothing is known of it");
        written.again(&periods, false);
        assert!(!written.is_settled(&periods) && written.is_known());
        wait(&|| ());
        assert!(written.is_settled(&periods));
        // A write that is submitted while the host waits may not be what it waits for.
        wait(&|| written.again(&periods, false));
        assert!(!written.is_settled(&periods));
        wait(&|| ());
        assert!(written.is_settled(&periods));
        // Of two threads that wait, the one that began first may end last.
        let (first, second) = (periods.begin(), periods.begin());
        written.again(&periods, false);
        periods.settle(second);
        periods.settle(first);
        assert!(!written.is_settled(&periods));
        written.again(&periods, true);
        wait(&|| ());
        assert!(!written.is_settled(&periods) && !written.is_known(), "a graph may write it again");
        written.again(&periods, false);
        wait(&|| ());
        assert!(!written.is_settled(&periods) && !written.is_known(), "and also after somebody else did");
    }
}
