//! Parts of a source that AMD's compiler does not read, since a condition of the preprocessor is false there.

use std::collections::HashMap;

use crate::cursor::Cursor;
use cpp_lexer::Kind;

/// Macros that nothing but CUDA's compiler, or another system, defines.
const UNDEFINED: [&[u8]; 17] = [
    b"CUDART_VERSION",
    b"CUDA_VERSION",
    b"WIN32",
    b"_MSC_VER",
    b"_WIN32",
    b"_WIN64",
    b"__APPLE__",
    b"__CUDACC_RTC__",
    b"__CUDACC_VER_BUILD__",
    b"__CUDACC_VER_MAJOR__",
    b"__CUDACC_VER_MINOR__",
    b"__CUDA_ARCH_LIST__",
    b"__CUDA_ARCH__",
    b"__HIP_PLATFORM_NVCC__",
    b"__HIP_PLATFORM_NVIDIA__",
    b"__NVCC__",
    b"__NVCOMPILER",
];

/// Macros of AMD's compiler, and `__CUDACC__`, which becomes one of them.
const DEFINED: [&[u8]; 6] =
    [b"__CUDACC__", b"__HIPCC__", b"__HIP_PLATFORM_AMD__", b"__HIP__", b"__clang__", b"__cplusplus"];

/// What is known of a macro.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Macro {
    Undefined,
    /// Defined, with its value if that is a number.
    Defined(Option<i64>),
    Unknown,
}

/// What is known of all macros.
struct Macros<'a> {
    /// Those of this source.
    here: HashMap<&'a [u8], Macro>,
    /// The names of all that the program defines.
    defined: Option<&'a [String]>,
}

/// The parts that are not read: offsets of their starts and ends.
///
/// `defined` has all macros that the program defines, if that is known: others are then undefined.
pub(crate) fn unread<'a>(cursor: &Cursor<'a>, defined: Option<&'a [String]>) -> Vec<(usize, usize)> {
    let mut macros = Macros { here: HashMap::new(), defined };
    let mut frames: Vec<Frame> = Vec::new();
    let mut unread = Vec::new();
    let mut since = None;
    for index in 0..cursor.tokens.len() {
        if cursor.kind(index) != Some(Kind::Hash) {
            continue;
        }
        let Some(word) = cursor.after(index) else { break };
        let rest = || Expression::new(cursor, word, &macros);
        let name = || cursor.after(word).map(|name| cursor.text(name));
        match cursor.text(word) {
            b"if" => frames.push(Frame::new(rest().value())),
            b"ifdef" => frames.push(Frame::new(is_defined(&macros, name().unwrap_or_default()))),
            b"ifndef" => {
                // The guard of a header.
                let value = is_defined(&macros, name().unwrap_or_default());
                frames.push(Frame::new(value.map(|value| i64::from(value == 0))));
            }
            b"elif" => {
                let value = rest().value();
                if let Some(frame) = frames.last_mut() {
                    frame.next(value);
                }
            }
            b"else" => {
                if let Some(frame) = frames.last_mut() {
                    frame.next(Some(1));
                }
            }
            b"endif" => _ = frames.pop(),
            b"define" if since.is_none() => {
                if let Some(name) = name() {
                    let certain = frames.iter().all(|frame| frame.value == Some(1));
                    let value = cursor.after(word).and_then(|name| value_of(cursor, name));
                    let known = if certain && !macros.here.contains_key(name) {
                        Macro::Defined(value)
                    } else {
                        Macro::Unknown
                    };
                    macros.here.insert(name, known);
                }
                continue;
            }
            b"undef" if since.is_none() => {
                macros.here.extend(name().map(|name| (name, Macro::Unknown)));
                continue;
            }
            _ => continue,
        }
        let dead = frames.iter().any(|frame| frame.value == Some(0));
        let here = cursor.tokens[index].start;
        match (dead, since) {
            (true, None) => {
                let end = (index..cursor.tokens.len()).find(|&end| cursor.kind(end) == Some(Kind::End));
                since = end.map(|end| cursor.tokens[end].start);
            }
            (false, Some(start)) => {
                unread.push((start, here));
                since = None;
            }
            _ => {}
        }
    }
    unread
}

/// The number that a macro's name, token `name`, stands for.
fn value_of(cursor: &Cursor<'_>, name: usize) -> Option<i64> {
    let number = cursor.after(name)?;
    let ends = cursor.after(number).is_none_or(|end| cursor.kind(end) == Some(Kind::End));
    if ends && cursor.kind(number) == Some(Kind::Number) { number_of(cursor.text(number)) } else { None }
}

