//! What all workgroups of a dispatch share, and the registers a wave begins with.

use std::sync::Arc;

use code_object::KernelDescriptor;

use super::dispatch::{Dispatch, DispatchError};
use super::observe::DispatchObserver;
use super::profile::Resources;
use super::wave_sync::WaveSync;
use super::{Device, Generation, LoadedCode};
use crate::exec::{Form, Place, Program, Wave};
use crate::isa::scalar;

/// The first SGPR slot that is not a general register on any generation.
const GENERAL_SGPRS: usize = 102;
/// Where gfx12 has the workgroup's id: `ttmp9` holds x, `ttmp7` y and, in its high half, z.
const GROUP_X: usize = scalar::TTMP0 as usize + 9;
const GROUP_YZ: usize = scalar::TTMP0 as usize + 7;
/// Where gfx12 has the wave's number in its workgroup, in bits 25..=29: `ttmp8`.
const WAVE_IN_GROUP: usize = scalar::TTMP0 as usize + 8;
/// Vector registers of the file before the first ACC register.
pub(super) const ACC_BASE: usize = 256;
/// Registers after the last one, so that a tuple that begins at the last one stays inside the file.
const SLACK: usize = 32;

/// Dwords between two waves' files, so that their registers do not compete for the same lines of the host's cache.
const PADDING: usize = 16 * 5;

/// Everything that the workgroups of a dispatch share.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(super) code: Arc<LoadedCode>,
    pub(super) kernel: String,
    pub(super) dispatch: Dispatch,
    /// Who watches.
    pub(super) observers: Vec<Box<dyn DispatchObserver>>,
    /// Address of the first instruction.
    start: u64,
    /// The first instruction, in plain code.
    entry: Place,
    /// The same in code for observers.
    watched_entry: Option<Place>,
    /// 32 or 64.
    pub(super) lanes: usize,
    /// Bytes of LDS of a workgroup.
    pub(super) lds: u32,
    /// Bytes of scratch memory of a lane, a multiple of 4.
    pub(super) scratch: u32,
    /// Workgroups per dimension.
    groups: [u32; 3],
    pub(super) sync: WaveSync,
    /// Workgroups that may be in progress at the same time.
    pub(super) resident: u32,
    /// The scalar registers that are the same for all waves.
    sgpr: [u32; scalar::COUNT],
    /// Where the workgroup's id goes, per dimension.
    group_id: [Option<usize>; 3],
    group_info: Option<usize>,
    /// Scalar registers that a wave begins with, padding of the user's included.
    initial_sgprs: usize,
    /// Where the offset of the wave's scratch memory goes, and where the buffer descriptor of scratch memory is.
    scratch_offset: Option<usize>,
    scratch_buffer: Option<usize>,
    scratch_init: Option<usize>,
    /// Work-item ids in one register.
    packed_ids: bool,
    /// How many dimensions of work-item ids the kernel wants, minus one.
    id_dimensions: u32,
    mode: u32,
    /// Vector registers before and after [`ACC_BASE`] that the kernel uses.
    vgprs: [usize; 2],
    pub(super) generation: Generation,
    /// What limits how many waves there are at once.
    pub(super) resources: Resources,
}

/// Hands out consecutive SGPRs.
struct Sgprs<'a> {
    values: &'a mut [u32; scalar::COUNT],
    next: usize,
}

impl Sgprs<'_> {
    fn reserve(&mut self, wanted: bool, count: usize) -> Option<usize> {
        let first = self.next;
        let fits = wanted && first + count <= GENERAL_SGPRS;
        if fits {
            self.next += count;
        }
        fits.then_some(first)
    }

    fn put(&mut self, wanted: bool, value: u64) {
        if let Some(first) = self.reserve(wanted, 2) {
            self.values[first] = value as u32;
            self.values[first + 1] = (value >> 32) as u32;
        }
    }
}

