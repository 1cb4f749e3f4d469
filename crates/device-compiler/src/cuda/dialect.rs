//! The dialect of a source: what its includes say after preprocessing.
//!
//! This preprocessor knows directives, macros and conditions. It reads the program's own files only: what the
//! system's headers define is unknown to it, and does not decide between CUDA and HIP.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::hash::Hash;

use cpp_lexer::{Kind, tokens};

use super::{Dialect, HEADERS, is_of_rocm};
use expression::{Piece, pieces};

mod expression;

/// How many files are read, repetitions included. Programs have fewer.
const MOST_FILES: usize = 5000;
/// How deep includes nest. Clang's limit.
const DEEPEST: usize = 200;
/// Macros of clang and of CUDA's dialect that conditions may ask for.
const PREDEFINED: [(&str, &str); 19] = [
    ("CUDART_VERSION", "12080"),
    ("CUDA_VERSION", "12080"),
    ("__CUDACC_VER_BUILD__", "0"),
    ("__CUDACC_VER_MAJOR__", "12"),
    ("__CUDACC_VER_MINOR__", "8"),
    ("__CUDACC__", "1"),
    ("__CUDA_ARCH_LIST__", "890"),
    ("__GNUC__", "4"),
    ("__LP64__", "1"),
    ("__NVCC__", "1"),
    ("__SIZEOF_POINTER__", "8"),
    ("__clang__", "1"),
    ("__clang_major__", "22"),
    ("__cplusplus", "201703L"),
    ("__gnu_linux__", "1"),
    ("__linux__", "1"),
    ("__unix__", "1"),
    ("__x86_64", "1"),
    ("__x86_64__", "1"),
];

/// A macro: the names of its parameters, if it has any, and what stands for it.
#[derive(Clone, Debug)]
struct Macro {
    parameters: Option<Vec<String>>,
    body: Vec<Piece>,
}

type Macros = HashMap<String, Macro>;

/// Of an `#if` … `#endif`.
struct Condition {
    /// Whether the directive itself is in code that counts.
    outer: bool,
    /// Whether a branch was taken.
    taken: bool,
    /// Whether the current branch is.
    active: bool,
}

struct Preprocessor<F, Open> {
    macros: Macros,
    open: Open,
    /// Files that ask to be read once.
    once: HashSet<F>,
    files: usize,
    is_hip: bool,
}

/// The dialect of a source: see [`cuda`](crate::cuda#dialects). The options are the compiler's; those that
/// define macros count. `open` resolves an `#include`: it gets the name and the identification of the
/// including file, as returned by `open` before. If the header is one of the program's own, it returns the
/// header's identification and text.
pub(super) fn dialect<'a, F: Clone + Eq + Hash>(
    source: F,
    text: &str,
    options: impl IntoIterator<Item = &'a OsStr>,
    open: impl FnMut(&F, &str) -> Option<(F, String)>,
) -> Dialect {
    let mut all = Preprocessor { macros: predefined(), open, once: HashSet::new(), files: 0, is_hip: false };
    let mut options = options.into_iter();
    while let Some(option) = options.next() {
        let option = option.to_string_lossy();
        let of = |letter: &str| option.strip_prefix(letter).map(str::to_owned);
        let mut value = |text: String| match text.is_empty() {
            true => options.next().map(|next| next.to_string_lossy().into_owned()).unwrap_or_default(),
            false => text,
        };
        if let Some(text) = of("-D") {
            let text = value(text);
            let (name, body) = text.split_once('=').unwrap_or((&text, "1"));
            all.define(&format!("{name} {body}"));
        } else if let Some(text) = of("-U") {
            all.macros.remove(&value(text));
        }
    }
    all.file(&source, text, 0);
    if all.is_hip { Dialect::Hip } else { Dialect::Cuda }
}

