//! AQL packets, as words in memory.

use hsa_sys::*;

/// The scope in which a packet sees others' writes and publishes its own: none.
pub const SCOPE_NONE: u32 = 0;
/// The scope of the agent.
pub const SCOPE_AGENT: u32 = 1;
/// The scope of the system.
pub const SCOPE_SYSTEM: u32 = 2;

/// The first half of a packet's first word.
const fn header(kind: hsa_packet_type_t, acquire: u32, release: u32) -> u32 {
    kind.0 << hsa_packet_header_t::HSA_PACKET_HEADER_TYPE.0
        | 1 << hsa_packet_header_t::HSA_PACKET_HEADER_BARRIER.0
        | acquire << hsa_packet_header_t::HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE.0
        | release << hsa_packet_header_t::HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE.0
}

/// A packet: sixteen words in memory.
pub type Packet = [u32; 16];

fn put(packet: &mut Packet, word: usize, value: u64) {
    packet[word] = value as u32;
    packet[word + 1] = (value >> 32) as u32;
}

/// The contents of a kernel dispatch packet, except the arguments.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch {
    /// Work-items of the grid.
    pub grid: [u32; 3],
    /// Work-items of a workgroup, each at most 65535.
    pub block: [u32; 3],
    /// Scratch of a work-item, bytes.
    pub private: u32,
    /// LDS of a workgroup, bytes.
    pub group: u32,
    /// HSA's handle of the kernel.
    pub kernel: u64,
}

/// The first word of a kernel's packet: three dimensions, and the ordering.
#[inline]
const fn dispatch_header(acquire: u32) -> u32 {
    header(hsa_packet_type_t::HSA_PACKET_TYPE_KERNEL_DISPATCH, acquire, SCOPE_AGENT) | 3 << 16
}

/// The packet of a kernel, which waits for all packets before it.
#[inline]
pub fn dispatch_packet(dispatch: &Dispatch, arguments: u64, acquire: u32) -> Packet {
    let mut packet = [0; 16];
    packet[0] = dispatch_header(acquire);
    packet[1] = dispatch.block[0] | dispatch.block[1] << 16;
    packet[2] = dispatch.block[2];
    packet[3..6].copy_from_slice(&dispatch.grid);
    packet[6] = dispatch.private;
    packet[7] = dispatch.group;
    put(&mut packet, 8, dispatch.kernel);
    put(&mut packet, 10, arguments);
    packet
}

/// A packet that waits for all packets before it and for at most five signals, then decrements one.
#[inline]
pub fn barrier_packet(after: &[hsa_signal_t], done: hsa_signal_t, release: u32) -> Packet {
    let mut packet = [0; 16];
    packet[0] = header(hsa_packet_type_t::HSA_PACKET_TYPE_BARRIER_AND, SCOPE_SYSTEM, release);
    for (index, signal) in after.iter().enumerate() {
        put(&mut packet, 2 + 2 * index, signal.handle);
    }
    put(&mut packet, 14, done.handle);
    packet
}

/// As [`barrier_packet`], but waits for any one of the signals.
#[inline]
pub fn barrier_any_packet(after: &[hsa_signal_t], done: hsa_signal_t, release: u32) -> Packet {
    let mut packet = barrier_packet(after, done, release);
    packet[0] = header(hsa_packet_type_t::HSA_PACKET_TYPE_BARRIER_OR, SCOPE_SYSTEM, release);
    packet
}

/// A packet of AMD's that waits for all packets before it, and until a signal is less than a value.
#[inline]
pub fn barrier_less_packet(signal: hsa_signal_t, value: i64) -> Packet {
    let mut packet = [0; 16];
    packet[0] = header(hsa_packet_type_t::HSA_PACKET_TYPE_VENDOR_SPECIFIC, SCOPE_SYSTEM, SCOPE_NONE)
        | hsa_amd_packet_type_t::HSA_AMD_PACKET_TYPE_BARRIER_VALUE.0 << 16;
    put(&mut packet, 2, signal.handle);
    put(&mut packet, 4, value as u64);
    put(&mut packet, 6, u64::MAX);
    packet[8] = hsa_signal_condition_t::HSA_SIGNAL_CONDITION_LT.0;
    packet
}

