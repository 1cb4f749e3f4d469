//! The scripts of `ci/images` and `ci/debug`, and steps of `ci/steps`, run as they are, with programs in `PATH` that stand in for those of a
//! machine: each writes down how it was called.

mod container;
mod debug;
mod docker;
mod keys;
mod package;
mod runners;
mod stage;
mod steps;
