//! From a model's file to an engine.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use backend::{
    BackendInfo, BackendKind, DType, KernelBackend, KvLayout, ModelMemory, ModelShape, Selected, Steps,
    estimate_model_memory, fit_context, select_backend, select_ranks,
};

use super::device::{Device, Health};
use super::drafter::Drafter;
use super::ranks::Follower;
use super::{Generator, encoder};
use crate::adapter::{Adapter, AdapterOption};
use crate::chat::ChatTemplate;
use crate::config::{Config, Delta, Family};
use crate::engine::{Engine, ModelDescription};
use crate::error::{Error, Result};
use crate::gguf::{GgufFile, TensorInfo};
use crate::model::{self, Bert, Cache};
use crate::random::{self, RandomModel};
use crate::safetensors::SafetensorsFiles;
use crate::tokenizer::Tokenizer;
use crate::weights::{self, Weights};

/// Positions of a page of the cache.
const PAGE: usize = 32;
/// Without a wish, a sequence has this number of positions, or the model's if it has fewer.
const USUAL_CONTEXT: usize = 4096;
/// A context that is shorter than this is not worth loading a model for.
const LEAST_CONTEXT: usize = 256;

type Condition = fn(&BackendInfo) -> bool;

/// Tokens of a prompt that are processed at once without a wish: the first row whose condition holds. Others
/// that generate wait for them, so it is not more than a device needs to be busy.
const CHUNKS: [(Condition, usize); 3] = [
    (|info| matches!(info.kind, BackendKind::Cpu | BackendKind::Virtual), 128),
    // The numbers of quantised matrices are computed for each part of a prompt.
    (|info| info.compute_units >= 100, 2048),
    (|_| true, 512),
];

fn usual_chunk(info: &BackendInfo) -> usize {
    // The last condition always holds.
    CHUNKS.iter().find(|(condition, _)| condition(info)).map_or(512, |row| row.1)
}

/// Without a wish, the bytes for numbers of quantised matrices, of those that are free when the model is
/// there.
fn usual_numbers(kind: BackendKind, free: u64) -> u64 {
    match kind {
        BackendKind::Cpu | BackendKind::Virtual => 0,
        _ => free / 2,
    }
}

/// How much of a model has been loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadProgress {
    /// Bytes that have been read.
    pub read: u64,
    /// Bytes in all.
    pub of: u64,
}

/// Tokens that are guessed before the model computes them: several in one step if the guesses are right, and
/// the same tokens as without guesses in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Speculation {
    /// None.
    #[default]
    Off,
    /// Those that followed when the last tokens occurred before, in the prompt or in the result.
    Lookup {
        /// How many at a time.
        tokens: usize,
    },
    /// Those of a smaller model with the same tokens.
    Draft {
        /// The model's file or folder.
        path: PathBuf,
        /// How many at a time.
        tokens: usize,
    },
}

impl Speculation {
    pub(super) fn tokens(&self) -> usize {
        match self {
            Self::Off => 0,
            Self::Lookup { tokens } | Self::Draft { tokens, .. } => *tokens,
        }
    }
}

/// How an engine runs.
pub struct EngineOptions<'o> {
    /// The device: a name or URI that [`select_backend`] knows.
    pub device: String,
    /// Devices that share the model, from this one on: 1 for this one alone.
    pub ranks: usize,
    /// What runs the steps that are recorded. Where a device cannot do it, the engine does not open.
    pub steps: Steps,
    /// Whether a step begins before the host has read the tokens of the one before, where the device draws
    /// them. The tokens are the same without it, and come later.
    pub ahead: bool,
    /// Positions of a sequence; `None` for those of the model, up to 4096.
    pub context: Option<usize>,
    /// Positions of the cache, for all sequences together; `None` for twice the context.
    pub cache: Option<usize>,
    /// Requests that run at the same time.
    pub places: usize,
    /// Requests that may wait.
    pub queue: usize,
    /// Tokens of a prompt that are processed at once; `None` for 512, or 2048 on GPUs with 100 compute units
    /// or more, or 128 on the CPU and virtual GPUs.
    pub chunk: Option<usize>,
    /// The type of activations; `None` for f32 on the CPU, else f16, or bf16 for models that need its range.
    /// These refuse f16.
    pub activations: Option<DType>,
    /// The type of keys and values; `None` for that of activations.
    pub cache_type: Option<DType>,
    /// Bytes of the device's memory for the numbers of quantised matrices, which are computed once then and
    /// not for each prompt ([`KernelBackend::keep_numbers`]); `None` for half of what is free when the model
    /// is there on a GPU, and nothing on the CPU and virtual GPUs.
    pub keep_numbers: Option<u64>,
    /// Adapters of the model's matrices.
    pub adapters: Vec<AdapterOption>,
    /// Guesses.
    pub speculation: Speculation,
    /// Called while weights are read.
    pub progress: Option<&'o mut dyn FnMut(LoadProgress)>,
}