fn predefined() -> Macros {
    let simple = |body: &str| Macro { parameters: None, body: pieces(body) };
    let mut macros: Macros =
        PREDEFINED.iter().map(|(name, body)| ((*name).to_owned(), simple(body))).collect();
    // The include guards of CUDA's headers.
    let guards = HEADERS.iter().find(|(name, _)| *name == "ferrocm_guards.h").map_or("", |(_, text)| text);
    let names = guards.lines().filter_map(|line| line.strip_prefix("#define "));
    macros.extend(names.filter(|name| name.ends_with("_H__")).map(|name| (name.to_owned(), simple(""))));
    macros
}

impl<F: Clone + Eq + Hash, Open: FnMut(&F, &str) -> Option<(F, String)>> Preprocessor<F, Open> {
    fn file(&mut self, file: &F, text: &str, depth: usize) {
        self.files += 1;
        let tokens = tokens(text.as_bytes());
        let mut conditions: Vec<Condition> = Vec::new();
        let mut rest = tokens.iter();
        while let Some(token) = rest.next() {
            if self.is_hip {
                return;
            }
            if token.kind != Kind::Hash {
                continue;
            }
            let mut words = rest.by_ref().take_while(|token| token.kind != Kind::End);
            let Some(name) = words.find(|token| !token.is_trivia()) else { continue };
            let name = &text[name.start..name.end];
            let mut line = String::new();
            for token in words {
                let is_trivia = token.is_trivia();
                line.push_str(if is_trivia { " " } else { &text[token.start..token.end] });
            }
            self.directive(name, line.trim(), &mut conditions, file, depth);
        }
    }

    fn directive(&mut self, name: &str, line: &str, conditions: &mut Vec<Condition>, file: &F, depth: usize) {
        let counts = conditions.last().is_none_or(|condition| condition.active);
        let mut begin = |active: bool| {
            conditions.push(Condition { outer: counts, taken: active, active: counts && active });
        };
        match name {
            "if" => {
                let active = counts && self.holds(line, file);
                begin(active);
            }
            "ifdef" => begin(self.macros.contains_key(word(line))),
            "ifndef" => begin(!self.macros.contains_key(word(line))),
            "elif" | "elifdef" | "elifndef" | "else" => {
                let Some(condition) = conditions.last_mut() else { return };
                let asks = condition.outer && !condition.taken;
                condition.active = asks
                    && match name {
                        "elif" => self.holds(line, file),
                        "elifdef" => self.macros.contains_key(word(line)),
                        "elifndef" => !self.macros.contains_key(word(line)),
                        _ => true,
                    };
                condition.taken |= condition.active;
            }
            "endif" => drop(conditions.pop()),
            _ if !counts => {}
            "define" => self.define(line),
            "undef" => drop(self.macros.remove(word(line))),
            "include" | "include_next" => self.include(line, file, depth),
            "pragma" if line == "once" => drop(self.once.insert(file.clone())),
            _ => {}
        }
    }

    /// Defines a macro from what stands behind `#define`.
    fn define(&mut self, line: &str) {
        let name = word(line);
        let behind = &line[name.len()..];
        let (parameters, body) = match behind.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((list, body)) => {
                let names = list.split(',').map(|name| name.trim().to_owned());
                (Some(names.filter(|name| !name.is_empty()).collect()), body)
            }
            None => (None, behind),
        };
        if !name.is_empty() {
            self.macros.insert(name.to_owned(), Macro { parameters, body: pieces(body) });
        }
    }

    fn include(&mut self, line: &str, file: &F, depth: usize) {
        let Some(name) = self.name_of_header(line) else { return };
        if name.starts_with("hip/") {
            self.is_hip = true;
            return;
        }
        match (self.open)(file, &name) {
            Some((found, text)) => {
                if depth < DEEPEST && self.files < MOST_FILES && !self.once.contains(&found) {
                    self.file(&found, &text, depth + 1);
                }
            }
            None => self.is_hip = is_of_rocm(&name),
        }
    }

    /// The name in an `#include`, which may be a macro.
    fn name_of_header(&self, line: &str) -> Option<String> {
        let named = |text: &str| {
            let quoted = text.strip_prefix('"').and_then(|rest| rest.split_once('"'));
            let name = quoted.or_else(|| text.strip_prefix('<')?.split_once('>'))?.0;
            Some(name.trim().to_owned())
        };
        named(line).or_else(|| {
            let expanded = expression::expanded(&pieces(line), &self.macros)?;
            named(&expanded.iter().map(Piece::text).collect::<String>())
        })
    }

    fn holds(&mut self, line: &str, file: &F) -> bool {
        let Self { macros, open, .. } = self;
        // Outside the program, CUDA's headers and the system's are there, and those of ROCm are not.
        let mut has =
            |name: &str| !name.starts_with("hip/") && (open(file, name).is_some() || !is_of_rocm(name));
        expression::holds(line, macros, &mut has).unwrap_or(false)
    }
}

