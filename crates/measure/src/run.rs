//! A whole run: the device, the groups of measurements, and the samples taken during the run.

use std::time::SystemTime;

use hip::{Backend, Device, DeviceUri};
use kernels::Kernels;
use rocblas::Blas;
use runs::Record;
use runs::record::{Finding, GpuInfo, Measurement, Performance, timestamp};
use serde_json::json;

use crate::context::Context;
use crate::detect::Detected;
use crate::error::Result;
use crate::options::{Options, Size, Suite};
use crate::statistics;
use crate::telemetry::{self, Sampler, Source};
use crate::{attention, bandwidth, block, collective, detect, gemm, inference, latency, quantised, training};

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Finished groups, over all runs.
    pub done: usize,
    /// All groups, over all runs.
    pub total: usize,
    /// The current measurement.
    pub what: &'a str,
}

/// Reports no progress.
pub fn silent(_: Progress<'_>) {}

/// The kind of the finding that there is no measurable GPU.
pub(crate) const NO_GPU: &str = "no-gpu";
/// The source named in records of this crate.
const SOURCE: &str = "ferrocm_bench_run";

/// Measures what the options name, on the devices that they name.
///
/// If there is no GPU for `auto`, the record has no measurements, and a finding of the kind `no-gpu` that
/// says why.
///
/// # Errors
/// [`Error::Wrong`](crate::Error::Wrong) if a result fails its check, [`Error::Option`](crate::Error::Option)
/// for invalid options, [`Error::Hip`](crate::Error::Hip) if a requested device cannot be opened, and errors
/// of the measurements.
pub fn run(options: &Options, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Record> {
    options.check()?;
    let devices = match Device::open_all(&options.device) {
        Ok(devices) => devices,
        Err(hip::Error::NotFound { available, .. }) if options.device == DeviceUri::Auto => {
            let (nvidia, unusable) = nvidia();
            let mut record = without_gpu(&available, nvidia);
            record.findings.extend(unusable);
            return Ok(record);
        }
        Err(error) => return Err(error.into()),
    };
    let stream = devices.first().ok_or_else(|| no_device(&options.device))?.stream()?;
    let device = stream.device().clone();
    let size = options.size.unwrap_or(match device.backend() {
        Backend::Virtual => Size::Tiny,
        _ => Size::Full,
    });
    let (source, missing) = Source::open(&device);
    let detected = detect::detect(&devices, source.as_ref());
    let sampler = source.map(|source| Sampler::start(source, &devices));
    let (total, mut done) = (options.suites.len() * options.runs, 0);
    let mut findings = detected.findings;
    findings.extend(missing.map(|reason| Finding::remark("no-telemetry", reason)));
    if options.device == DeviceUri::Auto && device.backend() == Backend::Virtual {
        let (nvidia, unusable) = nvidia();
        findings.extend(nvidia.as_ref().map(not_measured));
        findings.extend(unusable);
    }
    let mut measurements = Vec::new();
    for run in 0..options.runs {
        if run > 0 {
            progress(Progress { done, total, what: "cooling down" });
            std::thread::sleep(options.cool_down);
        }
        for suite in &options.suites {
            let mut tell = |what: &str| progress(Progress { done, total, what });
            // Before each group, the device gets back the memory that the previous groups used.
            let mut context = Context {
                options,
                size,
                method: options.method(size),
                devices: devices.clone(),
                kernels: Kernels::new(&device),
                blas: Blas::new(&stream)?,
                stream: stream.clone(),
                measurements: std::mem::take(&mut measurements),
                findings: std::mem::take(&mut findings),
                tell: &mut tell,
            };
            measure(*suite, &mut context)?;
            (measurements, findings) = (context.measurements, context.findings);
            done += 1;
        }
    }
    progress(Progress { done, total, what: "done" });
    let telemetry = sampler.map(Sampler::finish).unwrap_or_default();
    for measurement in &mut measurements {
        summarise(measurement);
    }
    let mut record = Record {
        platform: detected.platform,
        gpu_info: detected.info,
        timestamp: timestamp(SystemTime::now()),
        source: Some(SOURCE.to_owned()),
        performance_metrics: Performance::default(),
        measurements,
        telemetry,
        findings,
        ..Record::default()
    };
    record.other.insert(
        "suite".to_owned(),
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "size": size.name(),
            "runs": options.runs,
            "suites": options.suites.iter().map(|suite| suite.name()).collect::<Vec<_>>(),
            "warm_up": options.method(size).warm_up,
            "repetitions": options.method(size).repetitions,
            "device": device.uri().to_string(),
        }),
    );
    record.findings.extend(runs::check::findings(&record));
    Ok(record)
}

