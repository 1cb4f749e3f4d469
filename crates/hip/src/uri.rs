//! Device URIs: how to name a device in code, on command lines and in `FERROCM_DEVICE`.
//!
//! | URI | means |
//! |---|---|
//! | `auto` | an AMD GPU, else an NVIDIA GPU, else a virtual GPU |
//! | `amdgpu`, `amdgpu:0` | AMD GPUs: all of them, or one by ordinal |
//! | `amdgpu://GPU-0e12865a3bf5b7ab,GPU-89e8d1b4c2f6a753`, `amdgpu://0,1` | chosen AMD GPUs, by UUID or ordinal |
//! | `cuda`, `cuda:0`, `cuda://GPU-<uuid>` | NVIDIA GPUs, in the same forms |
//! | `vgpu`, `vgpu:gfx90a`, `vgpu:gfx1100?cus=4&memory=2GiB&count=2` | virtual AMD GPUs |
//!
//! Parsing needs no device and no library:
//!
//! ```
//! use hip::{DeviceUri, uri::Selection};
//!
//! assert_eq!("amdgpu:1".parse(), Ok(DeviceUri::Amd(Selection::Ordinal(1))));
//! let error = "vgpu:gfx1100?cu=4".parse::<DeviceUri>().unwrap_err();
//! assert_eq!(error.part(), "cu");
//! ```

use std::fmt;
use std::str::FromStr;

use code_object::TargetId;

pub use crate::error::UriError;

/// The environment variable that names the default device.
pub const DEVICE_VARIABLE: &str = variables::DEVICE.name;

/// A parsed device URI.
// NEW-BACKEND: a variant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceUri {
    /// `auto`: AMD, else NVIDIA, else virtual.
    #[default]
    Auto,
    /// `amdgpu…`: AMD GPUs through AMD's HIP library.
    Amd(Selection),
    /// `cuda…`: NVIDIA GPUs.
    Cuda(Selection),
    /// `vgpu…`: virtual AMD GPUs in this process.
    Virtual(VirtualGpu),
}

/// The GPUs of a vendor that a URI selects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Selection {
    /// All of them.
    All,
    /// The one with this ordinal in the vendor's library.
    Ordinal(u32),
    /// Several, in this order, as one logical device.
    Devices(Vec<DeviceName>),
}

/// One GPU inside `amdgpu://…` or `cuda://…`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceName {
    /// The ordinal in the vendor's library.
    Ordinal(u32),
    /// The UUID, including `GPU-`, with hexadecimal digits in lower case.
    Uuid(String),
}

/// The parameters of a virtual GPU. Absent ones have default values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VirtualGpu {
    /// The target id that the device executes.
    pub target: Option<TargetId>,
    /// `cus=`: how many compute units it reports.
    pub compute_units: Option<u32>,
    /// `memory=`: its device memory in bytes.
    pub memory: Option<u64>,
    /// `count=`: how many such devices to make.
    pub count: Option<u32>,
    /// `check=`: the checks that its kernels run with. If absent, the variable `FERROCM_VGPU_CHECK` decides.
    pub checks: Option<gpu_report::Checks>,
    /// `counters=`: the format in which each kernel's counters are written to standard error.
    pub counters: Option<gpu_report::CounterFormat>,
}

const SCHEMES: &str = "expected `auto`, `amdgpu`, `cuda` or `vgpu`";
const MAX_VIRTUAL_DEVICES: u32 = 64;

/// The text being parsed, for errors.
struct Text<'a>(&'a str);

impl Text<'_> {
    fn bad(&self, part: &str, problem: &'static str, expected: impl Into<String>) -> UriError {
        UriError { uri: self.0.to_owned(), part: part.to_owned(), problem, expected: expected.into() }
    }
}

impl FromStr for DeviceUri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, UriError> {
        let whole = Text(text);
        let end = text.find([':', '?']).unwrap_or(text.len());
        let (scheme, rest) = text.split_at(end);
        match scheme {
            "auto" if rest.is_empty() => Ok(Self::Auto),
            "auto" => Err(whole.bad(rest, "is not allowed here", "`auto` stands alone")),
            "amdgpu" => parse_selection(&whole, scheme, rest).map(Self::Amd),
            "cuda" => parse_selection(&whole, scheme, rest).map(Self::Cuda),
            "vgpu" => parse_virtual(&whole, rest).map(Self::Virtual),
            "" => Err(whole.bad(text, "names no kind of device", SCHEMES)),
            _ => Err(whole.bad(scheme, "is not a kind of device", SCHEMES)),
        }
    }
}

