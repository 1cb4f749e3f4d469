//! Which checks kernels run with.

use std::fmt;
use std::str::FromStr;

/// The checks that dispatches run with. The environment variable `FERROCM_VGPU_CHECK` sets the initial value
/// of the process: `barriers`, `bounds`, `outputs`, `races`, `uninitialised`, several of these separated by
/// commas, `all`, or `none`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Checks {
    /// Control flow and addresses must not depend on uninitialised registers or memory.
    pub uninitialised: bool,
    /// What kernels store to global memory must not depend on uninitialised global memory.
    pub outputs: bool,
    /// All waves of a workgroup, and all lanes that have not returned, must reach the same barriers.
    pub barriers: bool,
    /// Accesses to the same bytes of LDS, at least one of them a write, must be ordered.
    pub races: bool,
    /// Accesses to LDS must stay within the size that the workgroup asked for, and accesses to the kernel's
    /// arguments within the declared size. Without this check, LDS beyond the allocated size reads as zero
    /// and ignores writes, and the rest of the arguments' last page is ordinary memory, as on hardware.
    pub bounds: bool,
}

/// One of the checks.
type Check = fn(&mut Checks) -> &mut bool;

/// The names of the checks.
const NAMES: [(&str, Check); 5] = [
    ("barriers", |checks| &mut checks.barriers),
    ("bounds", |checks| &mut checks.bounds),
    ("outputs", |checks| &mut checks.outputs),
    ("races", |checks| &mut checks.races),
    ("uninitialised", |checks| &mut checks.uninitialised),
];

impl Checks {
    /// None of them.
    pub const NONE: Checks =
        Checks { uninitialised: false, outputs: false, barriers: false, races: false, bounds: false };
    /// The values that a list of checks accepts, for messages.
    pub const EXPECTED: &str = "`barriers`, `bounds`, `outputs`, `races`, `uninitialised`, several of them with commas, `all` or `none`";
    /// All of them.
    pub const ALL: Checks =
        Checks { uninitialised: true, outputs: true, barriers: true, races: true, bounds: true };

    /// Whether uninitialised values are tracked.
    pub fn tracks_values(self) -> bool {
        self.uninitialised || self.outputs
    }
}

/// The name of a check that does not exist.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a check; expected {expected}", expected = Checks::EXPECTED)]
pub struct ChecksError(String);

impl FromStr for Checks {
    type Err = ChecksError;

    fn from_str(text: &str) -> Result<Checks, ChecksError> {
        let mut checks = Checks::NONE;
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "all" => checks = Checks::ALL,
                "none" => checks = Checks::NONE,
                _ => match NAMES.iter().find(|(known, _)| *known == name) {
                    Some((_, check)) => *check(&mut checks) = true,
                    None => return Err(ChecksError(name.to_owned())),
                },
            }
        }
        Ok(checks)
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut checks = *self;
        let names: Vec<&str> =
            NAMES.iter().filter(|(_, check)| *check(&mut checks)).map(|(name, _)| *name).collect();
        f.write_str(if names.is_empty() { "none" } else { "" })?;
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_expected() {
        for (name, _) in NAMES {
            assert!(Checks::EXPECTED.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn checks_are_named() {
        for text in [
            "barriers",
            "bounds",
            "outputs",
            "races",
            "uninitialised",
            "races,uninitialised",
            "barriers,bounds,outputs,races,uninitialised",
            "none",
        ] {
            let checks: Checks = text.parse().unwrap();
            assert_eq!(checks.to_string(), text);
        }
        assert_eq!("all".parse(), Ok(Checks::ALL));
        assert_eq!(" uninitialised , races,bounds,outputs,barriers,".parse(), Ok(Checks::ALL));
        assert_eq!("".parse(), Ok(Checks::NONE));
        let error = "race".parse::<Checks>().unwrap_err().to_string();
        assert!(error.contains("`race` is not a check") && error.contains("`races`"), "{error}");
    }
}
