//! The initial registers of a wave, as the kernel's descriptor requests them.

use code_object::KernelDescriptor;

use super::dispatch::Dispatch;
use super::memory::Memory;
use super::{Generation, Target};
use crate::exec::Wave;
use crate::isa::scalar;

/// The first SGPR slot that is not a general-purpose register on any generation.
const GENERAL_SGPRS: usize = 102;
/// The workgroup's id on gfx12: `ttmp9` holds x, and `ttmp7` holds y and, if the kernel wants z, z in its
/// high half.
const GROUP_X: usize = scalar::TTMP0 as usize + 9;
const GROUP_YZ: usize = scalar::TTMP0 as usize + 7;
/// The wave's number in its workgroup on gfx12: bits 25..=29 of `ttmp8`.
const WAVE_IN_GROUP: usize = scalar::TTMP0 as usize + 8;
/// The number of vector registers in the file before the first ACC register.
pub(super) const ACC_BASE: usize = 256;

/// The most user registers of any target: those whose values are the same for all waves of a dispatch.
const USER_SGPRS: usize = 32;

/// The values of the user registers for a dispatch.
pub(super) type User = [u32; USER_SGPRS];

/// What the waves of a kernel find in their registers: the positions, and the values that are always the
/// same.
#[derive(Debug)]
pub(super) struct Initial {
    generation: Generation,
    lanes: usize,
    /// The first of the two registers of an address or number.
    packet: Option<usize>,
    queue: Option<usize>,
    kernarg: Option<usize>,
    id: Option<usize>,
    private_size: Option<usize>,
    preload: Preload,
    /// The register of the workgroup's id, per dimension.
    group_id: [Option<usize>; 3],
    /// gfx12: whether the kernel wants z of the workgroup's id.
    wants_group_z: bool,
    group_info: Option<usize>,
    /// The registers of the offset of the wave's scratch memory and of the scratch buffer descriptor.
    scratch_offset: Option<usize>,
    scratch_buffer: Option<usize>,
    scratch_init: Option<usize>,
    /// The number of scalar registers that are set initially, including the padding of user registers.
    sgprs: usize,
    /// The number of dimensions of work-item ids that the kernel wants, minus one.
    id_dimensions: u32,
    mode: u32,
    /// The number of vector registers that the kernel uses below [`ACC_BASE`] and from there on.
    vgprs: [usize; 2],
}

/// Arguments that are in registers when a wave starts.
#[derive(Default, Debug)]
struct Preload {
    /// The first register, and how many there are.
    first: usize,
    length: usize,
    /// Where the arguments begin, in bytes.
    offset: u64,
}

/// Allocates consecutive SGPRs.
#[derive(Default)]
struct Sgprs {
    next: usize,
}

impl Sgprs {
    fn reserve(&mut self, wanted: bool, count: usize) -> Option<usize> {
        self.reserve_below(GENERAL_SGPRS, wanted, count)
    }

    fn reserve_user(&mut self, wanted: bool, count: usize) -> Option<usize> {
        self.reserve_below(USER_SGPRS, wanted, count)
    }

    fn reserve_below(&mut self, end: usize, wanted: bool, count: usize) -> Option<usize> {
        let first = self.next;
        let fits = wanted && first + count <= end;
        if fits {
            self.next += count;
        }
        fits.then_some(first)
    }
}

/// The position of a wave in a dispatch.
pub(super) struct Position {
    /// The workgroup's id, and its size in work-items.
    pub(super) group: [u32; 3],
    pub(super) size: [u32; 3],
    /// The number of waves in the workgroup, the wave's number among them, and the id of its first work-item.
    pub(super) waves: u32,
    pub(super) index: usize,
    pub(super) item: [u32; 3],
    /// The start of the scratch memory of the workgroup's waves, and the size per wave.
    pub(super) scratch: *mut u8,
    pub(super) wave_scratch: usize,
    /// The compute unit.
    pub(super) unit: u32,
}

