//! Memory pools and their allocations.

use std::ffi::c_void;
use std::ptr::NonNull;

use hsa_sys::*;

use crate::error::{Named, Result, call, note};
use crate::raw::Calls;
use crate::{Agent, Error};

/// The address space of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Segment {
    /// Memory that host and kernels share.
    Global,
    /// LDS of a workgroup.
    Group,
    /// Another address space.
    Other,
}

bitflags::bitflags! {
    /// Properties of a pool in the global segment.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct PoolFlags: u32 {
        /// Memory for kernel arguments.
        const KERNARG = 1;
        /// Host and kernels see each other's writes at once.
        const FINE_GRAINED = 2;
        /// Writes become visible when a kernel or copy ends.
        const COARSE_GRAINED = 4;
        /// Fine-grained for all devices of the system.
        const EXTENDED_SCOPE_FINE_GRAINED = 8;
    }
}

/// A memory pool of an agent.
#[derive(Clone, Debug)]
pub struct MemoryPool {
    agent: Agent,
    raw: hsa_amd_memory_pool_t,
}

impl MemoryPool {
    pub(crate) fn new(agent: Agent, raw: hsa_amd_memory_pool_t) -> MemoryPool {
        MemoryPool { agent, raw }
    }

    /// The agent that it belongs to.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The C handle.
    pub fn raw(&self) -> hsa_amd_memory_pool_t {
        self.raw
    }

    fn calls(&self) -> Calls<Named> {
        self.agent.runtime().calls()
    }

    /// # Safety
    /// `T` is the type that the headers give the attribute.
    unsafe fn info<T: Copy>(&self, attribute: hsa_amd_memory_pool_info_t, zero: T) -> Result<T> {
        let mut value = zero;
        // SAFETY: the caller vouches for the type.
        unsafe {
            call!(
                self.agent.runtime().table(),
                hsa_amd_memory_pool_get_info(self.raw, attribute, (&raw mut value).cast())
            )
        }?;
        Ok(value)
    }

    /// The address space.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn segment(&self) -> Result<Segment> {
        let attribute = hsa_amd_memory_pool_info_t::HSA_AMD_MEMORY_POOL_INFO_SEGMENT;
        // SAFETY: the attribute's type is hsa_amd_segment_t.
        Ok(match unsafe { self.info(attribute, hsa_amd_segment_t(u32::MAX)) }? {
            hsa_amd_segment_t::HSA_AMD_SEGMENT_GLOBAL => Segment::Global,
            hsa_amd_segment_t::HSA_AMD_SEGMENT_GROUP => Segment::Group,
            _ => Segment::Other,
        })
    }

    /// The properties; empty for pools outside the global segment.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn flags(&self) -> Result<PoolFlags> {
        if self.segment()? != Segment::Global {
            return Ok(PoolFlags::empty());
        }
        // SAFETY: the attribute's type is u32.
        let bits =
            unsafe { self.info(hsa_amd_memory_pool_info_t::HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, 0u32) }?;
        Ok(PoolFlags::from_bits_retain(bits))
    }

    /// The size in bytes.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn size(&self) -> Result<usize> {
        // SAFETY: the attribute's type is size_t.
        unsafe { self.info(hsa_amd_memory_pool_info_t::HSA_AMD_MEMORY_POOL_INFO_SIZE, 0) }
    }

    /// Whether programs can allocate in it.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn allows_allocation(&self) -> Result<bool> {
        // SAFETY: the attribute's type is bool; a byte holds whatever the runtime writes.
        let byte = unsafe {
            self.info(hsa_amd_memory_pool_info_t::HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, 0u8)
        }?;
        Ok(byte != 0)
    }

    /// Allocates `size` bytes of unspecified contents (`hsa_amd_memory_pool_allocate`).
    ///
    /// # Errors
    /// The runtime's error: a size of zero, or too little memory.
    #[doc(alias = "hsa_amd_memory_pool_allocate")]
    pub fn allocate(&self, size: usize) -> Result<Allocation> {
        let pointer = self.calls().allocate(self.raw, size)?;
        match NonNull::new(pointer) {
            Some(pointer) => Ok(Allocation { pool: self.clone(), pointer, size }),
            None => Err(Error::Status {
                operation: "hsa_amd_memory_pool_allocate",
                status: hsa_status_t::HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                text: "success without memory".to_owned(),
            }),
        }
    }
}

/// Memory of a pool; freed on drop.
#[derive(Debug)]
pub struct Allocation {
    pool: MemoryPool,
    pointer: NonNull<c_void>,
    size: usize,
}

// SAFETY: an allocation is an address; C functions that any thread may call read and write through it.
unsafe impl Send for Allocation {}
// SAFETY: as above; shared use only reads the address, or has a C function read memory that others may write.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// The pool that it came from.
    pub fn pool(&self) -> &MemoryPool {
        &self.pool
    }

    /// Bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The address, for kernels. It is valid until the allocation is dropped.
    pub fn as_ptr(&self) -> *mut c_void {
        self.pointer.as_ptr()
    }

    pub(crate) fn range(&self, offset: usize, len: usize) -> Result<*mut c_void> {
        if offset > self.size || len > self.size - offset {
            return Err(Error::OutOfRange { what: "an allocation", offset, len, size: self.size });
        }
        Ok(self.pointer.as_ptr().wrapping_byte_add(offset))
    }

    /// Gives access to `agents` and the memory's own agent, and to no others (`hsa_amd_agents_allow_access`).
    ///
    /// # Errors
    /// The runtime's error.
    #[doc(alias = "hsa_amd_agents_allow_access")]
    pub fn allow_access(&self, agents: &[&Agent]) -> Result<()> {
        for agent in agents {
            self.pool.agent().runtime().is_same(agent.runtime())?;
        }
        let raw: Vec<hsa_agent_t> = agents.iter().map(|agent| agent.raw()).collect();
        self.pool.calls().allow_access(&raw, self.pointer.as_ptr())
    }

    /// Copies bytes into the memory; blocks until that is done (`hsa_memory_copy`).
    ///
    /// # Errors
    /// [`Error::OutOfRange`], or the runtime's error.
    #[doc(alias = "hsa_memory_copy")]
    pub fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        let to = self.range(offset, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the range is in this allocation, and the bytes are borrowed for the call.
        unsafe { self.pool.calls().copy(to, bytes.as_ptr().cast(), bytes.len()) }
    }

    /// Copies bytes out of the memory; blocks until that is done (`hsa_memory_copy`).
    ///
    /// # Errors
    /// [`Error::OutOfRange`], or the runtime's error.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let from = self.range(offset, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the range is in this allocation, and the bytes are borrowed exclusively for the call.
        unsafe { self.pool.calls().copy(bytes.as_mut_ptr().cast(), from, bytes.len()) }
    }

    /// Writes `value` to every aligned group of four bytes; blocks until that is done
    /// (`hsa_amd_memory_fill`).
    ///
    /// # Errors
    /// The runtime's error.
    #[doc(alias = "hsa_amd_memory_fill")]
    pub fn fill(&mut self, value: u32) -> Result<()> {
        let (pointer, count) = (self.pointer.as_ptr(), self.size / 4);
        // SAFETY: that many words are in this allocation, which is aligned to more than a word.
        unsafe { self.pool.calls().fill(pointer, value, count) }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: the memory came from a pool of this runtime and is freed once. Code that passed the address
        // to a kernel has promised that the kernel has ended.
        note(unsafe { self.pool.calls().free(self.pointer.as_ptr()) });
    }
}
