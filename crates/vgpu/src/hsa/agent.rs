//! Agents and their instruction sets.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use hsa_sys::*;

use super::{S, call, image, machine, read_text, system, write, write_text};
use crate::identity;
use crate::machine::{Device, TARGETS, Target, now_ns};

/// Handles of agents: the host first, then the devices.
const FIRST_AGENT: u64 = 0xA6E0_0000;
/// Handles of instruction sets, one per target.
const FIRST_ISA: u64 = 0x15A0_0000;
/// The maximum number of packets of a queue.
pub(super) const QUEUE_MAX_SIZE: u32 = 1 << 17;
/// The minimum number of packets of a queue.
pub(super) const QUEUE_MIN_SIZE: u32 = 64;

/// An agent.
#[derive(Clone, Debug)]
pub(super) enum Agent {
    /// The host.
    Host,
    /// A virtual GPU.
    Gpu(Arc<Device>),
}

impl Agent {
    pub(super) fn from_handle(handle: hsa_agent_t) -> Result<Agent, S> {
        let invalid = S::HSA_STATUS_ERROR_INVALID_AGENT;
        match handle.handle.checked_sub(FIRST_AGENT).ok_or(invalid)? {
            0 => Ok(Agent::Host),
            number => machine()
                .device(usize::try_from(number - 1).map_err(|_| invalid)?)
                .map(Agent::Gpu)
                .ok_or(invalid),
        }
    }

    pub(super) fn host_handle() -> hsa_agent_t {
        hsa_agent_t { handle: FIRST_AGENT }
    }

    pub(super) fn device_handle(index: usize) -> hsa_agent_t {
        hsa_agent_t { handle: FIRST_AGENT + 1 + index as u64 }
    }

    pub(super) fn handle(&self) -> hsa_agent_t {
        match self {
            Agent::Host => Agent::host_handle(),
            Agent::Gpu(device) => Agent::device_handle(device.index()),
        }
    }

    /// The device of an agent, which must be a GPU.
    pub(super) fn gpu(self) -> Result<Arc<Device>, S> {
        match self {
            Agent::Gpu(device) => Ok(device),
            Agent::Host => Err(S::HSA_STATUS_ERROR_INVALID_AGENT),
        }
    }
}

unsafe extern "C" fn iterate_agents(
    callback: Option<unsafe extern "C" fn(hsa_agent_t, *mut c_void) -> S>,
    data: *mut c_void,
) -> S {
    call(|| {
        let callback = callback.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let devices = machine().devices().len();
        let agents = std::iter::once(Agent::host_handle()).chain((0..devices).map(Agent::device_handle));
        for agent in agents {
            // SAFETY: the caller's callback takes any agent and the caller's data.
            match unsafe { callback(agent, data) } {
                S::HSA_STATUS_SUCCESS => {}
                status => return Err(status),
            }
        }
        Ok(())
    })
}

/// The number of the host's processors.
fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// `GPU-` and 16 hexadecimal digits that identify the device and stay the same from run to run.
fn uuid(device: &Device) -> String {
    let target = device.target_id().to_string();
    format!("GPU-{:016x}", identity::unique(&target, device.memory_size(), device.index()))
}

unsafe extern "C" fn get_info(agent: hsa_agent_t, attribute: hsa_agent_info_t, value: *mut c_void) -> S {
    call(|| {
        let agent = Agent::from_handle(agent)?;
        if value.is_null() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller's pointer is valid for a write of the attribute's type.
        unsafe {
            match &agent {
                Agent::Gpu(device) => gpu_info(device, attribute, value),
                Agent::Host => host_info(attribute, value),
            }
        }
    })
}

