//! Access of devices to each other's memory.

use std::fmt;

use hip_sys::{hipDeviceP2PAttr, hipError_t};

use super::Device;
use crate::call::call;
use crate::error::{Error, Result};

/// How one device reaches another's memory (`hipDeviceGetP2PAttribute`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerLink {
    /// Kernels and copies can read and write the peer's memory, once access is enabled.
    pub access: bool,
    /// Atomic operations on the peer's memory are atomic for both devices.
    pub atomics: bool,
    /// The link's speed rank among this machine's links: 0 is the fastest.
    pub performance_rank: u32,
}

impl Device {
    /// Whether this device can be given access to the memory of `peer` (`hipDeviceCanAccessPeer`).
    ///
    /// # Errors
    /// [`Error::OtherRuntime`] if the devices belong to different libraries, else [`Error::Hip`].
    #[doc(alias = "hipDeviceCanAccessPeer")]
    #[doc(alias = "cudaDeviceCanAccessPeer")]
    #[doc(alias = "cuDeviceCanAccessPeer")]
    pub fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        self.same_runtime(peer, "hipDeviceCanAccessPeer", "peer")?;
        if self == peer {
            return Ok(true);
        }
        let mut can = 0;
        // SAFETY: the result is a place to write to.
        unsafe {
            call!(
                self.table(),
                hipDeviceCanAccessPeer(&raw mut can, self.inner.ordinal, peer.inner.ordinal)
            )?;
        }
        Ok(can != 0)
    }

    /// How this device reaches `peer`'s memory (`hipDeviceGetP2PAttribute`); `None` if they are the same
    /// device.
    ///
    /// # Errors
    /// As [`can_access_peer`](Self::can_access_peer).
    #[doc(alias = "hipDeviceGetP2PAttribute")]
    #[doc(alias = "cudaDeviceGetP2PAttribute")]
    #[doc(alias = "cuDeviceGetP2PAttribute")]
    pub fn peer_link(&self, peer: &Self) -> Result<Option<PeerLink>> {
        self.same_runtime(peer, "hipDeviceGetP2PAttribute", "peer")?;
        if self == peer {
            return Ok(None);
        }
        let attribute = |which| -> Result<i32> {
            let mut value = 0;
            let (from, to) = (self.inner.ordinal, peer.inner.ordinal);
            // SAFETY: the result is a place to write to.
            unsafe {
                call!(self.table(), hipDeviceGetP2PAttribute(&raw mut value, which, from, to))?;
            }
            Ok(value)
        };
        Ok(Some(PeerLink {
            access: attribute(hipDeviceP2PAttr::hipDevP2PAttrAccessSupported)? != 0,
            atomics: attribute(hipDeviceP2PAttr::hipDevP2PAttrNativeAtomicSupported)? != 0,
            performance_rank: u32::try_from(attribute(hipDeviceP2PAttr::hipDevP2PAttrPerformanceRank)?)
                .unwrap_or(0),
        }))
    }

    /// Lets this device use all memory of `peer`, present and future (`hipDeviceEnablePeerAccess`).
    ///
    /// From then on, kernels, copies and fills on this device's streams can use buffers of `peer`. The access
    /// is one-way. Enabling it twice does nothing.
    ///
    /// # Errors
    /// [`Error::OtherRuntime`] if the devices belong to different libraries, else [`Error::Hip`]:
    /// `hipErrorPeerAccessUnsupported` if there is no link between them.
    #[doc(alias = "hipDeviceEnablePeerAccess")]
    #[doc(alias = "cudaDeviceEnablePeerAccess")]
    #[doc(alias = "cuCtxEnablePeerAccess")]
    pub fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        self.same_runtime(peer, "hipDeviceEnablePeerAccess", "peer")?;
        if self == peer {
            return Ok(());
        }
        let mut peers = self.peers_mut();
        if peers.contains(&peer.inner.ordinal) {
            return Ok(());
        }
        self.make_current()?;
        // SAFETY: the call takes no memory of ours, and this device is current on this thread.
        let enabled = unsafe { call!(self.table(), hipDeviceEnablePeerAccess(peer.inner.ordinal, 0)) };
        // Other code in the process may have enabled it.
        if let Err(error) = enabled
            && error.code() != Some(hipError_t::hipErrorPeerAccessAlreadyEnabled)
        {
            return Err(error);
        }
        peers.push(peer.inner.ordinal);
        Ok(())
    }

    /// Waits for this device's work, then removes its access to `peer`'s memory
    /// (`hipDeviceDisablePeerAccess`). Does nothing if access is not enabled.
    ///
    /// Launches that were prepared with memory of `peer` fault if they are enqueued afterwards.
    ///
    /// # Errors
    /// As [`can_access_peer`](Self::can_access_peer), and the error of the work that it waits for.
    #[doc(alias = "hipDeviceDisablePeerAccess")]
    #[doc(alias = "cudaDeviceDisablePeerAccess")]
    #[doc(alias = "cuCtxDisablePeerAccess")]
    pub fn disable_peer_access(&self, peer: &Self) -> Result<()> {
        self.same_runtime(peer, "hipDeviceDisablePeerAccess", "peer")?;
        if !self.peers_mut().contains(&peer.inner.ordinal) {
            return Ok(());
        }
        // Do not hold the lock here: host functions of the pending work may ask for peer access.
        self.synchronize_one()?;
        let mut peers = self.peers_mut();
        let Some(index) = peers.iter().position(|ordinal| *ordinal == peer.inner.ordinal) else {
            return Ok(());
        };
        // SAFETY: the call takes no memory of ours, and this device is current on this thread.
        unsafe { call!(self.table(), hipDeviceDisablePeerAccess(peer.inner.ordinal))? };
        peers.swap_remove(index);
        Ok(())
    }

    /// Whether streams of this device may use memory of `other`: it is the same device, or
    /// [`enable_peer_access`](Self::enable_peer_access) was called for it.
    #[inline]
    pub fn has_access_to(&self, other: &Self) -> bool {
        self == other || self.has_peer(other)
    }

    fn has_peer(&self, other: &Self) -> bool {
        std::ptr::eq(self.table(), other.table()) && self.peers_mut().contains(&other.inner.ordinal)
    }

    /// An error unless streams of this device may use memory of `other`.
    pub(crate) fn reaches(&self, other: &Self, operation: &'static str, what: &'static str) -> Result<()> {
        if self.has_access_to(other) { Ok(()) } else { Err(self.mismatch(other, operation, what)) }
    }

    /// An error unless both devices belong to one library, and so share handles and addresses.
    pub(crate) fn same_runtime(
        &self,
        other: &Self,
        operation: &'static str,
        what: &'static str,
    ) -> Result<()> {
        if std::ptr::eq(self.table(), other.table()) {
            return Ok(());
        }
        let (expected, got) = self.names_beside(other);
        Err(Error::OtherRuntime { operation, what, expected, got })
    }
}

