//! The changes of a translation, in the format of `diff -u`.

use std::path::Path;

use similar::TextDiff;

/// The changes, or an empty text if there are none.
pub(crate) fn unified(path: &Path, before: &[u8], after: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    if before != after {
        let name = path.display().to_string();
        let name = name.trim_start_matches('/');
        let diff = TextDiff::from_lines(before, after);
        let mut unified = diff.unified_diff();
        unified.header(&format!("a/{name}"), &format!("b/{name}"));
        // Writing to a vector cannot fail.
        let _ = unified.to_writer(&mut text);
    }
    text
}
