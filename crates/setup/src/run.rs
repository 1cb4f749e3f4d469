//! Running other programs, with errors that name them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Why a program failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// It ended with a failure.
    #[error("{command} failed ({status}){}", excerpt(output))]
    Failed {
        /// The command, as typed.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// What it printed.
        output: String,
    },
}

impl Error {
    /// Whether the program failed because a disk is full.
    pub fn is_disk_full(&self) -> bool {
        let full = "No space left on device";
        matches!(self, Self::Failed { output, .. } if output.contains(full) || output.contains("enough free space"))
    }
}

fn excerpt(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = &lines[lines.len().saturating_sub(12)..];
    shown.iter().map(|line| format!("\n    {line}")).collect()
}

/// The first line of a message, shortened for tables.
pub fn headline(message: &str) -> String {
    const LONGEST: usize = 90;
    let line = message.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The command as a person would type it.
pub fn describe(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .map(|word| match word.is_empty() || word.contains([' ', '(', '&', '|', '*', '"']) {
            true => format!("'{word}'"),
            false => word.into_owned(),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn start_error(command: &Command, source: std::io::Error) -> Error {
    Error::Start { program: command.get_program().to_string_lossy().into_owned(), source }
}

/// Runs a command to its end, with the terminal's streams.
pub fn run(command: &mut Command) -> Result<(), Error> {
    let status = command.status().map_err(|source| start_error(command, source))?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::Failed { command: describe(command), status, output: String::new() }),
    }
}

/// Runs a command to its end and returns its stdout; stderr becomes part of the error.
pub fn capture(command: &mut Command) -> Result<String, Error> {
    let output = command.stdin(Stdio::null()).output().map_err(|source| start_error(command, source))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Error::Failed {
            command: describe(command),
            status: output.status,
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        }),
    }
}

/// First line of a program's output, or `None` if the program fails.
pub fn output_of(program: &str, args: &[&str]) -> Option<String> {
    let text = capture(Command::new(program).args(args)).ok()?;
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// Finds a program in `PATH`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    find_program_in(name, std::env::var_os("PATH").as_deref()?)
}

/// Finds a program in a list of folders.
pub fn find_program_in(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut Command::new("no-such-program-here")).expect_err("cannot start");
        assert!(error.to_string().starts_with("cannot start no-such-program-here"), "{error}");
    }

    #[test]
    fn a_failure_shows_the_command_and_its_last_lines() {
        let error = capture(Command::new("sh").args(["-c", "echo first >&2; echo last >&2; exit 3"]));
        let text = error.expect_err("fails").to_string();
        assert!(text.contains("sh -c 'echo first") && text.contains("exit status: 3"), "{text}");
        assert!(text.ends_with("\n    last"), "{text}");
    }

    #[test]
    fn headlines_are_one_line_of_bearable_length() {
        assert_eq!(headline("first\nsecond"), "first");
        assert_eq!(headline(&"ü".repeat(200)), format!("{}…", "ü".repeat(90)));
        assert_eq!(headline(""), "");
    }

    #[test]
    fn programs_are_found_only_where_executable() {
        let folder = tempfile::tempdir().expect("temp folder");
        std::fs::write(folder.path().join("tool"), "").expect("write");
        assert_eq!(find_program_in("tool", folder.path().as_os_str()), None);
        assert!(find_program_in("sh", OsStr::new("/nonexistent:/bin")).is_some());
    }
}
