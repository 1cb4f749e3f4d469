//! The tiles that NVIDIA's `wgmma` multiplies, and how long they take: the rows of `tilings.txt`, which
//! `cargo xtask tune --time` writes. Their kernels are those of `kernels/gemm_nvidia.cuh`.

use std::sync::LazyLock;

use crate::nvidia::{LINE, TILE_ALIGN};

/// The table.
const TEXT: &str = include_str!("../tilings.txt");

/// Depth of a step, the numbers of a line: `LINE_NUMBERS` of `kernels/nvidia.cuh`.
pub(crate) const STEP: usize = 64;
/// Bytes of shared memory of a workgroup: `TILES_SHARED`, the same for all tiles. A multiprocessor holds one
/// workgroup.
pub(crate) const SHARED: u32 = (4 * (128 + 256) * LINE + TILE_ALIGN) as u32;

/// What a workgroup computes at a time, and how many workgroups share its depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) parts: usize,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tiling {
    pub(crate) tile: Tile,
    /// Nanoseconds of a step, where all multiprocessors are busy.
    pub(crate) step: u64,
    /// Nanoseconds besides: a launch, the first operands, and the sums' way to memory.
    pub(crate) besides: u64,
}

impl Tile {
    /// The tile of products with the matrices of experts.
    pub(crate) const EXPERTS: Self = Self { rows: 128, columns: 256, parts: 1 };

    /// The tile that the end of a kernel's name describes, such as `64x128_by_2`.
    ///
    /// # Panics
    /// If it describes none.
    pub(crate) const fn named(name: &str) -> Self {
        let mut numbers = [0, 0, 0];
        let (mut at, mut number, mut digits) = (0, 0, false);
        let bytes = name.as_bytes();
        while at < bytes.len() {
            if bytes[at].is_ascii_digit() {
                numbers[number] = numbers[number] * 10 + (bytes[at] - b'0') as usize;
                digits = true;
            } else if digits {
                number += 1;
                digits = false;
            }
            at += 1;
        }
        let [rows, columns, parts] = numbers;
        assert!(rows > 0 && columns > 0, "a tile has rows and columns");
        Self { rows, columns, parts: if parts == 0 { 1 } else { parts } }
    }

    /// Tiles of a batch of products.
    pub(crate) fn count(&self, m: usize, n: usize, batch: usize) -> usize {
        m.div_ceil(self.rows).saturating_mul(n.div_ceil(self.columns)).saturating_mul(batch)
    }

    /// The most tiles of pairs with the `n` columns of their experts' matrices: each expert's last one may
    /// have fewer rows.
    pub(crate) fn of_experts(&self, pairs: usize, experts: usize, n: usize) -> usize {
        (pairs / self.rows).saturating_add(experts).saturating_mul(n.div_ceil(self.columns))
    }

    /// How many tiles are computed at once. Workgroups that share a tile are on neighbouring multiprocessors:
    /// these stand in groups of 16 or 18, of which fours leave some out (30 fours on an H100's 132).
    fn at_once(&self, multiprocessors: usize) -> usize {
        let usable = if self.parts > 2 { multiprocessors * 10 / 11 } else { multiprocessors };
        (usable / self.parts).max(1)
    }

    /// As many workgroups as run at once, which go from tile to tile.
    pub(crate) fn grid(&self, tiles: usize, multiprocessors: usize) -> u32 {
        (tiles.min(self.at_once(multiprocessors)) * self.parts) as u32
    }
}

impl Tiling {
    /// How many nanoseconds so many tiles of a product of depth `k` take. Where workgroups share tiles, the
    /// next ones' operands do not come while sums are written.
    pub(crate) fn time(&self, tiles: usize, k: usize, multiprocessors: usize) -> u64 {
        let rounds = tiles.div_ceil(self.tile.at_once(multiprocessors)) as u64;
        let steps = k.div_ceil(STEP).div_ceil(self.tile.parts) as u64;
        let besides = if self.tile.parts == 1 { self.besides } else { self.besides.saturating_mul(rounds) };
        besides.saturating_add(rounds.saturating_mul(steps).saturating_mul(self.step))
    }
}

/// The table's rows.
pub(crate) fn all() -> &'static [Tiling] {
    static ROWS: LazyLock<Vec<Tiling>> = LazyLock::new(|| parse(TEXT).unwrap_or_default());
    &ROWS
}

/// Reads the rows.
///
/// # Errors
/// Names the first invalid line.
fn parse(text: &str) -> Result<Vec<Tiling>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| row(line).ok_or_else(|| format!("\"{line}\" is not a row"))).collect()
}

