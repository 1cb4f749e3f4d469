//! What a log says about the whole run rather than about a step.

/// Figures of a whole run, as programs print them at its end or with every step.
#[derive(Debug, Clone, Default)]
pub(super) struct Summary {
    /// The planned number of steps.
    pub(super) max_steps: Option<u64>,
    /// Seconds of training.
    pub(super) runtime: Option<f64>,
    pub(super) steps_per_second: Option<f64>,
    pub(super) samples_per_second: Option<f64>,
    pub(super) tokens_per_second: Option<f64>,
    /// The furthest progress bar: steps done, all steps, and seconds.
    pub(super) bar: Option<(u64, u64, u64)>,
    /// Fields that AMD's Primus adds to Megatron-LM's lines.
    pub(super) vendor_lines: u64,
    /// Whether the program reports that it runs on AMD's stack.
    pub(super) is_amd: bool,
}

impl Summary {
    pub(super) fn append(&mut self, other: Summary) {
        self.max_steps = other.max_steps.or(self.max_steps);
        self.runtime = other.runtime.or(self.runtime);
        self.steps_per_second = other.steps_per_second.or(self.steps_per_second);
        self.samples_per_second = other.samples_per_second.or(self.samples_per_second);
        self.tokens_per_second = other.tokens_per_second.or(self.tokens_per_second);
        self.bar = self.bar.max(other.bar);
        self.vendor_lines += other.vendor_lines;
        self.is_amd |= other.is_amd;
    }
}