/// # Safety
/// `value` is valid for a write of the attribute's type.
unsafe fn host_info(attribute: hsa_agent_info_t, value: *mut c_void) -> Result<(), S> {
    use hsa_agent_info_t as I;
    use hsa_amd_agent_info_t as A;
    // SAFETY: this function's contract; the types are those in the headers.
    unsafe {
        match attribute {
            I::HSA_AGENT_INFO_NAME => write_text::<64>(value, "CPU"),
            I::HSA_AGENT_INFO_VENDOR_NAME => write_text::<64>(value, "CPU"),
            I::HSA_AGENT_INFO_FEATURE => write(value.cast(), 0u32),
            I::HSA_AGENT_INFO_MACHINE_MODEL => {
                write(value.cast(), hsa_machine_model_t::HSA_MACHINE_MODEL_LARGE)
            }
            I::HSA_AGENT_INFO_PROFILE => write(value.cast(), hsa_profile_t::HSA_PROFILE_FULL),
            I::HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE => {
                write(value.cast(), hsa_default_float_rounding_mode_t::HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR)
            }
            I::HSA_AGENT_INFO_QUEUE_TYPE => write(value.cast(), hsa_queue_type_t::HSA_QUEUE_TYPE_MULTI),
            I::HSA_AGENT_INFO_DEVICE => write(value.cast(), hsa_device_type_t::HSA_DEVICE_TYPE_CPU),
            I::HSA_AGENT_INFO_WORKGROUP_MAX_DIM => write(value.cast(), [0u16; 3]),
            I::HSA_AGENT_INFO_GRID_MAX_DIM => write(value.cast(), [0u32; 3]),
            I::HSA_AGENT_INFO_CACHE_SIZE => write(value.cast(), [32 << 10, 0u32, 0, 0]),
            I::HSA_AGENT_INFO_EXTENSIONS => write(value.cast(), [0u8; 128]),
            I::HSA_AGENT_INFO_VERSION_MAJOR | I::HSA_AGENT_INFO_VERSION_MINOR => write(value.cast(), 1u16),
            I::HSA_AGENT_INFO_FAST_F16_OPERATION => write(value.cast(), false),
            I::HSA_AGENT_INFO_WAVEFRONT_SIZE
            | I::HSA_AGENT_INFO_WORKGROUP_MAX_SIZE
            | I::HSA_AGENT_INFO_GRID_MAX_SIZE
            | I::HSA_AGENT_INFO_FBARRIER_MAX_SIZE
            | I::HSA_AGENT_INFO_QUEUES_MAX
            | I::HSA_AGENT_INFO_QUEUE_MIN_SIZE
            | I::HSA_AGENT_INFO_QUEUE_MAX_SIZE
            | I::HSA_AGENT_INFO_NODE => write(value.cast(), 0u32),
            other => match A(other.0) {
                A::HSA_AMD_AGENT_INFO_PRODUCT_NAME => write_text::<64>(value, "Host processor"),
                A::HSA_AMD_AGENT_INFO_UUID => write_text::<21>(value, "CPU-XX"),
                A::HSA_AMD_AGENT_INFO_CACHELINE_SIZE => write(value.cast(), 64u32),
                A::HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT
                | A::HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT => write(value.cast(), processors()),
                A::HSA_AMD_AGENT_INFO_NEAREST_CPU => write(value.cast(), Agent::host_handle()),
                A::HSA_AMD_AGENT_INFO_MEMORY_AVAIL => write(value.cast(), super::pool::host_memory()),
                A::HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY => write(value.cast(), 1_000_000_000u64),
                A::HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES | A::HSA_AMD_AGENT_INFO_AQL_EXTENSIONS => {
                    write(value.cast(), [0u8; 8])
                }
                A::HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS => write(value.cast(), true),
                A::HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES => write(value.cast(), false),
                A::HSA_AMD_AGENT_INFO_IOMMU_SUPPORT => {
                    write(value.cast(), hsa_amd_iommu_version_t::HSA_IOMMU_SUPPORT_NONE)
                }
                A::HSA_AMD_AGENT_INFO_HDP_FLUSH => write(value.cast(), [0u64; 2]),
                A::HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX | A::HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT => {
                    write(value.cast(), 0u64)
                }
                A::HSA_AMD_AGENT_INFO_CHIP_ID
                | A::HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY
                | A::HSA_AMD_AGENT_INFO_DRIVER_NODE_ID
                | A::HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS
                | A::HSA_AMD_AGENT_INFO_BDFID
                | A::HSA_AMD_AGENT_INFO_MEMORY_WIDTH
                | A::HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY
                | A::HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU
                | A::HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU
                | A::HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES
                | A::HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE
                | A::HSA_AMD_AGENT_INFO_DOMAIN
                | A::HSA_AMD_AGENT_INFO_ASIC_REVISION
                | A::HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID
                | A::HSA_AMD_AGENT_INFO_UCODE_VERSION
                | A::HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION
                | A::HSA_AMD_AGENT_INFO_NUM_SDMA_ENG
                | A::HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG
                | A::HSA_AMD_AGENT_INFO_NUM_XCC
                | A::HSA_AMD_AGENT_INFO_DRIVER_UID => write(value.cast(), 0u32),
                _ => Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT),
            },
        }
    }
}