/// Which devices reach which others' memory, and how well.
///
/// Displays as a table: a row for each device, with its link to each other device.
///
/// ```no_run
/// let (devices, _) = hip::Device::list();
/// println!("{}", hip::PeerMatrix::of(&devices)?);
/// # Ok::<(), hip::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PeerMatrix {
    devices: Vec<Device>,
    /// Row by row: a row for the device that reaches, a column for its peer.
    links: Vec<Option<PeerLink>>,
}

impl PeerMatrix {
    /// Asks for the link of every device to every other.
    ///
    /// # Errors
    /// As [`Device::peer_link`].
    pub fn of(devices: &[Device]) -> Result<Self> {
        let mut links = Vec::with_capacity(devices.len() * devices.len());
        for from in devices {
            for to in devices {
                links.push(from.peer_link(to)?);
            }
        }
        Ok(Self { devices: devices.to_vec(), links })
    }

    /// The devices, in the order of rows and columns.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// How the device at index `from` reaches the memory of the one at index `to`; `None` if they are the
    /// same device or an index is out of range.
    pub fn link(&self, from: usize, to: usize) -> Option<PeerLink> {
        let count = self.devices.len();
        let index = (from < count && to < count).then(|| from * count + to)?;
        self.links[index]
    }
}

impl fmt::Display for PeerMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, device) in self.devices.iter().enumerate() {
            writeln!(f, "{index}: {device}")?;
        }
        write!(f, "   ")?;
        for to in 0..self.devices.len() {
            write!(f, " {to:>7}")?;
        }
        for from in 0..self.devices.len() {
            write!(f, "\n{from:>3}")?;
            for to in 0..self.devices.len() {
                let text = match self.link(from, to) {
                    None => "-",
                    Some(PeerLink { access: false, .. }) => "none",
                    Some(PeerLink { atomics: true, .. }) => "atomics",
                    Some(_) => "access",
                };
                write!(f, " {text:>7}")?;
            }
        }
        Ok(())
    }
}
