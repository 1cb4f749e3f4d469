//! Reads the names and facts in an installed hipify-perl, for updating the tables and for comparisons.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::tables::{DIFFERENCES, Family};

/// hipify-perl's facts about a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fact {
    /// The class in its statistics.
    pub kind: Option<String>,
    /// What it writes by default.
    pub hip: Option<String>,
    /// What it writes with `-roc`.
    pub roc: Option<String>,
    /// What it writes with `-miopen`.
    pub miopen: Option<String>,
    /// What it writes with `-experimental`.
    pub experimental: Option<String>,
    /// The version in its warning.
    pub deprecated: Option<String>,
    /// The version in its warning.
    pub removed: Option<String>,
    /// The lists of unsupported names that contain it, as in `no=`.
    pub lacking: BTreeSet<&'static str>,
}

/// All facts in hipify-perl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// By name.
    pub names: BTreeMap<String, Fact>,
    /// Names that it knows to be from programs, not from CUDA.
    pub own_names: BTreeSet<String>,
}

impl Facts {
    /// Reads the text of hipify-perl.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut facts = Self::default();
        let mut section = "";
        for line in text.lines() {
            if let Some(name) = section_name(line) {
                section = name;
            }
            let mut quoted = line.split('"').skip(1).step_by(2);
            let (Some(first), second, third) = (quoted.next(), quoted.next(), quoted.next()) else {
                continue;
            };
            let first = first.replace("\\/", "/");
            let second = second.map(|text| text.replace("\\/", "/"));
            if line.trim_start().starts_with("subst(") {
                let fact = facts.names.entry(first).or_default();
                fact.kind = third.map(str::to_owned).or(fact.kind.take());
                match section {
                    "simpleSubstitutions" => fact.hip = second,
                    "rocSubstitutions" => fact.roc = second,
                    "MIOpenSubstitutions" => fact.miopen = second,
                    "experimentalSubstitutions" => fact.experimental = second,
                    _ => {}
                }
                continue;
            }
            if !line.trim_start().trim_start_matches(", ").starts_with('"') {
                continue;
            }
            let lacking = match section {
                "whitelist" => {
                    facts.own_names.insert(first);
                    continue;
                }
                "deprecated_funcs" => {
                    facts.names.entry(first).or_default().deprecated = second;
                    continue;
                }
                "removed_funcs" => {
                    facts.names.entry(first).or_default().removed = second;
                    continue;
                }
                "HipOnlyUnsupportedFunctions" => "hip",
                "RocOnlyUnsupportedFunctions" => "roc",
                "MIOpenOnlyUnsupportedFunctions" => "miopen",
                "HipDNNOnlyUnsupportedFunctions" => "hipdnn",
                "UnsupportedDeviceFunctions" => "function",
                "UnsupportedDeviceDataTypes" => "type",
                _ => continue,
            };
            facts.names.entry(first).or_default().lacking.insert(lacking);
        }
        facts
    }

    /// The tables with these facts and this crate's differences: each file's name and text.
    #[must_use]
    pub fn tables(&self) -> Vec<(String, String)> {
        let mut texts: BTreeMap<&str, String> =
            Family::all().map(|family| (family.name(), String::new())).collect();
        let mut names = self.names.clone();
        for difference in DIFFERENCES.iter() {
            let fact = names.entry(difference.name.to_owned()).or_default();
            let (ours, roc) = difference
                .ours
                .split_once('|')
                .map_or((difference.ours, None), |(ours, roc)| (ours, Some(roc)));
            fact.hip = Some(ours.to_owned());
            if let Some(roc) = roc {
                fact.roc = Some(roc.to_owned());
                fact.lacking.remove("roc");
            }
            if difference.theirs.contains('|') && !difference.ours.contains('|') {
                fact.roc = None;
            }
            for (lacking, kind) in [("type", "device_type"), ("function", "device_function")] {
                if fact.lacking.remove(lacking) {
                    fact.kind = Some(kind.to_owned());
                }
            }
            if fact.kind.is_none() && difference.name.ends_with(".h") {
                fact.kind = Some("include".to_owned());
            }
        }
        for (name, fact) in &names {
            if let Some(text) = texts.get_mut(family(name, fact).name()) {
                let _ = writeln!(text, "{}", line(name, fact));
            }
        }
        let mut files: Vec<_> = texts.into_iter().map(|(name, text)| (format!("{name}.txt"), text)).collect();
        let own = self.own_names.iter().fold(String::new(), |text, name| text + name + "\n");
        files.push(("own-names.txt".to_owned(), own));
        files
    }
}

/// The subroutine or list that begins at a line.
fn section_name(line: &str) -> Option<&str> {
    let declared = line.strip_prefix("sub ").map(|rest| (rest, " {"));
    let list = line.strip_prefix("my ").unwrap_or(line);
    let list = list.strip_prefix('%').or_else(|| list.strip_prefix('@')).map(|rest| (rest, " = ("));
    let (rest, end) = declared.or(list)?;
    rest.split_once(end).map(|(name, _)| name)
}

