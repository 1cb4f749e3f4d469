//! The choice of the kernel for a product, by its sizes: the rows of `tuning.txt`, which `cargo xtask tune`
//! writes.

use std::sync::LazyLock;

use super::matmul::{TYPES, Tile, Way};
use crate::args::Type;
use crate::gpu::Class;

/// The table.
const TEXT: &str = include_str!("../../tuning.txt");

/// The properties that the choice depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    pub(crate) class: Class,
    pub(crate) kind: Type,
    pub(crate) way: Way,
    /// Rows, columns and depth.
    pub(crate) sizes: [u32; 3],
    pub(crate) batches: u32,
}

/// A tile, and the number of workgroups that share the depth of each.
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
    /// Blocks if they keep the device busy, as nothing reads operands less often. Otherwise the choice of the
    /// first row whose sizes are large enough, or one with as many waves as the device runs at once.
    pub(crate) fn choice(&self, compute_units: u32) -> Choice {
        if let Some(forced) = crate::tune::forced(self) {
            return forced;
        }
        if let Some(tile) = self.block(compute_units) {
            return Choice { tile, parts: 1 };
        }
        static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| parse(TEXT).unwrap_or_default());
        // Instructions for 8-bit floats take as long as those for integers.
        let kind = if matches!(self.kind, Type::F8 | Type::BF8) { Type::I8 } else { self.kind };
        let fits = |row: &&Row| {
            (row.class, row.kind, row.way) == (self.class, kind, self.way)
                && row.most.iter().zip(self.sizes).all(|(most, size)| size <= *most)
        };
        let Some(row) = ROWS.iter().find(fits) else { return self.estimate(compute_units) };
        let has_kernel = self.way.tiles(self.class, self.kind).contains(&row.choice.tile);
        let tile = if has_kernel { row.choice.tile } else { Tile::Large };
        // The table is for single products: a batch has more waves.
        Choice { tile, parts: (row.choice.parts / self.batches).max(1) }
    }

    /// Workgroups that compute tiles of this kind.
    fn workgroups(&self, tile: Tile) -> u64 {
        let ([m, n, _], [rows, columns]) = (self.sizes, tile.sides(self.way, self.class, self.kind));
        u64::from(m.div_ceil(rows)) * u64::from(n.div_ceil(columns)) * u64::from(self.batches)
    }

    /// The largest blocks of which there is at least one for each compute unit, if there are enough rows and
    /// columns for a whole one.
    fn block(&self, compute_units: u32) -> Option<Tile> {
        let tiles = self.way.tiles(self.class, self.kind).iter().rev().copied();
        tiles.filter(|tile| tile.is_block()).find(|tile| {
            let sides = tile.sides(self.way, self.class, self.kind);
            let is_whole = self.sizes.iter().zip(sides).all(|(size, side)| *size >= side);
            is_whole && self.workgroups(*tile) >= u64::from(compute_units)
        })
    }

    fn estimate(&self, compute_units: u32) -> Choice {
        let [_, n, k] = self.sizes;
        let waves = |tile| self.workgroups(tile);
        let wanted = 4 * u64::from(compute_units);
        let tiles = self.way.tiles(self.class, self.kind);
        let preferred = if n <= 32 { Tile::Tall } else { Tile::Large };
        let tile = if tiles.contains(&preferred) && (n <= 32 || waves(preferred) >= wanted) {
            preferred
        } else {
            Tile::Small
        };
        let parts = (wanted / waves(tile).max(1)).min(u64::from(k / 256)).clamp(1, 32);
        Choice { tile, parts: parts as u32 }
    }
}

pub(crate) fn type_name(kind: Type) -> Option<&'static str> {
    Some(match kind {
        Type::F64 => "f64",
        Type::F32 => "f32",
        Type::F16 => "f16",
        Type::BF16 => "bf16",
        Type::I8 => "i8",
        _ => return None,
    })
}

/// Reads the rows; `*` stands for any size.
///
/// # Errors
/// Names the first invalid line.
fn parse(text: &str) -> Result<Vec<Row>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| row(line).ok_or_else(|| format!("\"{line}\" is not a row"))).collect()
}

fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let &[class, kind, way, m, n, k, tile, parts] = fields.as_slice() else { return None };
    let class = Class::ALL.into_iter().find(|known| known.name() == class)?;
    let kind = TYPES.into_iter().find(|known| type_name(*known) == Some(kind))?;
    if !class.multiplies(kind) {
        return None;
    }
    let way = Way::ALL.into_iter().find(|known| known.name() == way)?;
    let size = |text: &str| if text == "*" { Some(u32::MAX) } else { text.parse().ok() };
    let tile = way.tiles(class, kind).iter().copied().find(|known| known.name() == tile)?;
    let parts: u32 = parts.parse().ok()?;
    let choice = Choice { tile, parts };
    (1..=64).contains(&parts).then_some(Row {
        class,
        kind,
        way,
        most: [size(m)?, size(n)?, size(k)?],
        choice,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::matmul::{kernel, kernel_of_f8, thin_kernel};
    use super::*;
    use crate::gpu::Instructions;
    use crate::modules;

    /// The ways in which a class reads operands of a type.
    fn ways(class: Class, kind: Type) -> &'static [Way] {
        match (class.multiplies(kind), class.has_instructions(kind)) {
            (true, true) => &Way::ALL,
            (true, false) => &[Way::Staged],
            (false, _) => &[],
        }
    }

    #[test]
    fn every_row_names_a_kernel_that_exists() {
        let rows = parse(TEXT).unwrap();
        assert!(!rows.is_empty());
        for Row { class, kind, way, choice, .. } in rows {
            assert!(ways(class, kind).contains(&way), "{class:?} {kind:?} {way:?}");
            let name = kernel(kind, choice.tile, way).unwrap();
            let targets = modules::BLAS_MATMUL.code_objects.iter().map(|object| object.target_id().unwrap());
            let is_compiled = targets
                .into_iter()
                .any(|target| Instructions::of(&target.processor).is_some_and(|has| has.class == class));
            let module = if choice.tile.is_block() { &modules::BLAS_BLOCKS } else { &modules::BLAS_MATMUL };
            assert!(!is_compiled || module.kernels.contains(&name), "{name}");
        }
    }

    #[test]
    fn the_table_has_a_row_for_every_problem() {
        let rows = parse(TEXT).unwrap();
        for class in Class::ALL {
            for kind in TYPES {
                for way in ways(class, kind) {
                    let last = rows.iter().rfind(|row| (row.class, row.kind, row.way) == (class, kind, *way));
                    assert_eq!(last.map(|row| row.most), Some([u32::MAX; 3]), "{class:?} {kind:?} {way:?}");
                }
            }
        }
    }

    #[test]
    fn every_target_has_the_kernels_of_its_class() {
        for embedded in modules::BLAS_MATMUL.code_objects {
            let target = embedded.target_id().unwrap();
            let Instructions { class, f8 } =
                Instructions::of(&target.processor).unwrap_or_else(|| panic!("{target} has no class"));
            let object = code_object::CodeObject::parse(embedded.bytes).unwrap();
            let mut blocks = modules::BLAS_BLOCKS.code_objects.iter();
            let blocks = blocks.find(|blocks| blocks.target_id().unwrap() == target).unwrap();
            let blocks = code_object::CodeObject::parse(blocks.bytes).unwrap();
            let all = object.kernels().iter().chain(blocks.kernels());
            let found: HashSet<&str> = all.map(|kernel| kernel.name.as_str()).collect();
            for kind in TYPES {
                let has_thin = thin_kernel(kind).is_some_and(|thin| found.contains(thin));
                let needs_thin = class.multiplies(kind) && !class.has_instructions(kind);
                assert!(has_thin == needs_thin, "a thin kernel of {kind:?} for {target}");
                for way in ways(class, kind) {
                    for tile in way.tiles(class, kind) {
                        let name = kernel(kind, *tile, *way).unwrap();
                        assert!(found.contains(name), "{name} for {target}");
                    }
                }
            }
            for kinds in [Type::F8, Type::BF8].iter().flat_map(|a| [[*a, Type::F8], [*a, Type::BF8]]) {
                for tile in Way::Direct.tiles(class, Type::F8) {
                    let name = kernel_of_f8(kinds, *tile).unwrap();
                    assert_eq!(found.contains(name), f8, "{name} for {target}");
                }
            }
            for kernel in object.kernels().iter().chain(blocks.kernels()) {
                assert_eq!(
                    (kernel.vgpr_spills, kernel.private_segment_size),
                    (0, 0),
                    "{} for {target} spills",
                    kernel.name
                );
                let is_one_wave = !kernel.name.contains("_add_") && !kernel.name.contains("_blocks_");
                let wave = kernel.wavefront_size;
                assert!(
                    !is_one_wave || wave == class.wave(),
                    "{} for {target} has waves of {wave}",
                    kernel.name
                );
            }
        }
    }

    #[test]
    fn blocks_are_taken_if_they_keep_the_device_busy() {
        let choice = |kind, sizes, batches| {
            let problem = Problem { class: Class::Mfma, kind, way: Way::Staged, sizes, batches };
            problem.choice(104).tile
        };
        assert_eq!(choice(Type::F16, [2048, 1024, 1], 1), Tile::Block);
        assert_eq!(choice(Type::F16, [1024, 1024, 64], 1), Tile::SmallBlock);
        assert_eq!(choice(Type::F16, [1024, 256, 64], 2), Tile::SmallBlock);
        assert_eq!(choice(Type::F64, [4096, 4096, 64], 1), Tile::SmallBlock);
        assert_eq!(choice(Type::F16, [1024, 256, 64], 1), Tile::Small);
        assert_eq!(choice(Type::F16, [1 << 20, 63, 4096], 1), Tile::Small);
    }

    #[test]
    fn what_is_no_row_is_told() {
        for line in [
            "mfma f16 direct 1 1 1 tall",
            "mfma f16 direct 1 1 1 tall 0",
            "mfma f16 direct 1 1 1 tall 65",
            "mfma f16 direct 1 1 x tall 1",
            "mfma c64 direct 1 1 1 tall 1",
            "wmma f64 staged 1 1 1 small 1",
            "mfma f16 staged 1 1 1 large 1",
            "mfma f64 direct 1 1 1 block 1",
            "volta f16 direct 1 1 1 tall 1",
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(line), "{error}");
        }
    }

    #[test]
    fn a_problem_has_the_first_row_that_is_large_enough() {
        let rows = parse(TEXT).unwrap();
        let problem = |sizes, batches| Problem {
            class: Class::Mfma,
            kind: Type::F16,
            way: Way::Direct,
            sizes,
            batches,
        };
        let of = |most: [u32; 3]| {
            let is_it = |row: &&Row| {
                (row.class, row.kind, row.way, row.most) == (Class::Mfma, Type::F16, Way::Direct, most)
            };
            rows.iter().find(is_it).unwrap().choice
        };
        assert_eq!(problem([128, 4, 256], 1).choice(104), of([128, 4, 256]));
        assert_eq!(problem([129, 5, 257], 1).choice(104), of([1024, 16, 1024]));
        assert_eq!(problem([5000, 127, 5000], 1).choice(416), of([u32::MAX; 3]));
        let many = problem([5000, 1, 5000], 1000).choice(104);
        assert_eq!(many, Choice { parts: 1, ..of([u32::MAX, 4, u32::MAX]) });
    }
}