fn row(line: &str) -> Option<Tiling> {
    let numbers: Option<Vec<usize>> = line.split_whitespace().map(|field| field.parse().ok()).collect();
    let &[rows, columns, parts, step, besides] = numbers?.as_slice() else { return None };
    let tile = Tile { rows, columns, parts };
    (rows > 0 && columns > 0 && parts > 0 && step > 0).then_some(Tiling {
        tile,
        step: step as u64,
        besides: besides as u64,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use half::f16;

    use super::*;
    use crate::{Gemm, GemmElement, gemm};

    fn tile(rows: usize, columns: usize, parts: usize) -> Tile {
        Tile { rows, columns, parts }
    }

    #[test]
    fn the_table_has_each_tile_with_a_kernel_once() {
        let rows = parse(TEXT).unwrap();
        let names: BTreeSet<String> = rows.iter().map(|row| format!("{:?}", row.tile)).collect();
        assert_eq!(names.len(), rows.len());
        let with_kernel = gemm::tiles::<f16>().iter().map(|(tile, _)| format!("{tile:?}")).collect();
        assert_eq!(names, with_kernel);
    }

    #[test]
    fn what_is_no_row_is_told() {
        for line in
            ["128 256 1 777", "128 256 1 777 6674 1", "0 256 1 777 6674", "128 256 0 1 1", "a b c d e"]
        {
            let error = parse(line).unwrap_err();
            assert!(error.contains(line), "{error}");
        }
    }

    #[test]
    fn tiles_have_the_names_of_their_kernels() {
        assert_eq!(Tile::named("128x256"), tile(128, 256, 1));
        assert_eq!(Tile::named("64x128_by_4"), tile(64, 128, 4));
        for (tile, kernel) in gemm::tiles::<f16>() {
            let by = if tile.parts == 1 { String::new() } else { format!("_by_{}", tile.parts) };
            assert_eq!(*kernel, format!("gemm_f16_{}x{}{by}", tile.rows, tile.columns));
        }
    }

    /// The kernel that the table chooses on an H100, and its workgroups.
    fn chosen<T: GemmElement>(m: usize, n: usize, k: usize, batch: usize) -> (&'static str, u32) {
        let product = Gemm::new(m, n, k).batched(batch);
        let launches = all().iter().filter_map(|row| product.with_tiling::<T>(row, 132));
        let launch = launches.min_by_key(|(time, _)| *time).unwrap().1;
        assert_eq!((launch.grid[1], launch.grid[2], launch.dynamic_lds), (1, 1, 197_632));
        (launch.kernel, launch.grid[0])
    }

    #[test]
    fn the_table_chooses_what_was_quickest_on_an_h100() {
        assert_eq!(chosen::<f16>(4096, 4096, 4096, 1), ("gemm_f16_128x256", 132));
        assert_eq!(chosen::<f16>(2048, 2048, 2048, 1), ("gemm_f16_128x256", 128));
        assert_eq!(chosen::<f16>(1024, 1024, 1024, 1), ("gemm_f16_128x128_by_2", 128));
        assert_eq!(chosen::<f16>(512, 512, 512, 1), ("gemm_f16_64x128_by_2", 64));
        assert_eq!(chosen::<f16>(512, 4096, 4096, 1), ("gemm_f16_128x256_by_2", 128));
        assert_eq!(chosen::<f16>(256, 4096, 4096, 1), ("gemm_f16_128x128_by_2", 128));
        assert_eq!(chosen::<f16>(64, 4096, 4096, 1), ("gemm_f16_64x128_by_2", 64));
        assert_eq!(chosen::<f16>(64, 14336, 4096, 1), ("gemm_f16_64x128", 112));
        assert_eq!(chosen::<f16>(64, 1024, 4096, 1), ("gemm_f16_64x128_by_4", 32));
        assert_eq!(chosen::<crate::F8E4M3>(64, 1024, 4096, 1), ("gemm_f8_e4m3_64x128", 8));
        assert_eq!(chosen::<f16>(64, 64, 64, 100_000).1, 132);
    }

    #[test]
    fn tiles_that_are_shared_fit_into_the_groups_of_multiprocessors() {
        for (parts, expected) in [(1, 132), (2, 132), (4, 120)] {
            assert_eq!(tile(64, 128, parts).grid(usize::MAX / 8, 132), expected);
            assert_eq!(tile(64, 128, parts).grid(1, 132) as usize, parts);
            assert_eq!(tile(64, 128, parts).grid(5, 0) as usize, parts);
        }
    }

    #[test]
    fn no_size_overflows() {
        let sizes = usize::MAX;
        for row in all() {
            assert!(row.time(row.tile.count(sizes, sizes, sizes), sizes, 1) > 0);
        }
    }
}
