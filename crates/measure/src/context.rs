//! Shared by all measurements: the devices, how an operation is timed and checked, and where results go.

use std::time::Instant;

use hip::{Backend, Device, Stream};
use kernels::Kernels;
use rocblas::Blas;
use runs::record::{Finding, Measurement};
use serde_json::{Value, json};

use crate::check::Check;
use crate::error::{Error, Result};
use crate::options::{Method, Options, Size};
use crate::statistics;

/// The minimum time of a repetition on a real GPU: the operation runs as often as needed, at most
/// [`MOST_OPERATIONS`] times.
const LEAST_SECONDS: f64 = 1e-3;
const MOST_OPERATIONS: f64 = 100.0;

/// A measured case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Case {
    pub(crate) group: &'static str,
    pub(crate) name: String,
    /// Floating-point operations of one operation.
    pub(crate) flops: Option<f64>,
    /// Bytes that one operation must move.
    pub(crate) bytes: Option<f64>,
    /// Tokens of one operation.
    pub(crate) tokens: Option<f64>,
    /// Further entries of the record.
    pub(crate) other: Vec<(&'static str, Value)>,
}

/// The clock that measures the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Events on the stream, before and after the operation: its time on the device.
    Device,
    /// The host, until the operation returns. The operation itself waits for the device if that is part of
    /// its time.
    Host,
}

/// The devices and the state of a run.
pub(crate) struct Context<'o> {
    pub(crate) options: &'o Options,
    pub(crate) size: Size,
    pub(crate) method: Method,
    /// All devices; the first is measured.
    pub(crate) devices: Vec<Device>,
    pub(crate) stream: Stream,
    pub(crate) kernels: Kernels,
    pub(crate) blas: Blas,
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) findings: Vec<Finding>,
    /// Called with the name of each measurement before it begins.
    pub(crate) tell: &'o mut dyn FnMut(&str),
}

impl Context<'_> {
    /// The measured device.
    pub(crate) fn device(&self) -> &Device {
        self.stream.device()
    }

    /// Whether times are those of the CPU.
    pub(crate) fn is_virtual(&self) -> bool {
        self.device().backend() == Backend::Virtual
    }

    /// Measures an operation on `state`. It runs once and is checked, then warms up, then is timed. Its
    /// buffers are in `state`, so that the check can read them.
    ///
    /// # Errors
    /// [`Error::Wrong`] if the result fails its check, and errors of the operation.
    pub(crate) fn measure<S>(
        &mut self,
        case: Case,
        clock: Clock,
        state: &mut S,
        mut operation: impl FnMut(&Self, &mut S) -> Result<()>,
        check: impl FnOnce(&Self, &mut S) -> Result<Check>,
    ) -> Result<()> {
        (self.tell)(&format!("{}: {}", case.group, case.name));
        operation(self, state)?;
        self.stream.synchronize()?;
        let checked = check(self, state)?;
        if !checked.passed() {
            let (error, bound) = (checked.error, checked.bound);
            return Err(Error::Wrong { group: case.group, name: case.name, error, bound });
        }
        let mut last = 0.0;
        // At least one, to know how long it takes.
        for _ in 1..self.method.warm_up.max(2) {
            last = self.time(clock, 1, state, &mut operation)?;
        }
        // A virtual GPU is slow enough for its clock.
        let operations = match self.is_virtual() || clock == Clock::Host {
            true => 1,
            false => (LEAST_SECONDS / last.max(1e-9)).ceil().clamp(1.0, MOST_OPERATIONS) as usize,
        };
        let mut seconds = Vec::with_capacity(self.method.repetitions);
        for _ in 0..self.method.repetitions {
            seconds.push(self.time(clock, operations, state, &mut operation)? / operations as f64);
        }
        self.note(case, seconds, operations, checked);
        Ok(())
    }

    /// The seconds of this many operations.
    fn time<S>(
        &self,
        clock: Clock,
        operations: usize,
        state: &mut S,
        operation: &mut impl FnMut(&Self, &mut S) -> Result<()>,
    ) -> Result<f64> {
        let mut all = || (0..operations).try_for_each(|_| operation(self, state));
        match clock {
            Clock::Host => {
                let start = Instant::now();
                all()?;
                let elapsed = start.elapsed();
                self.stream.synchronize()?;
                Ok(elapsed.as_secs_f64())
            }
            Clock::Device => {
                let start = self.stream.record()?;
                all()?;
                let end = self.stream.record()?;
                let elapsed = end.elapsed_since(&start)?;
                // The stream knows about faults.
                self.stream.synchronize()?;
                Ok(elapsed.as_secs_f64())
            }
        }
    }

    /// Adds a result to those of earlier runs, if any.
    pub(crate) fn note(&mut self, case: Case, seconds: Vec<f64>, operations: usize, check: Check) {
        let median = statistics::median(&seconds);
        let known =
            self.measurements.iter_mut().find(|known| known.group == case.group && known.name == case.name);
        if let Some(known) = known {
            known.seconds.extend(seconds);
            if let Some(Value::Array(runs)) = known.other.get_mut("run_medians_seconds") {
                runs.push(json!(median));
            }
            let before =
                Check { error: known.max_error.unwrap_or(0.0), bound: known.error_bound.unwrap_or(0.0) };
            let worse = before.worse(check);
            (known.max_error, known.error_bound) = (Some(worse.error), Some(worse.bound));
            return;
        }
        let mut measurement = Measurement {
            group: case.group.to_owned(),
            name: case.name,
            seconds,
            flops: case.flops,
            bytes: case.bytes,
            tokens: case.tokens,
            max_error: Some(check.error),
            error_bound: Some(check.bound),
            ..Measurement::default()
        };
        measurement.other.insert("operations_per_repetition".to_owned(), json!(operations));
        measurement.other.insert("run_medians_seconds".to_owned(), json!([median]));
        measurement.other.extend(case.other.into_iter().map(|(key, value)| (key.to_owned(), value)));
        self.measurements.push(measurement);
    }

    /// Measures something that this device or library may not support. If it is not supported, that becomes a
    /// finding.
    ///
    /// # Errors
    /// All others.
    pub(crate) fn attempt(
        &mut self,
        what: &str,
        measure: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        match measure(self) {
            Err(error) if cannot(&error) => {
                self.find("not-measured", format!("{what}: {error}"));
                Ok(())
            }
            result => result,
        }
    }

    /// Adds a finding, once.
    pub(crate) fn find(&mut self, kind: &str, text: String) {
        if !self.findings.iter().any(|finding| finding.text == text) {
            self.findings.push(Finding::remark(kind, text));
        }
    }
}

/// Whether the device has too little memory, or the library lacks the operation.
fn cannot(error: &Error) -> bool {
    let memory = |error: &hip::Error| matches!(error, hip::Error::OutOfMemory { .. });
    match error {
        Error::Hip(error)
        | Error::Kernels(kernels::Error::Hip(error))
        | Error::Blas(rocblas::Error::Hip(error)) => memory(error),
        Error::Blas(rocblas::Error::Missing { .. }) => true,
        Error::Blas(rocblas::Error::Status { code, .. }) => {
            *code == rocblas::rocblas_sys::rocblas_status::rocblas_status_not_implemented
        }
        _ => false,
    }
}
