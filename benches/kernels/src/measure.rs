//! Runs each case on one virtual GPU: counted once, then timed.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gpu_report::Class;
use hip::Device;
use kernels::Kernels;
use serde::Serialize;

use crate::cases::{self, Case};
use crate::peaks::{Gpu, Latency};

/// What a case did.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) case: String,
    pub(crate) target: String,
    /// The kernels that ran, in order.
    pub(crate) kernels: Vec<String>,
    /// Instructions of waves, all kernels together.
    pub(crate) instructions: u64,
    /// Matrix instructions among them.
    pub(crate) matrix_instructions: u64,
    /// Lanes used by vector instructions and by matrix instructions, which use the whole wave.
    pub(crate) lane_instructions: u64,
    /// Floating-point operations of the operation; a multiply-add counts as two.
    pub(crate) flops: u64,
    /// Bytes of global memory read and written by all lanes, including scalar loads. Accesses that caches
    /// would serve count each time.
    pub(crate) bytes: u64,
    /// Bytes that any implementation must read and write: each input and each output once.
    pub(crate) needed_bytes: u64,
    /// The fraction of LDS cycles spent on bank conflicts.
    pub(crate) lds_conflicts: f64,
    /// Waves per SIMD unit of a real device, and the maximum there, for the kernel that executes most.
    pub(crate) occupancy: (u32, u32),
    /// Median time on this machine's virtual GPU, seconds.
    pub(crate) seconds: f64,
    /// An estimate for the real GPU of [`GPUS`](crate::peaks::GPUS): peak arithmetic or memory, whichever is
    /// slower.
    pub(crate) roofline_seconds: Option<f64>,
    /// Bytes that vector loads have on the way in a compute unit that holds as many waves as fit, for the
    /// kernel that waits most.
    pub(crate) bytes_in_flight: f64,
    /// An estimate for the real GPU: the time that its waves wait for memory, if as many as fit always wait
    /// at once.
    pub(crate) latency_seconds: Option<f64>,
}

impl Measured {
    /// Floating-point operations per lane instruction.
    pub(crate) fn flops_each(&self) -> f64 {
        self.flops as f64 / self.lane_instructions as f64
    }

    /// How many times the needed bytes it moves.
    pub(crate) fn times_moved(&self) -> f64 {
        self.bytes as f64 / self.needed_bytes as f64
    }

    /// The bandwidth that latency allows, in bytes per second: of bytes that the operation has to move.
    pub(crate) fn latency_bandwidth(&self) -> Option<f64> {
        self.latency_seconds.map(|seconds| self.needed_bytes as f64 / seconds)
    }

    /// The part of the roofline's rate that latency allows; more than 1 if it does not matter.
    pub(crate) fn latency_part(&self) -> Option<f64> {
        Some(self.roofline_seconds? / self.latency_seconds?)
    }
}

/// Measures the cases whose name contains the text.
pub(crate) fn on(target: &str, only: Option<&str>, repeat: usize) -> Result<Vec<Measured>> {
    // With as many compute units as the real GPU has: launchers choose kernels by it.
    let units = Gpu::of(target).map(|gpu| format!("?cus={}", gpu.units)).unwrap_or_default();
    let device = Device::open(format!("vgpu:{target}{units}"))?;
    let stream = device.stream()?;
    let kernels = Kernels::new(&device);
    let mut all = Vec::new();
    for name in cases::names().filter(|name| only.is_none_or(|text| name.contains(text))) {
        let mut case = cases::make(name, &stream).with_context(|| name.to_owned())?;
        let measured = measure(target, name, &mut case, &kernels, &stream, repeat);
        all.push(measured.with_context(|| name.to_owned())?);
    }
    ensure!(!all.is_empty(), "no name of a case contains `{}`", only.unwrap_or_default());
    Ok(all)
}

fn measure(
    target: &str,
    name: &str,
    case: &mut Case,
    kernels: &Kernels,
    stream: &hip::Stream,
    repeat: usize,
) -> Result<Measured> {
    stream.set_counters(true)?;
    (case.run)(kernels, stream)?;
    stream.synchronize()?;
    stream.set_counters(false)?;
    let counted = stream.take_counters()?;
    let largest =
        counted.iter().max_by_key(|kernel| kernel.instructions.total()).context("nothing was launched")?;
    let occupancy = (largest.occupancy.waves_per_simd, largest.occupancy.max_waves_per_simd);
    let longest = counted.iter().max_by_key(|kernel| kernel.in_flight.waits).unwrap_or(largest);
    let gpu = Gpu::of(target);
    let waited = |latency: &Latency, units: u32, kernel: &gpu_report::Counters| {
        let resident = kernel.occupancy.waves_per_unit() * f64::from(units);
        latency.seconds(kernel.in_flight.waits, kernel.in_flight.scalar_waits, resident)
    };
    let latency = gpu.and_then(|gpu| Some((gpu.latency.as_ref()?, gpu.units)));
    let mut times = Vec::new();
    for _ in 0..repeat {
        let begin = Instant::now();
        (case.run)(kernels, stream)?;
        stream.synchronize()?;
        times.push(begin.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let sum = |count: &dyn Fn(&gpu_report::Counters) -> u64| counted.iter().map(count).sum::<u64>();
    let matrix = sum(&|kernel| kernel.instructions[Class::Matrix]);
    let wave = |kernel: &gpu_report::Counters| u64::from(kernel.wave_size);
    let (cycles, conflicts) =
        (sum(&|kernel| kernel.lds_banks.cycles), sum(&|kernel| kernel.lds_banks.conflicts()));
    Ok(Measured {
        case: name.to_owned(),
        target: target.to_owned(),
        kernels: counted.iter().map(|kernel| kernel.kernel.clone()).collect(),
        instructions: sum(&|kernel| kernel.instructions.total()),
        matrix_instructions: matrix,
        lane_instructions: sum(&|kernel| {
            kernel.lanes.active + kernel.instructions[Class::Matrix] * wave(kernel)
        }),
        flops: case.flops,
        bytes: sum(&|kernel| {
            let (global, constant) = (kernel.global, kernel.constant);
            global.read_bytes + global.written_bytes + constant.read_bytes
        }),
        needed_bytes: case.bytes,
        lds_conflicts: if cycles == 0 { 0.0 } else { conflicts as f64 / cycles as f64 },
        occupancy,
        seconds: times[times.len() / 2],
        bytes_in_flight: longest.bytes_in_flight(),
        latency_seconds: latency
            .map(|(latency, units)| counted.iter().map(|kernel| waited(latency, units, kernel)).sum()),
        roofline_seconds: gpu.map(|gpu| gpu.roofline(case.flops as f64, case.arithmetic, case.bytes as f64)),
    })
}
