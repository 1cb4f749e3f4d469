//! Builds of kernels: what they give, what they keep, and what they say when something is wrong.

#[path = "../any_ptx/mod.rs"]
mod any_ptx;
mod building;
mod compressed;
mod facts;
mod failing;
mod finding;
mod library;
mod nvidia;
mod ptx;
mod report;
mod support;
