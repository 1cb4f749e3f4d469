//! Properties of an agent.

use code_object::TargetId;
use hsa_sys::*;

use crate::error::Hsa;

/// Properties of an agent.
#[derive(Debug, Clone)]
pub(crate) struct Info {
    /// Marketing name, else the processor's.
    pub(crate) name: String,
    /// Target id, for example `gfx90a:sramecc+:xnack-`.
    pub(crate) arch: String,
    pub(crate) target: TargetId,
    /// The parts of the processor's name: `gfx1100` is 11, 0, 0.
    pub(crate) gfx: [u32; 3],
    pub(crate) uuid: [u8; 16],
    pub(crate) pci: Pci,
    pub(crate) chip_id: u32,
    pub(crate) asic_revision: u32,
    pub(crate) wave_size: u32,
    pub(crate) compute_units: u32,
    pub(crate) simds_per_cu: u32,
    pub(crate) waves_per_cu: u32,
    pub(crate) xccs: u32,
    pub(crate) clock_mhz: u32,
    pub(crate) memory_clock_mhz: u32,
    pub(crate) memory_width_bits: u32,
    pub(crate) l2_bytes: u32,
    pub(crate) wall_clock_hz: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) max_allocation: u64,
    pub(crate) lds_bytes: u32,
    pub(crate) max_block: u32,
    pub(crate) max_block_dim: [u32; 3],
    pub(crate) copy_engines: u32,
    pub(crate) images: ImageLimits,
    pub(crate) is_apu: bool,
    pub(crate) hdp_mem_flush: HdpFlush,
    pub(crate) hdp_reg_flush: HdpFlush,
}

/// A device's location on the PCI bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pci {
    pub(crate) domain: u32,
    pub(crate) bus: u32,
    pub(crate) device: u32,
    pub(crate) function: u32,
}

/// The largest images of a device, in elements; zeros if it has none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ImageLimits {
    /// Over a buffer.
    pub(crate) linear: u32,
    pub(crate) width_1d: u32,
    pub(crate) size_2d: [u32; 2],
    pub(crate) size_3d: [u32; 3],
    pub(crate) width_1d_layered: u32,
    pub(crate) size_2d_layered: [u32; 2],
    pub(crate) layers: u32,
}

impl ImageLimits {
    fn ask(hsa: Hsa, agent: hsa_agent_t) -> Self {
        type A = hsa_agent_info_t;
        // AMD's runtime writes words of 32 bits, although the header says `size_t`.
        let ask = |attribute: A| -> [u32; 6] {
            // SAFETY: the room is that for the largest of these attributes, three numbers of the header's
            // size.
            unsafe { hsa.agent_info(agent, attribute.0, [0u32; 6]) }.unwrap_or_default()
        };
        let [width_1d, ..] = ask(A::HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS);
        let [width_2d, height_2d, ..] = ask(A::HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS);
        let [width_3d, height_3d, depth_3d, ..] = ask(A::HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS);
        let [width_1d_layered, ..] = ask(A::HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS);
        let [width_layered, height_layered, ..] = ask(A::HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS);
        let [linear, ..] = ask(A::HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS);
        let [layers, ..] = ask(A::HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS);
        Self {
            linear,
            width_1d,
            size_2d: [width_2d, height_2d],
            size_3d: [width_3d, height_3d, depth_3d],
            width_1d_layered,
            size_2d_layered: [width_layered, height_layered],
            layers,
        }
    }

    /// Whether the device has images.
    pub(crate) fn exist(&self) -> bool {
        self.linear != 0
    }

    /// The maximum size in bytes of a texture over linear memory: elements have up to 16.
    pub(crate) fn linear_bytes(&self) -> usize {
        (self.linear as usize).saturating_mul(16).min(i32::MAX as usize)
    }
}

