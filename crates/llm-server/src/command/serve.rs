//! `ferrocm serve`: models over HTTP.

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use super::arguments::{bytes, limit, time};
use super::{Limit, LoadArguments, SamplingArguments, Source};
use crate::engine::Engine;
use crate::{ModelEntry, Models, Server, Settings, stop_signal};

const EXAMPLES: &str = "\
Examples:
  ferrocm serve --model smollm2                       at http://127.0.0.1:8080, with a page to chat with
  ferrocm serve --model a.gguf --model small=b.gguf --memory-budget 16GiB --idle-unload 600
                                                      two models, of which one is unloaded for the other
  ferrocm serve --model a.gguf --host 0.0.0.0 --api-key-file key.txt
                                                      for other machines, with a key

SIGTERM and Ctrl-C stop it: running requests are finished first.
Exit status: 0 after a stop, 1 if something failed, 2 for a malformed command line.";

/// Serves language models over HTTP, as OpenAI and Anthropic do
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A model: a file, folder or name, or NAME=FILE to give it a name; may be repeated; the first is the
    /// default
    #[arg(long, value_name = "MODEL", env = variables::MODEL.name)]
    pub model: Vec<String>,
    #[command(flatten)]
    pub(crate) load: LoadArguments,
    /// Requests that a model runs at the same time; others wait
    #[arg(long, value_name = "COUNT", env = variables::PARALLEL.name)]
    pub(crate) parallel: Option<usize>,
    /// The address, or localhost; other machines can only reach an address that is not loopback
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS", value_parser = host, env = variables::HOST.name)]
    pub(crate) host: IpAddr,
    /// The port; 0 for any free one
    #[arg(long, default_value_t = 8080, value_name = "PORT", env = variables::PORT.name)]
    pub(crate) port: u16,
    /// The key that clients must send
    #[arg(long, value_name = "KEY", hide_env_values = true, env = variables::API_KEY.name, conflicts_with = "api_key_file")]
    pub(crate) api_key: Option<String>,
    /// A file with that key
    #[arg(long, value_name = "FILE", env = variables::API_KEY_FILE.name)]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Memory of all loaded models together: the least recently used one is unloaded for another
    #[arg(long, value_name = "BYTES", value_parser = |text: &str| bytes(&variables::MEMORY_BUDGET, text), env = variables::MEMORY_BUDGET.name)]
    pub(crate) memory_budget: Option<Limit<u64>>,
    /// Unload models that are not used for this long
    #[arg(long, value_name = "TIME", value_parser = |text: &str| limit(&variables::IDLE_UNLOAD, text), env = variables::IDLE_UNLOAD.name)]
    pub(crate) idle_unload: Option<Limit<Duration>>,
    /// Requests that run or wait at the same time; others are refused
    #[arg(long, default_value_t = 64, value_name = "COUNT", env = variables::MAX_REQUESTS.name)]
    pub(crate) max_requests: usize,
    /// Open connections
    #[arg(long, default_value_t = 1024, value_name = "COUNT", env = variables::MAX_CONNECTIONS.name)]
    pub(crate) max_connections: usize,
    /// The largest request
    #[arg(long, default_value = "16MiB", value_name = "BYTES", value_parser = |text: &str| bytes(&variables::MAX_BODY, text), env = variables::MAX_BODY.name)]
    pub(crate) max_body: Limit<u64>,
    /// The time for a request's headers
    #[arg(long, default_value = "30", value_name = "TIME", value_parser = |text: &str| time(&variables::HEADER_TIME, text), env = variables::HEADER_TIME.name)]
    pub(crate) header_time: Duration,
    /// The time for a request's body
    #[arg(long, default_value = "60", value_name = "TIME", value_parser = |text: &str| time(&variables::BODY_TIME, text), env = variables::BODY_TIME.name)]
    pub(crate) body_time: Duration,
    /// The time for a whole answer
    #[arg(long, default_value = "3600", value_name = "TIME", value_parser = |text: &str| time(&variables::REQUEST_TIME, text), env = variables::REQUEST_TIME.name)]
    pub(crate) request_time: Duration,
    /// The time after which a client that reads nothing is disconnected
    #[arg(long, default_value = "60", value_name = "TIME", value_parser = |text: &str| time(&variables::STALL_TIME, text), env = variables::STALL_TIME.name)]
    pub(crate) stall_time: Duration,
    /// The time between signs of life while a client waits for text
    #[arg(long, default_value = "5", value_name = "TIME", value_parser = |text: &str| time(&variables::PING_INTERVAL, text), env = variables::PING_INTERVAL.name)]
    pub(crate) ping_interval: Duration,
    /// The time for running requests after the server is told to stop
    #[arg(long, default_value = "30", value_name = "TIME", value_parser = |text: &str| time(&variables::SHUTDOWN_TIME, text), env = variables::SHUTDOWN_TIME.name)]
    pub(crate) shutdown_time: Duration,
    #[command(flatten)]
    pub(crate) sampling: SamplingArguments,
    /// The configuration file
    #[arg(long, value_name = "FILE", env = variables::CONFIG.name)]
    pub(crate) config: Option<PathBuf>,
}

/// An address to listen at. Only one name is known without a network.
fn host(text: &str) -> Result<IpAddr, String> {
    match text {
        "localhost" => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        text => {
            let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
            bare.parse()
                .map_err(|_| "expected an address such as 127.0.0.1, 0.0.0.0 or ::1, or localhost".to_owned())
        }
    }
}

