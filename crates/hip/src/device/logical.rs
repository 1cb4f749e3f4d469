//! Logical devices: several GPUs of one library that reach each other's memory.

use std::sync::Arc;

use super::Device;
use crate::error::{Error, Result};
use crate::uri::{DeviceName, DeviceUri, Selection};

/// What a handle of a logical device has besides its first GPU.
#[derive(Debug)]
pub(super) struct Logical {
    pub(super) uri: Option<DeviceUri>,
    /// All of them, the first included; each a device of its own.
    pub(super) members: Vec<Device>,
}

impl Device {
    /// Makes one logical device of several: each is given access to the memory of every other
    /// ([`enable_peer_access`](Self::enable_peer_access)), so that buffers of one may be used on streams of another.
    ///
    /// A logical device acts as the first of its [`members`](Self::members): its streams, buffers and properties are that
    /// one's; [`synchronize`](Self::synchronize) waits for all. Work is given to the others through their own handles.
    /// Parts of a logical device are flattened. `amdgpu://0,1` opens one.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there is no device or one is given twice, [`Error::OtherRuntime`] if they belong to
    /// different libraries, [`Error::NoPeerAccess`] if one cannot reach the memory of another.
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
                what: "a logical device of no GPU".to_owned(),
                instead: "name at least one".to_owned(),
            });
        };
        for (index, device) in members.iter().enumerate() {
            if members[..index].contains(device) {
                return Err(Error::Unsupported {
                    what: format!("a logical device that has {device} twice"),
                    instead: "name each GPU once".to_owned(),
                });
            }
        }
        // All are asked before one is changed.
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

    /// The GPUs that a logical device is made of, each as a device of its own; of any other device, itself.
    pub fn members(&self) -> &[Self] {
        match &self.logical {
            Some(logical) => &logical.members,
            None => std::slice::from_ref(self),
        }
    }
}

/// The URI that names these, where they are physical ones.
fn list(members: &[Device]) -> Option<DeviceUri> {
    let names = members.iter().map(|device| DeviceName::Ordinal(device.ordinal())).collect();
    match members.first()?.inner.uri {
        DeviceUri::Amd(_) => Some(DeviceUri::Amd(Selection::Devices(names))),
        DeviceUri::Cuda(_) => Some(DeviceUri::Cuda(Selection::Devices(names))),
        DeviceUri::Auto | DeviceUri::Virtual(_) => None,
    }
}
