//! Pages about this crate, copied from the project's repository.
//!
//! | page | about |
//! |---|---|
//! | [`guide`] | how to use a GPU with this crate, from the first buffer to graphs |
//! | [`devices`] | device URIs: `auto`, `amdgpu:0`, `vgpu:gfx90a?cus=4`; what environment variables hide; errors |
//! | [`faults`] | how a virtual GPU reports mistakes of kernels, and its optional checks |
//!
//! Linked pages that are not in this package are in the [repository](https://github.com/ferrocm/ferrocm).

// The first definition of a link reference wins. So these come before those at the end of each page, which
// are for readers of the repository.

/// [page-coverage]: https://github.com/ferrocm/ferrocm/blob/main/docs/generated/coverage.md
/// [page-devices]: crate::docs::devices
/// [page-faults]: crate::docs::faults
/// [page-cuda]: https://github.com/ferrocm/ferrocm/blob/main/docs/use/cuda-sources.md
/// [page-hip]: https://github.com/ferrocm/ferrocm/blob/main/docs/internals/hip.md
/// [page-own-crate]: https://github.com/ferrocm/ferrocm/blob/main/docs/use/own-crate.md
/// [page-vulkan]: https://github.com/ferrocm/ferrocm/blob/main/docs/use/vulkan.md
#[doc = ""]
#[doc = include_str!("../docs/guide.md")]
pub mod guide {}

/// [page-architecture]: https://github.com/ferrocm/ferrocm/blob/main/docs/internals/architecture.md
/// [page-checks]: crate::docs::faults#optional-checks
/// [page-counters]: https://github.com/ferrocm/ferrocm/blob/main/docs/use/profiling.md#counters
/// [page-hip-on-hsa]: https://github.com/ferrocm/ferrocm/blob/main/docs/internals/hip-on-hsa.md
/// [page-names]: https://github.com/ferrocm/ferrocm/blob/main/docs/use/hip-programs.md#programs-that-use-hip
/// [page-nvrtc]: https://github.com/ferrocm/ferrocm/blob/main/docs/internals/abi.md#nvrtc
/// [page-processors]: https://github.com/ferrocm/ferrocm/blob/main/docs/generated/processors.md#on-the-virtual-gpu
/// [page-profile]: https://github.com/ferrocm/ferrocm/blob/main/docs/use/own-crate.md#the-profile
#[doc = ""]
#[doc = include_str!("../docs/devices.md")]
pub mod devices {}

/// [page-dispatches]: https://github.com/ferrocm/ferrocm/blob/main/docs/internals/machine.md#dispatches
/// [page-memory]: https://github.com/ferrocm/ferrocm/blob/main/docs/internals/machine.md#memory
/// [page-unsupported]: https://github.com/ferrocm/ferrocm/blob/main/docs/internals/machine.md#never-supported
#[doc = ""]
#[doc = include_str!("../docs/faults.md")]
pub mod faults {}
