//! `ferrocm devices`: which GPUs a program can open on this machine.

use std::fmt::Write as _;

use clap::Args;
use hip::{Backend, Device, DeviceUri, Properties, Skipped};
use serde_json::{Value, json};
use setup::table::{Align, Table};

use crate::output;

const EXAMPLES: &str = "\
Examples:
  ferrocm devices                                     all devices, one per line
  ferrocm devices --device 'vgpu:gfx90a?cus=4'        everything about one device
  ferrocm devices --json | jq -r '.devices[].uri'     for other programs; sizes in bytes, clocks in kHz
  FERROCM_DEVICE=vgpu:gfx90a ferrocm devices          the device of programs that do not name one

Exit status: 0 if there is a device and the default one can be opened, 1 if not, 2 if --device or FERROCM_DEVICE is malformed.";

/// Lists the GPUs that a program can open, real and virtual, and why each backend without one was skipped
///
/// The first column is the device URI, which opens the device in code (`Device::open`), on command lines
/// (--device) and in the variable FERROCM_DEVICE. Virtual GPUs take parameters, such as
/// vgpu:gfx90a?cus=4&memory=2GiB&count=2.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Show only the devices that this URI names, with all their properties; may be repeated
    #[arg(long, value_name = "URI")]
    device: Vec<DeviceUri>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the devices. Fails if there is none, or none that matches the given URI.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.device.is_empty() {
        return all(arguments.json);
    }
    let mut found = Vec::new();
    for uri in &arguments.device {
        found.extend(Device::open_all(uri)?.into_iter().map(Found::new));
    }
    match arguments.json {
        true => print_json(&json!({ "devices": found.iter().map(Found::json).collect::<Vec<_>>() })),
        false => output::print(&found.iter().map(Found::details).collect::<Vec<_>>().join("\n")),
    }
}

/// A device, and the shortest URI that opens it.
struct Found {
    uri: String,
    device: Device,
}

impl Found {
    fn new(device: Device) -> Self {
        Self { uri: device.uri().to_string(), device }
    }

    fn json(&self) -> Value {
        let mut value = json!({
            "uri": self.uri,
            "backend": self.device.backend().scheme(),
            "ordinal": self.device.ordinal(),
        });
        for property in PROPERTIES {
            value[property.key] = (property.get)(self.device.properties());
        }
        value
    }

    /// One property per line.
    fn details(&self) -> String {
        let mut table = Table::new(&[(&self.uri, Align::Left), ("", Align::Left)]);
        for property in PROPERTIES {
            let value = (property.get)(self.device.properties());
            if !value.is_null() {
                table.row([property.label.to_owned(), property.unit.text(&value)]);
            }
        }
        table.render()
    }
}

/// All devices of this machine: real ones, and a virtual one for each target.
fn list() -> (Vec<Found>, Vec<Skipped>) {
    let (devices, mut skipped) = Device::list();
    let mut found: Vec<Found> = devices.into_iter().map(Found::new).collect();
    let targets = Device::virtual_targets();
    // If there is no target, opening the default device says why.
    let uris = match targets.is_empty() {
        true => vec!["vgpu".to_owned()],
        false => targets.iter().map(|target| format!("vgpu:{target}")).collect(),
    };
    for uri in uris {
        match Device::open(&uri) {
            Ok(device) => found.push(Found { uri, device }),
            Err(hip::Error::BackendUnavailable { reason, .. }) => {
                skipped.push(Skipped { backend: Backend::Virtual, reason });
            }
            Err(error) => {
                skipped.push(Skipped { backend: Backend::Virtual, reason: format!("{uri}: {error}") })
            }
        }
    }
    (found, skipped)
}

fn all(json: bool) -> anyhow::Result<()> {
    let (found, skipped) = list();
    let default = Device::open_default();
    match json {
        true => print_json(&listing_json(&found, &skipped, &default))?,
        false => output::print(&listing(&found, &skipped, &default))?,
    }
    default?;
    Ok(())
}

/// What selected the default device.
fn default_from() -> &'static str {
    match variables::DEVICE.text() {
        Ok(None) => "auto",
        _ => hip::uri::DEVICE_VARIABLE,
    }
}

