//! For `cargo xtask tune`: the tiles of products that NVIDIA's `wgmma` multiplies, and products computed in
//! tiles that are not the table's choice.

use half::f16;
use hip::Device;

use crate::tilings::{self, Tile};
use crate::{Gemm, GemmLaunch, nvidia};

/// A tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedTile {
    tile: Tile,
    multiprocessors: usize,
}

/// The tiles of the table, in its order. Empty for a device that does not multiply by `wgmma`.
#[must_use]
pub fn tiles(device: &Device) -> Vec<TimedTile> {
    if !nvidia::has_wgmma(device) {
        return Vec::new();
    }
    let multiprocessors = device.properties().compute_units as usize;
    tilings::all().iter().map(|row| TimedTile { tile: row.tile, multiprocessors }).collect()
}

impl TimedTile {
    /// A product of f16 of this depth, with B transposed, whose tiles keep all multiprocessors busy once, and
    /// how it is launched.
    #[must_use]
    pub fn product(&self, k: usize) -> Option<(Gemm, GemmLaunch)> {
        let (down, across) =
            (4, self.tile.grid(usize::MAX / 8, self.multiprocessors) as usize / self.tile.parts / 4);
        let product = Gemm::new(self.tile.rows * down, self.tile.columns * across.max(1), k).transpose_b();
        let row = tilings::all().iter().find(|row| row.tile == self.tile)?;
        Some((product, product.with_tiling::<f16>(row, self.multiprocessors)?.1))
    }

    /// The row of the table, from the nanoseconds of the products of two depths.
    #[must_use]
    pub fn row(&self, measured: [(usize, u64); 2]) -> String {
        let Tile { rows, columns, parts } = self.tile;
        let steps = measured.map(|(k, _)| k.div_ceil(tilings::STEP).div_ceil(parts) as u64);
        let [(_, short), (_, long)] = measured;
        let step = (long.saturating_sub(short) / (steps[1] - steps[0]).max(1)).max(1);
        format!("{rows} {columns} {parts} {step} {}", short.saturating_sub(steps[0] * step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_from_two_depths() {
        let tile = TimedTile { tile: Tile { rows: 128, columns: 256, parts: 2 }, multiprocessors: 132 };
        assert_eq!(tile.row([(1024, 15_240), (4096, 34_032)]), "128 256 2 783 8976");
        assert_eq!(tile.row([(1024, 10), (4096, 5)]), "128 256 2 1 2");
    }

    #[test]
    fn a_timed_product_fills_the_device_once() {
        for row in tilings::all() {
            let tile = TimedTile { tile: row.tile, multiprocessors: 132 };
            let (product, launch) = tile.product(1024).unwrap();
            assert_eq!(launch.grid[0] as usize / row.tile.parts, row.tile.count(product.m, product.n, 1));
            assert!(launch.grid[0] >= 112, "{launch:?}");
        }
    }
}
