//! Each thread's own default stream.

use std::cell::RefCell;

use super::{Stream, StreamOptions};
use crate::device::Device;
use crate::error::Result;

thread_local! {
    /// At most one per device. Each ends once the thread has ended and its last handle is dropped.
    static OWN: RefCell<Vec<Stream>> = const { RefCell::new(Vec::new()) };
}

/// The calling thread's stream of a device. Makes one if there is none that works.
pub(crate) fn of_this_thread(device: &Device) -> Result<Stream> {
    let find = |own: &RefCell<Vec<Stream>>| {
        let mut own = own.borrow_mut();
        // Replace a faulted stream, which runs nothing any more.
        let failed = own.iter().position(|stream| stream.device() == device && stream.queue().has_faulted());
        let failed = failed.map(|index| own.swap_remove(index));
        let found = own.iter().find(|stream| stream.device() == device).cloned();
        (found, failed)
    };
    // A thread that is ending cannot keep a stream.
    let (found, failed) = OWN.try_with(find).unwrap_or_default();
    // Dropping waits for the stream's end, so it must happen outside.
    drop(failed);
    if let Some(stream) = found {
        return Ok(stream);
    }
    let stream = device.stream_with(StreamOptions::new().blocking(true))?;
    let _ = OWN.try_with(|own| own.borrow_mut().push(stream.clone()));
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use crate::fake;

    #[test]
    fn each_thread_has_one_stream_per_device_which_may_leave_it() {
        let (first, second) = (fake::device(0), fake::device(1));
        let here = first.thread_stream().unwrap();
        assert_eq!(here, first.thread_stream().unwrap());
        assert_ne!(here, second.thread_stream().unwrap());
        assert!(here.is_blocking().unwrap());
        let there = std::thread::spawn(move || first.thread_stream().unwrap()).join().unwrap();
        assert_ne!(here, there);
        there.synchronize().unwrap();
        assert_eq!(fake::calls(&there), ["synchronize"]);
    }

    #[test]
    fn a_thread_stream_that_has_faulted_is_replaced() {
        let device = fake::device(0);
        std::thread::spawn(move || {
            let stream = device.thread_stream().unwrap();
            fake::fault(&stream, "kernel `k`");
            let next = device.thread_stream().unwrap();
            assert_ne!(stream, next);
            next.synchronize().unwrap();
            assert_eq!(next, device.thread_stream().unwrap());
        })
        .join()
        .unwrap();
    }
}
