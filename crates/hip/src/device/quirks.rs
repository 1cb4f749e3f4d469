//! Refuses functions of a device's library that are known to be faulty.

use super::Device;
use crate::error::{Error, Result};
use crate::quirks::{GRAPH_LAUNCH, Quirk, known};

/// An error if one of the functions is known to corrupt memory or to hang. Other known faults are traced.
fn allow(quirks: &[&'static Quirk], device: &Device, functions: &[&'static str], ignore: bool) -> Result<()> {
    for &operation in functions {
        for quirk in quirks.iter().copied().filter(|quirk| quirk.functions.contains(&operation)) {
            if quirk.is_grave() && !ignore {
                return Err(Error::KnownFault { operation, quirk });
            }
            tracing::warn!(%quirk, %device, "{operation} has a known fault");
        }
    }
    Ok(())
}

impl Device {
    /// Known faults of the library behind this device, for its version and processor. Empty for virtual GPUs
    /// and other implementations that are not AMD's, and if the version is unknown.
    pub fn quirks(&self) -> Vec<&'static Quirk> {
        let release = self.table().amd_release();
        release.into_iter().flat_map(|version| known(version, &self.target().processor)).collect()
    }

    /// Whether nodes of a graph begin before the stream's earlier work has ended.
    pub(crate) fn launches_graphs_early(&self) -> bool {
        self.quirks().iter().any(|quirk| quirk.functions.contains(&GRAPH_LAUNCH))
    }

    /// An error if one of the functions is known to corrupt memory or to hang, unless
    /// [`KNOWN_FAULTS_VARIABLE`](crate::KNOWN_FAULTS_VARIABLE) overrides that.
    pub(crate) fn allow(&self, functions: &[&'static str]) -> Result<()> {
        let ignore = variables::KNOWN_FAULTS.word()?.is_some();
        allow(&self.quirks(), self, functions, ignore)
    }
}

#[cfg(test)]
mod tests {
    use hip_sys::Version;

    use super::*;

    #[test]
    fn a_library_is_not_asked_for_what_has_a_grave_fault() {
        let device = crate::fake::device(0);
        let allowed = |major, minor, functions: &[&'static str], ignore| {
            let quirks: Vec<_> = known(Version::new(major, minor, 1), "gfx1100").collect();
            allow(&quirks, &device, functions, ignore)
        };
        let in_order = ["hipMallocAsync", "hipFreeAsync"];
        let refused = allowed(7, 2, &in_order, false);
        assert!(matches!(refused, Err(Error::KnownFault { quirk, .. }) if quirk.is_grave()));
        allowed(7, 2, &in_order, true).unwrap();
        allowed(6, 4, &in_order, false).unwrap();
        let (event, node) = (["hipIpcGetEventHandle"], ["hipGraphNodeSetEnabled"]);
        assert!(allowed(6, 4, &event, false).is_err() && allowed(7, 2, &event, false).is_ok());
        assert!(allowed(7, 2, &node, false).is_err() && allowed(6, 4, &node, false).is_ok());
        // Minor faults are left for the library to refuse.
        allowed(7, 2, &["hipGraphKernelNodeSetAttribute"], false).unwrap();
    }
}
