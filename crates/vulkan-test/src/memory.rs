//! Buffers whose memory is exported or belongs to the host.

use std::ffi::c_void;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use ash::vk;

use crate::{Error, Named, Result, Vulkan};

/// A buffer that shaders can access, with its own memory.
pub struct Buffer {
    vulkan: Arc<Vulkan>,
    pub(crate) raw: vk::Buffer,
    memory: vk::DeviceMemory,
    allocated: usize,
}

const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw(),
);

impl Buffer {
    /// A buffer of at least this many bytes, whose memory can be [exported](Self::export).
    ///
    /// # Errors
    /// Vulkan refuses.
    pub fn exportable(vulkan: &Arc<Vulkan>, bytes: usize) -> Result<Self> {
        let kind = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
        let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(kind);
        Self::of(vulkan, bytes, kind, |raw, requirements| {
            let device_local = vk::MemoryPropertyFlags::DEVICE_LOCAL;
            let index =
                vulkan.memory_type(requirements.memory_type_bits, device_local, "the device's own")?;
            // Some drivers require that exported memory is dedicated to one buffer, and all allow it.
            let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(raw);
            let allocate = vk::MemoryAllocateInfo::default()
                .allocation_size(requirements.size)
                .memory_type_index(index)
                .push_next(&mut export)
                .push_next(&mut dedicated);
            // SAFETY: the structures are valid.
            let memory = unsafe { vulkan.device.allocate_memory(&allocate, None) };
            Ok((memory.named("vkAllocateMemory")?, requirements.size as usize))
        })
    }

    /// A buffer in the program's memory.
    ///
    /// # Errors
    /// Vulkan refuses; [`Error::NoMemory`] if it cannot import host memory.
    ///
    /// # Safety
    /// The memory must hold this many bytes until the buffer is dropped; address and size must be multiples
    /// of [`Vulkan::host_alignment`]. The host and HIP must not access the memory while Vulkan's work uses
    /// it.
    pub unsafe fn on_host(vulkan: &Arc<Vulkan>, address: *mut c_void, bytes: usize) -> Result<Self> {
        let kind = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
        let on_host = vulkan.on_host.as_ref().ok_or(Error::NoMemory("the host's"))?;
        let mut properties = vk::MemoryHostPointerPropertiesEXT::default();
        // SAFETY: the caller's promise.
        let asked = unsafe {
            (on_host.functions.fp().get_memory_host_pointer_properties_ext)(
                vulkan.device.handle(),
                kind,
                address,
                &mut properties,
            )
        };
        asked.result().named("vkGetMemoryHostPointerPropertiesEXT")?;
        let mut import =
            vk::ImportMemoryHostPointerInfoEXT::default().handle_type(kind).host_pointer(address);
        Self::of(vulkan, bytes, kind, |_, requirements| {
            let among = requirements.memory_type_bits & properties.memory_type_bits;
            let index = vulkan.memory_type(among, vk::MemoryPropertyFlags::empty(), "the host's")?;
            let allocate = vk::MemoryAllocateInfo::default()
                .allocation_size(bytes as u64)
                .memory_type_index(index)
                .push_next(&mut import);
            // SAFETY: the structures are valid, and the memory is as the caller promises.
            let memory = unsafe { vulkan.device.allocate_memory(&allocate, None) };
            Ok((memory.named("vkAllocateMemory")?, bytes))
        })
    }

    fn of(
        vulkan: &Arc<Vulkan>,
        bytes: usize,
        kind: vk::ExternalMemoryHandleTypeFlags,
        allocate: impl FnOnce(vk::Buffer, vk::MemoryRequirements) -> Result<(vk::DeviceMemory, usize)>,
    ) -> Result<Self> {
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(kind);
        let create = vk::BufferCreateInfo::default().size(bytes as u64).usage(USAGE).push_next(&mut external);
        // SAFETY: the structs are valid. If something fails, the created objects are destroyed below.
        unsafe {
            let raw = vulkan.device.create_buffer(&create, None).named("vkCreateBuffer")?;
            let requirements = vulkan.device.get_buffer_memory_requirements(raw);
            let (memory, allocated) =
                allocate(raw, requirements).inspect_err(|_| vulkan.device.destroy_buffer(raw, None))?;
            let buffer = Self { vulkan: vulkan.clone(), raw, memory, allocated };
            vulkan.device.bind_buffer_memory(raw, memory, 0).named("vkBindBufferMemory")?;
            Ok(buffer)
        }
    }

    /// The size of its memory in bytes, which may be larger than requested.
    pub fn allocated(&self) -> usize {
        self.allocated
    }

    /// A file descriptor of the memory.
    ///
    /// # Errors
    /// Vulkan refuses.
    pub fn export(&self) -> Result<OwnedFd> {
        let get = vk::MemoryGetFdInfoKHR::default()
            .memory(self.memory)
            .handle_type(vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD);
        // SAFETY: the memory was allocated to be exported this way; the caller owns the descriptor.
        unsafe {
            let descriptor = self.vulkan.by_descriptor.get_memory_fd(&get).named("vkGetMemoryFdKHR")?;
            Ok(OwnedFd::from_raw_fd(descriptor))
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: jobs hold their buffers until their work has ended.
        unsafe {
            self.vulkan.device.destroy_buffer(self.raw, None);
            self.vulkan.device.free_memory(self.memory, None);
        }
    }
}
