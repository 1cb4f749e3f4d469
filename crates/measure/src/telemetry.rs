//! Clocks, power and temperature during a run.

mod nvml;
mod rocm_smi;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hip::{Backend, Device, PciAddress};
use runs::record::Sample;

use crate::detect::Detected;
use crate::statistics::thirds;
use nvml::Nvml;
use rocm_smi::RocmSmi;

/// The time from one sample to the next.
const INTERVAL: Duration = Duration::from_millis(100);

/// A vendor's library of system management, opened at run time.
trait Library: std::fmt::Debug + Send {
    /// The library's name for the device at a place on the PCI bus.
    fn device_at(&self, pci: PciAddress) -> Option<u32>;
    /// The power limit in watts.
    fn power_limit(&self, device: u32) -> Option<f64>;
    /// Clocks, power and temperature now, as far as known.
    fn now(&self, device: u32) -> Sample;
    /// The driver's version and the software's, if the library knows them.
    fn driver(&self) -> Driver {
        Driver::default()
    }
}

/// A driver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Driver {
    /// Its version.
    pub version: Option<String>,
    /// The newest version of the vendor's software that it runs: CUDA's.
    pub software: Option<String>,
}

/// The source of samples: the library of a device's vendor.
#[derive(Debug)]
pub struct Source {
    library: Box<dyn Library>,
    /// The library's names for the devices; `None` for a device that it does not know.
    devices: Vec<Option<u32>>,
}

impl Source {
    fn of(library: Box<dyn Library>) -> Self {
        Self { library, devices: Vec::new() }
    }

    /// The library for a device's vendor (AMD's `librocm_smi64`, NVIDIA's `libnvidia-ml`), or why there is
    /// none; neither for a virtual GPU, which has no clocks.
    #[must_use]
    pub fn open(device: &Device) -> (Option<Self>, Option<String>) {
        let library: Result<Box<dyn Library>, String> = match device.backend() {
            Backend::Amd => RocmSmi::load().map(|library| Box::new(library) as _),
            Backend::Cuda => Nvml::load().map(|library| Box::new(library) as _),
            Backend::Virtual => return (None, None),
        };
        match library.map(Self::of) {
            Ok(mut source) => {
                source.watch(&[device.properties().pci]);
                (Some(source), None)
            }
            Err(reason) => (None, Some(format!("clocks, power and temperature are not known: {reason}"))),
        }
    }

    /// Registers the devices to sample.
    fn watch(&mut self, places: &[PciAddress]) {
        self.devices = places.iter().map(|place| self.library.device_at(*place)).collect();
    }

    /// The power limit of a device in watts, if known.
    #[must_use]
    pub fn power_limit(&self, gpu: usize) -> Option<f64> {
        self.library.power_limit((*self.devices.get(gpu)?)?)
    }

    /// The vendor's driver, as far as its library knows it.
    #[must_use]
    pub fn driver(&self) -> Driver {
        self.library.driver()
    }

    /// The current state of a device; `None` if the library does not know it.
    fn sample(&self, gpu: usize, seconds: f64) -> Option<Sample> {
        let now = self.library.now((*self.devices.get(gpu)?)?);
        Some(Sample { seconds, gpu: gpu as u64, ..now })
    }
}

/// What NVIDIA's driver reports about its GPUs, for machines where CUDA does not open them. `None` without
/// such a driver, as on most machines.
///
/// # Errors
/// Says why the library named by `FERROCM_NVML_LIBRARY` cannot be used.
pub fn nvidia() -> Result<Option<Detected>, String> {
    match Nvml::load() {
        Ok(library) => Ok(library.detect()),
        Err(_) if !Nvml::is_named() => Ok(None),
        Err(reason) => Err(reason),
    }
}

/// A thread that samples until it is told to stop.
#[derive(Debug)]
pub struct Sampler {
    end: Arc<AtomicBool>,
    samples: Arc<Mutex<Vec<Sample>>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts to sample these devices.
    #[must_use]
    pub fn start(mut source: Source, devices: &[Device]) -> Self {
        let places: Vec<PciAddress> = devices.iter().map(|device| device.properties().pci).collect();
        source.watch(&places);
        let (end, samples) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (ends, to) = (end.clone(), samples.clone());
        let began = Instant::now();
        let sample = move || {
            while !ends.load(Ordering::Acquire) {
                let seconds = began.elapsed().as_secs_f64();
                let found = (0..places.len()).filter_map(|gpu| source.sample(gpu, seconds));
                to.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
                std::thread::park_timeout(INTERVAL);
            }
        };
        // If the thread cannot be created, there are no samples.
        let thread = std::thread::Builder::new().name("telemetry".to_owned()).spawn(sample).ok();
        Self { end, samples, thread }
    }

    /// Ends the thread and returns its samples.
    #[must_use]
    pub fn finish(mut self) -> Vec<Sample> {
        self.stop();
        std::mem::take(&mut self.samples.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn stop(&mut self) {
        self.end.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does not panic; if it did, its samples would still count.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop();
    }
}

/// How something changed from the first third of a run to the last: medians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// In the first third.
    pub first: f64,
    /// In the last third.
    pub last: f64,
}

/// How a quantity of one GPU changed from the first third of its samples to the last. `None` for fewer than
/// six.
#[must_use]
pub fn change(samples: &[Sample], gpu: u64, quantity: fn(&Sample) -> Option<f64>) -> Option<Change> {
    let values: Vec<f64> = samples.iter().filter(|sample| sample.gpu == gpu).filter_map(quantity).collect();
    thirds(&values).map(|(first, last)| Change { first, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_of_one_gpu_are_compared() {
        let sample = |gpu, celsius| Sample { gpu, temperature_celsius: Some(celsius), ..Sample::default() };
        let mut samples: Vec<Sample> = (0..9).map(|i| sample(0, 40.0 + f64::from(i))).collect();
        samples.push(sample(1, 99.0));
        let found = change(&samples, 0, |sample| sample.temperature_celsius);
        assert_eq!(found, Some(Change { first: 41.0, last: 47.0 }));
        assert_eq!(change(&samples, 1, |sample| sample.temperature_celsius), None);
        assert_eq!(change(&samples, 0, |sample| sample.power_watts), None);
    }

    #[test]
    fn a_sampler_gives_what_the_library_says() {
        let of = |devices| Source { library: Box::new(rocm_smi::fake::library()), devices };
        let source = of(vec![Some(0)]);
        assert_eq!(source.power_limit(0), Some(750.0));
        assert_eq!(source.power_limit(1), None);
        let sampler = Sampler::start(source, &[]);
        // No devices, no samples; and the thread ends at once.
        assert!(sampler.finish().is_empty());
        let source = of(vec![None, Some(0)]);
        assert_eq!(source.sample(0, 1.0), None);
        let sample = source.sample(1, 2.5).unwrap();
        assert_eq!((sample.gpu, sample.seconds, sample.clock_mhz), (1, 2.5, Some(2100.0)));
    }
}
