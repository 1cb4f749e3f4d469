//! What happens to a CUDA source before clang sees it. Line numbers are kept in every mode.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::toolchain::Search;

/// How CUDA sources become HIP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Translate {
    /// Not at all: sources use names that HIP shares with CUDA, and headers with CUDA's names on the include path
    /// (`cuda_runtime.h`, `cuda_fp16.h` …) supply the rest.
    #[default]
    None,
    /// Names of CUDA's runtime API and headers are replaced by HIP's, word by word, in the source itself but not in
    /// the headers that it includes.
    Names,
    /// The source, but not the headers that it includes, goes through hipify-perl.
    HipifyPerl,
}

/// CUDA headers and what stands in for them.
const HEADERS: &[(&str, &str)] = &[
    ("cooperative_groups.h", "hip/hip_cooperative_groups.h"),
    ("cuComplex.h", "hip/hip_complex.h"),
    ("cuda.h", "hip/hip_runtime.h"),
    ("cuda_bf16.h", "hip/hip_bf16.h"),
    ("cuda_bf16.hpp", "hip/hip_bf16.h"),
    ("cuda_fp16.h", "hip/hip_fp16.h"),
    ("cuda_fp16.hpp", "hip/hip_fp16.h"),
    ("cuda_fp8.h", "hip/hip_fp8.h"),
    ("cuda_runtime.h", "hip/hip_runtime.h"),
    ("cuda_runtime_api.h", "hip/hip_runtime_api.h"),
    ("device_launch_parameters.h", "hip/hip_runtime.h"),
    ("math_constants.h", "hip/hip_math_constants.h"),
    ("vector_types.h", "hip/hip_vector_types.h"),
];

/// Words whose HIP name is not CUDA's with another prefix. OCP fp8 stays OCP: HIP's `_fnuz` types are another format.
const WORDS: &[(&str, &str)] = &[
    ("__nv_bfloat16", "__hip_bfloat16"),
    ("__nv_bfloat162", "__hip_bfloat162"),
    ("__nv_fp8_e4m3", "__hip_fp8_e4m3"),
    ("__nv_fp8_e5m2", "__hip_fp8_e5m2"),
    ("cuComplex", "hipComplex"),
    ("cuDoubleComplex", "hipDoubleComplex"),
    ("cuFloatComplex", "hipFloatComplex"),
    ("nv_bfloat16", "__hip_bfloat16"),
    ("nv_bfloat162", "__hip_bfloat162"),
];

/// Replaces CUDA's names by HIP's outside of comments and texts; the lines stay the same.
pub(crate) fn names(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for piece in pieces(source) {
        match piece {
            Piece::Word(word) => match WORDS.iter().find(|(cuda, _)| *cuda == word) {
                Some((_, hip)) => out.push_str(hip),
                None => match word.strip_prefix("cuda") {
                    // cudaMalloc, cudaStream_t; but not cuda, cuda_thing.
                    Some(rest) if rest.starts_with(|c: char| c.is_ascii_uppercase()) => {
                        out.push_str("hip");
                        out.push_str(rest);
                    }
                    _ => out.push_str(word),
                },
            },
            Piece::Header(name) => {
                out.push_str(HEADERS.iter().find(|(cuda, _)| *cuda == name).map_or(name, |(_, hip)| hip));
            }
            Piece::Other(text) => out.push_str(text),
        }
    }
    out
}

