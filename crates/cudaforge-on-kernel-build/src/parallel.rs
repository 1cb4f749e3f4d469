use crate::pattern;

/// The number of compilers that run at once.
#[derive(Clone, Debug)]
pub struct ParallelConfig {
    percentage: f32,
    max: Option<usize>,
    min: usize,
    nvcc_patterns: Vec<String>,
    nvcc_threads: usize,
}

impl Default for ParallelConfig {
    fn default() -> Self {
        let nvcc_patterns = ["flash_api", "cutlass"].map(str::to_owned).into();
        Self { percentage: 0.5, max: None, min: 1, nvcc_patterns, nvcc_threads: 2 }
    }
}

impl ParallelConfig {
    /// Half of the processors' threads.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// This fraction of the processors' threads, from 0 to 1.
    #[must_use]
    pub fn with_percentage(mut self, percentage: f32) -> Self {
        self.percentage = percentage.clamp(0.0, 1.0);
        self
    }

    /// At most this many, whatever the fraction.
    #[must_use]
    pub fn with_max_threads(mut self, max: usize) -> Self {
        self.max = Some(max.max(1));
        self
    }

    /// At least this many.
    #[must_use]
    pub fn with_min_threads(mut self, min: usize) -> Self {
        self.min = min.max(1);
        self
    }

    /// The files that nvcc would compile with several threads. Changes nothing here.
    #[must_use]
    pub fn with_nvcc_thread_patterns<S: AsRef<str>>(
        mut self,
        patterns: &[S],
        num_nvcc_threads: usize,
    ) -> Self {
        self.nvcc_patterns = patterns.iter().map(|pattern| pattern.as_ref().to_owned()).collect();
        self.nvcc_threads = num_nvcc_threads;
        self
    }

    /// Whether nvcc would compile this file with several threads: its path contains or matches one of the
    /// patterns.
    #[must_use]
    pub fn should_use_nvcc_threads(&self, path_str: &str) -> bool {
        let name = path_str.rsplit(['/', '\\']).next().unwrap_or(path_str);
        let is_fit = |text: &String| {
            path_str.contains(text) || pattern::fits(text, path_str) || pattern::fits(text, name)
        };
        self.nvcc_patterns.iter().any(is_fit)
    }

    /// The number of compilers: from `CUDAFORGE_THREADS`, otherwise `RAYON_NUM_THREADS`, otherwise this
    /// value.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        let set = |name| std::env::var(name).ok()?.parse::<usize>().ok();
        if let Some(count) = set("CUDAFORGE_THREADS").or_else(|| set("RAYON_NUM_THREADS")) {
            return count.max(1);
        }
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        self.of(available)
    }

    fn of(&self, available: usize) -> usize {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a number of threads is small, and a product of two numbers that are not negative"
        )]
        let part = (available as f32 * self.percentage).ceil() as usize;
        self.max.unwrap_or(part).max(self.min).min(available)
    }

    /// How many threads nvcc would start for [matching files](Self::should_use_nvcc_threads).
    #[must_use]
    pub fn nvcc_threads(&self) -> Option<usize> {
        Some(self.nvcc_threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted() {
        assert_eq!(ParallelConfig::new().of(16), 8);
        assert_eq!(ParallelConfig::new().of(1), 1);
        assert_eq!(ParallelConfig::new().with_percentage(2.0).of(16), 16);
        assert_eq!(ParallelConfig::new().with_percentage(0.0).with_min_threads(3).of(16), 3);
        assert_eq!(ParallelConfig::new().with_max_threads(4).of(16), 4);
        assert_eq!(ParallelConfig::new().with_max_threads(40).of(16), 16);
    }

    #[test]
    fn patterns_are_names_parts_of_them_and_globs() {
        let config = ParallelConfig::new();
        assert!(config.should_use_nvcc_threads("kernels/flash_api.cu"));
        assert!(!config.should_use_nvcc_threads("kernels/flash.cu"));
        let config = config.with_nvcc_thread_patterns(&["gemm_*.cu"], 4);
        assert!(
            config.should_use_nvcc_threads("a/b/gemm_f16.cu") && !config.should_use_nvcc_threads("gemm.cu")
        );
        assert_eq!(config.nvcc_threads(), Some(4));
    }
}
