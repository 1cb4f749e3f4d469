//! The peaks of GPUs, from their vendors' data sheets.
//!
//! All figures are *dense*. NVIDIA's data sheets print figures with structured sparsity and mark them with an
//! asterisk; the rows here have half of these, the figures without sparsity. A figure is `None` if the
//! document does not give it, or contradicts another document of the same vendor.
//!
//! `f32` is the highest rate of f32 arithmetic, on vectors or matrices. `f16`, `bf16` and `f8` are the rates
//! of matrix products that accumulate in f32, as in training: NVIDIA's consumer cards are twice as fast when
//! they accumulate f16 in f16.
//!
//! A row is chosen by the device's name, and by architecture, cores and memory if products share a name.
//! Names are compared word by word, so that `H200` is not found in `GH200`, nor `H100` before `H100 PCIe`.

use std::fmt;

use serde::Serialize;

use crate::record::{GpuInfo, Platform};

/// A type of numbers with a peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Type {
    /// f64 on vectors.
    F64,
    /// f64 in matrix products.
    F64Matrix,
    /// f32: the higher one of vectors and matrix products.
    F32,
    /// f32 rounded to 19 bits in matrix products.
    Tf32,
    /// f16 in matrix products.
    F16,
    /// bf16 in matrix products.
    Bf16,
    /// 8-bit floats in matrix products.
    F8,
    /// 8-bit integers in matrix products; operations instead of floating-point operations.
    I8,
}

impl Type {
    /// All types, in the order of [`Peak::tflops`].
    pub const ALL: [Self; 8] =
        [Self::F64, Self::F64Matrix, Self::F32, Self::Tf32, Self::F16, Self::Bf16, Self::F8, Self::I8];

    /// The type named by a record's `precision`: `bf16`, `BF16-mixed`, `fp8_hybrid`. `None` if it names none
    /// of them.
    pub fn of_precision(precision: &str) -> Option<Self> {
        let lower = precision.to_ascii_lowercase();
        // The type of products decides: `bf16 + fp8` is a run with 8-bit products.
        let names: [(&[&str], Self); 7] = [
            (&["fp8", "f8", "float8", "e4m3", "e5m2"], Self::F8),
            (&["bf16", "bfloat16"], Self::Bf16),
            (&["fp16", "f16", "float16", "half"], Self::F16),
            (&["tf32"], Self::Tf32),
            (&["fp32", "f32", "float32", "single"], Self::F32),
            (&["fp64", "f64", "float64", "double"], Self::F64),
            (&["int8", "i8"], Self::I8),
        ];
        let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        names
            .iter()
            .find(|(names, _)| words.iter().any(|word| names.contains(word)))
            .map(|(_, kind)| *kind)
            .or(match lower.trim() {
                "16" | "16-mixed" => Some(Self::F16),
                "32" | "32-true" => Some(Self::F32),
                _ => None,
            })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F64 => "f64",
            Self::F64Matrix => "f64 matrix",
            Self::F32 => "f32",
            Self::Tf32 => "tf32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F8 => "f8",
            Self::I8 => "i8",
        })
    }
}

/// A GPU as a program sees it: for MI250X, one of its two dies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Peak {
    /// The product.
    pub product: &'static str,
    /// Its vendor.
    pub platform: Platform,
    /// Words in the device's name, in capitals.
    #[serde(skip)]
    named: &'static [&'static str],
    /// Words that the name must not contain, because they name another product.
    #[serde(skip)]
    unless: &'static [&'static str],
    /// `gfx942`, `sm_90`.
    pub architecture: &'static str,
    /// Compute units or streaming multiprocessors.
    pub compute_units: u64,
    /// Lanes of all compute units, as the vendor counts them: stream processors, CUDA cores.
    pub cores: u64,
    /// Memory in GB, from the data sheet.
    pub memory_gb: f64,
    /// Bandwidth of the memory in GB/s.
    pub bandwidth_gb_s: f64,
    /// Maximum power of the board in watts.
    pub tdp_watts: f64,
    /// TFLOP/s by type, in the order of [`Type::ALL`].
    tflops: [Option<f64>; 8],
    /// The source document of the figures, with its date.
    pub source: &'static str,
}

impl Peak {
    /// TFLOP/s of a type, dense; `None` if the vendor gives none.
    pub fn tflops(&self, kind: Type) -> Option<f64> {
        self.tflops[kind as usize]
    }

    fn has_name(&self, words: &[String]) -> bool {
        let has = |word: &&'static str| words.iter().any(|other| other == word);
        self.named.iter().all(has) && !self.unless.iter().any(has)
    }

    /// Whether nothing in `info` contradicts this row.
    fn fits(&self, info: &GpuInfo) -> bool {
        let architecture = info.architecture.as_deref().filter(|name| !name.is_empty());
        architecture.is_none_or(|name| self.has_architecture(name))
            && info.compute_units.is_none_or(|units| units == self.compute_units)
            && info.gpu_cores.is_none_or(|cores| cores == self.cores)
            && info.total_memory_gb.is_none_or(|memory| self.has_memory(memory))
    }

