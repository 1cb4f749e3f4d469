//! Names that a source declares itself, as far as that can be told without parsing C++.

use crate::cursor::Cursor;
use cpp_lexer::{Kind, Token};

/// Words in front of an expression, or of a type rather than of the name that has one.
const NO_TYPES: [&[u8]; 44] = [
    b"__constant__",
    b"__device__",
    b"__forceinline__",
    b"__global__",
    b"__host__",
    b"__inline__",
    b"__managed__",
    b"__restrict__",
    b"__shared__",
    b"and",
    b"case",
    b"class",
    b"co_await",
    b"co_return",
    b"co_yield",
    b"const",
    b"constexpr",
    b"define",
    b"defined",
    b"delete",
    b"do",
    b"elif",
    b"else",
    b"enum",
    b"explicit",
    b"extern",
    b"friend",
    b"goto",
    b"if",
    b"ifdef",
    b"ifndef",
    b"include",
    b"inline",
    b"new",
    b"not",
    b"or",
    b"return",
    b"sizeof",
    b"static",
    b"struct",
    b"throw",
    b"typedef",
    b"undef",
    b"using",
];

/// The names that a source declares: types, functions, variables, parameters, macros, enumerators.
pub(crate) fn names(cursor: &Cursor<'_>) -> Vec<Token> {
    let mut names = Vec::new();
    let tokens: Vec<usize> = (0..cursor.tokens.len())
        .filter(|&index| !cursor.tokens[index].is_trivia() && cursor.kind(index) != Some(Kind::End))
        .collect();
    // The depth of brackets, and those in which an enumeration is.
    let (mut depth, mut enumeration) = (0_usize, None);
    for (at, &index) in tokens.iter().enumerate() {
        let text = |offset: usize| tokens.get(at + offset).map_or(&b""[..], |&index| cursor.text(index));
        let back = |offset: usize| at.checked_sub(offset).map_or(&b""[..], |at| cursor.text(tokens[at]));
        match cursor.text(index) {
            b"{" => {
                depth += 1;
                let head = (1..=6).map(back).take_while(|word| !matches!(*word, b";" | b"}" | b"{" | b")"));
                if enumeration.is_none() && head.into_iter().any(|word| word == b"enum") {
                    enumeration = Some(depth);
                }
            }
            b"}" => {
                if enumeration == Some(depth) {
                    enumeration = None;
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if cursor.kind(index) != Some(Kind::Word) {
            continue;
        }
        let word_before = at > 0 && cursor.kind(tokens[at - 1]) == Some(Kind::Word);
        let (before, next) = (back(1), text(1));
        let declared = match before {
            b"define" => back(2) == b"#",
            b"struct" | b"class" | b"union" | b"enum" | b"namespace" => matches!(next, b"{" | b":" | b";"),
            b"using" => next == b"=",
            b"}" => matches!(next, b";" | b",") && depth == 0 || enumeration == Some(depth),
            b"*" | b"&" | b">" => {
                // `T* name`, at the start of a statement or of a parameter.
                let start = (2..=8).map(back).find(|word| !is_type_part(word));
                matches!(next, b";" | b"=" | b"," | b")" | b"[")
                    && matches!(start, Some(b";" | b"{" | b"}" | b"(" | b"," | b""))
            }
            b"{" | b"," if enumeration == Some(depth) => matches!(next, b"," | b"=" | b"}"),
            _ if word_before && !NO_TYPES.contains(&before) => {
                matches!(next, b"(" | b";" | b"=" | b"," | b"[" | b"{" | b")" | b":")
            }
            _ => false,
        };
        if declared {
            names.push(cursor.tokens[index]);
        }
    }
    names
}

/// Whether a token can be in a type: a name, `::`, `*`, `&`, brackets of templates.
fn is_type_part(token: &&[u8]) -> bool {
    matches!(*token, b"::" | b"*" | b"&" | b"<" | b">")
        || token.first().is_some_and(|&byte| byte.is_ascii_alphabetic() || byte == b'_')
            && !matches!(*token, b"return" | b"case" | b"else")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declares(source: &str, name: &str) -> bool {
        let tokens = cpp_lexer::tokens(source.as_bytes());
        let names = names(&Cursor { source: source.as_bytes(), tokens: &tokens });
        names.iter().any(|token| token.text(source.as_bytes()) == name.as_bytes())
    }

    #[test]
    fn words_are_sorted() {
        assert!(NO_TYPES.is_sorted());
    }

    #[test]
    fn declarations_are_told_from_uses() {
        for source in [
            "float x;",
            "void x(int a) {}",
            "void f(int a, float x) {}",
            "const unsigned char* x = p;",
            "std::vector<int> x;",
            "#define x 1",
            "struct x { int a; };",
            "typedef struct { int a; } x;",
            "using x = int;",
            "enum class e : int { a, x = 2, b };",
            "void f(float *x, int n);",
            "auto x = 1;",
            "__device__ unsigned x(unsigned a) { return a; }",
        ] {
            assert!(declares(source, "x"), "{source}");
        }
        for source in [
            "return x(1);",
            "y = x(1, 2);",
            "f(x, 2);",
            "struct x a;",
            "const x a = 1;",
            "#ifdef x\n#endif",
            "y = a * x(2);",
            "if (x(1)) {}",
            "x<float> t;",
            "using x;",
        ] {
            assert!(!declares(source, "x"), "{source}");
        }
    }
}
