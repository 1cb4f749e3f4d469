//! Where the preprocessor looks for files, and which files sources ask for.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

use crate::Error;
use crate::limits::{self, Exceeded, Limits};

/// The operators that ask whether a file exists.
const QUESTIONS: [&str; 3] = ["__has_include", "__has_include_next", "__has_embed"];
/// The compiler's message where one of them is used, after its name.
const USED: &str = "' has been marked as deprecated: ferrocm";
/// The warning groups that contain it; a source could silence it through them.
const GROUPS: [&str; 3] = ["\"-Weverything\"", "\"-Wdeprecated\"", "\"-Wdeprecated-pragma\""];

/// The findings of a preprocessor run.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// Where it looks for headers, in order.
    pub(super) folders: Vec<Folder>,
    /// The names that sources ask for.
    pub(super) asked: BTreeSet<PathBuf>,
    /// A source has inline assembly, and the start of a directive that reads files.
    pub(super) assembles_files: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// It is named by an option of the caller, or is the compiler's current folder; not part of the
    /// toolchain.
    pub(super) is_callers: bool,
}

/// A run of the preprocessor.
pub(crate) struct Watch {
    /// Until it has been waited for.
    run: Option<JoinHandle<std::io::Result<Result<std::process::Output, Exceeded>>>>,
    output: PathBuf,
    program: PathBuf,
    /// The caller's.
    options: Vec<String>,
}

impl Watch {
    /// Starts the preprocessor in parallel with the compilation by `command`.
    pub(super) fn start(
        command: &Command,
        options: &[&OsStr],
        work: &Path,
        limits: Limits,
    ) -> Result<Self, Error> {
        let (header, output) = (work.join("watch.h"), work.join("watch.ii"));
        let mut text = String::new();
        for question in QUESTIONS {
            // Older compilers do not know all of them.
            text.push_str(&format!(
                "#ifdef {question}\n#pragma clang deprecated({question}, \"ferrocm\")\n#endif\n"
            ));
        }
        std::fs::write(&header, text).map_err(|e| Error::io("write", &header, e))?;
        let program = PathBuf::from(command.get_program());
        let mut watch = limits::copy(command, command.get_program());
        // Before everything that a source reads, and regardless of warning options.
        watch.arg("-include").arg(&header);
        let is_about_warnings = |option: &OsStr| {
            let option = option.as_encoded_bytes();
            option == b"-w" || option == b"--no-warnings" || option.starts_with(b"-Werror")
        };
        watch.args(command.get_args().filter(|option| !is_about_warnings(option)));
        watch.args(["-E", "-Wno-everything", "-Wsystem-headers", "-Wdeprecated-pragma", "-Xclang", "-v"]);
        watch.args(["-fno-caret-diagnostics", "-fno-crash-diagnostics", "-o"]).arg(&output);
        let run = std::thread::spawn(move || limits::output(watch, limits));
        let options = options.iter().map(|option| option.to_string_lossy().into_owned()).collect();
        Ok(Self { run: Some(run), output, program, options })
    }

    /// The findings; `None` if they may be incomplete. `files` are those that the compilation read.
    pub(super) fn end(
        mut self,
        folder: &Path,
        source: &[u8],
        files: &[PathBuf],
    ) -> Result<Option<Search>, Error> {
        let error = |reason: String| Error::Program { program: self.program.clone(), reason };
        let Some(run) = self.run.take() else { return Ok(None) };
        let ran = run.join().map_err(|_| error("the thread that reads its output panicked".into()))?;
        let Ok(ran) = ran.map_err(|e| error(e.to_string()))? else { return Ok(None) };
        if !ran.status.success() {
            return Ok(None);
        }
        let messages = String::from_utf8_lossy(&ran.stderr);
        let Some(folders) = folders(&messages, folder, &self.options) else { return Ok(None) };
        let is_toolchains = |file: &Path| {
            let file = folder.join(file);
            folders.iter().any(|folder| !folder.is_callers && file.starts_with(&folder.path))
        };
        let text = File::open(&self.output).map_err(|e| Error::io("read", &self.output, e))?;
        let scanned = Text::scan(BufReader::new(text), is_toolchains);
        let scanned = scanned.map_err(|e| Error::io("read", &self.output, e))?;
        if scanned.silences {
            return Ok(None);
        }
        let mut asked = BTreeSet::new();
        let source = String::from_utf8_lossy(source);
        for (file, column) in messages.lines().filter_map(used) {
            let bytes = std::fs::read(folder.join(file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let names = names(&text, column).or_else(|| names(&source, column));
            match names {
                Some(names) => asked.extend(names),
                // The toolchain's own headers ask only for each other.
                None if is_toolchains(Path::new(file)) => {}
                None => return Ok(None),
            }
        }
        // `#line` may also change the name of the file, so everything that is spelled out anywhere counts.
        asked.extend(spelled(&source));
        for file in files.iter().filter(|file| !is_toolchains(file)) {
            let bytes = std::fs::read(folder.join(file)).unwrap_or_default();
            asked.extend(spelled(&String::from_utf8_lossy(&bytes)));
        }
        let assembles_files = scanned.has_assembly && scanned.has_directive;
        Ok(Some(Search { folders, asked, assembles_files }))
    }
}

/// A compilation that fails waits for the preprocessor, too, which writes to the folder that is removed then.
impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(run) = self.run.take() {
            let _ = run.join();
        }
    }
}

