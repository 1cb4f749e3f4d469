//! A server of language models over HTTP.
//!
//! It has OpenAI's interface (chat, completions, embeddings, responses), Anthropic's messages, reranking,
//! Prometheus metrics and an OpenAPI document. [`Models`] loads models when they are asked for and unloads
//! them for others, within a memory budget; [`Server`] serves them.
//!
//! ```no_run
//! # async fn run() -> std::io::Result<()> {
//! use llm_server::{ModelEntry, Models, Server, Settings, stop_signal};
//!
//! let entries = vec![ModelEntry { name: "smollm2".to_owned(), bytes: 100 << 20 }];
//! let models = Models::new(entries, Box::new(|name| Err(format!("how to load {name}"))), None, None);
//! let server = Server::bind(([127, 0, 0, 1], 8080).into(), models.into(), Settings::default()).await?;
//! println!("http://{}", server.address());
//! server.run(stop_signal()?).await;
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]
#![forbid(unsafe_code)]

// The tests' engine is also used outside of this crate.
#[cfg(test)]
extern crate self as llm_server;

mod answer;
mod api;
mod app;
#[cfg(feature = "command")]
pub mod command;
mod conversation;
pub mod engine;
mod error;
mod fields;
pub mod formats;
pub mod harmony;
mod http;
mod ids;
mod metrics;
mod models;
pub mod parser;
mod reader;
mod server;
mod settings;
mod sse;

pub use error::{ApiError, ApiResult, Kind};
pub use models::{Lease, Loader, ModelEntry, ModelStatus, Models};
pub use server::{Server, stop_signal};
pub use settings::Settings;
