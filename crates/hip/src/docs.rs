//! Pages about this crate, as the project's repository has them.
//!
//! | page | about |
//! |---|---|
//! | [`guide`] | how a program uses a GPU with this crate, from the first buffer to graphs |
//! | [`devices`] | device URIs: `auto`, `amdgpu:0`, `vgpu:gfx90a?cus=4`; what the environment hides; errors |
//! | [`faults`] | what a virtual GPU says of a kernel that does something wrong, and the checks that it makes on request |
//!
//! What the pages link to and no package has is in the [repository](https://github.com/ferrocm/ferrocm).

// The first definition of a reference counts, so those here go before those at the end of each page, which are for readers of the
// repository.

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
/// [page-checks]: crate::docs::faults#checks-that-are-off-unless-asked-for
/// [page-counters]: https://github.com/ferrocm/ferrocm/blob/main/docs/use/profiling.md#counters
/// [page-hip-on-hsa]: https://github.com/ferrocm/ferrocm/blob/main/docs/internals/hip-on-hsa.md
/// [page-names]: https://github.com/ferrocm/ferrocm/blob/main/docs/use/hip-programs.md#programs-that-use-hip
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