/// The packet of a kernel with system scope, which sees all writes and publishes its own to all, then
/// decrements a signal.
#[inline]
pub fn completing_packet(dispatch: &Dispatch, arguments: u64, done: hsa_signal_t) -> Packet {
    let mut packet = dispatch_packet(dispatch, arguments, SCOPE_SYSTEM);
    packet[0] =
        header(hsa_packet_type_t::HSA_PACKET_TYPE_KERNEL_DISPATCH, SCOPE_SYSTEM, SCOPE_SYSTEM) | 3 << 16;
    put(&mut packet, 14, done.handle);
    packet
}

/// The packet of a kernel whose arguments stay in place. With `ordered`, it waits for all packets before it;
/// otherwise it may run in parallel with packets since the last ordered one.
#[inline]
pub fn prepared_packet(dispatch: &Dispatch, arguments: u64, ordered: bool) -> Packet {
    let mut packet = dispatch_packet(dispatch, arguments, SCOPE_AGENT);
    if !ordered {
        packet[0] &= !(1 << hsa_packet_header_t::HSA_PACKET_HEADER_BARRIER.0);
    }
    packet
}

/// Whether a packet waits for all packets before it.
#[inline]
#[must_use]
pub fn is_ordered(packet: &Packet) -> bool {
    packet[0] >> hsa_packet_header_t::HSA_PACKET_HEADER_BARRIER.0 & 1 != 0
}

/// Whether a packet is of a kernel.
#[inline]
#[must_use]
pub fn is_dispatch(packet: &Packet) -> bool {
    packet[0] & 0xff == hsa_packet_type_t::HSA_PACKET_TYPE_KERNEL_DISPATCH.0
}

/// Lets a packet see writes of others within a scope, and wait for all packets before it.
#[inline]
pub fn acquire(packet: &mut Packet, scope: u32) {
    let place = hsa_packet_header_t::HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE.0;
    packet[0] =
        packet[0] & !(3 << place) | scope << place | 1 << hsa_packet_header_t::HSA_PACKET_HEADER_BARRIER.0;
}

/// Lets a packet publish its writes to all, and then decrement a signal.
#[inline]
pub fn complete_with(packet: &mut Packet, done: hsa_signal_t) {
    let place = hsa_packet_header_t::HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE.0;
    packet[0] = packet[0] & !(3 << place) | SCOPE_SYSTEM << place;
    signal_end(packet, done);
}

/// Lets a packet decrement a signal when it ends.
#[inline]
pub fn signal_end(packet: &mut Packet, done: hsa_signal_t) {
    put(packet, 14, done.handle);
}

/// Makes a packet one that is not yet written, and returns the first word that it had. The processor waits at
/// such a packet until somebody writes a first word.
#[inline]
#[must_use]
pub fn take_header(packet: &mut Packet) -> u32 {
    std::mem::replace(&mut packet[0], hsa_packet_type_t::HSA_PACKET_TYPE_INVALID.0)
}

/// Whether a packet is not yet written: somebody has to complete it.
#[inline]
#[must_use]
pub fn is_incomplete(packet: &Packet) -> bool {
    packet[0] & 0xff == hsa_packet_type_t::HSA_PACKET_TYPE_INVALID.0
}

/// Lets the packet of a kernel take its arguments from another address.
#[inline]
pub fn set_arguments(packet: &mut Packet, arguments: u64) {
    put(packet, 10, arguments);
}

