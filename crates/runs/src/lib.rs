//! Benchmark results of AMD and NVIDIA GPUs: one record for each run, whatever measured it.
//!
//! A [`Record`] is what one run says about itself: the GPUs, the configuration of training, the time of each
//! step, losses, memory. Records come from JSON files, from the logs of training programs and from this
//! workspace's own measurements.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod check;
pub mod compare;
pub mod extract;
pub mod flops;
pub mod history;
pub mod peaks;
pub mod record;
pub mod report;
pub mod statistics;

pub use record::Record;
pub use statistics::Statistics;

#[cfg(test)]
mod docs;
