//! Navigation in tokens: the next or previous significant token, matching brackets, arguments.

use cpp_lexer::{Kind, Token};

/// The tokens of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    pub(crate) source: &'a [u8],
    pub(crate) tokens: &'a [Token],
}

/// An argument: the numbers of its first and last non-trivia tokens. An empty argument has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Arguments in brackets, and the number of the closing token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) list: Vec<Argument>,
    pub(crate) close: usize,
}

/// How many tokens to search for the end of a launch or call: far more than any has.
const REACH: usize = 4000;
/// The same for template arguments.
const TEMPLATE_REACH: usize = 400;

impl<'a> Cursor<'a> {
    pub(crate) fn text(&self, index: usize) -> &'a [u8] {
        self.tokens.get(index).map_or(b"", |token| token.text(self.source))
    }

    pub(crate) fn is(&self, index: usize, text: &[u8]) -> bool {
        self.text(index) == text
    }

    pub(crate) fn kind(&self, index: usize) -> Option<Kind> {
        self.tokens.get(index).map(|token| token.kind)
    }

    /// The first non-trivia token at or after `index`.
    pub(crate) fn at_or_after(&self, mut index: usize) -> Option<usize> {
        while self.tokens.get(index)?.is_trivia() {
            index += 1;
        }
        Some(index)
    }

    /// The first non-trivia token after `index`.
    pub(crate) fn after(&self, index: usize) -> Option<usize> {
        self.at_or_after(index + 1)
    }

    /// The last non-trivia token before `index`.
    pub(crate) fn before(&self, index: usize) -> Option<usize> {
        self.tokens.get(..index)?.iter().rposition(|token| !token.is_trivia())
    }

    /// Whether there are only spaces between two tokens, on one line.
    pub(crate) fn is_plain_between(&self, first: usize, second: usize) -> bool {
        let plain = |token: &Token| {
            token.kind == Kind::Space
                && !token.text(self.source).iter().any(|&byte| matches!(byte, b'\n' | b'\\'))
        };
        self.tokens[first + 1..second].iter().all(plain)
    }

    /// The opening bracket for `close`.
    pub(crate) fn opening(&self, close: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for index in (close.saturating_sub(REACH)..=close).rev() {
            if self.tokens[index].kind != Kind::Punct {
                continue;
            }
            match self.text(index) {
                b")" | b"]" | b"}" => depth += 1,
                b"(" | b"[" | b"{" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(index);
                    }
                }
                b";" if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// The closing bracket for `open`.
    pub(crate) fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for index in open..self.tokens.len().min(open + REACH) {
            if self.tokens[index].kind != Kind::Punct {
                continue;
            }
            match self.text(index) {
                b"(" | b"[" | b"{" => depth += 1,
                b")" | b"]" | b"}" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(index);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The `<` of the template arguments that end at token `close`.
    pub(crate) fn template_opening(&self, close: usize) -> Option<usize> {
        let mut depth = 0_usize;
        let mut index = close;
        let end = close.saturating_sub(TEMPLATE_REACH);
        loop {
            if self.tokens[index].kind == Kind::Punct {
                match self.text(index) {
                    b">" => depth += 1,
                    b">>>" => depth += 3,
                    b"<" => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(index);
                        }
                    }
                    b")" | b"]" | b"}" => index = self.opening(index)?,
                    b"(" | b"[" | b"{" | b";" | b"<<<" => return None,
                    _ => {}
                }
            }
            if index <= end {
                return None;
            }
            index -= 1;
        }
    }

    /// The closing `>` for token `open`, a `<`, if that opens template arguments and is not a comparison.
    pub(crate) fn template_closing(&self, open: usize) -> Option<usize> {
        if self.kind(self.before(open)?)? != Kind::Word {
            return None;
        }
        let mut depth = 0_usize;
        let mut index = open;
        let end = self.tokens.len().min(open + TEMPLATE_REACH);
        while index < end {
            if self.tokens[index].kind == Kind::Punct {
                match self.text(index) {
                    b"<" => depth += 1,
                    b">" | b">>>" => {
                        let count = if self.is(index, b">") { 1 } else { 3 };
                        depth = depth.checked_sub(count)?;
                        if depth == 0 {
                            break;
                        }
                    }
                    b"(" | b"[" | b"{" => index = self.closing(index)?,
                    b")" | b"]" | b"}" | b";" | b"<<<" => return None,
                    b"&" | b"|" if self.is(index + 1, self.text(index)) => return None,
                    _ => {}
                }
            }
            index += 1;
        }
        if index >= end {
            return None;
        }
        // Tokens that follow template arguments, but rarely a comparison.
        let next = self.after(index)?;
        let follows = [&b"("[..], b"::", b"{", b",", b")", b">", b">>>", b"&", b"*", b".", b"["];
        follows.contains(&self.text(next)).then_some(index)
    }

    /// The arguments after token `open`, a `(` or `<<<`.
    pub(crate) fn arguments(&self, open: usize) -> Option<Arguments> {
        let launch = self.is(open, b"<<<");
        let mut list = Vec::new();
        let mut begin = open + 1;
        let mut index = open + 1;
        let end = self.tokens.len().min(open + REACH);
        while index < end {
            if self.tokens[index].kind == Kind::Punct {
                let text = self.text(index);
                let closes = if launch { text == b">>>" } else { text == b")" };
                if closes || text == b"," {
                    let first = self.at_or_after(begin)?;
                    let argument = self.before(index).filter(|&last| first <= last && begin <= first);
                    match argument {
                        Some(last) => list.push(Argument { first, last }),
                        // `()` has no argument; `(a,)` and `(,a)` have an empty one, which is not supported.
                        None if closes && list.is_empty() => {}
                        None => return None,
                    }
                    if closes {
                        return Some(Arguments { list, close: index });
                    }
                    begin = index + 1;
                } else {
                    match text {
                        b"(" | b"[" | b"{" => index = self.closing(index)?,
                        b"<<<" => index = self.arguments_of_nested(index)?,
                        b"<" => index = self.template_closing(index).unwrap_or(index),
                        b")" | b"]" | b"}" | b";" | b">>>" => return None,
                        _ => {}
                    }
                }
            }
            index += 1;
        }
        None
    }

    /// The closing `>>>` of a launch inside an argument.
    fn arguments_of_nested(&self, open: usize) -> Option<usize> {
        let end = self.tokens.len().min(open + REACH);
        let mut index = open + 1;
        while index < end {
            match self.text(index) {
                b">>>" => return Some(index),
                b"(" | b"[" | b"{" => index = self.closing(index)?,
                b")" | b"]" | b"}" | b";" | b"<<<" => return None,
                _ => {}
            }
            index += 1;
        }
        None
    }
}
