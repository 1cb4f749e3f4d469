//! The size of a launch, and its check against kernel and device.

use super::LaunchError;

/// A size in up to three dimensions; the missing ones are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "dim3")]
pub struct Dim3(pub [u32; 3]);

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self([x, y, z])
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from(size: [u32; 3]) -> Self {
        Self(size)
    }
}

/// The number of blocks, their work-items, and their LDS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Blocks (workgroups) in each dimension.
    pub grid: Dim3,
    /// Work-items of a block in each dimension.
    pub block: Dim3,
    /// LDS of a block besides what the kernel declares, bytes (`extern __shared__`).
    pub dynamic_lds: u32,
    /// Whether all blocks run at once, so that they can wait for each other
    /// (`hipModuleLaunchCooperativeKernel`).
    pub cooperative: bool,
}

impl LaunchConfig {
    /// A grid of blocks without dynamic LDS, which may run one after the other.
    #[inline]
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self { grid: grid.into(), block: block.into(), dynamic_lds: 0, cooperative: false }
    }

    /// Blocks of `block` work-items, as many as one work-item per element needs.
    ///
    /// The number of blocks is capped at 2³² − 1, and is 0 for 0 elements. No launch accepts either.
    #[inline]
    pub fn for_elements(elements: usize, block: u32) -> Self {
        let blocks = elements.div_ceil((block as usize).max(1));
        Self::new(u32::try_from(blocks).unwrap_or(u32::MAX), block)
    }
}

/// The limits of a kernel and its device.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) kernel_threads: u32,
    pub(crate) required_block: Option<[u32; 3]>,
    pub(crate) kernel_lds: u32,
    pub(crate) kernel_wave: u32,
    pub(crate) device_threads: u32,
    pub(crate) device_block: [u32; 3],
    pub(crate) device_grid: [u32; 3],
    pub(crate) device_lds: u32,
    pub(crate) device_wave: u32,
}

impl Limits {
    /// A quick check whether a size is within the limits; [`check`](Self::check) says what is wrong.
    #[inline]
    pub(crate) fn fit(&self, config: &LaunchConfig) -> bool {
        let (grid, block) = (config.grid.0, config.block.0);
        // A limit of 0 means that the device reports none.
        let within = |n: u32, max: u32| max == 0 || n <= max;
        let mut fits = true;
        for axis in 0..3 {
            let work_items = u64::from(grid[axis]) * u64::from(block[axis]);
            fits &= work_items.wrapping_sub(1) < u64::from(u32::MAX);
            fits &= within(block[axis], self.device_block[axis]) & within(grid[axis], self.device_grid[axis]);
        }
        // The product of two axes fits into 64 bits, and so does that of three, if the third is within its
        // limit.
        let area = u64::from(block[0]) * u64::from(block[1]);
        let threads = area.saturating_mul(u64::from(block[2]));
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        fits &= within(threads, self.kernel_threads) & within(threads, self.device_threads);
        fits &= u64::from(self.kernel_lds) + u64::from(config.dynamic_lds) <= u64::from(self.device_lds);
        fits & self.required_block.is_none_or(|required| required == block)
            & (self.kernel_wave >= self.device_wave)
    }

    /// An error for the first limit that is exceeded.
    #[cold]
    pub(crate) fn check(&self, kernel: &str, config: &LaunchConfig) -> Result<(), LaunchError> {
        let name = || kernel.to_owned();
        let (grid, block) = (config.grid.0, config.block.0);
        for (what, size) in [("grid", grid), ("block", block)] {
            if size.contains(&0) {
                return Err(LaunchError::ZeroSize { kernel: name(), what, size });
            }
        }
        if let Some(required) = self.required_block
            && required != block
        {
            return Err(LaunchError::BlockMismatch { kernel: name(), block, required });
        }
        let threads = block.iter().fold(1_u64, |product, n| product.saturating_mul(u64::from(*n)));
        // A limit of 0 means that the device reports none.
        for (limit, limited_by) in [(self.kernel_threads, "the kernel"), (self.device_threads, "the device")]
        {
            if limit != 0 && threads > u64::from(limit) {
                return Err(LaunchError::BlockTooLarge { kernel: name(), block, threads, limit, limited_by });
            }
        }
        let exceeds =
            |size: [u32; 3], limit: [u32; 3]| size.iter().zip(limit).any(|(n, max)| max != 0 && *n > max);
        if exceeds(block, self.device_block) {
            return Err(LaunchError::BlockTooLong { kernel: name(), block, limit: self.device_block });
        }
        if exceeds(grid, self.device_grid) {
            return Err(LaunchError::GridTooLarge { kernel: name(), grid, limit: self.device_grid });
        }
        if grid.iter().zip(block).any(|(blocks, threads)| blocks.checked_mul(threads).is_none()) {
            return Err(LaunchError::GridOverflow { kernel: name(), grid, block });
        }
        self.check_lds(kernel, config.dynamic_lds)?;
        // RDNA runs both sizes and reports the smaller one; GCN and CDNA run waves of 64 only.
        if self.kernel_wave < self.device_wave {
            return Err(LaunchError::WaveSize {
                kernel: name(),
                kernel_wave: self.kernel_wave,
                device_wave: self.device_wave,
            });
        }
        Ok(())
    }

