//! The registers that an instruction reads and writes, implicit ones included.

use super::{Fact, Format, Inst, Operand, Special, Type, scalar};

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

/// What an instruction reads and writes. Lanes that EXEC disables keep their value. If an instruction writes
/// a part of a register, the rest keeps its value, too.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Registers {
    /// What it reads, in the order of its operands, implicit ones after them.
    pub read: Vec<Span>,
    /// What it writes.
    pub written: Vec<Span>,
    /// Accesses more or other registers, which M0 or MODE select (`v_movrels_b32`, instructions between
    /// `s_set_gpr_idx_on` and `s_set_gpr_idx_off`, `s_cbranch_join`…).
    pub indirect: bool,
}

impl Inst {
    /// The registers it reads and writes in a wave of 32 or 64 lanes. MODE and the program counter are not
    /// among them.
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
        if let Some(image) = self.image() {
            image.registers(&mut found.read, &mut found.written);
        }
        self.add_implicit(&mut found, lanes);
        found
    }

    /// How many registers source `i` takes, if it is in registers.
    pub fn source_registers(&self, i: usize, lanes: u8) -> u8 {
        self.width(i, self.op.signature().src[i], lanes)
    }

    /// How many registers the first result takes.
    pub fn result_registers(&self, lanes: u8) -> u8 {
        self.result_width(self.op.signature().dst, lanes)
    }

    /// Registers of source `i`.
    fn width(&self, i: usize, ty: Type, lanes: u8) -> u8 {
        let has_base = matches!(self.src[2], Operand::Sgpr(_));
        match self.format {
            Format::Flat | Format::Global if i == 0 && has_base => 1,
            Format::Mubuf | Format::Mtbuf if i == 0 => u8::from(self.mem.offen) + u8::from(self.mem.idxen),
            _ if self.op.has(Fact::WMMA) && lanes == 64 => {
                let halved = i == self.op.accumulator() || i < 2 && !self.op.has(Fact::GFX11_LAYOUT);
                if halved { dwords(ty, lanes).div_ceil(2) } else { dwords(ty, lanes) }
            }
            _ => dwords(self.matrix_type(i).unwrap_or(ty), lanes),
        }
    }

    fn result_width(&self, ty: Type, lanes: u8) -> u8 {
        dwords(ty, lanes) / if self.op.has_half_results() && lanes == 64 { 2 } else { 1 }
    }

    fn add_implicit(&self, found: &mut Registers, lanes: u8) {
        let mask = |slot| Span { first: Register::Scalar(slot), count: lanes / 32 };
        let m0 = Span { first: Register::Scalar(scalar::M0), count: 1 };
        let scc = Span { first: Register::Scc, count: 1 };
        let has = |fact| self.op.has(fact);
        let is_scalar = matches!(
            self.format,
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem
        );
        let result = found.written.first().copied();
        if has(Fact::READS_SCC) {
            found.read.push(scc);
        }
        if has(Fact::WRITES_SCC) {
            found.written.push(scc);
        }
        if has(Fact::READS_VCC) {
            found.read.push(mask(scalar::VCC));
        }
        if !is_scalar || has(Fact::READS_EXEC) {
            found.read.push(mask(scalar::EXEC));
        }
        if has(Fact::READS_RESULT) || has(Fact::EXCHANGES) {
            found.read.extend(result);
        }
        if has(Fact::EXCHANGES) {
            add(&mut found.written, self.src[0], 1);
        }
        if has(Fact::WRITES_EXEC) {
            found.written.push(mask(scalar::EXEC));
        }
        if has(Fact::MASKS_EXEC) {
            let count = self.op.signature().src[0].dwords() as u8;
            let exec = Span { first: Register::Scalar(scalar::EXEC), count };
            found.read.push(exec);
            found.written.push(exec);
        }
        if has(Fact::READS_M0) || self.mem.lds {
            found.read.push(m0);
        }
        if has(Fact::WRITES_M0) {
            found.written.push(m0);
        }
        found.indirect = has(Fact::RELATIVE);
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