/// The folders for headers that clang prints when it is verbose.
fn folders(messages: &str, folder: &Path, options: &[String]) -> Option<Vec<Folder>> {
    let mut found: Vec<Folder> = Vec::new();
    let mut listed = false;
    let mut ended = false;
    for line in messages.lines() {
        let path = match line.strip_prefix("ignoring nonexistent directory \"") {
            Some(path) => path.strip_suffix('"')?,
            None if line.starts_with("#include ") && line.ends_with(" search starts here:") => {
                listed = true;
                continue;
            }
            None if line == "End of search list." => {
                ended = true;
                break;
            }
            None if listed => line.strip_prefix(' ')?,
            None => continue,
        };
        if path.ends_with(" (framework directory)") || path.ends_with(" (headermap)") {
            return None;
        }
        let is_named = options.iter().any(|option| option.ends_with(path));
        let path = folder.join(path);
        found.push(Folder { is_callers: is_named || path.starts_with(folder), path });
    }
    ended.then_some(found)
}

/// Facts about the preprocessed sources outside the toolchain.
#[derive(Debug, Default, PartialEq, Eq)]
struct Text {
    /// They silence the reports of uses.
    silences: bool,
    has_assembly: bool,
    has_directive: bool,
}

impl Text {
    fn scan(mut text: impl BufRead, is_toolchains: impl Fn(&Path) -> bool) -> std::io::Result<Self> {
        /// No pragma is longer. The rest of a longer line is ignored and may be anything.
        const LONGEST: u64 = 1 << 16;
        let mut found = Self::default();
        let mut line = Vec::new();
        let mut skip = false;
        loop {
            line.clear();
            if text.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
                return Ok(found);
            }
            if line.len() as u64 == LONGEST && !line.ends_with(b"\n") {
                skip_line(&mut text)?;
                found.has_assembly = true;
                found.has_directive = true;
            }
            let line = String::from_utf8_lossy(&line);
            if let Some(file) = entered(&line) {
                skip = is_toolchains(Path::new(&*file));
            } else if !skip {
                let has = |words: &str| line.contains(words);
                found.silences |= line.trim_start().starts_with("#pragma")
                    && has("diagnostic")
                    && has("ignored")
                    && GROUPS.iter().any(|group| has(group));
                found.has_assembly |= has("asm");
                let line = line.to_ascii_lowercase();
                found.has_directive |=
                    [".inc", "incbin", ".macro", ".irp"].iter().any(|words| line.contains(words));
            }
        }
    }
}

fn skip_line(text: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = text.fill_buf()?;
        let (used, ended) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        text.consume(used);
        if ended {
            return Ok(());
        }
    }
}

/// The file of a line marker, `# 12 "file" 1 3`.
fn entered(line: &str) -> Option<Cow<'_, str>> {
    let rest = line.strip_prefix("# ")?;
    let (number, rest) = rest.split_once(" \"")?;
    number.parse::<u32>().ok()?;
    let file = &rest[..rest.rfind('"')?];
    Some(if file.contains('\\') {
        file.replace("\\\\", "\\").replace("\\\"", "\"").into()
    } else {
        file.into()
    })
}

/// File and column of a message about a use of such an operator.
fn used(line: &str) -> Option<(&str, usize)> {
    let (place, rest) = line.split_once(": warning: macro '")?;
    rest.contains(USED).then_some(())?;
    let (place, column) = place.rsplit_once(':')?;
    let (file, _) = place.rsplit_once(':')?;
    Some((file, column.parse().ok()?))
}

/// The names that a text asks for at a column, counted in bytes from 1; `None` if one of them is not spelled
/// out there.
///
/// The line number is ignored, because `#line` may change it. So these are the names on every line that asks
/// at this column; at least one must.
fn names(text: &str, column: usize) -> Option<Vec<PathBuf>> {
    let mut names = Vec::new();
    let mut found = false;
    for line in text.lines() {
        let Some(rest) = column.checked_sub(1).and_then(|at| line.get(at..)) else { continue };
        // Longest first, because one is a prefix of another.
        let asks = QUESTIONS.iter().filter_map(|question| rest.strip_prefix(question));
        let Some(rest) = asks.min_by_key(|rest| rest.len()) else { continue };
        if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            continue;
        }
        found = true;
        let before = line[..column - 1].trim_end().trim_end_matches('(').trim_end();
        if ["defined", "ifdef", "ifndef"].iter().any(|word| before.ends_with(word)) {
            continue;
        }
        names.push(name_in(rest)?);
    }
    found.then_some(names)
}

