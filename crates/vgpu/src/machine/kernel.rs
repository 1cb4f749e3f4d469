//! What dispatches need to know of a kernel, found out once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use code_object::KernelDescriptor;
use code_object::occupancy::Occupancy;

use super::initial::Initial;
use super::{LoadedCode, Target};
use crate::exec::{Form, Place};

/// A kernel of loaded code.
#[derive(Debug)]
pub(super) struct Kernel {
    /// Its name, as in the code object.
    pub(super) name: Box<str>,
    pub(super) descriptor: KernelDescriptor,
    /// Address of its first instruction, or what is wrong with the descriptor.
    pub(super) start: Result<u64, String>,
    /// The most work-items of a workgroup that it was compiled for; 0 if that is unknown.
    pub(super) max_flat_workgroup_size: u32,
    /// The workgroup that it was compiled for, if it is the only one.
    pub(super) required_workgroup_size: Option<[u32; 3]>,
    /// What its waves start with.
    pub(super) initial: Initial,
    /// Its first instruction in plain code, once it has run.
    entry: OnceLock<Place>,
    /// The work-items and LDS of a workgroup when it first ran, and what that allows.
    first_shape: OnceLock<(u32, u32, Occupancy)>,
}

impl Kernel {
    /// Reads a descriptor. Returns none if there is none at the address.
    fn new(code: &LoadedCode, kernel_object: u64) -> Option<Kernel> {
        let offset = kernel_object.checked_sub(code.base())?;
        let size = KernelDescriptor::SIZE as u64;
        let inside = code.object().segments().iter().any(|segment| segment.contains(offset, size));
        if !inside || !kernel_object.is_multiple_of(64) {
            return None;
        }
        let name = code.kernel_name(kernel_object)?.into();
        // SAFETY: the bytes lie in a mapped segment of `code`, and are aligned for an array of bytes.
        let bytes = unsafe { std::ptr::read_volatile(kernel_object as *const [u8; KernelDescriptor::SIZE]) };
        let descriptor = KernelDescriptor::from_bytes(&bytes);
        let metadata = code.object().kernels().iter().find(|kernel| kernel.descriptor_vaddr == offset);
        Some(Kernel {
            name,
            start: start(code, kernel_object, &descriptor),
            max_flat_workgroup_size: metadata.map_or(0, |metadata| metadata.max_flat_workgroup_size),
            required_workgroup_size: metadata.and_then(|metadata| metadata.required_workgroup_size),
            initial: Initial::new(code.target(), &descriptor),
            descriptor,
            entry: OnceLock::new(),
            first_shape: OnceLock::new(),
        })
    }

    /// What the device can hold of workgroups of so many work-items with `lds` bytes of LDS.
    pub(super) fn occupancy(&self, target: &Target, items: u32, lds: u32) -> Occupancy {
        let compute = || {
            let resources = target.resources(&self.descriptor, items, lds);
            (items, lds, Occupancy::new(&target.limits.unit, resources))
        };
        // Most kernels have one shape.
        let first = self.first_shape.get_or_init(compute);
        if (first.0, first.1) == (items, lds) { first.2 } else { compute().2 }
    }

    /// The first instruction in plain code, at the address `start`, of the code that the kernel is in.
    pub(super) fn entry(&self, code: &LoadedCode, start: u64) -> &Place {
        let form = Form::new(self.descriptor.wavefront_size() as u8, false);
        self.entry.get_or_init(|| code.program().place(start, form))
    }
}

/// The address of a kernel's first instruction, or what is wrong with its descriptor.
fn start(code: &LoadedCode, kernel_object: u64, descriptor: &KernelDescriptor) -> Result<u64, String> {
    let target = code.target();
    if target.generation().is_cdna() && descriptor.enable_wavefront_size32() {
        return Err(format!("{} does not support waves of 32 lanes", target.name));
    }
    let start = kernel_object.wrapping_add_signed(descriptor.kernel_code_entry_byte_offset);
    if code.text_at(start).is_none() || !start.is_multiple_of(4) {
        return Err(format!("bad entry point at offset {:#x}", start.wrapping_sub(code.base())));
    }
    // For hardware without argument preloading, the code starts with 256 bytes that load the arguments. This
    // hardware preloads them and skips these bytes.
    let preloads = target.generation().is_cdna() && descriptor.kernarg_preload_spec_length() != 0;
    Ok(if preloads { start + 256 } else { start })
}

/// The kernels of a code object that have been dispatched, by the address of their descriptor.
#[derive(Default, Debug)]
pub(super) struct Kernels(RwLock<BTreeMap<u64, Arc<Kernel>>>);

impl Kernels {
    /// The kernel whose descriptor is at an address in `code`.
    pub(super) fn find(&self, code: &LoadedCode, kernel_object: u64) -> Option<Arc<Kernel>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = known.get(&kernel_object) {
            return Some(Arc::clone(kernel));
        }
        drop(known);
        let kernel = Arc::new(Kernel::new(code, kernel_object)?);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(known.entry(kernel_object).or_insert(kernel)))
    }
}
