//! CUDA's names and their names in HIP: one text table per family, read once into a hash table.
//!
//! Each line is a row: the name, its [`Kind`], its name in HIP, and further facts.
//!
//! | field | means |
//! |---|---|
//! | `=` for the name in HIP | the same name |
//! | `-` for the name in HIP or for the kind | none |
//! | `""` for the name in HIP | a header that HIP does not need: its `#include` is dropped |
//! | `roc=NAME` | the name in rocBLAS, rocSPARSE and so on |
//! | `miopen=NAME` | the name in MIOpen |
//! | `experimental=NAME` | the name in HIP, with the option for experimental names |
//! | `deprecated=VERSION`, `removed=VERSION` | since this version of CUDA (for cuDNN's names, of cuDNN) |
//! | `no=LIST` | what lacks it: `hip`, `roc`, `miopen`, `hipdnn`, `function` (of the device), `type` (of the device) |
//!
//! `cargo xtask hipify --update-tables` generates them from an installed hipify-perl and keeps [the
//! differences](DIFFERENCES).

use std::fmt;
use std::sync::LazyLock;

/// The library or part of CUDA that a name is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Family {
    /// The runtime: `cudaMalloc`.
    Runtime,
    /// The driver: `cuMemAlloc`, `CUDA_SUCCESS`.
    Driver,
    /// Functions, types and constants of device code: `__shfl_sync`, `float4`, `__half`.
    Device,
    /// cuBLAS and cuBLASLt.
    Cublas,
    /// CUB.
    Cub,
    /// `cuComplex.h`.
    Complex,
    /// cuDNN.
    Cudnn,
    /// cuFFT.
    Cufft,
    /// cuRAND.
    Curand,
    /// cuSOLVER.
    Cusolver,
    /// cuSPARSE.
    Cusparse,
    /// cuTENSOR.
    Cutensor,
    /// NCCL, whose names RCCL keeps.
    Nccl,
    /// NVRTC.
    Nvrtc,
    /// Thrust, whose names rocThrust keeps, except for the back end's.
    Thrust,
    /// Caffe2.
    Caffe,
}

/// The families, each with its name and its table.
const FAMILIES: &[(Family, &str, &str)] = &[
    (Family::Runtime, "runtime", include_str!("tables/runtime.txt")),
    (Family::Driver, "driver", include_str!("tables/driver.txt")),
    (Family::Device, "device", include_str!("tables/device.txt")),
    (Family::Cublas, "cublas", include_str!("tables/cublas.txt")),
    (Family::Cub, "cub", include_str!("tables/cub.txt")),
    (Family::Complex, "complex", include_str!("tables/complex.txt")),
    (Family::Cudnn, "cudnn", include_str!("tables/cudnn.txt")),
    (Family::Cufft, "cufft", include_str!("tables/cufft.txt")),
    (Family::Curand, "curand", include_str!("tables/curand.txt")),
    (Family::Cusolver, "cusolver", include_str!("tables/cusolver.txt")),
    (Family::Cusparse, "cusparse", include_str!("tables/cusparse.txt")),
    (Family::Cutensor, "cutensor", include_str!("tables/cutensor.txt")),
    (Family::Nccl, "nccl", include_str!("tables/nccl.txt")),
    (Family::Nvrtc, "nvrtc", include_str!("tables/nvrtc.txt")),
    (Family::Thrust, "thrust", include_str!("tables/thrust.txt")),
    (Family::Caffe, "caffe", include_str!("tables/caffe.txt")),
];

/// Device functions that hipify-perl does not know.
const ADDITIONS: &str = include_str!("tables/additions.txt");
/// Names that look like CUDA's but are known to be from programs.
const OWN_NAMES: &str = include_str!("tables/own-names.txt");
/// Advice for names without an equivalent.
const ADVICE: &str = include_str!("tables/advice.txt");
/// Rows that intentionally differ from hipify-perl's, with the reasons.
const DIFFERENCES_TEXT: &str = include_str!("tables/differences.txt");

