//! Questions about operations that the decoder, the disassembler and lowering ask alike.

use gpu_report::{AccessKind, Class};

use super::facts::{Fact, Footprint};
use super::types::{Elem, Signature, Type};
use super::{Generation, Op};

impl Op {
    /// A comparison that writes EXEC: `v_cmpx`.
    pub fn is_compare_exec(self) -> bool {
        self.has(Fact::COMPARE) && self.has(Fact::WRITES_EXEC)
    }

    /// Whether a matrix instruction of gfx11 or gfx12 has a sparse matrix: its source 2 is the index, and source 3 the accumulator.
    pub(super) fn is_sparse_wmma(self) -> bool {
        self.has(Fact::WMMA) && self.has(Fact::SPARSE)
    }

    fn is_transposing_load(self) -> bool {
        matches!(self.footprint(), Footprint::Tile(_))
    }

    /// Whether results take half as many registers in a wave of 64 as in one of 32.
    pub(super) fn has_half_results(self) -> bool {
        self.has(Fact::WMMA) || self.is_transposing_load()
    }

    /// The source of a matrix instruction that is added.
    pub fn accumulator(self) -> usize {
        if self.has(Fact::SPARSE) && self.has(Fact::WMMA) { 3 } else { 2 }
    }

    /// The operand types in a wave of 64 or 32 lanes. In a wave of 64, accumulators of `v_wmma` and `v_swmmac` and
    /// what transposing loads give take half as many registers, on gfx12 the other matrices too.
    pub(super) fn signature_of(self, generation: Generation, wave64: bool) -> Signature {
        let mut signature = *self.signature();
        let half = |of: &mut Type| of.count = of.count.div_ceil(2);
        let of_half = |of: Type| Type::new(Elem::B32, (of.dwords() / 2) as u8);
        if wave64 && self.is_transposing_load() {
            signature.dst = of_half(signature.dst);
        }
        if !wave64 || !self.has(Fact::WMMA) {
            return signature;
        }
        half(&mut signature.dst);
        half(&mut signature.src[self.accumulator()]);
        if generation >= Generation::Gfx12 {
            half(&mut signature.src[0]);
            half(&mut signature.src[1]);
        }
        signature
    }

    /// Memory operations outside LDS that read, change and write.
    pub fn is_atomic(self) -> bool {
        let changes = || matches!(self.footprint(), Footprint::One(AccessKind::Atomic, _));
        match self.class() {
            Class::VmemAtomic => true,
            Class::Flat | Class::Smem => changes(),
            _ => false,
        }
    }

    /// Atomics on floats.
    pub(super) fn is_float_atomic(self) -> bool {
        let result = self.signature().dst.elem;
        self.is_atomic() && matches!(result, Elem::F16 | Elem::Bf16 | Elem::F32 | Elem::F64)
    }

    /// DS operations with two addresses, whose offsets are two bytes.
    pub fn has_two_offsets(self) -> bool {
        matches!(self.footprint(), Footprint::Two(..))
    }
}
