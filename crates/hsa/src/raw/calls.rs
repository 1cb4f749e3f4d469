//! The calls of HSA's table, as methods with Rust types.
//!
//! Most of these methods are safe, because handles of agents and pools come from HSA and live as long as the
//! process, and signals live as long as their owners. Methods that act on memory or on foreign objects are
//! not safe.

use std::ffi::{CStr, c_char, c_void};
use std::fmt::Debug;
use std::marker::PhantomData;

use hsa_sys::*;

/// Device memory without an address.
pub type PhysicalMemory = hsa_amd_vmem_alloc_handle_t;

/// The kind of a failed call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// Memory.
    Memory,
    /// Sharing memory with other processes, or ending that.
    Share,
    /// Attaching memory of another process.
    Attach,
    /// Exporting memory as a file descriptor.
    Export,
    /// Mapping memory of another driver, or ending that.
    Map,
    /// Virtual memory: addresses, and memory without addresses.
    Virtual,
    /// Any other.
    Other,
}

/// Why a call has failed.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// The implementation.
    pub table: &'static Table,
    /// The function.
    pub operation: &'static str,
    /// What kind of call it was.
    pub kind: Kind,
    /// What it returned.
    pub status: hsa_status_t,
    /// Whether the implementation has calls of this kind.
    pub is_there: bool,
}

/// How a user of [`Calls`] converts failures.
pub trait Errors: Copy + Debug {
    /// The user's error type.
    type Error;

    /// Converts a failure.
    fn error(failure: Failure) -> Self::Error;
}

/// The result type of calls with such errors.
pub type Answer<E, T = ()> = std::result::Result<T, <E as Errors>::Error>;

/// Whether a status means success.
#[inline]
pub fn is_success(status: hsa_status_t) -> bool {
    status == hsa_status_t::HSA_STATUS_SUCCESS || status == hsa_status_t::HSA_STATUS_INFO_BREAK
}

/// The functions of an HSA implementation.
#[derive(Clone, Copy, Debug)]
pub struct Calls<E> {
    /// Its functions.
    pub table: &'static Table,
    errors: PhantomData<E>,
}

#[allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "addresses come from the implementation, as promised to `new`, or the implementation looks them up"
)]
impl<E: Errors> Calls<E> {
    /// The calls of a table.
    ///
    /// # Safety
    /// The implementation is initialised before any method except [`init`](Self::init) is called. Signal
    /// handles and queue addresses that are passed to methods come from it and are live.
    pub unsafe fn new(table: &'static Table) -> Self {
        Self { table, errors: PhantomData }
    }

    pub(super) fn check(
        self,
        operation: &'static str,
        kind: Kind,
        is_there: bool,
        status: hsa_status_t,
    ) -> Answer<E> {
        if is_success(status) {
            return Ok(());
        }
        Err(self.refuse(operation, kind, is_there, status))
    }

    pub(super) fn refuse(
        self,
        operation: &'static str,
        kind: Kind,
        is_there: bool,
        status: hsa_status_t,
    ) -> E::Error {
        E::error(Failure { table: self.table, operation, kind, status, is_there })
    }

    fn check_memory(self, operation: &'static str, status: hsa_status_t) -> Answer<E> {
        self.check(operation, Kind::Memory, true, status)
    }

    fn check_other(self, operation: &'static str, status: hsa_status_t) -> Answer<E> {
        self.check(operation, Kind::Other, true, status)
    }

    /// `hsa_init`.
    pub fn init(self) -> hsa_status_t {
        // SAFETY: no preconditions; HSA counts the calls.
        unsafe { (self.table.hsa_init)() }
    }

    /// Ticks of the system clock per second; 0 if unknown.
    pub fn timestamp_frequency(self) -> u64 {
        let mut value = 0u64;
        // SAFETY: the attribute's type is u64.
        let status = unsafe {
            (self.table.hsa_system_get_info)(
                hsa_system_info_t::HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY,
                (&raw mut value).cast(),
            )
        };
        if status == hsa_status_t::HSA_STATUS_SUCCESS { value } else { 0 }
    }

