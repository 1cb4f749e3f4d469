//! What this workspace takes of the ROCm releases beside what the library of the commands does with them, and of other packages of Debian's: for
//! the bindings, the tests and the benchmarks.

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

/// Cargo sets it here for the tests of this workspace's kernels. Of AMD's, some go beyond their LDS, as hardware lets them; the URI of a device
/// says what else is wanted.
pub(crate) const FOR_OWN_KERNELS: &[&str] = &["FERROCM_VGPU_CHECK"];

/// Where a program runs on AMD's libraries: a sysroot, trees beside it, and libraries that come first.
pub(crate) fn place(sysroot: Sysroot, beside: Vec<PathBuf>, first: First) -> Place {
    Place { sysroot, beside, first, without: FOR_OWN_KERNELS }
}