impl Info {
    pub(crate) fn ask(
        hsa: Hsa,
        agent: hsa_agent_t,
        pool: hsa_amd_memory_pool_t,
        pools: &[hsa_amd_memory_pool_t],
    ) -> std::result::Result<Self, &'static str> {
        type A = hsa_agent_info_t;
        type X = hsa_amd_agent_info_t;
        type P = hsa_amd_memory_pool_info_t;
        let isa = hsa.isa_name(agent).ok_or("it has no instruction set name")?;
        let target: TargetId = isa.parse().map_err(|_| "its instruction set name is no target id")?;
        // SAFETY: the types are the headers' for these attributes; texts have at least the lengths stated
        // there.
        unsafe {
            let word = |attribute: u32| hsa.agent_info(agent, attribute, 0u32);
            let some = |attribute: u32| word(attribute).unwrap_or(0);
            let text = |attribute: u32| hsa.agent_text(agent, attribute);
            let bdf = some(X::HSA_AMD_AGENT_INFO_BDFID.0);
            let mut uuid = [0u8; 16];
            if let Some(id) = hsa.uuid(agent) {
                let id = id.as_bytes();
                let length = id.len().min(uuid.len());
                uuid[..length].copy_from_slice(&id[..length]);
            }
            let hdp = hsa.agent_info(
                agent,
                X::HSA_AMD_AGENT_INFO_HDP_FLUSH.0,
                hsa_amd_hdp_flush_t {
                    HDP_MEM_FLUSH_CNTL: std::ptr::null_mut(),
                    HDP_REG_FLUSH_CNTL: std::ptr::null_mut(),
                },
            );
            let lds = pools
                .iter()
                .find(|&&pool| {
                    hsa.pool_info(pool, P::HSA_AMD_MEMORY_POOL_INFO_SEGMENT, hsa_amd_segment_t(u32::MAX))
                        == Some(hsa_amd_segment_t::HSA_AMD_SEGMENT_GROUP)
                })
                .and_then(|&pool| hsa.pool_info(pool, P::HSA_AMD_MEMORY_POOL_INFO_SIZE, 0usize));
            let memory_bytes =
                hsa.pool_info(pool, P::HSA_AMD_MEMORY_POOL_INFO_SIZE, 0usize).unwrap_or(0) as u64;
            let max_allocation = hsa.pool_info(pool, P::HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE, 0usize);
            let dims =
                hsa.agent_info(agent, A::HSA_AGENT_INFO_WORKGROUP_MAX_DIM.0, [0u16; 3]).unwrap_or([1024; 3]);
            let caches = hsa.agent_info(agent, A::HSA_AGENT_INFO_CACHE_SIZE.0, [0u32; 4]).unwrap_or([0; 4]);
            let properties =
                hsa.agent_info(agent, X::HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES.0, [0u8; 8]).unwrap_or([0; 8]);
            let extensions =
                hsa.agent_info(agent, A::HSA_AGENT_INFO_EXTENSIONS.0, [0u8; 128]).unwrap_or([0; 128]);
            let has_images = extensions[0] & 1 << hsa_extension_t::HSA_EXTENSION_IMAGES.0 != 0;
            let apu = hsa_amd_agent_memory_properties_t::HSA_AMD_MEMORY_PROPERTY_AGENT_IS_APU.0;
            Ok(Self {
                name: text(X::HSA_AMD_AGENT_INFO_PRODUCT_NAME.0).unwrap_or_else(|| target.processor.clone()),
                arch: target.to_string(),
                gfx: gfx_version(&target.processor),
                target,
                uuid,
                pci: Pci {
                    domain: some(X::HSA_AMD_AGENT_INFO_DOMAIN.0),
                    bus: bdf >> 8 & 0xff,
                    device: bdf >> 3 & 0x1f,
                    function: bdf & 7,
                },
                chip_id: some(X::HSA_AMD_AGENT_INFO_CHIP_ID.0),
                asic_revision: some(X::HSA_AMD_AGENT_INFO_ASIC_REVISION.0),
                wave_size: word(A::HSA_AGENT_INFO_WAVEFRONT_SIZE.0).filter(|&size| size != 0).unwrap_or(64),
                compute_units: some(X::HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT.0).max(1),
                simds_per_cu: some(X::HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU.0).max(1),
                waves_per_cu: some(X::HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU.0).max(1),
                xccs: some(X::HSA_AMD_AGENT_INFO_NUM_XCC.0).max(1),
                clock_mhz: some(X::HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY.0),
                memory_clock_mhz: some(X::HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY.0),
                memory_width_bits: some(X::HSA_AMD_AGENT_INFO_MEMORY_WIDTH.0),
                l2_bytes: caches[1],
                wall_clock_hz: hsa
                    .agent_info(agent, X::HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY.0, 0u64)
                    .unwrap_or(100_000_000),
                memory_bytes,
                max_allocation: max_allocation.map_or(memory_bytes, |size| size as u64),
                lds_bytes: lds.and_then(|size| u32::try_from(size).ok()).unwrap_or(64 << 10),
                max_block: word(A::HSA_AGENT_INFO_WORKGROUP_MAX_SIZE.0)
                    .filter(|&size| size != 0)
                    .unwrap_or(1024),
                max_block_dim: dims.map(u32::from),
                copy_engines: some(X::HSA_AMD_AGENT_INFO_NUM_SDMA_ENG.0),
                images: if has_images { ImageLimits::ask(hsa, agent) } else { ImageLimits::default() },
                is_apu: properties[(apu / 8) as usize % 8] & 1 << (apu % 8) != 0,
                hdp_mem_flush: HdpFlush(hdp.map_or(std::ptr::null_mut(), |hdp| hdp.HDP_MEM_FLUSH_CNTL)),
                hdp_reg_flush: HdpFlush(hdp.map_or(std::ptr::null_mut(), |hdp| hdp.HDP_REG_FLUSH_CNTL)),
            })
        }
    }
}

/// Host words that flush the device's host-data path after direct writes; see [`HdpFlush::flush`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct HdpFlush(pub(crate) *mut u32);

// SAFETY: the address is a device register that the kernel driver maps for the whole life of the process.
unsafe impl Send for HdpFlush {}
// SAFETY: as above; it is only ever written with an atomic-width volatile store.
unsafe impl Sync for HdpFlush {}

impl HdpFlush {
    /// Makes direct writes of the host to device memory visible to the device. Does nothing if there is no
    /// such path.
    pub(crate) fn flush(self) {
        if !self.0.is_null() {
            // SAFETY: HSA gave the address as that of the flush register.
            unsafe {
                self.0.write_volatile(1);
                self.0.read_volatile();
            }
        }
    }
}

/// Major, minor and stepping of a processor's name; zeros if it has no such parts.
fn gfx_version(processor: &str) -> [u32; 3] {
    code_object::gfx_version(processor).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_names_have_three_parts() {
        assert_eq!(gfx_version("gfx1100"), [11, 0, 0]);
        assert_eq!(gfx_version("gfx90a"), [9, 0, 10]);
        assert_eq!(gfx_version("gfx1036"), [10, 3, 6]);
        assert_eq!(gfx_version("gfx942"), [9, 4, 2]);
        assert_eq!(gfx_version("gfx"), [0; 3]);
        assert_eq!(gfx_version("gfxé"), [0; 3]);
    }
}
