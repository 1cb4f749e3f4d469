//! Builds of kernels: what they give, what they keep, and what they say when something is wrong.

mod building;
mod compressed;
mod facts;
mod failing;
mod finding;
mod library;
mod nvidia;
mod report;
mod support;
