//! The scripts of `ci/images` and `ci/debug`, and steps of `ci/steps`, run unmodified, with stand-ins in
//! `PATH` that record their calls.

mod container;
mod debug;
mod docker;
mod keys;
mod package;
mod runners;
mod stage;
mod steps;
