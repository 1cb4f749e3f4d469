//! Memory accesses that are atomic for other threads, as in hardware.
//!
//! A GPU moves a lane's data in one piece if it is aligned to its size: 4, 8 or 16 bytes. Programs publish
//! values together with flags this way (the look-back scans of rocPRIM). Compilers do not guarantee this for
//! plain accesses: they split sixteen bytes that are taken apart afterwards. So each access here is a single
//! host instruction. An x86-64 processor with AVX performs aligned accesses of up to 16 bytes atomically. On
//! other hosts, 16 bytes take two accesses.

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

/// Four dwords. `VEX` selects the encoding of the host's instruction. It must match the surrounding code,
/// because mixing encodings is slow.
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

/// Copies data that others may write to memory that only this thread uses: in pieces of 16, 8, 4, 2 and 1
/// bytes, the largest first.
///
/// # Safety
/// As for `copy_nonoverlapping`; with `VEX`, the processor must have AVX.
#[inline(always)]
pub(super) unsafe fn copy_in<const VEX: bool>(from: *const u8, to: *mut u8, bytes: usize) {
    let mut at = 0;
    // SAFETY: the caller's promise; every piece lies within the bytes.
    unsafe {
        while bytes - at >= 16 {
            to.add(at).cast::<[u32; 4]>().write_unaligned(load16::<VEX>(from.add(at)));
            at += 16;
        }
        if bytes - at >= 8 {
            to.add(at).cast::<u64>().write_unaligned(load8(from.add(at)));
            at += 8;
        }
        if bytes - at >= 4 {
            to.add(at).cast::<u32>().write_unaligned(from.add(at).cast::<u32>().read_unaligned());
            at += 4;
        }
        if bytes - at >= 2 {
            to.add(at).cast::<u16>().write_unaligned(from.add(at).cast::<u16>().read_unaligned());
            at += 2;
        }
        if bytes > at {
            to.add(at).write(from.add(at).read());
        }
    }
}

/// Copies data of this thread to where others may read it; see [`copy_in`]. Each byte is written once.
///
/// # Safety
/// As for [`copy_in`].
#[inline(always)]
pub(super) unsafe fn copy_out<const VEX: bool>(from: *const u8, to: *mut u8, bytes: usize) {
    let mut at = 0;
    // SAFETY: the caller's promise; every piece lies within the bytes.
    unsafe {
        while bytes - at >= 16 {
            store16::<VEX>(to.add(at), from.add(at).cast::<[u32; 4]>().read_unaligned());
            at += 16;
        }
        if bytes - at >= 8 {
            store8(to.add(at), from.add(at).cast::<u64>().read_unaligned());
            at += 8;
        }
        if bytes - at >= 4 {
            to.add(at).cast::<u32>().write_unaligned(from.add(at).cast::<u32>().read_unaligned());
            at += 4;
        }
        if bytes - at >= 2 {
            to.add(at).cast::<u16>().write_unaligned(from.add(at).cast::<u16>().read_unaligned());
            at += 2;
        }
        if bytes > at {
            to.add(at).write(from.add(at).read());
        }
    }
}

/// `N` dwords of a lane: one access for one, two or four of them; three take two accesses.
///
/// # Safety
/// `from` must be readable for `4 * N` bytes; with `VEX`, the processor must have AVX.
#[inline(always)]
pub(super) unsafe fn load<const N: usize, const VEX: bool>(from: *const u8) -> [u32; N] {
    let mut value = [0; N];
    // SAFETY: the caller's promise.
    unsafe { copy_in::<VEX>(from, value.as_mut_ptr().cast(), 4 * N) };
    value
}

/// `N` dwords of a lane; see [`load`].
///
/// # Safety
/// `to` must be writable for `4 * N` bytes; with `VEX`, the processor must have AVX.
#[inline(always)]
pub(super) unsafe fn store<const N: usize, const VEX: bool>(to: *mut u8, value: [u32; N]) {
    // SAFETY: the caller's promise.
    unsafe { copy_out::<VEX>(value.as_ptr().cast(), to, 4 * N) };
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
    fn any_number_of_bytes_is_moved() {
        let from: Vec<u8> = (0..=255).collect();
        for bytes in (0..=40).chain([128, 252]) {
            for copy in [copy_in::<false>, copy_out::<false>] {
                let mut to = [0xff_u8; 256];
                // SAFETY: both buffers are large enough.
                unsafe { copy(from.as_ptr(), to.as_mut_ptr(), bytes) };
                assert!(
                    to[..bytes] == from[..bytes] && to[bytes..].iter().all(|&byte| byte == 0xff),
                    "{bytes}"
                );
            }
        }
    }
}
