//! Memory that HIP and Vulkan share, and work of both with dependences on each other.
//!
//! Results are compared with arithmetic on the CPU. Without a Vulkan loader or a suitable device, a test
//! reports this and ends, unless `FERROCM_TEST_VULKAN` is `1`: `cargo xtask test vulkan` fetches lavapipe and
//! sets it.

mod memory;
mod order;
mod support;
