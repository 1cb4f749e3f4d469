//! The registers that an instruction reads and writes, implicit ones included.

use super::{Format, Inst, Op, Operand, Special, Type, scalar};

/// What an instruction reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Register {
    /// A vector register: `v0` is 0, `a0` is 256.
    Vector(u16),
    /// A scalar register by canonical slot, see [`scalar`].
    Scalar(u8),
    /// The scalar condition code.
    Scc,
}

/// Consecutive registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// The first one.
    pub first: Register,
    /// How many.
    pub count: u8,
}

impl Span {
    /// Each register.
    pub fn registers(self) -> impl Iterator<Item = Register> {
        (0..self.count).map(move |i| match self.first {
            Register::Vector(first) => Register::Vector(first + u16::from(i)),
            Register::Scalar(first) => Register::Scalar(first.wrapping_add(i)),
            Register::Scc => Register::Scc,
        })
    }
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pair = self.count == 2;
        let (name, first) = match self.first {
            Register::Scc => return f.write_str("scc"),
            Register::Scalar(scalar::VCC) if pair => return f.write_str("vcc"),
            Register::Scalar(scalar::EXEC) if pair => return f.write_str("exec"),
            Register::Scalar(slot) if self.count == 1 && slot >= scalar::VCC => match slot {
                scalar::VCC => return f.write_str("vcc_lo"),
                107 => return f.write_str("vcc_hi"),
                scalar::M0 => return f.write_str("m0"),
                scalar::NULL => return f.write_str("null"),
                scalar::EXEC => return f.write_str("exec_lo"),
                127 => return f.write_str("exec_hi"),
                slot => ("ttmp", u16::from(slot - scalar::TTMP0)),
            },
            Register::Scalar(slot @ scalar::TTMP0..scalar::M0) => ("ttmp", u16::from(slot - scalar::TTMP0)),
            Register::Scalar(slot) => ("s", u16::from(slot)),
            Register::Vector(register @ 256..) => ("a", register - 256),
            Register::Vector(register) => ("v", register),
        };
        match self.count {
            1 => write!(f, "{name}{first}"),
            count => write!(f, "{name}[{first}:{}]", first + u16::from(count) - 1),
        }
    }
}

/// What an instruction reads and writes. Lanes that EXEC disables keep their value, and so does the rest of a register of which
/// an instruction writes a part.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Registers {
    /// What it reads, in the order of its operands, implicit ones after them.
    pub read: Vec<Span>,
    /// What it writes.
    pub written: Vec<Span>,
    /// Further registers, or others, that M0 or MODE choose (`v_movrels_b32`, what is between `s_set_gpr_idx_on` and
    /// `s_set_gpr_idx_off`, `s_cbranch_join`…).
    pub indirect: bool,
}

impl Inst {
    /// The registers it reads and writes in a wave of 32 or 64 lanes. MODE and the program counter are not among them.
    pub fn registers(&self, lanes: u8) -> Registers {
        let mut found = Registers::default();
        let signature = self.op.signature();
        for (i, (operand, ty)) in self.src.iter().zip(signature.src).enumerate() {
            add(&mut found.read, *operand, self.width(i, ty, lanes));
        }
        // A status follows the data of an access with `tfe`.
        let status = u8::from(self.mem.tfe);
        add(&mut found.written, self.dst, self.result_width(signature.dst, lanes) + status);
        add(&mut found.written, self.sdst, dwords(signature.sdst, lanes));
        if let Some((op, dst, sources)) = self.dual {
            let signature = op.signature();
            for (operand, ty) in sources.iter().zip(signature.src) {
                add(&mut found.read, *operand, dwords(ty, lanes));
            }
            add(&mut found.written, dst, dwords(signature.dst, lanes));
        }
        self.add_implicit(&mut found, lanes);
        found
    }

    /// How many registers source `i` takes, if it is in registers.
    pub(crate) fn source_registers(&self, i: usize, lanes: u8) -> u8 {
        self.width(i, self.op.signature().src[i], lanes)
    }