    /// Whether a block can have this much dynamic LDS besides the kernel's own.
    pub(crate) fn check_lds(&self, kernel: &str, dynamic: u32) -> Result<(), LaunchError> {
        if u64::from(self.kernel_lds) + u64::from(dynamic) <= u64::from(self.device_lds) {
            return Ok(());
        }
        let (kernel, fixed, limit) = (kernel.to_owned(), self.kernel_lds, self.device_lds);
        Err(LaunchError::LdsTooLarge { kernel, fixed, dynamic, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        kernel_threads: 256,
        required_block: None,
        kernel_lds: 1024,
        kernel_wave: 32,
        device_threads: 1024,
        device_block: [1024, 1024, 64],
        device_grid: [0x7fff_ffff, 65536, 65536],
        device_lds: 65536,
        device_wave: 32,
    };

    fn error(limits: &Limits, config: LaunchConfig) -> String {
        assert!(!limits.fit(&config));
        limits.check("k", &config).unwrap_err().to_string()
    }

    #[test]
    fn what_fits_is_accepted() {
        for (grid, block, dynamic_lds) in
            [([1; 3], [1; 3], 0), ([1, 1, 1], [256, 1, 1], 65536 - 1024), ([65536; 3], [8, 4, 8], 0)]
        {
            let config = LaunchConfig { dynamic_lds, ..LaunchConfig::new(grid, block) };
            assert_eq!(LIMITS.check("k", &config), Ok(()));
            assert!(LIMITS.fit(&config));
        }
    }

    #[test]
    fn every_limit_is_kept_and_named() {
        assert!(
            error(&LIMITS, LaunchConfig::new((1, 0), 1)).contains("the grid [1, 0, 1] has a zero dimension")
        );
        assert!(error(&LIMITS, LaunchConfig::new(1, 0)).contains("the block [0, 1, 1] has a zero dimension"));
        assert!(
            error(&LIMITS, LaunchConfig::new(1, 257))
                .contains("257 work-items, the kernel allows at most 256")
        );
        assert!(
            error(&LIMITS, LaunchConfig::new(1, [u32::MAX; 3])).contains("the kernel allows at most 256"),
            "the product saturates"
        );
        let wide = Limits { kernel_threads: 2048, ..LIMITS };
        assert!(error(&wide, LaunchConfig::new(1, 1025)).contains("the device allows at most 1024"));
        assert!(error(&LIMITS, LaunchConfig::new(1, (1, 1, 65))).contains("limit of [1024, 1024, 64]"));
        assert!(
            error(&LIMITS, LaunchConfig::new((1, 65537), 1)).contains("limit of [2147483647, 65536, 65536]")
        );
        assert!(
            error(&LIMITS, LaunchConfig::new(0x7fff_ffff, 4)).contains("more than 4294967295 work-items")
        );
        let fixed = Limits { required_block: Some([64, 1, 1]), ..LIMITS };
        assert!(
            error(&fixed, LaunchConfig::new(1, 32))
                .contains("compiled for blocks of [64, 1, 1], got [32, 1, 1]")
        );
        let lds = LaunchConfig { dynamic_lds: u32::MAX, ..LaunchConfig::new(1, 1) };
        assert!(error(&LIMITS, lds).contains("its own 1024 bytes exceed the 65536 bytes"));
        let wave64 = Limits { device_wave: 64, ..LIMITS };
        assert!(
            error(&wave64, LaunchConfig::new(1, 1)).contains("waves of 32, and the device has waves of 64")
        );
    }

    #[test]
    fn the_quick_answer_is_that_of_the_error() {
        let sizes = [0, 1, 31, 64, 256, 257, 1024, 1025, 65536, 65537, 0x7fff_ffff, 0x8000_0000, u32::MAX];
        let unlimited = Limits {
            kernel_threads: 0,
            kernel_lds: 0,
            device_threads: 0,
            device_block: [0; 3],
            device_grid: [0; 3],
            ..LIMITS
        };
        let fixed = Limits { required_block: Some([64, 1, 1]), ..LIMITS };
        for limits in [LIMITS, unlimited, fixed, Limits { device_wave: 64, ..LIMITS }] {
            for (a, b) in sizes.iter().flat_map(|a| sizes.iter().map(move |b| (*a, *b))) {
                for (grid, block) in [([a, 1, 1], [b, 1, 1]), ([1, a, 2], [1, b, 3]), ([b, 1, a], [a, b, 1])]
                {
                    for dynamic_lds in [0, 65536 - 1024, 65536 - 1023, u32::MAX] {
                        let config = LaunchConfig { dynamic_lds, ..LaunchConfig::new(grid, block) };
                        assert_eq!(
                            limits.fit(&config),
                            limits.check("k", &config).is_ok(),
                            "{limits:?} {config:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_grid_for_elements_covers_them() {
        assert_eq!(LaunchConfig::for_elements(1000, 256).grid, Dim3([4, 1, 1]));
        assert_eq!(LaunchConfig::for_elements(1024, 256).grid, Dim3([4, 1, 1]));
        assert_eq!(LaunchConfig::for_elements(0, 256).grid, Dim3([0, 1, 1]));
        assert_eq!(LaunchConfig::for_elements(usize::MAX, 1).grid, Dim3([u32::MAX, 1, 1]));
        assert_eq!(LaunchConfig::for_elements(5, 0).block, Dim3([0, 1, 1]));
    }
}
