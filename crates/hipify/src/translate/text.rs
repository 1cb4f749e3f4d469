//! Names in strings and comments, and sources in raw strings.

use super::Translator;
use crate::cursor::Cursor;
use crate::includes::header_name;
use cpp_lexer::is_word_byte;

impl Translator<'_> {
    /// A string that is a header's name becomes HIP's header name; in other strings, names are translated.
    pub(super) fn string(&mut self, cursor: &Cursor<'_>, index: usize, before: Option<usize>) {
        let token = cursor.tokens[index];
        let included = before
            .is_some_and(|before| matches!(cursor.text(before), b"include" | b"import" | b"include_next"));
        if included {
            return;
        }
        let text = token.text(cursor.source);
        if let Some(to) =
            header_name(text).and_then(|name| self.header(name)).and_then(|n| self.chosen(&self.row(n)))
        {
            if !to.is_empty() {
                self.edits.replace(token.start + 1, token.end - 1, to);
            }
            return;
        }
        self.words_in_text(token.start, token.end, true);
    }

    pub(super) fn raw_string(&mut self, cursor: &Cursor<'_>, index: usize) {
        let token = cursor.tokens[index];
        let text = token.text(cursor.source);
        let (Some(quote), Some(open)) =
            (text.iter().position(|&byte| byte == b'"'), text.iter().position(|&byte| byte == b'('))
        else {
            return;
        };
        // The end is as long as the start: `)`, the delimiter, a quote. It is missing at the end of a file.
        let close = [b")", &text[quote + 1..open], b"\""].concat();
        let end = if text.len() > open && text[open + 1..].ends_with(&close) {
            text.len() - close.len()
        } else {
            text.len()
        };
        let base = token.start + open + 1;
        let mut tokens = cpp_lexer::tokens(&text[open + 1..end]);
        for inner in &mut tokens {
            inner.start += base;
            inner.end += base;
        }
        let inner = Cursor { source: self.source, tokens: &tokens };
        self.declarations(&inner);
        self.code(&inner, true);
    }

    /// `<…>` in a raw string's `#include`, or in `__has_include`.
    pub(super) fn header_outside_include(&mut self, cursor: &Cursor<'_>, index: usize, in_string: bool) {
        let token = cursor.tokens[index];
        let before = cursor.before(index);
        let include = before.is_some_and(|before| !cursor.is(before, b"("));
        if include && !in_string {
            return;
        }
        let Some(name) = header_name(token.text(cursor.source)) else { return };
        if let Some(number) = self.header(name)
            && let Some(to) = self.chosen(&self.row(number)).filter(|to| !to.is_empty())
        {
            self.counter.add(number, to);
            self.edits.replace(token.start + 1, token.end - 1, to);
        }
    }

    /// `#define HEADER <…>`: the text up to the next `>`, if it is a header's name.
    pub(super) fn header_in_macro(&mut self, start: usize) {
        let rest = &self.source[start..self.source.len().min(start + 64)];
        if let Some(length) = rest.iter().position(|byte| b"> \n".contains(byte))
            && rest[length] == b'>'
            && let Some(number) = self.header(&rest[..length])
            && let Some(to) = self.chosen(&self.row(number)).filter(|to| !to.is_empty())
        {
            self.counter.add(number, to);
            self.edits.replace(start, start + length, to);
        }
    }

    /// Translates names in a comment or string, and headers after `<` or `"`.
    pub(super) fn words_in_text(&mut self, start: usize, end: usize, escapes: bool) {
        let source = self.source;
        let mut at = start;
        while at < end {
            let byte = source[at];
            if escapes && byte == b'\\' {
                at += 2;
                continue;
            }
            if !is_word_byte(byte) {
                at += 1;
                continue;
            }
            let mut stop = at + 1;
            while stop < end && is_word_byte(source[stop]) {
                stop += 1;
            }
            let opens = at > start && matches!(source[at - 1], b'<' | b'"');
            if opens
                && source[stop..end].first().is_some_and(|&byte| matches!(byte, b'.' | b'/'))
                && let Some(length) =
                    source[at..end].iter().position(|&b| matches!(b, b'>' | b'"' | b'\\' | b'\n'))
                && let Some(number) = self.header(&source[at..at + length])
            {
                if let Some(to) = self.chosen(&self.row(number)).filter(|to| !to.is_empty()) {
                    self.edits.replace(at, at + length, to);
                }
                at += length;
                continue;
            }
            let word = &source[at..stop];
            if let Some(number) = self.tables.number(word) {
                let row = self.row(number);
                if let Some(to) = self.chosen(&row).filter(|&to| to != row.name) {
                    // `void*` before a slash would end a comment.
                    if !(to.ends_with('*') && source.get(stop) == Some(&b'/')) {
                        self.edits.replace(at, stop, to);
                    }
                }
            } else if word == b"cub" && source[stop..end].starts_with(b"::") {
                self.edits.replace(at, stop, "hipcub");
            }
            at = stop;
        }
    }
}
