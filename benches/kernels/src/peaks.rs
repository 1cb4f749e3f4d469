//! The peaks of a real GPU of each target, from AMD's data sheets and product pages (dense, boost clock), and
//! how long it waits for its memory.

/// The type that an operation computes in, as far as peaks depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    /// f32 on the vector units, or on matrix units if they support f32 ([`Gpu::matrix_f32`]).
    F32,
    /// f16 or bf16, summed in f32, on matrix units if there are any.
    F16,
}

/// How long one wave waits, without other work.
#[derive(Debug)]
pub(crate) struct Latency {
    /// For a vector load from memory, nanoseconds.
    pub(crate) memory: f64,
    /// For a scalar load from the scalar cache, nanoseconds: what waves load this way, others have loaded
    /// before.
    pub(crate) scalar: f64,
    /// Who measured it.
    pub(crate) source: &'static str,
}

/// A measurement by the Technical University of Munich's MT4G: the mean of its loads, in cycles of the clock
/// that it reports.
const MT4G: &str = "MT4G, github.com/caps-tum/mt4g, sample_results of 4cc5566";
/// Nobody has published the latency of the memory under load: a single wave finds it with its clock at rest
/// (github.com/te42kyfo/gpu-benches). The Infinity Cache of an RX 7900 XTX takes 150 ns (chipsandcheese.com,
/// 14 June 2023).
const ASSUMED: &str = "assumed: twice that of the RX 7900 XTX's Infinity Cache";

/// A product.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) target: &'static str,
    pub(crate) name: &'static str,
    /// TFLOP/s of f32 vector arithmetic.
    vector_f32: f64,
    /// TFLOP/s of f32 on matrix units, if there are any.
    matrix_f32: Option<f64>,
    /// TFLOP/s of products of f16 or bf16: on matrix units, or with packed arithmetic if there are none.
    f16: f64,
    /// Bytes per second of the memory, in 10^9.
    pub(crate) memory: f64,
    /// Compute units; multiprocessors of an NVIDIA GPU.
    pub(crate) units: u32,
    /// None where it is not known.
    pub(crate) latency: Option<Latency>,
}

/// One of each generation of targets.
pub(crate) const GPUS: [Gpu; 5] = [
    Gpu {
        target: "gfx1030",
        name: "Radeon RX 6900 XT",
        vector_f32: 23.04,
        matrix_f32: None,
        f16: 46.08,
        memory: 512.0,
        units: 80,
        latency: None,
    },
    Gpu {
        target: "gfx1100",
        name: "Radeon RX 7900 XTX",
        vector_f32: 61.4,
        matrix_f32: None,
        f16: 122.8,
        memory: 960.0,
        units: 96,
        latency: Some(Latency { memory: 300.0, scalar: 25.0, source: ASSUMED }),
    },
    Gpu {
        target: "gfx90a",
        name: "Instinct MI210",
        vector_f32: 22.6,
        matrix_f32: Some(45.3),
        f16: 181.0,
        memory: 1638.4,
        units: 104,
        latency: Some(Latency { memory: 740.9 / 1.7, scalar: 52.8 / 1.7, source: MT4G }),
    },
    Gpu {
        target: "gfx942",
        name: "Instinct MI300X",
        vector_f32: 163.4,
        matrix_f32: Some(163.4),
        f16: 1307.4,
        memory: 5300.0,
        units: 304,
        latency: Some(Latency { memory: 899.7 / 2.1, scalar: 48.0 / 2.1, source: MT4G }),
    },
    Gpu {
        target: "gfx1201",
        name: "Radeon RX 9070 XT",
        vector_f32: 48.7,
        matrix_f32: None,
        f16: 195.0,
        memory: 640.0,
        units: 64,
        latency: Some(Latency { memory: 300.0, scalar: 25.0, source: ASSUMED }),
    },
];

impl Gpu {
    /// The GPU of a target, if the table has one.
    pub(crate) fn of(target: &str) -> Option<&'static Gpu> {
        let processor = target.split(':').next();
        GPUS.iter().find(|gpu| Some(gpu.target) == processor)
    }

    /// The shortest time, in seconds, for this much work: an estimate from peaks, which no kernel reaches.
    pub(crate) fn roofline(&self, flops: f64, arithmetic: Arithmetic, bytes: f64) -> f64 {
        let teraflops = match arithmetic {
            Arithmetic::F32 => self.matrix_f32.unwrap_or(self.vector_f32),
            Arithmetic::F16 => self.f16,
        };
        (flops / (teraflops * 1e12)).max(bytes / (self.memory * 1e9))
    }
}

impl Latency {
    /// The time, in seconds, that waves spend in waits for memory and for scalar loads if a GPU holds this
    /// many waves at once and each of them waits in vain for nothing else.
    pub(crate) fn seconds(&self, waits: u64, scalar_waits: u64, resident: f64) -> f64 {
        (waits as f64 * self.memory + scalar_waits as f64 * self.scalar) * 1e-9 / resident
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_is_shared_by_all_waves_that_wait_at_once() {
        let latency = Latency { memory: 400.0, scalar: 20.0, source: "" };
        // Each of 1000 waves waits ten times for memory and five times for a scalar.
        let seconds = latency.seconds(10_000, 5_000, 500.0);
        assert!((seconds - 2.0 * (10.0 * 400e-9 + 5.0 * 20e-9)).abs() < 1e-15, "{seconds}");
        assert!(GPUS.iter().filter_map(|gpu| gpu.latency.as_ref()).all(|latency| !latency.source.is_empty()));
    }

    #[test]
    fn the_roofline_is_the_slower_of_arithmetic_and_memory() {
        let gpu = Gpu::of("gfx90a:xnack-").unwrap();
        // 1638.4 GB take a second, and so do 45.3 TFLOP.
        assert!((gpu.roofline(1.0, Arithmetic::F32, 1638.4e9) - 1.0).abs() < 1e-12);
        assert!((gpu.roofline(45.3e12, Arithmetic::F32, 1.0) - 1.0).abs() < 1e-12);
        assert!((gpu.roofline(181.0e12, Arithmetic::F16, 1.0) - 1.0).abs() < 1e-12);
        assert!((Gpu::of("gfx1100").unwrap().roofline(61.4e12, Arithmetic::F32, 0.0) - 1.0).abs() < 1e-12);
        assert!(Gpu::of("gfx906").is_none());
    }
}
