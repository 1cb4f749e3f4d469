//! Splits a source into tokens: words, strings, comments, headers, punctuation. Every byte belongs to exactly
//! one token.
//!
//! The lexer knows just enough of C++ to tell code from comments and strings. It never fails: an open string
//! ends with its line, an open comment with the file, and a byte that means nothing is punctuation.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Spaces, ends of lines, and backslashes that continue a line.
    Space,
    /// `//` up to the end of its line, excluding the line break.
    LineComment,
    /// `/* … */`.
    BlockComment,
    /// A name or keyword.
    Word,
    /// A number.
    Number,
    /// `"…"`, with its prefix.
    String,
    /// `R"(…)"`, with its prefix.
    RawString,
    /// `'…'`, with its prefix.
    Char,
    /// `<…>` after `#include`.
    Header,
    /// A `#` that begins a directive.
    Hash,
    /// The end of a directive: an empty token before the line break.
    End,
    /// One byte of anything else, except that `<<<`, `>>>`, `::` and `->` are one token each.
    Punct,
}

/// A piece of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// The offset of its first byte in the source.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
}

impl Token {
    /// The bytes of the token.
    pub fn text<'a>(&self, source: &'a [u8]) -> &'a [u8] {
        &source[self.start..self.end]
    }

    /// Whether a compiler ignores the token: space or a comment.
    pub fn is_trivia(&self) -> bool {
        matches!(self.kind, Kind::Space | Kind::LineComment | Kind::BlockComment)
    }
}

/// Whether a byte can be part of a name.
pub fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The tokens of a source, in order and without gaps.
pub fn tokens(source: &[u8]) -> Vec<Token> {
    let mut lexer = Lexer {
        source,
        at: 0,
        tokens: Vec::with_capacity(source.len() / 4),
        line: LineState::Start,
        directive: false,
    };
    while lexer.at < source.len() {
        lexer.next();
    }
    lexer.end_directive();
    lexer.tokens
}

/// The position of a token in its line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineState {
    /// Nothing but space and comments so far.
    Start,
    /// After the `#` that begins a directive.
    Hash,
    /// After `#include`.
    Include,
    /// Anywhere else.
    Inside,
}