fn number_of(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn state(macros: &Macros<'_>, name: &[u8]) -> Macro {
    if let Some(&known) = macros.here.get(name) {
        known
    } else if UNDEFINED.contains(&name) {
        Macro::Undefined
    } else if DEFINED.contains(&name) {
        Macro::Defined(None)
    } else if macros
        .defined
        .is_some_and(|all| !is_of_headers(name) && !all.iter().any(|one| one.as_bytes() == name))
    {
        Macro::Undefined
    } else {
        Macro::Unknown
    }
}

/// Whether a header of the system or of a library may define a macro with this name.
fn is_of_headers(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] = [b"CHAR_BIT", b"EOF", b"NULL", b"assert", b"linux", b"unix"];
    const BEGINNINGS: [&[u8]; 10] =
        [b"CU", b"HIP", b"M_", b"NCCL", b"THRUST", b"_", b"cu", b"hip", b"nccl", b"roc"];
    const ENDINGS: [&[u8]; 3] = [b"_DIG", b"_MAX", b"_MIN"];
    NAMES.contains(&name)
        || BEGINNINGS.iter().any(|part| name.starts_with(part))
        || ENDINGS.iter().any(|part| name.ends_with(part))
}

/// The names of the macros that a source defines.
#[cfg(feature = "command")]
pub(crate) fn defined(cursor: &Cursor<'_>) -> Vec<String> {
    let hashes = (0..cursor.tokens.len()).filter(|&index| cursor.kind(index) == Some(Kind::Hash));
    let words = hashes.filter_map(|hash| cursor.after(hash)).filter(|&word| cursor.is(word, b"define"));
    let names = words.filter_map(|word| cursor.after(word));
    names.map(|name| String::from_utf8_lossy(cursor.text(name)).into_owned()).collect()
}

fn is_defined(macros: &Macros<'_>, name: &[u8]) -> Option<i64> {
    match state(macros, name) {
        Macro::Undefined => Some(0),
        Macro::Defined(_) => Some(1),
        Macro::Unknown => None,
    }
}

/// A condition between `#if` and `#endif`.
struct Frame {
    /// Whether one of the branches before is read, as far as known.
    before: Option<bool>,
    /// The value of this branch: zero if it is not read, `None` if that is unknown.
    value: Option<i64>,
}

impl Frame {
    fn new(value: Option<i64>) -> Self {
        Self { before: Some(false), value: value.map(|value| i64::from(value != 0)) }
    }

    /// Goes on to the next branch.
    fn next(&mut self, condition: Option<i64>) {
        self.before = match (self.before, self.value) {
            (Some(true), _) | (_, Some(1)) => Some(true),
            (Some(false), Some(_)) => Some(false),
            _ => None,
        };
        self.value = match self.before {
            Some(true) => Some(0),
            Some(false) => condition.map(|value| i64::from(value != 0)),
            None => condition.filter(|&value| value == 0),
        };
    }
}

/// How deep brackets and signs may be nested.
const DEPTH: usize = 50;

/// The expression of a condition.
struct Expression<'a, 'b> {
    cursor: &'b Cursor<'a>,
    macros: &'b Macros<'a>,
    /// The next token.
    at: Option<usize>,
}

impl<'a, 'b> Expression<'a, 'b> {
    fn new(cursor: &'b Cursor<'a>, word: usize, macros: &'b Macros<'a>) -> Self {
        Self { cursor, macros, at: cursor.after(word) }
    }

    fn value(mut self) -> Option<i64> {
        let value = self.binary(0, DEPTH);
        // Something that this does not know follows.
        if self.text() == b"" { value } else { None }
    }

