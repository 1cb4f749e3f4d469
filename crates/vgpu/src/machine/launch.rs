//! State shared by all workgroups of a dispatch.

use std::ops::Range;
use std::sync::Arc;

use code_object::occupancy::Resources;

use super::dispatch::Dispatch;
use super::initial::{ACC_BASE, Position, User, work_item};
use super::kernel::Kernel;
use super::observe::DispatchObserver;
use super::{Device, Generation, LoadedCode, Shared, UnitMask};
use crate::exec::{Arguments, Form, Hardware, Place, Program, Wave, WaveSync};
use crate::isa::Isa;
use gpu_report::Checks;
use gpu_report::CounterFormat;

/// Registers after the last one, so that a tuple starting at the last register stays inside the file.
const SLACK: usize = 32;

/// Dwords between the files of two waves, so that their registers do not compete for the same cache lines of
/// the host.
const PADDING: usize = 16 * 5;

/// State shared by the workgroups of a dispatch.
#[derive(Debug)]
pub(crate) struct Launch {
    machine: Arc<Shared>,
    pub(super) code: Arc<LoadedCode>,
    /// The addresses of the code object.
    pub(super) image: Range<u64>,
    pub(super) kernel: Arc<Kernel>,
    /// Work-items per dimension, of the grid and of a whole workgroup.
    pub(super) grid: [u32; 3],
    pub(super) workgroup: [u32; 3],
    /// Whether the dispatch asks for counters.
    pub(super) counts: bool,
    /// The observers.
    pub(super) observers: Vec<Box<dyn DispatchObserver>>,
    /// Address of the first instruction.
    start: u64,
    /// The first instruction in code for observers.
    watched_entry: Option<Place>,
    /// 32 or 64.
    pub(super) lanes: usize,
    /// Bytes of LDS that a workgroup requested.
    pub(super) lds: u32,
    /// Bytes of LDS that it was given: whole granules, or the exact size if the bounds are checked.
    pub(super) lds_limit: u32,
    /// The arguments, if their bounds are checked.
    pub(super) arguments: Option<Arguments>,
    /// Bytes of scratch memory per lane, a multiple of 4.
    pub(super) scratch: u32,
    /// Workgroups per dimension.
    groups: [u32; 3],
    pub(super) sync: WaveSync,
    /// The compute units that it runs on, and their number; none if it runs on the first ones.
    units: Option<Box<UnitMask>>,
    unit_count: u32,
    /// The number of workgroups that may run at the same time.
    pub(super) resident: u32,
    /// The user registers of waves.
    user: User,
    pub(super) isa: Isa,
    /// What limits the number of waves in flight.
    pub(super) resources: Resources,
    /// The format in which the device's counters are written.
    pub(super) counters: Option<CounterFormat>,
    /// Its checks.
    pub(super) checks: Checks,
}

impl Launch {
    pub(super) fn new(
        device: &Device,
        code: Arc<LoadedCode>,
        kernel: Arc<Kernel>,
        dispatch: &Dispatch,
        start: u64,
        lds: u32,
        scratch: u32,
    ) -> Launch {
        let descriptor = &kernel.descriptor;
        let target = device.target();
        let lanes = descriptor.wavefront_size() as usize;
        let scratch = scratch.next_multiple_of(4);
        let user = kernel.initial.user(dispatch, scratch, device.memory());
        let groups = std::array::from_fn(|i| dispatch.grid[i].div_ceil(dispatch.workgroup[i]));
        let items: u32 = dispatch.workgroup.iter().product();
        let occupancy = kernel.occupancy(target, items, lds);
        // A compute unit without another to make a pair with holds half of what a pair does.
        let present = device.compute_units();
        let chosen = dispatch.units.map(|units| Box::new(UnitMask::first(present).and(units.words())));
        let units = chosen.filter(|units| !units.is_empty());
        let unit_count = units.as_ref().map_or(present, |units| units.count());
        let resident = u64::from(unit_count) * u64::from(occupancy.workgroups_per_unit)
            / u64::from(occupancy.compute_units_per_unit());
        let checks = dispatch.checks.or(device.checks).unwrap_or_else(|| device.machine.checker.checks());
        let limited = checks.bounds && descriptor.kernarg_size != 0;
        let arguments =
            limited.then_some(Arguments { start: dispatch.kernarg, size: descriptor.kernarg_size });
        Launch {
            machine: Arc::clone(&device.machine),
            image: code.base()..code.end(),
            code,
            kernel,
            grid: dispatch.grid,
            workgroup: dispatch.workgroup,
            counts: dispatch.counters,
            observers: Vec::new(),
            start,
            watched_entry: None,
            lanes,
            lds,
            lds_limit: if checks.bounds { lds } else { lds.next_multiple_of(target.limits.unit.lds_granule) },
            arguments,
            scratch,
            groups,
            sync: WaveSync::default(),
            units,
            unit_count,
            resident: u32::try_from(resident).unwrap_or(u32::MAX).max(1),
            user,
            isa: target.isa,
            resources: occupancy.resources,
            counters: device.counters,
            checks,
        }
    }

    /// Lets the machine's instruments watch the dispatch.
    pub(super) fn watch(&mut self) {
        self.observers = self.code.memory().instruments().begin(self);
        if !self.observers.is_empty() {
            let form = Form::new(self.lanes as u8, true);
            self.watched_entry = Some(self.program().place(self.start, form));
        }
    }

