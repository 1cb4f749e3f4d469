//! Errors, each with the file and what is wrong with it.

use std::io;
use std::path::{Path, PathBuf};

use backend::DType;

use crate::gguf::{GgufError, MetadataError};

/// What can fail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused something.
    #[error("cannot {operation} {}: {error}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
    /// A GGUF file cannot be read.
    #[error("{}: {error}", path.display())]
    Gguf {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        error: GgufError,
    },
    /// A value of a model's file is missing or unusable.
    #[error("{}: {error}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// Which, and why.
        #[source]
        error: MetadataError,
    },
    /// A model's file describes a model that cannot be run.
    #[error("{}: the model {problem}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A model lacks a tensor.
    #[error("{}: there is no tensor `{name}`", path.display())]
    NoTensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
    },
    /// A tensor is not as expected.
    #[error("{}: tensor `{name}` {problem}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An adapter cannot be used.
    #[error("{}: the adapter {problem}", path.display())]
    Adapter {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A tokenizer cannot be used.
    #[error("{}: the tokenizer {problem}", path.display())]
    Tokenizer {
        /// The model's file, or the tokenizer's.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A chat template is wrong, or refuses a chat.
    #[error("the chat template, {problem}")]
    Template {
        /// The line and the reason.
        problem: String,
    },
    /// A prompt cannot be processed.
    #[error("the prompt {problem}")]
    Prompt {
        /// Why not.
        problem: String,
    },
    /// A setting of a request is out of range.
    #[error("{name} {problem}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A constraint cannot be used.
    #[error("the constraint {problem}")]
    Constraint {
        /// Why not.
        problem: String,
    },
    /// As many requests wait as may wait. Later, there may be a place.
    #[error("{waiting} requests are waiting, and no more may wait")]
    Busy {
        /// The requests that wait.
        waiting: usize,
    },
    /// The model cannot do this: an encoder does not generate text.
    #[error("the model {model} {problem}")]
    Unable {
        /// The model.
        model: String,
        /// What it cannot do.
        problem: String,
    },
    /// A model was not fetched.
    #[error(transparent)]
    Fetch(Box<crate::models::FetchError>),
    /// The device refused something, or failed.
    #[error(transparent)]
    Backend(#[from] backend::Error),
    /// A model's numbers are no longer finite, so there is no token or vector.
    #[error("the model {model} computed {activations} numbers that are infinite or NaN: {}", hint(*.activations))]
    NotFinite {
        /// The model.
        model: String,
        /// The type of its activations.
        activations: DType,
    },
    /// The device failed while the request ran.
    #[error("the device failed: {reason}")]
    Device {
        /// The device's error.
        reason: String,
    },
    /// The engine no longer runs.
    #[error("the engine has stopped: {reason}")]
    Stopped {
        /// Why.
        reason: String,
    },
}

/// Why numbers of this type may not be finite.
fn hint(activations: DType) -> &'static str {
    match activations {
        DType::F16 => "they may be beyond 65504, the largest of f16, so activations of bf16 or f32 may help",
        _ => "its weights may be damaged, or beyond what this type can represent",
    }
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn io(operation: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), error }
    }
}