impl Launch {
    #[allow(clippy::too_many_arguments, reason = "each is a result of the checks of one dispatch")]
    pub(super) fn new(
        device: &Device,
        code: Arc<LoadedCode>,
        kernel: String,
        descriptor: KernelDescriptor,
        dispatch: Dispatch,
        entry: u64,
        lds: u32,
        scratch: u32,
    ) -> Result<Launch, DispatchError> {
        let target = device.target();
        let generation = target.generation;
        let lanes = descriptor.wavefront_size() as usize;
        let scratch = scratch.next_multiple_of(4);
        let mut sgpr = [0u32; scalar::COUNT];
        let mut next = Sgprs { values: &mut sgpr, next: 0 };
        let d = &descriptor;
        let scratch_buffer = next.reserve(d.enable_sgpr_private_segment_buffer(), 4);
        next.put(d.enable_sgpr_dispatch_ptr(), dispatch.packet);
        next.put(d.enable_sgpr_queue_ptr(), dispatch.queue);
        next.put(d.enable_sgpr_kernarg_segment_ptr(), dispatch.kernarg);
        next.put(d.enable_sgpr_dispatch_id(), dispatch.id);
        let scratch_init = next.reserve(d.enable_sgpr_flat_scratch_init(), 2);
        if let Some(slot) = next.reserve(d.enable_sgpr_private_segment_size(), 1) {
            next.values[slot] = scratch;
        }
        if generation.is_cdna() {
            preload(device, d, &dispatch, &mut next);
        }
        // Compilers pad the user registers: the rest of them is undefined, the workgroup's follow.
        next.next = (descriptor.user_sgpr_count() as usize).max(next.next);
        // gfx12 has them in trap registers whatever the descriptor says.
        let in_sgprs = generation != Generation::Gfx12;
        let group_id = [
            next.reserve(in_sgprs && d.enable_sgpr_workgroup_id_x(), 1),
            next.reserve(in_sgprs && d.enable_sgpr_workgroup_id_y(), 1),
            next.reserve(in_sgprs && d.enable_sgpr_workgroup_id_z(), 1),
        ];
        let group_info = next.reserve(d.enable_sgpr_workgroup_info(), 1);
        let scratch_offset = match generation {
            Generation::Gfx9 | Generation::Gfx10 => next.reserve(d.enable_private_segment(), 1),
            // Flat scratch is architected: scratch instructions know where it is.
            Generation::Gfx940 | Generation::Gfx11 | Generation::Gfx12 => None,
        };
        let initial_sgprs = next.next;
        if let Some(slot) = scratch_buffer {
            // Bases and the wave's offset are added for each wave. Element size 4, index stride 64 or 32, swizzled by lane.
            let stride = if lanes == 64 { 3 } else { 2 };
            next.values[slot + 1] = 1 << 31;
            next.values[slot + 2] = u32::MAX;
            next.values[slot + 3] = 1 << 23 | stride << 21 | 1 << 19 | 0xfac;
        }
        let granule = target.vgpr_granule[usize::from(lanes == 32)];
        let total = ((d.granulated_workitem_vgpr_count() + 1) * granule).min(target.max_vgprs) as usize;
        let arch = match generation {
            Generation::Gfx9 | Generation::Gfx940 => {
                (4 * (d.accum_offset() as usize + 1)).min(ACC_BASE).min(total)
            }
            Generation::Gfx10 | Generation::Gfx11 | Generation::Gfx12 => total.min(ACC_BASE),
        };
        // gfx12 always clamps NaN to zero and never is in IEEE mode; the descriptor's bits mean other things there.
        let is_gfx12 = generation == Generation::Gfx12;
        let mode = (d.compute_pgm_rsrc1 >> 12 & 0xff)
            | u32::from(is_gfx12 || d.enable_dx10_clamp()) << 8
            | u32::from(!is_gfx12 && d.enable_ieee_mode()) << 9
            | u32::from(d.fp16_ovfl()) << 23;
        let groups = std::array::from_fn(|i| dispatch.grid[i].div_ceil(dispatch.workgroup[i]));
        let items: u32 = dispatch.workgroup.iter().product();
        let waves = items.div_ceil(lanes as u32);
        let by_waves = (target.max_waves_per_cu / waves).max(1);
        let by_lds = (target.lds_size * 2).checked_div(lds).unwrap_or(u32::MAX).max(1);
        let start = entry;
        let entry = code.program().place(start, Form { lanes: lanes as u8, watched: false });
        Ok(Launch {
            code,
            kernel,
            dispatch,
            observers: Vec::new(),
            start,
            entry,
            watched_entry: None,
            lanes,
            lds,
            scratch,
            groups,
            sync: WaveSync::default(),
            resident: device.compute_units().saturating_mul(by_waves.min(by_lds)),
            sgpr,
            group_id,
            group_info,
            initial_sgprs,
            scratch_offset,
            scratch_buffer,
            scratch_init,
            packed_ids: generation != Generation::Gfx10,
            id_dimensions: descriptor.enable_vgpr_workitem_id(),
            mode,
            vgprs: [arch, total - arch],
            generation,
            resources: Resources::new(target, &descriptor, items, lds),
        })
    }