impl Default for EngineOptions<'_> {
    fn default() -> Self {
        Self {
            device: "auto".into(),
            ranks: 1,
            steps: Steps::Graph,
            ahead: true,
            context: None,
            cache: None,
            places: 16,
            queue: 64,
            chunk: None,
            activations: None,
            cache_type: None,
            keep_numbers: None,
            adapters: Vec::new(),
            speculation: Speculation::Off,
            progress: None,
        }
    }
}

impl fmt::Debug for EngineOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineOptions")
            .field("device", &self.device)
            .field("ranks", &self.ranks)
            .field("steps", &self.steps)
            .field("ahead", &self.ahead)
            .field("context", &self.context)
            .field("cache", &self.cache)
            .field("places", &self.places)
            .field("queue", &self.queue)
            .field("chunk", &self.chunk)
            .field("activations", &self.activations)
            .field("cache_type", &self.cache_type)
            .field("keep_numbers", &self.keep_numbers)
            .field("adapters", &self.adapters)
            .field("speculation", &self.speculation)
            .finish_non_exhaustive()
    }
}

/// Opens a model on a device: a GGUF file, or a folder with `config.json`, safetensors files and
/// `tokenizer.json`, or a safetensors file in it, or the name of a [`random`] model. What a program's user
/// calls a model may be a name: [`models::resolve`](crate::models::resolve) finds the file.
///
/// # Errors
/// Names the file and what is wrong with it, the device and why it cannot be used, or the memory that is
/// missing.
pub fn open(path: impl AsRef<Path>, options: EngineOptions<'_>) -> Result<Arc<dyn Engine>> {
    let (files, config, tokenizer, template) = of_path(path.as_ref())?;
    if config.architecture.family == Family::Bert {
        let Selected { backend, skipped } = select_backend(&options.device)?;
        let description = description(&*files, &config, &backend, skipped);
        let source = Source { files, config, tokenizer, template, description };
        return open_encoder(source, backend, options);
    }
    let (backends, skipped) = match options.ranks {
        0 | 1 => {
            let Selected { backend, skipped } = select_backend(&options.device)?;
            (vec![backend], skipped)
        }
        ranks => (select_ranks(&options.device, ranks)?, Vec::new()),
    };
    let description = description(&*files, &config, &backends[0], skipped);
    let source = Source { files, config, tokenizer, template, description };
    open_generator(source, &backends, options)
}

type Parts = (Box<dyn weights::Source>, Config, Tokenizer, Option<ChatTemplate>);

fn of_path(path: &Path) -> Result<Parts> {
    if let Some(name) = path.to_str().filter(|name| random::is_random(name)) {
        let model = RandomModel::named(name)?;
        let (config, tokenizer) = (model.config()?, model.tokenizer()?);
        return Ok((Box::new(model), config, tokenizer, None));
    }
    let is_part = path.extension().is_some_and(|extension| extension == "safetensors");
    match path.parent() {
        _ if path.is_dir() => of_folder(path),
        Some(folder) if is_part => of_folder(folder),
        _ => of_gguf(path),
    }
}

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
    skipped: Vec<(&'static str, String)>,
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
        device: match backend.shard().size {
            1 => backend.info().to_string(),
            size => format!("{size} × {}", backend.info()),
        },
        notes: skipped.into_iter().map(|(name, reason)| format!("skipped {name}: {reason}")).collect(),
    }
}

fn open_encoder(
    source: Source,
    backend: Arc<dyn KernelBackend>,
    mut options: EngineOptions<'_>,
) -> Result<Arc<dyn Engine>> {
    let Source { files, config, tokenizer, description, .. } = source;
    if let Some(adapter) = options.adapters.first() {
        let problem = "is for a model that generates text, and this is an encoder".into();
        return Err(Error::Adapter { path: adapter.path.clone(), problem });
    }
    if options.steps != Steps::Graph {
        return Err(unable(&config, "is an encoder, whose steps are not recorded".into()));
    }
    let of = description.bytes;
    let mut progress = |read| {
        if let Some(progress) = options.progress.as_mut() {
            progress(LoadProgress { read, of });
        }
    };
    let activations = options.activations.unwrap_or(encoder::DTYPE);
    let model = Bert::load(&config, &mut Weights::new(&*files, &*backend, activations, &mut progress))?;
    Ok(Arc::new(encoder::Encoder {
        description,
        tokenizer,
        backend,
        model,
        activations,
        turn: Mutex::new(()),
    }))
}

