//! From a model's file to an engine.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use backend::{
    BackendKind, DType, KernelBackend, KvLayout, ModelShape, estimate_model_memory, fit_context,
    select_backend,
};

use super::device::Device;
use super::{Generator, encoder};
use crate::chat::ChatTemplate;
use crate::config::{Config, Delta, Family};
use crate::engine::{Engine, ModelDescription};
use crate::error::Result;
use crate::gguf::GgufFile;
use crate::model::{self, Bert, Cache};
use crate::safetensors::SafetensorsFiles;
use crate::tokenizer::Tokenizer;
use crate::weights::{self, Weights};

/// Positions of a page of the cache.
const PAGE: usize = 32;
/// Without a wish, a sequence has this number of positions, or the model's if it has fewer.
const USUAL_CONTEXT: usize = 4096;
/// A context that is shorter than this is not worth loading a model for.
const LEAST_CONTEXT: usize = 256;

/// How much of a model has been loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadProgress {
    /// Bytes that have been read.
    pub read: u64,
    /// Bytes in all.
    pub of: u64,
}

/// How an engine runs.
pub struct EngineOptions<'o> {
    /// The device: a name or URI that [`select_backend`] knows.
    pub device: String,
    /// Positions of a sequence; `None` for those of the model, up to 4096.
    pub context: Option<usize>,
    /// Positions of the cache, for all sequences together; `None` for twice the context.
    pub cache: Option<usize>,
    /// Requests that run at the same time.
    pub places: usize,
    /// Requests that may wait.
    pub queue: usize,
    /// Tokens of a prompt that are processed at once; `None` for 512, or 128 on the CPU and virtual GPUs.
    pub chunk: Option<usize>,
    /// The type of activations; `None` for f32 on the CPU, else f16, or bf16 for models that need its range.
    pub activations: Option<DType>,
    /// The type of keys and values; `None` for that of activations.
    pub cache_type: Option<DType>,
    /// Called while weights are read.
    pub progress: Option<&'o mut dyn FnMut(LoadProgress)>,
}

impl Default for EngineOptions<'_> {
    fn default() -> Self {
        Self {
            device: "auto".into(),
            context: None,
            cache: None,
            places: 16,
            queue: 64,
            chunk: None,
            activations: None,
            cache_type: None,
            progress: None,
        }
    }
}

impl fmt::Debug for EngineOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineOptions")
            .field("device", &self.device)
            .field("context", &self.context)
            .field("cache", &self.cache)
            .field("places", &self.places)
            .field("queue", &self.queue)
            .field("chunk", &self.chunk)
            .field("activations", &self.activations)
            .field("cache_type", &self.cache_type)
            .finish_non_exhaustive()
    }
}

/// Opens a model on a device: a GGUF file, or a folder with `config.json`, safetensors files and
/// `tokenizer.json`, or a safetensors file in it. What a program's user calls a model may be a name:
/// [`models::resolve`](crate::models::resolve) finds the file.
///
/// # Errors
/// Names the file and what is wrong with it, the device and why it cannot be used, or the memory that is
/// missing.
pub fn open(path: impl AsRef<Path>, options: EngineOptions<'_>) -> Result<Arc<dyn Engine>> {
    let path = path.as_ref();
    let is_part = path.extension().is_some_and(|extension| extension == "safetensors");
    let folder = match path.parent() {
        _ if path.is_dir() => Some(path),
        Some(folder) if is_part => Some(folder),
        _ => None,
    };
    let (files, config, tokenizer, template) = match folder {
        Some(folder) => of_folder(folder)?,
        None => of_gguf(path)?,
    };
    let selected = select_backend(&options.device)?;
    let mut description = description(&*files, &config, &selected.backend);
    for (name, reason) in selected.skipped {
        description.notes.push(format!("skipped {name}: {reason}"));
    }
    let source = Source { files, config, tokenizer, template, description };
    if source.config.architecture.family == Family::Bert {
        open_encoder(source, selected.backend, options)
    } else {
        open_generator(source, selected.backend, options)
    }
}

type Parts = (Box<dyn weights::Source>, Config, Tokenizer, Option<ChatTemplate>);

fn of_gguf(path: &Path) -> Result<Parts> {
    let file = GgufFile::open(path)?;
    let rows = file.tensor("token_embd.weight").map_or(0, |table| table.shape[0]);
    let config = Config::of_metadata(file.metadata(), rows, path)?;
    let tokenizer = Tokenizer::from_metadata(file.metadata(), path)?;
    let template = ChatTemplate::of_metadata(file.metadata(), &tokenizer)?;
    Ok((Box::new(file), config, tokenizer, template))
}

fn of_folder(folder: &Path) -> Result<Parts> {
    let mut config = Config::of_folder(folder)?;
    if config.name.is_none() {
        config.name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    }
    let files = SafetensorsFiles::open(folder, config.architecture)?;
    let tokenizer = Tokenizer::from_json(folder.join("tokenizer.json"))?;
    let template = ChatTemplate::of_folder(folder, &tokenizer)?;
    Ok((Box::new(files), config, tokenizer, template))
}

