//! Patterns for files.

use kernel_build::Glob;

/// Whether a name matches a pattern in which `*` is anything except `/`. An invalid pattern only matches
/// itself.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    Glob::new(pattern).map_or(pattern == name, |glob| glob.matches(name))
}