    fn text(&self) -> &'a [u8] {
        self.at.map_or(b"", |at| self.cursor.text(at))
    }

    fn step(&mut self) {
        self.at = self.at.and_then(|at| self.cursor.after(at));
    }

    /// The operator at the next token and its rank.
    fn operator(&self) -> Option<(&'static [u8], usize)> {
        const OPERATORS: [(&[u8], usize); 13] = [
            (b"||", 1),
            (b"&&", 2),
            (b"==", 3),
            (b"!=", 3),
            (b"<=", 4),
            (b">=", 4),
            (b"<", 4),
            (b">", 4),
            (b"+", 5),
            (b"-", 5),
            (b"*", 6),
            (b"/", 6),
            (b"%", 6),
        ];
        let at = self.at?;
        let here = self.cursor.tokens[at].start;
        let rest = &self.cursor.source[here..];
        let known = self.cursor.kind(at) == Some(Kind::Punct);
        OPERATORS.into_iter().find(|(text, _)| known && rest.starts_with(text))
    }

    fn binary(&mut self, rank: usize, depth: usize) -> Option<i64> {
        let mut left = self.unary(depth);
        while let Some((operator, its)) = self.operator().filter(|&(_, its)| its > rank) {
            for _ in 0..operator.len() {
                self.step();
            }
            let right = self.binary(its, depth);
            let truth = |value: Option<i64>| value.map(|value| value != 0);
            left = match (operator, truth(left), truth(right)) {
                (b"||", Some(true), _) | (b"||", _, Some(true)) => Some(1),
                (b"&&", Some(false), _) | (b"&&", _, Some(false)) => Some(0),
                _ => left.zip(right).and_then(|(left, right)| match operator {
                    b"||" | b"&&" => Some(i64::from(operator == b"&&")),
                    b"==" => Some(i64::from(left == right)),
                    b"!=" => Some(i64::from(left != right)),
                    b"<=" => Some(i64::from(left <= right)),
                    b">=" => Some(i64::from(left >= right)),
                    b"<" => Some(i64::from(left < right)),
                    b">" => Some(i64::from(left > right)),
                    b"+" => left.checked_add(right),
                    b"-" => left.checked_sub(right),
                    b"*" => left.checked_mul(right),
                    b"/" => left.checked_div(right),
                    _ => left.checked_rem(right),
                }),
            };
        }
        left
    }

    fn unary(&mut self, depth: usize) -> Option<i64> {
        let depth = depth.checked_sub(1)?;
        let text = self.text();
        let kind = self.at.and_then(|at| self.cursor.kind(at));
        self.step();
        match text {
            b"!" => self.unary(depth).map(|value| i64::from(value == 0)),
            b"-" => self.unary(depth).and_then(i64::checked_neg),
            b"(" => {
                let value = self.binary(0, depth);
                self.step();
                value
            }
            b"defined" => {
                let bracket = self.text() == b"(";
                if bracket {
                    self.step();
                }
                let name = self.text();
                self.step();
                if bracket {
                    self.step();
                }
                is_defined(self.macros, name)
            }
            _ if kind == Some(Kind::Number) => number_of(text),
            _ if kind == Some(Kind::Word) => match state(self.macros, text) {
                Macro::Undefined => Some(0),
                Macro::Defined(value) => value,
                Macro::Unknown => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a source that hold `dead`, and those that hold `live`, must be so.
    fn check_with(source: &str, defined: Option<&[String]>) {
        let tokens = cpp_lexer::tokens(source.as_bytes());
        let unread = unread(&Cursor { source: source.as_bytes(), tokens: &tokens }, defined);
        for (word, expected) in [("dead", true), ("live", false)] {
            for (at, _) in source.match_indices(word) {
                let found = unread.iter().any(|&(start, end)| (start..end).contains(&at));
                assert_eq!(found, expected, "{word} at {at} of {source}");
            }
        }
    }

    fn check(source: &str) {
        check_with(source, None);
    }

    #[test]
    fn macros_that_a_program_does_not_define_are_undefined_if_all_are_known() {
        check("#ifdef DEBUG\nlive\n#endif\n");
        let all = ["VERIFY".to_owned()];
        check_with("#ifdef DEBUG\ndead\n#endif\n#ifdef VERIFY\nlive\n#endif\n", Some(&all));
        check_with("#if defined(__linux__) || INT_MAX > 2\nlive\n#endif\n", Some(&all));
    }

    #[test]
    fn parts_for_nvidia_are_not_read() {
        check("#if __CUDA_ARCH__ >= 800\ndead\n#else\nlive\n#endif\nlive\n");
        check("#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 600)\ndead\n#endif\n");
        check("#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600\nlive\n#else\ndead\n#endif\n");
        check("#ifdef __CUDACC__\nlive\n#endif\n#ifdef __NVCC__\ndead\n#endif\n");
        check("#if 0\ndead\n#if UNKNOWN\ndead\n#endif\n#elif 1\nlive\n#endif\n");
        check("#define A 1\n#if A == 1\nlive\n#elif B\ndead\n#else\ndead\n#endif\n");
        check("#if UNKNOWN\nlive\n#elif 0\ndead\n#else\nlive\n#endif\n");
        check("#ifndef G\n#define G\nlive\n#endif\n#if UNKNOWN\n#define H\n#endif\n#ifdef H\nlive\n#endif\n");
        check("#if UNKNOWN && 0\ndead\n#endif\n#if UNKNOWN(1) || 1\nlive\n#endif\n");
    }
}