/// The name at the beginning of a text, in parentheses.
fn name_in(text: &str) -> Option<PathBuf> {
    let name = text.trim_start().strip_prefix('(')?.trim_start();
    let end = match name.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    Some(PathBuf::from(name[1..].split_once(end)?.0))
}

/// All names that are spelled out behind such an operator, anywhere in a text. Those that lead to a folder
/// above are left out: where they lead is often unknown, and nobody may ask for them.
fn spelled(text: &str) -> impl Iterator<Item = PathBuf> {
    let behind = QUESTIONS
        .iter()
        .flat_map(|question| text.match_indices(question).map(|(at, _)| &text[at + question.len()..]));
    let names = behind.filter_map(|rest| name_in(rest.lines().next()?));
    names.filter(|name| !name.components().any(|part| part == Component::ParentDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_spelled_out_are_found_anywhere() {
        let text = "#if 0\n#if __has_include(<a/b.h>) && __has_embed ( \"c\" )\n/* __has_include_next(\"d\") */\n\
                    __has_include(NAME) __has_include(\"../e\") __has_include(\"f\n\")";
        let mut found: Vec<_> = spelled(text).collect();
        found.sort();
        assert_eq!(found, ["a/b.h", "c", "d"].map(PathBuf::from));
    }

    #[test]
    fn names_are_read_where_the_compiler_says_that_a_source_asks() {
        let names = |text: &str, column: usize| {
            let found = names(text, column)?;
            Some(found.iter().map(|name| name.to_str().unwrap().to_owned()).collect::<Vec<_>>())
        };
        let one = |name: &str| Some(vec![name.to_owned()]);
        assert_eq!(names("#if __has_include(\"a.h\")\n", 5), one("a.h"));
        assert_eq!(names("x\n# if __has_include_next ( <b/c.h> )\n", 6), one("b/c.h"));
        assert_eq!(names("#ifdef __has_include\n", 8), Some(vec![]));
        let both = "#if defined(__has_include) && __has_include(<x>)\n";
        assert_eq!((names(both, 13), names(both, 31)), (Some(vec![]), one("x")));
        for (text, column) in [
            ("#if HAS(\"a.h\")\n", 5),
            ("#if __has_include(NAME)\n", 5),
            ("#if __has_include(\\\n\"a\")\n", 5),
            ("#if __has_included(\"a\")\n", 5),
            ("#if __has_include(\"a.h\")\n#if __has_include(NAME)\n", 5),
            ("é", 2),
            ("", 0),
        ] {
            assert_eq!(names(text, column), None, "{text}");
        }
    }

    #[test]
    fn what_clang_prints_is_read() {
        let messages = "clang -cc1 version 22\nignoring nonexistent directory \"/no\"\n\
                        ignoring duplicate directory \"/usr/include\"\n#include \"...\" search starts here:\n \
                        .\n /mine\n#include <...> search starts here:\n /usr/include\nEnd of search list.\n";
        let found = folders(messages, Path::new("/here"), &["-I/mine".into()]).unwrap();
        let folder = |path: &str, is_callers| Folder { path: path.into(), is_callers };
        let expected = [
            folder("/no", false),
            folder("/here/.", true),
            folder("/mine", true),
            folder("/usr/include", false),
        ];
        assert_eq!(found, expected);
        assert_eq!(folders("", Path::new("/"), &[]), None);
        let told = "a b:c.h:7:12: warning: macro '__has_include' has been marked as deprecated: ferrocm [-W]";
        assert_eq!(used(told), Some(("a b:c.h", 12)));
        assert_eq!(used("x.h:1:2: warning: macro 'x' has been marked as deprecated: other"), None);
    }

    #[test]
    fn a_source_that_silences_warnings_is_noticed() {
        let scan = |text: &str| Text::scan(text.as_bytes(), |file: &Path| file.starts_with("/usr")).unwrap();
        let silent = |text: &str| scan(text).silences;
        let pragma = "#pragma clang diagnostic ignored \"-Weverything\"\n";
        assert!(silent(pragma));
        assert!(silent(&format!("# 1 \"/usr/a.h\" 1 3\n# 1 \"/home/a.h\" 2\n{pragma}")));
        assert!(silent(&format!("{}\n#pragma GCC diagnostic ignored \"-Wdeprecated\"", "x".repeat(100_000))));
        assert!(!silent(&format!("# 1 \"/usr/a.h\" 1 3\n{pragma}")));
        assert!(!silent("#pragma clang diagnostic ignored \"-Wdeprecated-declarations\"\n"));
        let assembly = scan("__asm__(\"x: .inc\"\n\"bin y\");\n");
        assert!(assembly.has_assembly && assembly.has_directive);
        assert_eq!(scan("int x;\n# 1 \"/usr/a.h\" 1 3\nasm(\".incbin x\");\n"), Text::default());
    }
}
