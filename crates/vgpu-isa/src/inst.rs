//! A decoded instruction: operation, operands and modifiers, independent of the generation.

use super::{Fact, ImageOp, Op};

/// Canonical scalar register slots. The decoder renumbers registers whose number depends on the generation
/// (M0 and NULL swapped places in gfx11), so execution need not know the generation of an operand.
pub mod scalar {
    /// `vcc_lo`; `vcc_hi` follows.
    pub const VCC: u8 = 106;
    /// `ttmp0`; `ttmp15` is 123.
    pub const TTMP0: u8 = 108;
    /// `m0`
    pub const M0: u8 = 124;
    /// `null`: reads zero, ignores writes.
    pub const NULL: u8 = 125;
    /// `exec_lo`; `exec_hi` follows.
    pub const EXEC: u8 = 126;
    /// How many slots there are. Slots 102..=105 are general SGPRs, or flat_scratch and xnack_mask on gfx9.
    pub const COUNT: usize = 128;
}

/// The encoding family an instruction was found in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the vendor's names of the encoding families")]
#[repr(u8)]
pub enum Format {
    Sop1,
    Sop2,
    Sopc,
    Sopk,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    /// VOP3 with a scalar destination (carry-out, `v_div_scale`).
    Vop3Sd,
    Vop3p,
    Vopd,
    Ds,
    Flat,
    Global,
    Scratch,
    Mubuf,
    Mtbuf,
    LdsDir,
    Mimg,
    Export,
    Interp,
}

impl Format {
    /// Whether instructions of this encoding work on lanes: arithmetic, memory, exports.
    pub fn is_vector(self) -> bool {
        !matches!(
            self,
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem
        )
    }

    /// Whether they are vector arithmetic.
    pub fn is_vector_arithmetic(self) -> bool {
        matches!(
            self,
            Format::Vop1
                | Format::Vop2
                | Format::Vopc
                | Format::Vop3
                | Format::Vop3Sd
                | Format::Vop3p
                | Format::Vopd
        )
    }
}

/// Values that are read like a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the vendor's names of these sources")]
#[repr(u8)]
pub enum Special {
    Scc,
    VccZ,
    ExecZ,
    SharedBase,
    SharedLimit,
    PrivateBase,
    PrivateLimit,
    PopsExitingWaveId,
    LdsDirect,
}

impl Special {
    /// The value that a source code names.
    pub(super) fn of_code(code: u32) -> Option<Special> {
        Some(match code {
            235 => Special::SharedBase,
            236 => Special::SharedLimit,
            237 => Special::PrivateBase,
            238 => Special::PrivateLimit,
            239 => Special::PopsExitingWaveId,
            251 => Special::VccZ,
            252 => Special::ExecZ,
            253 => Special::Scc,
            254 => Special::LdsDirect,
            _ => return None,
        })
    }
}

/// One operand. Register operands name their first register; how many follow is fixed by the operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Operand {
    /// The operand does not exist, or is `off`.
    #[default]
    None,
    /// A vector register `v0..=v255`.
    Vgpr(u8),
    /// An accumulation register `a0..=a255` (gfx90a, gfx94x), the upper half of a wave's register file.
    Agpr(u8),
    /// A scalar register by canonical slot, see [`scalar`].
    Sgpr(u8),
    /// A special value.
    Special(Special),
    /// An integer inline constant, -16..=64: sign-extended to the operand's width, and to float operands its
    /// bits.
    Int(i8),
    /// A floating-point inline constant by its source code 240..=248 (0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/2π);
    /// its bits depend on the operand's type (f16, f32, f64).
    Float(u8),
    /// A 32-bit literal that follows the instruction (for 64-bit operands: the high half of an f64, or
    /// extended for integers).
    Literal(u32),
    /// A signed 16-bit or wider immediate that is part of the instruction (branch offset, `simm16`, hwreg…).
    Imm(i32),
}

