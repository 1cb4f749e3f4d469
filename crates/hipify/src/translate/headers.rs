//! Headers: changed and removed includes, and HIP's own.

use super::Translator;
use crate::cursor::Cursor;
use crate::includes::{API_HEADER, Directives, Included, RUNTIME_HEADER};
use crate::tables::{Family, Row, RowNumber};
use cpp_lexer::Kind;

/// What some editors write in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Translator<'_> {
    /// Translates includes, removes duplicates, and adds HIP's own header.
    pub(super) fn includes(&mut self, cursor: &Cursor<'_>, directives: &Directives<'_>) {
        let mut included = Included::default();
        let mut empty_lines = directives.empty_lines.clone();
        let mut dropped = Vec::new();
        for include in &directives.includes {
            let Some(number) = self.header(include.name) else {
                included.again(include.name, include.always);
                self.report_header(cursor, include.token);
                continue;
            };
            let row = self.row(number);
            let Some(to) = self.chosen(&row) else { continue };
            self.counter.add(number, to);
            let token = cursor.tokens[include.token];
            let again = to.is_empty() || included.again(to.as_bytes(), include.always);
            let hash = cursor.tokens[include.hash].start;
            let before_code = directives.code.is_none_or(|code| include.hash < code);
            if !ends_line(cursor, include.token) {
                // If something unexpected follows, a header that HIP lacks stays.
                if !to.is_empty() {
                    self.edits.replace(token.start + 1, token.end - 1, to);
                }
            } else if again && before_code && (to.is_empty() || !self.options.duplicate_headers) {
                if include.always {
                    empty_lines.push(hash);
                }
                dropped.push((hash, token.end));
            } else if to.is_empty() || again && !self.options.duplicate_headers {
                // Amid code, an empty directive keeps the surrounding code separated.
                self.drop_directive(hash + 1, token.end);
            } else {
                self.edits.replace(token.start + 1, token.end - 1, to);
            }
        }
        let device_code = has_device_code(cursor);
        let needs_header = self.options.runtime_header
            && !included.contains(RUNTIME_HEADER.as_bytes())
            && (device_code || !included.contains(API_HEADER.as_bytes()) && self.calls_the_runtime(cursor));
        // CUDA's or the program's headers may need it, too, so it is better before them.
        let first = directives.includes.iter().find(|include| {
            self.header(include.name).is_some() || cursor.text(include.token).starts_with(b"\"")
        });
        let first = first.map_or(usize::MAX, |include| cursor.tokens[include.hash].start);
        let early = empty_lines.iter().copied().filter(|&line| line <= first).min();
        let comment = directives.comment_line.filter(|&line| device_code && line < first);
        // The comment can follow it on the same line.
        let comment = comment.filter(|_| early.is_none());
        // Host code may get along with what its headers include, so it gets no line of its own if there are
        // any.
        let headers = first != usize::MAX;
        let late = empty_lines.into_iter().min().filter(|_| headers && !device_code);
        let place = early.or(comment).or(late).filter(|_| needs_header);
        let include = || format!("#include <{RUNTIME_HEADER}>");
        for (start, end) in dropped {
            if place == Some(start) {
                self.edits.replace(start, end, include());
            } else {
                self.drop_directive(start, end);
            }
        }
        match place {
            Some(start) if cursor.source.get(start) != Some(&b'#') => {
                let space = if comment.is_some() { "  " } else { "" };
                self.edits.insert(start, include() + space);
            }
            None if needs_header && (device_code || !headers) => {
                // A line of its own, as hipify-perl adds it.
                let mark = if cursor.source.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
                let line = cursor.source.iter().position(|&byte| byte == b'\n').unwrap_or(0);
                let windows = line.checked_sub(1).and_then(|at| cursor.source.get(at)) == Some(&b'\r');
                self.edits.insert(mark, include() + if windows { "\r\n" } else { "\n" });
            }
            _ => {}
        }
    }

    /// Removes a directive but keeps its lines.
    pub(super) fn drop_directive(&mut self, start: usize, end: usize) {
        let lines = self.source[start..end].iter().filter(|&&byte| byte == b'\n').count();
        self.edits.replace(start, end, "\n".repeat(lines));
    }

    /// The row of a header. hipCUB's single header replaces CUB's many.
    pub(super) fn header(&self, name: &[u8]) -> Option<RowNumber> {
        let name = if name.starts_with(b"cub/") && name.ends_with(b".cuh") { b"cub/cub.cuh" } else { name };
        self.tables.number(name).filter(|&number| self.row(number).kind.is_header())
    }

    /// Whether the source has names of the runtime or the driver that translate to HIP.
    fn calls_the_runtime(&self, cursor: &Cursor<'_>) -> bool {
        cursor.tokens.iter().any(|token| {
            let number =
                (token.kind == Kind::Word).then(|| self.tables.number(token.text(cursor.source))).flatten();
            number.map(|number| self.row(number)).is_some_and(|row| {
                matches!(row.family, Family::Runtime | Family::Driver) && self.chosen(&row).is_some()
            })
        })
    }

    pub(super) fn row(&self, number: RowNumber) -> Row {
        self.tables.numbered(number)
    }
}

/// Whether nothing but a comment follows on the line of a directive's token.
fn ends_line(cursor: &Cursor<'_>, index: usize) -> bool {
    cursor.after(index).is_none_or(|next| cursor.kind(next) == Some(Kind::End))
}

/// Words that only occur in device code or in sources that launch it.
pub(super) fn has_device_code(cursor: &Cursor<'_>) -> bool {
    const WORDS: [&[u8]; 4] = [b"__global__", b"__device__", b"__shared__", b"__constant__"];
    cursor.tokens.iter().any(|token| {
        token.kind == Kind::Word && WORDS.contains(&token.text(cursor.source))
            || token.kind == Kind::Punct && token.text(cursor.source) == b"<<<"
    })
}
