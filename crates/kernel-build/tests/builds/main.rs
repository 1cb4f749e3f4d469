//! Builds of kernels: results, cache and errors.

mod building;
mod compressed;
mod facts;
mod failing;
mod finding;
mod library;
mod nvidia;
mod report;
mod support;
