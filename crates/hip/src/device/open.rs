//! Finding devices: by URI, by the environment, or all of them.

use std::sync::Arc;

use code_object::TargetId;

use super::Device;
use crate::backend::{self, Backend, Opened, Skipped};
use crate::error::{Error, Result};
use crate::uri::{DEVICE_VARIABLE, DeviceName, DeviceUri, Selection, VirtualGpu};

impl Device {
    /// Opens the device that a [device URI](crate::uri) names: `auto`, `amdgpu:0`, `vgpu:gfx90a`, …
    ///
    /// If the URI names several (`amdgpu`, `vgpu?count=2`), this opens the first;
    /// [`open_all`](Self::open_all) opens all. A list (`amdgpu://0,1`) is one [logical device](Self::logical)
    /// of several GPUs.
    ///
    /// # Errors
    /// [`Error::Uri`] for a malformed URI, [`Error::NotFound`] if there is no such device,
    /// [`Error::BackendUnavailable`] if its backend cannot be used, and the errors of
    /// [`logical`](Self::logical) for a list.
    pub fn open(uri: impl AsRef<str>) -> Result<Self> {
        Self::open_uri(&uri.as_ref().parse()?)
    }

    /// Opens the device that `FERROCM_DEVICE` names, or `auto` if it is unset or empty.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Error::Environment`] if the variable's value is invalid.
    pub fn open_default() -> Result<Self> {
        Self::open_uri(&default_uri()?)
    }

    /// Opens the device that a parsed URI names.
    ///
    /// # Errors
    /// As [`open`](Self::open), except [`Error::Uri`].
    pub fn open_uri(uri: &DeviceUri) -> Result<Self> {
        let devices = Self::open_all(uri)?;
        if let DeviceUri::Amd(Selection::Devices(names)) | DeviceUri::Cuda(Selection::Devices(names)) = uri
            && names.len() > 1
        {
            return Self::logical_as(&devices, Some(uri.clone()));
        }
        devices.into_iter().next().ok_or_else(|| not_found(uri, "the backend has no device".to_owned()))
    }

    /// Opens every device that a URI names, each as its own device.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_all(uri: &DeviceUri) -> Result<Vec<Self>> {
        let none: Arc<[Skipped]> = Arc::default();
        // Report a timeline that cannot be written before anything is missing from it.
        timeline::start()?;
        match uri {
            DeviceUri::Auto => open_auto(),
            DeviceUri::Amd(selection) => {
                select(uri, selection, Self::attach_all(&backend::open_amd()?, &none)?)
            }
            DeviceUri::Cuda(selection) => {
                select(uri, selection, Self::attach_all(&backend::open_cuda()?, &none)?)
            }
            DeviceUri::Virtual(gpu) => Self::attach_all(&backend::open_virtual(gpu)?, &none),
        }
    }

    /// Every existing device: all AMD and NVIDIA GPUs, and why a backend has none.
    ///
    /// Virtual GPUs are created when they are opened, so they are not listed.
    /// [`virtual_targets`](Self::virtual_targets) lists those that can be.
    pub fn list() -> (Vec<Self>, Vec<Skipped>) {
        let mut devices = Vec::new();
        let mut skipped = Vec::new();
        for uri in [DeviceUri::Amd(Selection::All), DeviceUri::Cuda(Selection::All)] {
            let backend = if matches!(uri, DeviceUri::Amd(_)) { Backend::Amd } else { Backend::Cuda };
            match Self::open_all(&uri) {
                Ok(found) => devices.extend(found),
                Err(error) => skipped.push(Skipped { backend, reason: reason(error) }),
            }
        }
        (devices, skipped)
    }

    /// The targets of virtual GPUs. `vgpu:` followed by one of them is the URI of such a device. Empty
    /// without the feature `virtual`.
    pub fn virtual_targets() -> Vec<TargetId> {
        backend::virtual_targets()
    }

    fn attach_all(opened: &Opened, skipped: &Arc<[Skipped]>) -> Result<Vec<Self>> {
        let attach = |(ordinal, uri): &_| Self::attach(opened.backend, opened.table, *ordinal, uri, skipped);
        opened.devices.iter().map(attach).collect()
    }
}

/// The URI that `FERROCM_DEVICE` holds.
fn default_uri() -> Result<DeviceUri> {
    let problem = |problem| Error::Environment { variable: DEVICE_VARIABLE, problem };
    match variables::DEVICE.text()? {
        None => Ok(DeviceUri::Auto),
        Some(text) => text.parse().map_err(|error: crate::UriError| problem(error.to_string())),
    }
}

