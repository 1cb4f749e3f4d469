//! Asking an HSA implementation.

use hsa::{Agent, AgentKind, Runtime};
use hsa_sys::{hsa_agent_info_t, hsa_amd_agent_info_t};

use super::{Cpu, Gpu, Topology};
use crate::error::Result;

/// AMD's PCI vendor number, where an implementation reports none.
const AMD: u32 = 0x1002;

impl Topology {
    /// The processors and GPUs of an HSA implementation.
    ///
    /// # Errors
    /// The implementation's error.
    pub fn read(runtime: &Runtime) -> Result<Self> {
        let agents = runtime.agents()?;
        let of_kind = |kind| agents.iter().filter(move |agent| agent.kind() == kind);
        let cpus: Vec<&Agent> = of_kind(AgentKind::Cpu).collect();
        let gpus: Vec<&Agent> = of_kind(AgentKind::Gpu).collect();
        let mut found = Self::default();
        for cpu in &cpus {
            found.cpus.push(Cpu { agent: cpu.raw().handle, name: cpu.name()? });
        }
        for gpu in &gpus {
            let uuid = gpu.uuid().ok().filter(|uuid| uuid != "GPU-XX" && uuid.len() > 4);
            // SAFETY: the attributes' types are u32 and hsa_agent_t.
            let (chip, vendor, nearest) = unsafe {
                (
                    gpu.info(hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_CHIP_ID, 0u32).unwrap_or(0),
                    vendor(gpu),
                    gpu.info(hsa_amd_agent_info_t::HSA_AMD_AGENT_INFO_NEAREST_CPU, 0u64).ok(),
                )
            };
            let cpu = cpus.iter().position(|cpu| Some(cpu.raw().handle) == nearest).unwrap_or(0);
            found.gpus.push(Gpu {
                agent: gpu.raw().handle,
                target: gpu.target()?.to_string(),
                product: gpu.product_name()?,
                uuid,
                chip,
                vendor,
                cpu,
                hops: gpus.iter().map(|other| hops(gpu, other)).collect(),
            });
        }
        Ok(found)
    }
}

/// The vendor of a GPU, whose name HSA gives as text.
///
/// # Safety
/// The agent exists.
unsafe fn vendor(gpu: &Agent) -> u32 {
    // SAFETY: the attribute is text of 64 bytes.
    let name = unsafe { gpu.info(hsa_agent_info_t::HSA_AGENT_INFO_VENDOR_NAME, [0u8; 64]) };
    name.ok().filter(|name| !name.starts_with(b"AMD")).map_or(AMD, |_| 0)
}

/// The number of links from a GPU to the memory of another.
fn hops(gpu: &Agent, other: &Agent) -> Option<u32> {
    if gpu == other {
        return Some(0);
    }
    let pool = other.coarse_pool().ok()?;
    // SAFETY: the runtime is initialised as long as the agents exist; no signal or queue is used.
    let calls = unsafe { hsa::raw::Calls::<NoErrors>::new(gpu.runtime().table()) };
    calls
        .can_access(gpu.raw(), pool.raw())
        .then(|| u32::try_from(calls.links(gpu.raw(), pool.raw()).len()).unwrap_or(u32::MAX).max(1))
}

/// Failures that nobody looks at.
#[derive(Clone, Copy, Debug)]
struct NoErrors;

impl hsa::raw::Errors for NoErrors {
    type Error = ();

    fn error(_failure: hsa::raw::Failure) {}
}