/// Data-parallel primitive control of an operand 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dpp {
    /// DPP16: the 9-bit control, row and bank masks, and the bits `bound_ctrl` and `fi` (fetch inactive).
    Row {
        /// The 9-bit control field, numbered as the generation does.
        ctrl: u16,
        /// Which rows of 16 lanes are written.
        row_mask: u8,
        /// Which banks of 4 lanes are written.
        bank_mask: u8,
        /// Out-of-range lanes read zero instead of disabling the write.
        bound_ctrl: bool,
        /// Read lanes that EXEC disables.
        fetch_inactive: bool,
    },
    /// DPP8: eight 3-bit lane selectors, and `fi`.
    Eight {
        /// Eight selectors of 3 bits, lane 0 lowest.
        selectors: u32,
        /// Read lanes that EXEC disables.
        fetch_inactive: bool,
    },
}

/// Sub-dword addressing (gfx9, gfx10). Selectors: 0..=3 byte, 4 low word, 5 high word, 6 dword.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sdwa {
    /// Which part of the destination is written.
    pub dst_sel: u8,
    /// What happens to the rest: 0 zero, 1 sign-extend, 2 preserve.
    pub dst_unused: u8,
    /// Which part of source 0 and 1 is read.
    pub src_sel: [u8; 2],
    /// Whether the part is sign-extended.
    pub src_sext: [bool; 2],
}

/// Input and output modifiers of vector instructions; bit `i` belongs to source `i`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Modifiers {
    /// Negate source (VOP3P: the low half).
    pub neg: u8,
    /// VOP3P: negate the high half.
    pub neg_hi: u8,
    /// Absolute value, applied before `neg`.
    pub abs: u8,
    /// Which half of each 16-bit source is read; bit 3: which half of the destination is written. Also set by
    /// the decoder for the `.h` registers of true16 VOP1/VOP2/VOPC encodings, and for VOP3P the half that
    /// feeds the low result. SWMMAC: bits 0 and 1 are which index set.
    pub op_sel: u8,
    /// gfx11: bits of `op_sel` that the instruction lacks are set, so that LLVM prints registers without
    /// their halves.
    pub whole: bool,
    /// VOP3P: the half that feeds the high result.
    pub op_sel_hi: u8,
    /// Output multiplier: 0 none, 1 ×2, 2 ×4, 3 ÷2.
    pub omod: u8,
    /// Clamp the result: floats to 0..=1, integers to their range.
    pub clamp: bool,
    /// MFMA: control broadcast size of A.
    pub cbsz: u8,
    /// MFMA: the block of A that is broadcast; SMFMAC: which index set.
    pub abid: u8,
    /// MFMA: permutation of the lanes of B, for f64 instead: negate source `i` if bit `i` is set. Where the
    /// formats of A and B are chosen, `cbsz` and `blgp` are those: 0 fp8, 1 bf8, 2 fp6, 3 bf6, 4 fp4.
    pub blgp: u8,
    /// `v_bitop3`: bit `4 a + 2 b + c` is the result for bits a, b and c of the sources.
    pub truth_table: u8,
}

/// Address and cache control of memory instructions (SMEM, DS, FLAT, MUBUF, MTBUF).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Memory {
    /// Byte offset, sign-extended where the encoding is signed. DS: `offset0` in bits 0..=7 and `offset1` in
    /// bits 8..=15 for two-address forms, else 16 bits.
    pub offset: i32,
    /// SMEM of gfx9 with an offset register: there is an immediate offset as well, which LLVM prints even if
    /// it is 0.
    pub both_offsets: bool,
    /// `glc`/`sc0`: on atomics, return the value before the operation.
    pub glc: bool,
    /// `slc`/`sc1`/`nt`, `dlc`: cache hints that have no effect here but are printed.
    pub slc: bool,
    /// See `slc`.
    pub dlc: bool,
    /// `scc` of gfx90a.
    pub scc: bool,
    /// DS: global data share.
    pub gds: bool,
    /// MUBUF: the address holds an offset VGPR, an index VGPR (index first when both).
    pub offen: bool,
    /// See `offen`.
    pub idxen: bool,
    /// FLAT/MUBUF: data goes to LDS.
    pub lds: bool,
    /// MUBUF/MIMG: texture fail enable.
    pub tfe: bool,
    /// MTBUF: the combined data and number format code of the generation. FLAT up to gfx11: the highest bit
    /// of the offset field, which hardware ignores.
    pub format: u8,
    /// gfx12: `nv`, a cache hint that is printed.
    pub non_volatile: bool,
    /// gfx12: `scale_offset`. LLVM prints it; the targets here ignore it.
    pub scale_offset: bool,
    /// gfx12: cache scope (0 CU, 1 SE, 2 device, 3 system).
    pub scope: u8,
    /// gfx12: temporal hint as encoded. On atomics, bit 0 is also shown as `glc`: return the value before the
    /// operation.
    pub temporal: u8,
}

