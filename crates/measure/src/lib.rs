//! Measures any GPU that `hip` can open, through this workspace's own crates, and checks each result against
//! f64 on the CPU.
//!
//! [`run`] gives a [`runs::Record`]: the GPU, a [`Measurement`](runs::record::Measurement) for each case, clocks and power during the
//! measurements, and findings. A result that fails its check is an [`Error`], never a figure.
//!
//! ```no_run
//! use measure::{Options, Size, Suite};
//!
//! let options = Options { suites: vec![Suite::Gemm], size: Some(Size::Small), ..Options::default() };
//! let record = measure::run(&options, &mut measure::silent)?;
//! for measurement in &record.measurements {
//!     println!("{}: {:?}", measurement.name, measure::statistics::median(&measurement.seconds));
//! }
//! # Ok::<(), measure::Error>(())
//! ```
//!
//! # Features
//! | feature | by default | brings |
//! |---|---|---|
//! | `command` | on | [`command`]: the command line of `ferrocm bench run` |
//! | `virtual` | on | the virtual GPU, as the feature of [`hip`] |
#![warn(missing_docs)]

mod attention;
mod bandwidth;
mod block;
mod check;
mod collective;
#[cfg(feature = "command")]
pub mod command;
mod context;
pub mod detect;
mod error;
mod gemm;
mod inference;
mod latency;
pub mod model;
mod options;
mod quantised;
mod random;
mod run;
pub mod statistics;
pub mod telemetry;
pub mod training;

pub use error::{Error, Result};
pub use model::ModelName;
pub use options::{Method, Options, Size, Suite};
pub use run::{Progress, run, silent};