impl Family {
    /// All families.
    pub fn all() -> impl Iterator<Item = Self> {
        FAMILIES.iter().map(|&(family, ..)| family)
    }

    /// Its name in reports and files: `runtime`, `cublas` …
    #[must_use]
    pub fn name(self) -> &'static str {
        FAMILIES.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The text of the family's table.
    #[must_use]
    pub fn table(self) -> &'static str {
        FAMILIES.iter().find(|row| row.0 == self).map_or("", |row| row.2)
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kind of a name in hipify-perl's statistics: `memory`, `stream`, `type`, `include` …; `-` if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct Kind(&'static str);

impl Kind {
    /// A launch with `<<<…>>>` turned into a function call.
    pub const KERNEL_LAUNCH: Self = Self("kernel_launch");
    /// A namespace, which hipify-perl does not count.
    pub const NAMESPACE: Self = Self("namespace");

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Whether it is a header.
    #[must_use]
    pub fn is_header(self) -> bool {
        self.0.starts_with("include")
    }

    /// Whether it is a function of device code.
    #[must_use]
    pub fn is_device_function(self) -> bool {
        self.0 == "device_function"
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The libraries that lack a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lacking(u8);

impl Lacking {
    /// HIP and its libraries.
    pub const HIP: Self = Self(1);
    /// The libraries that begin with roc.
    pub const ROC: Self = Self(2);
    /// MIOpen.
    pub const MIOPEN: Self = Self(4);
    /// hipDNN.
    pub const HIPDNN: Self = Self(8);
    /// HIP's device functions.
    pub const FUNCTION: Self = Self(16);
    /// HIP's device types.
    pub const TYPE: Self = Self(32);

    /// The names in the tables.
    pub(crate) const NAMES: [(&'static str, Self); 6] = [
        ("hip", Self::HIP),
        ("roc", Self::ROC),
        ("miopen", Self::MIOPEN),
        ("hipdnn", Self::HIPDNN),
        ("function", Self::FUNCTION),
        ("type", Self::TYPE),
    ];

    /// Whether everything in `other` lacks it.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether nothing lacks it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A row of a table: a CUDA name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The name in CUDA; for a header, the text between the brackets.
    pub name: &'static str,
    /// The family whose table the row is in.
    pub family: Family,
    /// What it is.
    pub kind: Kind,
    /// The name in HIP; empty for a header that HIP does not need.
    pub hip: Option<&'static str>,
    /// The name in the libraries that begin with roc.
    pub roc: Option<&'static str>,
    /// The name in MIOpen.
    pub miopen: Option<&'static str>,
    /// The experimental name in HIP.
    pub experimental: Option<&'static str>,
    /// The version of CUDA that deprecated it.
    pub deprecated: Option<&'static str>,
    /// The version of CUDA that removed it.
    pub removed: Option<&'static str>,
    /// What lacks it.
    pub lacking: Lacking,
}

/// Reads a line of a table.
fn row(family: Family, line: &'static str) -> Option<Row> {
    let mut fields = line.split(' ');
    let (name, kind, hip) = (fields.next()?, fields.next()?, fields.next()?);
    let hip = match hip {
        "-" => None,
        "=" => Some(name),
        "\"\"" => Some(""),
        other => Some(other),
    };
    let mut row = Row {
        name,
        family,
        kind: Kind(kind),
        hip,
        roc: None,
        miopen: None,
        experimental: None,
        deprecated: None,
        removed: None,
        lacking: Lacking::default(),
    };
    for field in fields {
        let (key, value) = field.split_once('=')?;
        match key {
            "roc" => row.roc = Some(value),
            "miopen" => row.miopen = Some(value),
            "experimental" => row.experimental = Some(value),
            "deprecated" => row.deprecated = Some(value),
            "removed" => row.removed = Some(value),
            "no" => {
                for who in value.split(',') {
                    row.lacking.insert(Lacking::NAMES.iter().find(|(name, _)| *name == who)?.1);
                }
            }
            _ => return None,
        }
    }
    Some(row)
}

/// A row that differs from hipify-perl's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The name in CUDA.
    pub name: &'static str,
    /// hipify-perl's translation; `-` if none. With a `|`, the one by default and the one with `-roc`.
    pub theirs: &'static str,
    /// This crate's translation, in the same form.
    pub ours: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// The rows that intentionally differ from hipify-perl's. A row that no longer differs fails a test.
pub static DIFFERENCES: LazyLock<Vec<Difference>> = LazyLock::new(|| {
    let difference = |line: &'static str| {
        let mut fields = line.splitn(4, ' ');
        Some(Difference {
            name: fields.next()?,
            theirs: fields.next()?,
            ours: fields.next()?,
            reason: fields.next()?,
        })
    };
    lines(DIFFERENCES_TEXT).filter_map(difference).collect()
});

/// The lines of a table without its comments.
fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "))
}

/// All names, with an index. Rows are parsed on demand: most are never needed.
#[derive(Debug)]
pub struct Tables {
    lines: Vec<Line>,
    index: Index,
    own_names: Vec<&'static str>,
    advice: Vec<(&'static str, &'static str)>,
}

/// A line of a table.
#[derive(Clone, Copy, Debug)]
struct Line {
    name: &'static str,
    text: &'static str,
    family: Family,
}

impl Line {
    fn new(family: Family, text: &'static str) -> Self {
        Self { name: text.split_once(' ').map_or(text, |(name, _)| name), text, family }
    }

