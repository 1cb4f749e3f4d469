//! Safe HSA: agents, memory pools, signals, queues and executables over any HSA function table.
//!
//! HSA is the layer below HIP: it finds GPUs, allocates memory, loads code objects, and lets programs write
//! packets into queues that GPUs read. In this crate, objects keep their parents alive: a queue its agent, a
//! kernel its executable. Statuses become [`Error`]s that name the operation. When a queue fails, calls that
//! wait for its work return an error.
//!
//! It works on any [`hsa_sys::Table`]: AMD's library, found by [`Runtime::load`], or an implementation in the
//! process, such as the virtual GPU's. It does **not** wrap images, virtual memory mapping, inter-process
//! memory or profilers; use the table for those.
//!
//! # Contract
//! A faulted kernel never makes a wait hang: [`Completion::wait`] returns [`Error::QueueFault`], with the
//! report if the implementation has one. Other queues and new ones keep working. Launching a kernel is
//! `unsafe`, because this crate cannot know what a kernel does with its arguments. Everything can be used
//! from any thread.
//!
//! The module [`raw`] has the parts for building a runtime on HSA.
//!
//! ```
//! # fn main() -> Result<(), hsa::Error> {
//! # vgpu::attach(&"gfx1100?cus=2&memory=64MiB".parse().unwrap()).unwrap();
//! let runtime = hsa::Runtime::new(vgpu::hsa::table())?;
//! let gpu = runtime.agents()?.into_iter().find(|agent| agent.kind() == hsa::AgentKind::Gpu).unwrap();
//! let pool = gpu.coarse_pool()?;
//! let mut memory = pool.allocate(1 << 20)?;
//! memory.write(16, b"hello")?;
//! let mut bytes = [0; 5];
//! memory.read(16, &mut bytes)?;
//! assert_eq!(&bytes, b"hello");
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod agent;
mod copy;
mod error;
mod executable;
mod memory;
mod queue;
pub mod raw;
mod runtime;
mod signal;

pub use agent::{Agent, AgentKind};
pub use copy::copy_async;
pub use error::{Error, Result};
pub use executable::{Executable, ExecutableBuilder, Kernel, Variable};
pub use memory::{Allocation, MemoryPool, PoolFlags, Segment};
pub use queue::{Completion, Dispatch, Queue, QueueKind, Times};
pub use runtime::Runtime;
pub use signal::{Condition, Signal, UserSignal, WaitHint};