/// # Safety
/// `value` is valid for a write of the attribute's type.
unsafe fn gpu_info(device: &Device, attribute: hsa_agent_info_t, value: *mut c_void) -> Result<(), S> {
    use hsa_agent_info_t as I;
    use hsa_amd_agent_info_t as A;
    let target = device.target();
    let group = target.limits.max_workgroup_size;
    // SAFETY: as this function's contract; the types are those the headers give.
    unsafe {
        match attribute {
            I::HSA_AGENT_INFO_NAME => write_text::<64>(value, target.name),
            I::HSA_AGENT_INFO_VENDOR_NAME => write_text::<64>(value, "AMD"),
            I::HSA_AGENT_INFO_FEATURE => {
                write(value.cast(), hsa_agent_feature_t::HSA_AGENT_FEATURE_KERNEL_DISPATCH)
            }
            I::HSA_AGENT_INFO_MACHINE_MODEL => {
                write(value.cast(), hsa_machine_model_t::HSA_MACHINE_MODEL_LARGE)
            }
            I::HSA_AGENT_INFO_PROFILE => write(value.cast(), hsa_profile_t::HSA_PROFILE_BASE),
            I::HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE
            | I::HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
                write(value.cast(), hsa_default_float_rounding_mode_t::HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR)
            }
            I::HSA_AGENT_INFO_FAST_F16_OPERATION => write(value.cast(), true),
            I::HSA_AGENT_INFO_WAVEFRONT_SIZE => write(value.cast(), target.limits.wave_size),
            I::HSA_AGENT_INFO_WORKGROUP_MAX_DIM => write(value.cast(), [group as u16; 3]),
            I::HSA_AGENT_INFO_WORKGROUP_MAX_SIZE => write(value.cast(), group),
            I::HSA_AGENT_INFO_GRID_MAX_DIM => write(value.cast(), [u32::MAX; 3]),
            I::HSA_AGENT_INFO_GRID_MAX_SIZE => write(value.cast(), u32::MAX),
            I::HSA_AGENT_INFO_FBARRIER_MAX_SIZE => write(value.cast(), 32u32),
            I::HSA_AGENT_INFO_QUEUES_MAX => write(value.cast(), 128u32),
            I::HSA_AGENT_INFO_QUEUE_MIN_SIZE => write(value.cast(), QUEUE_MIN_SIZE),
            I::HSA_AGENT_INFO_QUEUE_MAX_SIZE => write(value.cast(), QUEUE_MAX_SIZE),
            I::HSA_AGENT_INFO_QUEUE_TYPE => write(value.cast(), hsa_queue_type_t::HSA_QUEUE_TYPE_MULTI),
            I::HSA_AGENT_INFO_NODE => write(value.cast(), device.index() as u32 + 1),
            I::HSA_AGENT_INFO_DEVICE => write(value.cast(), hsa_device_type_t::HSA_DEVICE_TYPE_GPU),
            I::HSA_AGENT_INFO_CACHE_SIZE => write(value.cast(), [16u32 << 10, 4 << 20, 0, 0]),
            I::HSA_AGENT_INFO_ISA => write(value.cast(), isa_handle(target)),
            I::HSA_AGENT_INFO_EXTENSIONS => {
                let images = image::tells_of_images(device).then_some(hsa_extension_t::HSA_EXTENSION_IMAGES);
                write(value.cast(), system::extension_mask(images))
            }
            I::HSA_AGENT_INFO_VERSION_MAJOR | I::HSA_AGENT_INFO_VERSION_MINOR => write(value.cast(), 1u16),
            other => match A(other.0) {
                A::HSA_AMD_AGENT_INFO_CHIP_ID => write(value.cast(), target.processor.pci_id),
                A::HSA_AMD_AGENT_INFO_CACHELINE_SIZE => write(value.cast(), 128u32),
                A::HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT
                | A::HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT => {
                    write(value.cast(), device.compute_units())
                }
                A::HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY => write(value.cast(), target.processor.clock_mhz),
                A::HSA_AMD_AGENT_INFO_DRIVER_NODE_ID => write(value.cast(), device.index() as u32 + 1),
                A::HSA_AMD_AGENT_INFO_BDFID => write(value.cast(), identity::location(device.index())),
                A::HSA_AMD_AGENT_INFO_MEMORY_WIDTH => write(value.cast(), 64u32),
                A::HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY => write(value.cast(), 1000u32),
                A::HSA_AMD_AGENT_INFO_PRODUCT_NAME => write_text::<64>(value, &target.product),
                A::HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU => write(value.cast(), target.limits.unit.waves()),
                A::HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU => write(value.cast(), target.limits.unit.simds),
                A::HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES
                | A::HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE
                | A::HSA_AMD_AGENT_INFO_NUM_XCC
                | A::HSA_AMD_AGENT_INFO_UCODE_VERSION
                | A::HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION => write(value.cast(), 1u32),
                A::HSA_AMD_AGENT_INFO_NUM_SDMA_ENG => write(value.cast(), 2u32),
                A::HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS
                | A::HSA_AMD_AGENT_INFO_DOMAIN
                | A::HSA_AMD_AGENT_INFO_ASIC_REVISION
                | A::HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID
                | A::HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG => write(value.cast(), 0u32),
                A::HSA_AMD_AGENT_INFO_DRIVER_UID => write(value.cast(), device.index() as u32),
                A::HSA_AMD_AGENT_INFO_HDP_FLUSH => write(value.cast(), [0u64; 2]),
                A::HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES => write(value.cast(), true),
                A::HSA_AMD_AGENT_INFO_UUID => write_text::<21>(value, &uuid(device)),
                A::HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS => write(value.cast(), true),
                A::HSA_AMD_AGENT_INFO_MEMORY_AVAIL => {
                    write(value.cast(), device.memory().available(device.index()))
                }
                A::HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY => write(value.cast(), 100_000_000u64),
                A::HSA_AMD_AGENT_INFO_IOMMU_SUPPORT => {
                    write(value.cast(), hsa_amd_iommu_version_t::HSA_IOMMU_SUPPORT_NONE)
                }
                A::HSA_AMD_AGENT_INFO_NEAREST_CPU => write(value.cast(), Agent::host_handle()),
                A::HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES | A::HSA_AMD_AGENT_INFO_AQL_EXTENSIONS => {
                    write(value.cast(), [0u8; 8])
                }
                A::HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX | A::HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT => {
                    write(value.cast(), 4u64 << 30)
                }
                A::HSA_AMD_AGENT_INFO_CLOCK_COUNTERS => {
                    let now = now_ns();
                    write(
                        value.cast(),
                        hsa_amd_clock_counters_t {
                            gpu_clock_counter: now / 10,
                            cpu_clock_counter: now,
                            system_clock_counter: now,
                            system_clock_frequency: 1_000_000_000,
                        },
                    )
                }
                _ => {
                    image::info(device, attribute, value).unwrap_or(Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT))
                }
            },
        }
    }
}

