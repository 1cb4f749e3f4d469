//! The layer below this crate's objects, for crates that build a runtime on HSA, such as `hip-on-hsa`: the
//! table's calls with Rust types, packets and their ring, reusable signals, progress, hidden arguments,
//! and memory for arguments.
//!
//! Nothing here keeps anything alive: handles and addresses are used as given, and the caller must ensure
//! that they are valid. This module is not part of the safe interface, and may change with any version.

mod arguments;
mod calls;
mod clock;
mod hidden;
mod packet;
mod pointer;
mod progress;
mod ring;
mod sharing;
mod signals;

pub use arguments::{ArgumentRing, Room};
pub use calls::{Answer, Calls, Errors, Failure, Kind, PhysicalMemory, is_success};
pub use clock::ClockDifference;
pub use hidden::{Geometry, HiddenArguments, Services};
pub use packet::*;
pub use progress::ProgressSignal;
pub use ring::PacketRing;
pub use signals::SignalPool;
