//! The properties of a virtual device, and their text form `gfx1100?cus=4&memory=2GiB&count=2`.

use std::fmt;
use std::str::FromStr;

use code_object::TargetId;
use gpu_report::{Checks, CounterFormat};

use crate::isa::Target;

/// The default target.
pub const DEFAULT_TARGET: &str = "gfx1100";
/// Compute units of a device that is configured without a number.
const DEFAULT_COMPUTE_UNITS: u32 = 8;
/// Memory of a device that is configured without a size.
const DEFAULT_MEMORY: u64 = 16 << 30;
/// The most devices one configuration can ask for.
pub const MAX_COUNT: u32 = 64;
/// The maximum number of compute units of a device.
pub const MAX_COMPUTE_UNITS: u32 = 1024;

/// One kind of virtual device, and how many of them there are.
///
/// ```
/// use vgpu::DeviceConfig;
///
/// let config: DeviceConfig = "gfx90a?cus=4&memory=2GiB".parse()?;
/// assert_eq!((config.compute_units, config.memory), (4, 2 << 30));
/// assert_eq!(config.to_string(), "gfx90a?cus=4&memory=2GiB&count=1");
/// let error = "gfx90a?cores=4".parse::<DeviceConfig>().unwrap_err();
/// assert!(error.to_string().contains("`cores`"));
/// # Ok::<(), vgpu::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeviceConfig {
    /// The processor. Features, if given, must match those of the device.
    pub target: TargetId,
    /// The number of compute units that the device reports. The host decides how many threads do the work.
    pub compute_units: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// The number of identical devices.
    pub count: u32,
    /// The checks of their dispatches, unless a dispatch overrides them. None means
    /// [`Machine::checks`](crate::machine::Machine::checks).
    pub checks: Option<Checks>,
    /// The format in which the counters of each dispatch are written to stderr, if any.
    pub counters: Option<CounterFormat>,
}

/// Why a configuration is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The target id cannot be read.
    #[error(transparent)]
    Target(#[from] code_object::ParseTargetError),
    /// No virtual device exists for the target.
    #[error("no virtual GPU for target `{target}`; supported are {supported}")]
    Unsupported {
        /// The requested target.
        target: String,
        /// The supported targets.
        supported: String,
    },
    /// An unknown option.
    #[error(
        "unknown option `{0}`; options are cus, memory, count, check and counters, as in \
         gfx1100?cus=4&memory=2GiB&count=2&check=races"
    )]
    UnknownOption(String),
    /// An option that is given twice.
    #[error("option `{0}` is given twice")]
    Repeated(String),
    /// An invalid value of an option.
    #[error("bad value `{value}` of option `{option}`: must be {expected}")]
    BadValue {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// The expected values.
        expected: String,
    },
    /// An invalid value of an environment variable that the machine reads when it starts.
    #[error("bad value `{value}` of the environment variable {variable}: {why}")]
    Variable {
        /// Its name.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The reason.
        why: String,
    },
}

impl From<variables::Error> for ConfigError {
    fn from(error: variables::Error) -> ConfigError {
        ConfigError::Variable { variable: error.variable, value: error.value, why: error.problem }
    }
}

impl DeviceConfig {
    /// The default device for a target: `gfx1100`, or with features `gfx90a:sramecc+:xnack-`.
    ///
    /// # Errors
    /// The text is not a target id, or no virtual device exists for it.
    pub fn new(target: &str) -> Result<Self, ConfigError> {
        let target: TargetId = target.parse()?;
        Self::row(&target)?;
        Ok(DeviceConfig {
            target,
            compute_units: DEFAULT_COMPUTE_UNITS,
            memory: default_memory(),
            count: 1,
            checks: None,
            counters: None,
        })
    }

    /// The same devices under their shortest name, without features. A device has the processor's features,
    /// stated or not, so `gfx90a` without them is the same device.
    #[must_use]
    pub fn without_features(mut self) -> Self {
        (self.target.sramecc, self.target.xnack) = Default::default();
        self
    }

    /// Checks everything and returns the row of the target table.
    pub(crate) fn validated(&self) -> Result<&'static Target, ConfigError> {
        let row = Self::row(&self.target)?;
        let bad =
            |option, value: String, expected: String| Err(ConfigError::BadValue { option, value, expected });
        if !(1..=MAX_COMPUTE_UNITS).contains(&self.compute_units) {
            return bad(
                "cus",
                self.compute_units.to_string(),
                format!("a number from 1 to {MAX_COMPUTE_UNITS}"),
            );
        }
        if !(1..=MAX_COUNT).contains(&self.count) {
            return bad("count", self.count.to_string(), format!("a number from 1 to {MAX_COUNT}"));
        }
        if self.memory < 1 << 20 || self.memory > 1 << 46 {
            return bad("memory", self.memory.to_string(), "from 1MiB to 64TiB".to_owned());
        }
        Ok(row)
    }

    fn row(target: &TargetId) -> Result<&'static Target, ConfigError> {
        let unsupported =
            || ConfigError::Unsupported { target: target.to_string(), supported: Target::names() };
        let row = Target::by_name(&target.processor).ok_or_else(unsupported)?;
        let device: TargetId = row.target_id.parse()?;
        if target.runs_on(&device) { Ok(row) } else { Err(unsupported()) }
    }
}

