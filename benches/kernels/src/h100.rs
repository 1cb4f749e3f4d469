//! The test of the method: what latency allows on an H100, by the arithmetic of this benchmark, beside what
//! was measured there. NVIDIA's code does not run on a virtual GPU, so what a thread has on the way is read
//! off the sources as they were when *before* of docs/contribute/benchmarks.md was measured.

/// Threads that a multiprocessor holds, at most, and multiprocessors.
const THREADS: f64 = 2048.0;
const UNITS: f64 = 132.0;
/// Nanoseconds: MT4G's 834.5 cycles of an H100 80GB HBM3 at 1.98 GHz.
const LATENCY: f64 = 834.5 / 1.98;

struct Kernel {
    name: &'static str,
    /// Bytes that a thread has to move, and how often it waits for loads meanwhile. Threads of a workgroup
    /// that have nothing to do count.
    moves: f64,
    waits: f64,
    /// TB/s: as measured, and of a device copy in the same run.
    measured: f64,
    copy: f64,
}

const fn kernel(name: &'static str, moves: f64, waits: f64, measured: f64, copy: f64) -> Kernel {
    Kernel { name, moves, waits, measured, copy }
}

const KERNELS: [Kernel; 11] = [
    kernel("`usilu_f32`, 2²⁸ elements", 32.0, 1.0, 3.04, 3.01),
    kernel("`usilu_f16`", 32.0, 1.0, 2.33, 2.99),
    kernel("`ugelu_bf16`", 32.0, 1.0, 2.21, 2.98),
    // One element at a time.
    kernel("`ucopy_f32`, 16,384² transposed", 8.0, 1.0, 0.78, 3.01),
    kernel("`ucopy_f16`, 16,384² transposed", 4.0, 1.0, 0.43, 2.99),
    // Three passes over the row, a pack at a time; in rows of 1024 halves, every other thread has none.
    kernel("`softmax_f32`, 65,536 × 1024", 32.0, 3.0, 1.83, 2.97),
    kernel("`softmax_f16`, 65,536 × 1024", 16.0, 3.0, 0.97, 2.91),
    kernel("`softmax_f32`, 4096 × 32,000", 32.0, 3.0, 1.47, 3.01),
    kernel("`rmsnorm_f32`, 65,536 × 1024", 32.0, 2.0, 2.78, 2.98),
    kernel("`rmsnorm_f16`, 65,536 × 1024", 16.0, 2.0, 1.81, 2.90),
    kernel("`fast_sum_f32`, 16,384² by rows", 16.0, 1.0, 2.81, 3.01),
];

impl Kernel {
    /// TB/s that latency allows.
    fn allowed(&self) -> f64 {
        THREADS * UNITS * self.moves / self.waits / (LATENCY * 1e-9) * 1e-12
    }

    fn row(&self) -> String {
        let Kernel { name, moves, waits, measured, copy } = self;
        format!("| {name} | {moves} | {waits} | {:.1} | {measured:.2} | {copy:.2} |", self.allowed())
    }
}

#[test]
fn latency_bounds_what_an_h100_reached() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contribute/benchmarks.md");
    let page = std::fs::read_to_string(page).expect("the page");
    for kernel in &KERNELS {
        assert!(kernel.measured <= kernel.allowed(), "{}", kernel.row());
        assert!(page.contains(&kernel.row()), "the page lacks {}", kernel.row());
    }
    // As the page says: the bound explains one of those that were slow, and its order most of them.
    let slow = |kernel: &&Kernel| kernel.measured < 0.9 * kernel.copy;
    let allowed = |least: f64, most: f64| {
        move |kernel: &&Kernel| (least..most).contains(&(kernel.allowed() / kernel.copy))
    };
    assert_eq!(KERNELS.iter().filter(slow).count(), 8);
    assert_eq!(KERNELS.iter().filter(slow).filter(allowed(0.0, 0.9)).count(), 1);
    assert_eq!(KERNELS.iter().filter(allowed(0.0, 3.0)).filter(slow).count(), 6);
    assert_eq!(KERNELS.iter().filter(allowed(0.0, 3.0)).count(), 6);
    assert_eq!(KERNELS.iter().filter(allowed(3.0, 100.0)).filter(slow).count(), 2);
}