fn open_generator(
    source: Source,
    backends: &[Arc<dyn KernelBackend>],
    mut options: EngineOptions<'_>,
) -> Result<Arc<dyn Engine>> {
    let Source { files, config, tokenizer, template, mut description } = source;
    let backend = &backends[0];
    let kind = backend.info().kind;
    backends.iter().try_for_each(|backend| backend.set_steps(options.steps))?;
    let drafter = guessing(&options.speculation, &config, &tokenizer)?;
    let models = || std::iter::once(&config).chain(drafter.iter().map(|(_, config)| config));
    // All have activations of the same type.
    let needs_range = models().find(|config| config.architecture.needs_range);
    let usual = match kind {
        BackendKind::Cpu => DType::F32,
        _ if needs_range.is_some() => DType::BF16,
        _ => DType::F16,
    };
    let activations = options.activations.unwrap_or(usual);
    if let (DType::F16, Some(config)) = (activations, needs_range) {
        let problem = "computes numbers beyond 65504, the largest of f16: its activations can be bf16 or f32";
        return Err(unable(config, problem.into()));
    }
    let cache_type = options.cache_type.unwrap_or(activations);
    let is_slow = matches!(kind, BackendKind::Cpu | BackendKind::Virtual);
    let chunk = options.chunk.unwrap_or(usual_chunk(backend.info()));

    let adapters: Vec<Adapter> =
        options.adapters.iter().map(|option| Adapter::open(option, &config)).collect::<Result<_>>()?;
    for config in models() {
        config.share(backend.shard()).map_err(|problem| unable(config, problem))?;
    }
    let of = description.bytes;
    // Memory is judged before anything is loaded.
    let tokens = chunk.max(options.places);
    let mut memory = memory_of(&*files, &config, activations, tokens, options.places.max(1));
    let mut shapes = config.kv_shapes();
    let of_table = |config: &Config| (config.vocabulary * config.width * activations.block_bytes()) as u64;
    let mut tables = of_table(&config);
    let mut of_states = config.delta.as_ref().map_or(0, Delta::state_bytes);
    if let Some((files, config)) = &drafter {
        let more = memory_of(&**files, config, activations, tokens, options.places.max(1));
        memory.weights = memory.weights.saturating_add(more.weights);
        memory.activations = memory.activations.saturating_add(more.activations);
        shapes.extend(config.kv_shapes());
        tables += of_table(config);
        of_states = of_states.saturating_add(config.delta.as_ref().map_or(0, Delta::state_bytes));
    }
    if !is_slow && backends.len() > 1 {
        // Each has its part of the weights, but all tokens' vectors; the CPU's memory is that of all ranks.
        memory.weights = (memory.weights / backends.len() as u64).saturating_add(tables);
        shapes.iter_mut().for_each(|shape| shape.heads /= backends.len());
        of_states /= backends.len() as u64;
    }
    // Places of states: for those that run, for a text that is embedded, for beginnings that are kept, for
    // those before guesses, zeros.
    let kinds = if options.speculation.tokens() > 0 { 3 } else { 2 };
    let places = kinds * options.places.max(1) + 1;
    memory.activations = memory.activations.saturating_add(of_states.saturating_mul(places as u64 + 1));
    let context = options.context.unwrap_or(config.context.min(USUAL_CONTEXT)).max(2);
    let asked = options.cache.unwrap_or(context.saturating_mul(2)).max(context);
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

    let mut progress = |read: u64| {
        if let Some(progress) = options.progress.as_mut() {
            // What ranks have in common is read several times.
            progress(LoadProgress { read: read.min(of), of });
        }
    };
    let mut read = 0;
    let mut load_one = |backend: &Arc<dyn KernelBackend>,
                        files: &dyn weights::Source,
                        config: &Config,
                        adapters: &[Adapter]|
     -> Result<Device> {
        let before = read;
        let mut progress = |now| {
            read = before + now;
            progress(read);
        };
        let weights = Weights::new(files, &**backend, activations, &mut progress);
        let mut weights = weights.with_adapters(adapters);
        let model = model::load(config, &mut weights)?;
        weights.check_adapters()?;
        let cache = Cache::new(&**backend, model.config(), cache_type, layout, places)?;
        Ok(Device::new(Arc::clone(backend), model, cache, activations, description.context))
    };
    // Each rank has a part of both models. Steps of one never overlap those of the other.
    let health = Health::default();
    let mut load = |files: &dyn weights::Source, config: &Config, adapters: &[Adapter]| -> Result<Device> {
        let device = load_one(backend, files, config, adapters)?;
        let mut followers = Vec::new();
        for (rank, backend) in backends.iter().enumerate().skip(1) {
            followers.push(Follower::start(load_one(backend, files, config, adapters)?, rank)?);
        }
        Ok(device.lead(followers, &health))
    };
    let device = load(&*files, &config, &adapters)?;
    let of_drafter = drafter.as_ref().map_or(0, |(files, _)| numbers_of(&**files, activations));
    let drafter = match &drafter {
        None => None,
        Some((files, config)) => Some(Drafter { device: load(&**files, config, &[])? }),
    };
    let of_numbers = numbers_of(&*files, activations) + of_drafter;
    for backend in backends {
        let most = match options.keep_numbers {
            Some(bytes) => bytes,
            None => usual_numbers(backend.info().kind, backend.memory()?.free),
        };
        let bytes = most.min(of_numbers);
        backend.keep_numbers(bytes)?;
        if bytes > 0 {
            let gib = bytes as f64 / f64::from(1 << 30);
            let note =
                format!("{}: up to {gib:.1} GiB for numbers of quantised matrices", backend.info().uri);
            description.notes.push(note);
        }
    }
    Ok(Arc::new(Generator::start(device, drafter, description, tokenizer, template, &options, chunk)?))
}

