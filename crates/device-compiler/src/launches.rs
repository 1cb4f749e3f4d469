//! Launches whose brackets have spaces in them: `k << <grid, block>> >(…)`.
//!
//! nvcc reads such brackets as `<<<` and `>>>`, and formatters that know only C++ write them. clang expects
//! them without spaces.

use cpp_lexer::{Kind, Token, tokens};

/// A source or header with its launches as clang reads them, if any has spaces in its brackets. Lines and
/// columns stay the same outside the brackets.
#[must_use]
pub fn rewrite(source: &str) -> Option<String> {
    let bytes = source.as_bytes();
    if !bytes.windows(3).any(|three| matches!(three, b"<< " | b"< <")) {
        return None;
    }
    let tokens = tokens(bytes);
    let code: Vec<&Token> = tokens.iter().filter(|token| !token.is_trivia()).collect();
    let is = |at: usize, text: &[u8]| {
        code.get(at).is_some_and(|token| token.kind == Kind::Punct && token.text(bytes) == text)
    };
    // Three brackets with nothing but blanks of one line between them.
    let bracket = |at: usize, text: &[u8]| {
        (0..3).all(|i| is(at + i, text))
            && bytes[code[at].start..code[at + 2].end]
                .iter()
                .all(|byte| matches!(byte, b' ' | b'\t') || *byte == text[0])
    };
    let mut places = Vec::new();
    let mut at = 0;
    while at < code.len() {
        // No expression has three of them in a row, so this is a launch.
        if !bracket(at, b"<") {
            at += 1;
            continue;
        }
        places.push(code[at].start..code[at + 2].end);
        at += 3;
        let mut depth = 0_usize;
        for (end, token) in code.iter().enumerate().skip(at) {
            match token.text(bytes) {
                b"(" | b"[" | b"{" => depth += 1,
                b")" | b"]" | b"}" if depth == 0 => break,
                b")" | b"]" | b"}" => depth -= 1,
                b";" | b">>>" if depth == 0 => break,
                b">" if depth == 0 && bracket(end, b">") && is(end + 3, b"(") => {
                    places.push(code[end].start..code[end + 2].end);
                    break;
                }
                _ => {}
            }
        }
    }
    // A launch in the arguments of another one's brackets may have ended at the same brackets.
    places.sort_by_key(|place| place.start);
    places.dedup();
    if places.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(source.len());
    let mut copied = 0;
    for place in places {
        out.push_str(&source[copied..place.start]);
        let brackets: String = source[place.clone()].chars().filter(|c| !c.is_whitespace()).collect();
        out.push_str(&brackets);
        out.extend(std::iter::repeat_n(' ', place.len() - brackets.len()));
        copied = place.end;
    }
    out.push_str(&source[copied..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_with_spaces_are_those_of_a_launch() {
        for (given, expected) in [
            ("k << <a, b>> >(x);", "k<<< a, b>>> (x);"),
            ("k << < a, b >> > (x);", "k<<<  a, b >>>  (x);"),
            ("k< <<f(1, 2), b> >>(x);", "k<<< f(1, 2), b>>> (x);"),
            ("k<int> < < <1, 1, 0, s>>>(x);", "k<int> <<<  1, 1, 0, s>>>(x);"),
            ("k << <g(A<B<C<int>> >()), 1>> >();", "k<<< g(A<B<C<int>> >()), 1>>> ();"),
            ("#define L(k) k << <1, 1>> >()\n", "#define L(k) k<<< 1, 1>>> ()\n"),
            ("k << <1,\n  2>> >();\nj << <3, 4>> >();", "k<<< 1,\n  2>>> ();\nj<<< 3, 4>>> ();"),
        ] {
            // The brackets come first, then the spaces.
            let found = rewrite(given).expect(given);
            let squeezed = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            assert_eq!(squeezed(&found), squeezed(expected), "{found}");
            assert!(found.contains("<<<") && found.contains(">>>"), "{found}");
            assert_eq!(found.len(), given.len());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_keeps_its_length_and_is_rewritten_once(text in "[<> a(){};,\\n#/\"]{0,60}") {
            if let Some(found) = rewrite(&text) {
                assert_eq!((found.len(), found.lines().count()), (text.len(), text.lines().count()));
                assert_eq!(rewrite(&found), None);
            }
        }
    }

    #[test]
    fn other_code_stays() {
        for text in [
            "k<<<a, b>>>(x);",
            "std::cout << x << \" < << \";",
            "A<B<C<int>> > x; a << b < c;",
            "// k << <a, b>> >(x)\n",
            "x << < y",
            "<< \n<",
            "",
            "<< <",
        ] {
            let found = rewrite(text);
            // What is no C++ either way may change.
            assert!(found.is_none() || text.contains("<< <") || text.contains("<< < "), "{text}");
        }
        assert_eq!(rewrite("A<B<C<int>> > x; cout << a;"), None);
    }
}