    /// Whether an architecture, in a driver's spelling, is this row's: `gfx942:sramecc+:xnack-` is gfx942;
    /// `9.0` and `sm_90a` are sm_90.
    pub fn has_architecture(&self, stated: &str) -> bool {
        let stated = stated.split(':').next().unwrap_or(stated).to_ascii_lowercase();
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        match self.architecture.strip_prefix("sm_") {
            Some(number) => !stated.starts_with("gfx") && digits(&stated) == number,
            None => stated == self.architecture,
        }
    }

    /// Whether this much memory matches this row. Drivers report from 7 % less than the data sheet (firmware
    /// reserves some) to 9 % more (GiB that the data sheet calls GB).
    pub fn has_memory(&self, gb: f64) -> bool {
        (0.93..=1.09).contains(&(gb / self.memory_gb))
    }
}

/// The row of a GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The row.
    pub peak: &'static Peak,
    /// The assumption made to choose the row.
    pub assumed: Option<String>,
}

/// Why no row was chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    /// The record names no GPU.
    #[error("the record does not name its GPU")]
    NoName,
    /// No row has this name.
    #[error("no peak figures are known for `{0}`")]
    Unknown(String),
    /// A part of a GPU, which has only a part of its peak.
    #[error("`{0}` is a part of a GPU (MIG), whose peak is not that of the GPU")]
    Part(String),
    /// Several rows have this name, and the rest of the record does not decide between them.
    #[error("`{name}` may be {}: architecture, cores or memory would decide", rows.join(" or "))]
    Ambiguous {
        /// The device's name.
        name: String,
        /// The products that it may be.
        rows: Vec<&'static str>,
    },
}

/// Finds the row of a record's GPU.
///
/// # Errors
///
/// [`NotFound`] if no row, or more than one, matches the GPU.
pub fn find(info: &GpuInfo) -> Result<Found, NotFound> {
    let name = info.device_name.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let words = words_of(name.unwrap_or_default());
    if words.iter().any(|word| word == "MIG") {
        return Err(NotFound::Part(name.unwrap_or_default().to_owned()));
    }
    let mut rows: Vec<&'static Peak> = PEAKS.iter().filter(|row| row.has_name(&words)).collect();
    let by_name = !rows.is_empty();
    if !by_name {
        // Some drivers name no product: `AMD Radeon Graphics`. Their counts identify it, if all are known.
        let complete = info.architecture.is_some()
            && (info.compute_units.is_some() || info.gpu_cores.is_some())
            && info.total_memory_gb.is_some();
        let nameless = words
            .iter()
            .all(|word| ["AMD", "RADEON", "INSTINCT", "GRAPHICS", "NVIDIA"].contains(&word.as_str()));
        if complete && nameless {
            rows = PEAKS.iter().filter(|row| row.fits(info)).collect();
        }
    }
    let mut assumed = None;
    if rows.len() > 1 {
        // Facts choose between products with the same name; if they contradict all of them, they choose none.
        let fitting: Vec<_> = rows.iter().copied().filter(|row| row.fits(info)).collect();
        if !fitting.is_empty() {
            rows = fitting;
        }
        // The packages of MI250 and MI250X: a row for one die, and one for both.
        if let [die, package] = rows[..]
            && die.product.ends_with(ONE_DIE)
            && package.architecture == die.architecture
            && package.compute_units == 2 * die.compute_units
        {
            rows = vec![die];
            assumed = Some("one die of the package, which is what drivers count as a GPU".to_owned());
        }
    }
    match (rows.as_slice(), name) {
        ([row], _) => Ok(Found { peak: row, assumed }),
        ([], None) => Err(NotFound::NoName),
        ([], Some(name)) => Err(NotFound::Unknown(name.to_owned())),
        (rows, name) => Err(NotFound::Ambiguous {
            name: name.unwrap_or("the GPU").to_owned(),
            rows: rows.iter().map(|row| row.product).collect(),
        }),
    }
}

fn words_of(name: &str) -> Vec<String> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_uppercase).collect()
}

/// The rows that a device's name may belong to; none for a part of a GPU (MIG).
pub fn of_name(name: &str) -> Vec<&'static Peak> {
    let words = words_of(name);
    if words.iter().any(|word| word == "MIG") {
        return Vec::new();
    }
    PEAKS.iter().filter(|row| row.has_name(&words)).collect()
}

/// The ending of product names for half of a package.
const ONE_DIE: &str = "(one die)";

const fn amd(
    product: &'static str,
    named: &'static [&'static str],
    architecture: &'static str,
    compute_units: u64,
    board: [f64; 3],
    tflops: [Option<f64>; 8],
    source: &'static str,
) -> Peak {
    let [memory_gb, bandwidth_gb_s, tdp_watts] = board;
    Peak {
        product,
        platform: Platform::Amd,
        named,
        unless: &["HF"],
        architecture,
        compute_units,
        cores: compute_units * 64,
        memory_gb,
        bandwidth_gb_s,
        tdp_watts,
        tflops,
        source,
    }
}

