//! Calls whose arguments differ.

use super::Translator;
use crate::cursor::{Argument, Arguments, Cursor};
use crate::finding::{Rule, Severity};
use crate::forms::{self, Item};
use cpp_lexer::Kind;

impl Translator<'_> {
    /// Translates a call whose arguments differ. False if it is none.
    pub(super) fn form(&mut self, cursor: &Cursor<'_>, name: usize) -> bool {
        let token = cursor.tokens[name];
        let word = token.text(cursor.source);
        if !word.starts_with(b"cu") {
            return false;
        }
        let Some(open) = cursor.after(name).filter(|&open| cursor.is(open, b"(")) else { return false };
        let before = cursor.before(name);
        if before.is_some_and(|before| matches!(cursor.text(before), b"." | b"->")) {
            return false;
        }
        let Some(Arguments { list, .. }) = cursor.arguments(open) else { return false };
        let Some(form) = forms::of(cursor, word, &list, self.options.roc) else { return false };
        // Of a macro of this name, only the name changes.
        let defined = before.is_some_and(|before| cursor.is(before, b"define"));
        if defined {
            let same = form.items.iter().flatten().all(|item| matches!(item, Item::Same(..)));
            return same && form.to.is_some_and(|to| self.renamed(cursor, name, to));
        }
        let number = self.tables.number(word);
        let Some(to) = form.to.or_else(|| self.chosen(&self.row(number?))) else { return false };
        let null = form.items.iter().flatten().all(|item| match *item {
            Item::Null(number) => forms::is_null(cursor, list[number - 1]),
            _ => true,
        });
        let Some(items) = form.items.as_ref().filter(|_| null) else {
            let message =
                format!("the arguments of `{to}` differ from those of `{}`", String::from_utf8_lossy(word));
            let advice = if null {
                "write the call by hand, as its documentation says"
            } else {
                "HIP has no data of edges or of contexts, so the argument for them must be null"
            };
            self.report(token.start, token.end, Rule::Arguments, Severity::Error, message, advice);
            return form.to.is_none() && self.renamed(cursor, name, to);
        };
        self.arguments(cursor, &list, items);
        if let Some(number) = number.filter(|_| form.to.is_none()) {
            self.report_row(cursor, name, before, &self.row(number), Some(to));
        }
        self.renamed(cursor, name, to)
    }

    /// In a call of rocSPARSE, types of data have its own names.
    pub(super) fn data_types(&mut self, cursor: &Cursor<'_>, name: usize) {
        if !self.options.roc || !cursor.text(name).starts_with(b"cusparse") {
            return;
        }
        let Some(open) = cursor.after(name).filter(|&open| cursor.is(open, b"(")) else { return };
        let Some(close) = cursor.closing(open) else { return };
        for token in &cursor.tokens[open..close] {
            let row =
                (token.kind == Kind::Word).then(|| self.tables.row(token.text(cursor.source))).flatten();
            let kind = row.and_then(|row| row.roc?.strip_prefix("rocblas_datatype_"));
            if let Some(kind) = kind.filter(|_| self.settled.insert(token.start)) {
                self.edits.replace(token.start, token.end, format!("rocsparse_datatype_{kind}"));
            }
        }
    }

    /// Replaces a name and counts it.
    fn renamed(&mut self, cursor: &Cursor<'_>, name: usize, to: &'static str) -> bool {
        let token = cursor.tokens[name];
        self.edits.replace(token.start, token.end, to);
        if let Some(number) = self.tables.number(token.text(cursor.source)) {
            self.counter.add(number, to);
        }
        true
    }

    /// Makes a list of arguments out of another one.
    fn arguments(&mut self, cursor: &Cursor<'_>, list: &[Argument], items: &[Item]) {
        let span =
            |argument: Argument| (cursor.tokens[argument.first].start, cursor.tokens[argument.last].end);
        // What has been added behind the argument with this number, from 1.
        let mut kept = 0;
        let mut added = String::new();
        for item in items {
            let (first, last) = match *item {
                Item::Text(text) => {
                    added += ", ";
                    added += text;
                    continue;
                }
                Item::Null(_) => continue,
                Item::Same(first, last) => (first, last),
                Item::Location(number) => (number, number),
            };
            for number in first..=last {
                if number <= kept {
                    let (start, end) = span(list[number - 1]);
                    added += ", ";
                    added += &self.fragment(&cursor.source[start..end]);
                    continue;
                }
                if kept > 0 {
                    self.edits.insert(span(list[kept - 1]).1, std::mem::take(&mut added));
                }
                for dropped in kept + 1..number {
                    self.drop(cursor, list, dropped);
                }
                kept = number;
            }
        }
        if kept > 0 {
            self.edits.insert(span(list[kept - 1]).1, added);
        }
        for dropped in kept + 1..=list.len() {
            self.drop(cursor, list, dropped);
        }
    }

    /// Drops an argument, by number from 1, with a comma.
    fn drop(&mut self, cursor: &Cursor<'_>, list: &[Argument], number: usize) {
        let argument = list[number - 1];
        for token in &cursor.tokens[argument.first..=argument.last] {
            self.settled.insert(token.start);
        }
        let (first, last) = (cursor.tokens[argument.first], cursor.tokens[argument.last]);
        if let Some(next) = list.get(number) {
            let comma = cursor.after(argument.last).unwrap_or(argument.last);
            let plain = cursor.is_plain_between(comma, next.first);
            let end = if plain { cursor.tokens[next.first].start } else { cursor.tokens[comma].end };
            self.drop_directive(first.start, end);
        } else if let Some(comma) = cursor.before(argument.first) {
            self.drop_directive(cursor.tokens[comma].start, last.end);
        }
    }

    /// The translation of an argument that HIP has once more, on one line.
    fn fragment(&self, text: &[u8]) -> String {
        let mut out = String::new();
        for token in cpp_lexer::tokens(text) {
            let piece = String::from_utf8_lossy(token.text(text));
            let row = (token.kind == Kind::Word).then(|| self.tables.row(token.text(text))).flatten();
            match token.kind {
                Kind::Space | Kind::LineComment | Kind::BlockComment => out.push(' '),
                _ => out += row.and_then(|row| self.chosen(&row)).unwrap_or(&piece),
            }
        }
        out
    }
}
