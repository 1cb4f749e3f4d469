//! Calls of member templates without `template`: `cast<T>::pairs<4>(…)`.
//!
//! Where the class depends on a template's parameters, C++ wants `cast<T>::template pairs<4>(…)`, because
//! `pairs` may be a value that is less than 4. nvcc looks into the class and takes either form. clang reads
//! the first as a comparison, and refuses it.

use cpp_lexer::{Kind, Token, tokens};

/// What such a call gets.
const KEYWORD: &str = "template ";
/// Words before an expression.
const BEFORE: [&[u8]; 3] = [b"return", b"else", b"do"];

/// A source or header with the keyword in its calls of member templates, if any lacks it. Lines stay the
/// same.
#[must_use]
pub fn rewrite(source: &str) -> Option<String> {
    if !source.contains(">::") {
        return None;
    }
    let bytes = source.as_bytes();
    let tokens = tokens(bytes);
    let code: Vec<&Token> = tokens.iter().filter(|token| !token.is_trivia()).collect();
    let code = Code { bytes, code };
    let mut out = String::new();
    let mut copied = 0;
    for at in 1..code.code.len() {
        if code.is_call(at) {
            let place = code.code[at].start;
            out.push_str(&source[copied..place]);
            out.push_str(KEYWORD);
            copied = place;
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&source[copied..]);
    Some(out)
}

/// The tokens of a source that a compiler reads.
struct Code<'a> {
    bytes: &'a [u8],
    code: Vec<&'a Token>,
}

impl Code<'_> {
    fn text(&self, at: usize) -> &[u8] {
        self.code.get(at).map_or(b"", |token| token.text(self.bytes))
    }

    fn is_word(&self, at: usize) -> bool {
        self.code.get(at).is_some_and(|token| token.kind == Kind::Word)
    }

    /// Whether the name at a place is that of a member template, in a call that lacks the keyword.
    fn is_call(&self, name: usize) -> bool {
        let beside = |at: usize| self.code[at].end == self.code.get(at + 1).map_or(0, |next| next.start);
        self.is_word(name)
            && self.text(name) != b"template"
            && self.text(name - 1) == b"::"
            && self.text(name + 1) == b"<"
            // A comparison has a space there.
            && beside(name)
            && self.after_arguments(name + 1).is_some_and(|end| self.text(end) == b"(")
            && self.class_before(name - 1).is_some_and(|class| self.text(class.0) != self.text(name) && self.is_expression(class.1))
    }

    /// What follows the arguments of a template, if all of them are types and constants.
    fn after_arguments(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..self.code.len() {
            match (self.code[at].kind, self.text(at)) {
                (_, b"<") => depth += 1,
                (_, b">") => depth -= 1,
                (_, b">>>") => depth = depth.checked_sub(3)?,
                (Kind::Word | Kind::Number, _) | (_, b"::" | b",") => {}
                _ => return None,
            }
            if depth == 0 {
                return (at > open + 1).then_some(at + 1);
            }
        }
        None
    }

    /// The name of the class template before a `::`, and the first token of its qualified name.
    fn class_before(&self, colons: usize) -> Option<(usize, usize)> {
        let mut depth = 0_usize;
        let mut at = colons;
        loop {
            at = at.checked_sub(1)?;
            match self.text(at) {
                b">" => depth += 1,
                b">>>" => depth += 3,
                b"<" => depth = depth.checked_sub(1)?,
                b";" | b"{" | b"}" => return None,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let name = at.checked_sub(1).filter(|name| self.is_word(*name))?;
        let mut first = name;
        while first > 0 && self.text(first - 1) == b"::" {
            first -= 1;
            if first > 0 && self.is_word(first - 1) && !BEFORE.contains(&self.text(first - 1)) {
                first -= 1;
            }
        }
        Some((name, first))
    }

    /// Whether what begins at a place is part of an expression. In a declaration of the member, where the
    /// keyword is an error, the type of the result comes before.
    fn is_expression(&self, first: usize) -> bool {
        let Some(before) = first.checked_sub(1) else { return false };
        match self.text(before) {
            [byte] => b";{}()[,=?:!~+-/%|^".contains(byte),
            word => BEFORE.contains(&word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_get_the_keyword() {
        for (given, expected) in [
            ("{ cast<A, B>::pairs<n>(x); }", "{ cast<A, B>::template pairs<n>(x); }"),
            ("x = a::cast<A>::pairs<4, B<int>>(\n  x);", "x = a::cast<A>::template pairs<4, B<int>>(\n  x);"),
            ("return ::a::b<C<D<E>>>::f<int>();", "return ::a::b<C<D<E>>>::template f<int>();"),
            ("{ a<B>::f<1>(a<C>::g<2>()); }", "{ a<B>::template f<1>(a<C>::template g<2>()); }"),
        ] {
            assert_eq!(rewrite(given).as_deref(), Some(expected));
        }
    }

    #[test]
    fn declarations_comparisons_and_types_stay() {
        for text in [
            "{ cast<A, B>::template pairs<n>(x); }",
            "template <> template <> void cast<int>::pairs<4>(int x) {}",
            "template int *cast<int>::pairs<4>(int x);",
            "template <> template <> cast<int>::cast<4>(int x) {}",
            "; cast<int>::cast<4>(int x) {}",
            "{ using V = typename cast<T>::vector<4>(int); }",
            "if (traits<T>::value < n > (x)) {}",
            "if (traits<T>::value<n && m>(x)) {}",
            "{ a<T>::f<4> x; }",
            "{ std::get<0>(x); T::f<4>(x); }",
            "{ a<T>::f(x) < b > (y); }",
            // In these brackets, `>` is a comparison.
            "{ a<(1 > 0)>::f<4>(x); }",
            "// { a<T>::f<4>(x); }\n",
            ">::f<4>(x)",
            "",
        ] {
            assert_eq!(rewrite(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_keeps_its_lines_and_is_rewritten_once(text in "([<>(){};,\\n]|a|::| |1|>::a<1>\\(){0,60}") {
            if let Some(found) = rewrite(&text) {
                assert_eq!(found.lines().count(), text.lines().count());
                assert_eq!(rewrite(&found), None);
            }
        }
    }
}
