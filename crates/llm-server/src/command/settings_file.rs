//! The configuration file: options that are not given otherwise.
//!
//! It is TOML. A key is an option's name without the hyphens before it. Keys at the top hold for every
//! command that has the option; those in a table with a command's name, such as `[serve]`, only for that
//! command. An option on the command line comes first, then its variable, then the file.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use toml::{Table, Value};

/// The option that names the file.
pub const OPTION: &str = "--config";
/// Where the file is in the user's configuration folder.
const PLACE: &str = "ferrocm/config.toml";
/// Larger files are refused.
const LARGEST: u64 = 1 << 20;

/// The file that a command line, the variable or the user's folder names, if there is one.
///
/// # Errors
/// One is named that does not exist.
pub fn find(arguments: &[OsString]) -> anyhow::Result<Option<PathBuf>> {
    if let Some(path) = named(arguments).or_else(|| variables::CONFIG.path()) {
        if !path.is_file() {
            bail!("the configuration file {} does not exist", path.display());
        }
        return Ok(Some(path));
    }
    let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = folder.or_else(|| Some(std::env::home_dir()?.join(".config")));
    Ok(folder.map(|folder| folder.join(PLACE)).filter(|path| path.is_file()))
}

fn named(arguments: &[OsString]) -> Option<PathBuf> {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == OPTION {
            return rest.next().map(PathBuf::from);
        }
        if let Some(path) = argument.to_str().and_then(|text| text.strip_prefix(OPTION)?.strip_prefix('=')) {
            return Some(PathBuf::from(path));
        }
    }
    None
}

/// Reads the file.
///
/// # Errors
/// It cannot be read, is too large, or is not TOML.
pub fn read(path: &Path) -> anyhow::Result<Table> {
    let context = || format!("the configuration file {}", path.display());
    let size = fs::metadata(path).with_context(context)?.len();
    if size > LARGEST {
        bail!("{}: it has {size} bytes, more than {LARGEST}", context());
    }
    let text = fs::read_to_string(path).with_context(context)?;
    text.parse().with_context(context)
}

/// The command line's definition with what a file says as defaults, for these subcommands. Variables that are
/// empty or blank count as not set.
///
/// # Errors
/// The file has a key that no command has, or a value that is no text, number, truth value, or list of these.
pub fn apply(
    mut command: Command,
    file: Option<(&Path, &Table)>,
    subcommands: &[&str],
) -> anyhow::Result<Command> {
    let mut used = Vec::new();
    for name in subcommands {
        let values = file.map(|(_, table)| of_command(table, name)).unwrap_or_default();
        let mut failed = None;
        command = command.mut_subcommand(name, |command| {
            command.mut_args(|arg| {
                let arg = without_blank_variable(arg);
                let value = arg.get_long().and_then(|long| values.iter().find(|(key, ..)| key == long));
                match value {
                    Some((key, value, is_own)) => {
                        used.push((is_own.then(|| (*name).to_owned()), key.clone()));
                        match defaults(&arg, value) {
                            Ok(texts) => arg.default_values(texts).required(false),
                            Err(problem) => {
                                failed = Some(format!("`{key}` {problem}"));
                                arg
                            }
                        }
                    }
                    None => arg,
                }
            })
        });
        if let (Some(problem), Some((path, _))) = (failed, file) {
            bail!("the configuration file {}: {problem}", path.display());
        }
    }
    if let Some((path, table)) = file {
        for (place, key) in keys(table, subcommands) {
            if !used.contains(&(place.clone(), key.clone())) {
                let place = place.map_or_else(
                    || "no command".to_owned(),
                    |command| format!("`{command}`, which does not"),
                );
                let has = if place == "no command" { "has" } else { "have" };
                bail!("the configuration file {}: `{key}` is an option that {place} {has}", path.display());
            }
        }
    }
    Ok(command)
}

/// Adds to an error about an option's value where the value comes from, if it is not on the command line.
pub fn with_origin(mut error: clap::Error, command: &Command, arguments: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else { return error };
    // Such as `--port <PORT>`.
    let option = shown.split([' ', '=']).next().unwrap_or_default().to_owned();
    let is_given = arguments.iter().filter_map(|argument| argument.to_str()).any(|argument| {
        argument.strip_prefix(option.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    });
    let name = arguments.first().and_then(|name| name.to_str()).unwrap_or_default();
    let mut all = command.find_subcommand(name).into_iter().flat_map(Command::get_arguments);
    let arg = all.find(|arg| arg.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long)));
    let variable = arg.and_then(Arg::get_env).filter(|name| std::env::var_os(name).is_some());
    let origin = match variable {
        _ if is_given => return error,
        Some(variable) => format!("the value comes from the variable {}", variable.display()),
        None => "the value comes from the configuration file".to_owned(),
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![origin.into()]));
    error
}

/// The keys of a file, each with the command whose table it is in.
fn keys(table: &Table, subcommands: &[&str]) -> Vec<(Option<String>, String)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if subcommands.contains(&key.as_str()) => {
                found.extend(inner.keys().map(|inner| (Some(key.clone()), inner.clone())));
            }
            _ => found.push((None, key.clone())),
        }
    }
    found
}

