//! The virtual AMD GPU in this process, behind the HIP table.

use code_object::{Feature, TargetId};

use super::{Backend, Opened, device_count, speed};
use crate::error::Result;
use crate::uri::{DeviceUri, VirtualGpu};

/// Opens virtual GPUs with these parameters, and creates them if there are none.
pub(crate) fn open(gpu: &VirtualGpu) -> Result<Opened> {
    let backend = Backend::Virtual;
    speed::tell_if_slow(vgpu::OPT_LEVEL)?;
    let mut config = match &gpu.target {
        Some(target) => {
            vgpu::DeviceConfig::new(&target.to_string()).map_err(|error| backend.unavailable(error))?
        }
        None => vgpu::DeviceConfig::default(),
    };
    if let Some(compute_units) = gpu.compute_units {
        config.compute_units = compute_units;
    }
    if let Some(memory) = gpu.memory {
        config.memory = memory;
    }
    config.count = gpu.count.unwrap_or(1);
    (config.checks, config.counters) = (gpu.checks, gpu.counters);
    let config = config.without_features();
    let first = vgpu::attach(&config).map_err(|error| backend.unavailable(error))?;
    let table = hip_on_hsa::table(vgpu::hsa::table()).map_err(|error| backend.unavailable(error))?;
    let count = device_count(table).map_err(|error| backend.unavailable(error))?;
    let uri = DeviceUri::Virtual(VirtualGpu {
        target: Some(config.target.clone()),
        compute_units: Some(config.compute_units),
        memory: Some(config.memory),
        count: None,
        checks: config.checks,
        counters: config.counters,
    });
    let wanted = first..first + config.count as usize;
    let ordinals = wanted.filter_map(|index| i32::try_from(index).ok()).filter(|ordinal| *ordinal < count);
    let devices: Vec<_> = ordinals.map(|ordinal| (ordinal, uri.clone())).collect();
    if devices.len() != config.count as usize {
        return Err(backend
            .unavailable(format!("the runtime reports {count} devices, but not the ones just attached")));
    }
    Ok(Opened { backend, table, devices })
}

/// The targets of virtual GPUs, by their shortest names.
pub(crate) fn targets() -> Vec<TargetId> {
    let target = |target: &vgpu::machine::Target| TargetId {
        processor: target.name.to_owned(),
        sramecc: Feature::Any,
        xnack: Feature::Any,
    };
    vgpu::machine::TARGETS.iter().map(target).collect()
}
