//! What a GPU reports about its kernels, as data.
//!
//! | type | says |
//! |---|---|
//! | [`Fault`] | why a kernel ended abnormally: what went wrong, with which address and allocation, in which line, instruction, workgroup, wave and lane |
//! | [`Counters`] | what a kernel did: instructions by class, active lanes, memory traffic, LDS bank conflicts, occupancy |
//! | [`Checks`], [`CounterFormat`] | what to request from a virtual GPU: checks, which take time, and counters, for people or programs |
//!
//! Faults and counters can be read from JSON, written as JSON, and printed as text for people. The virtual
//! GPU fills them and `hip` shows them, without depending on each other. A program that reads reports from a
//! file needs neither.
//!
//! Reports may come from outside: no number in them can make formatting or a sum panic.
//!
//! ```
//! use gpu_report::{Fault, FaultKind};
//!
//! let json = r#"{
//!     "kind": {"Trap": {"id": 2}}, "kernel": "_Z4stopv", "target": "gfx1100", "other": null,
//!     "at": {"pc": 256, "function": null, "source": "NoDebugInfo", "instruction": "s_trap 2",
//!            "workgroup": [0, 0, 0], "wave": 0, "lane": null, "work_item": null}
//! }"#;
//! let fault = Fault::from_json(json)?;
//! assert_eq!(fault.kind, FaultKind::Trap { id: 2 });
//! assert!(fault.to_string().contains("stop() (gfx1100)"));
//! # Ok::<(), serde_json::Error>(())
//! ```
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod checks;
mod class;
mod counters;
mod fault;
mod format;
mod memory;
mod source;

pub use checks::{Checks, ChecksError};
pub use class::Class;
pub use code_object::occupancy::{Limit, Occupancy, Resources};
pub use counters::{Branches, CacheLines, Counters, InFlight, Instructions, Lanes, LdsBanks, Traffic};
pub use fault::{AccessKind, Fault, FaultKind, Origin, Site, Space, Use};
pub use format::{CounterFormat, CounterFormatError};
pub use memory::{Allocation, MemoryKind};
pub use source::{SourceFrame, SourceLines, demangle};