fn parse_selection(whole: &Text<'_>, scheme: &str, rest: &str) -> Result<Selection, UriError> {
    let forms = || format!("expected `{scheme}`, `{scheme}:0`, `{scheme}://0,1` or `{scheme}://GPU-<uuid>`");
    if rest.is_empty() {
        return Ok(Selection::All);
    }
    if let Some(query) = rest.strip_prefix('?') {
        return Err(whole.bad(query, "is a parameter, but physical GPUs have none", forms()));
    }
    if let Some(list) = rest.strip_prefix("://") {
        let mut devices = Vec::new();
        for name in list.split(',') {
            let device = parse_device_name(whole, name)?;
            if devices.contains(&device) {
                return Err(whole.bad(name, "is listed twice", "name each GPU once"));
            }
            devices.push(device);
        }
        return Ok(Selection::Devices(devices));
    }
    let ordinal = rest.trim_start_matches(':');
    match parse_number(ordinal) {
        Some(ordinal) if rest.starts_with(':') && !rest.starts_with("::") => Ok(Selection::Ordinal(ordinal)),
        _ if ordinal.starts_with("GPU-") => Err(whole.bad(
            ordinal,
            "is a UUID where an ordinal belongs",
            format!("write `{scheme}://{ordinal}`"),
        )),
        _ => Err(whole.bad(if ordinal.is_empty() { rest } else { ordinal }, "is not an ordinal", forms())),
    }
}

fn parse_device_name(whole: &Text<'_>, name: &str) -> Result<DeviceName, UriError> {
    const EXPECTED: &str = "expected ordinals (`0,1`) or UUIDs (`GPU-` and 16 or 32 hexadecimal digits)";
    if let Some(digits) = name.strip_prefix("GPU-") {
        let hex = digits.bytes().filter(u8::is_ascii_hexdigit).count();
        let clean = digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        if !clean || (hex != 16 && hex != 32) {
            return Err(whole.bad(name, "is not a UUID", EXPECTED));
        }
        return Ok(DeviceName::Uuid(format!("GPU-{}", digits.to_ascii_lowercase())));
    }
    match parse_number(name) {
        Some(ordinal) => Ok(DeviceName::Ordinal(ordinal)),
        None => Err(whole.bad(name, "is neither an ordinal nor a UUID", EXPECTED)),
    }
}

/// A plain decimal number; `u32::from_str` would also take a leading `+`.
fn parse_number(text: &str) -> Option<u32> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn parse_virtual(whole: &Text<'_>, rest: &str) -> Result<VirtualGpu, UriError> {
    let (target, query) = match rest.split_once('?') {
        Some((target, query)) => (target, Some(query)),
        None => (rest, None),
    };
    let mut gpu = VirtualGpu::default();
    if let Some(name) = target.strip_prefix(':') {
        let parsed = name.parse::<TargetId>().map_err(|_| {
            whole.bad(name, "is not a target id", "expected a processor such as `gfx1100` or `gfx90a:xnack-`")
        })?;
        gpu.target = Some(parsed);
    }
    for pair in query.into_iter().flat_map(|query| query.split('&')) {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            whole.bad(
                pair,
                "is not a parameter",
                "expected `cus=`, `memory=`, `count=`, `check=` or `counters=` with a value",
            )
        })?;
        let repeated = match key {
            "cus" => gpu.compute_units.replace(parse_positive(whole, value)?).is_some(),
            "memory" => gpu.memory.replace(parse_size(whole, value)?).is_some(),
            "count" => {
                let count = parse_positive(whole, value)?;
                if count > MAX_VIRTUAL_DEVICES {
                    let expected = format!("at most {MAX_VIRTUAL_DEVICES} virtual GPUs");
                    return Err(whole.bad(value, "is too many", expected));
                }
                gpu.count.replace(count).is_some()
            }
            "check" => {
                let checks = value.parse::<gpu_report::Checks>();
                let expected = format!("expected {}", gpu_report::Checks::EXPECTED);
                let checks = checks.map_err(|_| whole.bad(value, "is not a check", expected))?;
                gpu.checks.replace(checks).is_some()
            }
            "counters" => {
                let format = value.parse::<gpu_report::CounterFormat>();
                let format =
                    format.map_err(|_| whole.bad(value, "is not a format", "expected `table` or `json`"))?;
                gpu.counters.replace(format).is_some()
            }
            _ => {
                let expected = "expected `cus`, `memory`, `count`, `check` or `counters`";
                return Err(whole.bad(key, "is not a parameter", expected));
            }
        };
        if repeated {
            return Err(whole.bad(key, "is given twice", "give each parameter once"));
        }
    }
    Ok(gpu)
}

