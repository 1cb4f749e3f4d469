//! Which kernel computes a product, by its sizes: the rows of `tuning.txt`, which `cargo xtask tune` writes.

use std::sync::LazyLock;

use super::matmul::{TYPES, Tile, Way};
use crate::args::Type;
use crate::gpu::Class;

/// The table.
const TEXT: &str = include_str!("../../tuning.txt");

/// What the choice depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    pub(crate) class: Class,
    pub(crate) kind: Type,
    pub(crate) way: Way,
    /// Rows, columns and depth.
    pub(crate) sizes: [u32; 3],
    pub(crate) batches: u32,
}

/// A tile, and how many waves share the depth of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) tile: Tile,
    pub(crate) parts: u32,
}

/// A row of the table: for problems of at most these sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    class: Class,
    kind: Type,
    way: Way,
    most: [u32; 3],
    choice: Choice,
}

impl Problem {
    /// The choice of the first row whose sizes are not less, or else one that has as many waves as the device runs at once.
    pub(crate) fn choice(&self, compute_units: u32) -> Choice {
        if let Some(forced) = crate::tune::forced(self) {
            return forced;
        }
        static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| parse(TEXT).unwrap_or_default());
        let fits = |row: &&Row| {
            (row.class, row.kind, row.way) == (self.class, self.kind, self.way)
                && row.most.iter().zip(self.sizes).all(|(most, size)| size <= *most)
        };
        let Some(row) = ROWS.iter().find(fits) else { return self.estimate(compute_units) };
        // The table is of single products: a batch has more waves.
        Choice { parts: (row.choice.parts / self.batches).max(1), ..row.choice }
    }

    fn estimate(&self, compute_units: u32) -> Choice {
        let [m, n, k] = self.sizes;
        let waves = |tile: Tile| {
            let [rows, columns] = tile.sides(self.way, self.class);
            u64::from(m.div_ceil(rows)) * u64::from(n.div_ceil(columns)) * u64::from(self.batches)
        };
        let wanted = 4 * u64::from(compute_units);
        let tiles = self.way.tiles(self.class, self.kind);
        let preferred = if n <= 32 { Tile::Tall } else { Tile::Large };
        let tile = if tiles.contains(&preferred) && (n <= 32 || waves(preferred) >= wanted) { preferred } else { Tile::Small };
        let parts = (wanted / waves(tile).max(1)).min(u64::from(k / 256)).clamp(1, 32);
        Choice { tile, parts: parts as u32 }
    }
}

pub(crate) fn type_name(kind: Type) -> Option<&'static str> {
    Some(match kind {
        Type::F32 => "f32",
        Type::F16 => "f16",
        Type::BF16 => "bf16",
        Type::I8 => "i8",
        _ => return None,
    })
}

/// Reads the rows; `*` is any size.
///
/// # Errors
/// The first line that is none.
fn parse(text: &str) -> Result<Vec<Row>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| row(line).ok_or_else(|| format!("\"{line}\" is no row"))).collect()
}

fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let &[class, kind, way, m, n, k, tile, parts] = fields.as_slice() else { return None };
    let class = Class::ALL.into_iter().find(|known| known.name() == class)?;
    let kind = TYPES.into_iter().find(|known| type_name(*known) == Some(kind))?;
    let way = Way::ALL.into_iter().find(|known| known.name() == way)?;
    let size = |text: &str| if text == "*" { Some(u32::MAX) } else { text.parse().ok() };
    let tile = way.tiles(class, kind).iter().copied().find(|known| known.name() == tile)?;
    let parts: u32 = parts.parse().ok()?;
    let choice = Choice { tile, parts };
    (1..=64).contains(&parts).then_some(Row { class, kind, way, most: [size(m)?, size(n)?, size(k)?], choice })
}
