//! Communicators: making, querying and ending them, and the objects that belong to one.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;

use rccl_sys::{
    ncclComm_t, ncclConfig_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclScalarResidence_t, ncclUniqueId,
    ncclWindow_t,
};

use super::{hip_table, place};
use crate::batch::{Address, Scale};
use crate::comm::{Comm, Place, Registered, Scaled};
use crate::device::Current;
use crate::error::{Failure, Result, entry, hip, plain};
use crate::group;
use crate::id::Id;
use crate::number::Type;

/// The value of `magic` in `NCCL_CONFIG_INITIALIZER`, and of numbers that the program leaves unset.
const CONFIG_MAGIC: u32 = 0xcafe_beef;
const UNDEFINED: c_int = c_int::MIN;

/// Whether calls block, from a configuration.
///
/// # Safety
/// The pointer is null or points to a configuration of some version, which begins with its size.
unsafe fn is_blocking(config: *const ncclConfig_t) -> Result<bool> {
    if config.is_null() {
        return Ok(true);
    }
    // SAFETY: every version begins with size, magic and version.
    let (size, magic) = unsafe { ((*config).size, (*config).magic) };
    if magic != CONFIG_MAGIC {
        return Err(Failure::argument("the configuration was not initialised with NCCL_CONFIG_INITIALIZER"));
    }
    if size < offset_of!(ncclConfig_t, blocking) + size_of::<c_int>() {
        return Ok(true);
    }
    // SAFETY: the size says that it has the member.
    match unsafe { (*config).blocking } {
        UNDEFINED | 1 => Ok(true),
        0 => Ok(false),
        other => Err(Failure::argument(format!("`blocking` is {other}, neither 0 nor 1"))),
    }
}

/// # Safety
/// The pointers are valid for their types, or null.
unsafe fn init(
    comm: *mut ncclComm_t,
    ranks: c_int,
    id: &ncclUniqueId,
    rank: c_int,
    config: *const ncclConfig_t,
) -> Result<ncclResult_t> {
    // SAFETY: the caller's promise.
    let (comm, blocking) = unsafe { (self::place(comm, "comm")?, is_blocking(config)?) };
    *comm = null_mut();
    let place = Place::new(Id::of(id)?, rank, ranks)?;
    place.id.socket()?;
    let hip = hip_table()?;
    let (handle, made) = Comm::defer(hip, Current::device(hip)?, blocking)?;
    *comm = handle;
    group::begin(made, place).inspect_err(|_| forget(comm))
}

/// Ends a communicator whose creation failed.
fn forget(comm: &mut ncclComm_t) {
    if let Ok(gone) = Comm::remove(*comm) {
        gone.abort();
        gone.end();
    }
    *comm = null_mut();
}

/// `ncclCommInitRank`: on the current device.
pub(crate) unsafe extern "C" fn ncclCommInitRank(
    comm: *mut ncclComm_t,
    ranks: c_int,
    id: ncclUniqueId,
    rank: c_int,
) -> ncclResult_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| group::note(unsafe { init(comm, ranks, &id, rank, std::ptr::null()) }))
}

/// `ncclCommInitRankConfig`: only `blocking` of the configuration is used.
pub(crate) unsafe extern "C" fn ncclCommInitRankConfig(
    comm: *mut ncclComm_t,
    ranks: c_int,
    id: ncclUniqueId,
    rank: c_int,
    config: *mut ncclConfig_t,
) -> ncclResult_t {
    // SAFETY: the caller passes null or valid places.
    entry(|| group::note(unsafe { init(comm, ranks, &id, rank, config) }))
}

/// `ncclCommInitRankScalable`: ranks of one host need only the first id.
pub(crate) unsafe extern "C" fn ncclCommInitRankScalable(
    comm: *mut ncclComm_t,
    ranks: c_int,
    rank: c_int,
    ids: c_int,
    list: *mut ncclUniqueId,
    config: *mut ncclConfig_t,
) -> ncclResult_t {
    entry(|| {
        group::note((|| {
            if ids < 1 {
                return Err(Failure::argument(format!("{ids} unique ids are not allowed")));
            }
            // SAFETY: the caller passes null or valid places, and a list of this many ids.
            unsafe {
                let id = *self::place(list, "commIds")?;
                init(comm, ranks, &id, rank, config)
            }
        })())
    })
}

/// `ncclCommInitRankMulti`, of RCCL up to 5.4.3: ranks may share a device anyway, so `virtual_id` is not
/// needed.
pub(crate) unsafe extern "C" fn ncclCommInitRankMulti(
    comm: *mut ncclComm_t,
    ranks: c_int,
    id: ncclUniqueId,
    rank: c_int,
    virtual_id: c_int,
) -> ncclResult_t {
    entry(|| {
        group::note((|| {
            if virtual_id < 0 {
                return Err(Failure::argument(format!("virtualId {virtual_id}")));
            }
            // SAFETY: the caller passes null or a valid place.
            unsafe { init(comm, ranks, &id, rank, std::ptr::null()) }
        })())
    })
}