fn unable(config: &Config, problem: String) -> Error {
    Error::Unable { model: config.known_as(), problem }
}

/// The bytes of the numbers of all quantised matrices. Those of experts, which lie in one tensor, are
/// multiplied as they are.
fn numbers_of(files: &dyn weights::Source, activations: DType) -> u64 {
    let is_quantised = |kind| DType::from_gguf(kind).is_some_and(|dtype| dtype.is_quantised());
    let is_matrix = |tensor: &&TensorInfo| tensor.shape.len() == 2 && is_quantised(tensor.kind.number());
    let quantised = files.tensors().into_iter().filter(is_matrix);
    quantised.map(|tensor| tensor.elements() as u64 * activations.block_bytes() as u64).sum()
}

/// The bytes of a model's weights and activations.
fn memory_of(
    files: &dyn weights::Source,
    config: &Config,
    activations: DType,
    tokens: usize,
    logits: usize,
) -> ModelMemory {
    let tensors: Vec<_> = files
        .tensors()
        .into_iter()
        .map(|tensor| {
            let quantised = DType::from_gguf(tensor.kind.number()).filter(|dtype| dtype.is_quantised());
            (quantised.unwrap_or(activations), tensor.shape.as_slice())
        })
        .collect();
    let shape = ModelShape {
        hidden: config.width,
        inner: config.experts.map_or(config.feed_forward, |experts| experts.used * experts.feed_forward),
        attention: config.query_width() + config.key_width(),
        vocabulary: config.vocabulary,
        activations,
    };
    estimate_model_memory(tensors, &shape, tokens, logits)
}

/// The model that guesses, if one does; refused if guesses could not be judged.
fn guessing(
    speculation: &Speculation,
    config: &Config,
    tokenizer: &Tokenizer,
) -> Result<Option<(Box<dyn weights::Source>, Config)>> {
    let unable = |config: &Config, problem: &str| unable(config, problem.to_owned());
    let Speculation::Draft { path, .. } = speculation else { return Ok(None) };
    let (files, draft, its_tokenizer, _) = of_path(path)?;
    if draft.architecture.family == Family::Bert {
        return Err(unable(&draft, "is an encoder, which guesses nothing"));
    }
    let tokens = draft.vocabulary.min(config.vocabulary).min(tokenizer.len()) as u32;
    let is_same = draft.vocabulary == config.vocabulary
        && tokenizer.len() == its_tokenizer.len()
        && (0..tokens).all(|token| tokenizer.bytes(token) == its_tokenizer.bytes(token));
    if !is_same {
        return Err(unable(&draft, "has other tokens than the model for which it should guess"));
    }
    Ok(Some((files, draft)))
}