    /// Lets the machine's instruments watch the dispatch.
    pub(super) fn watch(&mut self) {
        self.observers = self.code.memory().instruments().begin(self);
        if !self.observers.is_empty() {
            let form = Form { lanes: self.lanes as u8, watched: true };
            self.watched_entry = Some(self.program().place(self.start, form));
        }
    }

    /// Where waves begin, in code for observers or in plain code.
    pub(super) fn entry(&self, watched: bool) -> &Place {
        self.watched_entry.as_ref().filter(|_| watched).unwrap_or(&self.entry)
    }

    /// How many workgroups there are.
    pub(super) fn workgroups(&self) -> u64 {
        // The product of three 32-bit numbers may not fit; such a grid could never end anyway.
        self.groups.iter().fold(1u64, |product, &count| product.saturating_mul(u64::from(count)))
    }

    /// The id of the workgroup with that number.
    pub(super) fn group_at(&self, number: u64) -> [u32; 3] {
        let [x, y, _] = self.groups.map(u64::from);
        [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
    }

    /// Work-items per dimension of a workgroup: fewer in the last one of a dimension.
    pub(super) fn group_size(&self, id: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|i| {
            let before = u64::from(id[i]) * u64::from(self.dispatch.workgroup[i]);
            u64::from(self.dispatch.workgroup[i]).min(u64::from(self.dispatch.grid[i]) - before) as u32
        })
    }

    /// Waves of a full workgroup.
    pub(super) fn waves(&self) -> usize {
        (self.dispatch.workgroup.iter().product::<u32>() as usize).div_ceil(self.lanes)
    }

    /// Dwords of a wave's vector register file.
    pub(super) fn vgpr_dwords(&self) -> usize {
        let acc = if self.generation.is_cdna() { 256 } else { 0 };
        (ACC_BASE + acc + SLACK) * self.lanes + PADDING
    }

    /// Bytes of a wave's scratch memory.
    pub(super) fn wave_scratch(&self) -> usize {
        (self.scratch as usize * self.lanes).next_multiple_of(64)
    }

    /// How many scalar registers, from the first, are set when a wave begins.
    pub(super) fn initial_sgprs(&self) -> usize {
        self.initial_sgprs
    }

    /// How many vector registers, from the first, are set when a wave begins.
    pub(super) fn initial_vgprs(&self) -> usize {
        if self.packed_ids { 1 } else { 1 + (self.id_dimensions as usize).min(2) }
    }

    /// An address in the code as an offset into the code object, as disassemblers print it.
    pub(crate) fn pc_of(&self, address: u64) -> u64 {
        address.wrapping_sub(self.code.base())
    }

    pub(super) fn program(&self) -> &Program {
        self.code.program()
    }

