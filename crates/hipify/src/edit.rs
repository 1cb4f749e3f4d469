//! Changes to a source, collected in any order and applied at once.

use std::borrow::Cow;

/// Bytes to replace, or a place to insert at if `start` equals `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    start: usize,
    end: usize,
    text: Cow<'static, str>,
}

/// Changes to one source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edits(Vec<Edit>);

impl Edits {
    pub(crate) fn replace(&mut self, start: usize, end: usize, text: impl Into<Cow<'static, str>>) {
        self.0.push(Edit { start, end, text: text.into() });
    }

    pub(crate) fn insert(&mut self, at: usize, text: impl Into<Cow<'static, str>>) {
        self.replace(at, at, text);
    }

    pub(crate) fn delete(&mut self, start: usize, end: usize) {
        if start < end {
            self.replace(start, end, "");
        }
    }

    /// The changed source. Of two overlapping changes, the first one is applied.
    pub(crate) fn apply(mut self, source: &[u8]) -> Vec<u8> {
        // Insertions come before replacements at the same place.
        self.0.sort_by_key(|edit| (edit.start, edit.end));
        let mut text = Vec::with_capacity(source.len() + source.len() / 8);
        let mut at = 0;
        for edit in &self.0 {
            if edit.start < at {
                continue;
            }
            text.extend_from_slice(&source[at..edit.start]);
            text.extend_from_slice(edit.text.as_bytes());
            at = edit.end;
        }
        text.extend_from_slice(&source[at..]);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_made_in_the_order_of_the_source() {
        let mut edits = Edits::default();
        edits.replace(2, 3, "C");
        edits.insert(2, "(");
        edits.replace(0, 1, "A");
        edits.delete(3, 4);
        edits.delete(4, 4);
        assert_eq!(edits.apply(b"abcde"), b"Ab(Ce");
    }

    #[test]
    fn overlapping_edits_do_no_harm() {
        let mut edits = Edits::default();
        edits.replace(0, 3, "x");
        edits.replace(1, 2, "y");
        assert_eq!(edits.apply(b"abcd"), b"xd");
    }
}