    /// How many registers the first result takes.
    pub(crate) fn result_registers(&self, lanes: u8) -> u8 {
        self.result_width(self.op.signature().dst, lanes)
    }

    /// Registers of source `i`.
    fn width(&self, i: usize, ty: Type, lanes: u8) -> u8 {
        let has_base = matches!(self.src[2], Operand::Sgpr(_));
        match self.format {
            Format::Flat | Format::Global if i == 0 && has_base => 1,
            Format::Mubuf | Format::Mtbuf if i == 0 => u8::from(self.mem.offen) + u8::from(self.mem.idxen),
            _ if self.op.is_wmma() && lanes == 64 => {
                let accumulator = if self.op.name().starts_with("v_swmmac_") { 3 } else { 2 };
                let halved = i == accumulator || i < 2 && !self.op.is_wmma_gfx11();
                if halved { dwords(ty, lanes).div_ceil(2) } else { dwords(ty, lanes) }
            }
            _ => dwords(ty, lanes),
        }
    }

    fn result_width(&self, ty: Type, lanes: u8) -> u8 {
        dwords(ty, lanes) / if self.op.has_half_results() && lanes == 64 { 2 } else { 1 }
    }

    fn add_implicit(&self, found: &mut Registers, lanes: u8) {
        let mask = |slot| Span { first: Register::Scalar(slot), count: lanes / 32 };
        let one = |slot| Span { first: Register::Scalar(slot), count: 1 };
        let scc = Span { first: Register::Scc, count: 1 };
        let name = self.op.name();
        match self.format {
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem => {
                if self.op.reads_scc() {
                    found.read.push(scc);
                }
                if self.op.writes_scc() {
                    found.written.push(scc);
                }
                match self.op {
                    Op::SCbranchVccz | Op::SCbranchVccnz => found.read.push(mask(scalar::VCC)),
                    Op::SCbranchExecz | Op::SCbranchExecnz => found.read.push(mask(scalar::EXEC)),
                    // What stays if the condition does not hold, and the bits that are not set.
                    Op::SCmovB32
                    | Op::SCmovB64
                    | Op::SCmovkI32
                    | Op::SBitset0B32
                    | Op::SBitset0B64
                    | Op::SBitset1B32
                    | Op::SBitset1B64 => found.read.extend(found.written.first().copied()),
                    _ if name.contains("saveexec") || name.contains("wrexec") => {
                        let exec = Span {
                            first: Register::Scalar(scalar::EXEC),
                            count: if name.ends_with("b64") { 2 } else { 1 },
                        };
                        found.read.push(exec);
                        found.written.push(exec);
                    }
                    _ if name.starts_with("s_movrel") => {
                        found.read.push(one(scalar::M0));
                        found.indirect = true;
                    }
                    _ if name.starts_with("s_sendmsg") => found.read.push(one(scalar::M0)),
                    Op::SSetGprIdxOn | Op::SSetGprIdxIdx | Op::SSetGprIdxMode => {
                        found.read.push(one(scalar::M0));
                        found.written.push(one(scalar::M0));
                    }
                    Op::SSubvectorLoopBegin | Op::SSubvectorLoopEnd => {
                        found.read.push(mask(scalar::EXEC));
                        found.read.extend(found.written.first().copied());
                        found.written.push(mask(scalar::EXEC));
                    }
                    // The stack of forks is in scalar registers that MODE chooses.
                    Op::SCbranchGFork | Op::SCbranchIFork | Op::SCbranchJoin => {
                        found.read.push(mask(scalar::EXEC));
                        found.written.push(mask(scalar::EXEC));
                        found.indirect = true;
                    }
                    _ => {}
                }
            }
            _ => {
                found.read.push(mask(scalar::EXEC));
                match self.op {
                    Op::VSwapB32 | Op::VSwapB16 => {
                        found.read.extend(found.written.first().copied());
                        add(&mut found.written, self.src[0], 1);
                    }
                    Op::DsAppend
                    | Op::DsConsume
                    | Op::DsGwsBarrier
                    | Op::DsGwsInit
                    | Op::DsLoadAddtidB32
                    | Op::DsStoreAddtidB32 => {
                        found.read.push(one(scalar::M0));
                    }
                    _ if name.starts_with("v_movrel") || name.starts_with("v_swaprel") => {
                        found.read.push(one(scalar::M0));
                        found.indirect = true;
                    }
                    Op::LdsDirectLoad => found.read.push(one(scalar::M0)),
                    _ if self.mem.lds || name.contains("_load_lds_") || name.ends_with("_block") => {
                        found.read.push(one(scalar::M0));
                    }
                    _ if self.op.is_compare_exec() => found.written.push(mask(scalar::EXEC)),
                    _ => {}
                }
            }
        }
    }
}

