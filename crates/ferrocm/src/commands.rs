//! One file per subcommand: its `Arguments`, and `run`, which executes it.

pub(crate) mod bench;
pub(crate) mod devices;
pub(crate) mod doctor;
pub(crate) mod documents;
pub(crate) mod hipcc;
pub(crate) mod hipify;
#[cfg(feature = "models")]
pub(crate) mod language_models;
pub(crate) mod nvcc;
pub(crate) mod patch;
pub(crate) mod replay;
pub(crate) mod rocm;
pub(crate) mod run;
pub(crate) mod setup;
