//! Agents: the processors and GPUs of the system.

use code_object::TargetId;
use hsa_sys::*;

use crate::error::{Result, call};
use crate::runtime::collect;
use crate::{Error, MemoryPool, PoolFlags, Runtime, Segment};

/// The kind of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AgentKind {
    /// A processor of the host.
    Cpu,
    /// A GPU.
    Gpu,
    /// Something else.
    Other,
}

/// A processor or a GPU.
#[derive(Clone, Debug)]
pub struct Agent {
    runtime: Runtime,
    raw: hsa_agent_t,
    kind: AgentKind,
}

impl PartialEq for Agent {
    fn eq(&self, other: &Agent) -> bool {
        self.raw == other.raw && self.runtime.is_same(&other.runtime).is_ok()
    }
}

impl Eq for Agent {}

impl Agent {
    pub(crate) fn new(runtime: Runtime, raw: hsa_agent_t) -> Result<Agent> {
        let mut agent = Agent { runtime, raw, kind: AgentKind::Other };
        // SAFETY: the attribute's type is hsa_device_type_t.
        let kind =
            unsafe { agent.info(hsa_agent_info_t::HSA_AGENT_INFO_DEVICE, hsa_device_type_t(u32::MAX)) }?;
        agent.kind = match kind {
            hsa_device_type_t::HSA_DEVICE_TYPE_CPU => AgentKind::Cpu,
            hsa_device_type_t::HSA_DEVICE_TYPE_GPU => AgentKind::Gpu,
            _ => AgentKind::Other,
        };
        Ok(agent)
    }

    /// The runtime that it belongs to.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The C handle.
    pub fn raw(&self) -> hsa_agent_t {
        self.raw
    }

    /// The kind of agent.
    pub fn kind(&self) -> AgentKind {
        self.kind
    }

    /// An attribute that has no method of its own here (`hsa_agent_get_info`).
    ///
    /// # Errors
    /// The runtime's error, for example that the agent does not know the attribute.
    ///
    /// # Safety
    /// `T` must be the type that the headers give the attribute.
    #[doc(alias = "hsa_agent_get_info")]
    pub unsafe fn info<T: Copy>(&self, attribute: impl Into<hsa_agent_info_t>, zero: T) -> Result<T> {
        let mut value = zero;
        // SAFETY: the caller vouches for the type.
        unsafe {
            call!(
                self.runtime.table(),
                hsa_agent_get_info(self.raw, attribute.into(), (&raw mut value).cast())
            )
        }?;
        Ok(value)
    }

    /// # Safety
    /// The attribute is text in a field of `N` bytes.
    unsafe fn text<const N: usize>(&self, attribute: impl Into<hsa_agent_info_t>) -> Result<String> {
        // SAFETY: the caller vouches for the type.
        let bytes = unsafe { self.info(attribute, [0u8; N]) }?;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(N);
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// The name; for a GPU, its processor (`gfx1100`).
    ///
    /// # Errors
    /// The runtime's error.
    pub fn name(&self) -> Result<String> {
        // SAFETY: the attribute is text of 64 bytes.
        unsafe { self.text::<64>(hsa_agent_info_t::HSA_AGENT_INFO_NAME) }
    }

    /// The product name.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn product_name(&self) -> Result<String> {
        // SAFETY: the attribute is text of 64 bytes.
        unsafe { self.text::<64>(hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_PRODUCT_NAME) }
    }

