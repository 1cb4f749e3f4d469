use std::fmt;
use std::str::FromStr;

/// One AMD GPU processor, or a generic one that stands for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Name as in a target id.
    pub name: &'static str,
    /// Number in the ELF header's flags (`EF_AMDGPU_MACH`).
    pub mach: u32,
    /// Code may ask for XNACK on or off.
    pub xnack: bool,
    /// Code may ask for SRAM ECC on or off.
    pub sramecc: bool,
    /// For a generic processor, those that run its code; otherwise empty.
    pub members: &'static [&'static str],
}

const fn p(name: &'static str, mach: u32, features: &str) -> Processor {
    let f = features.as_bytes();
    let xnack = !f.is_empty() && f[0] == b'x';
    let sramecc = !f.is_empty() && f[f.len() - 1] == b's';
    Processor { name, mach, xnack, sramecc, members: &[] }
}

const fn generic(
    name: &'static str,
    mach: u32,
    features: &str,
    members: &'static [&'static str],
) -> Processor {
    Processor { members, ..p(name, mach, features) }
}

/// All processors that this crate knows by number; the last column is `x` for XNACK, `s` for SRAM ECC.
///
/// A processor that is missing here still works: its name then comes from the metadata.
pub const PROCESSORS: &[Processor] = &[
    p("gfx600", 0x20, ""),
    p("gfx601", 0x21, ""),
    p("gfx602", 0x3a, ""),
    p("gfx700", 0x22, ""),
    p("gfx701", 0x23, ""),
    p("gfx702", 0x24, ""),
    p("gfx703", 0x25, ""),
    p("gfx704", 0x26, ""),
    p("gfx705", 0x3b, ""),
    p("gfx801", 0x28, "x"),
    p("gfx802", 0x29, ""),
    p("gfx803", 0x2a, ""),
    p("gfx805", 0x3c, ""),
    p("gfx810", 0x2b, "x"),
    p("gfx900", 0x2c, "x"),
    p("gfx902", 0x2d, "x"),
    p("gfx904", 0x2e, "x"),
    p("gfx906", 0x2f, "xs"),
    p("gfx908", 0x30, "xs"),
    p("gfx909", 0x31, "x"),
    p("gfx90a", 0x3f, "xs"),
    p("gfx90c", 0x32, "x"),
    p("gfx940", 0x40, "xs"),
    p("gfx941", 0x4b, "xs"),
    p("gfx942", 0x4c, "xs"),
    p("gfx950", 0x4f, "xs"),
    p("gfx1010", 0x33, "x"),
    p("gfx1011", 0x34, "x"),
    p("gfx1012", 0x35, "x"),
    p("gfx1013", 0x42, "x"),
    p("gfx1030", 0x36, ""),
    p("gfx1031", 0x37, ""),
    p("gfx1032", 0x38, ""),
    p("gfx1033", 0x39, ""),
    p("gfx1034", 0x3e, ""),
    p("gfx1035", 0x3d, ""),
    p("gfx1036", 0x45, ""),
    p("gfx1100", 0x41, ""),
    p("gfx1101", 0x46, ""),
    p("gfx1102", 0x47, ""),
    p("gfx1103", 0x44, ""),
    p("gfx1150", 0x43, ""),
    p("gfx1151", 0x4a, ""),
    p("gfx1152", 0x55, ""),
    p("gfx1153", 0x58, ""),
    p("gfx1200", 0x48, ""),
    p("gfx1201", 0x4e, ""),
    p("gfx1250", 0x49, ""),
    p("gfx1251", 0x5a, ""),
    generic("gfx9-generic", 0x51, "x", &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
    generic("gfx9-4-generic", 0x5f, "xs", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    generic("gfx10-1-generic", 0x52, "x", &["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
    generic(
        "gfx10-3-generic",
        0x53,
        "",
        &["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"],
    ),
    generic(
        "gfx11-generic",
        0x54,
        "",
        &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"],
    ),
    generic("gfx12-generic", 0x59, "", &["gfx1200", "gfx1201"]),
];

/// Major version, minor version and stepping in the name of a processor that is not generic: `gfx90a` is 9,
/// 0, 10. The last two are one hexadecimal digit each.
#[must_use]
pub fn gfx_version(processor: &str) -> Option<[u32; 3]> {
    let digits = processor.strip_prefix("gfx")?;
    let (major, rest) = digits.split_at_checked(digits.len().checked_sub(2)?)?;
    let mut rest = rest.chars().map(|digit| digit.to_digit(16));
    Some([major.parse().ok()?, rest.next()??, rest.next()??])
}

impl Processor {
    /// Finds a processor by its name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        PROCESSORS.iter().find(|p| p.name == name)
    }

    /// Finds a processor by its number in the ELF header's flags.
    #[must_use]
    pub fn by_mach(mach: u32) -> Option<&'static Self> {
        PROCESSORS.iter().find(|p| p.mach == mach)
    }
}

/// State of a feature that hardware can be switched to, as a target id states it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Not stated: runs either way, or the processor does not have the feature.
    #[default]
    Any,
    /// `+`
    On,
    /// `-`
    Off,
}

impl Feature {
    fn runs_on(self, device: Self) -> bool {
        self == Self::Any || device == Self::Any || self == device
    }
}

/// What code was compiled for, or what a device is: `gfx90a:sramecc+:xnack-`.
///
/// ```
/// use code_object::TargetId;
///
/// let device: TargetId = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-".parse()?;
/// assert_eq!(device.to_string(), "gfx90a:sramecc+:xnack-");
/// assert!("gfx90a:xnack-".parse::<TargetId>()?.runs_on(&device));
/// assert!(!"gfx90a:xnack+".parse::<TargetId>()?.runs_on(&device));
/// assert!("gfx11-generic".parse::<TargetId>()?.runs_on(&"gfx1100".parse()?));
/// # Ok::<(), code_object::ParseTargetError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TargetId {
    /// Processor name, `gfx…`. A name that is not in [`PROCESSORS`] is allowed.
    pub processor: String,
    /// SRAM ECC.
    pub sramecc: Feature,
    /// XNACK (retry of page faults).
    pub xnack: Feature,
}