impl Initial {
    /// The registers of a kernel's waves.
    pub(super) fn new(target: &Target, d: &KernelDescriptor) -> Self {
        let generation = target.generation();
        let lanes = d.wavefront_size() as usize;
        let mut next = Sgprs::default();
        let scratch_buffer = next.reserve_user(d.enable_sgpr_private_segment_buffer(), 4);
        let packet = next.reserve_user(d.enable_sgpr_dispatch_ptr(), 2);
        let queue = next.reserve_user(d.enable_sgpr_queue_ptr(), 2);
        let kernarg = next.reserve_user(d.enable_sgpr_kernarg_segment_ptr(), 2);
        let id = next.reserve_user(d.enable_sgpr_dispatch_id(), 2);
        let scratch_init = next.reserve_user(d.enable_sgpr_flat_scratch_init(), 2);
        let private_size = next.reserve_user(d.enable_sgpr_private_segment_size(), 1);
        let length = if generation.is_cdna() { d.kernarg_preload_spec_length() as usize } else { 0 };
        let preload = next.reserve_user(length != 0, length).map_or_else(Preload::default, |first| {
            let offset = 4 * u64::from(d.kernarg_preload_spec_offset());
            Preload { first, length, offset }
        });
        // Compilers pad the user registers. The padding is undefined, and the workgroup's registers follow
        // it.
        next.next = (d.user_sgpr_count() as usize).max(next.next);
        // gfx12 passes them in trap registers, whatever the descriptor says.
        let in_sgprs = generation != Generation::Gfx12;
        let group_id = [
            next.reserve(in_sgprs && d.enable_sgpr_workgroup_id_x(), 1),
            next.reserve(in_sgprs && d.enable_sgpr_workgroup_id_y(), 1),
            next.reserve(in_sgprs && d.enable_sgpr_workgroup_id_z(), 1),
        ];
        let group_info = next.reserve(d.enable_sgpr_workgroup_info(), 1);
        let scratch_offset = match generation {
            Generation::Gfx9 | Generation::Gfx10 => next.reserve(d.enable_private_segment(), 1),
            // Flat scratch is architected: scratch instructions get its address from the hardware.
            Generation::Gfx940 | Generation::Gfx11 | Generation::Gfx12 => None,
        };
        let sgprs = next.next;
        let granule = target.limits.vgpr_granule[usize::from(lanes == 32)];
        let total =
            ((d.granulated_workitem_vgpr_count() + 1) * granule).min(target.limits.max_vgprs) as usize;
        let arch = match generation {
            Generation::Gfx9 | Generation::Gfx940 => {
                (4 * (d.accum_offset() as usize + 1)).min(ACC_BASE).min(total)
            }
            Generation::Gfx10 | Generation::Gfx11 | Generation::Gfx12 => total.min(ACC_BASE),
        };
        // gfx12 always clamps NaN to zero and never uses IEEE mode; these bits of the descriptor mean other
        // things there.
        let is_gfx12 = generation == Generation::Gfx12;
        let mode = (d.compute_pgm_rsrc1 >> 12 & 0xff)
            | u32::from(is_gfx12 || d.enable_dx10_clamp()) << 8
            | u32::from(!is_gfx12 && d.enable_ieee_mode()) << 9
            | u32::from(d.fp16_ovfl()) << 23;
        Initial {
            generation,
            lanes,
            packet,
            queue,
            kernarg,
            id,
            private_size,
            preload,
            group_id,
            wants_group_z: d.enable_sgpr_workgroup_id_z(),
            group_info,
            scratch_offset,
            scratch_buffer,
            scratch_init,
            sgprs,
            id_dimensions: d.enable_vgpr_workitem_id(),
            mode,
            vgprs: [arch, total - arch],
        }
    }