impl Default for DeviceConfig {
    fn default() -> Self {
        let target = TargetId {
            processor: DEFAULT_TARGET.to_owned(),
            sramecc: Default::default(),
            xnack: Default::default(),
        };
        DeviceConfig {
            target,
            compute_units: DEFAULT_COMPUTE_UNITS,
            memory: default_memory(),
            count: 1,
            checks: None,
            counters: None,
        }
    }
}

/// [`DEFAULT_MEMORY`], but never more than the host has.
fn default_memory() -> u64 {
    // SAFETY: plain queries of the system's configuration.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let host = u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(page).unwrap_or(0));
    if host == 0 { DEFAULT_MEMORY } else { DEFAULT_MEMORY.min(host) }
}

const UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("T", 1 << 40),
    ("G", 1 << 30),
    ("M", 1 << 20),
    ("K", 1 << 10),
    ("B", 1),
];

fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) = UNITS
        .iter()
        .find_map(|&(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))
        .unwrap_or((text, 1));
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn parse_number(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

impl FromStr for DeviceConfig {
    type Err = ConfigError;

    /// Reads `target?option=value&…`. If the target is empty, the default target is used.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let (target, options) = text.split_once('?').unwrap_or((text, ""));
        let mut config = DeviceConfig::new(if target.is_empty() { DEFAULT_TARGET } else { target })?;
        let mut seen: Vec<&str> = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            if seen.contains(&key) {
                return Err(ConfigError::Repeated(key.to_owned()));
            }
            seen.push(key);
            let bad = |option, expected: &str| ConfigError::BadValue {
                option,
                value: value.to_owned(),
                expected: expected.to_owned(),
            };
            match key {
                "cus" => config.compute_units = parse_number(value).ok_or_else(|| bad("cus", "a number"))?,
                "memory" => {
                    config.memory =
                        parse_size(value).ok_or_else(|| bad("memory", "a size such as 512MiB or 2GiB"))?;
                }
                "count" => config.count = parse_number(value).ok_or_else(|| bad("count", "a number"))?,
                "check" => {
                    let checks = value.parse();
                    config.checks = Some(checks.map_err(|_| bad("check", Checks::EXPECTED))?);
                }
                "counters" => {
                    config.counters = Some(value.parse().map_err(|_| bad("counters", "table or json"))?);
                }
                _ => return Err(ConfigError::UnknownOption(key.to_owned())),
            }
        }
        config.validated()?;
        Ok(config)
    }
}

impl fmt::Display for DeviceConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (suffix, unit) = UNITS[..4]
            .iter()
            .find(|(_, unit)| self.memory >= *unit && self.memory.is_multiple_of(*unit))
            .copied()
            .unwrap_or(("B", 1));
        write!(
            f,
            "{}?cus={}&memory={}{suffix}&count={}",
            self.target,
            self.compute_units,
            self.memory / unit,
            self.count
        )?;
        self.checks.map_or(Ok(()), |checks| write!(f, "&check={checks}"))?;
        self.counters.map_or(Ok(()), |counters| write!(f, "&counters={counters}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        for text in [
            "gfx1100?cus=4&memory=2GiB&count=2",
            "gfx1100?cus=4&memory=2GiB&count=1&check=races,uninitialised&counters=json",
            "gfx90a:xnack-?cus=1&memory=1025KiB&count=1",
        ] {
            assert_eq!(text.parse::<DeviceConfig>().unwrap().to_string(), text);
        }
        let stated: DeviceConfig = "gfx90a:sramecc+:xnack-?cus=1".parse().unwrap();
        assert_eq!(stated.without_features(), "gfx90a?cus=1".parse().unwrap());
        assert_eq!("".parse::<DeviceConfig>().unwrap(), DeviceConfig::default());
        assert_eq!("?count=3".parse::<DeviceConfig>().unwrap().count, 3);
    }

    #[test]
    fn errors_name_the_bad_part() {
        for (text, part) in [
            ("gfx803", "supported are gfx90a, gfx942, gfx950, gfx1030, gfx1031, "),
            ("gfx90a:xnack+", "`gfx90a:xnack+`"),
            ("x", "`x`"),
            ("gfx1100?cus=0", "`0` of option `cus`"),
            ("gfx1100?cus=+4", "`+4` of option `cus`"),
            ("gfx1100?memory=2GB", "`2GB` of option `memory`"),
            ("gfx1100?memory=99999999999T", "option `memory`"),
            ("gfx1100?memory=1", "`1` of option `memory`"),
            ("gfx1100?count=1&count=2", "`count` is given twice"),
            ("gfx1100?speed=2", "unknown option `speed`"),
            ("gfx1100?check=race", "`race` of option `check`"),
            ("gfx1100?counters=csv", "`csv` of option `counters`"),
            ("gfx1100?cus", "`` of option `cus`"),
        ] {
            let error = text.parse::<DeviceConfig>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
