//! The runtime: initialised as long as it is in use.

use std::ffi::c_void;
use std::sync::Arc;

use hsa_sys::*;

use crate::error::{Named, Result, call, note};
use crate::raw::Calls;
use crate::{Agent, Error};

/// An initialised HSA runtime. Clones share it. It is shut down once the last clone and everything made from
/// it is dropped.
#[derive(Clone, Debug)]
pub struct Runtime {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    table: &'static Table,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: balances the `hsa_init` of `Runtime::new`. Everything made from this runtime held it, and
        // is gone.
        note(unsafe { call!(self.table, hsa_shut_down()) });
    }
}

impl Runtime {
    /// Initialises the runtime behind `table` (`hsa_init`). HSA counts these calls, so several runtimes may
    /// live at once.
    ///
    /// # Errors
    /// The runtime's error, for example that there is no driver.
    #[doc(alias = "hsa_init")]
    pub fn new(table: &'static Table) -> Result<Runtime> {
        // SAFETY: the function has no preconditions.
        unsafe { call!(table, hsa_init()) }?;
        Ok(Runtime { inner: Arc::new(Inner { table }) })
    }

    /// Finds AMD's HSA library and initialises it.
    ///
    /// # Errors
    /// [`Error::Load`] lists every place that was tried; else as for [`Runtime::new`].
    pub fn load() -> Result<Runtime> {
        Runtime::new(Table::load()?)
    }

    /// The functions that this runtime calls.
    pub fn table(&self) -> &'static Table {
        self.inner.table
    }

    /// The same functions with this crate's errors.
    pub(crate) fn calls(&self) -> Calls<Named> {
        // SAFETY: this object has initialised the implementation, and signals and queues keep their handles
        // private.
        unsafe { Calls::new(self.table()) }
    }

    /// An error unless both use the same implementation.
    pub(crate) fn is_same(&self, other: &Runtime) -> Result<()> {
        if std::ptr::eq(self.table(), other.table()) { Ok(()) } else { Err(Error::DifferentRuntimes) }
    }

    /// All agents in the runtime's order: processors and GPUs (`hsa_iterate_agents`).
    ///
    /// # Errors
    /// The runtime's error.
    #[doc(alias = "hsa_iterate_agents")]
    pub fn agents(&self) -> Result<Vec<Agent>> {
        self.calls().agents()?.into_iter().map(|raw| Agent::new(self.clone(), raw)).collect()
    }

    /// The agents that are GPUs.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn gpus(&self) -> Result<Vec<Agent>> {
        let mut agents = self.agents()?;
        agents.retain(|agent| agent.kind() == crate::AgentKind::Gpu);
        Ok(agents)
    }

    /// # Safety
    /// `T` is the type that the headers give the attribute.
    unsafe fn info<T: Copy>(&self, attribute: hsa_system_info_t, zero: T) -> Result<T> {
        let mut value = zero;
        // SAFETY: the caller vouches for the type.
        unsafe { call!(self.table(), hsa_system_get_info(attribute, (&raw mut value).cast())) }?;
        Ok(value)
    }

    /// The time now, in ticks of [`timestamp_frequency`](Runtime::timestamp_frequency).
    ///
    /// # Errors
    /// The runtime's error.
    pub fn timestamp(&self) -> Result<u64> {
        // SAFETY: the attribute's type is u64.
        unsafe { self.info(hsa_system_info_t::HSA_SYSTEM_INFO_TIMESTAMP, 0) }
    }

    /// Ticks per second, for time stamps and for the times of packets and copies.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn timestamp_frequency(&self) -> Result<u64> {
        // SAFETY: the attribute's type is u64.
        unsafe { self.info(hsa_system_info_t::HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, 0) }
    }

    /// The version of HSA, major and minor.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn version(&self) -> Result<(u16, u16)> {
        // SAFETY: the attributes' types are u16.
        unsafe {
            Ok((
                self.info(hsa_system_info_t::HSA_SYSTEM_INFO_VERSION_MAJOR, 0)?,
                self.info(hsa_system_info_t::HSA_SYSTEM_INFO_VERSION_MINOR, 0)?,
            ))
        }
    }
}

/// Pushes an item to the vector behind `list`.
///
/// # Safety
/// `list` points to a `Vec<T>` that nothing else uses during the call.
pub(crate) unsafe extern "C" fn collect<T>(item: T, list: *mut c_void) -> hsa_status_t {
    // SAFETY: the caller vouches for the list.
    unsafe { &mut *list.cast::<Vec<T>>() }.push(item);
    hsa_status_t::HSA_STATUS_SUCCESS
}