enum Piece<'a> {
    Word(&'a str),
    /// The name between the angle brackets or quotes of an `#include`.
    Header(&'a str),
    Other(&'a str),
}

fn pieces(source: &str) -> Vec<Piece<'_>> {
    let bytes = source.as_bytes();
    let mut pieces = Vec::new();
    let mut at = 0;
    // Comments, texts and numbers are passed on whole; only bytes below 128 are compared, so slices stay valid text.
    while at < bytes.len() {
        let rest = &source[at..];
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |i| i + 2)
        } else if let Some((open, header)) = include_of(source, at) {
            pieces.push(Piece::Other(&rest[..open]));
            pieces.push(Piece::Header(header));
            at += open + header.len();
            continue;
        } else if let Some(raw) = raw_text(rest) {
            raw
        } else if bytes[at] == b'"' || bytes[at] == b'\'' {
            text_end(rest.as_bytes())
        } else if is_word(bytes[at]) {
            let end = rest.bytes().position(|b| !is_word(b)).unwrap_or(rest.len());
            if !bytes[at].is_ascii_digit() {
                pieces.push(Piece::Word(&rest[..end]));
                at += end;
                continue;
            }
            end
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        pieces.push(Piece::Other(&rest[..end]));
        at += end;
    }
    pieces
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// At the `#` of an `#include` that starts its line: the length up to the header's name, and the name.
fn include_of(source: &str, at: usize) -> Option<(usize, &str)> {
    let rest = &source[at..];
    let line_so_far = &source[source[..at].rfind('\n').map_or(0, |i| i + 1)..at];
    if !rest.starts_with('#') || !line_so_far.trim().is_empty() {
        return None;
    }
    let line = rest.lines().next()?;
    let after = line[1..].trim_start().strip_prefix("include")?.trim_start();
    let close = match after.as_bytes().first()? {
        b'<' => '>',
        b'"' => '"',
        _ => return None,
    };
    let name = &after[1..];
    let name = &name[..name.find(close)?];
    let open = name.as_ptr() as usize - rest.as_ptr() as usize;
    Some((open, name))
}

/// The length of a raw text (`R"x(…)x"`) that starts here.
fn raw_text(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix("R\"")?;
    let open = body.find('(').filter(|&open| open <= 16)?;
    let close = format!("){}\"", &body[..open]);
    Some(body.find(&close).map_or(rest.len(), |i| 2 + i + close.len()))
}

/// The length of the text or character that starts here; it ends at the line's end at the latest.
fn text_end(bytes: &[u8]) -> usize {
    let quote = bytes[0];
    let mut i = 1;
    while i < bytes.len() && bytes[i] != b'\n' {
        match bytes[i] {
            b'\\' if bytes.get(i + 1).is_some_and(u8::is_ascii) => i += 2,
            b if b == quote => return i + 1,
            _ => i += 1,
        }
    }
    i.min(bytes.len())
}

/// What hipify-perl makes of a source: the text, with the source's lines, and what it had to say.
pub(crate) fn hipify(hipify: Option<&Path>, source: &Path, text: &str) -> Result<(String, String), Error> {
    let error = |reason: String| Error::Translate { source_file: source.to_owned(), reason };
    let hipify = hipify.ok_or_else(|| error(format!("no hipify-perl; {}", Search::from_env().remedy())))?;
    let output = Command::new("perl")
        .arg(hipify)
        .arg("--")
        .arg(source)
        .env("LC_ALL", "C")
        .output()
        .map_err(|e| Error::Program { program: PathBuf::from("perl"), reason: e.to_string() })?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(error(format!("hipify-perl fails ({}): {}", output.status, said.trim())));
    }
    let translated =
        String::from_utf8(output.stdout).map_err(|_| error("hipify-perl wrote no UTF-8".to_owned()))?;
    keep_lines(&translated, text).map(|translated| (translated.to_owned(), said)).ok_or_else(|| {
        error("hipify-perl changed the number of lines, so messages would name wrong ones".into())
    })
}

/// Drops the one line that hipify-perl puts in front; the runtime header is included anyway.
fn keep_lines<'a>(translated: &'a str, original: &str) -> Option<&'a str> {
    let lines = |text: &str| text.bytes().filter(|&b| b == b'\n').count();
    if lines(translated) == lines(original) {
        return Some(translated);
    }
    let (first, rest) = translated.split_once('\n')?;
    (first.trim_end() == "#include \"hip/hip_runtime.h\"" && lines(rest) == lines(original)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_change_and_lines_stay() {
        let source = r#"// cudaMalloc stays
#  include <cuda_fp16.h> // cudaFree
#include "my/cuda_runtime.h"
/* cudaFree
   cudaFree */ __nv_bfloat16 x = f("cudaFree \" cudaFree"); char c = '"'; cudaError_t e = cudaMalloc(&p, 4);
auto r = R"(cudaFree "cudaFree)" + cuda_thing + mycudaFree + 0xcudaF + é_cudaFree;
"#;
        let expected = r#"// cudaMalloc stays
#  include <hip/hip_fp16.h> // cudaFree
#include "my/cuda_runtime.h"
/* cudaFree
   cudaFree */ __hip_bfloat16 x = f("cudaFree \" cudaFree"); char c = '"'; hipError_t e = hipMalloc(&p, 4);
auto r = R"(cudaFree "cudaFree)" + cuda_thing + mycudaFree + 0xcudaF + é_cudaFree;
"#;
        assert_eq!(names(source), expected);
    }

    #[test]
    fn unfinished_sources_are_passed_on() {
        for source in ["", "\"", "'", "R\"(", "/*", "#include <", "#include", "\\", "\"\\", "\"\\é", "é", "#"]
        {
            assert_eq!(names(source), source);
        }
    }

    #[test]
    fn the_line_that_hipify_adds_is_dropped() {
        let added = "#include \"hip/hip_runtime.h\"\na\nb\n";
        assert_eq!(keep_lines(added, "x\ny\n"), Some("a\nb\n"));
        assert_eq!(keep_lines("a\nb\n", "x\ny\n"), Some("a\nb\n"));
        assert_eq!(keep_lines("a\n", "x\ny\n"), None);
        assert_eq!(keep_lines("#include <x>\na\nb\n", "x\ny\n"), None);
    }
}
