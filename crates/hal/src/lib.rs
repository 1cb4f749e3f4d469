//! A device layer straight on HSA: work is recorded once, as packets in their final form, and submitted by
//! copying them.
//!
//! * A [`Driver`] is an HSA implementation with its [`Topology`](topology::Topology): AMD's library, or the
//!   virtual GPU. [`Driver::open`] opens one GPU, or several that work as one, as a [`Device`].
//! * [`Queue`] operations wait for values of timeline [`Semaphore`]s and signal others. A value that
//!   submitted work will signal is waited for on the device, by one packet or none; all others on the host,
//!   or with [`Options::scheduler`] on the device, too.
//! * A [`CommandBuffer`] is recorded by [`Device::record`] and replayed any number of times.
//! * [`Buffer`]s come from pools that divide blocks, or are memory of others. Queues read and write them from
//!   and to [`File`]s.
//! * A [`Profile`] says when work ran, and a [`Replay`] is all that a device did, to run again.
//!
//! # Contract
//! A fault stops its queue, and every queue that has a packet waiting for it; other queues go on. The
//! semaphores that stopped queues would have signalled fail with the fault's report, and everything that
//! waits for them fails, too: no wait hangs. Submitted work holds what it uses. Recording a kernel is
//! `unsafe`, because this crate cannot know what it does. Everything can be used from any thread.
//!
//! ```no_run
//! use hal::{Affinity, Driver, MemoryKind, Options, Semaphore};
//!
//! # fn main() -> hal::Result<()> {
//! let driver = Driver::load()?;
//! let device = driver.open(&"amdgpu:0".parse()?, Options::default())?;
//! let buffer = device.allocate(MemoryKind::Device, 4096)?;
//! buffer.write(0, b"hello")?;
//! let done = Semaphore::new(0);
//! device.queue(Affinity::ANY)?.barrier(&[], &[(&done, 1)])?;
//! done.wait(1, None)?;
//! # Ok(())
//! # }
//! ```
//!
//! The crate `hal-library` has an example that runs on the virtual GPU.
#![warn(missing_docs)]

pub mod block;
mod command;
mod context;
mod core;
mod dependants;
mod device;
mod driver;
mod error;
mod events;
mod executable;
mod file;
pub mod memory;
mod operation;
mod options;
mod profile;
mod queue;
mod replay;
mod scheduler;
mod semaphore;
mod spans;
pub mod topology;
mod worker;

pub use command::{Arg, CommandBuffer, Grid, Place, Recorder, Usage};
pub use device::{Affinity, Device};
pub use driver::Driver;
pub use error::{Error, Result};
pub use executable::{CodeObjects, Executable, Kernel};
pub use file::{File, FileRange};
pub use gpu_report::Counters;
pub use memory::{Buffer, MemoryKind};
pub use options::Options;
pub use profile::{DispatchProfile, Profile, SubmissionProfile, Times};
pub use queue::{Pending, Queue};
pub use replay::{Difference, Replay};
pub use scheduler::Scheduling;
pub use semaphore::{Semaphore, Value};
