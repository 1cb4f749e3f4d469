//! Jobs on several threads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The results of `job` for each number below `count`, in order, on at most `threads` threads. Jobs also
/// start in that order.
pub(crate) fn run<T: Send + Sync>(threads: usize, count: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let results: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(result) = results.get(index) else { break };
            // Each index is handed out once.
            let _ = result.set(job(index));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(worker);
        }
    });
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}
