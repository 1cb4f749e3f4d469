//! Tests of the device that `FERROCM_DEVICE` names, one file for each subject.

#[path = "../common/mod.rs"]
mod common;

mod all_memory;
mod allocator;
#[cfg(feature = "rtc")]
mod arguments;
mod asynchronous;
#[cfg(feature = "rtc")]
mod cuda;
mod external_memory;
mod faults;
mod graphs;
mod host_memory;
mod interop;
mod ipc;
mod launch;
mod library;
mod memory;
mod metrics;
mod module;
mod order;
mod peers;
mod pitched;
#[cfg(feature = "rtc")]
mod ptx;
mod rects;
#[cfg(feature = "rtc")]
mod rtc;
mod streams;
mod typed;
mod virtual_memory;
