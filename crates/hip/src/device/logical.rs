//! Logical devices: several GPUs of one library with access to each other's memory.

use std::sync::Arc;

use super::Device;
use crate::error::{Error, Result};
use crate::uri::{DeviceName, DeviceUri, Selection};

/// What a logical device's handle holds besides its first GPU.
#[derive(Debug)]
pub(super) struct Logical {
    pub(super) uri: Option<DeviceUri>,
    /// All members, including the first, each as its own device.
    pub(super) members: Vec<Device>,
}

impl Device {
    /// Combines several devices into one logical device. Each gets access to the memory of every other
    /// ([`enable_peer_access`](Self::enable_peer_access)), so that streams of one can use buffers of another.
    ///
    /// A logical device acts as the first of its [`members`](Self::members): its streams, buffers and
    /// properties are that member's. [`synchronize`](Self::synchronize) waits for all. To use the other
    /// members, use their own handles. Logical devices in `devices` are flattened. `amdgpu://0,1` opens a
    /// logical device.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the list is empty or names a device twice, [`Error::OtherRuntime`] if they
    /// belong to different libraries, [`Error::NoPeerAccess`] if one cannot reach the memory of another.
    ///
    /// ```no_run
    /// use hip::{Device, DeviceBuffer};
    ///
    /// # fn main() -> hip::Result<()> {
    /// let device = Device::open("amdgpu://0,1")?;
    /// let [first, second] = device.members() else { unreachable!() };
    /// let (a, b) = (first.stream()?, second.stream()?);
    /// let x = DeviceBuffer::from_slice(&a, &[1.0_f32, 2.0])?;
    /// let mut y = DeviceBuffer::uninit(second, 2)?;
    /// y.copy_from(&b, &x)?; // the second GPU reads the first one's memory
    /// # Ok(())
    /// # }
    /// ```
    pub fn logical(devices: &[Self]) -> Result<Self> {
        Self::logical_as(devices, None)
    }

    pub(super) fn logical_as(devices: &[Self], uri: Option<DeviceUri>) -> Result<Self> {
        let members: Vec<Self> = devices.iter().flat_map(Self::members).cloned().collect();
        let Some(first) = members.first() else {
            return Err(Error::Unsupported {
                what: "a logical device without GPUs".to_owned(),
                instead: "name at least one".to_owned(),
            });
        };
        for (index, device) in members.iter().enumerate() {
            if members[..index].contains(device) {
                return Err(Error::Unsupported {
                    what: format!("a logical device that contains {device} twice"),
                    instead: "name each GPU once".to_owned(),
                });
            }
        }
        // Check all pairs before changing one.
        let pairs = || members.iter().flat_map(|from| members.iter().map(move |to| (from, to)));
        for (from, to) in pairs() {
            if !from.can_access_peer(to)? {
                let (device, peer) = from.names_beside(to);
                return Err(Error::NoPeerAccess { device, peer });
            }
        }
        for (from, to) in pairs() {
            from.enable_peer_access(to)?;
        }
        let (inner, skipped) = (first.inner.clone(), first.skipped.clone());
        let uri = uri.or_else(|| list(&members));
        Ok(Self { inner, skipped, logical: Some(Arc::new(Logical { uri, members })) })
    }

    /// The GPUs of a logical device, each as its own device. For any other device, the device itself.
    pub fn members(&self) -> &[Self] {
        match &self.logical {
            Some(logical) => &logical.members,
            None => std::slice::from_ref(self),
        }
    }
}

/// The URI that names these devices, if they are physical.
fn list(members: &[Device]) -> Option<DeviceUri> {
    let names = members.iter().map(|device| DeviceName::Ordinal(device.ordinal())).collect();
    match members.first()?.inner.uri {
        DeviceUri::Amd(_) => Some(DeviceUri::Amd(Selection::Devices(names))),
        DeviceUri::Cuda(_) => Some(DeviceUri::Cuda(Selection::Devices(names))),
        DeviceUri::Auto | DeviceUri::Virtual(_) => None,
    }
}
