//! The commands that run language models: `llm-server` has them, and `llm` the models.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use backend::DType;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use llm::adapter::AdapterOption;
use llm::engine::Engine;
use llm::models::Fetching;
use llm::{EngineOptions, LoadProgress, Speculation, models};
use llm_server::command::{CachedModel, LoadOptions, Source};

/// What keys and values can be kept as.
const CACHE_TYPES: [DType; 5] = [DType::F32, DType::F16, DType::BF16, DType::F8, DType::I8];

/// Tokens that a draft model guesses at a time.
const GUESSES: usize = 4;

/// The models of the crate `llm`.
#[derive(Debug)]
pub(crate) struct Models;

impl Source for Models {
    fn load(&self, model: &str, options: &LoadOptions) -> anyhow::Result<Arc<dyn Engine>> {
        let path = resolve(model)?;
        let bar = bar("loading");
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
        engine_options.ranks = options.ranks.unwrap_or(1);
        if let Some(name) = &options.steps {
            engine_options.steps = name.parse()?;
        }
        engine_options.keep_numbers = options.keep_numbers;
        engine_options.adapters = options.adapters.iter().map(|text| adapter(text)).collect();
        engine_options.speculation = match (&options.draft_model, options.guesses) {
            (Some(draft), guesses) => {
                Speculation::Draft { path: resolve(draft)?, tokens: guesses.unwrap_or(GUESSES) }
            }
            (None, None | Some(0)) => Speculation::Off,
            (None, Some(tokens)) => Speculation::Lookup { tokens },
        };
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
        Ok(models::bytes(&resolve(model)?)?)
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
        let of_hub = here.iter().filter(|cached| models::named(&cached.name).is_none());
        let of_hub = of_hub.map(|cached| CachedModel {
            name: cached.name.clone(),
            about: "from Hugging Face's hub".to_owned(),
            path: Some(cached.path.clone()),
            bytes: cached.bytes,
        });
        Ok(models::all().iter().map(model).chain(of_hub).collect())
    }

    fn fetch(&self, name: &str) -> anyhow::Result<PathBuf> {
        let bar = bar("fetching");
        let path = models::fetch(name, &mut |now| show(&bar, now));
        bar.finish_and_clear();
        Ok(path?)
    }

    fn delete(&self, name: &str) -> anyhow::Result<()> {
        if !models::remove(name)? {
            bail!("the model {name} is not in the cache");
        }
        Ok(())
    }
}

/// An adapter's file or folder, with `:` and a factor behind it if it is not 1. A file whose own name ends so
/// is taken as it is.
fn adapter(text: &str) -> AdapterOption {
    let scaled = text.rsplit_once(':').filter(|_| !Path::new(text).exists());
    match scaled.and_then(|(path, scale)| Some((path, scale.parse().ok()?))) {
        Some((path, scale)) => AdapterOption { path: path.into(), scale },
        None => AdapterOption { path: text.into(), scale: 1.0 },
    }
}

/// A model's file or folder, fetched if need be.
fn resolve(model: &str) -> anyhow::Result<PathBuf> {
    let bar = bar("fetching");
    let path = models::resolve_with(model, &mut |now| show(&bar, now));
    bar.finish_and_clear();
    Ok(path?)
}

fn show(bar: &ProgressBar, now: Fetching) {
    bar.set_length(now.of);
    bar.set_position(now.here);
}

/// A bar for the bytes of a model, on a terminal.
fn bar(what: &str) -> ProgressBar {
    let target =
        if io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    if let Ok(style) =
        ProgressStyle::with_template(&format!("{what} {{bar:30}} {{bytes}}/{{total_bytes}}, {{eta}}"))
    {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_may_have_a_factor() {
        let read = |text: &str| adapter(text);
        assert_eq!(read("a.gguf"), AdapterOption { path: "a.gguf".into(), scale: 1.0 });
        assert_eq!(read("a.gguf:0.5"), AdapterOption { path: "a.gguf".into(), scale: 0.5 });
        assert_eq!(read("C:a.gguf"), AdapterOption { path: "C:a.gguf".into(), scale: 1.0 });
    }
}