    /// The user registers of a dispatch whose work-items have `scratch` bytes of scratch memory.
    pub(super) fn user(&self, dispatch: &Dispatch, scratch: u32, memory: &Memory) -> User {
        let mut user = [0; USER_SGPRS];
        let &Dispatch { packet, queue, kernarg, id, .. } = dispatch;
        let pairs = [(self.packet, packet), (self.queue, queue), (self.kernarg, kernarg), (self.id, id)];
        for (slot, value) in pairs {
            if let Some(slot) = slot {
                (user[slot], user[slot + 1]) = (value as u32, (value >> 32) as u32);
            }
        }
        if let Some(slot) = self.private_size {
            user[slot] = scratch;
        }
        if let Some(slot) = self.scratch_buffer {
            // The bases and the wave's offset are added for each wave. Element size 4, index stride 64 or 32,
            // swizzled by lane.
            let stride = if self.lanes == 64 { 3 } else { 2 };
            user[slot + 1] = 1 << 31;
            user[slot + 2] = u32::MAX;
            user[slot + 3] = 1 << 23 | stride << 21 | 1 << 19 | 0xfac;
        }
        // As newer firmware does.
        let Preload { first, length, offset } = self.preload;
        for (i, register) in user[first..first + length].iter_mut().enumerate() {
            let address = kernarg.wrapping_add(offset + 4 * i as u64);
            if !memory.contains(address, 4) {
                break;
            }
            // SAFETY: the four bytes lie in a live allocation; arguments stay allocated until the dispatch is
            // done.
            *register = unsafe { std::ptr::read_unaligned(address as *const u32) };
        }
        user
    }

    /// The number of leading scalar registers that are set when a wave starts.
    pub(super) fn sgprs(&self) -> usize {
        self.sgprs
    }

    /// The number of leading vector registers that are set when a wave starts. Up to gfx10, each dimension of
    /// the id has its own.
    pub(super) fn vgprs_set(&self) -> usize {
        if self.generation == Generation::Gfx10 { 1 + (self.id_dimensions as usize).min(2) } else { 1 }
    }

    /// The number of vector registers that the kernel uses, below [`ACC_BASE`] and from there on.
    pub(super) fn vgprs(&self) -> [usize; 2] {
        self.vgprs
    }