    /// All agents, in HSA's order.
    pub fn agents(self) -> Answer<E, Vec<hsa_agent_t>> {
        unsafe extern "C" fn collect(agent: hsa_agent_t, data: *mut c_void) -> hsa_status_t {
            // SAFETY: `data` is the vector that `agents` passed.
            unsafe { &mut *data.cast::<Vec<hsa_agent_t>>() }.push(agent);
            hsa_status_t::HSA_STATUS_SUCCESS
        }
        let mut agents: Vec<hsa_agent_t> = Vec::new();
        // SAFETY: the callback only runs during the call and gets the vector.
        self.check_other("hsa_iterate_agents", unsafe {
            (self.table.hsa_iterate_agents)(Some(collect), (&raw mut agents).cast())
        })?;
        Ok(agents)
    }

    /// An attribute of an agent, or `None` if the agent does not know it.
    ///
    /// # Safety
    /// `T` is the attribute's type in the headers.
    pub unsafe fn agent_info<T: Copy>(self, agent: hsa_agent_t, attribute: u32, zero: T) -> Option<T> {
        let mut value = zero;
        // SAFETY: the caller vouches for the type.
        let status = unsafe {
            (self.table.hsa_agent_get_info)(agent, hsa_agent_info_t(attribute), (&raw mut value).cast())
        };
        (status == hsa_status_t::HSA_STATUS_SUCCESS).then_some(value)
    }

