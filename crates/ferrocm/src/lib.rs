//! The program `ferrocm`, the command-line companion of the crates.
//!
//! Its only function is [`main`], which other programs of this project also call. The API follows the program
//! and may change with every version.
#![warn(missing_docs)]
#![deny(unsafe_code)]

mod commands;
mod output;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use setup::Program;

#[cfg(feature = "models")]
use llm_server::command;

#[cfg(feature = "models")]
use crate::commands::language_models::Models;
use crate::commands::{
    bench, devices, doctor, documents, hipcc, hipify, nvcc, patch, replay, rocm, run, setup as set_up,
};

/// This program's name in messages.
const PROGRAM: Program = Program { name: "ferrocm", also_needs: &[] };

/// Status for a malformed command line or device URI.
const USAGE: u8 = 2;

/// ROCm for Rust, with a virtual GPU included: sets up the device compiler, checks it, lists devices,
/// translates CUDA.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, after_help = HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const HELP: &str = "\
Examples:
  ferrocm setup               find or install the device compiler
  ferrocm doctor              check what is installed, and how to get what is missing
  ferrocm devices             list the GPUs that a program can open, with their URIs
  ferrocm run ./saxpy         run a HIP program, on a virtual GPU if there is no other
  ferrocm rocm -- ./saxpy     run it on AMD's own libraries, over a virtual GPU
  ferrocm hipcc a.hip -o a    compile and link a HIP program
  ferrocm nvcc a.cu -o a      compile and link a CUDA program
  ferrocm hipify --check src  report what in CUDA sources does not translate to HIP
  ferrocm patch --checkout DIR engine
                              make a Rust program that uses CUDA run on AMD GPUs
  ferrocm replay run.replay   run what a program did on a GPU again, and compare
  ferrocm bench extract LOG   show speed, memory and loss from a training log
  ferrocm bench compare a.json b.json
                              show which of two training runs is faster, by how much, and its cost
  ferrocm bench run           measure the GPU, and check each result

Exit status: 0 if all is well, 1 if something failed or is missing, 2 for a malformed command line or device URI.";

// Each has its own file in `commands`, with its help.
#[derive(Debug, Subcommand)]
enum Command {
    Setup(set_up::Arguments),
    Doctor(doctor::Arguments),
    Devices(devices::Arguments),
    Run(run::Arguments),
    Rocm(rocm::Arguments),
    // Its options are clang's; `main` handles them before clap.
    Hipcc(hipcc::Arguments),
    Hipconfig(hipcc::ConfigArguments),
    // Its options are nvcc's; `main` handles them before clap.
    Nvcc(nvcc::Arguments),
    Hipify(Box<hipify::Arguments>),
    Patch(patch::Arguments),
    Replay(replay::Arguments),
    Bench(bench::Arguments),
    #[cfg(feature = "models")]
    Generate(Box<command::generate::Arguments>),
    #[cfg(feature = "models")]
    Chat(Box<command::chat::Arguments>),
    #[cfg(feature = "models")]
    Serve(Box<command::serve::Arguments>),
    #[cfg(feature = "models")]
    Embed(command::embed::Arguments),
    #[cfg(feature = "models")]
    Models(command::models::Arguments),
    #[cfg(feature = "models")]
    BenchModel(command::bench::Arguments),
    Completions(documents::Completions),
    Man(documents::Man),
}

