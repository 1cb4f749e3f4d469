//! Patterns for files.

use kernel_build::Glob;

/// Whether a name fits a pattern in which `*` is anything but `/`. A bad pattern is a name.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    Glob::new(pattern).map_or(pattern == name, |glob| glob.matches(name))
}
