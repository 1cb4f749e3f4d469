//! Memory that HIP and Vulkan share, and work of both that depends on each other.
//!
//! The results are compared with arithmetic on the CPU. Without a Vulkan loader, or without a device that will do, a test says so and ends,
//! unless `FERROCM_TEST_VULKAN` is `1`: `cargo xtask test vulkan` fetches lavapipe and sets it.

mod memory;
mod order;
mod support;
