//! Accesses to memory that other threads see whole or not at all, as those of the hardware.
//!
//! A GPU moves what a lane loads or stores at once if it is aligned to its size: 4, 8 or 16 bytes. Programs publish values with
//! flags beside them so (the look-back scans of rocPRIM). Compilers promise nothing of the kind for plain accesses: they split
//! sixteen bytes that are taken apart afterwards. So these are single instructions of the host. An x86-64 processor with AVX does
//! aligned accesses of up to 16 bytes at once. On others, 16 bytes are two accesses.

#[cfg(target_arch = "x86_64")]
use std::arch::{asm, x86_64::__m128i};

/// Two dwords.
///
/// # Safety
/// `from` must be readable for 8 bytes.
#[inline(always)]
pub(super) unsafe fn load8(from: *const u8) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            let value: u64;
            asm!("mov {}, qword ptr [{}]", out(reg) value, in(reg) from, options(nostack, preserves_flags, readonly));
            value
        }
        #[cfg(not(target_arch = "x86_64"))]
        from.cast::<u64>().read_unaligned()
    }
}

/// Two dwords.
///
/// # Safety
/// `to` must be writable for 8 bytes.
#[inline(always)]
pub(super) unsafe fn store8(to: *mut u8, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("mov qword ptr [{}], {}", in(reg) to, in(reg) value, options(nostack, preserves_flags));
        #[cfg(not(target_arch = "x86_64"))]
        to.cast::<u64>().write_unaligned(value);
    }
}

/// Four dwords. `VEX` is the encoding of the host's instruction, that of the code around it: mixing them costs time.
///
/// # Safety
/// `from` must be readable for 16 bytes; with `VEX`, the processor must have AVX.
#[inline(always)]
pub(super) unsafe fn load16<const VEX: bool>(from: *const u8) -> [u32; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            let value: __m128i;
            if VEX {
                asm!("vmovups {}, xmmword ptr [{}]", out(xmm_reg) value, in(reg) from, options(nostack, preserves_flags, readonly));
            } else {
                asm!("movups {}, xmmword ptr [{}]", out(xmm_reg) value, in(reg) from, options(nostack, preserves_flags, readonly));
            }
            std::mem::transmute::<__m128i, [u32; 4]>(value)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let (low, high) = (load8(from), load8(from.add(8)));
            [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
        }
    }
}

/// Four dwords; see [`load16`].
///
/// # Safety
/// `to` must be writable for 16 bytes; with `VEX`, the processor must have AVX.
#[inline(always)]
pub(super) unsafe fn store16<const VEX: bool>(to: *mut u8, value: [u32; 4]) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            let value = std::mem::transmute::<[u32; 4], __m128i>(value);
            if VEX {
                asm!("vmovups xmmword ptr [{}], {}", in(reg) to, in(xmm_reg) value, options(nostack, preserves_flags));
            } else {
                asm!("movups xmmword ptr [{}], {}", in(reg) to, in(xmm_reg) value, options(nostack, preserves_flags));
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            store8(to, u64::from(value[0]) | u64::from(value[1]) << 32);
            store8(to.add(8), u64::from(value[2]) | u64::from(value[3]) << 32);
        }
    }
}

/// `N` dwords of a lane: one access for one, two and four of them; three are two accesses.
///
/// # Safety
/// `from` must be readable for `4 * N` bytes; with `VEX`, the processor must have AVX.
#[inline(always)]
pub(super) unsafe fn load<const N: usize, const VEX: bool>(from: *const u8) -> [u32; N] {
    let mut value = [0; N];
    // SAFETY: the caller's promise.
    unsafe {
        for first in (0..N).step_by(4) {
            let from = from.add(4 * first);
            let part = &mut value[first..];
            if part.len() >= 4 {
                part[..4].copy_from_slice(&load16::<VEX>(from));
                continue;
            }
            if part.len() >= 2 {
                let pair = load8(from);
                (part[0], part[1]) = (pair as u32, (pair >> 32) as u32);
            }
            if part.len() % 2 == 1 {
                let last = part.len() - 1;
                part[last] = from.cast::<u32>().add(last).read_unaligned();
            }
        }
    }
    value
}