/// `ncclCommInitAll`: a rank for each device, all in this process.
pub(crate) unsafe extern "C" fn ncclCommInitAll(
    comms: *mut ncclComm_t,
    count: c_int,
    devices: *const c_int,
) -> ncclResult_t {
    entry(|| {
        group::note((|| {
            let hip = hip_table()?;
            if comms.is_null() {
                return Err(Failure::argument("comms is null"));
            }
            let mut there = 0;
            // SAFETY: the count is valid for writes.
            unsafe { hip!(hip, hipGetDeviceCount(&raw mut there))? };
            if count < 1 || devices.is_null() && count > there {
                return Err(Failure::argument(format!("{count} ranks on {there} devices")));
            }
            let device = |index: c_int| match devices.is_null() {
                true => index,
                // SAFETY: the caller's list has this many numbers.
                false => unsafe { *devices.add(index as usize) },
            };
            let devices: Vec<c_int> = (0..count).map(device).collect();
            for (index, device) in devices.iter().enumerate() {
                if !(0..there).contains(device) {
                    return Err(Failure::argument(format!("device {device} of {there}")));
                }
                if devices[..index].contains(device) {
                    return Err(Failure::usage(format!("device {device} is listed twice")));
                }
            }
            let id = Id::fresh()?;
            let mut started = Vec::new();
            let mut handles = Vec::new();
            for (rank, &device) in devices.iter().enumerate() {
                let made = Place::new(id.clone(), rank as c_int, count).and_then(|place| {
                    let _current = Current::set(hip, device)?;
                    let (handle, comm) = Comm::start(hip, device, true)?;
                    comm.assign(place);
                    Ok((handle, comm))
                });
                match made {
                    Ok((handle, comm)) => {
                        handles.push(handle);
                        started.push(comm);
                    }
                    Err(failure) => {
                        handles.iter_mut().for_each(forget);
                        return Err(failure);
                    }
                }
            }
            let status = group::started(started).inspect_err(|_| handles.iter_mut().for_each(forget))?;
            // SAFETY: the caller has room for this many.
            unsafe { comms.copy_from_nonoverlapping(handles.as_ptr(), handles.len()) };
            Ok(status)
        })())
    })
}

/// `ncclCommFinalize`.
pub(crate) unsafe extern "C" fn ncclCommFinalize(comm: ncclComm_t) -> ncclResult_t {
    entry(|| {
        let comm = Comm::of(comm)?;
        comm.finalize(comm.blocking)?;
        comm.status()
    })
}

/// `ncclCommDestroy`: waits for the operations that this rank has enqueued.
pub(crate) unsafe extern "C" fn ncclCommDestroy(comm: ncclComm_t) -> ncclResult_t {
    plain(|| {
        Comm::remove(comm)?.end();
        Ok(())
    })
}

/// `ncclCommAbort`: unfinished operations end with an error on all ranks.
pub(crate) unsafe extern "C" fn ncclCommAbort(comm: ncclComm_t) -> ncclResult_t {
    plain(|| {
        let comm = Comm::remove(comm)?;
        comm.abort();
        comm.end();
        Ok(())
    })
}

/// `ncclCommGetAsyncError`.
pub(crate) unsafe extern "C" fn ncclCommGetAsyncError(
    comm: ncclComm_t,
    error: *mut ncclResult_t,
) -> ncclResult_t {
    plain(|| {
        let comm = Comm::of(comm)?;
        // SAFETY: the caller passes null or a valid place.
        *unsafe { place(error, "asyncError") }? = comm.status().unwrap_or_else(|failure| failure.code);
        Ok(())
    })
}

/// # Safety
/// The pointer is null or valid for writing.
unsafe fn number(comm: ncclComm_t, out: *mut c_int, of: impl FnOnce(&Comm) -> Result<c_int>) -> ncclResult_t {
    plain(|| {
        let comm = Comm::of(comm)?;
        // SAFETY: the caller's promise.
        *unsafe { place(out, "the place for the number") }? = of(&comm)?;
        Ok(())
    })
}

/// `ncclCommCount`.
pub(crate) unsafe extern "C" fn ncclCommCount(comm: ncclComm_t, count: *mut c_int) -> ncclResult_t {
    // SAFETY: the caller passes null or a valid place.
    unsafe { number(comm, count, |comm| Ok(comm.place()?.ranks as c_int)) }
}

