//! Compilations that run again with changed texts.
//!
//! nvcc accepts some sources that clang refuses, in messages that name each place. If all errors are of these
//! kinds, the places are changed as the rule of each kind says, and the source is compiled again: names of
//! types get `typename`, and host code loses the bodies of kernels in which it fails.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{Diagnostic, Error, Place, Severity, bodies, cuda, limits, overlay, typenames};

/// A changed text can reach further errors, such as those of an inner template.
const ROUNDS: usize = 8;
/// How clang's remark about instantiations that it does not name ends.
const HIDDEN: &str = "use -ftemplate-backtrace-limit=0 to see all)";
const ALL_SHOWN: &str = "-ftemplate-backtrace-limit=0";

/// An error and its notes.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Diagnostic,
    pub(crate) notes: Vec<Diagnostic>,
}

/// What a text gets in a range of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// The texts of one compilation.
#[derive(Debug)]
pub(crate) struct Texts<'a> {
    command: &'a Command,
    /// Those that were changed or looked at, under the names by which clang opens them.
    texts: BTreeMap<PathBuf, String>,
    changed: BTreeSet<PathBuf>,
    /// The files that the command reads instead of others.
    replaced: BTreeMap<PathBuf, PathBuf>,
}

impl<'a> Texts<'a> {
    fn new(command: &'a Command) -> Self {
        let replaced = overlay::replaced(command.get_args());
        Self { command, texts: BTreeMap::new(), changed: BTreeSet::new(), replaced }
    }

    /// Whether the command compiles for the host only.
    pub(crate) fn is_host(&self) -> bool {
        self.command.get_args().any(|argument| argument == "--offload-host-only")
    }

    /// The text of a place's file, and the place's offset in it, if both are there.
    pub(crate) fn at(&mut self, place: &Place) -> Option<(PathBuf, &str, usize)> {
        let name = self.name(place);
        if !self.texts.contains_key(&name) {
            let text = std::fs::read(self.replaced.get(&name).unwrap_or(&name)).ok()?;
            self.texts.insert(name.clone(), String::from_utf8_lossy(&text).into_owned());
        }
        let text = self.texts.get(&name)?;
        let at = offset(text, place)?;
        Some((name, text, at))
    }

    fn name(&self, place: &Place) -> PathBuf {
        overlay::named(&self.command.get_current_dir().unwrap_or(Path::new("")).join(&place.file))
    }

    /// Makes edits, each once. One inside another is the outer one's.
    fn edit(&mut self, mut edits: Vec<(PathBuf, Edit)>) {
        edits.sort_by(|(a, x), (b, y)| (a, x.range.start, y.range.end).cmp(&(b, y.range.start, x.range.end)));
        let mut kept: Vec<(PathBuf, Edit)> = Vec::new();
        for (name, edit) in edits {
            let is_inside = kept.last().is_some_and(|(last, outer)| {
                *last == name && (edit == *outer || edit.range.start < outer.range.end)
            });
            if !is_inside {
                kept.push((name, edit));
            }
        }
        for (name, edit) in kept.into_iter().rev() {
            if let Some(text) = self.texts.get_mut(&name) {
                text.replace_range(edit.range, &edit.text);
                self.changed.insert(name);
            }
        }
    }

    /// Those that were changed.
    fn changed(&self) -> impl Iterator<Item = (&PathBuf, &str)> {
        self.texts
            .iter()
            .filter(|(name, _)| self.changed.contains(*name))
            .map(|(name, text)| (name, text.as_str()))
    }
}

/// The offset of a place in a text.
fn offset(text: &str, place: &Place) -> Option<usize> {
    let line = usize::try_from(place.line).ok()?.checked_sub(1)?;
    let start = match line {
        0 => 0,
        _ => text.match_indices('\n').nth(line - 1)?.0 + 1,
    };
    let at = start.checked_add(usize::try_from(place.column).ok()?.checked_sub(1)?)?;
    text.is_char_boundary(at).then_some(at)
}

/// The errors of a compilation, each with its notes.
fn failures(messages: &str) -> Vec<Failure> {
    let mut found: Vec<Failure> = Vec::new();
    // Notes of warnings are nobody's.
    let mut is_errors = false;
    for message in Diagnostic::read_all(messages) {
        match message.severity {
            Severity::Note => {
                if let Some(last) = found.last_mut().filter(|_| is_errors) {
                    last.notes.push(message);
                }
            }
            Severity::Error if message.message.starts_with("too many errors emitted") => is_errors = false,
            Severity::Error => {
                found.push(Failure { error: message, notes: Vec::new() });
                is_errors = true;
            }
            Severity::Warning | Severity::Remark => is_errors = false,
        }
    }
    found
}

