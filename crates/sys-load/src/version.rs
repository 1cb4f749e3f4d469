//! Version numbers of libraries.

use std::fmt;
use std::str::FromStr;

/// The version of a library, in its own numbering: HIP's is close to the ROCm release; rocBLAS and RCCL
/// number differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Changes when the ABI does.
    pub major: u32,
    /// Changes with every feature release.
    pub minor: u32,
    /// The library's third number; HIP counts commits.
    pub patch: u32,
}

impl Version {
    /// A version of these three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Version {
        Version { major, minor, patch }
    }

    /// The version in the name of a library's file: what follows `.so.` in `libamdhip64.so.7.2.53211`, the
    /// four digits in `hiprtc0702.dll`. A single number, as in `libamdhip64.so.7`, names an ABI, not a
    /// version, and gives `None`.
    ///
    /// ```
    /// use sys_load::Version;
    ///
    /// assert_eq!(Version::in_file_name("libamdhip64.so.7.2.53211"), Some(Version::new(7, 2, 53211)));
    /// assert_eq!(Version::in_file_name("libamdhip64.so.7"), None);
    /// ```
    pub fn in_file_name(name: &str) -> Option<Version> {
        if let Some((_, numbers)) = name.split_once(".so.") {
            return Version::at_start_of(numbers);
        }
        let stem = name.strip_suffix(".dll")?;
        let digits = &stem[stem.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
        let (major, minor) = digits.split_at_checked(2).filter(|(_, minor)| minor.len() == 2)?;
        Some(Version::new(major.parse().ok()?, minor.parse().ok()?, 0))
    }

    /// The version that a text begins with: two or three numbers separated by dots, followed by anything.
    ///
    /// ```
    /// use sys_load::Version;
    ///
    /// assert_eq!(Version::at_start_of("4.4.1.9f2a3c-dirty"), Some(Version::new(4, 4, 1)));
    /// assert_eq!(Version::at_start_of("4"), None);
    /// ```
    pub fn at_start_of(text: &str) -> Option<Version> {
        let mut rest = text;
        let major = number(&mut rest)?;
        rest = rest.strip_prefix('.')?;
        let minor = number(&mut rest)?;
        let patch = match rest.strip_prefix('.') {
            Some(after) if after.starts_with(|c: char| c.is_ascii_digit()) => {
                rest = after;
                number(&mut rest)?
            }
            _ => 0,
        };
        Some(Version { major, minor, patch })
    }
}

/// Takes the number at the start of the text; `None` if there is none or it is too large for a version.
fn number(text: &mut &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    digits.parse().ok()
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A text that is not a version of two or three numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a version such as 7.2.0")]
pub struct ParseVersionError(pub String);

impl FromStr for Version {
    type Err = ParseVersionError;

    fn from_str(text: &str) -> Result<Version, ParseVersionError> {
        let only_numbers = text.split('.').count() <= 3
            && text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        Version::at_start_of(text).filter(|_| only_numbers).ok_or_else(|| ParseVersionError(text.to_owned()))
    }
}

/// How to find a library's version.
#[derive(Debug, Clone, Copy)]
pub enum Versioning {
    /// From the file's name, with symbolic links resolved. If the name lacks the version, the library is
    /// asked.
    FileName {
        /// How to ask, if there is a way.
        otherwise: Option<Ask>,
    },
    /// Only from the library: the numbers in its file name mean something else.
    Ask(Ask),
}

/// Asks an open library for its version; `None` if it does not say.
pub type Ask = fn(&crate::Library) -> Option<Version>;

/// The numbers in a name, so that `rocm-7.10` sorts after `rocm-7.2`, and `python3.13` after `python3.9`.
pub(crate) fn numbers(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_of_every_packaging_are_read() {
        for (name, version) in [
            ("libamdhip64.so.5.2.21153", Some(Version::new(5, 2, 21153))),
            ("libamdhip64.so.6.4.43483-0", Some(Version::new(6, 4, 43483))),
            ("libhsa-runtime64.so.1.5.0", Some(Version::new(1, 5, 0))),
            ("librocblas.so.5.2", Some(Version::new(5, 2, 0))),
            ("libamdhip64.so.7", None),
            ("libamdhip64.so", None),
            ("libamdhip64.so.", None),
            ("libamdhip64.so.x.y", None),
            ("libamdhip64.so.7.", None),
            ("libamdhip64.so.99999999999.1", None),
            ("hiprtc0702.dll", Some(Version::new(7, 2, 0))),
            ("amdhip64_7.dll", None),
            ("amdhip64.dll", None),
            ("12345.dll", None),
            ("", None),
            ("ü.so.7.2", Some(Version::new(7, 2, 0))),
        ] {
            assert_eq!(Version::in_file_name(name), version, "{name}");
        }
    }

    #[test]
    fn a_text_may_go_on_after_its_version() {
        assert_eq!(Version::at_start_of("2.47.0."), Some(Version::new(2, 47, 0)));
        assert_eq!(Version::at_start_of("5.2.0.8f-dirty"), Some(Version::new(5, 2, 0)));
        assert_eq!(Version::at_start_of("5.2-1"), Some(Version::new(5, 2, 0)));
        assert_eq!(Version::at_start_of("v5.2"), None);
        assert_eq!(Version::at_start_of("5.99999999999"), None);
    }

    #[test]
    fn parsing_takes_a_version_and_nothing_else() {
        assert_eq!("7.2".parse(), Ok(Version::new(7, 2, 0)));
        assert_eq!("7.2.4".parse(), Ok(Version::new(7, 2, 4)));
        for bad in ["", "7", "7.", "7.2.", "7.2.x", "7.2.4.1", " 7.2", "+7.2"] {
            let error = bad.parse::<Version>().unwrap_err();
            assert!(error.to_string().contains(&format!("\"{bad}\"")), "{error}");
        }
        let version = Version::new(5, 7, 31921);
        assert_eq!(version.to_string().parse(), Ok(version));
    }

    #[test]
    fn versions_and_names_sort_by_number() {
        assert!(Version::new(7, 10, 0) > Version::new(7, 2, 4));
        assert!(numbers("rocm-7.10.0") > numbers("rocm-7.2.4"));
        assert!(numbers("python3.13") > numbers("python3.9"));
        assert!(numbers("99999999999999999999999999").is_empty());
    }
}