/// `ncclCommUserRank`.
pub(crate) unsafe extern "C" fn ncclCommUserRank(comm: ncclComm_t, rank: *mut c_int) -> ncclResult_t {
    // SAFETY: the caller passes null or a valid place.
    unsafe { number(comm, rank, |comm| Ok(comm.place()?.rank as c_int)) }
}

/// `ncclCommCuDevice`.
pub(crate) unsafe extern "C" fn ncclCommCuDevice(comm: ncclComm_t, device: *mut c_int) -> ncclResult_t {
    // SAFETY: the caller passes null or a valid place.
    unsafe { number(comm, device, |comm| Ok(comm.device)) }
}

/// `ncclCommSplit`: a communicator of the ranks of a colour, in the order of their keys.
pub(crate) unsafe extern "C" fn ncclCommSplit(
    comm: ncclComm_t,
    color: c_int,
    key: c_int,
    new: *mut ncclComm_t,
    config: *mut ncclConfig_t,
) -> ncclResult_t {
    entry(|| {
        group::note((|| {
            let parent = Comm::of(comm)?;
            parent.check()?;
            // SAFETY: the caller passes null or valid places.
            let (new, blocking) = unsafe { (place(new, "newcomm")?, is_blocking(config)?) };
            *new = null_mut();
            if color < 0 && color != rccl_sys::NCCL_SPLIT_NOCOLOR {
                return Err(Failure::argument(format!("color {color}")));
            }
            let blocking = if config.is_null() { parent.blocking } else { blocking };
            if color == rccl_sys::NCCL_SPLIT_NOCOLOR {
                parent.split(color, key, None);
                return Ok(ncclResult_t::ncclSuccess);
            }
            let (handle, child) = Comm::start(parent.hip, parent.device, blocking)?;
            *new = handle;
            parent.split(color, key, Some(child.clone()));
            group::started(vec![child]).inspect_err(|_| forget(new))
        })())
    })
}

/// The values of the flags of `ncclCommShrink`.
const SHRINK: [c_int; 2] = [rccl_sys::NCCL_SHRINK_DEFAULT as c_int, rccl_sys::NCCL_SHRINK_ABORT as c_int];

/// `ncclCommShrink`: makes a communicator of all ranks but the listed ones, which do not call it.
pub(crate) unsafe extern "C" fn ncclCommShrink(
    comm: ncclComm_t,
    excluded: *mut c_int,
    count: c_int,
    new: *mut ncclComm_t,
    config: *mut ncclConfig_t,
    flags: c_int,
) -> ncclResult_t {
    entry(|| {
        group::note((|| {
            let parent = Comm::of(comm)?;
            // SAFETY: the caller passes null or valid places.
            let (new, blocking) = unsafe { (place(new, "newcomm")?, is_blocking(config)?) };
            *new = null_mut();
            if !SHRINK.contains(&flags) {
                return Err(Failure::argument(format!("flags {flags}")));
            }
            let old = parent.place()?;
            let length = usize::try_from(count).ok().filter(|count| (1..old.ranks).contains(count));
            let (Some(length), false) = (length, excluded.is_null()) else {
                return Err(Failure::argument(format!("a list of {count} ranks of {}", old.ranks)));
            };
            // SAFETY: the caller's list has this many numbers.
            let excluded = unsafe { std::slice::from_raw_parts(excluded, length) };
            let mut rest: u64 = (0..old.ranks).fold(0, |set, rank| set | 1 << rank);
            for &rank in excluded {
                let bit = usize::try_from(rank).ok().filter(|rank| *rank < old.ranks).map(|rank| 1 << rank);
                match bit {
                    Some(bit) if rest & bit != 0 => rest &= !bit,
                    _ => return Err(Failure::argument(format!("rank {rank} of the list"))),
                }
            }
            if rest & 1 << old.rank == 0 {
                return Err(Failure::usage("a rank that is left out must not call ncclCommShrink"));
            }
            if flags == rccl_sys::NCCL_SHRINK_ABORT as c_int {
                parent.abort();
            } else {
                parent.check()?;
            }
            let rank = (rest & ((1 << old.rank) - 1)).count_ones() as usize;
            let id = parent.shrunk_id(&old.id, rest);
            let ranks = rest.count_ones() as usize;
            let blocking = if config.is_null() { parent.blocking } else { blocking };
            let place = Place { id, rank, ranks };
            let (handle, child) = Comm::defer(parent.hip, parent.device, blocking)?;
            *new = handle;
            group::begin(child, place).inspect_err(|_| forget(new))
        })())
    })
}

