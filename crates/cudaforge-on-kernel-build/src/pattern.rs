//! Patterns for files.

use globset::GlobBuilder;

/// Whether a name fits a pattern in which `*` is anything but `/`. A bad pattern is a name.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.map_or(pattern == name, |glob| glob.compile_matcher().is_match(name))
}
