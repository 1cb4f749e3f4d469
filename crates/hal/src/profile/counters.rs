//! Counters of kernels, from HSA implementations that count.

use std::collections::BTreeMap;
use std::ffi::c_char;

use gpu_report::Counters;
use hsa_sys::hsa_queue_t;

use crate::error::Calls;

/// Has a queue count, or says why it does not.
pub(super) fn switch_on(calls: Calls, queue: *const hsa_queue_t) {
    if let Err(error) = calls.set_counters(queue, true) {
        tracing::info!(%error, "kernels have no counters");
    }
}

/// The counters of the kernels of a queue that have ended since the last call, by the numbers of their packets.
pub(super) fn take(calls: Calls, queue: *const hsa_queue_t) -> BTreeMap<u64, Counters> {
    let mut text = Vec::new();
    loop {
        let size = text.len();
        let buffer: *mut c_char = if size == 0 { std::ptr::null_mut() } else { text.as_mut_ptr() };
        // SAFETY: the buffer is null or has so many bytes.
        let len = unsafe { calls.take_counters(queue, buffer, size) };
        if len < size || len == 0 {
            text.truncate(len);
            break;
        }
        // More kernels may end meanwhile.
        text = vec![0; len + len / 4 + 1];
    }
    let bytes: Vec<u8> = text.into_iter().map(|byte| byte as u8).collect();
    if bytes.is_empty() { BTreeMap::new() } else { read(&bytes) }
}

/// Reads a list of counters, each with the number of its packet.
fn read(text: &[u8]) -> BTreeMap<u64, Counters> {
    let all = serde_json::from_slice::<Vec<serde_json::Value>>(text).and_then(|all| {
        all.into_iter()
            .map(|one| match one.get("packet").and_then(serde_json::Value::as_u64) {
                Some(packet) => Ok(Some((packet, serde_json::from_value(one)?))),
                // Without it, nobody knows which kernel it was.
                None => Ok(None),
            })
            .collect::<Result<Vec<_>, _>>()
    });
    all.map(|all| all.into_iter().flatten().collect()).unwrap_or_else(|error| {
        tracing::warn!(%error, "the HSA implementation's counters cannot be read");
        BTreeMap::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_of_counters_gives_none() {
        for text in ["", "{}", "[1]", "[{}]", "[{\"packet\":1}]", "[{\"packet\":-1}]", "["] {
            assert!(read(text.as_bytes()).is_empty(), "{text}");
        }
    }
}
