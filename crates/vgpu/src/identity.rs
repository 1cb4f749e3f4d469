//! What tells a device from others, the same in HSA and in the libraries of system management.

use crate::machine::Target;
use crate::{ConfigError, DeviceConfig};

/// A device as it is reported.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Identity {
    /// The row of its target.
    pub target: &'static Target,
    /// Its number among the GPUs, from 0.
    pub index: usize,
    /// Bytes of memory it has.
    pub memory: u64,
    /// Its place on the PCI bus: bus in bits 8 to 15, device in 3 to 7, function in 0 to 2.
    pub location: u32,
    /// The number that is the same from run to run.
    pub unique: u64,
}

impl DeviceConfig {
    /// The devices of this configuration, as those of a machine that has no others.
    ///
    /// # Errors
    /// The configuration is not usable.
    pub fn identities(&self) -> Result<Vec<Identity>, ConfigError> {
        let target = self.validated()?;
        let identity = |index| Identity {
            target,
            index,
            memory: self.memory,
            location: location(index),
            unique: unique(&target.target_id, self.memory, index),
        };
        Ok((0..self.count as usize).map(identity).collect())
    }
}

/// Where a device is on the PCI bus; see [`Identity::location`].
pub(crate) fn location(index: usize) -> u32 {
    (index as u32 + 1) << 8
}

/// A number that tells the device from others and stays the same from run to run.
pub(crate) fn unique(target: &str, memory: u64, index: usize) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in format!("{target}/{memory}/{index}").bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}
