//! `ferrocm models`: the models that have names.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand};
use serde_json::json;

use super::{CachedModel, Source};

const EXAMPLES: &str = "\
Examples:
  ferrocm models                   what is in the cache, and what can be fetched
  ferrocm models fetch smollm2     fetches a model
  ferrocm models delete smollm2    deletes it from the cache

Exit status: 0 if all is well, 1 if there is no such model or something failed, 2 for a malformed command line.";

/// Lists, fetches and deletes language models
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    pub(crate) action: Option<Action>,
    /// Print JSON; sizes are in bytes
    #[arg(long, env = variables::JSON.name, value_parser = BoolishValueParser::new())]
    pub(crate) json: bool,
    /// The configuration file
    #[arg(long, value_name = "FILE", env = variables::CONFIG.name)]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Action {
    /// Fetches a model into the cache
    Fetch {
        /// Its name
        name: String,
    },
    /// Deletes a model from the cache
    Delete {
        /// Its name
        name: String,
    },
}

/// Does what is asked.
///
/// # Errors
/// There is no such model, or the cache cannot be read or changed.
pub fn run(arguments: &Arguments, source: &dyn Source) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match &arguments.action {
        Some(Action::Fetch { name }) => writeln!(out, "{}", source.fetch(name)?.display())?,
        Some(Action::Delete { name }) => source.delete(name)?,
        None => list(&source.cached()?, arguments.json, &mut out)?,
    }
    Ok(())
}

fn list(models: &[CachedModel], json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        let models = models.iter().map(|model| {
            json!({ "name": model.name, "about": model.about, "path": model.path, "bytes": model.bytes })
        });
        return writeln!(out, "{:#}", json!({ "models": models.collect::<Vec<_>>() }));
    }
    let width = models.iter().map(|model| model.name.len()).max().unwrap_or(0).max("name".len());
    writeln!(out, "{:width$}  {:>10}  {:9}  about", "name", "size", "where")?;
    for model in models {
        let place = if model.path.is_some() { "cache" } else { "not here" };
        writeln!(out, "{:width$}  {:>10}  {place:9}  {}", model.name, size(model.bytes), model.about)?;
    }
    for model in models {
        if let Some(path) = &model.path {
            writeln!(out, "{}: {}", model.name, path.display())?;
        }
    }
    Ok(())
}

/// A number of bytes in a unit that suits it.
pub(crate) fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) => format!("{:.1} {unit}", bytes as f64 / (1_u64 << shift) as f64),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_listed_with_sizes_and_places() {
        let model = |name: &str, path: Option<&str>, bytes| CachedModel {
            name: name.to_owned(),
            about: "a model".to_owned(),
            path: path.map(PathBuf::from),
            bytes,
        };
        let models = [model("one", Some("/a/one.gguf"), 92_000_000), model("other", None, 7)];
        let mut out = Vec::new();
        list(&models, false, &mut out).unwrap();
        let expected = "\
name         size  where      about
one      87.7 MiB  cache      a model
other         7 B  not here   a model
one: /a/one.gguf
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut out = Vec::new();
        list(&models, true, &mut out).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(
            (&value["models"][1]["path"], &value["models"][0]["bytes"]),
            (&json!(null), &json!(92_000_000))
        );
    }
}