/// How well code fits a device; greater is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Match {
    /// Compiled for a generic processor that covers the device.
    Generic,
    /// Compiled for the device's processor, with no feature stated where the device states one.
    Processor,
    /// Compiled for exactly the device's target id.
    Exact,
}

impl TargetId {
    /// A target with no features stated.
    ///
    /// # Errors
    /// [`ParseTargetError`] if the name is not that of a processor.
    pub fn new(processor: &str) -> Result<Self, ParseTargetError> {
        check_processor(processor, processor)?;
        Ok(Self { processor: processor.to_owned(), sramecc: Feature::Any, xnack: Feature::Any })
    }

    /// Whether the processor stands for several (`gfx11-generic`).
    #[must_use]
    pub fn is_generic(&self) -> bool {
        self.processor.ends_with("-generic")
    }

    /// Whether the processor is one of [`PROCESSORS`].
    #[must_use]
    pub fn is_known(&self) -> bool {
        Processor::by_name(&self.processor).is_some()
    }

    /// Whether code for `self` runs on `device`.
    ///
    /// The processor must be the same or generic for the device's; a stated feature must be in the stated
    /// state, and a feature that either side leaves open always fits.
    #[must_use]
    pub fn runs_on(&self, device: &Self) -> bool {
        self.fit(device).is_some()
    }

    /// How well code for `self` fits `device`, or nothing if it does not run there.
    #[must_use]
    pub fn fit(&self, device: &Self) -> Option<Match> {
        if !self.sramecc.runs_on(device.sramecc) || !self.xnack.runs_on(device.xnack) {
            return None;
        }
        if self == device {
            return Some(Match::Exact);
        }
        if self.processor == device.processor {
            return Some(Match::Processor);
        }
        let members = Processor::by_name(&self.processor)?.members;
        members.contains(&device.processor.as_str()).then_some(Match::Generic)
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.processor)?;
        for (name, feature) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            match feature {
                Feature::Any => {}
                Feature::On => write!(f, ":{name}+")?,
                Feature::Off => write!(f, ":{name}-")?,
            }
        }
        Ok(())
    }
}

/// Why a text is not a target id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "bad target id `{text}`: {reason}; right would be for example gfx1100, gfx11-generic or gfx90a:sramecc+:xnack-"
)]
pub struct ParseTargetError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

impl FromStr for TargetId {
    type Err = ParseTargetError;

