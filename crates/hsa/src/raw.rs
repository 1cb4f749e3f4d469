//! What stands under this crate's objects, for whoever builds a runtime of their own on HSA, as `hip-on-hsa` does: the calls of
//! the table with Rust types, packets, the ring that they are written to, signals that are used again, progress, and
//! memory for arguments.
//!
//! Nothing here keeps anything alive: handles and addresses are used as they are, and it is the user who sees to it that
//! what they name is there. It is no part of the safe interface, and may change with any version.

mod arguments;
mod calls;
mod packet;
mod progress;
mod ring;
mod sharing;
mod signals;

pub use arguments::{ArgumentRing, Room};
pub use calls::{Answer, Calls, Errors, Failure, Kind, PhysicalMemory, is_success};
pub use packet::*;
pub use progress::ProgressSignal;
pub use ring::PacketRing;
pub use signals::SignalPool;
