//! Names of types without `typename`: `convert<Traits::Layout>(…)` in a template with the parameter `Traits`.
//!
//! C++ wants `convert<typename Traits::Layout>(…)`. nvcc decides when it instantiates the template, and then
//! knows that it is a type. clang knows it then, too, and refuses it, in messages that name each place. So a
//! source that fails for nothing else is compiled again, with the word in these places.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{Diagnostic, Error, Place, Severity, cuda, limits, overlay};

/// How clang's message begins.
const MESSAGE: &str = "missing 'typename' prior to dependent type name";
/// What such a name gets.
const KEYWORD: &str = "typename ";
/// A name in an inner template is reached after the outer one is right.
const ROUNDS: usize = 8;

/// The words for one compilation.
#[derive(Debug, Default)]
struct Typenames {
    folder: Option<tempfile::TempDir>,
    /// The files with words, under the names by which clang opens them.
    texts: BTreeMap<PathBuf, String>,
    rounds: usize,
}

impl Typenames {
    /// After a compilation failed with these messages: the further arguments with which to try again; `None`
    /// if it is not in CUDA's dialect, and if the messages name other errors, too, or files that are not
    /// there.
    fn again(&mut self, messages: &str, command: &Command) -> Result<Option<[OsString; 2]>, Error> {
        let is_cuda = command.get_args().any(|argument| argument == cuda::DIALECT_OPTION);
        let places = places(messages);
        if !is_cuda || places.is_empty() || self.rounds == ROUNDS {
            return Ok(None);
        }
        self.rounds += 1;
        let replaced = overlay::replaced(command.get_args());
        for place in places {
            let folder = command.get_current_dir().unwrap_or(Path::new(""));
            let name = overlay::named(&folder.join(&place.file));
            if !self.texts.contains_key(&name) {
                let Ok(text) = std::fs::read(replaced.get(&name).unwrap_or(&name)) else { return Ok(None) };
                self.texts.insert(name.clone(), String::from_utf8_lossy(&text).into_owned());
            }
            let is_put = self.texts.get_mut(&name).is_some_and(|text| put(text, &place));
            if !is_put {
                return Ok(None);
            }
        }
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => {
                let folder = tempfile::tempdir();
                folder.map_err(|e| Error::io("create a folder in", std::env::temp_dir(), e))?
            }
        };
        let options = overlay::write_texts(&self.texts, folder.path());
        self.folder = Some(folder);
        options.map(Some)
    }
}

/// The places, from the last to the first, each once; none if there are other errors.
fn places(messages: &str) -> Vec<Place> {
    let errors = Diagnostic::read_all(messages).into_iter();
    let errors = errors.filter(|message| {
        message.severity == Severity::Error && !message.message.starts_with("too many errors emitted")
    });
    let of = |error: Diagnostic| error.place.filter(|_| error.message.starts_with(MESSAGE));
    let mut places: Vec<Place> = errors.map(of).collect::<Option<_>>().unwrap_or_default();
    places.sort_by(|a, b| (&b.file, b.line, b.column).cmp(&(&a.file, a.line, a.column)));
    places.dedup();
    places
}

/// Puts the word in. False if there is no such place, or it has the word.
fn put(text: &mut String, place: &Place) -> bool {
    let line = usize::try_from(place.line).unwrap_or(usize::MAX);
    let start = match line {
        1 => Some(0),
        _ => text.match_indices('\n').nth(line.wrapping_sub(2)).map(|(at, _)| at + 1),
    };
    let column = usize::try_from(place.column).unwrap_or(usize::MAX).saturating_sub(1);
    let Some(at) = start.and_then(|start| start.checked_add(column)) else { return false };
    let is_free = text.get(..at).is_some_and(|before| !before.ends_with(KEYWORD));
    if is_free {
        text.insert_str(at, KEYWORD);
    }
    is_free
}

