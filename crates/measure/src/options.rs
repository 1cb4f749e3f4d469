//! What to measure, and how often.

#[cfg(feature = "command")]
use std::str::FromStr;
use std::time::Duration;

use hip::DeviceUri;

use crate::error::{Error, Result};
use crate::model::ModelName;

/// A choice with names, for command lines and messages.
macro_rules! names {
    ($type:ident, $option:literal: $($variant:ident $name:literal),+ $(,)?) => {
        impl $type {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name on the command line.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> Result<Self> {
                let found = Self::ALL.iter().copied().find(|choice| choice.name() == text);
                found.ok_or_else(|| {
                    let names: Vec<&str> = Self::ALL.iter().map(|choice| choice.name()).collect();
                    let problem = format!("`{text}` is not one of {}", names.join(", "));
                    $crate::Error::Option { option: $option, problem }
                })
            }
        }
    };
}
pub(crate) use names;

/// A group of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Suite {
    /// Copies, reads, writes and triads in device memory; copies from and to pinned host memory and other
    /// devices.
    Bandwidth,
    /// Products of matrices in every type.
    Gemm,
    /// Launches and events.
    Latency,
    /// Fused attention: prefill and decode.
    Attention,
    /// Products of quantised matrices with vectors.
    Quantised,
    /// Operations between devices.
    Collective,
    /// A transformer block, forward.
    Block,
    /// A step of training.
    Training,
    /// Prefill and decode of the models' shapes.
    Inference,
}

names!(Suite, "--suite":
    Bandwidth "bandwidth",
    Gemm "gemm",
    Latency "latency",
    Attention "attention",
    Quantised "quantised",
    Collective "collective",
    Block "block",
    Training "training",
    Inference "inference",
);

/// The size of the cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Size {
    /// Takes seconds on a virtual GPU: to see that everything works.
    #[default]
    Tiny,
    /// Takes seconds on a GPU.
    Small,
    /// Sizes of real workloads.
    Full,
}

names!(Size, "--size": Tiny "tiny", Small "small", Full "full");

impl Size {
    /// The number of repetitions; the first ones do not count.
    #[must_use]
    pub fn method(self) -> Method {
        match self {
            Self::Tiny => Method { warm_up: 2, repetitions: 6 },
            Self::Small => Method { warm_up: 3, repetitions: 20 },
            Self::Full => Method { warm_up: 5, repetitions: 50 },
        }
    }
}

/// How often an operation is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// Repetitions that do not count, including the checked one.
    pub warm_up: usize,
    /// Repetitions whose times count; a confidence interval needs at least six.
    pub repetitions: usize,
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// The devices: all that the URI names. The first is measured; if there are more, transfers and
    /// collectives between them are measured, too.
    pub device: DeviceUri,
    /// The groups, in this order.
    pub suites: Vec<Suite>,
    /// The models of [`Suite::Inference`].
    pub models: Vec<ModelName>,
    /// The size of the cases. `None`: full, and tiny on a virtual GPU.
    pub size: Option<Size>,
    /// Blocks of the models; `None`: by size.
    pub layers: Option<usize>,
    /// How often everything is measured.
    pub runs: usize,
    /// How long the device rests before each run except the first.
    pub cool_down: Duration,
    /// How many repetitions of an operation count; `None`: by size.
    pub repetitions: Option<usize>,
}

impl Default for Options {
    /// Everything, once, on `auto`.
    fn default() -> Self {
        Self {
            device: DeviceUri::Auto,
            suites: Suite::ALL.to_vec(),
            models: ModelName::ALL.to_vec(),
            size: None,
            layers: None,
            runs: 1,
            cool_down: Duration::from_secs(5),
            repetitions: None,
        }
    }
}

impl Options {
    /// The number of repetitions of an operation, for a size of cases.
    pub(crate) fn method(&self, size: Size) -> Method {
        let usual = size.method();
        Method { repetitions: self.repetitions.unwrap_or(usual.repetitions), ..usual }
    }

    /// Refuses invalid options.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |option, problem: &str| Err(Error::Option { option, problem: problem.to_owned() });
        if self.suites.is_empty() {
            return wrong("--suite", "names nothing to measure");
        }
        if self.runs == 0 {
            return wrong("--runs", "must be at least 1");
        }
        if self.layers == Some(0) {
            return wrong("--layers", "must be at least 1");
        }
        if self.repetitions == Some(0) {
            return wrong("--repetitions", "must be at least 1");
        }
        Ok(())
    }
}

/// A list of choices as on a command line: separated by commas, or `all`.
#[cfg(feature = "command")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choices<T>(pub(crate) Vec<T>);

#[cfg(feature = "command")]
impl<T: FromStr<Err = Error> + Copy + PartialEq + 'static> Choices<T> {
    /// Reads a list. Each choice counts once, in the order of the text.
    pub(crate) fn parse(text: &str, all: &[T]) -> Result<Self> {
        if text.trim() == "all" {
            return Ok(Self(all.to_vec()));
        }
        let mut choices = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let choice = part.parse()?;
            if !choices.contains(&choice) {
                choices.push(choice);
            }
        }
        Ok(Self(choices))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_read_by_its_name() {
        for suite in Suite::ALL {
            assert_eq!(suite.name().parse::<Suite>().unwrap(), *suite);
        }
        let error = "gem".parse::<Suite>().unwrap_err().to_string();
        assert!(error.starts_with("--suite: `gem` is not one of bandwidth, gemm, "), "{error}");
        assert_eq!("small".parse::<Size>().unwrap(), Size::Small);
    }

    #[cfg(feature = "command")]
    #[test]
    fn lists_are_read_in_order_and_once() {
        let list = Choices::parse("gemm, bandwidth,gemm", Suite::ALL).unwrap();
        assert_eq!(list.0, [Suite::Gemm, Suite::Bandwidth]);
        assert_eq!(Choices::parse("all", Size::ALL).unwrap().0, Size::ALL);
        assert!(Choices::parse("gemm,x", Suite::ALL).is_err());
    }

    #[test]
    fn options_that_cannot_be_are_refused() {
        assert!(Options::default().check().is_ok());
        for wrong in [
            Options { suites: Vec::new(), ..Options::default() },
            Options { runs: 0, ..Options::default() },
            Options { layers: Some(0), ..Options::default() },
            Options { repetitions: Some(0), ..Options::default() },
        ] {
            assert!(matches!(wrong.check(), Err(Error::Option { .. })));
        }
    }

    #[test]
    fn every_size_has_confidence_intervals() {
        for size in Size::ALL {
            let times = vec![1.0; size.method().repetitions];
            assert!(crate::statistics::interval(&times).is_some(), "{size}");
        }
    }
}