/// The URI under which a device is listed.
fn uri_of(found: &[Found], device: &Device) -> String {
    let same = found.iter().find(|found| found.device == *device && device.members().len() == 1);
    same.map_or_else(|| device.uri().to_string(), |found| found.uri.clone())
}

fn listing(found: &[Found], skipped: &[Skipped], default: &hip::Result<Device>) -> String {
    let mut table = Table::new(&[
        ("device", Align::Left),
        ("name", Align::Left),
        ("target", Align::Left),
        ("CUs", Align::Right),
        ("wave", Align::Right),
        ("memory", Align::Right),
        ("LDS", Align::Right),
        ("clock", Align::Right),
        ("UUID", Align::Left),
    ]);
    for Found { uri, device } in found {
        let properties = device.properties();
        table.row([
            uri.clone(),
            properties.name.clone(),
            properties.target.to_string(),
            properties.compute_units.to_string(),
            properties.wave_size.to_string(),
            Unit::Bytes.text(&json!(properties.memory)),
            Unit::Bytes.text(&json!(properties.lds_per_block)),
            Unit::KiloHertz.text(&json!(properties.clock)),
            properties.uuid.clone().unwrap_or_default(),
        ]);
    }
    let mut text = table.render();
    text.push('\n');
    if let Ok(device) = default {
        let _ = writeln!(text, "default  {} ({})", uri_of(found, device), default_from());
    }
    for Skipped { backend, reason } in skipped {
        let _ = writeln!(text, "skipped  {backend}: {}", reason.trim_end().replace('\n', "\n           "));
    }
    text
}

fn listing_json(found: &[Found], skipped: &[Skipped], default: &hip::Result<Device>) -> Value {
    let default = match default {
        Ok(device) => json!({ "uri": uri_of(found, device), "from": default_from() }),
        Err(error) => json!({ "error": error.to_string(), "from": default_from() }),
    };
    let skipped: Vec<Value> = skipped
        .iter()
        .map(|Skipped { backend, reason }| json!({ "backend": backend.scheme(), "reason": reason }))
        .collect();
    json!({
        "devices": found.iter().map(Found::json).collect::<Vec<_>>(),
        "default": default,
        "skipped": skipped,
    })
}

fn print_json(value: &Value) -> anyhow::Result<()> {
    output::print(&format!("{value:#}\n"))
}

/// What a number counts.
#[derive(Clone, Copy)]
enum Unit {
    None,
    Bytes,
    KiloHertz,
    Bits,
}

impl Unit {
    /// A value for people.
    fn text(self, value: &Value) -> String {
        let plain = || match value {
            Value::String(text) => text.clone(),
            Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
            Value::Array(parts) => parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x "),
            other => other.to_string(),
        };
        match (self, value.as_u64()) {
            (Self::Bytes, Some(bytes)) => binary(bytes),
            (Self::KiloHertz, Some(clock)) => format!("{} MHz", clock / 1000),
            (Self::Bits, Some(bits)) => format!("{bits} bits"),
            _ => plain(),
        }
    }
}

/// A size in the units of device URIs: `16 GiB`, `1.5 MiB`.
fn binary(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) if bytes.is_multiple_of(1 << shift) => format!("{} {unit}", bytes >> shift),
        Some((unit, shift)) => format!("{:.1} {unit}", bytes as f64 / (1_u64 << shift) as f64),
        None => format!("{bytes} B"),
    }
}

/// A property of a device: its name in JSON, its name for people, and how to get it.
struct Property {
    key: &'static str,
    label: &'static str,
    unit: Unit,
    get: fn(&Properties) -> Value,
}

const fn property(
    key: &'static str,
    label: &'static str,
    unit: Unit,
    get: fn(&Properties) -> Value,
) -> Property {
    Property { key, label, unit, get }
}

