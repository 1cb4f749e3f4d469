//! Kernels whose bodies are for the device only.
//!
//! A template may use what is there only if `__CUDA_ARCH__` is defined, as kernels of vLLM do. nvcc
//! instantiates the bodies of kernels for the device alone. clang instantiates them for the host, too,
//! although no host code comes of it. So host code that fails only in kernels is compiled again without their
//! bodies.

use std::ops::Range;
use std::path::PathBuf;

use cpp_lexer::{Kind, Token, tokens};

use crate::retries::{Edit, Failure, Texts};

/// Empties the kernel in which host code fails, itself or in what the kernel instantiates.
pub(crate) fn mend(failure: &Failure, texts: &mut Texts<'_>) -> Option<(PathBuf, Edit)> {
    if !texts.is_host() {
        return None;
    }
    let messages = std::iter::once(&failure.error).chain(&failure.notes);
    messages.filter_map(|message| message.place.as_ref()).find_map(|place| {
        let (name, text, at) = texts.at(place)?;
        let body = of_kernels(text).into_iter().find(|body| body.contains(&at))?;
        // Lines keep their numbers.
        let lines: String = text[body.clone()].chars().filter(|c| *c == '\n').collect();
        (lines.len() < body.len()).then_some((name, Edit { range: body, text: lines }))
    })
}

/// The bodies of kernels, without their braces.
fn of_kernels(source: &str) -> Vec<Range<usize>> {
    let bytes = source.as_bytes();
    let all = tokens(bytes);
    let mut is_directive = false;
    let code: Vec<&Token> = all
        .iter()
        .filter(|token| {
            match token.kind {
                Kind::Hash => is_directive = true,
                Kind::End => is_directive = false,
                _ => return !is_directive && !token.is_trivia(),
            }
            false
        })
        .collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = code[at..].iter().position(|token| token.text(bytes) == b"__global__") {
        at += next + 1;
        // What follows are attributes, the name, and parameters in parentheses.
        let is_end = |token: &&Token| matches!(token.text(bytes), b"{" | b";");
        let Some(open) = outside(&code, at, bytes, is_end) else { break };
        if code[open].text(bytes) == b";" {
            at = open;
            continue;
        }
        let Some(close) = outside(&code, open + 1, bytes, |token| token.text(bytes) == b"}") else { break };
        found.push(code[open].end..code[close].start);
        at = close;
    }
    found
}

/// The first token from `at` on that is one of these, outside of brackets that open after `at`.
fn outside(code: &[&Token], at: usize, bytes: &[u8], is: impl Fn(&&Token) -> bool) -> Option<usize> {
    let mut depth = 0_usize;
    code.iter().enumerate().skip(at).find_map(|(index, token)| {
        if depth == 0 && is(token) {
            return Some(index);
        }
        match token.text(bytes) {
            b"(" | b"[" | b"{" => depth += 1,
            b")" | b"]" | b"}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_those_of_kernels() {
        for (source, expected) in [
            ("__global__ void k() { a; }", &[" a; "][..]),
            (
                "template <int N = sizeof(int[2])> __global__ void __launch_bounds__(N, 1) k(A<N> a = {}) { if (a) { b; } }",
                &[" if (a) { b; } "],
            ),
            ("__global__ void k();\nvoid f() { k<<<1, 1>>>(); }\n__global__ void k() {}", &[""]),
            (
                "__global__ void a() { x }\n__device__ void b() { y }\n__global__ void c() { z }",
                &[" x ", " z "],
            ),
            // Brackets in comments, texts and directives are none.
            (
                "__global__ void k() { // }\n  f(\"}\", '}');\n#define CLOSE }\n}",
                &[" // }\n  f(\"}\", '}');\n#define CLOSE }\n"],
            ),
            ("#define K __global__ void k() { a; }\nK", &[]),
            ("// __global__ void k() { a; }", &[]),
            ("template __global__ void k<int>(int *);", &[]),
            ("__global__ void k() { a;", &[]),
            ("__global__", &[]),
            ("__global__ ) } ] ; {", &[]),
        ] {
            let found: Vec<&str> = of_kernels(source).into_iter().map(|body| &source[body]).collect();
            assert_eq!(found, expected, "{source}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_bodies_inside_it(text in "(__global__|[ a(){};\\[\\]#\n\"é/]){0,40}") {
            let mut last = 0;
            for body in of_kernels(&text) {
                assert!(last <= body.start && body.start <= body.end && text.get(body.clone()).is_some());
                last = body.end;
            }
        }
    }
}