    /// Sets the initial registers of a wave; `user` are those of its dispatch. Returns the id of the
    /// work-item after its last one.
    ///
    /// # Safety
    /// The wave's register file must hold all vector registers of the generation.
    pub(super) unsafe fn start(&self, user: &User, wave: &mut Wave, position: &Position) -> [u32; 3] {
        let &Position { group: id, size, waves, index, mut item, scratch, wave_scratch, .. } = position;
        wave.sgpr[..USER_SGPRS].copy_from_slice(user);
        wave.sgpr[USER_SGPRS..].fill(0);
        for (slot, id) in self.group_id.iter().zip(&id) {
            if let Some(slot) = *slot {
                wave.sgpr[slot] = *id;
            }
        }
        if self.generation == Generation::Gfx12 {
            wave.sgpr[GROUP_X] = id[0];
            // If the kernel does not want z, y gets all bits.
            wave.sgpr[GROUP_YZ] = if self.wants_group_z { id[1] & 0xffff | id[2] << 16 } else { id[1] };
            wave.sgpr[WAVE_IN_GROUP] = (index as u32) << 25;
        }
        let items = size.iter().product::<u32>() as usize;
        let first = index * self.lanes;
        if let Some(slot) = self.group_info {
            let number = index as u32;
            // Up to gfx10.1, waves use the ordered append term; later generations have a separate field as
            // well.
            let field = if self.generation.is_cdna() { 0 } else { number << 20 };
            wave.sgpr[slot] = u32::from(index == 0) << 31 | field | number << 6 | waves;
        }
        let offset = index * wave_scratch;
        if let Some(slot) = self.scratch_offset {
            wave.sgpr[slot] = offset as u32;
        }
        let base = scratch as u64;
        if let Some(slot) = self.scratch_buffer {
            wave.sgpr[slot] = base as u32;
            wave.sgpr[slot + 1] |= (base >> 32) as u32 & 0xffff;
        }
        if let Some(slot) = self.scratch_init {
            wave.sgpr[slot] = base as u32;
            wave.sgpr[slot + 1] = (base >> 32) as u32;
        }
        let active = (items - first).min(self.lanes);
        let exec = if active == 64 { u64::MAX } else { (1 << active) - 1 };
        wave.sgpr[usize::from(scalar::EXEC)] = exec as u32;
        wave.sgpr[usize::from(scalar::EXEC) + 1] = (exec >> 32) as u32;
        // SAFETY: the group allocated `vgpr_dwords` dwords, which hold all registers that are counted here.
        unsafe {
            wave.vgpr.write_bytes(0, self.vgprs[0] * self.lanes);
            // Do not write zeros to untouched pages either: a masked store to them is slow.
            if self.vgprs[1] != 0 {
                wave.vgpr.add(ACC_BASE * self.lanes).write_bytes(0, self.vgprs[1] * self.lanes);
            }
        }
        // SAFETY: as above; a wave's file has at least three registers.
        let ids = unsafe { std::slice::from_raw_parts_mut(wave.vgpr, 3 * self.lanes) };
        let mut lane = 0;
        // Consecutive work-items that differ only in x.
        while lane < active {
            let [x, y, z] = item;
            let row = (size[0] - x) as usize;
            let run = lane..(lane + row).min(active);
            let y_wanted = if self.id_dimensions >= 1 { y } else { 0 };
            let z_wanted = if self.id_dimensions >= 2 { z } else { 0 };
            let beside = if self.generation != Generation::Gfx10 {
                y_wanted << 10 | z_wanted << 20
            } else {
                ids[self.lanes..][run.clone()].fill(y_wanted);
                ids[2 * self.lanes..][run.clone()].fill(z_wanted);
                0
            };
            for (i, id) in ids[run.clone()].iter_mut().enumerate() {
                *id = x.wrapping_add(i as u32) | beside;
            }
            item = if run.len() < row {
                [x + run.len() as u32, y, z]
            } else if y + 1 == size[1] {
                [0, 0, z + 1]
            } else {
                [0, y + 1, z]
            };
            lane = run.end;
        }
        wave.mode = self.mode;
        wave.scc = false;
        item
    }
}