/// Executes the command line of this process. Returns the exit status.
pub fn main() -> ExitCode {
    // clap would consume `--`.
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [name, arguments @ ..] = given.as_slice()
        && name == "hipcc"
        && !matches!(arguments, [only] if only == "--help" || only == "-h")
    {
        return exit(hipcc::run(arguments));
    }
    // A link to this program with the name nvcc is nvcc.
    if std::env::args_os().next().is_some_and(|name| Path::new(&name).file_name() == Some("nvcc".as_ref())) {
        return exit(nvcc::run(&given));
    }
    if let [name, arguments @ ..] = given.as_slice()
        && name == "nvcc"
    {
        return exit(nvcc::run(arguments));
    }
    let cli = match parse(&given) {
        Ok(cli) => cli,
        Err(error) => {
            output::tell_error(&error);
            return ExitCode::from(USAGE);
        }
    };
    let result = match cli.command {
        Command::Setup(arguments) => set_up::run(arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Run(arguments) => {
            // Returns only if no program was started.
            let (status, error) = run::run(&arguments);
            output::tell_error(&error);
            return ExitCode::from(status);
        }
        Command::Hipcc(arguments) => return exit(hipcc::run(&arguments.arguments)),
        Command::Nvcc(arguments) => return exit(nvcc::run(&arguments.arguments)),
        Command::Hipconfig(arguments) => hipcc::config(&arguments),
        Command::Rocm(arguments) => rocm::run(&arguments),
        Command::Patch(arguments) => patch::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Completions(arguments) => documents::completions(arguments),
        Command::Man(arguments) => documents::man(&arguments),
        #[cfg(feature = "models")]
        Command::Generate(arguments) => command::generate::run(&arguments, &Models),
        #[cfg(feature = "models")]
        Command::Chat(arguments) => command::chat::run(&arguments, &Models),
        #[cfg(feature = "models")]
        Command::Serve(arguments) => command::serve::run(&arguments, std::sync::Arc::new(Models)),
        #[cfg(feature = "models")]
        Command::Embed(arguments) => command::embed::run(&arguments, &Models),
        #[cfg(feature = "models")]
        Command::Models(arguments) => command::models::run(&arguments, &Models),
        #[cfg(feature = "models")]
        Command::BenchModel(arguments) => command::bench::run(&arguments, &Models),
        // Their exit status reports findings.
        Command::Hipify(arguments) => return hipify::run(&arguments),
        Command::Bench(arguments) => match bench::run(arguments) {
            Ok(status) => return status,
            Err(error) => Err(error),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the output has enough of it, as `head` does.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::tell_error(&error);
            match error.downcast_ref::<hip::Error>() {
                Some(hip::Error::Uri(_) | hip::Error::Environment { .. }) => ExitCode::from(USAGE),
                _ if is_unknown_device(&error) => ExitCode::from(USAGE),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Whether a model was to run on a device that cannot exist.
#[cfg(feature = "models")]
fn is_unknown_device(error: &anyhow::Error) -> bool {
    use backend::Error;
    let Some(llm::Error::Backend(error)) = error.downcast_ref() else { return false };
    match error {
        Error::UnknownBackend(_) => true,
        Error::Hip(error) => matches!(**error, hip::Error::Uri(_)),
        _ => false,
    }
}

#[cfg(not(feature = "models"))]
fn is_unknown_device(_error: &anyhow::Error) -> bool {
    false
}

/// Parses the command line.
#[cfg(not(feature = "models"))]
fn parse(_given: &[OsString]) -> anyhow::Result<Cli> {
    Ok(Cli::parse())
}

/// The commands that the configuration file is for.
#[cfg(feature = "models")]
const CONFIGURED: [&str; 6] = ["generate", "chat", "serve", "embed", "models", "bench-model"];

/// Parses the command line, with what the configuration file says as defaults.
#[cfg(feature = "models")]
fn parse(given: &[OsString]) -> anyhow::Result<Cli> {
    use clap::{CommandFactory, FromArgMatches};
    use command::settings_file;

    let is_configured = given.first().is_some_and(|name| CONFIGURED.iter().any(|command| name == command));
    if !is_configured {
        return Ok(Cli::parse());
    }
    let file = match settings_file::find(given)? {
        Some(path) => Some((settings_file::read(&path)?, path)),
        None => None,
    };
    let file = file.as_ref().map(|(table, path)| (path.as_path(), table));
    let command = settings_file::apply(Cli::command(), file, &CONFIGURED)?;
    let words = std::env::args_os();
    let parsed =
        command.clone().try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches));
    Ok(parsed.unwrap_or_else(|error| settings_file::with_origin(error, &command, given).exit()))
}

/// The given status, or that of a failure.
fn exit(result: anyhow::Result<u8>) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            output::tell_error(&error);
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
