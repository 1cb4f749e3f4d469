//! Questions about operations that the decoder, the disassembler and lowering ask alike.

use std::sync::LazyLock;

use gpu_report::Class;

use super::types::{Signature, Type};
use super::{Isa, Op};

/// Which part of a compute unit executes an operation, by its name.
fn class_of(op: Op) -> Class {
    let name = op.name();
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let space = name.split('_').next().unwrap_or_default();
    match space {
        "v" if op.is_mfma() || op.is_wmma() => Class::Matrix,
        "v" => {
            let function = name.trim_start_matches("v_").trim_start_matches("s_");
            let word = function.split('_').next().unwrap_or_default();
            match word {
                "rcp" | "rsq" | "sqrt" | "exp" | "log" | "sin" | "cos" => Class::Transcendental,
                "interp" => Class::Graphics,
                "nop" => Class::Hint,
                _ => Class::Valu,
            }
        }
        "s" if op.is_branch()
            || begins(&["s_cbranch_", "s_subvector_loop", "s_endpgm", "s_rfe", "s_trap"])
            || matches!(op, Op::SSetpcB64 | Op::SSwappcB64 | Op::SCallB64) =>
        {
            Class::Branch
        }
        "s" if begins(&["s_barrier", "s_get_barrier"]) => Class::Barrier,
        "s" if begins(&["s_sendmsg"]) => Class::Message,
        "s" if begins(&["s_dcache", "s_gl1", "s_icache", "s_wait", "s_sleep", "s_set_inst", "s_setprio"])
            || begins(&["s_nop", "s_clause", "s_delay", "s_sethalt", "s_setkill", "s_incperf"])
            || begins(&["s_decperf", "s_ttrace", "s_wakeup", "s_version", "s_code_end", "s_prefetch"])
            || begins(&["s_buffer_prefetch", "s_atc"]) =>
        {
            Class::Hint
        }
        "s" if begins(&["s_load_", "s_store_", "s_buffer_", "s_atomic_", "s_scratch_", "s_mem"]) => {
            Class::Smem
        }
        "s" => Class::Salu,
        "ds" if name == "ds_nop" => Class::Hint,
        "ds" if begins(&["ds_gws"]) => Class::Barrier,
        "ds" => Class::Lds,
        "flat" => Class::Flat,
        "scratch" => Class::Scratch,
        "global" | "buffer" | "tbuffer" if name.contains("_atomic_") => Class::VmemAtomic,
        "global" | "buffer" | "tbuffer" if name.contains("_load_") => Class::VmemLoad,
        "global" | "buffer" | "tbuffer" if name.contains("_store_") => Class::VmemStore,
        "global" | "buffer" => Class::Hint,
        _ => Class::Graphics,
    }
}

impl Op {
    /// Which part of a compute unit executes it.
    pub fn class(self) -> Class {
        static CLASSES: LazyLock<Vec<Class>> =
            LazyLock::new(|| Op::ALL.iter().map(|&op| class_of(op)).collect());
        CLASSES[self as usize]
    }

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

    /// Whether it goes to an address that registers hold.
    pub fn is_jump(self) -> bool {
        matches!(
            self,
            Op::SSetpcB64
                | Op::SSwappcB64
                | Op::SCallB64
                | Op::SRfeB64
                | Op::SCbranchGFork
                | Op::SCbranchIFork
                | Op::SCbranchJoin
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

    fn is_transposing_load(self) -> bool {
        matches!(self, Op::GlobalLoadTrB64 | Op::GlobalLoadTrB128)
    }

    /// Whether results take half as many registers in a wave of 64 as in one of 32.
    pub(super) fn has_half_results(self) -> bool {
        self.is_wmma() || self.is_transposing_load()
    }

    /// The operand types in a wave of 64 or 32 lanes. In a wave of 64, accumulators of `v_wmma` and `v_swmmac` and
    /// what transposing loads give take half as many registers, on gfx12 the other matrices too.
    pub(super) fn signature_of(self, isa: Isa, wave64: bool) -> Signature {
        let mut signature = *self.signature();
        let half = |of: &mut Type| of.count = of.count.div_ceil(2);
        let of_half = |of: Type| Type::new(super::Elem::B32, (of.dwords() / 2) as u8);
        if wave64 && self.is_transposing_load() {
            signature.dst = of_half(signature.dst);
        }
        if !wave64 || !self.is_wmma() {
            return signature;
        }
        half(&mut signature.dst);
        // Of a sparse product, source 2 is the index, and source 3 the accumulator.
        half(&mut signature.src[if self.name().starts_with("v_swmmac_") { 3 } else { 2 }]);
        if isa >= Isa::Gfx1201 {
            half(&mut signature.src[0]);
            half(&mut signature.src[1]);
        }
        signature
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
