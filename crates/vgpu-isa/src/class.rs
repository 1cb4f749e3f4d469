//! Questions about operations that the decoder, the disassembler and lowering share.

use gpu_report::{AccessKind, Class};

use super::facts::{Fact, Footprint};
use super::types::{Elem, Signature, Type};
use super::{Generation, Inst, Op};

impl Op {
    /// A comparison that writes EXEC: `v_cmpx`.
    pub fn is_compare_exec(self) -> bool {
        self.has(Fact::COMPARE) && self.has(Fact::WRITES_EXEC)
    }

    /// Whether a matrix instruction of gfx11 or gfx12 has a sparse matrix: its source 2 is the index, and
    /// source 3 the accumulator.
    pub(super) fn is_sparse_wmma(self) -> bool {
        self.has(Fact::WMMA) && self.has(Fact::SPARSE)
    }

    fn is_transposing_load(self) -> bool {
        matches!(self.footprint(), Footprint::Tile(_))
    }

    /// Whether results take half as many registers in a wave of 64 as in one of 32. CDNA, which transposes
    /// what it reads from LDS, has waves of 64 only.
    pub(super) fn has_half_results(self) -> bool {
        self.has(Fact::WMMA) || self.is_transposing_load() && self.class() != Class::Lds
    }

    /// Conversions from bytes. Their destination in SDWA is a whole register.
    pub(super) fn is_byte_conversion(self) -> bool {
        matches!(
            self,
            Op::VCvtF32Fp8
                | Op::VCvtF32Bf8
                | Op::VCvtPkF32Fp8
                | Op::VCvtPkF32Bf8
                | Op::VCvtF32Fp8Gfx950
                | Op::VCvtF32Bf8Gfx950
                | Op::VCvtPkF32Fp8Gfx950
                | Op::VCvtPkF32Bf8Gfx950
        )
    }

    /// The source that a matrix instruction adds.
    pub fn accumulator(self) -> usize {
        if self.has(Fact::SPARSE) && self.has(Fact::WMMA) { 3 } else { 2 }
    }

    /// The operand types in a wave of 64 or 32 lanes. In a wave of 64, accumulators of `v_wmma` and
    /// `v_swmmac` and the results of transposing loads take half as many registers. On gfx12 the other
    /// matrices do, too.
    pub(super) fn signature_of(self, generation: Generation, wave64: bool) -> Signature {
        let mut signature = *self.signature();
        let half = |of: &mut Type| of.count = of.count.div_ceil(2);
        let of_half = |of: Type| Type::new(Elem::B32, (of.dwords() / 2) as u8);
        if wave64 && self.is_transposing_load() && self.has_half_results() {
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

    /// Read-modify-write operations on memory other than LDS.
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

    /// DS operations with two addresses, each with an offset of one byte.
    pub fn has_two_offsets(self) -> bool {
        matches!(self.footprint(), Footprint::Two(..))
    }
}

/// Registers of a matrix whose format is chosen: 32 numbers of 8, 6 or 4 bits in each lane.
fn matrix_registers(format: u8) -> u8 {
    match format {
        2 | 3 => 6,
        4 => 4,
        _ => 8,
    }
}

impl Inst {
    /// Like [`Op::signature_of`], with the sizes that matrices have in their formats.
    pub(super) fn signature_of(&self, generation: Generation, wave64: bool) -> Signature {
        let mut signature = self.op.signature_of(generation, wave64);
        for i in 0..2 {
            signature.src[i] = self.matrix_type(i).unwrap_or(signature.src[i]);
        }
        signature
    }

    /// The type of source `i` if its format is chosen.
    pub(super) fn matrix_type(&self, i: usize) -> Option<Type> {
        let format = match i {
            0 => self.mods.cbsz,
            1 => self.mods.blgp,
            _ => return None,
        };
        self.op.has(Fact::FORMATS).then(|| Type::new(Elem::B32, matrix_registers(format)))
    }
}
