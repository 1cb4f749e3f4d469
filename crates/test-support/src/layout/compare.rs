//! Compiles and runs the program, and compares its answers.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use super::program::{self, Question};
use super::{Compiler, Version};

/// Why nothing could be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the program cannot be written.
    #[error("cannot write the C program: {0}")]
    Write(#[source] std::io::Error),
    /// A program cannot be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The compiler, or the compiled program.
        program: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The headers themselves do not compile.
    #[error("the headers do not compile ({command}):\n{messages}")]
    Compile {
        /// The compiler and its arguments.
        command: String,
        /// What it said.
        messages: String,
    },
    /// The compiled program did not answer each question.
    #[error("the compiled program ended with {status} after {answered} of {asked} answers")]
    Answers {
        /// How it ended.
        status: ExitStatus,
        /// How many answers it gave.
        answered: usize,
        /// How many were asked for.
        asked: usize,
    },
}

/// What was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A struct or union, as C writes it.
    Type(&'static str),
    /// A field of one.
    Field(&'static str, &'static str),
    /// An enumerator or a macro.
    Constant(&'static str),
}

/// What of an item was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// Bytes that a type takes.
    Size,
    /// Bytes that a type's address is a multiple of.
    Align,
    /// Bytes from the start of the type to a field.
    Offset,
    /// A constant's value.
    Value,
}

/// A disagreement between Rust and C.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The item.
    pub item: Item,
    /// Which of its properties.
    pub property: Property,
    /// What the bindings say.
    pub rust: i128,
    /// What the headers say, or the compiler's message if they lack it.
    pub c: Result<i128, String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.item {
            Item::Type(name) => write!(f, "{name}: ")?,
            Item::Field(name, field) => write!(f, "{name}, field {field}: ")?,
            Item::Constant(name) => write!(f, "{name}: ")?,
        }
        let property = match self.property {
            Property::Size => "size",
            Property::Align => "alignment",
            Property::Offset => "offset",
            Property::Value => "value",
        };
        match &self.c {
            Ok(c) => write!(f, "{property} is {} in the bindings, {c} in the headers", self.rust),
            Err(message) => {
                write!(f, "{property} is {} in the bindings; the headers have none: {message}", self.rust)
            }
        }
    }
}

/// Checks everything in a version's table with `compiler` and the headers in `include`, and returns the
/// differences.
pub fn compare(
    compiler: &Compiler,
    include: &Path,
    headers: &str,
    version: &Version,
) -> Result<Vec<Difference>, Error> {
    let folder = tempfile::tempdir().map_err(Error::Write)?;
    let (source, executable) = (folder.path().join("layouts.c"), folder.path().join("layouts"));
    let mut command = compiler.command();
    command.args(["-std=gnu11", "-w", "-O0"]).args(version.arguments).arg("-I").arg(include);
    command.arg("-o").arg(&executable).arg(&source);

    let questions = program::questions(version);
    let mut asked: Vec<usize> = (0..questions.len()).collect();
    let mut answers: Vec<(usize, Result<i128, String>)> = Vec::new();
    // Items that the headers lack are left out of the next attempt, so that the rest is still compared.
    loop {
        std::fs::write(&source, program::text(headers, version, &questions, &asked)).map_err(Error::Write)?;
        let Some(messages) = messages_of_failure(&mut command)? else { break };
        let refused = program::refused(&messages);
        let before = asked.len();
        asked.retain(|index| !refused.iter().any(|(refused, _)| refused == index));
        if asked.len() == before {
            return Err(Error::Compile { command: format!("{command:?}"), messages: excerpt(&messages) });
        }
        answers.extend(refused.into_iter().map(|(index, message)| (index, Err(message))));
    }
    answers.extend(run(&executable, &asked)?.into_iter().map(|(index, value)| (index, Ok(value))));
    answers.sort_by_key(|(index, _)| *index);

    let unknown: HashSet<usize> = answers
        .iter()
        .filter_map(|(index, c)| match (questions[*index], c) {
            (Question::Size(layout), Err(_)) => Some(layout),
            _ => None,
        })
        .collect();
    let differences = answers.into_iter().filter_map(|(index, c)| {
        // A type that C does not know is reported once, not for each of its fields.
        if let Question::Align(layout) | Question::Offset(layout, _) = questions[index]
            && unknown.contains(&layout)
        {
            return None;
        }
        let (item, property, rust) = claim(version, questions[index]);
        let same = match c {
            Ok(c) if property == Property::Value => is_same_value(rust, c),
            Ok(c) => rust == c,
            Err(_) => false,
        };
        (!same).then_some(Difference { item, property, rust, c })
    });
    Ok(differences.collect())
}