/// The devices of the first backend that has any, and why the earlier ones were skipped.
fn open_auto() -> Result<Vec<Device>> {
    let mut skipped = Vec::new();
    // NEW-BACKEND: what `auto` opens.
    for backend in Backend::ALL {
        let opened = match backend {
            Backend::Amd => backend::open_amd(),
            Backend::Cuda => backend::open_cuda(),
            Backend::Virtual => backend::open_virtual(&VirtualGpu::default()),
        };
        let devices = opened.and_then(|opened| Device::attach_all(&opened, &skipped.clone().into()));
        match devices {
            Ok(devices) => return Ok(devices),
            Err(error) => skipped.push(Skipped { backend, reason: reason(error) }),
        }
    }
    let reasons: Vec<String> = skipped.iter().map(Skipped::to_string).collect();
    Err(not_found(&DeviceUri::Auto, reasons.join("; ")))
}

/// The reason alone, for messages that name the backend themselves.
fn reason(error: Error) -> String {
    match error {
        Error::BackendUnavailable { reason, .. } => reason,
        other => other.to_string(),
    }
}

fn select(uri: &DeviceUri, selection: &Selection, devices: Vec<Device>) -> Result<Vec<Device>> {
    let find = |name: &DeviceName| {
        let found = devices.iter().find(|device| match name {
            DeviceName::Ordinal(ordinal) => device.ordinal() == *ordinal,
            DeviceName::Uuid(uuid) => device.properties().uuid.as_ref() == Some(uuid),
        });
        found.cloned().ok_or_else(|| not_found(uri, available(&devices)))
    };
    match selection {
        Selection::All => Ok(devices),
        Selection::Ordinal(ordinal) => Ok(vec![find(&DeviceName::Ordinal(*ordinal))?]),
        Selection::Devices(names) => names.iter().map(find).collect(),
    }
}

fn available(devices: &[Device]) -> String {
    let names: Vec<String> = devices
        .iter()
        .map(|device| match &device.properties().uuid {
            Some(uuid) => format!("{device} {uuid}"),
            None => device.to_string(),
        })
        .collect();
    format!("there is {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
}

fn not_found(uri: &DeviceUri, available: String) -> Error {
    Error::NotFound { uri: uri.to_string(), available }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    fn devices() -> Vec<Device> {
        vec![fake::device(0), fake::device(1)]
    }

    fn choose(uri: &str) -> Result<Vec<Device>> {
        let uri: DeviceUri = uri.parse().unwrap();
        let DeviceUri::Amd(selection) = &uri else { panic!("{uri}") };
        select(&uri, selection, devices())
    }

    #[test]
    fn devices_are_chosen_by_ordinal_and_uuid() {
        assert_eq!(choose("amdgpu").unwrap(), devices());
        assert_eq!(choose("amdgpu:1").unwrap(), [fake::device(1)]);
        let both = choose("amdgpu://GPU-00000000000000A1,GPU-00000000000000a0").unwrap();
        assert_eq!(both, [fake::device(1), fake::device(0)]);
        assert_eq!(choose("amdgpu://1,0").unwrap(), both);
    }

    #[test]
    fn an_unknown_device_is_not_found_and_the_others_are_listed() {
        for uri in ["amdgpu:2", "amdgpu://0,7", "amdgpu://GPU-ffffffffffffffff"] {
            let error = choose(uri).unwrap_err();
            assert!(matches!(error, Error::NotFound { .. }), "{error}");
            let text = error.to_string();
            assert!(
                text.contains(uri) && text.contains("amdgpu:1") && text.contains("GPU-00000000000000a0"),
                "{text}"
            );
        }
    }

    #[test]
    fn opening_a_device_twice_gives_the_same_one() {
        assert_eq!(fake::device(0), fake::device(0));
        assert_ne!(fake::device(0), fake::device(1));
        assert_eq!(fake::device(1).to_string(), "amdgpu:1 ()");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot open libraries")]
    fn a_machine_without_nvidias_driver_says_what_was_tried() {
        match Device::open("cuda") {
            Ok(device) => assert_eq!(device.backend(), Backend::Cuda),
            Err(error) => {
                let text = error.to_string();
                assert!(text.starts_with("the cuda backend is not available: "), "{text}");
                assert!(text.contains("libcuda.so.1") || text.contains("sees no GPU"), "{text}");
            }
        }
        assert!(matches!(Device::open("gpu"), Err(Error::Uri(_))));
    }
}