/// Registers of an operand; a lane mask takes as many as the wave has.
fn dwords(ty: Type, lanes: u8) -> u8 {
    match ty.elem {
        super::Elem::Mask => lanes / 32,
        _ => ty.dwords() as u8,
    }
}

fn add(list: &mut Vec<Span>, operand: Operand, count: u8) {
    let first = match operand {
        Operand::Vgpr(register) => Register::Vector(u16::from(register)),
        Operand::Agpr(register) => Register::Vector(256 + u16::from(register)),
        Operand::Sgpr(scalar::NULL) => return,
        Operand::Sgpr(slot) => Register::Scalar(slot),
        Operand::Special(Special::Scc) => Register::Scc,
        Operand::Special(Special::VccZ) => Register::Scalar(scalar::VCC),
        Operand::Special(Special::ExecZ) => Register::Scalar(scalar::EXEC),
        _ => return,
    };
    let count = if first == Register::Scc { count.min(1) } else { count };
    let span = Span { first, count };
    if count != 0 && !list.contains(&span) {
        list.push(span);
    }
}

impl Op {
    /// The first word of a scalar operation's name.
    fn scalar_word(self) -> &'static str {
        self.name().strip_prefix("s_").and_then(|name| name.split('_').next()).unwrap_or_default()
    }

    /// Whether a scalar operation depends on the condition code.
    fn reads_scc(self) -> bool {
        matches!(self.scalar_word(), "addc" | "subb" | "cselect" | "cmov" | "cmovk")
            || matches!(self, Op::SCbranchScc0 | Op::SCbranchScc1)
    }

    /// Whether a scalar operation sets the condition code.
    fn writes_scc(self) -> bool {
        let name = self.name();
        let plain = !name.ends_with("_f16") && !name.ends_with("_f32") && !name.contains("_nc_");
        match self.scalar_word() {
            "cmp" | "cmpk" | "bitcmp0" | "bitcmp1" => true,
            "add" | "sub" | "min" | "max" => plain,
            "addc" | "subb" | "addk" | "absdiff" | "abs" | "lshl" | "lshr" | "ashr" | "lshl1" | "lshl2"
            | "lshl3" | "lshl4" | "bfe" | "bcnt0" | "bcnt1" | "wqm" | "quadmask" | "and" | "or" | "xor"
            | "nand" | "nor" | "xnor" | "not" => true,
            "barrier" => matches!(self, Op::SBarrierSignalIsfirst | Op::SBarrierLeave),
            _ => false,
        }
    }

    /// Matrix instructions in gfx11's layout, of which a wave of 64 has as many registers of A and B as a wave of 32.
    fn is_wmma_gfx11(self) -> bool {
        matches!(
            self,
            Op::VWmmaF32_16x16x16F16
                | Op::VWmmaF32_16x16x16Bf16
                | Op::VWmmaF16_16x16x16F16
                | Op::VWmmaBf16_16x16x16Bf16
                | Op::VWmmaI32_16x16x16Iu8
                | Op::VWmmaI32_16x16x16Iu4
        )
    }
}