/// The id of the work-item with that number in a workgroup.
pub(super) fn work_item(size: [u32; 3], number: u32) -> [u32; 3] {
    [number % size[0], number / size[0] % size[1], number / size[0] / size[1]]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::machine::{Access, MemoryKind};

    /// The registers of a wave of 64 lanes with ACC registers.
    const FILE: usize = 64 * 512 + 64;

    struct Bench {
        memory: Arc<Memory>,
        wave: Wave,
        registers: Vec<u32>,
    }

    impl Bench {
        fn new() -> Bench {
            let memory = Arc::new(Memory::new());
            // SAFETY: the registers are those of the bench, which lives as long.
            let mut wave = unsafe { Wave::new(Access::new(Arc::clone(&memory))) };
            let mut registers = vec![0xdddd_dddd; FILE];
            wave.vgpr = registers.as_mut_ptr();
            Bench { memory, wave, registers }
        }

        /// The registers of a wave of workgroup 5,6,7, which has 40 by 3 by 1 work-items.
        fn start(
            &mut self,
            target: &str,
            d: &KernelDescriptor,
            dispatch: &Dispatch,
            index: usize,
        ) -> [u32; scalar::COUNT] {
            let target = Target::by_name(target).unwrap();
            let initial = Initial::new(target, d);
            let user = initial.user(dispatch, 256, &self.memory);
            let (size, lanes) = ([40, 3, 1], d.wavefront_size());
            let position = Position {
                group: [5, 6, 7],
                size,
                waves: 120u32.div_ceil(lanes),
                index,
                item: work_item(size, index as u32 * lanes),
                scratch: 0x7000_0000_1000 as *mut u8,
                wave_scratch: 0x4000,
                unit: 0,
            };
            // SAFETY: the file has all registers.
            let next = unsafe { initial.start(&user, &mut self.wave, &position) };
            assert_eq!(next, work_item(size, ((index as u32 + 1) * lanes).min(120)));
            self.wave.sgpr
        }
    }

    fn descriptor(rsrc2: u32, properties: u16) -> KernelDescriptor {
        let mut descriptor = KernelDescriptor::from_bytes(&[0; KernelDescriptor::SIZE]);
        descriptor.compute_pgm_rsrc2 = rsrc2;
        descriptor.kernel_code_properties = properties;
        descriptor
    }

    const EVERY_ID: u32 = 0b1111 << 7;
    const WAVE32: u16 = 1 << 10;

    fn dispatch() -> Dispatch {
        Dispatch {
            packet: 0x11_0000_0022,
            queue: 0x33_0000_0044,
            kernarg: 0x55_0000_0066,
            id: 0x77_0000_0088,
            ..Dispatch::default()
        }
    }

    #[test]
    fn user_registers_come_in_order_and_system_registers_after_them() {
        let mut bench = Bench::new();
        let everything = descriptor(1 | 15 << 1 | EVERY_ID, 0x7f);
        // Scratch descriptor, packet, queue, arguments, dispatch id, scratch base, scratch size.
        let user = [0x22, 0x11, 0x44, 0x33, 0x66, 0x55, 0x88, 0x77, 0x1000, 0x7000, 256];
        let s = bench.start("gfx90a", &everything, &dispatch(), 1);
        assert_eq!(s[..4], [0x1000, 0x8000_7000, u32::MAX, s[3]]);
        assert_eq!(s[3] >> 21 & 7, 7, "index stride 64, lanes added");
        assert_eq!(s[4..15], user);
        // Two waves, of which this is the second; then its scratch offset.
        assert_eq!(s[15..20], [5, 6, 7, 1 << 6 | 2, 0x4000]);
        let s = bench.start("gfx1030", &descriptor(1 | 15 << 1 | EVERY_ID, 0x7f | WAVE32), &dispatch(), 1);
        assert_eq!((&s[4..15], s[3] >> 21 & 7), (&user[..], 6));
        assert_eq!(s[15..20], [5, 6, 7, 1 << 20 | 1 << 6 | 4, 0x4000]);
        // Flat scratch is architected: there is no offset, and nothing else takes its place.
        for target in ["gfx942", "gfx1100"] {
            let s = bench.start(target, &descriptor(1 | 4 << 1 | 0b11 << 7, 1 << 3), &dispatch(), 0);
            assert_eq!(s[..8], [0x66, 0x55, 0, 0, 5, 6, 0, 0], "{target}");
        }
        let s = bench.start("gfx1100", &descriptor(2 << 1 | 1 << 10, 1 << 3 | WAVE32), &dispatch(), 0);
        assert_eq!(s[2], 1 << 31 | 4);
    }

    #[test]
    fn gfx12_has_workgroups_and_waves_in_trap_registers() {
        let mut bench = Bench::new();
        let ttmp = |s: &[u32; scalar::COUNT]| {
            let first = usize::from(scalar::TTMP0);
            [s[first + 7], s[first + 8], s[first + 9]]
        };
        let kernel = descriptor(2 << 1 | EVERY_ID, 1 << 3 | WAVE32);
        let s = bench.start("gfx1201", &kernel, &dispatch(), 3);
        assert_eq!(ttmp(&s), [7 << 16 | 6, 3 << 25, 5]);
        // The only system register is the workgroup's info.
        assert_eq!(s[..4], [0x66, 0x55, 3 << 20 | 3 << 6 | 4, 0]);
        // A kernel that does not want z has all bits of y.
        let initial = Initial::new(Target::by_name("gfx1201").unwrap(), &descriptor(0b011 << 7, WAVE32));
        let user = initial.user(&dispatch(), 0, &bench.memory);
        let position = Position {
            group: [1, 0x12345, 9],
            size: [32, 1, 1],
            waves: 1,
            index: 0,
            item: [0; 3],
            scratch: std::ptr::null_mut(),
            wave_scratch: 0,
            unit: 0,
        };
        // SAFETY: the file has all registers.
        unsafe { initial.start(&user, &mut bench.wave, &position) };
        assert_eq!(ttmp(&bench.wave.sgpr), [0x12345, 0, 1]);
    }

    #[test]
    fn arguments_are_preloaded_after_the_other_user_registers() {
        for target in ["gfx90a", "gfx942", "gfx1100"] {
            let mut bench = Bench::new();
            let kernarg = bench.memory.allocate(64, 64, MemoryKind::Kernarg, None).unwrap();
            for i in 0..16u64 {
                // SAFETY: the allocation holds 16 dwords.
                unsafe { ((kernarg + 4 * i) as *mut u32).write(100 + i as u32) };
            }
            let mut kernel = descriptor(8 << 1 | 1 << 7, 1 << 3);
            // Five dwords, starting at the third.
            kernel.kernarg_preload = 5 | 2 << 7;
            let s = bench.start(target, &kernel, &Dispatch { kernarg, ..dispatch() }, 0);
            assert_eq!((s[0], s[1]), (kernarg as u32, (kernarg >> 32) as u32));
            let preloaded = if target == "gfx1100" { [0; 5] } else { [102, 103, 104, 105, 106] };
            assert_eq!(s[2..7], preloaded, "{target}");
            assert_eq!(s[7..9], [0, 5], "padding, then the workgroup's id");
        }
    }

    #[test]
    fn work_item_ids_are_packed_but_on_gfx10() {
        let mut bench = Bench::new();
        let all_ids = descriptor(2 << 11, WAVE32);
        // Lane 10 of wave 1 is work-item 42, which is 2, 1, 0.
        bench.start("gfx1100", &all_ids, &dispatch(), 1);
        assert_eq!(bench.registers[10], 2 | 1 << 10);
        bench.start("gfx1030", &all_ids, &dispatch(), 1);
        assert_eq!([0, 1, 2].map(|register| bench.registers[register * 32 + 10]), [2, 1, 0]);
        // The last wave of 120 work-items has 24 of 32 lanes, or 56 of 64.
        let exec = usize::from(scalar::EXEC);
        let s = bench.start("gfx1030", &all_ids, &dispatch(), 3);
        assert_eq!((s[exec], s[exec + 1]), (0xff_ffff, 0));
        let s = bench.start("gfx90a", &descriptor(0, 0), &dispatch(), 1);
        assert_eq!((s[exec], s[exec + 1]), (u32::MAX, 0xff_ffff));
        // y was not requested: 24 is 24, 0.
        assert_eq!(bench.registers[0], 24);
    }

    #[test]
    fn the_mode_is_the_descriptors() {
        let mut bench = Bench::new();
        let mut kernel = descriptor(0, WAVE32);
        kernel.compute_pgm_rsrc1 = 0b11_10_01_00 << 12 | 1 << 21 | 1 << 23 | 1 << 26;
        bench.start("gfx1100", &kernel, &dispatch(), 0);
        assert_eq!(bench.wave.mode, 0b1110_0100 | 0x300 | 1 << 23);
        kernel.compute_pgm_rsrc1 = 0;
        bench.start("gfx1100", &kernel, &dispatch(), 0);
        assert_eq!(bench.wave.mode, 0);
        bench.start("gfx1201", &kernel, &dispatch(), 0);
        assert_eq!(bench.wave.mode, 0x100);
    }
}