/// A model as it is given: its name, and what loads it.
fn named(model: &str) -> (String, String) {
    if let Some((name, file)) = model.split_once('=')
        && !name.is_empty()
        && !name.contains('/')
    {
        return (name.to_owned(), file.to_owned());
    }
    // A file's name without its ending; a model's name as it is.
    let path = Path::new(model);
    let is_file =
        path.extension().is_some_and(|ending| ending == "gguf") || model.contains('/') && path.exists();
    let name = if is_file { path.file_stem().and_then(|stem| stem.to_str()) } else { None };
    (name.unwrap_or(model).to_owned(), model.to_owned())
}

impl Arguments {
    fn settings(&self) -> anyhow::Result<Settings> {
        let api_key = match &self.api_key_file {
            None => self.api_key.clone(),
            Some(file) => {
                let key =
                    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
                Some(key.trim().to_owned())
            }
        };
        if api_key.as_ref().is_some_and(String::is_empty) {
            bail!("the API key is empty");
        }
        let default = Settings::default();
        Ok(Settings {
            api_key,
            max_requests: self.max_requests,
            max_connections: self.max_connections,
            max_body: self
                .max_body
                .0
                .map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            header_time: self.header_time,
            body_time: self.body_time,
            request_time: self.request_time,
            stall_time: self.stall_time,
            ping_interval: self.ping_interval,
            shutdown_time: self.shutdown_time,
            sampling: self.sampling.sampling()?,
            ..default
        })
    }
}

/// Serves until the process is told to stop.
///
/// # Errors
/// A model cannot be found, or the address is taken.
pub fn run(arguments: &Arguments, source: Arc<dyn Source>) -> anyhow::Result<()> {
    let settings = arguments.settings()?;
    let models: Vec<(String, String)> =
        arguments.model.iter().filter(|model| !model.is_empty()).map(|model| named(model)).collect();
    super::arguments::model(models.first().map(|(_, file)| file))?;
    for (index, (name, _)) in models.iter().enumerate() {
        if models[..index].iter().any(|(other, _)| other == name) {
            bail!("two models have the name {name}: give them others with NAME=FILE");
        }
    }
    let mut options = arguments.load.options();
    options.places = arguments.parallel;
    if models.len() > 1 || arguments.memory_budget.is_some() {
        // The memory is for other models.
        options.keep_numbers.get_or_insert(0);
    }
    let entries = models
        .iter()
        .map(|(name, file)| Ok(ModelEntry { name: name.clone(), bytes: source.bytes(file, &options)? }));
    let entries: Vec<ModelEntry> = entries.collect::<anyhow::Result<_>>()?;
    let first = entries[0].name.clone();
    let load = move |name: &str| -> Result<Arc<dyn Engine>, String> {
        let file = models.iter().find(|(known, _)| known == name).map_or(name, |(_, file)| file);
        source.load(file, &options).map_err(|error| format!("{error:#}"))
    };
    let budget = arguments.memory_budget.and_then(|limit| limit.0);
    let idle = arguments.idle_unload.and_then(|limit| limit.0);
    let models = Arc::new(Models::new(entries, Box::new(load), budget, idle));
    let runtime = tokio::runtime::Runtime::new().context("cannot start threads")?;
    let cut = runtime.block_on(async {
        let stop = stop_signal().context("cannot wait for signals")?;
        let address = SocketAddr::new(arguments.host, arguments.port);
        let server = Server::bind(address, Arc::clone(&models), settings).await;
        let server = server.with_context(|| format!("cannot listen at {address}"))?;
        // A model that cannot be loaded is found now, not at the first request.
        let loaded = models.get(Some(&first)).await;
        drop(loaded.map_err(|error| anyhow::anyhow!(error.message))?);
        let mut out = io::stdout();
        writeln!(out, "http://{}", server.address())?;
        out.flush()?;
        if !arguments.host.is_loopback() && arguments.api_key.is_none() && arguments.api_key_file.is_none() {
            writeln!(io::stderr(), "warning: other machines can use this server, and it asks for no key")?;
        }
        anyhow::Ok(server.run(stop).await)
    })?;
    if cut > 0 {
        writeln!(io::stderr(), "{cut} connections were cut off")?;
    }
    // Threads of engines may still run.
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_address_or_this_machine() {
        assert_eq!(host("localhost"), Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        assert_eq!(host("[::1]"), Ok("::1".parse().unwrap()));
        assert_eq!(host("0.0.0.0"), Ok("0.0.0.0".parse().unwrap()));
        assert!(host("example.org").unwrap_err().contains("such as 127.0.0.1"));
    }

    #[test]
    fn models_are_named_by_their_files_or_as_told() {
        for (given, name, file) in [
            ("smollm2", "smollm2", "smollm2"),
            ("/a/b/Model-Q4.gguf", "Model-Q4", "/a/b/Model-Q4.gguf"),
            ("small=/a/b.gguf", "small", "/a/b.gguf"),
            ("/a=b/c.gguf", "c", "/a=b/c.gguf"),
            ("hf:owner/model", "hf:owner/model", "hf:owner/model"),
        ] {
            assert_eq!(named(given), (name.to_owned(), file.to_owned()), "{given}");
        }
    }
}
