//! Which backends there are, and choosing one.

use std::fmt;
use std::sync::Arc;

use hip::uri::{Selection, VirtualGpu};
use hip::{Device, DeviceUri};

use crate::backend::{BackendInfo, BackendKind, KernelBackend};
use crate::error::{Error, Result};
use crate::{CpuBackend, GpuBackend};

/// The order in which `auto` tries backends, unless the caller has another.
pub const DEFAULT_ORDER: [BackendKind; 4] =
    [BackendKind::Cuda, BackendKind::Rocm, BackendKind::Virtual, BackendKind::Cpu];

/// A backend's name, and how its devices are found.
struct Row {
    name: &'static str,
    kind: BackendKind,
    find: fn() -> Result<Vec<BackendInfo>, String>,
    /// Opens the first device.
    open: fn() -> Result<Arc<dyn KernelBackend>>,
}

const ROWS: [Row; 4] = [
    Row {
        name: "cuda",
        kind: BackendKind::Cuda,
        find: || find(&DeviceUri::Cuda(Selection::All)),
        open: || open(&DeviceUri::Cuda(Selection::All)),
    },
    Row {
        name: "rocm",
        kind: BackendKind::Rocm,
        find: || find(&DeviceUri::Amd(Selection::All)),
        open: || open(&DeviceUri::Amd(Selection::All)),
    },
    Row {
        name: "virtual",
        kind: BackendKind::Virtual,
        find: find_virtual,
        open: || open(&DeviceUri::Virtual(VirtualGpu::default())),
    },
    Row {
        name: "cpu",
        kind: BackendKind::Cpu,
        find: || Ok(vec![CpuBackend::describe(available_threads())]),
        open: || Ok(Arc::new(CpuBackend::new()?)),
    },
];

/// Backends that people ask for, and that do not exist here.
const NOT_BUILT: [&str; 4] = ["metal", "opencl", "vulkan", "webgpu"];
const NOT_BUILT_REASON: &str = "not built: this program has no such backend";

/// Threads that this process may use.
pub(crate) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn find(uri: &DeviceUri) -> Result<Vec<BackendInfo>, String> {
    let devices = Device::open_all(uri).map_err(|error| reason(&error))?;
    Ok(devices.iter().map(BackendInfo::of_device).collect())
}

/// Virtual GPUs are made when they are opened, so this names those that can be.
fn find_virtual() -> Result<Vec<BackendInfo>, String> {
    let targets = Device::virtual_targets();
    if targets.is_empty() {
        return Err("not built: this program does not contain the virtual GPU (feature `virtual`)".to_owned());
    }
    let info = |target: &hip::TargetId| BackendInfo {
        kind: BackendKind::Virtual,
        uri: format!("vgpu:{target}"),
        name: format!("virtual {target}"),
        compute_units: 0,
        wave: 0,
    };
    Ok(targets.iter().map(info).collect())
}

/// An error without the name of the backend, which stands beside it.
fn reason(error: &hip::Error) -> String {
    match error {
        hip::Error::BackendUnavailable { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

fn open(uri: &DeviceUri) -> Result<Arc<dyn KernelBackend>> {
    Ok(Arc::new(GpuBackend::open(uri)?))
}

impl BackendKind {
    /// The name that selects it: `cuda`, `rocm`, `virtual` or `cpu`.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS.iter().find(|row| row.kind == self).map_or("", |row| row.name)
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known about a backend.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// Its name.
    pub name: &'static str,
    /// Its devices; of the virtual one, those that can be made.
    pub devices: Vec<BackendInfo>,
    /// Why it has none.
    pub reason: Option<String>,
}

impl fmt::Display for Discovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "{}: {reason}", self.name),
            None => {
                let devices: Vec<String> = self.devices.iter().map(ToString::to_string).collect();
                write!(f, "{}: {}", self.name, devices.join(", "))
            }
        }
    }
}

/// All backends in the default order, with their devices or the reason why they have none. Opens every GPU.
#[must_use]
pub fn discover_backends() -> Vec<Discovered> {
    let known = ROWS.iter().map(|row| match (row.find)() {
        Ok(devices) => Discovered { name: row.name, devices, reason: None },
        Err(reason) => Discovered { name: row.name, devices: Vec::new(), reason: Some(reason) },
    });
    let absent = NOT_BUILT.into_iter().map(|name| Discovered {
        name,
        devices: Vec::new(),
        reason: Some(NOT_BUILT_REASON.to_owned()),
    });
    known.chain(absent).collect()
}

