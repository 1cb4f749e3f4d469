//! The parts of Vulkan that tests of memory shared with HIP need: a device, buffers that are exported or in
//! host memory, timelines, and two programs, one with a compute shader and one that draws.
//!
//! The loader is opened when a test runs. [`Vulkan::open`] fails if there is no loader or no suitable device.

mod draw;
mod job;
mod memory;
mod shaders;
mod spirv;

use std::ffi::CStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::{ext, khr, vk};

pub use draw::Drawing;
pub use job::{Compute, Timeline};
pub use memory::Buffer;

/// Why Vulkan cannot be used, or what failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no Vulkan loader.
    #[error("there is no Vulkan loader: {0}")]
    NoLoader(#[from] ash::LoadingError),
    /// No driver has a requested device.
    #[error("Vulkan has no {wanted}; available devices: {found:?}")]
    NoDevice {
        /// The requested device.
        wanted: String,
        /// The available devices.
        found: Vec<String>,
    },
    /// A call failed.
    #[error("{operation} failed: {result:?}")]
    Call {
        /// Its function.
        operation: &'static str,
        /// Its result.
        result: vk::Result,
    },
    /// No memory type has the requested properties.
    #[error("the device has no memory that is {0}")]
    NoMemory(&'static str),
}

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Adds the name of the failed function to an error.
trait Named<T> {
    fn named(self, operation: &'static str) -> Result<T>;
}

impl<T> Named<T> for Result<T, vk::Result> {
    fn named(self, operation: &'static str) -> Result<T> {
        self.map_err(|result| Error::Call { operation, result })
    }
}

/// The Vulkan device that a test wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One that computes on the CPU, as lavapipe does.
    Cpu,
    /// The GPU at an address of the PCI bus: domain, bus, device.
    Pci(u32, u32, u32),
}

/// An open device with one queue for everything.
pub struct Vulkan {
    device: ash::Device,
    queue: Mutex<vk::Queue>,
    family: u32,
    memory: vk::PhysicalDeviceMemoryProperties,
    by_descriptor: khr::external_memory_fd::Device,
    on_host: Option<OnHost>,
    name: String,
    instance: ash::Instance,
    // The library is dropped last.
    _entry: ash::Entry,
}

/// The functions that import host memory, and the required alignment of its addresses and sizes.
struct OnHost {
    functions: ext::external_memory_host::Device,
    alignment: usize,
}

impl Vulkan {
    /// Opens the loader and a device.
    ///
    /// # Errors
    /// [`Error::NoLoader`], [`Error::NoDevice`], or another error of Vulkan.
    pub fn open(choice: Choice) -> Result<Arc<Self>> {
        // SAFETY: the library is the system's Vulkan loader, whose initialisers may run.
        let entry = unsafe { ash::Entry::load()? };
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
        let create = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: the struct is valid; the instance is destroyed with the object made here.
        let instance = unsafe { entry.create_instance(&create, None) };
        // This is the result of a loader without drivers.
        let instance = instance.map_err(|result| match result {
            vk::Result::ERROR_INCOMPATIBLE_DRIVER => {
                Error::NoDevice { wanted: "driver".to_owned(), found: Vec::new() }
            }
            result => Error::Call { operation: "vkCreateInstance", result },
        })?;
        let opened = open_device(&instance, choice);
        match opened {
            Ok((found, device)) => {
                // SAFETY: the device has a queue of this family, and the structs match the requested version.
                let (queue, memory) = unsafe {
                    let queue = device.get_device_queue(found.family, 0);
                    (queue, instance.get_physical_device_memory_properties(found.physical))
                };
                let by_descriptor = khr::external_memory_fd::Device::new(&instance, &device);
                let on_host = found.host_alignment.map(|alignment| OnHost {
                    functions: ext::external_memory_host::Device::new(&instance, &device),
                    alignment,
                });
                Ok(Arc::new(Self {
                    device,
                    queue: Mutex::new(queue),
                    family: found.family,
                    memory,
                    by_descriptor,
                    on_host,
                    name: found.name,
                    instance,
                    _entry: entry,
                }))
            }
            Err(error) => {
                // SAFETY: nothing was created from the instance.
                unsafe { instance.destroy_instance(None) };
                Err(error)
            }
        }
    }

    /// The device's name, and its driver's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The required alignment of the address and size of imported host memory; none if it cannot be imported.
    pub fn host_alignment(&self) -> Option<usize> {
        self.on_host.as_ref().map(|on_host| on_host.alignment)
    }

    fn queue(&self) -> MutexGuard<'_, vk::Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first of some memory types that has all properties.
    fn memory_type(
        &self,
        among: u32,
        properties: vk::MemoryPropertyFlags,
        what: &'static str,
    ) -> Result<u32> {
        let types = self.memory.memory_types_as_slice();
        let fits =
            |index: &usize| among & 1 << index != 0 && types[*index].property_flags.contains(properties);
        (0..types.len()).find(fits).map(|index| index as u32).ok_or(Error::NoMemory(what))
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // SAFETY: objects created from the device hold it, so none are left, and its work has ended.
        unsafe {
            let _ = self.device.device_wait_idle();
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

/// A suitable device.
struct Found {
    physical: vk::PhysicalDevice,
    family: u32,
    name: String,
    host_alignment: Option<usize>,
}

fn open_device(instance: &ash::Instance, choice: Choice) -> Result<(Found, ash::Device)> {
    // SAFETY: the instance is valid.
    let all = unsafe { instance.enumerate_physical_devices() }.named("vkEnumeratePhysicalDevices")?;
    let mut names = Vec::new();
    for physical in all {
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
        // SAFETY: the structures are valid; devices of Vulkan 1.2 fill them.
        unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
        let base = properties.properties;
        let text = |text: Result<&CStr, _>| text.map(|text| text.to_string_lossy().into_owned());
        let name = text(base.device_name_as_c_str()).unwrap_or_default();
        let name = format!("{name}, {}", text(driver.driver_info_as_c_str()).unwrap_or_default());
        names.push(name.clone());
        if base.api_version < vk::API_VERSION_1_2 || !is_chosen(instance, physical, base.device_type, choice)?
        {
            continue;
        }
        let extensions = extensions(instance, physical)?;
        if !extensions.iter().any(|extension| extension == khr::external_memory_fd::NAME) {
            continue;
        }
        // SAFETY: the device belongs to the instance.
        let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
        let all_work = vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE;
        let Some(family) = families.iter().position(|family| family.queue_flags.contains(all_work)) else {
            continue;
        };
        let has_host = extensions.iter().any(|extension| extension == ext::external_memory_host::NAME);
        let host_alignment = has_host.then(|| {
            let mut host = vk::PhysicalDeviceExternalMemoryHostPropertiesEXT::default();
            let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut host);
            // SAFETY: the structures are valid; the device has the extension.
            unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
            host.min_imported_host_pointer_alignment as usize
        });
        let found = Found { physical, family: family as u32, name, host_alignment };
        let device = create(instance, &found)?;
        return Ok((found, device));
    }
    let wanted = match choice {
        Choice::Cpu => "device on the CPU".to_owned(),
        Choice::Pci(domain, bus, device) => format!("device at {domain:04x}:{bus:02x}:{device:02x}"),
    };
    Err(Error::NoDevice { wanted: format!("{wanted} that can export memory"), found: names })
}

fn extensions(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Result<Vec<std::ffi::CString>> {
    // SAFETY: the device belongs to the instance.
    let found = unsafe { instance.enumerate_device_extension_properties(physical) };
    let found = found.named("vkEnumerateDeviceExtensionProperties")?;
    Ok(found.iter().filter_map(|one| one.extension_name_as_c_str().ok().map(CStr::to_owned)).collect())
}

fn is_chosen(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    kind: vk::PhysicalDeviceType,
    choice: Choice,
) -> Result<bool> {
    let Choice::Pci(domain, bus, device) = choice else { return Ok(kind == vk::PhysicalDeviceType::CPU) };
    if !extensions(instance, physical)?.iter().any(|extension| extension == ext::pci_bus_info::NAME) {
        return Ok(false);
    }
    let mut place = vk::PhysicalDevicePCIBusInfoPropertiesEXT::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut place);
    // SAFETY: the structures are valid; the device has the extension.
    unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
    Ok((place.pci_domain, place.pci_bus, place.pci_device) == (domain, bus, device))
}

fn create(instance: &ash::Instance, found: &Found) -> Result<ash::Device> {
    let queues =
        [vk::DeviceQueueCreateInfo::default().queue_family_index(found.family).queue_priorities(&[1.0])];
    let mut names = vec![khr::external_memory_fd::NAME.as_ptr()];
    if found.host_alignment.is_some() {
        names.push(ext::external_memory_host::NAME.as_ptr());
    }
    let mut features = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
    // Fragment shaders only read buffers.
    let create = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&names)
        .push_next(&mut features);
    // SAFETY: the structures are valid, the device has the extensions, and Vulkan 1.2 has timelines.
    unsafe { instance.create_device(found.physical, &create, None) }.named("vkCreateDevice")
}