/// What a model's files contain.
struct Source {
    files: Box<dyn weights::Source>,
    config: Config,
    tokenizer: Tokenizer,
    template: Option<ChatTemplate>,
    description: ModelDescription,
}

fn description(
    files: &dyn weights::Source,
    config: &Config,
    backend: &Arc<dyn KernelBackend>,
) -> ModelDescription {
    let mut bytes_of: HashMap<String, u64> = HashMap::new();
    let (mut parameters, mut bytes) = (0, 0);
    for tensor in files.tensors() {
        let size = tensor.bytes.unwrap_or(0) as u64;
        parameters += tensor.elements() as u64;
        bytes += size;
        *bytes_of.entry(tensor.kind.to_string()).or_default() += size;
    }
    let most = bytes_of.into_iter().max_by_key(|(name, bytes)| (*bytes, name.clone()));
    let stem = files.path().file_stem().map(|stem| stem.to_string_lossy().into_owned());
    ModelDescription {
        name: config.name.clone().or(stem).unwrap_or_default(),
        architecture: config.architecture.name.to_owned(),
        context: config.context,
        trained_context: config.context,
        parameters,
        bytes,
        weights: most.map(|(name, _)| name).unwrap_or_default(),
        width: config.width,
        vocabulary: config.vocabulary,
        generates: config.architecture.family != Family::Bert,
        device: backend.info().to_string(),
        notes: Vec::new(),
    }
}

fn open_encoder(
    source: Source,
    backend: Arc<dyn KernelBackend>,
    mut options: EngineOptions<'_>,
) -> Result<Arc<dyn Engine>> {
    let Source { files, config, tokenizer, description, .. } = source;
    let of = description.bytes;
    let mut progress = |read| {
        if let Some(progress) = options.progress.as_mut() {
            progress(LoadProgress { read, of });
        }
    };
    let dtype = options.activations.unwrap_or(encoder::DTYPE);
    let model = Bert::load(&config, &mut Weights::new(&*files, &*backend, dtype, &mut progress))?;
    Ok(Arc::new(encoder::Encoder { description, tokenizer, backend, model, turn: Mutex::new(()) }))
}

fn open_generator(
    source: Source,
    backend: Arc<dyn KernelBackend>,
    mut options: EngineOptions<'_>,
) -> Result<Arc<dyn Engine>> {
    let Source { files, config, tokenizer, template, mut description } = source;
    let kind = backend.info().kind;
    let usual = match kind {
        BackendKind::Cpu => DType::F32,
        _ if config.architecture.needs_range => DType::BF16,
        _ => DType::F16,
    };
    let activations = options.activations.unwrap_or(usual);
    let cache_type = options.cache_type.unwrap_or(activations);
    let is_slow = matches!(kind, BackendKind::Cpu | BackendKind::Virtual);
    let chunk = options.chunk.unwrap_or(if is_slow { 128 } else { 512 });

    let of = description.bytes;
    // Memory is judged before anything is loaded.
    let tensors: Vec<_> = files
        .tensors()
        .into_iter()
        .map(|tensor| {
            let quantised = DType::from_gguf(tensor.kind.number()).filter(|dtype| dtype.is_quantised());
            (quantised.unwrap_or(activations), tensor.shape.as_slice())
        })
        .collect();
    let inner = config.experts.map_or(config.feed_forward, |experts| experts.used * experts.feed_forward);
    let shape = ModelShape {
        hidden: config.width,
        inner,
        attention: config.query_width() + config.key_width(),
        vocabulary: config.vocabulary,
        activations,
    };
    let mut memory = estimate_model_memory(tensors, &shape, chunk.max(options.places), options.places.max(1));
    // Places of states: for those that run, for a text that is embedded, for beginnings that are kept, zeros.
    let places = 2 * options.places.max(1) + 1;
    let of_states = config.delta.as_ref().map_or(0, Delta::state_bytes);
    memory.activations = memory.activations.saturating_add(of_states.saturating_mul(places as u64 + 1));
    let shapes = config.kv_shapes();
    let context = options.context.unwrap_or(config.context.min(USUAL_CONTEXT)).max(2);
    let asked = options.cache.unwrap_or(2 * context).max(context);
    let free = backend.memory()?.free;
    let fitted = fit_context(free, memory, cache_type, &shapes, 1, (asked, LEAST_CONTEXT))?;
    let layout = KvLayout { pages: (fitted.positions / PAGE).max(1), page: PAGE };
    description.context = context.min(layout.positions());
    if description.context < context || fitted.is_less() {
        description.notes.push(fitted.to_string());
    }
    if context > config.context {
        description
            .notes
            .push(format!("a context of {context} positions; the model was trained with {}", config.context));
    }

    let mut progress = |read| {
        if let Some(progress) = options.progress.as_mut() {
            progress(LoadProgress { read, of });
        }
    };
    let model = model::load(&config, &mut Weights::new(&*files, &*backend, activations, &mut progress))?;
    let cache = Cache::new(&*backend, &config, cache_type, layout, places)?;
    let device = Device::new(backend, model, cache, description.context);
    Ok(Arc::new(Generator::start(device, description, tokenizer, template, &options, chunk)?))
}
