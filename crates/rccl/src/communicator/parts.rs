//! Communicators made from a part of another one's ranks.

use std::ptr::null_mut;

use rccl_sys::ncclComm_t;

use super::{Communicator, Pace, config, in_group};
use crate::current::Current;
use crate::error::{Error, Result};

impl Communicator {
    /// Divides the ranks into new communicators, one per colour. In each, ranks are ordered by their keys.
    /// All ranks call this. A rank without a colour gets no communicator (`ncclCommSplit`).
    ///
    /// # Errors
    /// [`Error::Unsupported`] up to RCCL 2.13, [`Error::Size`] for a colour beyond 2³¹, [`Error::Aborted`],
    /// [`Error::NotReady`], else as [`new`](Self::new).
    #[doc(alias = "ncclCommSplit")]
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        Ok(Self::split_all(std::slice::from_ref(self), |_| (color, key))?.pop().flatten())
    }

    /// Like [`split`](Self::split), for all ranks that this thread serves: `which` returns the colour and key
    /// of a rank.
    ///
    /// # Errors
    /// As [`split`](Self::split).
    pub fn split_all(
        ranks: &[Self],
        which: impl Fn(usize) -> (Option<u32>, i32),
    ) -> Result<Vec<Option<Self>>> {
        const NAME: &str = "ncclCommSplit";
        let Some(first) = ranks.first() else { return Ok(Vec::new()) };
        let table = first.inner.table;
        let mut wanted = Vec::with_capacity(ranks.len());
        for one in ranks {
            one.inner.has(NAME)?;
            if !std::ptr::eq(one.inner.table, table) {
                return Err(Error::OtherCommunicator { operation: NAME, what: "a rank" });
            }
            let (color, key) = which(one.rank()?);
            let color = match color {
                None => rccl_sys::NCCL_SPLIT_NOCOLOR,
                Some(color) => {
                    i32::try_from(color).map_err(|_| Error::Size { operation: NAME, size: color as usize })?
                }
            };
            wanted.push((color, key));
        }
        let mut handles: Vec<ncclComm_t> = vec![null_mut(); ranks.len()];
        let started = in_group(table, || {
            ranks.iter().zip(&wanted).zip(&mut handles).try_for_each(|((one, (color, key)), new)| {
                let mut config = config();
                let _current = Current::set(one.device())?;
                one.inner.with_handle(NAME, |table, handle| {
                    // SAFETY: the handle is live, the others are places; the configuration is read during the
                    // call.
                    unsafe { (table.ncclCommSplit)(handle, *color, *key, new, &raw mut config) }
                })
            })
        });
        // Non-blocking calls of RCCL write their handles later.
        let settled = started.and_then(|()| ranks.iter().try_for_each(|one| one.inner.settle(NAME)));
        let part = |(one, handle): (&Self, ncclComm_t)| {
            let inner = &one.inner;
            (!handle.is_null()).then(|| Self::of(table, &inner.device, inner.options, handle, None))
        };
        let parts: Vec<_> = ranks.iter().zip(handles).map(part).collect();
        settled?;
        parts.iter().flatten().try_for_each(Self::wait_until_ready)?;
        Ok(parts)
    }

    /// Makes a communicator of all ranks but some, in the same order. The remaining ranks call it, all with
    /// the same list; the others do not (`ncclCommShrink`).
    ///
    /// If this communicator has [failed](Self::check) because a rank died, all its enqueued operations are
    /// dropped, and the survivors continue. They must not have aborted it. [`wait`](Self::wait) does that on
    /// failure, so a program that shrinks uses [`check`](Self::check) and [`is_done`](hip::Stream::is_done)
    /// of its streams instead.
    ///
    /// # Errors
    /// [`Error::Unsupported`] up to RCCL 2.26, [`Error::Rank`] for a rank that does not exist, is listed
    /// twice, or is the caller, [`Error::Size`] if none or all are left out, [`Error::Aborted`],
    /// [`Error::NotReady`], else as [`new`](Self::new).
    #[doc(alias = "ncclCommShrink")]
    pub fn shrink(&self, without: &[usize]) -> Result<Self> {
        let mut ranks = Self::shrink_all(std::slice::from_ref(self), without)?;
        ranks.pop().ok_or(Error::Size { operation: "ncclCommShrink", size: 0 })
    }

    /// Like [`shrink`](Self::shrink), for all remaining ranks that this thread serves.
    ///
    /// # Errors
    /// As [`shrink`](Self::shrink).
    pub fn shrink_all(ranks: &[Self], without: &[usize]) -> Result<Vec<Self>> {
        const NAME: &str = "ncclCommShrink";
        let Some(first) = ranks.first() else { return Ok(Vec::new()) };
        let table = first.inner.table;
        let mut flags = rccl_sys::NCCL_SHRINK_DEFAULT;
        for one in ranks {
            one.inner.has(NAME)?;
            if !std::ptr::eq(one.inner.table, table) {
                return Err(Error::OtherCommunicator { operation: NAME, what: "a rank" });
            }
            let (rank, size) = one.inner.place(NAME)?;
            let mut list = ordinals(NAME, without, size)?;
            list.sort_unstable();
            let twice = list.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0] as usize);
            if let Some(rank) = twice.or_else(|| without.contains(&rank).then_some(rank)) {
                return Err(Error::Rank { operation: NAME, rank, size });
            }
            if list.is_empty() || list.len() >= size {
                return Err(Error::Size { operation: NAME, size: size - list.len() });
            }
            match one.is_ready() {
                Ok(true) => {}
                Ok(false) => return Err(Error::NotReady { operation: NAME }),
                Err(Error::Failed { .. }) => flags = rccl_sys::NCCL_SHRINK_ABORT,
                Err(error) => return Err(error),
            }
        }
        let mut list = ordinals(NAME, without, first.size()?)?;
        let mut handles: Vec<ncclComm_t> = vec![null_mut(); ranks.len()];
        let started = in_group(table, || {
            ranks.iter().zip(&mut handles).try_for_each(|(one, new)| {
                let mut config = config();
                let _current = Current::set(one.device())?;
                one.inner.with_handle(NAME, |table, handle| {
                    let (ranks, count) = (list.as_mut_ptr(), list.len() as i32);
                    // SAFETY: the handle is live, the list has this many ranks, the others are places; the
                    // configuration is read during the call.
                    unsafe {
                        (table.ncclCommShrink)(handle, ranks, count, new, &raw mut config, flags as i32)
                    }
                })
            })
        });
        let limit = first.inner.options.limit;
        // Non-blocking calls of RCCL write their handles later. An earlier failure says nothing about them.
        let mut pace = Pace::new();
        // SAFETY: the places are in the list.
        let is_made = |handle: &ncclComm_t| unsafe { !std::ptr::from_ref(handle).read_volatile().is_null() };
        while started.is_ok() && !handles.iter().all(is_made) {
            if !pace.go_on(limit) {
                // The library may still write them.
                std::mem::forget((handles, list));
                return Err(Error::TimedOut { operation: NAME, limit });
            }
        }
        let part = |(one, handle): (&Self, ncclComm_t)| {
            Self::of(table, &one.inner.device, one.inner.options, handle, None)
        };
        let made = ranks.iter().zip(handles).filter(|(_, handle)| !handle.is_null());
        let made: Vec<_> = made.map(part).collect();
        started?;
        made.iter().try_for_each(Self::wait_until_ready)?;
        Ok(made)
    }
}

/// The ranks as C integers.
fn ordinals(operation: &'static str, ranks: &[usize], size: usize) -> Result<Vec<i32>> {
    let of = |rank: &usize| match i32::try_from(*rank) {
        Ok(number) if *rank < size => Ok(number),
        _ => Err(Error::Rank { operation, rank: *rank, size }),
    };
    ranks.iter().map(of).collect()
}
