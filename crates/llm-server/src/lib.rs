//! A server of language models over HTTP.

pub mod engine;