/// The name that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str, options: &[&str], headers: &[(&str, &str)]) -> Dialect {
        let options = options.iter().map(OsStr::new);
        dialect(String::new(), source, options, |_, name| {
            let (name, text) = headers.iter().find(|(header, _)| *header == name)?;
            Some(((*name).to_owned(), (*text).to_owned()))
        })
    }

    /// A source that includes HIP's header under a condition.
    fn under(condition: &str) -> String {
        format!("{condition}\n#include <hip/hip_runtime.h>\n#endif\n")
    }

    #[test]
    fn a_header_of_hip_makes_a_source_hips() {
        for source in [
            "",
            "#include <cuda_runtime.h>",
            "// #include <hip/hip_runtime.h>",
            "/*\n#include <hip/hip_runtime.h>\n*/",
            "auto x = R\"(\n#include <hip/hip_runtime.h>\n)\";",
            "#include \"hip_like.h\"\n#include MACRO\n#include <x",
            "int n = 1'000; // '",
        ] {
            assert_eq!(of(source, &[], &[]), Dialect::Cuda, "{source}");
        }
        for source in [
            "#include <hip/hip_runtime.h>",
            "int n = 1'000;\n # include \"hip/hip_fp16.h\" // '",
            "#include <hipcub/hipcub.hpp>",
            "char c = '\"';\n#include_next <rocprim/rocprim.hpp>",
            "#define HEADER <hip/hip_runtime.h>\n#include HEADER",
            "#define HEADER \"hip/hip_runtime.h\"\n#define OTHER HEADER\n#include OTHER",
        ] {
            assert_eq!(of(source, &[], &[]), Dialect::Hip, "{source}");
        }
    }

    #[test]
    fn an_include_in_a_branch_that_is_not_taken_counts_for_nothing() {
        for condition in [
            "#ifdef USE_HIP",
            "#if defined(USE_HIP)",
            "#if defined USE_HIP || (0)",
            "#if 0",
            "#if USE_HIP",
            "#ifndef __CUDACC__",
            "#ifdef __CUDACC__\n#elif 1",
            "#ifdef __CUDACC__\n#else",
            "#if CUDART_VERSION >= 12000 && !defined(__HIP_PLATFORM_AMD__)\n#else",
            "#if 0\n#if 1\n#endif\n#ifdef __CUDACC__",
            "#define HAS(x) (defined(x))\n#if HAS(USE_HIP)",
            "#define AT_LEAST(a, b) (CUDART_VERSION >= (a) * 1000 + (b) * 10)\n#if !AT_LEAST(12, 8)",
            "#if __has_include(<hip/hip_runtime.h>)",
            "#define HIP 1\n#undef HIP\n#if HIP",
            "#if 1 ? 0 : 1",
            "#if 0x10 != 020 << 0 || 'a' != 97 || 1'000 != 1000u || -1 > 0",
            "#if 1 / 0",
            "#if (",
            "#ifndef __DRIVER_TYPES_H__",
        ] {
            assert_eq!(of(&under(condition), &[], &[]), Dialect::Cuda, "{condition}");
        }
        for condition in [
            "#ifndef USE_CUDA",
            "#ifdef __CUDACC__",
            "#if 0\n#elif defined(__clang__)",
            "#if 0\n#else",
            "#if !defined(USE_HIP) && (3 * 2 - 1) % 4 == 1",
            "#define ON 1\n#if ON \\\n  && 1",
            "#define A B\n#define B A\n#if A\n#else",
            "#if __has_include(<cuda_fp16.h>) // there\n",
        ] {
            assert_eq!(of(&under(condition), &[], &[]), Dialect::Hip, "{condition}");
        }
    }

    #[test]
    fn options_define_macros() {
        let source = under("#if defined(USE_HIP) && USE_HIP > 1");
        assert_eq!(of(&source, &["-DUSE_HIP=2"], &[]), Dialect::Hip);
        assert_eq!(of(&source, &["-D", "USE_HIP=2", "-O3"], &[]), Dialect::Hip);
        assert_eq!(of(&source, &["-DUSE_HIP"], &[]), Dialect::Cuda);
        assert_eq!(of(&source, &["-DUSE_HIP=2", "-UUSE_HIP"], &[]), Dialect::Cuda);
        assert_eq!(of(&under("#ifndef __CUDACC__"), &["-U", "__CUDACC__"], &[]), Dialect::Hip);
        assert_eq!(of(&source, &["-D"], &[]), Dialect::Cuda);
    }

    #[test]
    fn own_headers_are_read_where_they_are_included() {
        let deep = [("a.h", "#include \"b.h\""), ("b.h", "#include \"a.h\"\n#include <hip/hip_fp16.h>")];
        assert_eq!(of("#include \"a.h\"", &[], &deep), Dialect::Hip);
        let round = [("a.h", "#include \"b.h\""), ("b.h", "#include \"a.h\"")];
        assert_eq!(of("#include \"a.h\"", &[], &round), Dialect::Cuda);
        let twice = [("a.h", "#include \"a.h\"\n#include \"a.h\"\n")];
        assert_eq!(of("#include \"a.h\"", &[], &twice), Dialect::Cuda);
        assert_eq!(of("#include <rock/own.h>", &[], &[("rock/own.h", "")]), Dialect::Cuda);
        // Macros of a header decide after it, and guards and `#pragma once` are known.
        let config = [("config.h", "#pragma once\n#ifdef CONFIG\n#define USE_HIP\n#endif\n#define CONFIG\n")];
        let source = |first: &str| format!("{first}{}", under("#ifdef CONFIG\n#ifdef USE_HIP\n#else"));
        assert_eq!(of(&source(""), &[], &config), Dialect::Cuda);
        assert_eq!(of(&source("#include \"config.h\"\n#include \"config.h\"\n"), &[], &config), Dialect::Hip);
    }

    #[test]
    fn unfinished_and_endless_sources_end() {
        let many = "#define A0 1\n".to_owned()
            + &(1..60).map(|i| format!("#define A{i} A{} + A{}\n", i - 1, i - 1)).collect::<String>();
        for source in [
            format!("{many}#if A59"),
            format!("#if {}", "(".repeat(100_000)),
            format!("#if {}1", "!".repeat(100_000)),
            "#if 0\n".repeat(10_000),
            "#define F(x) F(F(x))\n#if F(1)".to_owned(),
            "#define F(\n#define\n#if F(\n#elif\n#else\n#endif\n#endif\n#include\n#undef\n#if\n#if 1 ?"
                .to_owned(),
            "#".to_owned(),
        ] {
            assert_eq!(of(&source, &[], &[]), Dialect::Cuda, "{}", &source[..source.len().min(60)]);
        }
    }
}