    /// The UUID: `GPU-` and 16 hexadecimal digits, or `GPU-XX` if the device has none.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn uuid(&self) -> Result<String> {
        // SAFETY: the attribute is text of 21 bytes.
        unsafe { self.text::<21>(hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_UUID) }
    }

    /// The number of work-items in a wave.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn wavefront_size(&self) -> Result<u32> {
        // SAFETY: the attribute's type is u32.
        unsafe { self.info(hsa_agent_info_t::HSA_AGENT_INFO_WAVEFRONT_SIZE, 0) }
    }

    /// The number of compute units.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn compute_units(&self) -> Result<u32> {
        // SAFETY: the attribute's type is u32.
        unsafe { self.info(hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, 0) }
    }

    /// The largest number of work-items in a workgroup.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn workgroup_max_size(&self) -> Result<u32> {
        // SAFETY: the attribute's type is u32.
        unsafe { self.info(hsa_agent_info_t::HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, 0) }
    }

    /// The largest number of work-items in a workgroup, per dimension.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn workgroup_max_dim(&self) -> Result<[u16; 3]> {
        // SAFETY: the attribute's type is uint16_t[3].
        unsafe { self.info(hsa_agent_info_t::HSA_AGENT_INFO_WORKGROUP_MAX_DIM, [0; 3]) }
    }

    /// The largest number of packets in a queue.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn queue_max_size(&self) -> Result<u32> {
        // SAFETY: the attribute's type is u32.
        unsafe { self.info(hsa_agent_info_t::HSA_AGENT_INFO_QUEUE_MAX_SIZE, 0) }
    }

    /// The highest clock in MHz.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn max_clock_mhz(&self) -> Result<u32> {
        // SAFETY: the attribute's type is u32.
        unsafe { self.info(hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY, 0) }
    }

    /// The PCI domain, and bus, device and function as one number.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn pci_location(&self) -> Result<(u32, u32)> {
        // SAFETY: the attributes' types are u32.
        unsafe {
            Ok((
                self.info(hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_DOMAIN, 0)?,
                self.info(hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_BDFID, 0)?,
            ))
        }
    }

    /// Free memory of the agent, in bytes.
    ///
    /// # Errors
    /// The runtime's error.
    pub fn memory_available(&self) -> Result<u64> {
        // SAFETY: the attribute's type is u64.
        unsafe { self.info(hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_MEMORY_AVAIL, 0) }
    }

    /// The names of the instruction sets that it executes, the best first:
    /// `amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-`.
    ///
    /// # Errors
    /// The runtime's error.
    #[doc(alias = "hsa_agent_iterate_isas")]
    pub fn isa_names(&self) -> Result<Vec<String>> {
        let table = self.runtime.table();
        let mut list: Vec<hsa_isa_t> = Vec::new();
        // SAFETY: the callback runs only during the call, and gets the list that it expects.
        unsafe { call!(table, hsa_agent_iterate_isas(self.raw, Some(collect), (&raw mut list).cast())) }?;
        list.into_iter()
            .map(|isa| {
                let mut length = 0u32;
                let attribute = hsa_isa_info_t::HSA_ISA_INFO_NAME_LENGTH;
                // SAFETY: the attribute's type is u32.
                unsafe { call!(table, hsa_isa_get_info_alt(isa, attribute, (&raw mut length).cast())) }?;
                let mut name = vec![0u8; length as usize + 1];
                let attribute = hsa_isa_info_t::HSA_ISA_INFO_NAME;
                // SAFETY: the name has the length that was just returned, and there is room for one byte
                // more.
                unsafe { call!(table, hsa_isa_get_info_alt(isa, attribute, name.as_mut_ptr().cast())) }?;
                let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
                Ok(String::from_utf8_lossy(&name[..end]).into_owned())
            })
            .collect()
    }

    /// The target id of a GPU, including features.
    ///
    /// # Errors
    /// The runtime's error, or [`Error::BadIsa`] for an agent that is not a GPU.
    pub fn target(&self) -> Result<TargetId> {
        let name = self.isa_names()?.into_iter().next().unwrap_or_default();
        name.parse().map_err(|_| Error::BadIsa(name))
    }

    /// All memory pools (`hsa_amd_agent_iterate_memory_pools`).
    ///
    /// # Errors
    /// The runtime's error.
    #[doc(alias = "hsa_amd_agent_iterate_memory_pools")]
    pub fn memory_pools(&self) -> Result<Vec<MemoryPool>> {
        let list = self.runtime.calls().pools(self.raw)?;
        Ok(list.into_iter().map(|raw| MemoryPool::new(self.clone(), raw)).collect())
    }

    fn pool(&self, what: &'static str, flags: PoolFlags) -> Result<MemoryPool> {
        for pool in self.memory_pools()? {
            if pool.segment()? == Segment::Global
                && pool.allows_allocation()?
                && pool.flags()?.contains(flags)
            {
                return Ok(pool);
            }
        }
        Err(Error::NoPool { agent: self.name()?, pool: what })
    }

    /// The pool of memory that kernels access fastest.
    ///
    /// # Errors
    /// [`Error::NoPool`] if there is none.
    pub fn coarse_pool(&self) -> Result<MemoryPool> {
        self.pool("coarse-grained", PoolFlags::COARSE_GRAINED)
    }

    /// The pool of memory in which host and kernels see each other's writes at once.
    ///
    /// # Errors
    /// [`Error::NoPool`] if there is none.
    pub fn fine_pool(&self) -> Result<MemoryPool> {
        self.pool("fine-grained", PoolFlags::FINE_GRAINED)
    }

    /// The pool of memory for kernel arguments; CPU agents have one.
    ///
    /// # Errors
    /// [`Error::NoPool`] if there is none.
    pub fn kernarg_pool(&self) -> Result<MemoryPool> {
        self.pool("kernel argument", PoolFlags::KERNARG)
    }
}
