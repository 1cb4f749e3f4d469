//! Names and times of answers.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// A random number. Not for secrets.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A new name with this prefix.
pub(crate) fn new(prefix: &str) -> String {
    format!("{prefix}{:016x}{:08x}", random(), random() as u32)
}

/// The seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