#[expect(clippy::too_many_arguments, reason = "the columns of the table")]
const fn nvidia(
    product: &'static str,
    named: &'static [&'static str],
    unless: &'static [&'static str],
    architecture: &'static str,
    units_and_lanes: [u64; 2],
    board: [f64; 3],
    tflops: [Option<f64>; 8],
    source: &'static str,
) -> Peak {
    let [memory_gb, bandwidth_gb_s, tdp_watts] = board;
    let [compute_units, lanes] = units_and_lanes;
    Peak {
        product,
        platform: Platform::Nvidia,
        named,
        unless,
        architecture,
        compute_units,
        cores: compute_units * lanes,
        memory_gb,
        bandwidth_gb_s,
        tdp_watts,
        tflops,
        source,
    }
}

const fn some(tflops: f64) -> Option<f64> {
    Some(tflops)
}

const NO: Option<f64> = None;

const MI300X_SHEET: &str = "AMD Instinct MI300X Accelerator data sheet, December 2023";
const MI200_SHEET: &str = "AMD Instinct MI200 Series Accelerator data sheet, November 2021";
const H100_SHEET: &str = "NVIDIA H100 Tensor Core GPU Architecture white paper V1.04, 2023 (SXM5 and PCIe)";
const H100_NVL_SHEET: &str =
    "NVIDIA H100 Tensor Core GPU data sheet, 2024 (H100 NVL; half of the figures with sparsity)";
const H200_SHEET: &str = "NVIDIA H200 Tensor Core GPU data sheet, 2024 (half of the figures with sparsity)";
const A100_SHEET: &str = "NVIDIA A100 Tensor Core GPU data sheet, June 2021";
const V100_SHEET: &str = "NVIDIA V100 Tensor Core GPU data sheet, January 2020";
const A100_40_PCIE_SHEET: &str = "NVIDIA A100 40GB PCIe product brief PB-10137-001, 2020";