/// Runs a compilation, and again with the words that its messages ask for. `run` gets copies of the command,
/// with further arguments, and `failed` says what the messages of a failure are.
///
/// # Errors
/// Those of `run`; [`Error::Io`] if a file cannot be written.
pub fn compile<T, E: From<Error>>(
    command: &Command,
    mut run: impl FnMut(Command) -> Result<T, E>,
    failed: impl Fn(&T) -> Option<String>,
) -> Result<T, E> {
    let mut words = Typenames::default();
    let mut further = None;
    loop {
        let mut copy = limits::copy(command, command.get_program());
        copy.args(command.get_args()).args(further.iter().flatten());
        let done = run(copy)?;
        let Some(messages) = failed(&done) else { return Ok(done) };
        further = words.again(&messages, command)?;
        if further.is_none() {
            return Ok(done);
        }
    }
}

/// What a compiler's process wrote to standard error, if it failed.
#[must_use]
pub fn messages(output: &Output) -> Option<String> {
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "template <class K> int f() { return g<K::A>() + g<K::B>(); }\n";

    fn clang() -> Command {
        let mut command = Command::new("clang");
        command.arg(cuda::DIALECT_OPTION);
        command
    }

    fn message(file: &Path, line: u32, column: u32) -> String {
        format!(
            "In file included from x.cu:1:\n{}:{line}:{column}: error: {MESSAGE} 'K::A' (aka 'int')\n  1 | …\n\
             x.cu:9:2: note: in instantiation of function template specialization 'f<X>' requested here\n",
            file.display()
        )
    }

    #[test]
    fn words_are_put_where_messages_say_round_after_round() {
        let folder = tempfile::tempdir().unwrap();
        let header = overlay::named(&folder.path().join("a.h"));
        std::fs::write(&header, HEADER).unwrap();
        let mut seen = Vec::new();
        let done = compile::<_, Error>(
            &clang(),
            |command| {
                let files = overlay::replaced(command.get_args());
                let text = std::fs::read_to_string(files.get(&header).unwrap_or(&header)).unwrap();
                seen.push(text.clone());
                Ok(text)
            },
            |text| {
                let at = |name: &str| text.find(name).unwrap() as u32 + 1;
                // The same place in several instantiations; then another.
                match (text.contains("typename K::A"), text.contains("typename K::B")) {
                    (false, _) => {
                        let one = message(&header, 1, at("K::A"));
                        Some(format!("{one}{one}fatal error: too many errors emitted, stopping now\n"))
                    }
                    (true, false) => Some(message(&header, 1, at("K::B"))),
                    (true, true) => None,
                }
            },
        )
        .unwrap();
        let expected = HEADER.replace("K::A", "typename K::A").replace("K::B", "typename K::B");
        assert_eq!((done, seen.len()), (expected, 3));
        assert_eq!(std::fs::read_to_string(&header).unwrap(), HEADER);
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let header = overlay::named(&folder.path().join("a.h"));
        std::fs::write(&header, HEADER).unwrap();
        let other = format!("{}:1:3: error: expected ';'\n", header.display());
        let command = clang();
        let of = |messages: &str| Typenames::default().again(messages, &command).unwrap();
        assert_eq!(of(&format!("{}{other}", message(&header, 1, 37))), None);
        assert_eq!(of(&other), None);
        assert_eq!(of(""), None);
        // HIP's compiler refuses the same.
        let hip = Typenames::default().again(&message(&header, 1, 37), &Command::new("clang")).unwrap();
        assert_eq!(hip, None);
        assert!(of(&message(&header, 1, 37)).is_some());
        // Places that are not there.
        for (line, column) in [(9, 1), (1, 4000), (0, 0), (u32::MAX, u32::MAX)] {
            assert_eq!(of(&message(&header, line, column)), None, "{line} {column}");
        }
        assert_eq!(of(&message(Path::new("gone.h"), 1, 37)), None);
        // The word does not help twice.
        let mut words = Typenames::default();
        let again = |words: &mut Typenames| words.again(&message(&header, 1, 1), &command).unwrap();
        assert!(again(&mut words).is_some());
        let mut stuck = |column| words.again(&message(&header, 1, column), &command).unwrap();
        assert_eq!(stuck(KEYWORD.len() as u32 + 1), None);
        let mut endless = Typenames::default();
        assert_eq!((0..20).filter(|_| again(&mut endless).is_some()).count(), ROUNDS);
    }
}