    /// A test reads every line of every table. A malformed line would be a name without a translation.
    fn row(&self) -> Row {
        row(self.family, self.text).unwrap_or(Row {
            name: self.name,
            family: self.family,
            kind: Kind("-"),
            hip: None,
            roc: None,
            miopen: None,
            experimental: None,
            deprecated: None,
            removed: None,
            lacking: Lacking::default(),
        })
    }
}

/// The number of a row.
pub(crate) type RowNumber = u16;

/// An open hash table from names to rows. It has at least twice as many places as names, so most lookups of
/// unknown names hit an empty place at once.
#[derive(Debug)]
struct Index {
    places: Vec<RowNumber>,
    mask: usize,
}

const EMPTY: RowNumber = RowNumber::MAX;

/// The start of FNV's offset basis, folded: any odd number with spread-out bits works.
fn hash(name: &[u8]) -> usize {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 29;
    }
    usize::try_from((hash ^ (hash >> 32)) & 0xffff_ffff).unwrap_or(0)
}

impl Tables {
    /// The tables of this crate, read on the first call.
    pub fn get() -> &'static Self {
        static TABLES: LazyLock<Tables> = LazyLock::new(Tables::read);
        &TABLES
    }

    fn read() -> Self {
        let mut all = Vec::with_capacity(12_000);
        for &(family, _, text) in FAMILIES {
            all.extend(lines(text).map(|line| Line::new(family, line)));
        }
        all.extend(lines(ADDITIONS).map(|line| Line::new(Family::Device, line)));
        let mask = (all.len() * 3).next_power_of_two() - 1;
        let mut places = vec![EMPTY; mask + 1];
        for (number, line) in all.iter().enumerate() {
            let mut place = hash(line.name.as_bytes()) & mask;
            while places[place] != EMPTY {
                place = (place + 1) & mask;
            }
            // A test checks that all row numbers fit.
            places[place] = RowNumber::try_from(number).unwrap_or(EMPTY);
        }
        let advice = lines(ADVICE).filter_map(|line| line.split_once(' ')).collect();
        Self { lines: all, index: Index { places, mask }, own_names: lines(OWN_NAMES).collect(), advice }
    }

    /// All rows, by family and name.
    pub fn rows(&self) -> impl Iterator<Item = Row> + Clone {
        self.lines.iter().map(Line::row)
    }

    /// The row of a name.
    #[must_use]
    pub fn row(&self, name: &[u8]) -> Option<Row> {
        self.number(name).map(|number| self.numbered(number))
    }

    /// The row with a number.
    pub(crate) fn numbered(&self, number: RowNumber) -> Row {
        self.lines[usize::from(number)].row()
    }

    pub(crate) fn number(&self, name: &[u8]) -> Option<RowNumber> {
        let mut place = hash(name) & self.index.mask;
        loop {
            let number = self.index.places[place];
            if number == EMPTY {
                return None;
            }
            if self.lines[usize::from(number)].name.as_bytes() == name {
                return Some(number);
            }
            place = (place + 1) & self.index.mask;
        }
    }

    /// Whether a name looks like CUDA's but is known to be from programs.
    #[must_use]
    pub fn is_own_name(&self, name: &[u8]) -> bool {
        self.own_names.binary_search_by(|own| own.as_bytes().cmp(name)).is_ok()
    }

    /// The advice for a name without an equivalent.
    #[must_use]
    pub fn advice(&self, name: &[u8]) -> Option<&'static str> {
        let at = self.advice.binary_search_by(|(of, _)| of.as_bytes().cmp(name)).ok()?;
        Some(self.advice[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted_and_unique<'a>(what: &str, mut names: impl Iterator<Item = &'a str>) {
        let Some(mut last) = names.next() else { return };
        for name in names {
            assert!(last < name, "{what}: {last} stands before {name}");
            last = name;
        }
    }

    #[test]
    fn tables_are_sorted_and_every_line_is_a_row() {
        for &(family, name, text) in FAMILIES {
            sorted_and_unique(name, lines(text).filter_map(|line| line.split(' ').next()));
            for line in lines(text) {
                assert!(row(family, line).is_some(), "{name}: {line}");
            }
        }
        sorted_and_unique("additions", lines(ADDITIONS).filter_map(|line| line.split(' ').next()));
        for line in lines(ADDITIONS) {
            assert!(row(Family::Device, line).is_some(), "{line}");
        }
        sorted_and_unique("own names", lines(OWN_NAMES));
        sorted_and_unique("advice", lines(ADVICE).filter_map(|line| line.split(' ').next()));
        sorted_and_unique("differences", DIFFERENCES.iter().map(|difference| difference.name));
        assert_eq!(DIFFERENCES.len(), lines(DIFFERENCES_TEXT).count());
    }

    #[test]
    fn a_name_is_in_one_table_and_is_found() {
        let tables = Tables::get();
        assert!(tables.lines.len() < usize::from(EMPTY));
        for row in tables.rows() {
            assert_eq!(tables.row(row.name.as_bytes()), Some(row), "{} is in two tables", row.name);
        }
        assert_eq!(tables.row(b"cudaMallo"), None);
        assert_eq!(tables.row(b""), None);
    }

    #[test]
    fn no_translation_is_translated_again() {
        let tables = Tables::get();
        for row in tables.rows() {
            for to in [row.hip, row.roc, row.miopen, row.experimental].into_iter().flatten() {
                let words = to.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                for word in words.chain([to]).filter(|word| *word != row.name) {
                    let Some(again) = tables.row(word.as_bytes()) else { continue };
                    let ends = [again.hip, again.roc, again.miopen, again.experimental];
                    assert!(ends.into_iter().flatten().all(|end| end == word), "{} becomes {to}", row.name);
                }
            }
        }
    }

    #[test]
    fn advice_is_for_names_without_a_translation() {
        let tables = Tables::get();
        for (name, _) in &tables.advice {
            let row = tables.row(name.as_bytes());
            assert!(row.is_none_or(|row| row.hip.is_none()), "{name} translates");
        }
    }
}