    /// A text attribute of an agent; `None` if it is empty or the agent does not know it.
    ///
    /// # Safety
    /// The attribute is a text of at most 64 characters.
    pub unsafe fn agent_text(self, agent: hsa_agent_t, attribute: u32) -> Option<String> {
        // SAFETY: the caller vouches for the length.
        let bytes = unsafe { self.agent_info(agent, attribute, [0u8; 65]) }?;
        let text = CStr::from_bytes_until_nul(&bytes).ok()?.to_string_lossy().trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// The part after `GPU-` of an agent's UUID.
    pub fn uuid(self, agent: hsa_agent_t) -> Option<String> {
        // SAFETY: the text has at most 21 characters.
        let text = unsafe { self.agent_text(agent, hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_UUID.0) }?;
        Some(text.strip_prefix("GPU-").unwrap_or(&text).to_owned())
    }

    /// The name of the agent's preferred instruction set, for example `amdgcn-amd-amdhsa--gfx1100`.
    pub fn isa_name(self, agent: hsa_agent_t) -> Option<String> {
        unsafe extern "C" fn first(isa: hsa_isa_t, data: *mut c_void) -> hsa_status_t {
            // SAFETY: `data` is the option that `isa_name` passed.
            let slot = unsafe { &mut *data.cast::<Option<hsa_isa_t>>() };
            slot.get_or_insert(isa);
            hsa_status_t::HSA_STATUS_SUCCESS
        }
        let mut isa: Option<hsa_isa_t> = None;
        let mut length = 0u32;
        // SAFETY: the callback only runs during the call; the name's buffer has the length that HSA reported
        // plus one.
        unsafe {
            let status = (self.table.hsa_agent_iterate_isas)(agent, Some(first), (&raw mut isa).cast());
            self.check_other("hsa_agent_iterate_isas", status).ok()?;
            let isa = isa?;
            let info = self.table.hsa_isa_get_info_alt;
            self.check_other(
                "hsa_agent_iterate_isas",
                info(isa, hsa_isa_info_t::HSA_ISA_INFO_NAME_LENGTH, (&raw mut length).cast()),
            )
            .ok()?;
            let mut name = vec![0u8; length as usize + 1];
            self.check_other(
                "hsa_agent_iterate_isas",
                info(isa, hsa_isa_info_t::HSA_ISA_INFO_NAME, name.as_mut_ptr().cast()),
            )
            .ok()?;
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
            name.truncate(end);
            String::from_utf8(name).ok()
        }
    }

    /// The memory pools of an agent.
    pub fn pools(self, agent: hsa_agent_t) -> Answer<E, Vec<hsa_amd_memory_pool_t>> {
        unsafe extern "C" fn collect(pool: hsa_amd_memory_pool_t, data: *mut c_void) -> hsa_status_t {
            // SAFETY: `data` is the vector that `pools` passed.
            unsafe { &mut *data.cast::<Vec<hsa_amd_memory_pool_t>>() }.push(pool);
            hsa_status_t::HSA_STATUS_SUCCESS
        }
        let mut pools: Vec<hsa_amd_memory_pool_t> = Vec::new();
        // SAFETY: the callback only runs during the call and gets the vector.
        let status = unsafe {
            (self.table.hsa_amd_agent_iterate_memory_pools)(agent, Some(collect), (&raw mut pools).cast())
        };
        self.check_other("hsa_amd_agent_iterate_memory_pools", status)?;
        Ok(pools)
    }

    /// An attribute of a pool, or `None` if it does not apply.
    ///
    /// # Safety
    /// `T` is the attribute's type in the headers.
    pub unsafe fn pool_info<T: Copy>(
        self,
        pool: hsa_amd_memory_pool_t,
        attribute: hsa_amd_memory_pool_info_t,
        zero: T,
    ) -> Option<T> {
        let mut value = zero;
        // SAFETY: the caller vouches for the type.
        let status =
            unsafe { (self.table.hsa_amd_memory_pool_get_info)(pool, attribute, (&raw mut value).cast()) };
        (status == hsa_status_t::HSA_STATUS_SUCCESS).then_some(value)
    }

    /// Whether the agent can be given access to the pool's memory.
    pub fn can_access(self, agent: hsa_agent_t, pool: hsa_amd_memory_pool_t) -> bool {
        let mut value = hsa_amd_memory_pool_access_t::HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
        // SAFETY: the attribute's type is hsa_amd_memory_pool_access_t.
        let status = unsafe {
            (self.table.hsa_amd_agent_memory_pool_get_info)(
                agent,
                pool,
                hsa_amd_agent_memory_pool_info_t::HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS,
                (&raw mut value).cast(),
            )
        };
        status == hsa_status_t::HSA_STATUS_SUCCESS
            && value != hsa_amd_memory_pool_access_t::HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED
    }

    /// The links from an agent to a pool of another one, in order. Empty for the agent's own pools, and for
    /// pools that it cannot access.
    pub fn links(
        self,
        agent: hsa_agent_t,
        pool: hsa_amd_memory_pool_t,
    ) -> Vec<hsa_amd_memory_pool_link_info_t> {
        let mut hops = 0u32;
        // SAFETY: the attribute's type is u32.
        let status = unsafe {
            (self.table.hsa_amd_agent_memory_pool_get_info)(
                agent,
                pool,
                hsa_amd_agent_memory_pool_info_t::HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS,
                (&raw mut hops).cast(),
            )
        };
        // Some implementations report -1 for unreachable pools.
        let known = i32::try_from(hops).ok().filter(|_| status == hsa_status_t::HSA_STATUS_SUCCESS);
        // SAFETY: all of the structure may be zero.
        let none: hsa_amd_memory_pool_link_info_t = unsafe { std::mem::zeroed() };
        let mut links = vec![none; known.unwrap_or(0) as usize];
        if links.is_empty() {
            return links;
        }
        // SAFETY: the list has an entry for each hop.
        let status = unsafe {
            (self.table.hsa_amd_agent_memory_pool_get_info)(
                agent,
                pool,
                hsa_amd_agent_memory_pool_info_t::HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO,
                links.as_mut_ptr().cast(),
            )
        };
        if status != hsa_status_t::HSA_STATUS_SUCCESS {
            links.clear();
        }
        links
    }

    /// `hsa_amd_memory_pool_allocate`.
    pub fn allocate(self, pool: hsa_amd_memory_pool_t, size: usize) -> Answer<E, *mut c_void> {
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the out pointer is valid.
        self.check_memory("hsa_amd_memory_pool_allocate", unsafe {
            (self.table.hsa_amd_memory_pool_allocate)(pool, size, 0, &mut pointer)
        })?;
        if pointer.is_null() {
            let status = hsa_status_t::HSA_STATUS_ERROR_OUT_OF_RESOURCES;
            return Err(self.refuse("hsa_amd_memory_pool_allocate", Kind::Memory, true, status));
        }
        Ok(pointer)
    }

    /// `hsa_amd_memory_pool_free`.
    ///
    /// # Safety
    /// The memory came from [`allocate`](Self::allocate) and nothing uses it any more.
    pub unsafe fn free(self, pointer: *mut c_void) -> Answer<E> {
        // SAFETY: as this function's contract.
        self.check_memory("hsa_amd_memory_pool_free", unsafe {
            (self.table.hsa_amd_memory_pool_free)(pointer)
        })
    }

    /// `hsa_amd_agents_allow_access`: gives access to the agents and the memory's own agent, and to no
    /// others.
    pub fn allow_access(self, agents: &[hsa_agent_t], pointer: *const c_void) -> Answer<E> {
        // SAFETY: the list is valid for the call; HSA refuses a pointer that it did not allocate.
        let status = unsafe {
            (self.table.hsa_amd_agents_allow_access)(
                agents.len() as u32,
                agents.as_ptr(),
                std::ptr::null(),
                pointer,
            )
        };
        self.check_memory("hsa_amd_agents_allow_access", status)
    }

    /// Makes host memory accessible to agents, and returns its address for them. `hsa_amd_memory_unlock` ends
    /// it.
    ///
    /// # Safety
    /// The memory stays mapped in the process until it is unlocked.
    pub unsafe fn lock(
        self,
        host: *mut c_void,
        size: usize,
        agents: &mut [hsa_agent_t],
        pool: hsa_amd_memory_pool_t,
    ) -> Answer<E, *mut c_void> {
        let mut pointer = std::ptr::null_mut();
        let count = agents.len() as i32;
        // SAFETY: the caller vouches for the memory; lists and out pointer are valid for the calls.
        unsafe {
            let mut status = (self.table.hsa_amd_memory_lock_to_pool)(
                host,
                size,
                agents.as_mut_ptr(),
                count,
                pool,
                0,
                &mut pointer,
            );
            if status != hsa_status_t::HSA_STATUS_SUCCESS {
                // Older runtimes have only this function.
                status =
                    (self.table.hsa_amd_memory_lock)(host, size, agents.as_mut_ptr(), count, &mut pointer);
            }
            self.check_memory("hsa_amd_memory_lock", status)?;
        }
        Ok(pointer)
    }

    /// `hsa_amd_memory_unlock`.
    ///
    /// # Safety
    /// The memory was locked by [`lock`](Self::lock) and no device uses it any more.
    pub unsafe fn unlock(self, host: *mut c_void) -> Answer<E> {
        // SAFETY: as this function's contract.
        self.check_memory("hsa_amd_memory_unlock", unsafe { (self.table.hsa_amd_memory_unlock)(host) })
    }

    /// `hsa_amd_memory_fill`, which returns when the memory is written.
    ///
    /// # Safety
    /// `count` words at the 4-byte aligned `pointer` are inside one allocation.
    pub unsafe fn fill(self, pointer: *mut c_void, value: u32, count: usize) -> Answer<E> {
        // SAFETY: as this function's contract.
        self.check_memory("hsa_amd_memory_fill", unsafe {
            (self.table.hsa_amd_memory_fill)(pointer, value, count)
        })
    }

    /// `hsa_memory_copy`, which returns when the memory is copied.
    ///
    /// # Safety
    /// `size` bytes at each place are inside one allocation, and the two ranges do not overlap.
    pub unsafe fn copy(self, dst: *mut c_void, src: *const c_void, size: usize) -> Answer<E> {
        // SAFETY: as this function's contract.
        self.check_memory("hsa_memory_copy", unsafe { (self.table.hsa_memory_copy)(dst, src, size) })
    }

    /// `hsa_amd_memory_async_copy`.
    ///
    /// # Safety
    /// Both places are valid for `size` bytes for the agents, and stay so until `done` signals the end of the
    /// copy.
    pub unsafe fn async_copy(
        self,
        (dst, dst_agent): (*mut c_void, hsa_agent_t),
        (src, src_agent): (*const c_void, hsa_agent_t),
        size: usize,
        after: &[hsa_signal_t],
        done: hsa_signal_t,
    ) -> Answer<E> {
        let list = if after.is_empty() { std::ptr::null() } else { after.as_ptr() };
        // SAFETY: as this function's contract; the list is read during the call.
        let status = unsafe {
            (self.table.hsa_amd_memory_async_copy)(
                dst,
                dst_agent,
                src,
                src_agent,
                size,
                after.len() as u32,
                list,
                done,
            )
        };
        self.check_memory("hsa_amd_memory_async_copy", status)
    }

    /// Reserves addresses, near the requested one if there is room.
    pub fn reserve_addresses(self, size: usize, address: usize, alignment: usize) -> Answer<E, usize> {
        let mut start = std::ptr::null_mut();
        // SAFETY: the out pointer is valid.
        let status = unsafe {
            if self.table.has("hsa_amd_vmem_address_reserve_align") {
                (self.table.hsa_amd_vmem_address_reserve_align)(
                    &mut start,
                    size,
                    address as u64,
                    alignment as u64,
                    0,
                )
            } else {
                (self.table.hsa_amd_vmem_address_reserve)(&mut start, size, address as u64, 0)
            }
        };
        self.check_vmem("hsa_amd_vmem_address_reserve", status)?;
        if alignment != 0 && !(start as usize).is_multiple_of(alignment) {
            // SAFETY: the range was just reserved.
            unsafe { self.free_addresses(start as usize, size)? };
            let status = hsa_status_t::HSA_STATUS_ERROR_INVALID_ARGUMENT;
            return Err(self.refuse("hsa_amd_vmem_address_reserve", Kind::Virtual, false, status));
        }
        Ok(start as usize)
    }

    /// `hsa_amd_vmem_address_free`.
    ///
    /// # Safety
    /// The range was reserved and nothing is mapped in it.
    pub unsafe fn free_addresses(self, start: usize, size: usize) -> Answer<E> {
        // SAFETY: as this function's contract.
        self.check_vmem("hsa_amd_vmem_address_free", unsafe {
            (self.table.hsa_amd_vmem_address_free)(start as *mut c_void, size)
        })
    }

    /// `hsa_amd_vmem_handle_create`: pinned memory.
    pub fn create_physical(self, pool: hsa_amd_memory_pool_t, size: usize) -> Answer<E, PhysicalMemory> {
        let mut handle = PhysicalMemory::default();
        let pinned = hsa_amd_memory_type_t::MEMORY_TYPE_PINNED;
        // SAFETY: the out pointer is valid.
        let status = unsafe { (self.table.hsa_amd_vmem_handle_create)(pool, size, pinned, 0, &mut handle) };
        self.check_vmem("hsa_amd_vmem_handle_create", status).map(|()| handle)
    }

    /// `hsa_amd_vmem_handle_release`.
    ///
    /// # Safety
    /// The caller owns the memory and no longer uses it.
    pub unsafe fn release_physical(self, handle: PhysicalMemory) -> Answer<E> {
        // SAFETY: as this function's contract.
        self.check_vmem("hsa_amd_vmem_handle_release", unsafe {
            (self.table.hsa_amd_vmem_handle_release)(handle)
        })
    }

    /// `hsa_amd_vmem_map`.
    ///
    /// # Safety
    /// The addresses are reserved, nothing is mapped there, and the memory lives until it is unmapped.
    pub unsafe fn map_physical(self, start: usize, size: usize, handle: PhysicalMemory) -> Answer<E> {
        // SAFETY: as this function's contract.
        self.check_vmem("hsa_amd_vmem_map", unsafe {
            (self.table.hsa_amd_vmem_map)(start as *mut c_void, size, 0, handle, 0)
        })
    }

    /// `hsa_amd_vmem_unmap`.
    ///
    /// # Safety
    /// The range is a whole mapping that nothing uses any more.
    pub unsafe fn unmap_physical(self, start: usize, size: usize) -> Answer<E> {
        // SAFETY: as this function's contract.
        self.check_vmem("hsa_amd_vmem_unmap", unsafe {
            (self.table.hsa_amd_vmem_unmap)(start as *mut c_void, size)
        })
    }

    /// `hsa_amd_vmem_set_access` of one mapping.
    pub fn set_physical_access(
        self,
        start: usize,
        size: usize,
        list: &[hsa_amd_memory_access_desc_t],
    ) -> Answer<E> {
        // SAFETY: the list is valid for the call; HSA refuses ranges that are not a mapping.
        let status = unsafe {
            (self.table.hsa_amd_vmem_set_access)(start as *mut c_void, size, list.as_ptr(), list.len())
        };
        self.check_vmem("hsa_amd_vmem_set_access", status)
    }

    /// `hsa_amd_vmem_export_shareable_handle`: a file descriptor that belongs to the caller.
    pub fn export_physical(self, handle: PhysicalMemory) -> Answer<E, i32> {
        let mut descriptor = -1;
        // SAFETY: the out pointer is valid; HSA refuses invalid handles.
        let status = unsafe { (self.table.hsa_amd_vmem_export_shareable_handle)(&mut descriptor, handle, 0) };
        self.check_vmem("hsa_amd_vmem_export_shareable_handle", status).map(|()| descriptor)
    }

    /// `hsa_amd_vmem_import_shareable_handle`.
    pub fn import_physical(self, descriptor: i32) -> Answer<E, PhysicalMemory> {
        let mut handle = PhysicalMemory::default();
        // SAFETY: the out pointer is valid; HSA refuses files that are not memory.
        let status = unsafe { (self.table.hsa_amd_vmem_import_shareable_handle)(descriptor, &mut handle) };
        self.check_vmem("hsa_amd_vmem_import_shareable_handle", status).map(|()| handle)
    }

    /// The pool of physical memory.
    pub fn physical_pool(self, handle: PhysicalMemory) -> Answer<E, hsa_amd_memory_pool_t> {
        let mut pool = hsa_amd_memory_pool_t { handle: 0 };
        let mut kind = hsa_amd_memory_type_t::MEMORY_TYPE_NONE;
        // SAFETY: the out pointers are valid; HSA refuses invalid handles.
        let status = unsafe {
            (self.table.hsa_amd_vmem_get_alloc_properties_from_handle)(handle, &mut pool, &mut kind)
        };
        self.check_vmem("hsa_amd_vmem_get_alloc_properties_from_handle", status).map(|()| pool)
    }

    fn check_vmem(self, operation: &'static str, status: hsa_status_t) -> Answer<E> {
        self.check(operation, Kind::Virtual, self.table.has("hsa_amd_vmem_handle_create"), status)
    }

    /// Whether virtual memory management works.
    pub fn has_virtual_memory(self) -> bool {
        let mut supported = false;
        // SAFETY: the attribute's type is bool.
        let status = unsafe {
            (self.table.hsa_system_get_info)(
                hsa_system_info_t::HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED,
                (&raw mut supported).cast(),
            )
        };
        status == hsa_status_t::HSA_STATUS_SUCCESS
            && supported
            && self.table.has("hsa_amd_vmem_handle_create")
    }

    /// Makes a signal for this runtime's own use. Kernels cannot change it, if the implementation can prevent
    /// that.
    pub fn signal_create(self, value: i64) -> Answer<E, hsa_signal_t> {
        let Some(create) = self.table.ext.signal_create_guarded else {
            return self.signal_create_open(value);
        };
        let mut signal = hsa_signal_t { handle: 0 };
        // SAFETY: the out pointer is valid.
        self.check_other("signal_create_guarded", unsafe { create(value, &mut signal) })?;
        Ok(signal)
    }

    /// `hsa_signal_create` for every agent: kernels can change the signal, too.
    pub fn signal_create_open(self, value: i64) -> Answer<E, hsa_signal_t> {
        let mut signal = hsa_signal_t { handle: 0 };
        // SAFETY: no consumers are listed, the out pointer is valid.
        self.check_other("hsa_signal_create", unsafe {
            (self.table.hsa_signal_create)(value, 0, std::ptr::null(), &mut signal)
        })?;
        Ok(signal)
    }

    /// `hsa_signal_destroy`.
    ///
    /// # Safety
    /// Nothing uses the signal any more.
    pub unsafe fn signal_destroy(self, signal: hsa_signal_t) {
        // SAFETY: as this function's contract.
        if unsafe { (self.table.hsa_signal_destroy)(signal) } != hsa_status_t::HSA_STATUS_SUCCESS {
            tracing::warn!("a signal could not be destroyed");
        }
    }

    /// The value of a live signal.
    #[inline]
    pub fn signal_load(self, signal: hsa_signal_t) -> i64 {
        // SAFETY: the signal belongs to this runtime, whose signals live as long as their owners.
        unsafe { (self.table.hsa_signal_load_scacquire)(signal) }
    }

    /// Sets a live signal and wakes its waiters.
    #[inline]
    pub fn signal_store(self, signal: hsa_signal_t, value: i64) {
        // SAFETY: the signal belongs to this runtime, whose signals live as long as their owners.
        unsafe { (self.table.hsa_signal_store_screlease)(signal, value) }
    }

    /// Waits until the live signal is less than `value` or about `ticks` of the system clock have passed.
    /// Returns the value seen last.
    pub fn signal_wait_less(self, signal: hsa_signal_t, value: i64, ticks: u64, spin: bool) -> i64 {
        let state = if spin {
            hsa_wait_state_t::HSA_WAIT_STATE_ACTIVE
        } else {
            hsa_wait_state_t::HSA_WAIT_STATE_BLOCKED
        };
        // SAFETY: the signal belongs to this runtime, whose signals live as long as their owners.
        unsafe {
            (self.table.hsa_signal_wait_scacquire)(
                signal,
                hsa_signal_condition_t::HSA_SIGNAL_CONDITION_LT,
                value,
                ticks,
                state,
            )
        }
    }

    /// Waits until the live signal differs from `value` or about `ticks` of the system clock have passed.
    /// Returns the value at that time.
    pub fn signal_wait_change(self, signal: hsa_signal_t, value: i64, ticks: u64) -> i64 {
        // SAFETY: the signal belongs to this runtime, whose signals live as long as their owners.
        unsafe {
            (self.table.hsa_signal_wait_scacquire)(
                signal,
                hsa_signal_condition_t::HSA_SIGNAL_CONDITION_NE,
                value,
                ticks,
                hsa_wait_state_t::HSA_WAIT_STATE_BLOCKED,
            )
        }
    }

    /// `hsa_amd_signal_async_handler`: calls `work` once, on a thread of the implementation, when the live
    /// signal is less than `value`, at once if it already is.
    ///
    /// # Errors
    /// The implementation has no such handlers, or no memory for another one. `work` is dropped.
    pub fn when_less(
        self,
        signal: hsa_signal_t,
        value: i64,
        work: Box<dyn FnOnce() + Send + 'static>,
    ) -> Answer<E> {
        unsafe extern "C" fn run(_value: i64, data: *mut c_void) -> bool {
            // SAFETY: `data` is the box that `when_less` passed, and a handler that answers `false` is called
            // once.
            let work = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
            // No panic crosses C.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            false
        }
        const OPERATION: &str = "hsa_amd_signal_async_handler";
        let data: *mut Box<dyn FnOnce() + Send> = Box::into_raw(Box::new(work));
        let condition = hsa_signal_condition_t::HSA_SIGNAL_CONDITION_LT;
        // SAFETY: the signal is live, and the handler gets the data that it expects.
        let status = unsafe {
            (self.table.hsa_amd_signal_async_handler)(signal, condition, value, Some(run), data.cast())
        };
        self.check(OPERATION, Kind::Other, self.table.has(OPERATION), status).inspect_err(|_| {
            // SAFETY: no handler was registered, so nothing else has the box.
            drop(unsafe { Box::from_raw(data) });
        })
    }

    /// Prevents kernels from writing a queue of this runtime, if the implementation can.
    pub fn guard(self, queue: *const hsa_queue_t) {
        let Some(guard) = self.table.ext.queue_guard else { return };
        // SAFETY: the implementation accepts any queue of its own.
        let status = unsafe { guard(queue) };
        if status != hsa_status_t::HSA_STATUS_SUCCESS {
            tracing::warn!(?status, "kernels can write a queue's packets");
        }
    }

    /// The unwritten packet that a queue waits for after completing all before it, if the implementation
    /// reports one.
    pub fn missing_packet(self, queue: *const hsa_queue_t) -> Option<u64> {
        // SAFETY: the implementation accepts any queue of its own.
        let missing = unsafe { (self.table.ext.queue_missing_packet?)(queue) };
        (missing != u64::MAX).then_some(missing)
    }

    /// Whether a byte may belong to the program's own memory, which is neither freed nor only reserved.
    pub fn host_can_access(self, address: usize) -> bool {
        // SAFETY: the implementation does not access the memory.
        self.table.ext.host_can_access.is_none_or(|ask| unsafe { ask(address as *const c_void, 1) })
    }

    /// Reports that the host has written device memory directly, for implementations that detect reads of
    /// uninitialised memory.
    pub fn host_wrote(self, address: usize, size: usize) {
        if let Some(tell) = self.table.ext.host_wrote {
            // SAFETY: the implementation does not access the memory.
            unsafe { tell(address as *const c_void, size) }
        }
    }

    /// Start and end of the packet that completed the signal, in system clock ticks.
    pub fn packet_time(self, agent: hsa_agent_t, signal: hsa_signal_t) -> Option<(u64, u64)> {
        let mut time = hsa_amd_profiling_dispatch_time_t { start: 0, end: 0 };
        // SAFETY: the signal lives; the out pointer is valid.
        let status = unsafe { (self.table.hsa_amd_profiling_get_dispatch_time)(agent, signal, &mut time) };
        (status == hsa_status_t::HSA_STATUS_SUCCESS && time.end != 0).then_some((time.start, time.end))
    }

    /// `hsa_queue_inactivate`: on return, running packets have been aborted, and the queue begins no more.
    pub fn inactivate(self, queue: *mut hsa_queue_t) {
        // SAFETY: the implementation accepts any queue of its own.
        let status = unsafe { (self.table.hsa_queue_inactivate)(queue) };
        if status != hsa_status_t::HSA_STATUS_SUCCESS {
            // HSA only refuses invalid queues, which run nothing.
            tracing::error!(?status, "a queue could not be made inactive");
        }
    }

    /// The text of the fault that ended a queue, if the implementation offers it.
    pub fn fault_report(self, queue: *const hsa_queue_t) -> Option<String> {
        // SAFETY: the implementation accepts any queue of its own.
        unsafe { text_of(self.table.ext.queue_fault_report?, queue) }
    }

    /// The same fault as JSON.
    pub fn fault_json(self, queue: *const hsa_queue_t) -> Option<String> {
        // SAFETY: as above.
        unsafe { text_of(self.table.ext.queue_fault_json?, queue) }
    }

    /// Switches the counters of a queue's kernels on or off.
    pub fn set_counters(self, queue: *const hsa_queue_t, on: bool) -> Answer<E> {
        let Some(set) = self.table.ext.queue_set_counters else {
            let status = hsa_status_t::HSA_STATUS_ERROR;
            return Err(self.refuse("queue_set_counters", Kind::Other, false, status));
        };
        // SAFETY: as above.
        self.check_other("queue_set_counters", unsafe { set(queue, on) })
    }

    /// Writes the counters of the queue's kernels since the last call to a buffer, as a JSON array. Returns
    /// the full length of the text.
    ///
    /// # Safety
    /// The buffer is null or has `size` bytes.
    pub unsafe fn take_counters(self, queue: *const hsa_queue_t, buffer: *mut c_char, size: usize) -> usize {
        // SAFETY: the caller vouches for the buffer, and as above.
        self.table.ext.queue_take_counters.map_or(0, |take| unsafe { take(queue, buffer, size) })
    }
}

/// A text about a queue; `None` if it is empty.
///
/// # Safety
/// The function copies a text about the queue to a buffer of the given size, truncated, and returns the full
/// length.
unsafe fn text_of(
    read: unsafe extern "C" fn(*const hsa_queue_t, *mut c_char, usize) -> usize,
    queue: *const hsa_queue_t,
) -> Option<String> {
    let mut buffer = vec![0u8; 4096];
    loop {
        // SAFETY: the buffer is valid for its length, and the caller vouches for the function.
        let length = unsafe { read(queue, buffer.as_mut_ptr().cast::<c_char>(), buffer.len()) };
        if length == 0 {
            return None;
        }
        if length < buffer.len() {
            buffer.truncate(length);
            return Some(String::from_utf8_lossy(&buffer).into_owned());
        }
        if length >= LONGEST_TEXT {
            // No text is that long: use what the buffer got.
            let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
            buffer.truncate(end);
            return Some(String::from_utf8_lossy(&buffer).into_owned());
        }
        buffer = vec![0u8; length + 1];
    }
}

/// More bytes than any text about a queue needs.
const LONGEST_TEXT: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Claims that the text is as long as the queue's address, and fills the buffer.
    unsafe extern "C" fn of_length(queue: *const hsa_queue_t, buffer: *mut c_char, size: usize) -> usize {
        let length = (queue as usize).min(size - 1);
        // SAFETY: the buffer has `size` bytes.
        unsafe {
            buffer.cast::<u8>().write_bytes(b'x', length);
            buffer.add(length).write(0);
        }
        queue as usize
    }

    /// Claims each time that the text is twice as long as the buffer.
    unsafe extern "C" fn growing(_: *const hsa_queue_t, _: *mut c_char, size: usize) -> usize {
        size.saturating_mul(2)
    }

    #[test]
    fn texts_of_absurd_lengths_are_cut() {
        for (length, read) in [(1, 1), (4095, 4095), (4096, 4096), (70_000, 70_000), (usize::MAX, 4095)] {
            // SAFETY: the function meets the contract, except for the length that it returns.
            let text = unsafe { text_of(of_length, length as *const hsa_queue_t) };
            assert_eq!(text.map(|text| text.len()), Some(read), "{length}");
        }
        // SAFETY: as above; the function writes nothing.
        assert_eq!(unsafe { text_of(of_length, std::ptr::null()) }, None);
        // SAFETY: as above.
        assert_eq!(unsafe { text_of(growing, std::ptr::null()) }.as_deref(), Some(""));
    }
}