struct Lexer<'a> {
    source: &'a [u8],
    at: usize,
    tokens: Vec<Token>,
    line: LineState,
    /// Whether this is in a directive.
    directive: bool,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.source.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: Kind, end: usize) {
        let end = end.min(self.source.len());
        debug_assert!(end > self.at);
        self.tokens.push(Token { kind, start: self.at, end });
        self.at = end;
    }

    fn next(&mut self) {
        let byte = self.peek(0);
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b'\x0b' | b'\x0c' => self.space(),
            b'\\' if self.splice(self.at).is_some() => self.space(),
            b'/' if self.peek(1) == b'/' => {
                let end = self.line_end(self.at);
                self.push(Kind::LineComment, end);
            }
            b'/' if self.peek(1) == b'*' => {
                let body = self.at + 2;
                let end = find(self.source, body, b"*/").map_or(self.source.len(), |close| close + 2);
                self.push(Kind::BlockComment, end);
            }
            b'"' => self.quoted(self.at, b'"', Kind::String),
            b'\'' => self.quoted(self.at, b'\'', Kind::Char),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() => self.number(),
            b'#' if self.line == LineState::Start => {
                self.end_directive();
                self.push(Kind::Hash, self.at + 1);
                self.directive = true;
                self.line = LineState::Hash;
            }
            b'<' if self.line == LineState::Include => self.header(),
            _ if is_word_byte(byte) => self.word(),
            _ => self.punct(),
        }
    }

    /// The byte after a line continuation at `at`, if there is one.
    fn splice(&self, at: usize) -> Option<usize> {
        match self.source.get(at..)? {
            [b'\\', b'\n', ..] => Some(at + 2),
            [b'\\', b'\r', b'\n', ..] => Some(at + 3),
            _ => None,
        }
    }

    fn end_directive(&mut self) {
        if self.directive {
            self.tokens.push(Token { kind: Kind::End, start: self.at, end: self.at });
            self.directive = false;
        }
    }

    fn space(&mut self) {
        let mut end = self.at;
        while let Some(&byte) = self.source.get(end) {
            match byte {
                b'\n' => {
                    self.end_directive();
                    self.line = LineState::Start;
                    end += 1;
                }
                b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c' => end += 1,
                b'\\' => match self.splice(end) {
                    Some(next) => end = next,
                    None => break,
                },
                _ => break,
            }
        }
        self.push(Kind::Space, end);
    }

    /// The end of the line that contains `from`, continuation lines included, final line break excluded.
    fn line_end(&self, from: usize) -> usize {
        let mut end = from;
        while let Some(&byte) = self.source.get(end) {
            match byte {
                b'\n' => return if end > from && self.source[end - 1] == b'\r' { end - 1 } else { end },
                b'\\' => end = self.splice(end).unwrap_or(end + 1),
                _ => end += 1,
            }
        }
        end
    }

    fn quoted(&mut self, open: usize, quote: u8, kind: Kind) {
        let mut end = open + 1;
        while let Some(&byte) = self.source.get(end) {
            match byte {
                b'\n' => break,
                b'\\' => end = self.splice(end).unwrap_or(end + 2),
                _ if byte == quote => {
                    end += 1;
                    break;
                }
                _ => end += 1,
            }
        }
        self.line = LineState::Inside;
        self.push(kind, end);
    }

    fn number(&mut self) {
        let mut end = self.at + 1;
        while let Some(&byte) = self.source.get(end) {
            let exponent = matches!(self.source[end - 1], b'e' | b'E' | b'p' | b'P');
            match byte {
                b'+' | b'-' if exponent && !self.is_hex_e(end) => end += 1,
                b'\'' if self.source.get(end + 1).is_some_and(|&next| is_word_byte(next)) => end += 2,
                b'.' => end += 1,
                _ if is_word_byte(byte) => end += 1,
                _ => break,
            }
        }
        self.line = LineState::Inside;
        self.push(Kind::Number, end);
    }

    /// Whether the `e` in front of `sign` is a digit: `0xe+1` is a sum.
    fn is_hex_e(&self, sign: usize) -> bool {
        let hex = self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X');
        hex && matches!(self.source[sign - 1], b'e' | b'E')
    }

    fn header(&mut self) {
        let line = &self.source[self.at..self.line_end(self.at)];
        match line.iter().position(|&byte| byte == b'>') {
            Some(close) => self.push(Kind::Header, self.at + close + 1),
            None => self.push(Kind::Punct, self.at + 1),
        }
        self.line = LineState::Inside;
    }

    fn word(&mut self) {
        let mut end = self.at + 1;
        while self.source.get(end).is_some_and(|&byte| is_word_byte(byte)) {
            end += 1;
        }
        let word = &self.source[self.at..end];
        match self.source.get(end) {
            Some(b'"') if matches!(word, b"R" | b"u8R" | b"LR" | b"uR" | b"UR") => {
                if let Some(end) = self.raw_string_end(end) {
                    self.line = LineState::Inside;
                    return self.push(Kind::RawString, end);
                }
            }
            Some(b'"') if matches!(word, b"u8" | b"L" | b"u" | b"U") => {
                return self.quoted(end, b'"', Kind::String);
            }
            Some(b'\'') if matches!(word, b"u8" | b"L" | b"u" | b"U") => {
                return self.quoted(end, b'\'', Kind::Char);
            }
            _ => {}
        }
        let include =
            self.line == LineState::Hash && matches!(word, b"include" | b"include_next" | b"import");
        let has_include = matches!(word, b"__has_include" | b"__has_include_next");
        self.push(Kind::Word, end);
        self.line = if include || has_include { LineState::Include } else { LineState::Inside };
    }

    /// The end of the raw string whose quote is at `quote`; `None` if the quote opens no raw string.
    fn raw_string_end(&self, quote: usize) -> Option<usize> {
        let rest = &self.source[quote + 1..];
        let length = rest.iter().take(17).position(|&byte| byte == b'(')?;
        let delimiter = &rest[..length];
        if delimiter.iter().any(|&byte| matches!(byte, b')' | b'\\' | b' ' | b'"') || byte.is_ascii_control())
        {
            return None;
        }
        let close = [b")", delimiter, b"\""].concat();
        let body = quote + 1 + length + 1;
        Some(find(self.source, body, &close).map_or(self.source.len(), |at| at + close.len()))
    }

    fn punct(&mut self) {
        let length = match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'<', b'<', b'<') | (b'>', b'>', b'>') => 3,
            (b':', b':', _) | (b'-', b'>', _) => 2,
            _ => 1,
        };
        // `__has_include(<…>)`
        if !(self.line == LineState::Include && self.peek(0) == b'(') {
            self.line = LineState::Inside;
        }
        self.push(Kind::Punct, self.at + length);
    }
}

