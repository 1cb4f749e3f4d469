//! The request to run a kernel, and the checks before it starts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use code_object::occupancy::Occupancy;

use super::count::Executed;
use super::launch::Launch;
use super::pool::Job;
use super::{Device, Generation, UnitMask};
use gpu_report::Checks;
use gpu_report::Counters;
use gpu_report::Fault;

/// The maximum scratch memory of a work-item, in bytes.
const MAX_SCRATCH: u32 = 256 << 10;

/// A kernel to run, described as in an AQL kernel dispatch packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Dispatch {
    /// Address of the kernel's descriptor.
    pub kernel_object: u64,
    /// Work-items per dimension. The last workgroup of a dimension may be partial.
    pub grid: [u32; 3],
    /// Work-items per dimension of a workgroup.
    pub workgroup: [u32; 3],
    /// Address of the kernel's arguments.
    pub kernarg: u64,
    /// LDS of a workgroup in bytes, static and dynamic.
    pub group_segment_size: u32,
    /// Scratch memory of a work-item in bytes.
    pub private_segment_size: u32,
    /// Address of the dispatch packet, for kernels that read it.
    pub packet: u64,
    /// Address of the queue, for kernels that read it.
    pub queue: u64,
    /// Number of the packet in its queue.
    pub id: u64,
    /// The time limit of the dispatch; none stands for [`Machine::timeout`](super::Machine::timeout).
    pub timeout: Option<Duration>,
    /// Whether to count what it does, even if [`Machine::set_counters`](super::Machine::set_counters) is off.
    pub counters: bool,
    /// The checks that it runs with; none stands for [`Machine::checks`](super::Machine::checks).
    pub checks: Option<Checks>,
    /// The compute units that it may run on, if not all of the device. Units that the device lacks are
    /// ignored.
    pub units: Option<UnitMask>,
}

/// Statistics of a dispatch.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DispatchStats {
    /// When the first workgroup began, on the clock of [`now_ns`].
    pub start_ns: u64,
    /// When the last workgroup ended.
    pub end_ns: u64,
    /// How many workgroups ran.
    pub workgroups: u64,
    /// The instructions that its waves executed, if
    /// [`Machine::count_instructions`](super::Machine::count_instructions) was on when it began.
    pub executed: Option<Executed>,
    /// Its counters, if [`Dispatch::counters`] or [`Machine::set_counters`](super::Machine::set_counters)
    /// asked for them when it began.
    pub counters: Option<Arc<Counters>>,
}

/// Why a kernel could not be started, or failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// The address is not a kernel descriptor in a loaded code object.
    #[error("there is no kernel object at {0:#x}")]
    NoKernel(u64),
    /// The kernel's code was loaded for another kind of device.
    #[error("kernel {kernel} was loaded for {code}, but the device is {device}")]
    WrongDevice {
        /// The kernel's name.
        kernel: String,
        /// The target its code was loaded for.
        code: &'static str,
        /// The device's target.
        device: &'static str,
    },
    /// The descriptor is inconsistent, or does not match the target.
    #[error("kernel {kernel}: bad descriptor: {what}")]
    BadDescriptor {
        /// The kernel's name.
        kernel: String,
        /// What is wrong.
        what: String,
    },
    /// More workgroups than a workgroup's id has bits for.
    #[error("kernel {kernel}: {groups:?} workgroups are too many; the device has 16 bits for y and z")]
    TooManyWorkgroups {
        /// The kernel's name.
        kernel: String,
        /// Workgroups per dimension.
        groups: [u32; 3],
    },
    /// A dimension of the grid or the workgroup is zero.
    #[error("kernel {kernel}: {what} {sizes:?} has a size of zero")]
    ZeroSize {
        /// The kernel's name.
        kernel: String,
        /// `grid` or `workgroup`.
        what: &'static str,
        /// The sizes.
        sizes: [u32; 3],
    },
    /// A workgroup has more work-items than the device, or the registers of the kernel, allow.
    #[error("kernel {kernel}: workgroup {sizes:?} is larger than the {limit} work-items {of} allows")]
    WorkgroupTooLarge {
        /// The kernel's name.
        kernel: String,
        /// Work-items per dimension.
        sizes: [u32; 3],
        /// The most that is allowed.
        limit: u32,
        /// What sets the limit: the device or the kernel's registers.
        of: &'static str,
    },
    /// The kernel was compiled for a different workgroup size.
    #[error("kernel {kernel} was compiled for workgroup {required:?}, not for {sizes:?}")]
    WorkgroupMismatch {
        /// The kernel's name.
        kernel: String,
        /// Work-items per dimension.
        sizes: [u32; 3],
        /// What the kernel requires.
        required: [u32; 3],
    },
    /// The launch asks for more LDS than a workgroup can have.
    #[error("kernel {kernel}: {size} bytes of LDS were requested, but a workgroup has {limit}")]
    LdsTooLarge {
        /// The kernel's name.
        kernel: String,
        /// Bytes requested.
        size: u32,
        /// Bytes available.
        limit: u32,
    },
    /// The launch asks for more scratch memory than a work-item can have.
    #[error("kernel {kernel}: {size} bytes of scratch memory were requested, but a work-item has {limit}")]
    ScratchTooLarge {
        /// The kernel's name.
        kernel: String,
        /// Bytes requested.
        size: u32,
        /// Bytes available.
        limit: u32,
    },
    /// The host has no memory for the registers, LDS and scratch memory of the workgroups.
    #[error("no memory to run workgroups: {0}")]
    NoMemory(#[from] super::MemoryError),
    /// The kernel faulted.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// The kernel was stopped by its caller; see [`Device::dispatch_until`](super::Device::dispatch_until).
    #[error("the kernel was stopped before it ended")]
    Stopped,
}

