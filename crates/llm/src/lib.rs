//! Language models: their files, their tokenizers, and text generation.
#![warn(missing_docs)]

pub mod chat;
pub mod config;
pub mod engine;
mod error;
pub mod gguf;
pub mod model;
pub mod models;
pub mod tokenizer;
pub mod weights;

pub use error::{Error, Result};
