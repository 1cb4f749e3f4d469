//! Language models: their files, their tokenizers, and text generation.
//!
//! ```no_run
//! use llm::engine::{Event, Request};
//! use llm::tokenizer::SpecialText;
//! use llm::{EngineOptions, models};
//!
//! # fn main() -> llm::Result<()> {
//! let engine = llm::open(models::resolve("smollm2")?, EngineOptions::default())?;
//! let prompt = engine.tokenizer().encode("The capital of France is", SpecialText::Text)?;
//! let mut events = engine.submit(Request::new(prompt))?;
//! while let Some(event) = events.blocking_next() {
//!     if let Event::Token { text, .. } | Event::Finished { text, .. } = event {
//!         print!("{text}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`open`] reads a model's file ([`gguf`], [`safetensors`], [`config`], [`weights`]) and starts an
//! [`Engine`](engine::Engine). [`model`] has the models themselves, which compute through [`backend`];
//! [`tokenizer`] and [`chat`] make prompts of texts.
#![warn(missing_docs)]

pub mod adapter;
pub mod chat;
pub mod config;
pub mod engine;
mod error;
mod generate;
pub mod gguf;
#[cfg(feature = "hub")]
pub mod hub;
mod local;
pub mod model;
pub mod models;
pub mod random;
pub mod safetensors;
pub mod tokenizer;
pub mod weights;

pub use error::{Error, Result};
pub use local::{EngineOptions, LoadProgress, Speculation, open};
