//! The commands of the program `ferrocm` that run models. Where models come from is up to the program: a
//! [`Source`].

mod arguments;
pub mod bench;
pub mod chat;
pub mod embed;
pub mod generate;
pub mod models;
pub mod serve;
mod session;
pub mod settings_file;
mod talk;

pub use arguments::{Limit, LoadArguments, SamplingArguments};

use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::Engine;

/// How a model is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadOptions {
    /// The device's URI; as the program chooses if not given.
    pub device: Option<String>,
    /// The most tokens in prompt and answer together; what fits if not given.
    pub context: Option<usize>,
    /// The type of the keys and values that are kept, such as `f16`.
    pub cache_type: Option<String>,
    /// Requests that run at the same time.
    pub places: Option<usize>,
    /// Devices that share the model; 1 if not given.
    pub ranks: Option<usize>,
    /// What runs recorded steps: `graph` or `hal`; `graph` if not given.
    pub steps: Option<String>,
    /// Bytes of the device's memory for the numbers of quantised matrices; as the engine chooses if not
    /// given.
    pub keep_numbers: Option<u64>,
    /// Adapters: files or folders, with `:` and a factor if it is not 1.
    pub adapters: Vec<String>,
    /// A smaller model that guesses tokens.
    pub draft_model: Option<String>,
    /// How many tokens are guessed at a time.
    pub guesses: Option<usize>,
}

/// A model in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedModel {
    /// The name that loads it.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// Where it is; `None` if it is known but not in the cache.
    pub path: Option<PathBuf>,
    /// Its size on disk, or of the download.
    pub bytes: u64,
}

/// Where models come from.
pub trait Source: Send + Sync {
    /// Loads a model by its file, folder or name.
    ///
    /// # Errors
    /// It cannot be found or loaded; the error names the file and the reason.
    fn load(&self, model: &str, options: &LoadOptions) -> anyhow::Result<Arc<dyn Engine>>;
    /// The memory that a model takes, in bytes, before it is loaded.
    ///
    /// # Errors
    /// It cannot be found or read.
    fn bytes(&self, model: &str, options: &LoadOptions) -> anyhow::Result<u64>;
    /// The models that have names, in the cache or not.
    ///
    /// # Errors
    /// The cache cannot be read.
    fn cached(&self) -> anyhow::Result<Vec<CachedModel>>;
    /// Fetches a model into the cache, and returns where it is.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be fetched.
    fn fetch(&self, name: &str) -> anyhow::Result<PathBuf>;
    /// Deletes a model from the cache.
    ///
    /// # Errors
    /// It is not there, or cannot be deleted.
    fn delete(&self, name: &str) -> anyhow::Result<()>;
}
