//! Fills: `hipMemset` and similar functions.

use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::hipError_t;

use crate::devices::device::Device;
use crate::devices::stream::Stream;
use crate::devices::turn::Turn;
use crate::error::Result;
use crate::gpu::{STAGING_BYTES, Staging};
use crate::memory::allocation::{Use, memory};
use crate::memory::external::is_in_reach;
use crate::memory::rect::Rows;
use crate::queue::submitter::CopyOp;
use crate::runtime::Runtime;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The value to write: the bytes of one element, repeated to a word.
#[derive(Debug, Clone, Copy)]
struct Pattern {
    word: u32,
    element: usize,
}

impl Pattern {
    fn new(value: u32, element: usize) -> Self {
        let word = match element {
            1 => (value & 0xff) * 0x0101_0101,
            2 => (value & 0xffff) * 0x0001_0001,
            _ => value,
        };
        Self { word, element }
    }

    /// Fills bytes that begin with an element.
    fn write(self, bytes: &mut [u8]) {
        let word = self.word.to_le_bytes();
        if word.iter().all(|&byte| byte == word[0]) {
            bytes.fill(word[0]);
            return;
        }
        for chunk in bytes.chunks_mut(4) {
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// The position of the rows.
#[derive(Clone, Copy)]
struct Target {
    /// The device that owns them, `None` for host memory.
    device: Option<&'static Device>,
    /// Distance of the address for devices.
    distance: usize,
}

impl Target {
    /// Whether the host is the best choice to fill the rows.
    fn is_near(self, runtime: &Runtime, rows: Rows) -> bool {
        match self.device {
            Some(device) => device.host_near(runtime) && is_in_reach(runtime, rows.start),
            None => true,
        }
    }
}

/// Fills rows now, by whatever means necessary.
///
/// # Safety
/// The rows lie within one allocation and nothing else uses them meanwhile.
unsafe fn fill_now(_turn: Turn, runtime: &Runtime, target: Target, rows: Rows, pattern: Pattern) -> Result {
    let by_host = target.is_near(runtime, rows);
    for start in rows.iter() {
        if by_host {
            // SAFETY: as this function's contract; the host can access the memory.
            pattern.write(unsafe { std::slice::from_raw_parts_mut(start as *mut u8, rows.width) });
            if target.device.is_some() {
                runtime.hsa.host_wrote(start, rows.width);
            }
            continue;
        }
        // HSA fills whole words only; the ends are copied.
        let head = (start.wrapping_neg() & 3).min(rows.width);
        let words = (rows.width - head) / 4;
        let tail = rows.width - head - 4 * words;
        // The body's first byte is byte `head` of the pattern.
        let body = pattern.word.rotate_right(8 * head as u32);
        let (head_bytes, body_bytes) = (pattern.word.to_le_bytes(), body.to_le_bytes());
        // SAFETY: as this function's contract.
        unsafe {
            if head != 0 {
                runtime.hsa.copy(start as *mut c_void, head_bytes.as_ptr().cast(), head)?;
            }
            if words != 0 {
                runtime.hsa.fill((start + head) as *mut c_void, body, words)?;
            }
            if tail != 0 {
                let end = start + head + 4 * words;
                runtime.hsa.copy(end as *mut c_void, body_bytes.as_ptr().cast(), tail)?;
            }
        }
    }
    Ok(())
}

/// A fill as requested by a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill {
    rows: Rows,
    pattern: Pattern,
}

impl Fill {
    /// Rows of equal elements of 1, 2 or 4 bytes.
    pub(crate) fn new(rows: Rows, value: u32, element: usize) -> Self {
        Self { rows, pattern: Pattern::new(value, element) }
    }

    /// The destination.
    pub(crate) fn rows(&self) -> Rows {
        self.rows
    }

    /// The element and its bytes.
    pub(crate) fn element(&self) -> (u32, usize) {
        let Pattern { word, element } = self.pattern;
        (if element < 4 { word & ((1 << (8 * element)) - 1) } else { word }, element)
    }

    /// Checks the fill against the current memory at its address. `device` is the stream's, once there is
    /// one.
    pub(crate) fn check(self, runtime: &Runtime, device: Option<&'static Device>) -> Result {
        self.sort_out(runtime, device).map(drop)
    }

    /// Fills in stream order. With `wait`, host memory is written on return. Fills of device memory without a
    /// stream are ordered in the null stream and not waited for.
    pub(crate) fn start(self, runtime: &'static Runtime, stream: &Stream, wait: bool) -> Result {
        match self.sort_out(runtime, Some(stream.device))? {
            Some((target, rows)) => {
                run(runtime, stream, target, rows, self.pattern, wait && target.device.is_none())
            }
            None => Ok(()),
        }
    }

    /// Enqueues the fill.
    pub(crate) fn enqueue(self, runtime: &'static Runtime, stream: &Arc<Stream>) -> Result {
        match self.sort_out(runtime, Some(stream.device))? {
            Some((target, rows)) => run(runtime, stream, target, rows, self.pattern, false),
            None => Ok(()),
        }
    }

    /// Locates the rows; `None` if there are none.
    fn sort_out(self, runtime: &Runtime, device: Option<&'static Device>) -> Result<Option<(Target, Rows)>> {
        let Self { rows, pattern } = self;
        if rows.is_empty() {
            return Ok(None);
        }
        if rows.start == 0 || !rows.start.is_multiple_of(pattern.element) || !rows.is_apart() {
            return Err(INVALID_VALUE);
        }
        let extent = rows.extent().ok_or(INVALID_VALUE)?;
        if rows.start.checked_add(extent).is_none() {
            return Err(INVALID_VALUE);
        }
        if rows.iter().take(2).any(|row| !row.is_multiple_of(pattern.element)) {
            return Err(INVALID_VALUE);
        }
        let (found, offset) = memory(runtime).find(rows.start).ok_or(INVALID_VALUE)?;
        if !memory(runtime).holds(&found, offset, extent, Use { writes: true, device }) {
            return Err(INVALID_VALUE);
        }
        let target =
            Target { device: found.memory_of(), distance: found.device_base.wrapping_sub(found.base) };
        // From here on, addresses are the host's, or the device's for device memory.
        Ok(Some((target, Rows { start: found.base + offset, ..rows }.simplified())))
    }
}

fn run(
    runtime: &'static Runtime,
    stream: &Stream,
    target: Target,
    rows: Rows,
    pattern: Pattern,
    wait: bool,
) -> Result {
    let near = target.is_near(runtime, rows);
    let size = rows.bytes();
    let order = stream.order_with([target.device, None]);
    let turn = match wait {
        true => Some(order.await_turn(runtime)?),
        false if near && size <= STAGING_BYTES => order.turn_now(runtime),
        false => None,
    };
    if let Some(turn) = turn {
        // SAFETY: `sort_out` has found that an allocation holds the rows; it is the fill's turn.
        return unsafe { fill_now(turn, runtime, target, rows, pattern) };
    }
    if rows.width <= STAGING_BYTES && rows.height * rows.depth <= 64 {
        let staging = Arc::new(Staging::new(runtime, target.device.unwrap_or(stream.device))?);
        // SAFETY: the buffer belongs to this call until the copies are submitted, and holds a row.
        pattern.write(unsafe { std::slice::from_raw_parts_mut(staging.pointer(), rows.width) });
        let ops: Vec<CopyOp> = rows
            .iter()
            .map(|start| CopyOp {
                dst: start.wrapping_add(target.distance) as *mut c_void,
                dst_agent: target.device.map_or(runtime.cpu, |device| device.agent),
                src: staging.pointer().cast_const().cast(),
                src_agent: runtime.cpu,
                size: rows.width,
            })
            .collect();
        // SAFETY: the buffer stays with the submitter until the copies have completed; the destination is an
        // allocation whose free waits for the device, or for the stream.
        return order.submit(runtime, |submitter| unsafe { submitter.copy(&ops, Some(staging)) }).map(drop);
    }
    order.run_in_turn(runtime, true, move |turn, progress| {
        let Ok(turn) = turn else { return };
        // SAFETY: an allocation holds the rows; its free waits for the device, or for the stream, which this
        // is part of.
        if let Err(code) = unsafe { fill_now(turn, runtime, target, rows, pattern) } {
            progress.fail_stream(code, format!("a fill of {size} bytes at {:#x} failed", rows.start));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_repeat_their_element() {
        let mut bytes = [0u8; 7];
        Pattern::new(0xab, 1).write(&mut bytes);
        assert_eq!(bytes, [0xab; 7]);
        Pattern::new(0x1234, 2).write(&mut bytes[..6]);
        assert_eq!(bytes[..6], [0x34, 0x12, 0x34, 0x12, 0x34, 0x12]);
        Pattern::new(0x0102_0304, 4).write(&mut bytes[..4]);
        assert_eq!(bytes[..4], [4, 3, 2, 1]);
    }

    #[test]
    fn the_body_of_an_unaligned_fill_continues_the_pattern() {
        // Two bytes before the first aligned word: the word starts in the middle of the pattern.
        let pattern = Pattern::new(0x4433_2211, 4);
        let whole: Vec<u8> = (0..12).map(|i| pattern.word.to_le_bytes()[i % 4]).collect();
        for head in 0..4 {
            assert_eq!(pattern.word.rotate_right(8 * head as u32).to_le_bytes(), whole[head..head + 4]);
        }
    }
}
