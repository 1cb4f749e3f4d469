//! The device library of [`hal`]: kernels for copies, fills, updates, indirect dispatches and time stamps,
//! and the device's scheduler.
//!
//! It is embedded for the targets of the build (`FERROCM_TARGETS`). A device of another target does not open
//! with it, and the error lists what is here.
//!
//! ```
//! use hal::{Driver, MemoryKind, Options, Semaphore, Usage};
//!
//! # fn main() -> hal::Result<()> {
//! # vgpu::attach(&"gfx1100?cus=2&memory=64MiB".parse().unwrap()).unwrap();
//! let driver = Driver::over(vgpu::hsa::table())?;
//! let options = Options::default().with_library(hal_library::code_objects()?);
//! let device = driver.open(&"amdgpu:0".parse()?, options)?;
//! let buffer = device.allocate(MemoryKind::Device, 1024)?;
//! let mut commands = device.record(0, Usage::Reusable)?;
//! commands.fill((&buffer).into(), b"ab", 1024)?;
//! let commands = commands.finish()?;
//! let done = Semaphore::new(0);
//! device.queue(hal::Affinity::ANY)?.execute(&commands, &[], &[], &[(&done, 1)])?;
//! done.wait(1, None)?;
//! let mut bytes = [0; 4];
//! buffer.read(510, &mut bytes)?;
//! assert_eq!(&bytes, b"abab");
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

/// What the build script embedded.
#[allow(dead_code, unreachable_pub, reason = "generated for any crate")]
mod embedded {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

/// The library for [`hal::Options::library`].
///
/// # Errors
/// A target of the build is malformed.
pub fn code_objects() -> hal::Result<hal::CodeObjects> {
    hal::CodeObjects::embedded(&embedded::LIBRARY)
}
