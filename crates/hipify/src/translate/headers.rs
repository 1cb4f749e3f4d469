//! Headers: changed and removed includes, and HIP's own.

use super::Translator;
use crate::cursor::Cursor;
use crate::finding::{Rule, Severity};
use crate::includes::{API_HEADER, Directives, Included, RUNTIME_HEADER};
use crate::tables::{Family, Row, RowNumber};
use cpp_lexer::Kind;

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
        let comment = directives.comment_line.filter(|_| device_code);
        let early_comment = comment.filter(|&line| line < first && early.is_none() && first != usize::MAX);
        let empty = early.or_else(|| empty_lines.into_iter().min().filter(|_| early_comment.is_none()));
        // The comment can follow it on the same line.
        let comment = comment.filter(|_| empty.is_none());
        let place = empty.or(comment).filter(|_| needs_header);
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
            None if needs_header && device_code => {
                self.report(
                    0,
                    0,
                    Rule::RuntimeHeader,
                    Severity::Warning,
                    format!("the file has device code and does not include <{RUNTIME_HEADER}>"),
                    "include it; there is no empty line or comment before the code where it could go",
                );
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
fn has_device_code(cursor: &Cursor<'_>) -> bool {
    const WORDS: [&[u8]; 4] = [b"__global__", b"__device__", b"__shared__", b"__constant__"];
    cursor.tokens.iter().any(|token| {
        token.kind == Kind::Word && WORDS.contains(&token.text(cursor.source))
            || token.kind == Kind::Punct && token.text(cursor.source) == b"<<<"
    })
}