fn parse_positive(whole: &Text<'_>, value: &str) -> Result<u32, UriError> {
    match parse_number(value) {
        Some(number) if number > 0 => Ok(number),
        _ => Err(whole.bad(value, "is not a count", "expected a whole number of at least 1")),
    }
}

const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];

fn parse_size(whole: &Text<'_>, value: &str) -> Result<u64, UriError> {
    const EXPECTED: &str =
        "expected bytes, or a whole number of `KiB`, `MiB`, `GiB` or `TiB`, such as `2GiB`";
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = value.split_at(digits);
    let shift = match UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, shift)) => *shift,
        None if unit.is_empty() => 0,
        None => return Err(whole.bad(value, "is not a size", EXPECTED)),
    };
    match number.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(whole.bad(value, "is not a size", EXPECTED)),
    }
}

impl fmt::Display for DeviceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Amd(selection) => write!(f, "amdgpu{selection}"),
            Self::Cuda(selection) => write!(f, "cuda{selection}"),
            Self::Virtual(gpu) => write!(f, "vgpu{gpu}"),
        }
    }
}

/// The part after the scheme.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => Ok(()),
            Self::Ordinal(ordinal) => write!(f, ":{ordinal}"),
            Self::Devices(devices) => {
                for (index, device) in devices.iter().enumerate() {
                    write!(f, "{}{device}", if index == 0 { "://" } else { "," })?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ordinal(ordinal) => write!(f, "{ordinal}"),
            Self::Uuid(uuid) => f.write_str(uuid),
        }
    }
}

/// The part after the scheme.
impl fmt::Display for VirtualGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(target) = &self.target {
            write!(f, ":{target}")?;
        }
        let mut separator = '?';
        let mut parameter = |f: &mut fmt::Formatter<'_>, key: &str, value: Option<String>| {
            let Some(value) = value else { return Ok(()) };
            write!(f, "{separator}{key}={value}")?;
            separator = '&';
            Ok::<_, fmt::Error>(())
        };
        parameter(f, "cus", self.compute_units.map(|cus| cus.to_string()))?;
        parameter(f, "memory", self.memory.map(size_text))?;
        parameter(f, "count", self.count.map(|count| count.to_string()))?;
        parameter(f, "check", self.checks.map(|checks| checks.to_string()))?;
        parameter(f, "counters", self.counters.map(|format| format.to_string()))
    }
}

