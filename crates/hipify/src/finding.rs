//! What does not translate, or translates with a warning.

use std::fmt;

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The translation is correct for now.
    Note,
    /// The translation may be wrong, or the name may not be CUDA's.
    Warning,
    /// It does not translate.
    Error,
}

impl Severity {
    /// Its name in reports, including SARIF.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $rule:ident $name:literal $description:literal,)+) => {
        /// The kinds of findings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[doc = $doc])+ $rule,)+
        }

        impl Rule {
            /// All rules.
            pub const ALL: &[Self] = &[$(Self::$rule),+];

            /// Its name in reports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$rule => $name),+ }
            }

            /// Its description, in a sentence.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self { $(Self::$rule => $description),+ }
            }
        }
    };
}

rules! {
    /// A CUDA name that HIP, or the target library, lacks.
    Unsupported "unsupported" "The name has no equivalent.",
    /// A device function that HIP lacks.
    UnsupportedDeviceFunction "unsupported-device-function" "HIP has no such function in device code.",
    /// A device type that HIP lacks.
    UnsupportedDeviceType "unsupported-device-type" "HIP has no such type in device code.",
    /// A name whose equivalent is experimental, without the option for these.
    Experimental "experimental" "The equivalent is experimental and must be requested.",
    /// A name that looks like CUDA's but is in no table.
    Unknown "unknown" "The name looks like CUDA's but is unknown.",
    /// A CUDA header that is in no table.
    Header "header" "The header is CUDA's and has no known equivalent.",
    /// A call whose arguments differ in the target library.
    Arguments "arguments" "The arguments differ and must be rewritten by hand.",
    /// A function that host code has from nvcc and not from HIP.
    HostFunction "host-function" "HIP has the function in device code only.",
    /// An operator of a vector type that HIP has, too.
    VectorOperator "vector-operator" "HIP has the operator, so that calls of it are ambiguous.",
    /// A function whose header nvcc includes by itself.
    ImplicitHeader "implicit-header" "The header that declares the function is included by nvcc only.",
    /// A launch that cannot be parsed.
    Launch "launch" "The launch cannot be parsed and is unchanged.",
    /// Assembly for NVIDIA's GPUs.
    InlineAssembly "inline-assembly" "The assembly is for NVIDIA's GPUs.",
    /// A name that newer versions of CUDA lack.
    Removed "removed" "CUDA has removed the name.",
    /// A name that CUDA deprecates.
    Deprecated "deprecated" "CUDA has deprecated the name.",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something in a source that does not translate, or translates with a warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The column after its last character.
    pub end_column: usize,
    /// The kind of finding.
    pub rule: Rule,
    /// How bad it is.
    pub severity: Severity,
    /// The name, or the text in question.
    pub name: String,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What to do about it.
    pub advice: String,
}
