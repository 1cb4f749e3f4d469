//! The runtime: initialised while anyone holds it.

use std::ffi::c_void;
use std::sync::Arc;

use hsa_sys::*;

use crate::error::{Named, Result, call, note};
use crate::raw::Calls;
use crate::{Agent, Error};

/// An initialised HSA runtime. Clones share it; with the last one and everything made from it, it is shut down.
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
        // SAFETY: balances the `hsa_init` of `Runtime::new`; whatever was made from this runtime held it and is gone.
        note(unsafe { call!(self.table, hsa_shut_down()) });
    }
}

impl Runtime {
    /// Initialises the runtime behind `table`. Calls are counted: several runtimes may live at once. (`hsa_init`)
    ///
    /// # Errors
    /// What the runtime says, for example that there is no driver.
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

    /// The functions this runtime calls.
    pub fn table(&self) -> &'static Table {
        self.inner.table
    }

    /// The same functions with this crate's errors.
    pub(crate) fn calls(&self) -> Calls<Named> {
        // SAFETY: this object has initialised the implementation, and signals and queues keep their handles to themselves.
        unsafe { Calls::new(self.table()) }
    }

    /// Whether both call the same implementation.
    pub(crate) fn is_same(&self, other: &Runtime) -> Result<()> {
        if std::ptr::eq(self.table(), other.table()) { Ok(()) } else { Err(Error::DifferentRuntimes) }
    }

    /// All agents, in the runtime's order: processors and GPUs. (`hsa_iterate_agents`)
    ///
    /// # Errors
    /// What the runtime says.
    #[doc(alias = "hsa_iterate_agents")]
    pub fn agents(&self) -> Result<Vec<Agent>> {
        self.calls().agents()?.into_iter().map(|raw| Agent::new(self.clone(), raw)).collect()
    }

    /// The agents that are GPUs.
    ///
    /// # Errors
    /// What the runtime says.
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
    /// What the runtime says.
    pub fn timestamp(&self) -> Result<u64> {
        // SAFETY: the attribute's type is u64.
        unsafe { self.info(hsa_system_info_t::HSA_SYSTEM_INFO_TIMESTAMP, 0) }
    }

    /// Ticks per second of time stamps and of the times of packets and copies.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn timestamp_frequency(&self) -> Result<u64> {
        // SAFETY: the attribute's type is u64.
        unsafe { self.info(hsa_system_info_t::HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, 0) }
    }

    /// Version of HSA, major and minor.
    ///
    /// # Errors
    /// What the runtime says.
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
/// `list` points to a `Vec<T>` that nobody else uses during the call.
pub(crate) unsafe extern "C" fn collect<T>(item: T, list: *mut c_void) -> hsa_status_t {
    // SAFETY: the caller's promise.
    unsafe { &mut *list.cast::<Vec<T>>() }.push(item);
    hsa_status_t::HSA_STATUS_SUCCESS
}