/// A backend that has been chosen.
#[derive(Debug)]
pub struct Selected {
    /// The backend.
    pub backend: Arc<dyn KernelBackend>,
    /// For `auto`: the names of the backends that were tried before, each with the reason why it was skipped.
    pub skipped: Vec<(&'static str, String)>,
}

/// Opens the backend of a name in the [default order](DEFAULT_ORDER).
///
/// | name | opens |
/// |---|---|
/// | `auto` | the first that can be used |
/// | `cuda`, `rocm`, `virtual` | its first device |
/// | `cpu`, `cpu:4` | the CPU, with a thread for each processor or as many as it says |
/// | `cuda:1`, `amdgpu:0`, `vgpu:gfx90a?cus=4`, … | a [device URI](hip::uri)'s device |
///
/// # Errors
/// [`Error::UnknownBackend`] for another name, [`Error::Unavailable`] if the backend cannot be used,
/// [`Error::NoBackend`] with all reasons if none can.
pub fn select_backend(name: &str) -> Result<Selected> {
    select_backend_in(name, &DEFAULT_ORDER)
}

/// The same with another order for `auto`.
///
/// # Errors
/// As [`select_backend`].
pub fn select_backend_in(name: &str, order: &[BackendKind]) -> Result<Selected> {
    if name == "auto" {
        return first_of(order);
    }
    let unavailable = |reason: String| Error::Unavailable { backend: name.to_owned(), reason };
    let selected = |backend: Result<Arc<dyn KernelBackend>>| match backend {
        Ok(backend) => Ok(Selected { backend, skipped: Vec::new() }),
        Err(Error::Hip(error)) => Err(unavailable(reason(&error))),
        Err(error) => Err(error),
    };
    if let Some(row) = ROWS.iter().find(|row| row.name == name) {
        return selected((row.open)());
    }
    if NOT_BUILT.contains(&name) {
        return Err(unavailable(NOT_BUILT_REASON.to_owned()));
    }
    if let Some(threads) = name.strip_prefix("cpu:") {
        let threads = threads.parse().ok().filter(|threads| (1..=1024).contains(threads));
        let threads = threads.ok_or_else(|| Error::UnknownBackend(name.to_owned()))?;
        return selected(
            CpuBackend::with_threads(threads).map(|cpu| Arc::new(cpu) as Arc<dyn KernelBackend>),
        );
    }
    match name.parse::<DeviceUri>() {
        Ok(uri) => selected(open(&uri)),
        Err(error) if name.contains(':') => Err(hip::Error::from(error).into()),
        Err(_) => Err(Error::UnknownBackend(name.to_owned())),
    }
}

/// Opens backends that share a model, as ranks in this process: [`select_backend`] names the kind or the
/// first device. Each of them must be used from a thread of its own.
///
/// # Errors
/// As [`select_backend`]; [`Error::Unavailable`] if there are fewer devices.
pub fn select_ranks(name: &str, count: usize) -> Result<Vec<Arc<dyn KernelBackend>>> {
    if count <= 1 {
        return Ok(vec![select_backend(name)?.backend]);
    }
    let unavailable = |reason: String| Error::Unavailable { backend: name.to_owned(), reason };
    if let Some(threads) = name.strip_prefix("cpu") {
        let threads = match threads.strip_prefix(':').map(str::parse) {
            None if threads.is_empty() => available_threads(),
            Some(Ok(threads)) if (1..=1024).contains(&threads) => threads,
            _ => return Err(Error::UnknownBackend(name.to_owned())),
        };
        let ranks = CpuBackend::ranks(count, threads.div_ceil(count))?;
        return Ok(ranks.into_iter().map(|rank| Arc::new(rank) as Arc<dyn KernelBackend>).collect());
    }
    let uri = match name {
        "cuda" => DeviceUri::Cuda(Selection::All),
        "rocm" => DeviceUri::Amd(Selection::All),
        "virtual" => DeviceUri::Virtual(VirtualGpu::default()),
        "auto" => return Err(unavailable("several devices of one kind must be named".to_owned())),
        name => match name.parse::<DeviceUri>() {
            Ok(uri) => uri,
            Err(error) if name.contains(':') => return Err(hip::Error::from(error).into()),
            Err(_) => return select_backend(name).map(|selected| vec![selected.backend]),
        },
    };
    let (uri, before) = from_on(uri, count);
    let mut devices = Device::open_all(&uri).map_err(|error| unavailable(reason(&error)))?;
    devices.drain(..before.min(devices.len()));
    if devices.len() < count {
        return Err(unavailable(format!("there are {} devices from there on, not {count}", devices.len())));
    }
    devices.truncate(count);
    of_devices(name, &devices)
}

/// What to open for devices from a named one on, and how many of those come before it.
fn from_on(uri: DeviceUri, count: usize) -> (DeviceUri, usize) {
    match uri {
        DeviceUri::Virtual(gpu) => {
            (DeviceUri::Virtual(VirtualGpu { count: u32::try_from(count).ok(), ..gpu }), 0)
        }
        DeviceUri::Amd(Selection::Ordinal(first)) => (DeviceUri::Amd(Selection::All), first as usize),
        DeviceUri::Cuda(Selection::Ordinal(first)) => (DeviceUri::Cuda(Selection::All), first as usize),
        several => (several, 0),
    }
}

#[cfg(feature = "rccl")]
fn of_devices(_name: &str, devices: &[Device]) -> Result<Vec<Arc<dyn KernelBackend>>> {
    let ranks = devices.iter().zip(rccl::Communicator::all(devices)?);
    ranks
        .map(|(device, rank)| -> Result<Arc<dyn KernelBackend>> {
            Ok(Arc::new(GpuBackend::of(device)?.with_communicator(rank)?))
        })
        .collect()
}

#[cfg(not(feature = "rccl"))]
fn of_devices(name: &str, _devices: &[Device]) -> Result<Vec<Arc<dyn KernelBackend>>> {
    let reason = "this program is built without the feature `rccl`".to_owned();
    Err(Error::Unavailable { backend: name.to_owned(), reason })
}

fn first_of(order: &[BackendKind]) -> Result<Selected> {
    let mut skipped = Vec::new();
    for kind in order {
        let Some(row) = ROWS.iter().find(|row| row.kind == *kind) else { continue };
        match (row.open)() {
            Ok(backend) => return Ok(Selected { backend, skipped }),
            Err(Error::Hip(error)) => skipped.push((row.name, reason(&error))),
            Err(error) => skipped.push((row.name, error.to_string())),
        }
    }
    let reasons: Vec<String> = skipped.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
    Err(Error::NoBackend(reasons.join("; ")))
}

/// The processor's name.
pub(crate) fn processor_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

/// Free and total bytes of host memory; zeros where the system does not tell.
pub(crate) fn host_memory() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    let bytes = |name| of(name).unwrap_or(0).saturating_mul(1024);
    (bytes("MemAvailable"), bytes("MemTotal"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn every_kind_has_a_name_that_opens_it() {
        for kind in DEFAULT_ORDER {
            assert_eq!(ROWS.iter().filter(|row| row.kind == kind && row.name == kind.name()).count(), 1);
        }
        let cpu = select_backend("cpu").unwrap();
        assert_eq!((cpu.backend.info().kind, cpu.backend.info().uri.as_str()), (BackendKind::Cpu, "cpu"));
        assert_eq!(select_backend("cpu:3").unwrap().backend.info().compute_units, 3);
    }

    #[test]
    fn the_order_decides_what_auto_opens() {
        let selected = select_backend_in("auto", &[BackendKind::Cpu, BackendKind::Virtual]).unwrap();
        assert_eq!(selected.backend.info().kind, BackendKind::Cpu);
        assert!(selected.skipped.is_empty());
        let none = select_backend_in("auto", &[]).unwrap_err();
        assert!(matches!(none, Error::NoBackend(_)), "{none}");
    }

    #[test]
    fn ranks_are_the_devices_from_the_named_one_on() {
        let of = |name: &str| {
            let (uri, before) = from_on(name.parse().unwrap(), 2);
            (uri.to_string(), before)
        };
        assert_eq!(of("cuda:0"), ("cuda".to_owned(), 0));
        assert_eq!(of("cuda:3"), ("cuda".to_owned(), 3));
        assert_eq!(of("amdgpu:1"), ("amdgpu".to_owned(), 1));
        assert_eq!(of("amdgpu"), ("amdgpu".to_owned(), 0));
        let (virtual_gpus, before) = of("vgpu:gfx1100");
        assert!(virtual_gpus.contains("count=2") && before == 0, "{virtual_gpus}");
    }

    #[test]
    fn ranks_of_the_cpu_put_their_parts_together() {
        let ranks = select_ranks("cpu:2", 3).unwrap();
        let threads: Vec<_> = ranks
            .into_iter()
            .map(|backend| {
                std::thread::spawn(move || {
                    let rank = backend.shard().rank as f32;
                    let x = backend.tensor(DType::F32, &[2], &[rank, 10.0]).unwrap();
                    let all = backend.empty(DType::F32, &[3, 2]).unwrap();
                    let mut got = Vec::new();
                    for _ in 0..50 {
                        backend.all_gather(&x, &all).unwrap();
                        got.push(backend.to_f32(&all).unwrap());
                        backend.all_reduce(&x).unwrap();
                        got.push(backend.to_f32(&x).unwrap());
                        backend.upload(&[rank.to_le_bytes(), 10_f32.to_le_bytes()].concat(), &x).unwrap();
                    }
                    // The others wait, and learn that one is gone.
                    (rank > 0.0).then(|| backend.all_reduce(&x).unwrap_err().to_string());
                    got
                })
            })
            .collect();
        for thread in threads {
            for pair in thread.join().unwrap().chunks(2) {
                assert_eq!(pair, [vec![0.0, 10.0, 1.0, 10.0, 2.0, 10.0], vec![3.0, 30.0]]);
            }
        }
        for name in ["auto", "cpu:0", "none", "metal"] {
            assert!(select_ranks(name, 2).is_err(), "{name}");
        }
    }

    #[test]
    fn absent_backends_say_so() {
        for name in NOT_BUILT {
            let error = select_backend(name).unwrap_err();
            assert!(error.to_string().contains("not built"), "{error}");
        }
        for name in ["", "gpu", "cpu:", "cpu:0", "cpu:x", "cuda:x", "vgpu:none"] {
            assert!(select_backend(name).is_err(), "{name}");
        }
        let found = discover_backends();
        assert_eq!(found.len(), ROWS.len() + NOT_BUILT.len());
        for found in &found {
            assert_eq!(found.reason.is_some(), found.devices.is_empty(), "{found}");
        }
        assert!(found.iter().any(|found| found.name == "cpu" && found.reason.is_none()));
    }
}