/// All properties, in display order.
static PROPERTIES: &[Property] = &[
    property("name", "name", Unit::None, |p| json!(p.name)),
    property("target", "target", Unit::None, |p| json!(p.target.to_string())),
    property("uuid", "UUID", Unit::None, |p| json!(p.uuid)),
    property("pci", "PCI address", Unit::None, |p| json!(p.pci.to_string())),
    property("compute_units", "compute units", Unit::None, |p| json!(p.compute_units)),
    property("wave_size", "work-items of a wave", Unit::None, |p| json!(p.wave_size)),
    property("memory", "memory", Unit::Bytes, |p| json!(p.memory)),
    property("max_block_threads", "work-items of a workgroup, at most", Unit::None, |p| {
        json!(p.max_block_threads)
    }),
    property("max_block", "workgroup, at most", Unit::None, |p| json!(p.max_block)),
    property("max_grid", "grid, at most", Unit::None, |p| json!(p.max_grid)),
    property("lds_per_block", "LDS of a workgroup, at most", Unit::Bytes, |p| json!(p.lds_per_block)),
    property("lds_per_compute_unit", "LDS of a compute unit", Unit::Bytes, |p| json!(p.lds_per_compute_unit)),
    property("threads_per_compute_unit", "work-items resident on a compute unit", Unit::None, |p| {
        json!(p.threads_per_compute_unit)
    }),
    property("blocks_per_compute_unit", "workgroups resident on a compute unit", Unit::None, |p| {
        json!((p.blocks_per_compute_unit != 0).then_some(p.blocks_per_compute_unit))
    }),
    property("registers_per_block", "vector registers of a workgroup", Unit::None, |p| {
        json!(p.registers_per_block)
    }),
    property("clock", "clock", Unit::KiloHertz, |p| json!(p.clock)),
    property("memory_clock", "memory clock", Unit::KiloHertz, |p| json!(p.memory_clock)),
    property("memory_bus_width", "memory bus", Unit::Bits, |p| json!(p.memory_bus_width)),
    property("l2_cache", "L2 cache", Unit::Bytes, |p| json!(p.l2_cache)),
    property("constant_memory", "constant memory", Unit::Bytes, |p| json!(p.constant_memory)),
    property("copy_engines", "copy engines", Unit::None, |p| json!(p.copy_engines)),
    property("integrated", "shares the host's memory", Unit::None, |p| json!(p.integrated)),
    property("concurrent_kernels", "concurrent kernels", Unit::None, |p| json!(p.concurrent_kernels)),
    property("cooperative_launch", "cooperative launches", Unit::None, |p| json!(p.cooperative_launch)),
    property("maps_host_memory", "maps host memory", Unit::None, |p| json!(p.maps_host_memory)),
    property("managed_memory", "managed memory", Unit::None, |p| json!(p.managed_memory)),
    property("memory_pools", "memory pools", Unit::None, |p| json!(p.memory_pools)),
    property("ecc", "ECC", Unit::None, |p| json!(p.ecc)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact_or_rounded_in_the_units_of_uris() {
        let texts = [0, 1023, 1024, 64 << 10, 16 << 30, 3 << 19, (2 << 30) - (1 << 20)].map(binary);
        assert_eq!(texts, ["0 B", "1023 B", "1 KiB", "64 KiB", "16 GiB", "1.5 MiB", "2.0 GiB"]);
        assert_eq!(binary((16 << 30) - 4096), "16.0 GiB");
    }

    #[test]
    fn values_are_texts_for_people() {
        assert_eq!(Unit::KiloHertz.text(&json!(2_300_000)), "2300 MHz");
        assert_eq!(Unit::None.text(&json!([1, 2, 3])), "1 x 2 x 3");
        assert_eq!(Unit::None.text(&json!("a\"b")), "a\"b");
        assert_eq!([json!(true), json!(false)].map(|value| Unit::None.text(&value)), ["yes", "no"]);
    }

    #[test]
    fn every_property_has_a_name_of_its_own() {
        let mut keys: Vec<_> = PROPERTIES.iter().map(|property| property.key).collect();
        keys.extend(["uri", "backend", "ordinal"]);
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn reasons_of_several_lines_stay_in_their_column() {
        let reason = "not found; tried:\n/a\n/b\n".to_owned();
        let skipped = [Skipped { backend: Backend::Amd, reason }];
        let text = listing(&[], &skipped, &Err(hip::Error::HostFunction));
        assert!(
            text.ends_with("\nskipped  amdgpu: not found; tried:\n           /a\n           /b\n"),
            "{text}"
        );
        assert!(!text.contains("default"), "{text}");
    }
}
