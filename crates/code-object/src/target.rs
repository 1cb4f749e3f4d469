use std::fmt;
use std::str::FromStr;

use crate::cuda_arch;
use crate::processors::Processor;

/// State of a switchable hardware feature in a target id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Not stated: the code runs either way, or the processor lacks the feature.
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
    /// Processor name, `gfx…`. A name that is not in [`PROCESSORS`](crate::PROCESSORS) is allowed. For what
    /// [`nvidia`](TargetId::nvidia) makes, NVIDIA's architecture.
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
    /// [`ParseTargetError`] if the text is not a processor's name.
    pub fn new(processor: &str) -> Result<Self, ParseTargetError> {
        check_processor(processor, processor)?;
        Ok(Self { processor: processor.to_owned(), sramecc: Feature::Any, xnack: Feature::Any })
    }

    /// An architecture of NVIDIA's as its compilers write it, which has no features: `sm_90a`, or the virtual
    /// `compute_90`. [`FromStr`] refuses these, because they are no target of AMD's.
    ///
    /// ```
    /// use code_object::TargetId;
    ///
    /// assert_eq!(TargetId::nvidia("sm_90a")?.to_string(), "sm_90a");
    /// assert!(TargetId::nvidia("gfx1100").is_err());
    /// # Ok::<(), code_object::ParseArchitectureError>(())
    /// ```
    ///
    /// # Errors
    /// [`ParseArchitectureError`] if the text is not such a name.
    pub fn nvidia(architecture: &str) -> Result<Self, ParseArchitectureError> {
        if !cuda_arch::is_one(&architecture.replacen("compute_", "sm_", 1)) {
            return Err(ParseArchitectureError { text: architecture.to_owned() });
        }
        Ok(Self { processor: architecture.to_owned(), sramecc: Feature::Any, xnack: Feature::Any })
    }

    /// Whether the processor stands for several (`gfx11-generic`).
    #[must_use]
    pub fn is_generic(&self) -> bool {
        self.processor.ends_with("-generic")
    }

    /// Whether the processor is one of [`PROCESSORS`](crate::PROCESSORS).
    #[must_use]
    pub fn is_known(&self) -> bool {
        Processor::by_name(&self.processor).is_some()
    }

    /// Whether code for `self` runs on `device`.
    ///
    /// The processor must be the device's or its generic one. A stated feature must have the same state on
    /// both sides; a feature that either side leaves open always fits.
    #[must_use]
    pub fn runs_on(&self, device: &Self) -> bool {
        self.fit(device).is_some()
    }

    /// How well code for `self` fits `device`; `None` if it does not run there.
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
        let generic = Processor::by_name(&device.processor)?.generic;
        (generic == Some(self.processor.as_str())).then_some(Match::Generic)
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

/// Why a text is not an architecture of NVIDIA's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no architecture of NVIDIA's; right would be for example sm_90, sm_90a or compute_90")]
pub struct ParseArchitectureError {
    /// The text.
    pub text: String,
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
    fn architectures_of_nvidias_are_told_from_other_names() {
        for name in ["sm_80", "sm_90a", "sm_100f", "compute_90", "compute_120a"] {
            let target = TargetId::nvidia(name).unwrap();
            assert_eq!((target.to_string(), target.is_known()), (name.to_owned(), false));
        }
        for name in ["", "sm_", "sm_a", "sm_90b", "sm_90aa", "sm_9 0", "compute_", "lto_90", "90", "gfx90a"] {
            let error = TargetId::nvidia(name).unwrap_err();
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
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