fn measure(suite: Suite, context: &mut Context<'_>) -> Result<()> {
    match suite {
        Suite::Bandwidth => bandwidth::measure(context),
        Suite::Gemm => gemm::measure(context),
        Suite::Latency => latency::measure(context),
        Suite::Attention => attention::measure(context),
        Suite::Quantised => quantised::measure(context),
        Suite::Collective => collective::measure(context),
        Suite::Block => block::measure(context),
        Suite::Training => training::measure(context),
        Suite::Inference => inference::measure(context),
    }
}

fn no_device(uri: &DeviceUri) -> hip::Error {
    hip::Error::NotFound { uri: uri.to_string(), available: "the backend has no device".to_owned() }
}

/// The record of a machine without a measurable GPU. It describes NVIDIA's GPUs, if any.
fn without_gpu(reason: &str, nvidia: Option<Detected>) -> Record {
    let text = format!("found no GPU that can be measured: {reason}");
    let mut findings = vec![Finding::remark(NO_GPU, text)];
    findings.extend(nvidia.as_ref().map(not_measured));
    let Detected { platform, info, .. } = nvidia.unwrap_or_default();
    Record {
        platform,
        gpu_info: info,
        timestamp: timestamp(SystemTime::now()),
        source: Some(SOURCE.to_owned()),
        findings,
        ..Record::default()
    }
}

/// What NVIDIA's driver reports, or what is wrong with its library.
fn nvidia() -> (Option<Detected>, Option<Finding>) {
    match telemetry::nvidia() {
        Ok(nvidia) => (nvidia, None),
        Err(reason) => (None, Some(Finding::remark("no-telemetry", reason))),
    }
}

fn not_measured(nvidia: &Detected) -> Finding {
    let GpuInfo { device_count, device_name, driver_version, .. } = &nvidia.info;
    let text = format!(
        "NVIDIA's driver {} has {} GPU(s), {}, which CUDA's library does not open",
        driver_version.as_deref().unwrap_or("(of an unknown version)"),
        device_count.unwrap_or_default(),
        device_name.as_deref().unwrap_or("without a name"),
    );
    Finding::remark("nvidia-not-measured", text)
}

/// Median, confidence interval and drift of the times, for readers of the JSON.
fn summarise(measurement: &mut Measurement) {
    let times = &measurement.seconds;
    let (median, interval, drift) =
        (statistics::median(times), statistics::interval(times), statistics::drift(times));
    let other = &mut measurement.other;
    other.insert("median_seconds".to_owned(), json!(median));
    if let Some(interval) = interval {
        other.insert("median_interval_seconds".to_owned(), json!([interval.low, interval.high]));
        other.insert("median_interval_confidence".to_owned(), json!(interval.confidence));
    }
    if let Some(drift) = drift {
        other.insert("drift".to_owned(), json!(drift));
    }
}

#[cfg(test)]
mod tests {
    use runs::record::Platform;

    use super::*;

    #[test]
    fn a_machine_without_a_gpu_has_a_record_that_says_so() {
        let record = without_gpu("amdgpu: no library", None);
        assert!(record.measurements.is_empty() && record.findings[0].kind == NO_GPU);
        assert!(record.findings[0].text.ends_with("amdgpu: no library"));
        assert_eq!((record.platform, record.findings.len()), (Platform::Unknown, 1));
    }

    #[test]
    fn nvidias_gpus_are_described_even_if_cuda_does_not_open_them() {
        let info = GpuInfo {
            device_count: Some(8),
            device_name: Some("NVIDIA H100 80GB HBM3".to_owned()),
            driver_version: Some("570.86.15".to_owned()),
            ..GpuInfo::default()
        };
        let nvidia = Detected { platform: Platform::Nvidia, info: info.clone(), findings: Vec::new() };
        let record = without_gpu("amdgpu: no library", Some(nvidia));
        assert_eq!((record.platform, record.gpu_info), (Platform::Nvidia, info));
        assert!(record.findings[1].text.contains("570.86.15 has 8 GPU(s), NVIDIA H100 80GB HBM3"));
    }
}
