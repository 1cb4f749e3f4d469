//! Which checks kernels run with.

use std::fmt;
use std::str::FromStr;

/// Which checks dispatches run with. The environment variable `FERROCM_VGPU_CHECK` sets what the process starts with:
/// `races`, `uninitialised`, both with a comma, `all` or `none`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Checks {
    /// Control flow and addresses must not depend on registers or memory that nobody wrote.
    pub uninitialised: bool,
    /// Accesses to the same bytes of LDS, at least one of them a write, must be ordered.
    pub races: bool,
}

impl Checks {
    /// None of them.
    pub const NONE: Checks = Checks { uninitialised: false, races: false };
    /// All of them.
    pub const ALL: Checks = Checks { uninitialised: true, races: true };
}

/// A check that does not exist.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no check; expected `races`, `uninitialised`, `all` or `none`")]
pub struct ChecksError(String);

impl FromStr for Checks {
    type Err = ChecksError;

    fn from_str(text: &str) -> Result<Checks, ChecksError> {
        let mut checks = Checks::NONE;
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "races" => checks.races = true,
                "uninitialised" => checks.uninitialised = true,
                "all" => checks = Checks::ALL,
                "none" => checks = Checks::NONE,
                _ => return Err(ChecksError(name.to_owned())),
            }
        }
        Ok(checks)
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.races, self.uninitialised) {
            (true, true) => "races,uninitialised",
            (true, false) => "races",
            (false, true) => "uninitialised",
            (false, false) => "none",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_named() {
        for text in ["races", "uninitialised", "races,uninitialised", "none"] {
            let checks: Checks = text.parse().unwrap();
            assert_eq!(checks.to_string(), text);
        }
        assert_eq!("all".parse(), Ok(Checks::ALL));
        assert_eq!(" uninitialised , races,".parse(), Ok(Checks::ALL));
        assert_eq!("".parse(), Ok(Checks::NONE));
        let error = "race".parse::<Checks>().unwrap_err().to_string();
        assert!(error.contains("`race` is no check") && error.contains("`races`"), "{error}");
    }
}