/// The null handle: no signal.
pub const NO_SIGNAL: hsa_signal_t = hsa_signal_t { handle: 0 };

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The words of a packet at a byte offset.
    fn at(packet: &Packet, offset: usize) -> u64 {
        u64::from(packet[offset / 4]) | packet.get(offset / 4 + 1).map_or(0, |&high| u64::from(high) << 32)
    }

    #[test]
    fn dispatch_packets_have_hsas_layout() {
        type P = hsa_kernel_dispatch_packet_t;
        let dispatch = Dispatch {
            grid: [1 << 20, 7, 3],
            block: [256, 2, 1],
            private: 48,
            group: 1024,
            kernel: 0x1122_3344_5566_7788,
        };
        let packet = dispatch_packet(&dispatch, 0xaabb_ccdd_eeff_0011, SCOPE_SYSTEM);
        // Type 2, barrier bit, acquire at system and release at agent scope, three dimensions.
        assert_eq!(packet[0], 0x0003_0d02);
        assert_eq!(at(&packet, offset_of!(P, workgroup_size_x)) as u16, 256);
        assert_eq!((at(&packet, offset_of!(P, workgroup_size_x)) >> 16) as u16, 2);
        assert_eq!(at(&packet, offset_of!(P, workgroup_size_z)) as u16, 1);
        assert_eq!(at(&packet, offset_of!(P, grid_size_x)) as u32, 1 << 20);
        assert_eq!(at(&packet, offset_of!(P, grid_size_y)) as u32, 7);
        assert_eq!(at(&packet, offset_of!(P, grid_size_z)) as u32, 3);
        assert_eq!(at(&packet, offset_of!(P, private_segment_size)) as u32, 48);
        assert_eq!(at(&packet, offset_of!(P, group_segment_size)) as u32, 1024);
        assert_eq!(at(&packet, offset_of!(P, kernel_object)), dispatch.kernel);
        assert_eq!(at(&packet, offset_of!(P, kernarg_address)), 0xaabb_ccdd_eeff_0011);
        assert_eq!(at(&packet, offset_of!(P, completion_signal)), 0);
    }

    #[test]
    fn packets_that_complete_show_everything_to_everyone() {
        let dispatch = Dispatch { grid: [64, 1, 1], block: [64, 1, 1], private: 0, group: 0, kernel: 1 };
        let packet = completing_packet(&dispatch, 2, hsa_signal_t { handle: 7 << 32 });
        assert_eq!(packet[0], 0x0003_1502);
        let offset = offset_of!(hsa_kernel_dispatch_packet_t, completion_signal);
        assert_eq!(at(&packet, offset), 7 << 32);
        assert_eq!(barrier_any_packet(&[], NO_SIGNAL, SCOPE_SYSTEM)[0], 0x1505);
    }

    #[test]
    fn a_packet_that_waits_for_a_value_has_amds_layout() {
        type P = hsa_amd_barrier_value_packet_t;
        let packet = barrier_less_packet(hsa_signal_t { handle: 5 << 33 }, -7);
        // Type 0, barrier bit, acquire at system and release at no scope; AMD's format 2.
        assert_eq!(packet[0], 0x0002_0500);
        assert_eq!(at(&packet, offset_of!(P, signal)), 5 << 33);
        assert_eq!(at(&packet, offset_of!(P, value)) as i64, -7);
        assert_eq!(at(&packet, offset_of!(P, mask)), u64::MAX);
        assert_eq!(packet[offset_of!(P, cond) / 4], hsa_signal_condition_t::HSA_SIGNAL_CONDITION_LT.0);
        assert_eq!(offset_of!(P, completion_signal), 56);
    }

    #[test]
    fn a_packet_without_its_first_word_is_incomplete() {
        let mut packet = barrier_packet(&[], NO_SIGNAL, SCOPE_SYSTEM);
        assert!(!is_incomplete(&packet) && !is_incomplete(&barrier_less_packet(NO_SIGNAL, 0)));
        assert_eq!(take_header(&mut packet), 0x1503);
        assert!(is_incomplete(&packet));
    }

    #[test]
    fn a_recorded_packet_is_changed_in_place() {
        let dispatch = Dispatch { grid: [64, 1, 1], block: [64, 1, 1], private: 0, group: 0, kernel: 1 };
        let mut packet = prepared_packet(&dispatch, 2, false);
        assert!(is_dispatch(&packet) && !is_ordered(&packet));
        set_arguments(&mut packet, 9 << 32);
        acquire(&mut packet, SCOPE_SYSTEM);
        assert!(is_ordered(&packet));
        complete_with(&mut packet, hsa_signal_t { handle: 7 << 32 });
        assert_eq!(packet, completing_packet(&dispatch, 9 << 32, hsa_signal_t { handle: 7 << 32 }));
    }

    #[test]
    fn barrier_packets_have_hsas_layout() {
        type P = hsa_barrier_and_packet_t;
        let signals: Vec<_> = (1..=5u64).map(|handle| hsa_signal_t { handle: handle << 33 }).collect();
        let packet = barrier_packet(&signals, hsa_signal_t { handle: 99 << 32 }, SCOPE_SYSTEM);
        assert_eq!(packet[0], 0x1503);
        for (index, signal) in signals.iter().enumerate() {
            assert_eq!(at(&packet, offset_of!(P, dep_signal) + 8 * index), signal.handle);
        }
        assert_eq!(at(&packet, offset_of!(P, completion_signal)), 99 << 32);
    }
}