/// The line of a name in its table.
fn line(name: &str, fact: &Fact) -> String {
    let hip = match fact.hip.as_deref() {
        None => "-",
        Some("") => "\"\"",
        Some(same) if same == name => "=",
        Some(other) => other,
    };
    let mut line = format!("{name} {} {hip}", fact.kind.as_deref().unwrap_or("-"));
    for (key, value) in [
        ("roc", &fact.roc),
        ("miopen", &fact.miopen),
        ("experimental", &fact.experimental),
        ("deprecated", &fact.deprecated),
        ("removed", &fact.removed),
    ] {
        if let Some(value) = value {
            let _ = write!(line, " {key}={value}");
        }
    }
    if !fact.lacking.is_empty() {
        let lacking: Vec<_> = fact.lacking.iter().copied().collect();
        let _ = write!(line, " no={}", lacking.join(","));
    }
    line
}

/// Name prefixes of families; the first match counts. Names without a match belong to device code.
const BEGINNINGS: &[(&str, Family)] = &[
    ("cublas", Family::Cublas),
    ("CUBLAS", Family::Cublas),
    ("cudnn", Family::Cudnn),
    ("CUDNN", Family::Cudnn),
    ("cufft", Family::Cufft),
    ("CUFFT", Family::Cufft),
    ("MAX_CUFFT", Family::Cufft),
    ("NVFFT", Family::Cufft),
    ("fftw", Family::Cufft),
    ("FFTW", Family::Cufft),
    ("curand", Family::Curand),
    ("CURAND", Family::Curand),
    ("cusparse", Family::Cusparse),
    ("CUSPARSE", Family::Cusparse),
    ("csrqr", Family::Cusolver),
    ("csrlu", Family::Cusolver),
    ("csrchol", Family::Cusolver),
    ("gesvdj", Family::Cusolver),
    ("syevj", Family::Cusolver),
    ("bsr", Family::Cusparse),
    ("csr", Family::Cusparse),
    ("prune", Family::Cusparse),
    ("cusolver", Family::Cusolver),
    ("CUSOLVER", Family::Cusolver),
    ("cutensor", Family::Cutensor),
    ("CUTENSOR", Family::Cutensor),
    ("nccl", Family::Nccl),
    ("nvrtc", Family::Nvrtc),
    ("_nvrtc", Family::Nvrtc),
    ("NVRTC", Family::Nvrtc),
    ("thrust", Family::Thrust),
    ("caffe2", Family::Caffe),
    ("REGISTER_CUDA", Family::Caffe),
    ("cub/", Family::Cub),
    ("Cub", Family::Cub),
    ("_Cub", Family::Cub),
    ("CUB_", Family::Cub),
    ("_CUB_", Family::Cub),
    ("__CUB_", Family::Cub),
    ("make_cuda", Family::Runtime),
    ("make_cu", Family::Complex),
    ("cuComplex", Family::Complex),
    ("cuDoubleComplex", Family::Complex),
    ("cuFloatComplex", Family::Complex),
    ("CUDART", Family::Device),
    ("cuda_bf16", Family::Device),
    ("cuda_fp", Family::Device),
    ("cuda.h", Family::Driver),
    ("cuda", Family::Runtime),
    ("__CUDA", Family::Runtime),
    ("channel_descriptor.h", Family::Runtime),
    ("driver_types.h", Family::Runtime),
    ("helper_cuda.h", Family::Runtime),
    ("library_types.h", Family::Runtime),
    ("libraryPropertyType", Family::Runtime),
    ("surfaceReference", Family::Runtime),
    ("texture", Family::Runtime),
    ("memoryBarrier", Family::Driver),
    ("cu", Family::Driver),
    ("CU", Family::Driver),
    ("GL", Family::Driver),
    ("cl_", Family::Driver),
    ("NVCL", Family::Driver),
    ("CIG", Family::Driver),
];

fn family(name: &str, fact: &Fact) -> Family {
    match fact.kind.as_deref() {
        Some("complex") => return Family::Complex,
        Some("device_function" | "device_type") if !name.starts_with("CUDNN") => return Family::Device,
        _ => {}
    }
    if fact.lacking.contains("function") || fact.lacking.contains("type") {
        return Family::Device;
    }
    BEGINNINGS
        .iter()
        .find(|(beginning, _)| name.starts_with(beginning))
        .map_or(Family::Device, |found| found.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
my %deprecated_funcs = (
    "cudaOld" => "11.0",
);
@whitelist = (
      "cudaMine"
    , "cudaOther"
);
sub rocSubstitutions {
    subst("cufft.h", "roc\/fft.h", "include");
}
sub simpleSubstitutions {
    subst("cudaOld", "hipOld", "memory");
    subst("cufft.h", "hip\/fft.h", "include");
}
@HipOnlyUnsupportedFunctions = (
    "cuNew"
);
"#;

    #[test]
    fn facts_are_read_and_written_as_tables() {
        let facts = Facts::read(TEXT);
        assert_eq!(facts.names.len(), 3);
        assert_eq!(facts.own_names.len(), 2);
        let tables: BTreeMap<_, _> = facts.tables().into_iter().collect();
        assert!(tables["runtime.txt"].contains("cudaOld memory hipOld deprecated=11.0\n"));
        assert_eq!(tables["cufft.txt"], "cufft.h include hip/fft.h roc=roc/fft.h\n");
        assert_eq!(tables["driver.txt"], "cuNew - - no=hip\n");
        assert_eq!(tables["own-names.txt"], "cudaMine\ncudaOther\n");
    }
}