/// What makes a failure disappear, by the first rule that knows.
fn mend(failure: &Failure, texts: &mut Texts<'_>) -> Option<(PathBuf, Edit)> {
    typenames::mend(failure, texts).or_else(|| bodies::mend(failure, texts))
}

/// Runs a compilation, and again while its messages ask for changes that are made. `run` gets copies of the
/// command, with further arguments, and `failed` says what the messages of a failure are. Only CUDA's dialect
/// has such changes.
///
/// # Errors
/// Those of `run`; [`Error::Io`] if a file cannot be written.
pub fn compile<T, E: From<Error>>(
    command: &Command,
    mut run: impl FnMut(Command) -> Result<T, E>,
    failed: impl Fn(&T) -> Option<String>,
) -> Result<T, E> {
    let is_cuda = command.get_args().any(|argument| argument == cuda::DIALECT_OPTION);
    let mut texts = Texts::new(command);
    let mut folder = None;
    let mut further: Vec<OsString> = Vec::new();
    let mut run = |further: &[OsString]| {
        let mut copy = limits::copy(command, command.get_program());
        copy.args(command.get_args()).args(further);
        run(copy)
    };
    let mut done = run(&further)?;
    for _ in 0..ROUNDS {
        let Some(messages) = failed(&done).filter(|_| is_cuda) else { break };
        let mut failures = failures(&messages);
        if messages.contains(HIDDEN) && texts.is_host() {
            let all = [&further[..], &[ALL_SHOWN.into()]].concat();
            failures = failed(&run(&all)?).map_or_else(Vec::new, |messages| self::failures(&messages));
        }
        let edits: Option<Vec<_>> = failures.iter().map(|failure| mend(failure, &mut texts)).collect();
        let Some(edits) = edits.filter(|edits| !edits.is_empty()) else { break };
        texts.edit(edits);
        let folder = match &folder {
            Some(folder) => folder,
            None => {
                let made = tempfile::tempdir();
                folder.insert(made.map_err(|e| Error::io("create a folder in", std::env::temp_dir(), e))?)
            }
        };
        further = overlay::write_texts(texts.changed(), folder.path())?.into();
        done = run(&further)?;
    }
    Ok(done)
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
    const KERNELS: &str = "template <class K> __device__ int h() { return K::on_device(); }\n\
        template <class K> __global__ void __launch_bounds__(64) k(int* x) {\n  *x = h<K>();\n}\n\
        __global__ void other(int* x);\nvoid launch(int* x) { k<int><<<1, 1>>>(x); }\n";

    fn clang(more: &[&str]) -> Command {
        let mut command = Command::new("clang");
        command.arg(cuda::DIALECT_OPTION).args(more);
        command
    }

    fn error(file: &Path, line: u32, column: u32, message: &str) -> String {
        format!("{}:{line}:{column}: error: {message}\n  1 | …\n", file.display())
    }

    fn note(file: &Path, line: u32, column: u32) -> String {
        let place = format!("{}:{line}:{column}", file.display());
        format!("{place}: note: in instantiation of function template specialization 'f<X>' requested here\n")
    }

    fn lacks_word(file: &Path, line: u32, column: u32) -> String {
        let message = "missing 'typename' prior to dependent type name 'K::A' (aka 'int')";
        format!("In file included from x.cu:1:\n{}{}", error(file, line, column, message), note(file, 9, 2))
    }

    /// A header with a text, and its name for clang.
    fn header(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let header = overlay::named(&folder.path().join("a.h"));
        std::fs::write(&header, text).unwrap();
        (folder, header)
    }

    /// What the compiler reads in each run, if it answers like this to what it reads and to its arguments.
    fn texts(
        command: &Command,
        header: &Path,
        answer: impl Fn(&str, &[String]) -> Option<String>,
    ) -> Vec<String> {
        let mut seen = Vec::new();
        let run = |command: Command| {
            let files = overlay::replaced(command.get_args());
            let text = std::fs::read_to_string(files.get(header).map_or(header, PathBuf::as_path)).unwrap();
            let arguments =
                command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect();
            seen.push(text.clone());
            Ok::<_, Error>((text, arguments))
        };
        compile(command, run, |(text, arguments): &(String, Vec<String>)| answer(text, arguments)).unwrap();
        seen
    }

    #[test]
    fn words_are_put_where_messages_say_round_after_round() {
        let (_folder, header) = header(HEADER);
        let seen = texts(&clang(&[]), &header, |text, _| {
            let at = |name: &str| text.find(name).unwrap() as u32 + 1;
            // The same place in several instantiations; then another.
            match (text.contains("typename K::A"), text.contains("typename K::B")) {
                (false, _) => {
                    let one = lacks_word(&header, 1, at("K::A"));
                    Some(format!("{one}{one}fatal error: too many errors emitted, stopping now\n"))
                }
                (true, false) => Some(lacks_word(&header, 1, at("K::B"))),
                (true, true) => None,
            }
        });
        assert_eq!(seen.len(), 3);
        assert_eq!(seen[2], HEADER.replace("K::A", "typename K::A").replace("K::B", "typename K::B"));
        assert_eq!(std::fs::read_to_string(&header).unwrap(), HEADER);
    }

    #[test]
    fn the_host_does_without_the_bodies_of_kernels_that_fail() {
        let (_folder, header) = header(KERNELS);
        let failed = |text: &str| {
            let no_member = error(&header, 1, 46, "no member named 'on_device' in 'X'");
            let chain = format!("{no_member}{}{}", note(&header, 3, 8), note(&header, 6, 24));
            text.contains("*x = h<K>();").then(|| format!("a.h:1:1: warning: w\n{chain}1 error generated.\n"))
        };
        let host = clang(&["--offload-host-only"]);
        let seen = texts(&host, &header, |text, _| failed(text));
        assert_eq!(seen[1..], [KERNELS.replace("\n  *x = h<K>();\n", "\n\n")]);
        // Which kernel it is may be among the notes that clang does not print.
        let seen = texts(&host, &header, |text, arguments| {
            let all = failed(text)?;
            let is_all = arguments.iter().any(|argument| argument == ALL_SHOWN);
            let hidden = format!("note: (skipping 7 contexts in backtrace; {HIDDEN}\n");
            Some(if is_all { all } else { all.replace(&note(&header, 3, 8), &hidden) })
        });
        assert_eq!((seen.len(), seen[2].contains("h<K>();")), (3, false));
        // Errors of code for the device, and of host code, stay.
        assert_eq!(texts(&clang(&["--offload-device-only"]), &header, |text, _| failed(text)).len(), 1);
        let own = || error(&header, 6, 1, "unknown type name 'vod'");
        assert_eq!(texts(&host, &header, |_, _| Some(own())).len(), 1);
        assert_eq!(texts(&host, &header, |text, _| Some(failed(text)? + &own())).len(), 1);
        // An empty kernel does not get emptier.
        let (_folder, empty) = self::header("__global__ void k() {\n}\n");
        assert_eq!(texts(&host, &empty, |_, _| Some(error(&empty, 2, 1, "what"))).len(), 1);
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        let (_folder, header) = header(HEADER);
        let other = error(&header, 1, 3, "expected ';'");
        let runs = |command: &Command, messages: &str| {
            texts(command, &header, |text, _| (text == HEADER).then(|| messages.to_owned())).len()
        };
        let word = lacks_word(&header, 1, 37);
        assert_eq!(runs(&clang(&[]), &word), 2);
        assert_eq!(runs(&clang(&[]), &format!("{word}{other}")), 1);
        assert_eq!(runs(&clang(&[]), &other), 1);
        assert_eq!(runs(&clang(&[]), ""), 1);
        // HIP's compiler refuses the same.
        assert_eq!(runs(&Command::new("clang"), &word), 1);
        // Places that are not there.
        for (line, column) in [(9, 1), (1, 4000), (0, 0), (u32::MAX, u32::MAX)] {
            assert_eq!(runs(&clang(&[]), &lacks_word(&header, line, column)), 1, "{line} {column}");
        }
        assert_eq!(runs(&clang(&[]), &lacks_word(Path::new("gone.h"), 1, 37)), 1);
        // The word does not help twice, and not for ever.
        let stuck =
            |text: &str, _: &[String]| Some(lacks_word(&header, 1, 1 + 9 * u32::from(text != HEADER)));
        assert_eq!(texts(&clang(&[]), &header, stuck).len(), 2);
        let endless = |_: &str, _: &[String]| Some(lacks_word(&header, 1, 1));
        assert_eq!(texts(&clang(&[]), &header, endless).len(), ROUNDS + 1);
    }

    #[test]
    fn an_edit_inside_another_one_is_not_made() {
        let (_folder, header) = header("0123456789");
        let command = clang(&[]);
        let mut texts = Texts::new(&command);
        let place = Place { file: header.clone(), line: 1, column: 1 };
        assert!(texts.at(&place).is_some());
        let edit = |range: Range<usize>, text: &str| (header.clone(), Edit { range, text: text.to_owned() });
        texts.edit(vec![edit(3..3, "x"), edit(8..8, "z"), edit(2..6, "y"), edit(2..6, "y"), edit(8..8, "z")]);
        assert_eq!(texts.changed().collect::<Vec<_>>(), [(&header, "01y67z89")]);
    }
}