/// Whether two constants are the same number, or the same 32 bits, because C's enumerators have type `int`.
fn is_same_value(rust: i128, c: i128) -> bool {
    let bits = |value: i128| -> Option<u32> {
        u32::try_from(value).ok().or_else(|| Some(i32::try_from(value).ok()?.cast_unsigned()))
    };
    rust == c || bits(rust).is_some_and(|rust| bits(c) == Some(rust))
}

/// Runs a compiler; returns its output if it failed.
fn messages_of_failure(command: &mut Command) -> Result<Option<String>, Error> {
    let output = command.output().map_err(|source| start_error(command, source))?;
    Ok((!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Runs the compiled program, which must answer exactly the given questions.
fn run(executable: &Path, asked: &[usize]) -> Result<Vec<(usize, i128)>, Error> {
    let mut command = Command::new(executable);
    let output = command.output().map_err(|source| start_error(&command, source))?;
    let answers = program::answers(&String::from_utf8_lossy(&output.stdout));
    let answered: Vec<(usize, i128)> = answers.into_iter().flatten().collect();
    match output.status.success() && answered.iter().map(|(index, _)| index).eq(asked) {
        true => Ok(answered),
        false => Err(Error::Answers { status: output.status, answered: answered.len(), asked: asked.len() }),
    }
}

fn start_error(command: &Command, source: std::io::Error) -> Error {
    Error::Start { program: command.get_program().to_string_lossy().into_owned(), source }
}

/// The first messages; the rest are mostly consequences.
fn excerpt(messages: &str) -> String {
    messages.lines().take(20).map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// The table's answer to a question.
fn claim(version: &Version, question: Question) -> (Item, Property, i128) {
    match question {
        Question::Size(index) => {
            let layout = &version.layouts[index];
            (Item::Type(layout.c_name), Property::Size, layout.size as i128)
        }
        Question::Align(index) => {
            let layout = &version.layouts[index];
            (Item::Type(layout.c_name), Property::Align, layout.align as i128)
        }
        Question::Offset(index, field) => {
            let layout = &version.layouts[index];
            let (field, offset) = layout.fields[field];
            (Item::Field(layout.c_name, field), Property::Offset, offset as i128)
        }
        Question::Value(index) => {
            let (name, value) = version.constants[index];
            (Item::Constant(name), Property::Value, value)
        }
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use test_skip::{Lack, skip};

    use super::*;
    use crate::layout::Layout;

    const HEADERS: &str = "#include <box.h>\n";
    const HEADER: &str = "\
#include <stdint.h>
#define LIMIT 0xffffffffffffffffULL
#define NEGATIVE (-3)
enum kind { KIND_NONE = 0, KIND_LAST = -1 };
typedef struct box { char tag; union { double number; int32_t pair[2]; }; struct { uint16_t a, b; } in; } box_t;
#ifdef SMALL
struct tail { char a; };
#else
struct tail { char a; long b; };
#endif
";
    const BOX: Layout = Layout {
        c_name: "box_t",
        size: 24,
        align: 8,
        fields: &[("tag", 0), ("number", 8), ("pair", 8), ("in", 16), ("in.b", 18)],
    };
    const RIGHT: Version = Version {
        version: "1.0",
        release: "1",
        arguments: &["-DSMALL"],
        layouts: &[BOX, Layout { c_name: "struct tail", size: 1, align: 1, fields: &[("a", 0)] }],
        constants: &[("KIND_NONE", 0), ("KIND_LAST", -1), ("LIMIT", 0xffff_ffff_ffff_ffff), ("NEGATIVE", -3)],
    };

    /// The differences from the headers above; `None` on a machine without a compiler.
    fn differences(headers: &str, version: &Version) -> Option<Result<Vec<String>, Error>> {
        let Some(compiler) = Compiler::find() else {
            skip(Lack::Tool, "there is no C compiler");
            return None;
        };
        let folder = tempfile::tempdir().expect("temp folder");
        std::fs::write(folder.path().join("box.h"), HEADER).expect("write");
        let result = compare(&compiler, folder.path(), headers, version);
        Some(result.map(|differences| differences.iter().map(ToString::to_string).collect()))
    }

    #[test]
    fn a_right_table_has_no_differences() {
        if let Some(result) = differences(HEADERS, &RIGHT) {
            assert_eq!(result.expect("compiles"), [""; 0]);
        }
    }

    #[test]
    fn every_wrong_number_is_found_and_named() {
        let wrong = Version {
            layouts: &[
                Layout { size: 16, fields: &[("tag", 0), ("pair", 12), ("in.b", 18)], ..BOX },
                Layout { c_name: "struct tail", size: 1, align: 2, fields: &[] },
            ],
            constants: &[("KIND_LAST", 1), ("LIMIT", -1)],
            ..RIGHT
        };
        if let Some(result) = differences(HEADERS, &wrong) {
            assert_eq!(
                result.expect("compiles"),
                [
                    "box_t: size is 16 in the bindings, 24 in the headers",
                    "box_t, field pair: offset is 12 in the bindings, 8 in the headers",
                    "struct tail: alignment is 2 in the bindings, 1 in the headers",
                    "KIND_LAST: value is 1 in the bindings, -1 in the headers",
                    "LIMIT: value is -1 in the bindings, 18446744073709551615 in the headers",
                ]
            );
        }
    }

    #[test]
    fn what_the_headers_lack_does_not_hide_the_rest() {
        let wrong = Version {
            layouts: &[
                Layout { c_name: "struct gone", size: 4, align: 4, fields: &[("x", 0)] },
                Layout { fields: &[("label", 0), ("number", 9)], ..BOX },
            ],
            constants: &[("KIND_GONE", 1), ("KIND_NONE", 0)],
            ..RIGHT
        };
        let Some(result) = differences(HEADERS, &wrong) else { return };
        let found = result.expect("compiles");
        let starts = [
            "struct gone: size is 4 in the bindings; the headers have none: ",
            "box_t, field label: offset is 0 in the bindings; the headers have none: ",
            "box_t, field number: offset is 9 in the bindings, 8 in the headers",
            "KIND_GONE: value is 1 in the bindings; the headers have none: ",
        ];
        assert_eq!(found.len(), starts.len(), "{found:#?}");
        for (line, start) in found.iter().zip(starts) {
            assert!(line.starts_with(start), "{line}");
        }
    }

    #[test]
    fn the_arguments_of_a_version_choose_its_layout() {
        let large = Version { arguments: &[], ..RIGHT };
        if let Some(result) = differences(HEADERS, &large) {
            assert_eq!(
                result.expect("compiles"),
                [
                    "struct tail: size is 1 in the bindings, 16 in the headers",
                    "struct tail: alignment is 1 in the bindings, 8 in the headers",
                ]
            );
        }
    }

    #[test]
    fn the_sign_of_a_32_bit_constant_is_a_matter_of_its_type() {
        assert!(is_same_value(0x8000_0000, -0x8000_0000) && is_same_value(-1, 0xffff_ffff));
        assert!(is_same_value(1 << 40, 1 << 40));
        assert!(!is_same_value(-1, 0xffff_ffff_ffff_ffff) && !is_same_value(1, -1));
        assert!(!is_same_value(1 << 40, 0));
    }

    #[test]
    fn headers_that_do_not_compile_are_an_error() {
        let Some(result) = differences("#include <missing.h>\n", &RIGHT) else { return };
        let error = result.expect_err("does not compile").to_string();
        assert!(error.contains("the headers do not compile") && error.contains("missing.h"), "{error}");
    }
}
