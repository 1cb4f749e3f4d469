//! For `cargo xtask tune`: lists the kernels, and computes products with one that is not the table's choice.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::args::Type;
use crate::gemm::tuning::{Choice, Problem, type_name};
use crate::gemm::{TYPES, Tile, Way};
use crate::gpu::Instructions;

/// The number of the tile and the parts for all products from now on; 0 leaves the choice to the table.
static FORCED: AtomicU32 = AtomicU32::new(0);

/// Kernels to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The class of targets, the element type and the way of reading operands, as in `tuning.txt`.
    pub class: &'static str,
    /// The element type's name.
    pub kind: &'static str,
    /// How operands are read.
    pub way: &'static str,
    /// Operands that lie across the depth: A and B.
    pub across: [bool; 2],
    /// The tiles.
    pub tiles: Vec<&'static str>,
}

/// The families of a processor; empty if it has none of these kernels. bf16 has the same kernels as f16, and
/// is not listed.
pub fn families(processor: &str) -> Vec<Family> {
    let Some(Instructions { class, .. }) = Instructions::of(processor) else { return Vec::new() };
    let mut families = Vec::new();
    for kind in TYPES.into_iter().filter(|kind| *kind != Type::BF16) {
        for (way, across) in
            [(Way::Direct, [false; 2]), (Way::Mixed, [true, false]), (Way::Staged, [true; 2])]
        {
            let is_there = class.multiplies(kind) && (class.has_instructions(kind) || way == Way::Staged);
            if let (true, Some(name)) = (is_there, type_name(kind)) {
                let tiles = way.tiles(class, kind).iter().map(|tile| tile.name()).collect();
                families.push(Family { class: class.name(), kind: name, way: way.name(), across, tiles });
            }
        }
    }
    families
}

/// From now on, computes every product of this process in tiles of this name, with this many waves sharing
/// the depth, if there is such a kernel. `None` leaves the choice to the table.
///
/// Returns whether there is a tile of this name.
pub fn force(choice: Option<(&str, u16)>) -> bool {
    let number = match choice {
        None => 0,
        Some((name, parts)) => match Tile::ALL.iter().position(|tile| tile.name() == name) {
            Some(at) => ((at as u32 + 1) << 16) | u32::from(parts),
            None => return false,
        },
    };
    FORCED.store(number, Ordering::Relaxed);
    true
}

/// The forced choice, if the problem has a kernel with that tile.
pub(crate) fn forced(problem: &Problem) -> Option<Choice> {
    let number = FORCED.load(Ordering::Relaxed);
    let tile = *Tile::ALL.get((number >> 16).checked_sub(1)? as usize)?;
    let parts = (number & 0xffff).max(1);
    problem.way.tiles(problem.class, problem.kind).contains(&tile).then_some(Choice { tile, parts })
}
