//! Further uses of ROCm releases and other Debian packages, beyond the shared commands: for the bindings, the
//! tests and the benchmarks.

pub(crate) mod cloud_init;
pub(crate) mod headers;
pub(crate) mod kernels;
pub(crate) mod lavapipe;
pub(crate) mod openmpi;
mod scripts;
pub(crate) mod sysroot;
pub(crate) mod test_tools;

use std::path::PathBuf;

use shared_commands::libraries::First;
use shared_commands::rocm::program::Place;
pub(crate) use shared_commands::rocm::{RELEASES, Release, Suite, additions, tree};

use self::sysroot::Sysroot;

/// Cargo sets this variable here for the tests of this workspace's kernels. Some of AMD's kernels exceed
/// their LDS, which hardware permits; the device URI sets other checks.
pub(crate) const FOR_OWN_KERNELS: &[&str] = &["FERROCM_VGPU_CHECK"];

/// The place where a program runs on AMD's libraries: a sysroot, its additions, and libraries that take
/// precedence.
pub(crate) fn place(sysroot: Sysroot, beside: Vec<PathBuf>, first: First) -> Place {
    Place { sysroot, beside, first, without: FOR_OWN_KERNELS }
}