/// The first position of `needle` in `source` from `from` on.
fn find(source: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut at = from;
    while let Some(offset) = source.get(at..)?.iter().position(|&byte| byte == first) {
        at += offset;
        if source[at..].starts_with(needle) {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<(Kind, &str)> {
        let tokens = tokens(source.as_bytes());
        tokens
            .iter()
            .filter(|t| !matches!(t.kind, Kind::Space | Kind::End))
            .map(|t| (t.kind, &source[t.start..t.end]))
            .collect()
    }

    #[test]
    fn words_strings_and_comments_are_told_apart() {
        use Kind::*;
        assert_eq!(
            kinds("a /* b\n */ \"c // d\" 'e' // f"),
            [
                (Word, "a"),
                (BlockComment, "/* b\n */"),
                (String, "\"c // d\""),
                (Char, "'e'"),
                (LineComment, "// f")
            ]
        );
        assert_eq!(kinds(r#"R"x(a)" b)x" c"#), [(RawString, r#"R"x(a)" b)x""#), (Word, "c")]);
        assert_eq!(kinds(r#""a\"b" c"#), [(String, r#""a\"b""#), (Word, "c")]);
        assert_eq!(kinds("L\"a\" u8'b'"), [(String, "L\"a\""), (Char, "u8'b'")]);
    }

    #[test]
    fn open_strings_end_with_their_line_and_open_comments_with_the_file() {
        use Kind::*;
        assert_eq!(kinds("\"a\nb"), [(String, "\"a"), (Word, "b")]);
        assert_eq!(kinds("#error don't\nb")[3..], [(Char, "'t"), (Word, "b")]);
        assert_eq!(kinds("/* a"), [(BlockComment, "/* a")]);
        assert_eq!(kinds("R\"(a"), [(RawString, "R\"(a")]);
    }

    #[test]
    fn a_backslash_continues_line_comments_and_strings() {
        use Kind::*;
        assert_eq!(kinds("// a \\\nb\nc"), [(LineComment, "// a \\\nb"), (Word, "c")]);
        assert_eq!(kinds("\"a\\\nb\" c"), [(String, "\"a\\\nb\""), (Word, "c")]);
    }

    #[test]
    fn headers_are_only_behind_include() {
        use Kind::*;
        assert_eq!(kinds("#include <a.h>"), [(Hash, "#"), (Word, "include"), (Header, "<a.h>")]);
        assert_eq!(kinds("# include <a.h>")[2], (Header, "<a.h>"));
        assert_eq!(kinds("a # include <a>")[1], (Punct, "#"));
        assert_eq!(kinds("#if __has_include(<a.h>)")[4], (Header, "<a.h>"));
    }

    #[test]
    fn a_directive_ends_with_its_line() {
        use Kind::*;
        let kinds =
            |source: &str| tokens(source.as_bytes()).iter().map(|token| token.kind).collect::<Vec<_>>();
        assert_eq!(kinds("#a \\\nb\nc"), [Hash, Word, Space, Word, End, Space, Word]);
        assert_eq!(kinds("#a"), [Hash, Word, End]);
    }

    #[test]
    fn numbers_keep_their_separators_and_signs() {
        use Kind::*;
        assert_eq!(kinds("1'000 'a'"), [(Number, "1'000"), (Char, "'a'")]);
        assert_eq!(kinds("1e-5f 0xe+1"), [(Number, "1e-5f"), (Number, "0xe"), (Punct, "+"), (Number, "1")]);
    }

    #[test]
    fn every_byte_is_in_one_token() {
        for source in [
            "",
            "\\",
            "\"\\",
            "'\\",
            "R\"",
            "/",
            "#include <",
            "\r\n\\\r\nx",
            "a\u{e4}\u{1f600}b",
            "<<<<>>>>",
        ] {
            let tokens = tokens(source.as_bytes());
            let mut at = 0;
            for token in &tokens {
                assert_eq!(token.start, at);
                at = token.end;
            }
            assert_eq!(at, source.len());
        }
    }
}
