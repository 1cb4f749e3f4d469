//! Lines and columns.

/// Converts offsets to places, in ascending order.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    source: &'a [u8],
    at: usize,
    line: usize,
    line_start: usize,
}

impl<'a> Places<'a> {
    pub(crate) fn new(source: &'a [u8]) -> Self {
        Self { source, at: 0, line: 1, line_start: 0 }
    }

    /// Line and column, both from 1, of an offset that is not before the last one. Columns count characters.
    pub(crate) fn place(&mut self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.source.len());
        while self.at < offset {
            if self.source[self.at] == b'\n' {
                self.line += 1;
                self.line_start = self.at + 1;
            }
            self.at += 1;
        }
        let line = self.source.get(self.line_start..offset).unwrap_or_default();
        (self.line, 1 + String::from_utf8_lossy(line).chars().count())
    }
}

/// The number of lines of a text. An unterminated last line counts.
pub(crate) fn lines(text: &[u8]) -> usize {
    let ends = text.iter().filter(|&&byte| byte == b'\n').count();
    ends + usize::from(text.last().is_some_and(|&last| last != b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters() {
        let mut places = Places::new("a\u{e4}b\nc".as_bytes());
        assert_eq!(places.place(0), (1, 1));
        assert_eq!(places.place(3), (1, 3));
        assert_eq!(places.place(5), (2, 1));
        assert_eq!(places.place(9), (2, 2));
        assert_eq!((lines(b""), lines(b"a"), lines(b"a\n"), lines(b"a\n\n")), (0, 1, 1, 2));
    }
}
