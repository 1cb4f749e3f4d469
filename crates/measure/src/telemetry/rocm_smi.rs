//! AMD's `librocm_smi64`, from ROCm 5.2: the few functions that report clocks, power and temperature.

use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::sync::Mutex;

use hip::PciAddress;
use runs::record::Sample;
use sys_load::{Search, Versioning};

use super::Library;

/// `rsmi_status_t`: 0 is success.
type Status = u32;

/// The functions. Those missing in some releases are optional.
#[derive(Debug, Clone, Copy)]
pub(super) struct Functions {
    init: unsafe extern "C" fn(flags: u64) -> Status,
    count: unsafe extern "C" fn(count: *mut u32) -> Status,
    pci: unsafe extern "C" fn(device: u32, place: *mut u64) -> Status,
    metrics: Option<unsafe extern "C" fn(device: u32, metrics: *mut c_void) -> Status>,
    /// In microwatts, and whether that is an average; since ROCm 6.0.
    power: Option<unsafe extern "C" fn(device: u32, power: *mut u64, kind: *mut u32) -> Status>,
    /// In microwatts.
    average_power: Option<unsafe extern "C" fn(device: u32, sensor: u32, power: *mut u64) -> Status>,
    power_limit: Option<unsafe extern "C" fn(device: u32, sensor: u32, power: *mut u64) -> Status>,
}

/// The library, started.
#[derive(Debug)]
pub(super) struct RocmSmi {
    functions: Functions,
    /// Where metrics are written.
    metrics: Mutex<Box<Metrics>>,
}

/// Room for `rsmi_gpu_metrics_t`, which grows with each release: the largest so far has some 4 KiB. Its
/// beginning does not change.
#[repr(C, align(16))]
#[derive(Debug)]
struct Metrics([u8; 1 << 16]);

/// Where the 16-bit numbers are in `rsmi_gpu_metrics_t`, and the one that means "unknown".
const HOTSPOT: usize = 6;
const SOCKET_POWER: usize = 22;
const CURRENT_GFX_CLOCK: usize = 54;
const CURRENT_MEMORY_CLOCK: usize = 58;
const UNKNOWN: u16 = u16::MAX;

impl Metrics {
    fn new() -> Box<Self> {
        Box::new(Self([0; 1 << 16]))
    }

    /// The number at a place; `None` if it is unknown, or 0, which means that the GPU does not have it.
    fn number(&self, at: usize) -> Option<f64> {
        let number = u16::from_ne_bytes([self.0[at], self.0[at + 1]]);
        (number != UNKNOWN && number != 0).then(|| f64::from(number))
    }
}

impl RocmSmi {
    /// Finds, opens and initialises the library.
    pub(super) fn load() -> Result<Self, String> {
        let search = Search {
            what: "ROCm SMI",
            variable: "FERROCM_ROCM_SMI_LIBRARY",
            names: &[
                "librocm_smi64.so.8",
                "librocm_smi64.so.7",
                "librocm_smi64.so.6",
                "librocm_smi64.so.5",
                "librocm_smi64.so.1",
                "librocm_smi64.so",
            ],
            required: c"rsmi_num_monitor_devices",
            versioning: Versioning::FileName { otherwise: None },
            stack: sys_load::Stack::Rocm,
        };
        // SAFETY: the names are those of AMD's library, which may be opened in any process.
        let library = unsafe { sys_load::Library::find(&search) }.map_err(|error| error.to_string())?;
        let symbol = |name: &CStr| library.symbol(name).map(|symbol| symbol.as_ptr());
        let needed = |name: &CStr| {
            symbol(name)
                .ok_or_else(|| format!("{} has no {}", library.path().display(), name.to_string_lossy()))
        };
        // SAFETY: the functions have these signatures in the headers of every release that has them.
        let functions = unsafe {
            Functions {
                init: transmute::<*mut c_void, unsafe extern "C" fn(u64) -> Status>(needed(c"rsmi_init")?),
                count: transmute::<*mut c_void, unsafe extern "C" fn(*mut u32) -> Status>(needed(
                    c"rsmi_num_monitor_devices",
                )?),
                pci: transmute::<*mut c_void, unsafe extern "C" fn(u32, *mut u64) -> Status>(needed(
                    c"rsmi_dev_pci_id_get",
                )?),
                metrics: symbol(c"rsmi_dev_gpu_metrics_info_get").map(|symbol| {
                    transmute::<*mut c_void, unsafe extern "C" fn(u32, *mut c_void) -> Status>(symbol)
                }),
                power: symbol(c"rsmi_dev_power_get").map(|symbol| {
                    transmute::<*mut c_void, unsafe extern "C" fn(u32, *mut u64, *mut u32) -> Status>(symbol)
                }),
                average_power: symbol(c"rsmi_dev_power_ave_get").map(|symbol| {
                    transmute::<*mut c_void, unsafe extern "C" fn(u32, u32, *mut u64) -> Status>(symbol)
                }),
                power_limit: symbol(c"rsmi_dev_power_cap_get").map(|symbol| {
                    transmute::<*mut c_void, unsafe extern "C" fn(u32, u32, *mut u64) -> Status>(symbol)
                }),
            }
        };
        // SAFETY: these are functions of the library, which stays in the process.
        unsafe { Self::start(functions) }
    }

    /// Initialises the library behind the functions.
    ///
    /// # Safety
    /// The functions must do what the library's headers say.
    pub(super) unsafe fn start(functions: Functions) -> Result<Self, String> {
        // SAFETY: the call takes a number.
        match unsafe { (functions.init)(0) } {
            0 => Ok(Self { functions, metrics: Mutex::new(Metrics::new()) }),
            status => Err(format!("rsmi_init returned {status}")),
        }
    }