/// # Safety
/// The place is null or valid for writing.
unsafe fn register<T>(
    comm: ncclComm_t,
    buffer: *mut c_void,
    size: usize,
    handle: *mut *mut T,
    how: Registered,
) -> Result {
    let comm = Comm::of(comm)?;
    // SAFETY: the caller's promise.
    let handle = unsafe { place(handle, "the place for the handle") }?;
    if buffer.is_null() || size == 0 {
        return Err(Failure::argument("there is no memory to register"));
    }
    *handle = comm.register(how) as *mut T;
    Ok(())
}

fn deregister<T>(comm: ncclComm_t, handle: *mut T, how: Registered) -> Result {
    match Comm::of(comm)?.deregister(handle as usize, how) {
        true => Ok(()),
        false => {
            Err(Failure::argument("this handle is not registered, or was registered by another function"))
        }
    }
}

/// `ncclCommRegister`: it has no effect here, except that the handle is checked on deregistration.
pub(crate) unsafe extern "C" fn ncclCommRegister(
    comm: ncclComm_t,
    buffer: *mut c_void,
    size: usize,
    handle: *mut *mut c_void,
) -> ncclResult_t {
    // SAFETY: the caller passes null or a valid place.
    plain(|| unsafe { register(comm, buffer, size, handle, Registered::Buffer) })
}

/// `ncclCommDeregister`.
pub(crate) unsafe extern "C" fn ncclCommDeregister(comm: ncclComm_t, handle: *mut c_void) -> ncclResult_t {
    plain(|| deregister(comm, handle, Registered::Buffer))
}

/// The values of the flags of `ncclCommWindowRegister`.
const WINDOW: [c_int; 2] = [rccl_sys::NCCL_WIN_DEFAULT as c_int, rccl_sys::NCCL_WIN_COLL_SYMMETRIC as c_int];

/// `ncclCommWindowRegister`: like `ncclCommRegister`. A window changes how AMD's collectives access the
/// memory, not what they do.
pub(crate) unsafe extern "C" fn ncclCommWindowRegister(
    comm: ncclComm_t,
    buffer: *mut c_void,
    size: usize,
    window: *mut ncclWindow_t,
    flags: c_int,
) -> ncclResult_t {
    plain(|| {
        if !WINDOW.contains(&flags) {
            return Err(Failure::argument(format!("flags {flags}")));
        }
        // SAFETY: the caller passes null or a valid place.
        unsafe { register(comm, buffer, size, window, Registered::Window) }
    })
}

/// `ncclCommWindowDeregister`.
pub(crate) unsafe extern "C" fn ncclCommWindowDeregister(
    comm: ncclComm_t,
    window: ncclWindow_t,
) -> ncclResult_t {
    plain(|| deregister(comm, window, Registered::Window))
}

/// `ncclRedOpCreatePreMulSum`.
pub(crate) unsafe extern "C" fn ncclRedOpCreatePreMulSum(
    op: *mut ncclRedOp_t,
    scalar: *mut c_void,
    element: ncclDataType_t,
    residence: ncclScalarResidence_t,
    comm: ncclComm_t,
) -> ncclResult_t {
    plain(|| {
        let comm = Comm::of(comm)?;
        let element = Type::of(element, comm.fnuz)?;
        // SAFETY: the caller passes null or a valid place.
        let op = unsafe { place(op, "op") }?;
        if scalar.is_null() {
            return Err(Failure::argument("scalar is null"));
        }
        let scale = match residence {
            ncclScalarResidence_t::ncclScalarDevice => Scale::Device(Address(scalar as usize)),
            ncclScalarResidence_t::ncclScalarHostImmediate => {
                let mut word = [0; 8];
                // SAFETY: the caller's scalar is a number of the type.
                unsafe {
                    word.as_mut_ptr().copy_from_nonoverlapping(scalar.cast_const().cast(), element.size());
                }
                Scale::Value(u64::from_ne_bytes(word))
            }
            other => return Err(Failure::argument(format!("residence {}", other.0))),
        };
        *op = ncclRedOp_t(ncclRedOp_t::ncclNumOps.0 + comm.add_scaled(Scaled { element, scale }) as u32);
        Ok(())
    })
}

/// `ncclRedOpDestroy`: enqueued operations keep what they need of it.
pub(crate) unsafe extern "C" fn ncclRedOpDestroy(op: ncclRedOp_t, comm: ncclComm_t) -> ncclResult_t {
    plain(|| {
        let comm = Comm::of(comm)?;
        let index = op.0.checked_sub(ncclRedOp_t::ncclNumOps.0);
        let removed = index.and_then(|index| comm.remove_scaled(index as usize));
        removed.map(drop).ok_or_else(|| Failure::argument(format!("there is no operator {}", op.0)))
    })
}
