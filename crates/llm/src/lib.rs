//! Language models: their files, their tokenizers, and text generation.
#![warn(missing_docs)]

pub mod chat;
pub mod engine;
mod error;
pub mod gguf;
pub mod tokenizer;

pub use error::{Error, Result};