/// The current time in nanoseconds, on the monotonic clock that also gives dispatches their timestamps.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Checks a dispatch and computes everything that its workgroups share.
fn prepare(device: &Device, dispatch: &Dispatch) -> Result<Launch, DispatchError> {
    let code = device.machine.codes.find(dispatch.kernel_object);
    let found = code.and_then(|code| code.kernel(dispatch.kernel_object).map(|kernel| (code, kernel)));
    let (code, kernel) = found.ok_or(DispatchError::NoKernel(dispatch.kernel_object))?;
    let name = || String::from(&*kernel.name);
    let target = device.target;
    if !std::ptr::eq(code.target(), target) {
        let code = code.target().name;
        return Err(DispatchError::WrongDevice { kernel: name(), code, device: target.name });
    }
    for (what, sizes) in [("grid", dispatch.grid), ("workgroup", dispatch.workgroup)] {
        if sizes.contains(&0) {
            return Err(DispatchError::ZeroSize { kernel: name(), what, sizes });
        }
    }
    let sizes = dispatch.workgroup;
    let items = sizes.iter().try_fold(1u32, |product, &size| product.checked_mul(size)).unwrap_or(u32::MAX);
    let too_large = |limit, of| DispatchError::WorkgroupTooLarge { kernel: name(), sizes, limit, of };
    if items > target.limits.max_workgroup_size {
        return Err(too_large(target.limits.max_workgroup_size, "the device"));
    }
    let descriptor = &kernel.descriptor;
    let groups: [u32; 3] = std::array::from_fn(|i| dispatch.grid[i].div_ceil(sizes[i]));
    let packed = target.generation() == Generation::Gfx12 && descriptor.enable_sgpr_workgroup_id_z();
    if packed && groups[1..].iter().any(|&count| count > 1 << 16) {
        return Err(DispatchError::TooManyWorkgroups { kernel: name(), groups });
    }
    // Runtimes enforce the workgroup size that a kernel was compiled for, and AMD's does not do so for the
    // kernels that it starts itself. The device only needs enough registers for all waves.
    if kernel.max_flat_workgroup_size != 0 && items > kernel.max_flat_workgroup_size {
        let occupancy = Occupancy::new(&target.limits.unit, target.resources(descriptor, items, 0));
        let simds = target.limits.unit.simds * occupancy.compute_units_per_unit();
        let waves = occupancy.by_vgprs.min(occupancy.by_sgprs) * simds;
        let limit = waves * descriptor.wavefront_size();
        if items > limit {
            return Err(too_large(limit, "the number of the kernel's registers"));
        }
    }
    if let Some(required) = kernel.required_workgroup_size.filter(|required| *required != sizes) {
        return Err(DispatchError::WorkgroupMismatch { kernel: name(), sizes, required });
    }
    let lds = dispatch.group_segment_size.max(descriptor.group_segment_fixed_size);
    if lds > target.limits.unit.lds {
        return Err(DispatchError::LdsTooLarge { kernel: name(), size: lds, limit: target.limits.unit.lds });
    }
    let scratch = dispatch.private_segment_size.max(descriptor.private_segment_fixed_size);
    if scratch > MAX_SCRATCH {
        return Err(DispatchError::ScratchTooLarge { kernel: name(), size: scratch, limit: MAX_SCRATCH });
    }
    match kernel.start.clone() {
        Err(what) => Err(DispatchError::BadDescriptor { kernel: name(), what }),
        Ok(start) => Ok(Launch::new(device, code, kernel, dispatch, start, lds, scratch)),
    }
}

pub(super) fn run(
    device: &Device,
    dispatch: &Dispatch,
    stop: Option<&Arc<AtomicBool>>,
    meanwhile: &dyn Fn(),
) -> Result<DispatchStats, DispatchError> {
    let mut launch = prepare(device, dispatch)?;
    launch.watch();
    let workgroups = launch.workgroups();
    let timeout = dispatch.timeout.or_else(|| device.machine.timeout());
    // A deadline that overflows the clock is no limit.
    let deadline = timeout.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit)));
    let start_ns = now_ns();
    let job = Arc::new(Job::new(launch, device.machine.pool.threads(), deadline, stop.cloned(), start_ns));
    let outcome = device.machine.pool.run(&device.machine.memory, &job, meanwhile);
    let mut stats = DispatchStats { start_ns, end_ns: now_ns(), workgroups, executed: None, counters: None };
    let stopped = stop.is_some_and(|stop| stop.load(Ordering::Acquire));
    let ended_well = matches!(outcome, Ok(None)) && !stopped;
    for observer in &job.launch().observers {
        observer.end(job.launch(), ended_well.then_some(&mut stats));
    }
    match outcome? {
        Some(fault) => Err(DispatchError::Fault(Box::new(fault))),
        None if stopped => Err(DispatchError::Stopped),
        None => Ok(stats),
    }
}