// Columns: product; words of its name; architecture; compute units; memory in GB, bandwidth in GB/s, watts;
// TFLOP/s of f64, f64 matrix, f32, tf32, f16, bf16, f8, i8; source.
/// All rows.
#[rustfmt::skip]
pub static PEAKS: &[Peak] = &[
    amd("MI355X", &["MI355X"], "gfx950", 256, [288.0, 8000.0, 1400.0],
        [some(78.6), some(78.6), some(157.3), NO, some(2516.6), some(2516.6), some(5033.2), some(5033.2)],
        "AMD Instinct MI355X GPU data sheet, June 2025"),
    amd("MI350X", &["MI350X"], "gfx950", 256, [288.0, 8000.0, 1000.0],
        [some(72.1), some(72.1), some(144.2), NO, some(2306.9), some(2306.9), some(4613.7), some(4613.7)],
        "AMD Instinct MI350X GPU data sheet, June 2025"),
    amd("MI325X", &["MI325X"], "gfx942", 304, [256.0, 6000.0, 1000.0],
        [some(81.7), some(163.4), some(163.4), some(653.7), some(1307.4), some(1307.4), some(2614.9), some(2614.9)],
        "AMD Instinct MI325X Accelerator data sheet, October 2024"),
    amd("MI300X", &["MI300X"], "gfx942", 304, [192.0, 5300.0, 750.0],
        [some(81.7), some(163.4), some(163.4), some(653.7), some(1307.4), some(1307.4), some(2614.9), some(2614.9)],
        MI300X_SHEET),
    amd("MI300A", &["MI300A"], "gfx942", 228, [128.0, 5300.0, 760.0],
        [some(61.3), some(122.6), some(122.6), some(490.3), some(980.6), some(980.6), some(1961.2), some(1961.2)],
        "AMD Instinct MI300A APU data sheet, December 2023 (760 W: the peak of CPU and GPU together)"),
    amd("MI250X (one die)", &["MI250X"], "gfx90a", 110, [64.0, 1638.4, 280.0],
        [some(23.95), some(47.85), some(47.85), NO, some(191.5), some(191.5), NO, some(191.5)],
        "AMD Instinct MI200 Series Accelerator data sheet, November 2021 (half of the package)"),
    amd("MI250X (package of two dies)", &["MI250X"], "gfx90a", 220, [128.0, 3276.8, 560.0],
        [some(47.9), some(95.7), some(95.7), NO, some(383.0), some(383.0), NO, some(383.0)],
        MI200_SHEET),
    amd("MI250 (one die)", &["MI250"], "gfx90a", 104, [64.0, 1638.4, 280.0],
        [some(22.65), some(45.25), some(45.25), NO, some(181.05), some(181.05), NO, some(181.05)],
        "AMD Instinct MI200 Series Accelerator data sheet, November 2021 (half of the package)"),
    amd("MI250 (package of two dies)", &["MI250"], "gfx90a", 208, [128.0, 3276.8, 560.0],
        [some(45.3), some(90.5), some(90.5), NO, some(362.1), some(362.1), NO, some(362.1)],
        MI200_SHEET),
    amd("MI210", &["MI210"], "gfx90a", 104, [64.0, 1638.4, 300.0],
        [some(22.6), some(45.3), some(45.3), NO, some(181.0), some(181.0), NO, some(181.0)],
        "AMD Instinct MI210 Accelerator data sheet, March 2022"),
    amd("MI100", &["MI100"], "gfx908", 120, [32.0, 1228.8, 300.0],
        [some(11.5), NO, some(46.1), NO, some(184.6), some(92.3), NO, some(184.6)],
        "AMD Instinct MI100 Accelerator data sheet, November 2020"),
    amd("RX 7900 XTX", &["7900", "XTX"], "gfx1100", 96, [24.0, 960.0, 355.0],
        [NO, NO, some(61.4), NO, some(122.8), some(122.8), NO, some(122.8)],
        "AMD Radeon RX 7900 XTX product page, December 2022"),
    amd("Radeon PRO W7900", &["W7900"], "gfx1100", 96, [48.0, 864.0, 295.0],
        [NO, NO, some(61.3), NO, some(122.6), some(122.6), NO, some(122.6)],
        "AMD Radeon PRO W7900 data sheet, April 2023"),
    amd("RX 9070 XT", &["9070", "XT"], "gfx1201", 64, [16.0, 640.0, 304.0],
        [NO, NO, some(48.7), NO, some(195.0), some(195.0), some(389.0), some(389.0)],
        "AMD Radeon RX 9070 XT product page, March 2025"),
    nvidia("B200", &["B200"], &[], "sm_100", [148, 128], [180.0, 8000.0, 1000.0],
        [NO, NO, NO, some(1100.0), some(2250.0), some(2250.0), some(4500.0), some(4500.0)],
        "NVIDIA Blackwell Architecture Technical Brief, March 2024 (HGX B200, 1000 W; half of the figures with sparsity)"),
    nvidia("H200 SXM", &["H200"], &["NVL"], "sm_90", [132, 128], [141.0, 4800.0, 700.0],
        [some(33.5), some(66.9), some(66.9), some(494.7), some(989.4), some(989.4), some(1978.9), some(1978.9)],
        H200_SHEET),
    nvidia("H200 NVL", &["H200", "NVL"], &[], "sm_90", [132, 128], [141.0, 4800.0, 600.0],
        [some(30.0), some(60.0), some(60.0), some(417.5), some(835.5), some(835.5), some(1670.5), some(1670.5)],
        H200_SHEET),
    nvidia("H100 SXM", &["H100"], &["PCIE", "NVL", "HBM2E"], "sm_90", [132, 128], [80.0, 3350.0, 700.0],
        [some(33.5), some(66.9), some(66.9), some(494.7), some(989.4), some(989.4), some(1978.9), some(1978.9)],
        H100_SHEET),
    nvidia("H100 PCIe", &["H100"], &["NVL", "SXM5", "HBM3"], "sm_90", [114, 128], [80.0, 2000.0, 350.0],
        [some(25.6), some(51.2), some(51.2), some(378.0), some(756.0), some(756.0), some(1513.0), some(1513.0)],
        H100_SHEET),
    nvidia("H100 NVL", &["H100"], &["PCIE", "SXM5", "80GB"], "sm_90", [132, 128], [94.0, 3900.0, 400.0],
        [some(30.0), some(60.0), some(60.0), some(417.5), some(835.5), some(835.5), some(1670.5), some(1670.5)],
        H100_NVL_SHEET),
    nvidia("A100 SXM 80 GB", &["A100"], &["PCIE", "PG509", "40GB"], "sm_80", [108, 64], [80.0, 2039.0, 400.0],
        [some(9.7), some(19.5), some(19.5), some(156.0), some(312.0), some(312.0), NO, some(624.0)],
        A100_SHEET),
    nvidia("A100 SXM 40 GB", &["A100"], &["PCIE", "PG509", "80GB"], "sm_80", [108, 64], [40.0, 1555.0, 400.0],
        [some(9.7), some(19.5), some(19.5), some(156.0), some(312.0), some(312.0), NO, some(624.0)],
        A100_SHEET),
    nvidia("A100 PCIe 80 GB", &["A100"], &["SXM4", "SXM", "40GB"], "sm_80", [108, 64], [80.0, 1935.0, 300.0],
        [some(9.7), some(19.5), some(19.5), some(156.0), some(312.0), some(312.0), NO, some(624.0)],
        A100_SHEET),
    nvidia("A100 PCIe 40 GB", &["A100"], &["SXM4", "SXM", "80GB"], "sm_80", [108, 64], [40.0, 1555.0, 250.0],
        [some(9.7), some(19.5), some(19.5), some(156.0), some(312.0), some(312.0), NO, some(624.0)],
        A100_40_PCIE_SHEET),
    nvidia("A30", &["A30"], &[], "sm_80", [56, 64], [24.0, 933.0, 165.0],
        [some(5.2), some(10.3), some(10.3), some(82.0), some(165.0), some(165.0), NO, some(330.0)],
        "NVIDIA A30 Tensor Core GPU data sheet, 2022"),
    nvidia("A40", &["A40"], &[], "sm_86", [84, 128], [48.0, 696.0, 300.0],
        [NO, NO, some(37.4), some(74.8), some(149.7), some(149.7), NO, some(299.3)],
        "NVIDIA A40 GPU data sheet, 2022"),
    nvidia("V100 SXM2 32 GB", &["V100"], &["PCIE", "16GB"], "sm_70", [80, 64], [32.0, 900.0, 300.0],
        [some(7.8), NO, some(15.7), NO, some(125.0), NO, NO, NO], V100_SHEET),
    nvidia("V100 SXM2 16 GB", &["V100"], &["PCIE", "32GB"], "sm_70", [80, 64], [16.0, 900.0, 300.0],
        [some(7.8), NO, some(15.7), NO, some(125.0), NO, NO, NO], V100_SHEET),
    nvidia("V100 PCIe 32 GB", &["V100"], &["SXM2", "16GB"], "sm_70", [80, 64], [32.0, 900.0, 250.0],
        [some(7.0), NO, some(14.0), NO, some(112.0), NO, NO, NO], V100_SHEET),
    nvidia("V100 PCIe 16 GB", &["V100"], &["SXM2", "32GB"], "sm_70", [80, 64], [16.0, 900.0, 250.0],
        [some(7.0), NO, some(14.0), NO, some(112.0), NO, NO, NO], V100_SHEET),
    nvidia("L40S", &["L40S"], &[], "sm_89", [142, 128], [48.0, 864.0, 350.0],
        [NO, NO, some(91.6), some(183.0), some(362.05), some(362.05), some(733.0), some(733.0)],
        "NVIDIA L40S data sheet, August 2023"),
    nvidia("L4", &["L4"], &[], "sm_89", [58, 128], [24.0, 300.0, 72.0],
        [NO, NO, some(30.3), some(60.0), some(121.0), some(121.0), some(242.5), some(242.5)],
        "NVIDIA L4 Tensor Core GPU data sheet, March 2023 (half of the figures with sparsity)"),
    nvidia("RTX 3090", &["RTX", "3090"], &["LAPTOP", "TI"], "sm_86", [82, 128], [24.0, 936.0, 350.0],
        [NO, NO, some(35.6), some(35.6), some(71.0), some(71.0), NO, some(284.0)],
        "NVIDIA Ampere GA102 GPU Architecture white paper V2.0, 2021"),
    nvidia("RTX 4090", &["RTX", "4090"], &["LAPTOP", "D"], "sm_89", [128, 128], [24.0, 1008.0, 450.0],
        [NO, NO, some(82.6), some(82.6), some(165.2), some(165.2), some(330.3), some(660.6)],
        "NVIDIA Ada GPU Architecture white paper V2.01, 2023"),
    nvidia("RTX 5090", &["RTX", "5090"], &["LAPTOP", "D"], "sm_120", [170, 128], [32.0, 1792.0, 575.0],
        [NO, NO, some(104.8), some(104.8), some(209.5), some(209.5), some(419.0), some(838.0)],
        "NVIDIA RTX Blackwell GPU Architecture white paper V1.1, January 2025"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> GpuInfo {
        GpuInfo { device_name: Some(name.to_owned()), ..GpuInfo::default() }
    }

    fn product(info: &GpuInfo) -> Result<&'static str, String> {
        find(info).map(|found| found.peak.product).map_err(|error| error.to_string())
    }

    #[test]
    fn names_as_drivers_give_them_find_their_product() {
        for (name, expected) in [
            ("AMD Instinct MI300X", "MI300X"),
            ("AMD Instinct MI300X OAM", "MI300X"),
            ("AMD Instinct MI325X", "MI325X"),
            ("AMD Instinct MI250X", "MI250X (one die)"),
            ("AMD Instinct MI250", "MI250 (one die)"),
            ("AMD Instinct MI210", "MI210"),
            ("AMD Instinct MI350X", "MI350X"),
            ("AMD Instinct MI300A", "MI300A"),
            ("Tesla V100-SXM2-16GB", "V100 SXM2 16 GB"),
            ("Tesla V100-PCIE-32GB", "V100 PCIe 32 GB"),
            ("NVIDIA A30", "A30"),
            ("NVIDIA A40", "A40"),
            ("NVIDIA GeForce RTX 3090", "RTX 3090"),
            ("AMD Radeon RX 7900 XTX", "RX 7900 XTX"),
            ("AMD Radeon PRO W7900", "Radeon PRO W7900"),
            ("AMD Radeon RX 9070 XT", "RX 9070 XT"),
            ("NVIDIA H100 80GB HBM3", "H100 SXM"),
            ("NVIDIA H100 PCIe", "H100 PCIe"),
            ("NVIDIA H100 NVL", "H100 NVL"),
            ("NVIDIA H200", "H200 SXM"),
            ("NVIDIA H200 NVL", "H200 NVL"),
            ("NVIDIA B200", "B200"),
            ("NVIDIA A100-SXM4-40GB", "A100 SXM 40 GB"),
            ("NVIDIA A100-SXM4-80GB", "A100 SXM 80 GB"),
            ("NVIDIA A100-PCIE-40GB", "A100 PCIe 40 GB"),
            ("NVIDIA A100 80GB PCIe", "A100 PCIe 80 GB"),
            ("NVIDIA L4", "L4"),
            ("NVIDIA L40S", "L40S"),
            ("NVIDIA GeForce RTX 4090", "RTX 4090"),
            ("NVIDIA GeForce RTX 5090", "RTX 5090"),
        ] {
            assert_eq!(product(&named(name)).as_deref(), Ok(expected), "{name}");
        }
    }

    /// Clocks in GHz that vendors use to compute their peaks, and operations of a unit per clock in f16
    /// products that accumulate in f32, from documents of the architectures. Neither is among a data sheet's
    /// peaks.
    #[rustfmt::skip]
    const CLOCKS: &[(&str, f64, f64)] = &[
        ("MI355X", 2.4, 4096.0), ("MI350X", 2.2, 4096.0), ("MI325X", 2.1, 2048.0), ("MI300X", 2.1, 2048.0),
        ("MI300A", 2.1, 2048.0), ("MI250X (one die)", 1.7, 1024.0), ("MI250X (package of two dies)", 1.7, 1024.0),
        ("MI250 (one die)", 1.7, 1024.0), ("MI250 (package of two dies)", 1.7, 1024.0), ("MI210", 1.7, 1024.0),
        ("MI100", 1.502, 1024.0), ("RX 7900 XTX", 2.5, 512.0), ("Radeon PRO W7900", 2.495, 512.0),
        ("RX 9070 XT", 2.97, 1024.0), ("B200", 1.855, 8192.0), ("H200 SXM", 1.83, 4096.0), ("H200 NVL", 1.545, 4096.0),
        ("H100 SXM", 1.83, 4096.0), ("H100 PCIe", 1.62, 4096.0), ("H100 NVL", 1.545, 4096.0),
        ("A100 SXM 80 GB", 1.41, 2048.0), ("A100 SXM 40 GB", 1.41, 2048.0), ("A100 PCIe 80 GB", 1.41, 2048.0),
        ("A100 PCIe 40 GB", 1.41, 2048.0), ("A30", 1.44, 2048.0), ("A40", 1.74, 1024.0),
        ("V100 SXM2 32 GB", 1.53, 1024.0), ("V100 SXM2 16 GB", 1.53, 1024.0), ("V100 PCIe 32 GB", 1.37, 1024.0),
        ("V100 PCIe 16 GB", 1.37, 1024.0), ("L40S", 2.49, 1024.0), ("L4", 2.04, 1024.0), ("RTX 3090", 1.695, 512.0),
        ("RTX 4090", 2.52, 512.0), ("RTX 5090", 2.407, 512.0),
    ];

    /// A figure with sparsity would be twice as high, and a figure of another product would differ by some
    /// other factor.
    #[test]
    fn dense_peaks_are_units_times_clock_times_operations() {
        for peak in PEAKS {
            let (_, clock, operations) = CLOCKS.iter().find(|row| row.0 == peak.product).expect(peak.product);
            let computed = peak.compute_units as f64 * clock * operations / 1e3;
            let stated = peak.tflops(Type::F16).expect("every row has one");
            assert!((stated / computed - 1.0).abs() < 0.01, "{}: {stated}, {computed}", peak.product);
            // For f32, a lane does two operations, or four in pairs or matrix products, at a clock that may
            // be up to a sixth higher.
            let per_lane = peak.tflops(Type::F32).map(|stated| stated * 1e3 / (peak.cores as f64 * clock));
            let known = |per_lane: f64| [2.0, 4.0].iter().any(|known| (per_lane / known - 1.0).abs() < 0.16);
            assert!(per_lane.is_none_or(known), "{}: {per_lane:?} of f32", peak.product);
        }
    }

    #[test]
    fn names_of_other_products_find_none() {
        for name in [
            "NVIDIA GH200 480GB",
            "NVIDIA GB200",
            "NVIDIA H20",
            "NVIDIA L40",
            "NVIDIA GeForce RTX 4090 D",
            "NVIDIA GeForce RTX 4090 Laptop GPU",
            "AMD Radeon RX 7900 XT",
            "AMD Radeon RX 9070",
            "NVIDIA GeForce RTX 3090 Ti",
            "NVIDIA A10",
            "AMD Instinct MI300X HF",
            "AMD Radeon Graphics",
        ] {
            assert_eq!(find(&named(name)), Err(NotFound::Unknown(name.to_owned())), "{name}");
        }
        assert_eq!(find(&GpuInfo::default()), Err(NotFound::NoName));
        assert!(matches!(find(&named("NVIDIA H100 80GB HBM3 MIG 1g.10gb")), Err(NotFound::Part(_))));
    }

    #[test]
    fn what_a_record_counts_chooses_between_products_of_one_name() {
        assert!(matches!(find(&named("H100")), Err(NotFound::Ambiguous { rows, .. }) if rows.len() == 3));
        let with = |cores, memory| GpuInfo { gpu_cores: cores, total_memory_gb: memory, ..named("H100") };
        assert_eq!(product(&with(Some(14_592), None)).as_deref(), Ok("H100 PCIe"));
        assert_eq!(product(&with(Some(16_896), Some(85.0))).as_deref(), Ok("H100 SXM"));
        assert_eq!(product(&with(Some(16_896), Some(100.0))).as_deref(), Ok("H100 NVL"));
        let package = GpuInfo { compute_units: Some(220), ..named("AMD Instinct MI250X") };
        assert_eq!(product(&package).as_deref(), Ok("MI250X (package of two dies)"));
        assert!(find(&named("AMD Instinct MI250X")).is_ok_and(|found| found.assumed.is_some()));
        let nameless = |memory| GpuInfo {
            architecture: Some("gfx942:sramecc+:xnack-".to_owned()),
            compute_units: Some(304),
            total_memory_gb: Some(memory),
            ..named("AMD Radeon Graphics")
        };
        assert_eq!(product(&nameless(206.14)).as_deref(), Ok("MI300X"));
        assert_eq!(product(&nameless(274.88)).as_deref(), Ok("MI325X"));
        assert!(find(&nameless(100.0)).is_err());
    }

    #[test]
    fn architectures_as_drivers_name_them_are_those_of_a_row() {
        let row = of_name("NVIDIA H100 PCIe")[0];
        assert!(["sm_90", "9.0", "sm_90a"].into_iter().all(|name| row.has_architecture(name)));
        assert!(!row.has_architecture("sm_80") && !row.has_architecture("gfx90a"));
        let row = of_name("AMD Instinct MI300X")[0];
        assert!(row.has_architecture("gfx942:sramecc+:xnack-") && !row.has_architecture("gfx90a"));
        // A name with the cores of another GPU still has its row.
        let info = GpuInfo { gpu_cores: Some(16_896), ..named("AMD Instinct MI300X") };
        assert_eq!(product(&info).as_deref(), Ok("MI300X"));
    }

    #[test]
    fn precisions_as_programs_name_them_are_types() {
        for (text, kind) in [
            ("bf16", Some(Type::Bf16)),
            ("BF16-mixed", Some(Type::Bf16)),
            ("bfloat16", Some(Type::Bf16)),
            ("fp8_hybrid", Some(Type::F8)),
            ("bf16 + fp8", Some(Type::F8)),
            ("16-mixed", Some(Type::F16)),
            ("tf32", Some(Type::Tf32)),
            ("float32", Some(Type::F32)),
            ("mystery", None),
        ] {
            assert_eq!(Type::of_precision(text), kind, "{text}");
        }
    }

    /// Operations of a compute unit in a cycle, and the clock in MHz, from the vendors' descriptions of the
    /// architectures: they reproduce the peaks of the data sheets. A figure with sparsity would be twice as
    /// high.
    #[test]
    fn peaks_are_compute_units_times_operations_of_a_cycle_times_clock() {
        // The columns of a row: product, clock, then operations per cycle and unit by type. NVIDIA's H100
        // PCIe and A100 multiply matrices at separate clocks.
        type Row = (&'static str, f64, &'static [(Type, f64)]);
        const BY_CLOCK: &[Row] = &[
            (
                "MI355X",
                2400.0,
                &[
                    (Type::F64, 128.0),
                    (Type::F64Matrix, 128.0),
                    (Type::F32, 256.0),
                    (Type::F16, 4096.0),
                    (Type::F8, 8192.0),
                ],
            ),
            (
                "MI350X",
                2200.0,
                &[
                    (Type::F64, 128.0),
                    (Type::F64Matrix, 128.0),
                    (Type::F32, 256.0),
                    (Type::F16, 4096.0),
                    (Type::F8, 8192.0),
                ],
            ),
            ("MI300X", 2100.0, CDNA3),
            ("MI300A", 2100.0, CDNA3),
            ("MI250 (one die)", 1700.0, CDNA2),
            ("MI250 (package of two dies)", 1700.0, CDNA2),
            ("A30", 1440.0, AMPERE),
            ("A40", 1740.0, GA102),
            (
                "RTX 3090",
                1695.0,
                &[(Type::F32, 256.0), (Type::Tf32, 256.0), (Type::Bf16, 512.0), (Type::I8, 2048.0)],
            ),
            ("V100 SXM2 32 GB", 1530.0, VOLTA),
            ("V100 SXM2 16 GB", 1530.0, VOLTA),
            ("V100 PCIe 32 GB", 1370.0, VOLTA),
            ("V100 PCIe 16 GB", 1370.0, VOLTA),
            ("MI325X", 2100.0, CDNA3),
            ("MI250X (one die)", 1700.0, CDNA2),
            ("MI250X (package of two dies)", 1700.0, CDNA2),
            ("MI210", 1700.0, CDNA2),
            (
                "MI100",
                1502.0,
                &[
                    (Type::F64, 64.0),
                    (Type::F32, 256.0),
                    (Type::F16, 1024.0),
                    (Type::Bf16, 512.0),
                    (Type::I8, 1024.0),
                ],
            ),
            ("RX 7900 XTX", 2500.0, &[(Type::F32, 256.0), (Type::F16, 512.0), (Type::I8, 512.0)]),
            ("Radeon PRO W7900", 2495.0, &[(Type::F32, 256.0), (Type::Bf16, 512.0)]),
            (
                "RX 9070 XT",
                2970.0,
                &[(Type::F32, 256.0), (Type::F16, 1024.0), (Type::F8, 2048.0), (Type::I8, 2048.0)],
            ),
            ("H100 SXM", 1980.0, &[(Type::F64, 128.0), (Type::F64Matrix, 256.0), (Type::F32, 256.0)]),
            ("H100 SXM", 1830.0, HOPPER),
            ("H200 SXM", 1830.0, HOPPER),
            ("H100 PCIe", 1755.0, &[(Type::F64, 128.0), (Type::F64Matrix, 256.0), (Type::F32, 256.0)]),
            ("H100 PCIe", 1620.0, HOPPER),
            (
                "B200",
                1850.0,
                &[(Type::F16, 8192.0), (Type::Bf16, 8192.0), (Type::F8, 16384.0), (Type::I8, 16384.0)],
            ),
            ("A100 SXM 80 GB", 1410.0, AMPERE),
            ("A100 SXM 40 GB", 1410.0, AMPERE),
            ("A100 PCIe 80 GB", 1410.0, AMPERE),
            ("A100 PCIe 40 GB", 1410.0, AMPERE),
            ("L40S", 2520.0, ADA),
            ("L4", 2040.0, ADA),
            (
                "RTX 4090",
                2520.0,
                &[
                    (Type::F32, 256.0),
                    (Type::Tf32, 256.0),
                    (Type::Bf16, 512.0),
                    (Type::F8, 1024.0),
                    (Type::I8, 2048.0),
                ],
            ),
            (
                "RTX 5090",
                2407.0,
                &[
                    (Type::F32, 256.0),
                    (Type::Tf32, 256.0),
                    (Type::Bf16, 512.0),
                    (Type::F8, 1024.0),
                    (Type::I8, 2048.0),
                ],
            ),
        ];
        const CDNA3: &[(Type, f64)] = &[
            (Type::F64, 128.0),
            (Type::F64Matrix, 256.0),
            (Type::F32, 256.0),
            (Type::Tf32, 1024.0),
            (Type::F16, 2048.0),
            (Type::Bf16, 2048.0),
            (Type::F8, 4096.0),
            (Type::I8, 4096.0),
        ];
        const CDNA2: &[(Type, f64)] = &[
            (Type::F64, 128.0),
            (Type::F64Matrix, 256.0),
            (Type::F32, 256.0),
            (Type::F16, 1024.0),
            (Type::Bf16, 1024.0),
            (Type::I8, 1024.0),
        ];
        const HOPPER: &[(Type, f64)] = &[
            (Type::Tf32, 2048.0),
            (Type::F16, 4096.0),
            (Type::Bf16, 4096.0),
            (Type::F8, 8192.0),
            (Type::I8, 8192.0),
        ];
        const AMPERE: &[(Type, f64)] = &[
            (Type::F64, 64.0),
            (Type::F64Matrix, 128.0),
            (Type::F32, 128.0),
            (Type::Tf32, 1024.0),
            (Type::F16, 2048.0),
            (Type::Bf16, 2048.0),
            (Type::I8, 4096.0),
        ];
        const VOLTA: &[(Type, f64)] = &[(Type::F64, 64.0), (Type::F32, 128.0), (Type::F16, 1024.0)];
        const GA102: &[(Type, f64)] = &[
            (Type::F32, 256.0),
            (Type::Tf32, 512.0),
            (Type::F16, 1024.0),
            (Type::Bf16, 1024.0),
            (Type::I8, 2048.0),
        ];
        const ADA: &[(Type, f64)] = &[
            (Type::F32, 256.0),
            (Type::Tf32, 512.0),
            (Type::F16, 1024.0),
            (Type::Bf16, 1024.0),
            (Type::F8, 2048.0),
            (Type::I8, 2048.0),
        ];
        for (product, clock, operations) in BY_CLOCK {
            let row = PEAKS.iter().find(|row| row.product == *product).unwrap_or_else(|| panic!("{product}"));
            for (kind, operations) in *operations {
                let derived = row.compute_units as f64 * operations * clock / 1e6;
                let stated = row.tflops(*kind).unwrap_or_else(|| panic!("{product} {kind}"));
                assert!((stated / derived - 1.0).abs() < 0.015, "{product} {kind}: {stated} or {derived}");
            }
        }
    }

    #[test]
    fn rows_are_whole() {
        for row in PEAKS {
            assert!(
                row.memory_gb > 0.0 && row.bandwidth_gb_s > 0.0 && row.tdp_watts > 0.0,
                "{}",
                row.product
            );
            // Volta has no bf16.
            assert!(row.tflops(Type::Bf16).is_some() || row.architecture == "sm_70", "{}", row.product);
            assert!(row.tflops(Type::F16).is_some(), "{}", row.product);
            let lanes = row.cores / row.compute_units;
            assert!([64, 128].contains(&lanes) && lanes * row.compute_units == row.cores, "{}", row.product);
            assert!(row.source.contains("20"), "{} has a date", row.product);
            assert_eq!(
                PEAKS.iter().filter(|other| other.product == row.product).count(),
                1,
                "{}",
                row.product
            );
        }
    }
}