/// `N` dwords of a lane; see [`load`].
///
/// # Safety
/// `to` must be writable for `4 * N` bytes; with `VEX`, the processor must have AVX.
#[inline(always)]
pub(super) unsafe fn store<const N: usize, const VEX: bool>(to: *mut u8, value: [u32; N]) {
    // SAFETY: the caller's promise.
    unsafe {
        for first in (0..N).step_by(4) {
            let to = to.add(4 * first);
            let part = &value[first..];
            if part.len() >= 4 {
                store16::<VEX>(to, [part[0], part[1], part[2], part[3]]);
                continue;
            }
            if part.len() >= 2 {
                store8(to, u64::from(part[0]) | u64::from(part[1]) << 32);
            }
            if part.len() % 2 == 1 {
                let last = part.len() - 1;
                to.cast::<u32>().add(last).write_unaligned(part[last]);
            }
        }
    }
}

/// One element of up to 16 bytes, to memory of this thread: 1, 2, 4, 8 and 16 bytes at once.
///
/// # Safety
/// As for `copy_nonoverlapping`.
#[inline(always)]
pub(super) unsafe fn take(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            1 => to.write(from.read()),
            2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
            4 => to.cast::<[u32; 1]>().write_unaligned(load::<1, false>(from)),
            8 => to.cast::<[u32; 2]>().write_unaligned(load::<2, false>(from)),
            16 => to.cast::<[u32; 4]>().write_unaligned(load::<4, false>(from)),
            _ => std::ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

/// The opposite of [`take`].
///
/// # Safety
/// As for `copy_nonoverlapping`.
#[inline(always)]
pub(super) unsafe fn put(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            1 => to.write(from.read()),
            2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
            4 => store::<1, false>(to, from.cast::<[u32; 1]>().read_unaligned()),
            8 => store::<2, false>(to, from.cast::<[u32; 2]>().read_unaligned()),
            16 => store::<4, false>(to, from.cast::<[u32; 4]>().read_unaligned()),
            _ => std::ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

/// Copies what a row of lanes loads from memory that others may write: every aligned 16 bytes are loaded at once.
///
/// # Safety
/// As for `copy_nonoverlapping`; `bytes` must be a multiple of 16.
#[inline(always)]
pub(super) unsafe fn fetch(from: *const u8, to: *mut u8, bytes: usize) {
    for at in (0..bytes).step_by(16) {
        // SAFETY: the caller's promise.
        unsafe { to.add(at).cast::<[u32; 4]>().write_unaligned(load16::<false>(from.add(at))) };
    }
}

/// Copies what a row of lanes stores to memory that others may read: every aligned 16 bytes are stored at once, each byte once.
///
/// # Safety
/// As for `copy_nonoverlapping`; `bytes` must be a multiple of 4.
#[inline(always)]
pub(super) unsafe fn publish(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        for at in (0..bytes & !15).step_by(16) {
            store16::<false>(to.add(at), from.add(at).cast::<[u32; 4]>().read_unaligned());
        }
        for at in (bytes & !15..bytes).step_by(4) {
            store::<1, false>(to.add(at), [from.add(at).cast::<u32>().read_unaligned()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_moved_once_and_nothing_beside_it() {
        let bytes: Vec<u8> = (0..64).collect();
        fn check<const N: usize>(bytes: &[u8]) {
            // SAFETY: both buffers are large enough.
            unsafe {
                let value = load::<N, false>(bytes.as_ptr().add(3));
                let expected: Vec<u32> =
                    bytes[3..].chunks(4).take(N).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
                assert_eq!(value[..], expected);
                let mut to = [0xff; 64];
                store::<N, false>(to.as_mut_ptr().add(1), value);
                assert_eq!(to[1..1 + 4 * N], bytes[3..3 + 4 * N]);
                assert!(to[0] == 0xff && to[1 + 4 * N..].iter().all(|&byte| byte == 0xff), "{to:?}");
            }
        }
        check::<1>(&bytes);
        check::<2>(&bytes);
        check::<3>(&bytes);
        check::<4>(&bytes);
        check::<8>(&bytes);
    }

    #[test]
    fn rows_are_moved_whole() {
        let from: Vec<u8> = (0..=255).collect();
        for bytes in [4, 12, 16, 20, 128, 252] {
            let mut to = [0u8; 256];
            // SAFETY: both buffers are large enough.
            unsafe { publish(from.as_ptr(), to.as_mut_ptr(), bytes) };
            assert!(to[..bytes] == from[..bytes] && to[bytes..].iter().all(|&byte| byte == 0), "{bytes}");
        }
        let mut to = [0u8; 256];
        // SAFETY: both buffers are large enough.
        unsafe { fetch(from.as_ptr(), to.as_mut_ptr(), 128) };
        assert!(to[..128] == from[..128] && to[128..].iter().all(|&byte| byte == 0));
    }
}
