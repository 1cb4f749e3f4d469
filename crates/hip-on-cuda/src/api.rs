//! HIP's functions, by what they are about.

mod capture;
mod convert;
mod copy;
mod device;
mod driver;
mod error;
mod event;
mod external;
mod fill;
mod graph;
mod ipc;
mod kernel;
mod limits;
mod link;
mod memory;
mod module;
mod nodes;
mod occupancy;
mod peer;
mod pointer;
mod pool;
mod properties;
mod stream;
mod stub;
pub(crate) mod table;
mod virtual_memory;