    /// Sets the registers that wave `index` of a workgroup begins with. Its scratch memory is `index` times
    /// [`Launch::wave_scratch`] after `scratch`.
    pub(super) fn start(
        &self,
        wave: &mut Wave,
        id: [u32; 3],
        size: [u32; 3],
        index: usize,
        scratch: *mut u8,
    ) {
        wave.sgpr = self.sgpr;
        for (slot, id) in self.group_id.iter().zip(id) {
            if let Some(slot) = *slot {
                wave.sgpr[slot] = id;
            }
        }
        if self.generation == Generation::Gfx12 {
            wave.sgpr[GROUP_X] = id[0];
            // Where there is one workgroup in z, y may have all bits.
            wave.sgpr[GROUP_YZ] = id[1] | id[2] << 16;
            wave.sgpr[WAVE_IN_GROUP] = (index as u32) << 25;
        }
        let items = size.iter().product::<u32>() as usize;
        let first = index * self.lanes;
        if let Some(slot) = self.group_info {
            let waves = items.div_ceil(self.lanes) as u32;
            wave.sgpr[slot] = u32::from(index == 0) << 31 | (index as u32) << 6 | waves;
        }
        let offset = index * self.wave_scratch();
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
            // Not even zero bytes of pages that nothing touched: a masked store to them is slow.
            if self.vgprs[1] != 0 {
                wave.vgpr.add(ACC_BASE * self.lanes).write_bytes(0, self.vgprs[1] * self.lanes);
            }
        }
        // SAFETY: as above; a wave's file has at least three registers.
        let ids = unsafe { std::slice::from_raw_parts_mut(wave.vgpr, 3 * self.lanes) };
        let mut item = self.work_item(size, first as u32);
        for lane in 0..active {
            let [x, y, z] = item;
            let y_wanted = if self.id_dimensions >= 1 { y } else { 0 };
            let z_wanted = if self.id_dimensions >= 2 { z } else { 0 };
            if self.packed_ids {
                ids[lane] = x | y_wanted << 10 | z_wanted << 20;
            } else {
                ids[lane] = x;
                ids[self.lanes + lane] = y_wanted;
                ids[2 * self.lanes + lane] = z_wanted;
            }
            item[0] += 1;
            if item[0] == size[0] {
                item = [0, y + 1, z];
                if item[1] == size[1] {
                    item = [0, 0, z + 1];
                }
            }
        }
        wave.mode = self.mode;
        wave.scc = false;
        wave.signals = 0;
        wave.waits = 0;
        wave.round = 0;
        wave.begin_moving();
    }

    /// The vector registers that a wave of the launch uses.
    ///
    /// # Safety
    /// `file` is the register file of such a wave, which stays and does not run for `'a`.
    pub(super) unsafe fn vectors<'a>(&self, file: *const u32) -> [&'a [u32]; 2] {
        // SAFETY: the group allocated `vgpr_dwords` dwords, which hold all registers that are counted here.
        unsafe {
            [
                std::slice::from_raw_parts(file, self.vgprs[0] * self.lanes),
                match self.vgprs[1] {
                    0 => &[],
                    count => std::slice::from_raw_parts(file.add(ACC_BASE * self.lanes), count * self.lanes),
                },
            ]
        }
    }

    /// The work-item id with that number in a workgroup.
    pub(super) fn work_item(&self, size: [u32; 3], number: u32) -> [u32; 3] {
        [number % size[0], number / size[0] % size[1], number / size[0] / size[1]]
    }
}

/// Copies the kernel's first arguments into SGPRs, as newer firmware does.
fn preload(device: &Device, descriptor: &KernelDescriptor, dispatch: &Dispatch, next: &mut Sgprs<'_>) {
    let length = descriptor.kernarg_preload_spec_length() as usize;
    let offset = 4 * u64::from(descriptor.kernarg_preload_spec_offset());
    let Some(first) = next.reserve(length != 0, length) else { return };
    for i in 0..length {
        let address = dispatch.kernarg.wrapping_add(offset + 4 * i as u64);
        if !device.memory().contains(address, 4) {
            return;
        }
        // SAFETY: the four bytes lie in a live allocation; arguments stay allocated until the dispatch is done.
        next.values[first + i] = unsafe { std::ptr::read_unaligned(address as *const u32) };
    }
}