/// An image, export or interpolation instruction, as it is encoded: enough to print it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Graphics {
    pub(super) opcode: u16,
    pub(super) words: [u32; 5],
    /// What an image instruction does, if it is one that is executed.
    pub image: Option<ImageOp>,
}

/// A decoded instruction.
///
/// Operand order: `dst` is the first result, `sdst` a second, scalar result (VOP3 carry-out, `v_div_scale`'s
/// flag; VOPC writes its mask to `dst`). Implicit operands are explicit here: VCC of `v_add_co_u32_e32` is
/// `sdst`, VCC of `v_cndmask_b32_e32` is `src[2]`, the destination that `v_fmac_f32` accumulates into is
/// `src[2]` too, `v_fmamk`'s constant is `src[1]` and `v_fmaak`'s is `src[2]`. `v_div_fmas`, which reads VCC,
/// has it in `src[3]`; `v_smfmac` and `v_swmmac`, which accumulate into their destination, have that in
/// `src[3]`. `v_swap` exchanges `dst` and `src[0]`. `v_cmpx` writes its mask to EXEC, and on gfx9 to `dst`
/// too; from gfx10 on `dst` is EXEC. SOPK: the 16-bit immediate is `Imm` in `src[0]`, or in `src[1]` where a
/// register is read too (`s_addk_i32`: the destination; `s_cmpk`, `s_setreg`, `s_waitcnt_vscnt`: the
/// register), sign-extended except where it is unsigned or bit fields. SOPP: `Imm` in `src[0]`; branches, and
/// `s_call_b64`: signed words relative to the next instruction. Memory: `dst` loaded or returned data (absent
/// for atomics that return nothing); `src[0]` the vector address, `src[1]` the stored data, `src[2]` the
/// scalar base (FLAT `saddr`, SMEM `sbase`, MUBUF `srsrc`), `src[3]` the second data (DS `data1`) or scalar
/// offset (SMEM/MUBUF `soffset`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// The encoding family it came in.
    pub format: Format,
    /// Its length in bytes, literal and DPP/SDWA dwords included.
    pub size: u8,
    /// First destination.
    pub dst: Operand,
    /// Second, scalar destination.
    pub sdst: Operand,
    /// Sources.
    pub src: [Operand; 4],
    /// Modifiers of vector instructions.
    pub mods: Modifiers,
    /// Data-parallel primitive on source 0.
    pub dpp: Option<Dpp>,
    /// Sub-dword addressing.
    pub sdwa: Option<Sdwa>,
    /// Address and cache control.
    pub mem: Memory,
    /// The encoding of an image, export or interpolation instruction.
    pub graphics: Option<Graphics>,
    /// The second half of a VOPD pair: its operation, destination and sources. Both halves read before either
    /// writes. Of a scaled matrix instruction: the load of its two scales, whose `op_sel` and `op_sel_hi` are
    /// those of the modifiers.
    pub dual: Option<(Op, Operand, [Operand; 3])>,
}

impl Inst {
    /// What it does to an image, if it is an image instruction that is executed.
    pub fn image(&self) -> Option<ImageOp> {
        self.graphics.and_then(|graphics| graphics.image)
    }

    /// Where a branch or a call with an immediate goes, if the instruction is at `address`.
    pub(super) fn branch_target(&self, address: u64) -> Option<u64> {
        let offset = match (self.op.has(Fact::BRANCH) || self.op == Op::SCallB64, self.src[0]) {
            (true, Operand::Imm(offset)) => i64::from(offset),
            _ => return None,
        };
        Some(address.wrapping_add(u64::from(self.size)).wrapping_add_signed(offset * 4))
    }
}