    /// The first instruction of waves, in code for observers or in plain code.
    pub(super) fn entry(&self, watched: bool) -> &Place {
        let watched = self.watched_entry.as_ref().filter(|_| watched);
        watched.unwrap_or_else(|| self.kernel.entry(&self.code, self.start))
    }

    /// The number of workgroups.
    pub(super) fn workgroups(&self) -> u64 {
        // The product of three 32-bit numbers may overflow; such a grid could never finish.
        self.groups.iter().fold(1u64, |product, &count| product.saturating_mul(u64::from(count)))
    }

    /// The id of the workgroup with that number.
    pub(super) fn group_at(&self, number: u64) -> [u32; 3] {
        let [x, y, _] = self.groups;
        let (x, y) = (u64::from(x), u64::from(y));
        // Most grids have one dimension, and a division takes long.
        if number < x {
            return [number as u32, 0, 0];
        }
        let rest = number / x;
        [(number % x) as u32, (rest % y) as u32, (rest / y) as u32]
    }

    /// Work-items per dimension of a workgroup: the last one of a dimension may have fewer.
    pub(super) fn group_size(&self, id: [u32; 3]) -> [u32; 3] {
        let mut size = self.workgroup;
        for (i, size) in size.iter_mut().enumerate() {
            let before = u64::from(id[i]) * u64::from(*size);
            *size = u64::from(*size).min(u64::from(self.grid[i]) - before) as u32;
        }
        size
    }

    /// The compute unit of a workgroup. Workgroups are assigned round-robin.
    pub(super) fn unit_of(&self, id: [u32; 3]) -> u32 {
        let (x, y) = (u64::from(self.groups[0]), u64::from(self.groups[1]));
        let number = u64::from(id[0]) + x.wrapping_mul(u64::from(id[1]) + y * u64::from(id[2]));
        let count = u64::from(self.unit_count);
        // Most grids are small, and a division takes long.
        let nth = if number < count { number } else { number % count } as u32;
        self.units.as_ref().and_then(|units| units.nth(nth)).unwrap_or(nth)
    }

    /// The number of waves in a full workgroup.
    pub(super) fn waves(&self) -> usize {
        (self.workgroup.iter().product::<u32>() as usize).div_ceil(self.lanes)
    }

    /// Dwords of a wave's vector register file.
    pub(super) fn vgpr_dwords(&self) -> usize {
        let acc = if self.isa.generation().is_cdna() { 256 } else { 0 };
        (ACC_BASE + acc + SLACK) * self.lanes + PADDING
    }

    /// Bytes of a wave's scratch memory.
    pub(super) fn wave_scratch(&self) -> usize {
        (self.scratch as usize * self.lanes).next_multiple_of(64)
    }

    /// The number of leading scalar registers that are set when a wave starts.
    pub(super) fn initial_sgprs(&self) -> usize {
        self.kernel.initial.sgprs()
    }

    /// The number of leading vector registers that are set when a wave starts.
    pub(super) fn initial_vgprs(&self) -> usize {
        self.kernel.initial.vgprs_set()
    }

    /// The code object with code at an address, if it is loaded for devices of the same target: the kernel's
    /// own, or another one that the kernel reached through a function's address.
    pub(super) fn code_with(&self, address: u64) -> Option<Arc<LoadedCode>> {
        let found = match (self.code.base()..self.code.end()).contains(&address) {
            true => Arc::clone(&self.code),
            false => self.machine.codes.find(address)?,
        };
        let fits = std::ptr::eq(found.target(), self.code.target()) && found.text_at(address).is_some();
        fits.then_some(found)
    }

    pub(super) fn program(&self) -> &Program {
        self.code.program()
    }

    /// Sets the initial registers of a wave. Returns the id of the work-item after its last one.
    pub(super) fn start(&self, wave: &mut Wave, position: &Position) -> [u32; 3] {
        let &Position { waves, index, scratch, wave_scratch, unit, .. } = position;
        // SAFETY: the group allocated `vgpr_dwords` dwords, which hold all registers.
        let next = unsafe { self.kernel.initial.start(&self.user, wave, position) };
        wave.hardware = Hardware {
            vgprs: self.resources.vgprs,
            sgprs: self.resources.sgprs,
            lds: self.lds,
            index: index as u32,
            waves,
            unit,
            scratch: match self.isa.generation() {
                // Kernels compute it themselves.
                Generation::Gfx9 | Generation::Gfx940 | Generation::Gfx10 => 0,
                Generation::Gfx11 | Generation::Gfx12 => scratch.wrapping_add(index * wave_scratch) as u64,
            },
            ..Hardware::default()
        };
        wave.round = 0;
        wave.begin_moving();
        next
    }

    /// The vector registers that a wave of the launch uses.
    ///
    /// # Safety
    /// `file` is the register file of such a wave. The file must stay alive, and the wave must not run, for
    /// `'a`.
    pub(super) unsafe fn vectors<'a>(&self, file: *const u32) -> [&'a [u32]; 2] {
        // SAFETY: the group allocated `vgpr_dwords` dwords, which hold all registers that are counted here.
        unsafe {
            [
                std::slice::from_raw_parts(file, self.kernel.initial.vgprs()[0] * self.lanes),
                match self.kernel.initial.vgprs()[1] {
                    0 => &[],
                    count => std::slice::from_raw_parts(file.add(ACC_BASE * self.lanes), count * self.lanes),
                },
            ]
        }
    }

    /// The id of the work-item with that number in a workgroup.
    pub(super) fn work_item(&self, size: [u32; 3], number: u32) -> [u32; 3] {
        work_item(size, number)
    }
}
