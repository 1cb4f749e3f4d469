//! Memory that others have allocated.

use std::sync::Arc;

use hsa_sys::hsa_agent_t;

use super::pool::Piece;
use crate::context::Context;
use crate::error::{Calls, Error, Result};

/// What keeps memory allocated; dropped when no device reaches it any more.
pub(crate) type Owner = Box<dyn Send + Sync>;

/// The memory of a buffer.
#[derive(Debug)]
pub(crate) enum Memory {
    /// Of a pool.
    Piece(Piece),
    /// Of the program.
    Locked(Locked),
    /// Of another user of the devices.
    Foreign(Foreign),
}

impl Memory {
    /// Bytes.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Piece(piece) => piece.size,
            Self::Locked(locked) => locked.size,
            Self::Foreign(foreign) => foreign.size,
        }
    }
}

/// Memory of the host that devices reach; unlocked on drop.
pub(crate) struct Locked {
    calls: Calls,
    pub(crate) host: *mut u8,
    /// For devices.
    pub(crate) address: u64,
    pub(crate) size: u64,
    owner: Option<Owner>,
}

// SAFETY: the pointer is only an address, which HSA and the system access; the owner can go to any thread.
unsafe impl Send for Locked {}
// SAFETY: as above.
unsafe impl Sync for Locked {}

/// Memory whose address for devices is known.
pub(crate) struct Foreign {
    pub(crate) address: u64,
    pub(crate) size: u64,
    _owner: Owner,
}

impl std::fmt::Debug for Locked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes at {:?}, for devices at {:#x}", self.size, self.host, self.address)
    }
}

impl std::fmt::Debug for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes at {:#x}", self.size, self.address)
    }
}

fn refused(address: u64, size: u64, problem: impl ToString) -> Error {
    Error::Import { address, size, problem: problem.to_string() }
}

/// An error unless these can be the bytes of an object.
fn check_range(address: u64, size: u64) -> Result<()> {
    if address == 0 {
        return Err(refused(address, size, "the address is null"));
    }
    match address.checked_add(size) {
        Some(_) => Ok(()),
        None => Err(refused(address, size, "the range ends behind the last address")),
    }
}

impl Locked {
    /// Lets all GPUs of a device reach memory of the host.
    ///
    /// # Errors
    /// HSA refuses.
    ///
    /// # Safety
    /// The memory is mapped as long as the owner exists.
    pub(crate) unsafe fn new(context: &Arc<Context>, host: *mut u8, size: u64, owner: Owner) -> Result<Self> {
        check_range(host as u64, size)?;
        let mut agents: Vec<hsa_agent_t> = context.members.iter().map(|member| member.agent.raw()).collect();
        let (calls, pool) = (context.calls(), context.host.raw());
        // SAFETY: the caller vouches for the memory, and the owner is kept until it is unlocked.
        let locked = unsafe { calls.lock(host.cast(), size as usize, &mut agents, pool) };
        let address = locked.map_err(|error| refused(host as u64, size, error))? as u64;
        Ok(Self { calls, host, address, size, owner: Some(owner) })
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: the memory was locked when this object was made, and buffers are held until no device uses
        // them.
        if let Err(error) = unsafe { self.calls.unlock(self.host.cast()) } {
            // Devices may still reach the memory, so it stays for ever.
            tracing::error!(%error, memory = ?self, "memory could not be unlocked");
            std::mem::forget(self.owner.take());
        }
    }
}

impl Foreign {
    /// Takes memory that HSA knows.
    ///
    /// # Errors
    /// HSA knows no allocation that has the range.
    pub(crate) fn new(context: &Arc<Context>, address: u64, size: u64, owner: Owner) -> Result<Self> {
        check_range(address, size)?;
        let known = context.calls().allocation_at(address as usize);
        let is_inside = |base: usize, whole: usize| {
            address.checked_sub(base as u64).is_some_and(|before| before + size <= whole as u64)
        };
        match known.map_err(|error| refused(address, size, error))? {
            Some((base, whole)) if is_inside(base, whole) => Ok(Self { address, size, _owner: owner }),
            Some((base, whole)) => {
                let problem = format!("HSA has {whole} bytes at {base:#x} there");
                Err(refused(address, size, problem))
            }
            None => Err(refused(address, size, "HSA has no allocation there")),
        }
    }
}