fn isa_handle(target: &Target) -> hsa_isa_t {
    let index = TARGETS.iter().position(|row| row.name == target.name).unwrap_or(0);
    hsa_isa_t { handle: FIRST_ISA + index as u64 }
}

fn isa(handle: hsa_isa_t) -> Result<&'static Target, S> {
    let index = handle.handle.checked_sub(FIRST_ISA).and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| TARGETS.get(index)).ok_or(S::HSA_STATUS_ERROR_INVALID_ISA)
}

fn isa_name(target: &Target) -> String {
    format!("amdgcn-amd-amdhsa--{}", target.target_id)
}

unsafe extern "C" fn iterate_isas(
    agent: hsa_agent_t,
    callback: Option<unsafe extern "C" fn(hsa_isa_t, *mut c_void) -> S>,
    data: *mut c_void,
) -> S {
    call(|| {
        let agent = Agent::from_handle(agent)?;
        let callback = callback.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let Agent::Gpu(device) = agent else { return Ok(()) };
        // SAFETY: the caller's callback takes any instruction set and the caller's data.
        match unsafe { callback(isa_handle(device.target()), data) } {
            S::HSA_STATUS_SUCCESS => Ok(()),
            status => Err(status),
        }
    })
}

unsafe extern "C" fn isa_info(handle: hsa_isa_t, attribute: hsa_isa_info_t, value: *mut c_void) -> S {
    use hsa_isa_info_t as I;
    call(|| {
        let target = isa(handle)?;
        let name = isa_name(target);
        let group = target.limits.max_workgroup_size;
        if value.is_null() {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller's pointer is valid for a write of the attribute's type.
        unsafe {
            match attribute {
                I::HSA_ISA_INFO_NAME_LENGTH => write(value.cast(), name.len() as u32 + 1),
                I::HSA_ISA_INFO_NAME => {
                    std::ptr::copy_nonoverlapping(name.as_ptr(), value.cast(), name.len());
                    write(value.cast::<u8>().add(name.len()), 0)
                }
                I::HSA_ISA_INFO_MACHINE_MODELS => write(value.cast(), [false, true]),
                I::HSA_ISA_INFO_PROFILES => write(value.cast(), [true, false]),
                I::HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES
                | I::HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
                    write(value.cast(), [false, false, true])
                }
                I::HSA_ISA_INFO_FAST_F16_OPERATION => write(value.cast(), true),
                I::HSA_ISA_INFO_WORKGROUP_MAX_DIM => write(value.cast(), [group as u16; 3]),
                I::HSA_ISA_INFO_WORKGROUP_MAX_SIZE => write(value.cast(), group),
                I::HSA_ISA_INFO_GRID_MAX_DIM => write(value.cast(), [u32::MAX; 3]),
                I::HSA_ISA_INFO_GRID_MAX_SIZE => write(value.cast(), u64::from(u32::MAX)),
                I::HSA_ISA_INFO_FBARRIER_MAX_SIZE => write(value.cast(), 32u32),
                I::HSA_ISA_INFO_CALL_CONVENTION_COUNT => write(value.cast(), 1u32),
                I::HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE => {
                    write(value.cast(), target.limits.wave_size)
                }
                I::HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT => {
                    write(value.cast(), target.limits.unit.waves())
                }
                _ => Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    })
}

unsafe extern "C" fn isa_info_indexed(
    handle: hsa_isa_t,
    attribute: hsa_isa_info_t,
    index: u32,
    value: *mut c_void,
) -> S {
    if index != 0 {
        return S::HSA_STATUS_ERROR_INVALID_INDEX;
    }
    // SAFETY: as this function's contract.
    unsafe { isa_info(handle, attribute, value) }
}

unsafe extern "C" fn isa_from_name(name: *const c_char, handle: *mut hsa_isa_t) -> S {
    call(|| {
        // SAFETY: the caller's string is null or NUL-terminated.
        let name = unsafe { read_text(name) }?;
        let target = TARGETS.iter().find(|target| isa_name(target) == name);
        let target = target.ok_or(S::HSA_STATUS_ERROR_INVALID_ISA_NAME)?;
        // SAFETY: the caller's pointer is null or valid for a write.
        unsafe { write(handle, isa_handle(target)) }
    })
}

unsafe extern "C" fn isa_compatible(code: hsa_isa_t, device: hsa_isa_t, result: *mut bool) -> S {
    call(|| {
        let compatible = isa(code)?.name == isa(device)?.name;
        // SAFETY: the caller's pointer is null or valid for a write.
        unsafe { write(result, compatible) }
    })
}

unsafe extern "C" fn iterate_wavefronts(
    handle: hsa_isa_t,
    callback: Option<unsafe extern "C" fn(hsa_wavefront_t, *mut c_void) -> S>,
    data: *mut c_void,
) -> S {
    call(|| {
        let target = isa(handle)?;
        let callback = callback.ok_or(S::HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let wavefront = hsa_wavefront_t { handle: u64::from(target.limits.wave_size) };
        // SAFETY: the caller's callback takes any wavefront and the caller's data.
        match unsafe { callback(wavefront, data) } {
            S::HSA_STATUS_SUCCESS => Ok(()),
            status => Err(status),
        }
    })
}

unsafe extern "C" fn wavefront_info(
    wavefront: hsa_wavefront_t,
    attribute: hsa_wavefront_info_t,
    value: *mut c_void,
) -> S {
    call(|| {
        if !matches!(wavefront.handle, 32 | 64) {
            return Err(S::HSA_STATUS_ERROR_INVALID_WAVEFRONT);
        }
        if attribute != hsa_wavefront_info_t::HSA_WAVEFRONT_INFO_SIZE {
            return Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller's pointer is null or valid for a write.
        unsafe { write(value.cast(), wavefront.handle as u32) }
    })
}

unsafe extern "C" fn extension_supported(
    _extension: u16,
    agent: hsa_agent_t,
    _major: u16,
    _minor: u16,
    result: *mut bool,
) -> S {
    call(|| {
        Agent::from_handle(agent)?;
        // SAFETY: the caller's pointer is null or valid for a write.
        unsafe { write(result, false) }
    })
}

unsafe extern "C" fn set_async_scratch_limit(agent: hsa_agent_t, _threshold: usize) -> S {
    call(|| Agent::from_handle(agent)?.gpu().map(|_| ()))
}

unsafe extern "C" fn coherency_set_type(agent: hsa_agent_t, kind: hsa_amd_coherency_type_t) -> S {
    call(|| {
        Agent::from_handle(agent)?.gpu()?;
        if kind.0 > 1 { Err(S::HSA_STATUS_ERROR_INVALID_ARGUMENT) } else { Ok(()) }
    })
}

unsafe extern "C" fn convert_tick(agent: hsa_agent_t, tick: u64, system: *mut u64) -> S {
    call(|| {
        Agent::from_handle(agent)?.gpu()?;
        // The times in completion signals are system times already. SAFETY: the caller's pointer is null or
        // valid for a write.
        unsafe { write(system, tick) }
    })
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_iterate_agents(iterate_agents).hsa_agent_get_info(get_info);
    builder
        .hsa_agent_iterate_isas(iterate_isas)
        .hsa_isa_get_info_alt(isa_info)
        .hsa_isa_get_info(isa_info_indexed);
    builder.hsa_isa_from_name(isa_from_name).hsa_isa_compatible(isa_compatible);
    builder.hsa_isa_iterate_wavefronts(iterate_wavefronts).hsa_wavefront_get_info(wavefront_info);
    builder.hsa_agent_extension_supported(extension_supported);
    builder.hsa_amd_agent_set_async_scratch_limit(set_async_scratch_limit);
    builder.hsa_amd_coherency_set_type(coherency_set_type);
    builder.hsa_amd_profiling_convert_tick_to_system_domain(convert_tick);
}
