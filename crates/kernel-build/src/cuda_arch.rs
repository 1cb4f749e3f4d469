//! Architectures of NVIDIA GPUs.

use std::fmt;
use std::str::FromStr;

/// An architecture of NVIDIA GPUs, by its compute capability: `sm_80`. Read from `sm_80`, `compute_80`, `80`
/// or `8.0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CudaArch {
    /// Major and minor number: 80 for 8.0.
    number: u32,
    /// `a` for features of only this architecture, `f` for those of its family.
    suffix: Option<char>,
}

impl fmt::Display for CudaArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

impl CudaArch {
    /// Whether a GPU of another architecture runs PTX for this one: the same, or a later one if this is not
    /// an architecture whose features are its own.
    pub(crate) fn serves(&self, other: &Self) -> bool {
        self == other || (self.suffix.is_none() && self.number <= other.number)
    }
}

/// A malformed architecture name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad architecture `{text}`: write it as sm_80, sm_90a, 80 or 8.0")]
pub struct ParseArchError {
    text: String,
}

impl FromStr for CudaArch {
    type Err = ParseArchError;

    fn from_str(text: &str) -> Result<Self, ParseArchError> {
        let bad = || ParseArchError { text: text.to_owned() };
        let name = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")).unwrap_or(text);
        let digits = name.trim_end_matches(['a', 'f']);
        let suffix = match &name[digits.len()..] {
            "" => None,
            "a" => Some('a'),
            "f" => Some('f'),
            _ => return Err(bad()),
        };
        let number = match digits.split_once('.') {
            Some((major, minor)) if minor.len() == 1 && name == text => format!("{major}{minor}"),
            Some(_) => return Err(bad()),
            None => digits.to_owned(),
        };
        let is_number = matches!(number.len(), 2 | 3) && number.bytes().all(|b| b.is_ascii_digit());
        let number = number.parse().ok().filter(|_| is_number && !number.starts_with('0'));
        Ok(Self { number: number.ok_or_else(bad)?, suffix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_architecture_is_read() {
        for (text, expected) in [
            ("sm_80", "sm_80"),
            ("compute_90", "sm_90"),
            ("86", "sm_86"),
            ("8.9", "sm_89"),
            ("9.0a", "sm_90a"),
            ("sm_100f", "sm_100f"),
            ("12.0", "sm_120"),
        ] {
            assert_eq!(text.parse::<CudaArch>().unwrap().to_string(), expected);
        }
        for text in [
            "", "sm_", "sm80", "gfx1100", "native", "8", "8.", "8.60", "sm_8.0", "90b", "90aa", "1234", "08",
            "é",
        ] {
            let error = text.parse::<CudaArch>().unwrap_err().to_string();
            assert_eq!(error, format!("bad architecture `{text}`: write it as sm_80, sm_90a, 80 or 8.0"));
        }
    }
}
