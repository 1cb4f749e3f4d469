//! What distinguishes a device from others. It is the same in HSA and in the system management libraries.

use crate::machine::Target;
use crate::{ConfigError, DeviceConfig};

/// A device, as reported.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Identity {
    /// Its row of the target table.
    pub target: &'static Target,
    /// Its index among the GPUs, from 0.
    pub index: usize,
    /// Bytes of memory it has.
    pub memory: u64,
    /// Its place on the PCI bus: the bus in bits 8 to 15, the device in bits 3 to 7, the function in bits 0
    /// to 2.
    pub location: u32,
    /// An identifier that stays the same from run to run.
    pub unique: u64,
}

impl DeviceConfig {
    /// The devices of this configuration, for a machine that has no others.
    ///
    /// # Errors
    /// The configuration is invalid.
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

/// A device's place on the PCI bus; see [`Identity::location`].
pub(crate) fn location(index: usize) -> u32 {
    (index as u32 + 1) << 8
}

/// An identifier that distinguishes the device and stays the same from run to run.
pub(crate) fn unique(target: &str, memory: u64, index: usize) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in format!("{target}/{memory}/{index}").bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}
