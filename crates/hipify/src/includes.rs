//! Directives: the headers that a source includes, their conditions, and places for HIP's own header.

use std::collections::HashSet;

use crate::cursor::Cursor;
use cpp_lexer::Kind;

/// HIP's own header.
pub(crate) const RUNTIME_HEADER: &str = "hip/hip_runtime.h";

/// Its subset without device code.
pub(crate) const API_HEADER: &str = "hip/hip_runtime_api.h";

/// An included file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Include<'a> {
    /// The `#`.
    pub(crate) hash: usize,
    /// The token with the name, in its brackets or quotes.
    pub(crate) token: usize,
    /// The name.
    pub(crate) name: &'a [u8],
    /// Whether it is included unconditionally.
    pub(crate) always: bool,
}

/// The directives of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directives<'a> {
    pub(crate) includes: Vec<Include<'a>>,
    /// Offsets of empty lines before any code and outside conditions.
    pub(crate) empty_lines: Vec<usize>,
    /// The offset of the first such line that contains only a `//` comment.
    pub(crate) comment_line: Option<usize>,
    /// The number of the first token that is code.
    pub(crate) code: Option<usize>,
}

/// The name between brackets or quotes.
pub(crate) fn header_name(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'<', name @ .., b'>'] | [b'"', name @ .., b'"'] => Some(name),
        _ => None,
    }
}

/// Reads all directives.
pub(crate) fn read<'a>(cursor: &Cursor<'a>) -> Directives<'a> {
    let mut directives = Directives::default();
    let mut depth = 0_usize;
    let mut guard = 0;
    let mut first = true;
    let mut inside = false;
    for (index, token) in cursor.tokens.iter().enumerate() {
        match token.kind {
            Kind::Space => {
                let mut spliced = false;
                let mut empty_from = None;
                for (offset, &byte) in token.text(cursor.source).iter().enumerate() {
                    match byte {
                        b'\\' => spliced = true,
                        b'\n' if spliced => spliced = false,
                        b'\n' => {
                            let empty = empty_from.or((token.start == 0).then_some(0));
                            if let Some(start) = empty
                                && directives.code.is_none()
                                && depth <= guard
                            {
                                directives.empty_lines.push(start);
                            }
                            inside = false;
                            empty_from = Some(token.start + offset + 1);
                        }
                        _ => {}
                    }
                }
            }
            Kind::LineComment => {
                let alone = index == 0 || cursor.tokens[index - 1].text(cursor.source).ends_with(b"\n");
                if alone && !inside && directives.code.is_none() && depth <= guard {
                    directives.comment_line.get_or_insert(token.start);
                }
            }
            Kind::BlockComment | Kind::End => {}
            Kind::Hash => {
                inside = true;
                let Some(word) = cursor.after(index) else { continue };
                match cursor.text(word) {
                    b"if" | b"ifdef" | b"ifndef" => {
                        depth += 1;
                        if first && is_guard(cursor, word) {
                            guard = 1;
                        }
                    }
                    b"endif" => depth = depth.saturating_sub(1),
                    b"include" | b"include_next" | b"import" => {
                        if let Some(token) = cursor.after(word)
                            && let Some(name) = header_name(cursor.text(token))
                        {
                            directives.includes.push(Include {
                                hash: index,
                                token,
                                name,
                                always: depth <= guard,
                            });
                        }
                    }
                    _ => {}
                }
                first = false;
            }
            _ if inside => {}
            _ => {
                directives.code.get_or_insert(index);
            }
        }
    }
    directives
}

/// The names that a source includes.
#[cfg(feature = "command")]
pub(crate) fn names(cursor: &Cursor<'_>) -> Vec<String> {
    let name = |include: Include<'_>| String::from_utf8_lossy(include.name).into_owned();
    read(cursor).includes.into_iter().map(name).collect()
}

/// Whether the first directive, whose word is token `word`, is an include guard: `#ifndef A`, then `#define
/// A`.
fn is_guard(cursor: &Cursor<'_>, word: usize) -> bool {
    let mut name = cursor.after(word);
    if cursor.is(word, b"if") {
        // `#if !defined(A)` or `#if !defined A`
        for part in [&b"!"[..], b"defined"] {
            if !name.is_some_and(|at| cursor.is(at, part)) {
                return false;
            }
            name = name.and_then(|at| cursor.after(at));
        }
        if name.is_some_and(|at| cursor.is(at, b"(")) {
            name = name.and_then(|at| cursor.after(at));
        }
    } else if !cursor.is(word, b"ifndef") {
        return false;
    }
    let Some(name) = name else { return false };
    // `#pragma once` may stand between them.
    let define = (name + 1..cursor.tokens.len())
        .filter(|&at| cursor.kind(at) == Some(Kind::Hash))
        .filter_map(|hash| cursor.after(hash))
        .find(|&word| !cursor.is(word, b"pragma"));
    let defined = define.and_then(|define| cursor.after(define));
    define.is_some_and(|define| cursor.is(define, b"define"))
        && defined.is_some_and(|defined| cursor.text(defined) == cursor.text(name))
}

/// Headers included so far, unconditionally.
#[derive(Clone, Debug, Default)]
pub(crate) struct Included(HashSet<Vec<u8>>);

impl Included {
    /// Whether a header was already included. If not, records it, unless it is under a condition.
    pub(crate) fn again(&mut self, header: &[u8], always: bool) -> bool {
        let again = self.0.contains(header);
        if always && !again {
            self.0.insert(header.to_vec());
        }
        again
    }

    pub(crate) fn contains(&self, header: &[u8]) -> bool {
        self.0.contains(header)
    }
}

/// Prefixes of CUDA headers without a row: folders and single files.
const CUDA_HEADERS: [&str; 27] = [
    "cooperative_groups/",
    "crt/",
    "cub/",
    "cuda/",
    "cuda_awbarrier",
    "cuda_d3d",
    "cuda_device_runtime_api",
    "cuda_egl",
    "cuda_gl_interop",
    "cuda_pipeline",
    "cuda_surface_types",
    "cuda_vdpau",
    "cudaGL",
    "cudaVDPAU",
    "cudaD3D",
    "cupti",
    "cusparseLt",
    "cutlass/",
    "cute/",
    "mma.h",
    "npp",
    "nv/target",
    "nvToolsExt",
    "nvjpeg",
    "nvml.h",
    "nvtx3/",
    "thrust/system/cuda/",
];

/// Whether a header without a row is CUDA's.
pub(crate) fn is_cuda_header(name: &[u8]) -> bool {
    CUDA_HEADERS.iter().any(|beginning| name.starts_with(beginning.as_bytes()))
}
