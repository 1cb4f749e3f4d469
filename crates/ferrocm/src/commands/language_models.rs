//! The commands that run language models: `llm-server` has them, and `llm` the models.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use backend::DType;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use llm::engine::Engine;
use llm::{EngineOptions, LoadProgress, models};
use llm_server::command::{CachedModel, LoadOptions, Source};

/// What keys and values can be kept as.
const CACHE_TYPES: [DType; 5] = [DType::F32, DType::F16, DType::BF16, DType::F8, DType::I8];

/// The models of the crate `llm`.
#[derive(Debug)]
pub(crate) struct Models;

impl Source for Models {
    fn load(&self, model: &str, options: &LoadOptions) -> anyhow::Result<Arc<dyn Engine>> {
        let path = models::resolve(model)?;
        let bar = bar();
        let mut progress = |LoadProgress { read, of }: LoadProgress| {
            bar.set_length(of);
            bar.set_position(read);
        };
        let mut engine_options = EngineOptions { context: options.context, ..EngineOptions::default() };
        if let Some(device) = &options.device {
            engine_options.device.clone_from(device);
        }
        if let Some(places) = options.places {
            engine_options.places = places;
        }
        if let Some(name) = &options.cache_type {
            let known = CACHE_TYPES.into_iter().find(|dtype| dtype.name().eq_ignore_ascii_case(name));
            engine_options.cache_type = Some(known.with_context(|| {
                let names = CACHE_TYPES.map(DType::name).join(", ");
                format!("`{name}` is no type of keys and values: {names} are")
            })?);
        }
        engine_options.progress = Some(&mut progress);
        let engine = llm::open(&path, engine_options);
        bar.finish_and_clear();
        let engine = engine?;
        for note in &engine.description().notes {
            // `ferrocm devices` has every place that was tried.
            let (first, rest) = note.split_once('\n').unwrap_or((note, ""));
            let first = if rest.is_empty() { first } else { first.trim_end_matches("; tried:") };
            eprintln!("note: {first}");
        }
        Ok(engine)
    }

    fn bytes(&self, model: &str, _options: &LoadOptions) -> anyhow::Result<u64> {
        let path = models::resolve(model)?;
        let metadata = fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(metadata.len())
    }

    fn cached(&self) -> anyhow::Result<Vec<CachedModel>> {
        let here = models::list()?;
        let model = |known: &models::NamedModel| {
            let cached = here.iter().find(|cached| cached.name == known.name);
            let terms = known.terms.map(|terms| format!(", {terms}")).unwrap_or_default();
            CachedModel {
                name: known.name.to_owned(),
                about: format!("{} ({}{terms})", known.about, known.licence),
                path: cached.map(|cached| cached.path.clone()),
                bytes: cached.map_or(known.download, |cached| cached.bytes),
            }
        };
        Ok(models::all().iter().map(model).collect())
    }

    fn fetch(&self, name: &str) -> anyhow::Result<PathBuf> {
        Ok(models::fetch(name)?)
    }

    fn delete(&self, name: &str) -> anyhow::Result<()> {
        if !models::remove(name)? {
            bail!("the model {name} is not in the cache");
        }
        Ok(())
    }
}

/// A bar for the bytes of a model, on a terminal.
fn bar() -> ProgressBar {
    let target =
        if io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    if let Ok(style) = ProgressStyle::with_template("loading {bar:30} {bytes}/{total_bytes}, {eta}") {
        bar.set_style(style);
    }
    bar
}