    /// In watts: the current power of the socket, otherwise its average.
    fn power(&self, device: u32) -> Option<f64> {
        let now = self.functions.power.and_then(|power| {
            let mut kind = 0;
            // SAFETY: both pointers are writable.
            watts(|value| unsafe { power(device, value, &raw mut kind) })
        });
        now.or_else(|| {
            let average = self.functions.average_power?;
            // SAFETY: the power is a place to write to.
            watts(|power| unsafe { average(device, 0, power) })
        })
    }
}

impl Library for RocmSmi {
    fn device_at(&self, pci: PciAddress) -> Option<u32> {
        let mut count = 0;
        // SAFETY: the pointer to the count is writable.
        if unsafe { (self.functions.count)(&raw mut count) } != 0 {
            return None;
        }
        (0..count).find(|device| {
            let mut place = 0_u64;
            // SAFETY: the pointer to the place is writable.
            let known = unsafe { (self.functions.pci)(*device, &raw mut place) } == 0;
            // Domain, 4 bits of a partition's number, bus, device, function.
            let found = PciAddress {
                domain: (place >> 32) as u32,
                bus: (place >> 8 & 0xff) as u32,
                device: (place >> 3 & 0x1f) as u32,
            };
            known && found == pci
        })
    }

    fn power_limit(&self, device: u32) -> Option<f64> {
        let limit = self.functions.power_limit?;
        // SAFETY: the power is a place to write to.
        watts(|power| unsafe { limit(device, 0, power) })
    }

    fn now(&self, device: u32) -> Sample {
        let mut sample = Sample { power_watts: self.power(device), ..Sample::default() };
        let Some(metrics) = self.functions.metrics else { return sample };
        let mut buffer = self.metrics.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: the buffer has room for the struct of every release, and its alignment.
        if unsafe { metrics(device, (&raw mut **buffer).cast()) } == 0 {
            sample.clock_mhz = buffer.number(CURRENT_GFX_CLOCK);
            sample.memory_clock_mhz = buffer.number(CURRENT_MEMORY_CLOCK);
            sample.temperature_celsius = buffer.number(HOTSPOT);
            sample.power_watts = sample.power_watts.or_else(|| buffer.number(SOCKET_POWER));
        }
        sample
    }
}

/// Microwatts that a call writes, in watts; `None` if it fails or writes nothing.
fn watts(read: impl FnOnce(*mut u64) -> Status) -> Option<f64> {
    let mut power = 0;
    (read(&raw mut power) == 0 && power > 0).then_some(power as f64 / 1e6)
}

/// A library with one device, for tests.
#[cfg(test)]
pub(super) mod fake {
    use super::*;

    unsafe extern "C" fn init(_: u64) -> Status {
        0
    }
    unsafe extern "C" fn count(count: *mut u32) -> Status {
        // SAFETY: the caller's place.
        unsafe { count.write(2) };
        0
    }
    unsafe extern "C" fn pci(device: u32, place: *mut u64) -> Status {
        // SAFETY: the caller's place.
        unsafe { place.write([1 << 32 | 0xc3 << 8 | 2 << 3, 5 << 28 | 0x0a << 8][device as usize]) };
        0
    }
    unsafe extern "C" fn metrics(device: u32, metrics: *mut c_void) -> Status {
        let set = |at: usize, number: u16| {
            // SAFETY: the caller's buffer has these places.
            unsafe { metrics.cast::<u8>().add(at).cast::<u16>().write_unaligned(number) };
        };
        set(HOTSPOT, 71);
        set(SOCKET_POWER, 300);
        set(CURRENT_GFX_CLOCK, 2100);
        set(CURRENT_MEMORY_CLOCK, UNKNOWN);
        device
    }
    unsafe extern "C" fn power(_: u32, _: *mut u64, _: *mut u32) -> Status {
        2
    }
    unsafe extern "C" fn limit(_: u32, _: u32, power: *mut u64) -> Status {
        // SAFETY: the caller's place.
        unsafe { power.write(750_000_000) };
        0
    }

    pub(crate) const FUNCTIONS: Functions = Functions {
        init,
        count,
        pci,
        metrics: Some(metrics),
        power: Some(power),
        average_power: None,
        power_limit: Some(limit),
    };

    pub(crate) fn library() -> RocmSmi {
        // SAFETY: the functions behave like the library's.
        unsafe { RocmSmi::start(FUNCTIONS) }.unwrap()
    }

    #[test]
    fn devices_are_found_by_their_place() {
        let library = library();
        assert_eq!(library.device_at(PciAddress { domain: 1, bus: 0xc3, device: 2 }), Some(0));
        assert_eq!(
            library.device_at(PciAddress { domain: 0, bus: 0x0a, device: 0 }),
            Some(1),
            "the number of a partition is not part of the place"
        );
        assert_eq!(library.device_at(PciAddress { domain: 0, bus: 0xc3, device: 2 }), None);
    }

    #[test]
    fn what_is_not_known_is_absent() {
        let library = library();
        let now = library.now(0);
        let found = (now.clock_mhz, now.memory_clock_mhz, now.power_watts, now.temperature_celsius);
        assert_eq!(found, (Some(2100.0), None, Some(300.0), Some(71.0)));
        // A failed call reports nothing.
        assert_eq!(library.now(1), Sample::default());
        // SAFETY: as above.
        let old =
            unsafe { RocmSmi::start(Functions { average_power: Some(limit), metrics: None, ..FUNCTIONS }) }
                .unwrap();
        assert_eq!(old.now(0), Sample { power_watts: Some(750.0), ..Sample::default() });
    }
}
