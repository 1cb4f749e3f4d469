//! Pipelines for many repositories with GPU code: one [description](Description) of components, targets and
//! pools of machines, one [table of stages](stages), written as templates for [GitHub Actions, Azure
//! Pipelines and GitLab CI](mod@write), and [run](mod@run) in the same way on a developer's machine.
//!
//! A step is a script in `ci/steps` that takes its inputs from environment variables. Everything that needs
//! more than a few lines of shell is here: [rows of the job matrix](rows), [verdicts on tests](junit),
//! [reproducible archives](archive), [manifests](manifest), [findings] as annotations and comments, and
//! [summaries](summary) with the reports of virtual GPUs on [faults].
//!
//! The crate neither compiles nor runs kernels; `cargo xtask ci` does.
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