    /// Reads `gfx90a:sramecc+:xnack-`, with or without a triple (`amdgcn-amd-amdhsa--`) in front.
    fn from_str(text: &str) -> Result<Self, ParseTargetError> {
        let error = |reason: String| ParseTargetError { text: text.to_owned(), reason };
        let id = text.trim();
        let id = match id.strip_prefix("amdgcn-amd-amdhsa-") {
            // The triple's fourth part, the environment, is empty in practice but may be written out.
            Some(rest) => {
                rest.split_once('-').map(|(_, id)| id).ok_or_else(|| error("no processor".into()))?
            }
            None => id,
        };
        let mut parts = id.split(':');
        let processor = parts.next().unwrap_or_default();
        check_processor(text, processor)?;
        let mut target = Self { processor: processor.to_owned(), sramecc: Feature::Any, xnack: Feature::Any };
        for part in parts {
            let (name, state) = if let Some(name) = part.strip_suffix('+') {
                (name, Feature::On)
            } else if let Some(name) = part.strip_suffix('-') {
                (name, Feature::Off)
            } else {
                return Err(error(format!("feature `{part}` does not end in + or -")));
            };
            let known = Processor::by_name(processor);
            let (slot, supported) = match name {
                "sramecc" => (&mut target.sramecc, known.is_none_or(|p| p.sramecc)),
                "xnack" => (&mut target.xnack, known.is_none_or(|p| p.xnack)),
                _ => return Err(error(format!("feature `{name}` is not sramecc or xnack"))),
            };
            if !supported {
                return Err(error(format!("{processor} has no {name}")));
            }
            if *slot != Feature::Any {
                return Err(error(format!("{name} is stated twice")));
            }
            *slot = state;
        }
        Ok(target)
    }
}

fn check_processor(text: &str, name: &str) -> Result<(), ParseTargetError> {
    let error = |reason: String| Err(ParseTargetError { text: text.to_owned(), reason });
    let Some(rest) = name.strip_prefix("gfx") else {
        return error(format!("processor `{name}` does not start with gfx"));
    };
    let plain = rest.strip_suffix("-generic");
    let digits = plain.unwrap_or(rest);
    let allowed = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c) || (plain.is_some() && c == '-');
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || !digits.chars().all(allowed) {
        return error(format!("`{name}` is not a processor name"));
    }
    if plain.is_none() && digits.len() < 3 {
        return error(format!("`{name}` lacks minor version and stepping"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TargetId {
        text.parse().unwrap()
    }

    #[test]
    fn processors_have_one_row_each() {
        for (i, a) in PROCESSORS.iter().enumerate() {
            for b in &PROCESSORS[i + 1..] {
                assert_ne!(a.name, b.name);
                assert_ne!(a.mach, b.mach, "{} and {}", a.name, b.name);
            }
            for member in a.members {
                assert!(Processor::by_name(member).is_some(), "{member}");
            }
            assert_eq!(id(a.name).to_string(), a.name);
        }
    }

    #[test]
    fn features_are_printed_in_canonical_order() {
        assert_eq!(id("gfx90a:xnack-:sramecc+").to_string(), "gfx90a:sramecc+:xnack-");
        assert_eq!(id("amdgcn-amd-amdhsa-unknown-gfx90a").to_string(), "gfx90a");
    }

    #[test]
    fn matching_prefers_exact_then_processor_then_generic() {
        let device = id("gfx942:sramecc+:xnack-");
        assert_eq!(id("gfx942:sramecc+:xnack-").fit(&device), Some(Match::Exact));
        assert_eq!(id("gfx942:xnack-").fit(&device), Some(Match::Processor));
        assert_eq!(id("gfx9-4-generic").fit(&device), Some(Match::Generic));
        assert_eq!(id("gfx9-4-generic:xnack+").fit(&device), None);
        assert_eq!(id("gfx90a").fit(&device), None);
        assert_eq!(id("gfx942").fit(&id("gfx9-4-generic")), None);
        assert!(Match::Exact > Match::Processor && Match::Processor > Match::Generic);
    }

    #[test]
    fn a_processor_from_the_future_is_accepted() {
        assert!(id("gfx1399").runs_on(&id("gfx1399")));
        assert!(!id("gfx1399").is_known());
        assert!(id("gfx13-generic").is_generic());
    }

    #[test]
    fn bad_ids_say_what_is_wrong() {
        for (text, part) in [
            ("", "does not start with gfx"),
            ("sm_80", "does not start with gfx"),
            ("gfx", "not a processor name"),
            ("gfx11", "lacks minor version"),
            ("gfx11 00", "not a processor name"),
            ("gfx1100:xnack+", "gfx1100 has no xnack"),
            ("gfx90a:xnack", "does not end in"),
            ("gfx90a:ecc+", "is not sramecc or xnack"),
            ("gfx90a:xnack+:xnack-", "stated twice"),
            ("amdgcn-amd-amdhsa-", "no processor"),
        ] {
            let error = text.parse::<TargetId>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