/// The shortest exact spelling of a size.
fn size_text(bytes: u64) -> String {
    let unit = UNITS.iter().rev().find(|(_, shift)| bytes != 0 && bytes.trailing_zeros() >= *shift);
    match unit {
        Some((name, shift)) => format!("{}{name}", bytes >> shift),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> DeviceUri {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    fn error(text: &str) -> UriError {
        text.parse::<DeviceUri>().expect_err(text)
    }

    #[test]
    fn every_form_parses() {
        assert_eq!(parse("auto"), DeviceUri::Auto);
        assert_eq!(parse("amdgpu"), DeviceUri::Amd(Selection::All));
        assert_eq!(parse("amdgpu:0"), DeviceUri::Amd(Selection::Ordinal(0)));
        assert_eq!(
            parse("amdgpu://GPU-0e12865a3bf5b7ab,GPU-89E8D1B4C2F6A753"),
            DeviceUri::Amd(Selection::Devices(vec![
                DeviceName::Uuid("GPU-0e12865a3bf5b7ab".into()),
                DeviceName::Uuid("GPU-89e8d1b4c2f6a753".into()),
            ]))
        );
        assert_eq!(
            parse("amdgpu://0,1"),
            DeviceUri::Amd(Selection::Devices(vec![DeviceName::Ordinal(0), DeviceName::Ordinal(1)]))
        );
        assert_eq!(parse("cuda"), DeviceUri::Cuda(Selection::All));
        assert_eq!(parse("cuda:3"), DeviceUri::Cuda(Selection::Ordinal(3)));
        assert_eq!(
            parse("cuda://GPU-4f1d2a3b-0011-2233-4455-66778899aabb"),
            DeviceUri::Cuda(Selection::Devices(vec![DeviceName::Uuid(
                "GPU-4f1d2a3b-0011-2233-4455-66778899aabb".into()
            )]))
        );
        assert_eq!(parse("vgpu"), DeviceUri::Virtual(VirtualGpu::default()));
        assert_eq!(
            parse("vgpu:gfx1100?cus=4&memory=2GiB&count=2"),
            DeviceUri::Virtual(VirtualGpu {
                target: Some("gfx1100".parse().unwrap()),
                compute_units: Some(4),
                memory: Some(2 << 30),
                count: Some(2),
                ..VirtualGpu::default()
            })
        );
        let DeviceUri::Virtual(gpu) = parse("vgpu?check=races&counters=json") else { panic!() };
        assert_eq!(gpu.checks, Some("races".parse().unwrap()));
        assert_eq!(DeviceUri::Virtual(gpu).to_string(), "vgpu?check=races&counters=json");
        assert_eq!(
            parse("vgpu?memory=4096"),
            DeviceUri::Virtual(VirtualGpu { memory: Some(4096), ..VirtualGpu::default() })
        );
    }

    #[test]
    fn a_target_id_keeps_its_features() {
        let DeviceUri::Virtual(gpu) = parse("vgpu:gfx90a:sramecc+:xnack-?cus=2") else { panic!() };
        assert_eq!(gpu.target.unwrap().to_string(), "gfx90a:sramecc+:xnack-");
        assert_eq!(gpu.compute_units, Some(2));
    }

    #[test]
    fn display_parses_back() {
        for text in [
            "auto",
            "amdgpu",
            "amdgpu:7",
            "amdgpu://0,1",
            "cuda://GPU-0e12865a3bf5b7ab",
            "vgpu",
            "vgpu:gfx90a",
            "vgpu?count=2",
            "vgpu:gfx1100?cus=4&memory=2GiB&count=2",
            "vgpu?memory=1025",
        ] {
            assert_eq!(parse(text).to_string(), text);
        }
    }

    #[test]
    fn an_error_names_the_bad_part_and_what_would_be_right() {
        for (text, part, expected) in [
            ("", "", "`auto`, `amdgpu`, `cuda` or `vgpu`"),
            ("gpu:0", "gpu", "`auto`, `amdgpu`, `cuda` or `vgpu`"),
            ("AMDGPU", "AMDGPU", "`amdgpu`"),
            ("auto:0", ":0", "stands alone"),
            ("amdgpu:x", "x", "`amdgpu:0`"),
            ("amdgpu:", ":", "`amdgpu:0`"),
            ("amdgpu:-1", "-1", "`amdgpu:0`"),
            ("amdgpu:+1", "+1", "`amdgpu:0`"),
            ("amdgpu::0", "0", "`amdgpu:0`"),
            ("amdgpu:99999999999", "99999999999", "`amdgpu:0`"),
            ("amdgpu:GPU-0e12865a3bf5b7ab", "GPU-0e12865a3bf5b7ab", "`amdgpu://GPU-0e12865a3bf5b7ab`"),
            ("amdgpu?cus=4", "cus=4", "`amdgpu:0`"),
            ("amdgpu://", "", "ordinals"),
            ("amdgpu://0,", "", "ordinals"),
            ("amdgpu://0,0", "0", "once"),
            ("amdgpu://GPU-12", "GPU-12", "16 or 32 hexadecimal digits"),
            ("cuda://GPU-zz12865a3bf5b7ab", "GPU-zz12865a3bf5b7ab", "hexadecimal"),
            ("vgpu:", "", "`gfx1100`"),
            ("vgpu:rdna3", "rdna3", "`gfx1100`"),
            ("vgpu?", "", "`cus=`"),
            ("vgpu?cus", "cus", "`cus=`"),
            ("vgpu?cus=", "", "at least 1"),
            ("vgpu?cus=0", "0", "at least 1"),
            ("vgpu?count=65", "65", "at most 64"),
            ("vgpu?cu=4", "cu", "`cus`"),
            ("vgpu?cus=4&cus=4", "cus", "once"),
            ("vgpu?memory=2GB", "2GB", "`GiB`"),
            ("vgpu?memory=0", "0", "`GiB`"),
            ("vgpu?memory=99999999999TiB", "99999999999TiB", "`GiB`"),
        ] {
            let error = error(text);
            assert_eq!(error.part(), part, "{error}");
            assert!(error.expected().contains(expected), "{error}");
            assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig {
            cases: if cfg!(miri) { 4 } else { 256 },
            failure_persistence: None,
            ..Default::default()
        })]

        #[test]
        fn any_text_is_parsed_or_refused(text in ".*") {
            let _ = text.parse::<DeviceUri>();
        }

        #[test]
        fn what_parses_prints_as_something_equal(
            text in "(amdgpu|cuda|vgpu|auto)(:|://)?(gfx90a|gfx1100|[0-9]{1,3}|GPU-[0-9a-fA-F]{16}|,){0,3}[?]?((cus|memory|count)=[0-9]{1,3}(KiB|GiB)?&?){0,3}"
        ) {
            if let Ok(uri) = text.parse::<DeviceUri>() {
                proptest::prop_assert_eq!(uri.to_string().parse::<DeviceUri>(), Ok(uri));
            }
        }
    }
}
