//! Shared by steps: things that one step fetches and others use, and how to run tests.

use std::cell::{Cell, OnceCell};
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use setup::debian::Reach;
use setup::{run, toolchain};
use test_skip::Lack;

use super::skips::{self, Skips};
use super::steps::{Missing, Outcome};
use crate::rocm::headers::{self, Headers};
use crate::rocm::test_tools;
use crate::test_devices::for_test_devices;
use crate::tools::{self, NEXTEST, WHOLE};

/// The seed of property tests, as `proptest` reads it.
const SEED_VARIABLE: &str = "PROPTEST_RNG_SEED";
/// A change is tested with the cases of the change before: a failure is the change's.
const SEED: &str = "1";

/// Integration tests in files with this name need a device; nextest runs them once per device.
pub(super) const DEVICE_TESTS: &str = "binary(/^device/)";
/// The device tests of the kernels.
pub(super) const KERNEL_DEVICE_TESTS: &str = "package(ferrocm-kernels) & binary(/^device/)";
/// The variable for checks of the virtual GPU, and its value for all checks.
pub(super) const CHECK_VARIABLE: &str = "FERROCM_VGPU_CHECK";
pub(super) const ALL_CHECKS: &str = "all";

/// A value that another thread fetches.
type Fetched<T, E> = Cell<Option<JoinHandle<Result<T, E>>>>;

/// State that steps share.
pub(super) struct Shared {
    cache: PathBuf,
    /// The tests' reports of skipping.
    pub(super) skips: Skips,
    /// Fetches the headers while the kernels are compiled. Folders are published atomically, so it may be
    /// abandoned at any time.
    fetched_headers: Fetched<Headers, headers::Error>,
    headers: OnceCell<Result<Headers, Missing>>,
    /// The same for the programs that check tests' results.
    fetched_tools: Fetched<PathBuf, test_tools::Error>,
    tools: OnceCell<Result<PathBuf, Missing>>,
}

impl Shared {
    /// The initial state.
    pub(super) fn new(skips: Skips) -> Result<Self> {
        Ok(Self {
            cache: toolchain::cache_folder()?,
            skips,
            fetched_headers: Cell::new(None),
            headers: OnceCell::new(),
            fetched_tools: Cell::new(None),
            tools: OnceCell::new(),
        })
    }

    /// Starts threads that fetch headers and tools.
    pub(super) fn fetch_ahead(&self) {
        self.fetched_headers.set(Some(thread::spawn(headers::headers)));
        self.fetched_tools.set(Some(thread::spawn(test_tools::folder)));
    }

    /// The headers of all releases.
    pub(super) fn headers(&self) -> Result<Result<&Headers, &Missing>> {
        fetched(&self.headers, &self.fetched_headers, headers::headers, headers::Error::reach)
    }

    /// The folder of the headers of all releases.
    pub(super) fn headers_folder(&self) -> Result<&Path> {
        let found = self.headers()?.map(|found| found.folder.as_path());
        found.map_err(|missing| anyhow!(missing.reason.clone()))
    }

    /// The folder of the programs that check tests' results.
    pub(super) fn tools(&self) -> Result<Result<&PathBuf, &Missing>> {
        fetched(&self.tools, &self.fetched_tools, test_tools::folder, test_tools::Error::reach)
    }

    /// nextest, with the tests recording what they skip, and property tests with the same cases each time.
    pub(super) fn nextest(&self) -> Result<Command> {
        let program = NEXTEST
            .find_or_install(&self.cache)
            .context("cargo-nextest is needed but could not be installed")?;
        let mut command = Command::new(program);
        command.arg("nextest");
        self.skips.collect(&mut command);
        seed(&mut command, env::var_os(SEED_VARIABLE).as_deref());
        Ok(command)
    }

    /// The command that runs tests of the workspace, on a device if they need one.
    pub(super) fn tests(&self, filter: &str, device: Option<&str>) -> Result<Command> {
        let mut command = self.nextest()?;
        command.arg("run").args(WHOLE).args(["--filterset", filter]);
        match device {
            Some(device) => command.env(variables::DEVICE.name, device),
            None => command.env_remove(variables::DEVICE.name),
        };
        let headers = match device {
            // Device tests do not wait for them; they only use headers that are already fetched.
            Some(_) => self.headers.get().and_then(|found| found.as_ref().ok()),
            None => self.headers()?.ok(),
        };
        match headers {
            Some(headers) => command.env(headers::FOLDER_VARIABLE, &headers.folder),
            None => command.env_remove(headers::FOLDER_VARIABLE),
        };
        if device.is_none() {
            // Tests that wait for a time limit or another process leave a processor to one more. Device tests
            // compute all the time.
            let threads = thread::available_parallelism().map_or(1, usize::from) + 1;
            command.args(["--test-threads", &threads.to_string()]);
        }
        // Device tests do not need the tools.
        if device.is_none()
            && let Ok(tools) = self.tools()?
        {
            test_tools::offer(&mut command, tools);
            if headers.is_some() {
                skips::require(&mut command, &[Lack::Tool]);
            }
        }
        Ok(command)
    }
}

/// Gives property tests their seed: what `given` says, `random` for new cases each time.
fn seed(command: &mut Command, given: Option<&OsStr>) {
    match given {
        None => command.env(SEED_VARIABLE, SEED),
        Some(given) if given == "random" => command.env_remove(SEED_VARIABLE),
        Some(_) => command,
    };
}

/// The value that another thread fetches, or this one if none was started; or why the machine lacks it.
fn fetched<'a, T, E: std::error::Error + Send + Sync + 'static>(
    kept: &'a OnceCell<Result<T, Missing>>,
    fetching: &Fetched<T, E>,
    fetch: fn() -> Result<T, E>,
    reach: fn(&E) -> Option<Reach>,
) -> Result<Result<&'a T, &'a Missing>> {
    if kept.get().is_none() {
        let found = match fetching.take() {
            Some(fetching) => fetching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => fetch(),
        };
        let found = match found {
            Ok(found) => Ok(found),
            Err(error) => match reach(&error) {
                Some(reach) => Err(Missing { reach, reason: error.to_string() }),
                None => return Err(error.into()),
            },
        };
        kept.get_or_init(|| found);
    }
    Ok(kept.get().context("it has been fetched")?.as_ref())
}

/// Runs a command in the workspace, without the terminal's input and without a device chosen for something
/// else.
pub(super) fn execute(mut command: Command) -> Result<Outcome> {
    for_test_devices(&mut command);
    command.current_dir(tools::workspace()).stdin(Stdio::null());
    run::run(&mut command)?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn property_tests_have_the_same_seed_unless_told() {
        let seen = |given: Option<&str>| {
            let mut command = Command::new("cargo-nextest");
            seed(&mut command, given.map(OsStr::new));
            let found = command.get_envs().find(|(name, _)| *name == SEED_VARIABLE);
            found.map(|(_, value)| value.map(OsStr::to_owned))
        };
        assert_eq!(seen(None), Some(Some(SEED.into())));
        assert_eq!(seen(Some("random")), Some(None));
        assert_eq!(seen(Some("7")), None, "the command inherits it");
    }
}