/// The values for a command; its own come first.
fn of_command(table: &Table, name: &str) -> Vec<(String, Value, bool)> {
    let own = table.get(name).and_then(Value::as_table).into_iter().flatten();
    let own = own.map(|(key, value)| (key.clone(), value.clone(), true));
    let general = table.iter().filter(|(_, value)| !value.is_table());
    own.chain(general.map(|(key, value)| (key.clone(), value.clone(), false))).collect()
}

fn without_blank_variable(arg: Arg) -> Arg {
    let value = arg.get_env().and_then(std::env::var_os);
    let is_blank = value.is_some_and(|value| value.to_str().is_some_and(|text| text.trim().is_empty()));
    if is_blank { arg.env(None::<&'static str>) } else { arg }
}

/// What a file gives an option, or what is wrong with it.
fn defaults(arg: &Arg, value: &Value) -> Result<Vec<&'static str>, String> {
    let texts: Option<Vec<String>> = match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => text(value).map(|text| vec![text]),
    };
    let Some(texts) = texts else {
        return Err(format!("is {}, not a text, a number, true or false, or a list", value.type_str()));
    };
    if value.is_array() && !matches!(arg.get_action(), ArgAction::Append) {
        return Err("is a list, and the option takes one value".to_owned());
    }
    // Definitions of command lines live as long as the program.
    Ok(texts.into_iter().map(|text| &*text.leak()).collect())
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(is) => Some(is.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::{FromArgMatches, Subcommand};

    use super::*;
    use crate::command::{bench, chat, embed, generate, models, serve};

    #[derive(Debug, Subcommand)]
    enum Commands {
        Generate(generate::Arguments),
        Chat(chat::Arguments),
        Serve(serve::Arguments),
        Embed(embed::Arguments),
        Models(models::Arguments),
        BenchModel(bench::Arguments),
    }

    const NAMES: [&str; 6] = ["generate", "chat", "serve", "embed", "models", "bench-model"];

    fn parse(file: &str, line: &str) -> anyhow::Result<Commands> {
        let table: Table = file.parse()?;
        let command = Commands::augment_subcommands(Command::new("ferrocm"));
        let command = apply(command, Some((Path::new("x.toml"), &table)), &NAMES)?;
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let all = std::iter::once("ferrocm".into()).chain(words.clone());
        let matches = command.clone().try_get_matches_from(all);
        let matches = matches.map_err(|error| with_origin(error, &command, &words))?;
        Ok(Commands::from_arg_matches(&matches)?)
    }

    #[test]
    fn the_file_gives_what_the_command_line_does_not() {
        let file = "model = \"a.gguf\"\ntemperature = 0.5\n[serve]\nport = 9\nmax-requests = 3\nmodel = [\"b\", \"c\"]\n";
        let Commands::Generate(arguments) = parse(file, "generate --prompt hi").unwrap() else { panic!() };
        assert_eq!((arguments.model.as_deref(), arguments.sampling.temperature), (Some("a.gguf"), Some(0.5)));
        let Commands::Generate(arguments) =
            parse(file, "generate --prompt hi --temperature 1 --model d").unwrap()
        else {
            panic!()
        };
        assert_eq!((arguments.model.as_deref(), arguments.sampling.temperature), (Some("d"), Some(1.0)));
        let Commands::Serve(arguments) = parse(file, "serve --port 10").unwrap() else { panic!() };
        assert_eq!(
            (arguments.port, arguments.max_requests, arguments.model),
            (10, 3, vec!["b".to_owned(), "c".to_owned()])
        );
    }

    #[test]
    fn what_the_file_gets_wrong_is_named() {
        for (file, says) in [
            ("colour = 1", "`colour` is an option that no command has"),
            ("[chat]\nport = 1", "`port` is an option that `chat`, which does not have"),
            ("[cook]\nport = 1", "`cook`"),
            ("port = [1]", "`port` is a list"),
            ("port = 1979-05-27", "`port` is datetime"),
            ("port = \"x\"", "invalid value 'x' for '--port"),
            ("port = \"x\"", "the value comes from the configuration file"),
        ] {
            let error = format!("{:#}", parse(file, "serve").expect_err(file));
            assert!(error.contains(says), "{file}: {error}");
        }
    }

    /// Each option can be given as a variable, which is in the table.
    #[test]
    fn every_option_has_a_variable_of_the_table() {
        let command = Commands::augment_subcommands(Command::new("ferrocm"));
        let mut count = 0;
        for subcommand in command.get_subcommands() {
            for arg in
                subcommand.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()))
            {
                let Some(long) = arg.get_long() else { continue };
                let variable = arg.get_env().and_then(|name| name.to_str());
                let name = variable
                    .unwrap_or_else(|| panic!("--{long} of {} has no variable", subcommand.get_name()));
                assert!(
                    variables::ALL.iter().any(|variable| variable.name == name),
                    "{name} is not in the table"
                );
                count += 1;
            }
        }
        assert!(count > 40, "{count}");
    }
}
