//! Pipelines for many repositories with GPU code: one [description](Description) of components, targets and pools of machines, one
//! [table of stages](stages), written as templates for [GitHub Actions, Azure Pipelines and GitLab CI](mod@write), and [run](mod@run) on a
//! developer's machine as it is there.
//!
//! A step is a script of `ci/steps`, which takes its inputs from environment variables. What takes more than a few lines of shell is here:
//! [rows of the job matrix](rows), [verdicts on tests](junit), [archives](archive) that are equal for equal files, [manifests](manifest),
//! [findings] as annotations and comments, and [summaries](summary) with the reports of virtual GPUs on [faults].
//!
//! The crate neither compiles kernels nor runs any; `cargo xtask ci` does.
#![warn(missing_docs)]

pub mod archive;
pub mod component;
pub mod description;
mod error;
pub mod faults;
pub mod findings;
pub mod junit;
pub mod manifest;
pub mod programs;
pub mod rows;
pub mod run;
pub mod stages;
pub mod summary;
pub mod write;
pub mod yaml;

pub use component::Settings;
pub use description::Description;
pub use error::Error;
