//! Questions about operations that the decoder, the disassembler and lowering ask alike.

use super::Op;

impl Op {
    /// Whether `src[0]` is a branch offset.
    pub fn is_branch(self) -> bool {
        matches!(
            self,
            Op::SBranch
                | Op::SCbranchScc0
                | Op::SCbranchScc1
                | Op::SCbranchVccz
                | Op::SCbranchVccnz
                | Op::SCbranchExecz
                | Op::SCbranchExecnz
                | Op::SCbranchCdbgsys
                | Op::SCbranchCdbguser
                | Op::SCbranchCdbgsysAndUser
                | Op::SCbranchCdbgsysOrUser
        )
    }

    /// `v_cmp` and `v_cmpx`.
    pub fn is_vector_compare(self) -> bool {
        self.name().starts_with("v_cmp")
    }

    /// `v_cmpx`: a comparison that writes EXEC.
    pub fn is_compare_exec(self) -> bool {
        self.name().starts_with("v_cmpx_")
    }

    /// Whether the destination is also an addend that the encoding does not name: `v_fmac`, `v_mac`, `v_dot2acc`….
    pub fn accumulates(self) -> bool {
        matches!(
            self,
            Op::VFmacF16
                | Op::VFmacF32
                | Op::VFmacF64
                | Op::VFmacDx9ZeroF32
                | Op::VMacF16
                | Op::VMacF32
                | Op::VDot2accF32F16
                | Op::VDot2accF32Bf16
                | Op::VDot2cI32I16
                | Op::VDot4cI32I8
                | Op::VDot8cI32I4
                | Op::VPkFmacF16
                | Op::SFmacF16
                | Op::SFmacF32
        )
    }

    /// Vector instructions with a scalar destination that is no lane mask: `v_readlane`, `v_readfirstlane`, `v_s_rcp_f32`….
    pub fn has_scalar_result(self) -> bool {
        matches!(self, Op::VReadlaneB32 | Op::VReadfirstlaneB32) || self.name().starts_with("v_s_")
    }

    /// Matrix instructions of gfx9, whose operands may be accumulation registers.
    pub fn is_mfma(self) -> bool {
        self.name().starts_with("v_mfma_") || self.is_smfmac()
    }

    /// Sparse matrix instructions of gfx942.
    pub fn is_smfmac(self) -> bool {
        self.name().starts_with("v_smfmac_")
    }

    /// Matrix instructions of gfx11 and gfx12.
    pub fn is_wmma(self) -> bool {
        self.name().starts_with("v_wmma_") || self.name().starts_with("v_swmmac_")
    }

    /// Memory operations that read, change and write.
    pub fn is_atomic(self) -> bool {
        self.name().contains("_atomic_")
    }

    /// Scalar prefetches of gfx12.
    pub(super) fn is_scalar_prefetch(self) -> bool {
        matches!(
            self,
            Op::SPrefetchData
                | Op::SPrefetchDataPcRel
                | Op::SPrefetchInst
                | Op::SPrefetchInstPcRel
                | Op::SBufferPrefetchData
        )
    }

    /// DS operations with two addresses, whose offsets are two bytes.
    pub fn has_two_offsets(self) -> bool {
        self.name().starts_with("ds_") && self.name().contains("_2addr_")
    }
}
