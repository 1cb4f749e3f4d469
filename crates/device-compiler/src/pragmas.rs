//! Macros that stand for a pragma: `#define UNROLL #pragma unroll`.
//!
//! nvcc obeys the pragma where such a macro is used. In standard C++, a pragma in a macro is written
//! `_Pragma`.

use cpp_lexer::{Kind, Token, tokens};

/// A source or header with the pragmas of its macros as clang reads them, if any has one. Lines keep their
/// numbers.
#[must_use]
pub fn rewrite(source: &str) -> Option<String> {
    if !source.contains("pragma") || !source.contains("define") {
        return None;
    }
    let tokens = tokens(source.as_bytes());
    let text = |token: &Token| source.get(token.start..token.end).unwrap_or_default();
    let mut out = String::new();
    let mut copied = 0;
    let mut rest = &tokens[..];
    while let Some(hash) = rest.iter().position(|token| token.kind == Kind::Hash) {
        let end = rest.iter().skip(hash).position(|token| token.kind == Kind::End);
        let end = end.map_or(rest.len(), |end| hash + end);
        let line = &rest[hash + 1..end];
        rest = &rest[end..];
        let Some((has_parameters, hash, body)) = pragma(line, text) else { continue };
        let Some(range) = body.last().map(|last| hash.start..last.end) else { continue };
        // Without comments, on one line.
        let mut words = String::new();
        for token in body {
            words.push_str(if token.is_trivia() { " " } else { text(token) });
        }
        let words = words.trim();
        out.push_str(&source[copied..range.start]);
        if has_parameters {
            // The macro is in `cuda_runtime.h`.
            out.push_str(&format!("__ferrocm_pragma({words})"));
        } else {
            out.push_str(&format!("_Pragma(\"{}\")", words.replace('\\', "\\\\").replace('"', "\\\"")));
        }
        out.push_str(&"\\\n".repeat(source[range.clone()].matches('\n').count()));
        copied = range.end;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&source[copied..]);
    Some(out)
}

/// The pragma in the definition of a macro, from the tokens behind the `#` of the directive: whether the
/// macro has parameters, the `#` of the pragma, and the tokens behind its word.
fn pragma<'a>(line: &'a [Token], text: impl Fn(&Token) -> &'a str) -> Option<(bool, &'a Token, &'a [Token])> {
    let mut code = line.iter().enumerate().filter(|(_, token)| !token.is_trivia());
    let (_, define) = code.next()?;
    let (name, _) = code.next()?;
    if text(define) != "define" {
        return None;
    }
    let mut body = name + 1;
    let has_parameters = line.get(body).is_some_and(|token| text(token) == "(");
    if has_parameters {
        let close = line.iter().skip(body).position(|token| text(token) == ")")?;
        if line[body..body + close].iter().any(|token| text(token) == "pragma") {
            return None;
        }
        body += close + 1;
    }
    let hash = (body..line.len()).find(|at| {
        let next = line[at + 1..].iter().find(|token| !token.is_trivia());
        let pasted = *at > 0 && text(&line[at - 1]) == "#";
        line[*at].kind == Kind::Punct
            && text(&line[*at]) == "#"
            && !pasted
            && next.is_some_and(|t| text(t) == "pragma")
    })?;
    let word = (hash + 1..line.len()).find(|at| !line[*at].is_trivia())?;
    Some((has_parameters, &line[hash], &line[word + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pragma_of_a_macro_is_an_operator() {
        for (given, expected) in [
            ("#define UNROLL #pragma unroll\n", "#define UNROLL _Pragma(\"unroll\")\n"),
            (
                "  # define ONCE # pragma  unroll 1 // once\nint a;",
                "  # define ONCE _Pragma(\"unroll 1\")\nint a;",
            ),
            ("#define SAY #pragma message(\"a\\n\")\n", "#define SAY _Pragma(\"message(\\\"a\\\\n\\\")\")\n"),
            (
                "#define LOOP(n) for (;;) #pragma unroll n\n",
                "#define LOOP(n) for (;;) __ferrocm_pragma(unroll n)\n",
            ),
            ("#define A \\\n  #pragma \\\n  unroll\nA\n", "#define A \\\n  _Pragma(\"unroll\")\\\n\nA\n"),
        ] {
            let found = rewrite(given).expect(given);
            assert_eq!(found, expected);
            assert_eq!(rewrite(&found), None, "{found}");
            assert_eq!(found.lines().count(), given.lines().count());
        }
    }

    #[test]
    fn other_pragmas_stay() {
        for text in [
            "#pragma unroll\n#define N 4\n",
            "#define N _Pragma(\"unroll\")\n",
            "#define TEXT(pragma) #pragma\n",
            "#define PASTE(a) a##pragma\n",
            "const char *a = \"#define A #pragma unroll\";",
            "#define A #pragma",
            "// #define A #pragma unroll\n",
            "#define",
        ] {
            assert_eq!(rewrite(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_keeps_its_lines_and_is_rewritten_once(
            parts in proptest::collection::vec(
                proptest::sample::select(vec!["#define A", "#pragma", "#", " ", "(x)", "\\\n", "\n", "\"", "pragma", "unroll", "//", "/*", "*/", "ä"]), 0..20)
        ) {
            let text = parts.concat();
            if let Some(found) = rewrite(&text) {
                assert_eq!(found.matches('\n').count(), text.matches('\n').count());
                assert_eq!(rewrite(&found), None);
            }
        }
    }
}
