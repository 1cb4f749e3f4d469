//! Immediates that are bit fields.

use std::fmt;

use super::{Printer, names};
use crate::format;
use crate::wait::wait_fields;
use crate::{Fact, Generation, Op, Operand};

impl Printer<'_, '_> {
    pub(super) fn sopp(&mut self) -> fmt::Result {
        self.f.write_str(self.row.name)?;
        let Operand::Imm(value) = self.inst.src[0] else {
            return Ok(());
        };
        let value = value as u16;
        if self.inst.op == Op::SEndpgm && value == 0 {
            return Ok(());
        }
        self.separate()?;
        match self.inst.op {
            Op::SWaitcnt => self.wait_counts(value),
            Op::SWaitcntDepctr | Op::SWaitAlu => self.dependency_counts(value),
            Op::SDelayAlu => self.delay(value),
            Op::SSendmsg | Op::SSendmsghalt => self.message(value),
            Op::SSetGprIdxMode => self.gpr_index(value),
            Op::SClause
            | Op::SRoundMode
            | Op::STtracedataImm
            | Op::SSetInstPrefetchDistance
            | Op::SWaitEvent
            | Op::SWaitLoadcnt
            | Op::SWaitStorecnt
            | Op::SWaitSamplecnt
            | Op::SWaitBvhcnt
            | Op::SWaitExpcnt
            | Op::SWaitDscnt
            | Op::SWaitKmcnt
            | Op::SWaitLoadcntDscnt
            | Op::SWaitStorecntDscnt => write!(self.f, "{value:#x}"),
            op if op.has(Fact::BRANCH) || op == Op::SEndpgm => write!(self.f, "{value}"),
            _ => self.small_or_hex(value),
        }
    }

    /// Decimal if the number could be an inline constant, else hexadecimal.
    pub(super) fn small_or_hex(&mut self, value: u16) -> fmt::Result {
        if value <= 64 { write!(self.f, "{value}") } else { write!(self.f, "{value:#x}") }
    }

    fn wait_counts(&mut self, value: u16) -> fmt::Result {
        let counts = wait_fields(value, self.generation);
        let all = counts.iter().all(|(count, most)| count == most);
        let mut space = "";
        for (name, (count, most)) in ["vmcnt", "expcnt", "lgkmcnt"].into_iter().zip(counts) {
            if all || count != most {
                write!(self.f, "{space}{name}({count})")?;
                space = " ";
            }
        }
        Ok(())
    }

    fn dependency_counts(&mut self, value: u16) -> fmt::Result {
        const FIELDS: [(&str, u16, u16); 7] = [
            ("hold_cnt", 7, 1),
            ("sa_sdst", 0, 1),
            ("va_vdst", 12, 4),
            ("va_sdst", 9, 3),
            ("va_ssrc", 8, 1),
            ("va_vcc", 1, 1),
            ("vm_vsrc", 2, 3),
        ];
        let read = |low: u16, width: u16| value >> low & ((1 << width) - 1);
        let known = FIELDS.iter().fold(0, |known, (_, low, width)| known | ((1 << width) - 1) << low);
        if value & !known != 0 {
            return write!(self.f, "{value:#x}");
        }
        let is_most = |low: u16, width: u16| read(low, width) == (1 << width) - 1;
        let all = FIELDS.iter().all(|&(_, low, width)| is_most(low, width));
        let mut space = "";
        for (name, low, width) in FIELDS {
            let count = read(low, width);
            if all || !is_most(low, width) {
                write!(self.f, "{space}depctr_{name}({count})")?;
                space = " ";
            }
        }
        Ok(())
    }

    fn delay(&mut self, value: u16) -> fmt::Result {
        const INSTRUCTION: [&str; 12] = [
            "NO_DEP",
            "VALU_DEP_1",
            "VALU_DEP_2",
            "VALU_DEP_3",
            "VALU_DEP_4",
            "TRANS32_DEP_1",
            "TRANS32_DEP_2",
            "TRANS32_DEP_3",
            "FMA_ACCUM_CYCLE_1",
            "SALU_CYCLE_1",
            "SALU_CYCLE_2",
            "SALU_CYCLE_3",
        ];
        const SKIP: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];
        const BAD_INSTRUCTION: &str = "/* invalid instid value */";
        const BAD_SKIP: &str = "/* invalid instskip value */";
        let fields = [
            ("instid0", value & 15, &INSTRUCTION[..], BAD_INSTRUCTION),
            ("instskip", value >> 4 & 7, &SKIP[..], BAD_SKIP),
            ("instid1", value >> 7 & 15, &INSTRUCTION[..], BAD_INSTRUCTION),
        ];
        let mut separator = "";
        for (name, code, texts, bad) in fields {
            if code != 0 {
                write!(self.f, "{separator}{name}({})", texts.get(usize::from(code)).unwrap_or(&bad))?;
                separator = " | ";
            }
        }
        if separator.is_empty() { self.f.write_str("0") } else { Ok(()) }
    }

    pub(super) fn message(&mut self, value: u16) -> fmt::Result {
        const GEOMETRY: [&str; 4] = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];
        const SYSTEM: [&str; 5] =
            ["", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "", "SYSMSG_OP_TTRACE_PC"];
        let modern = self.generation >= Generation::Gfx11;
        let (id, operation, stream) =
            if modern { (value & 0xff, 0, 0) } else { (value & 15, value >> 4 & 7, value >> 8 & 3) };
        let operation_name = match id {
            _ if modern => None,
            2 | 3 => GEOMETRY.get(usize::from(operation)).copied().filter(|_| id == 3 || operation != 0),
            15 => SYSTEM.get(usize::from(operation)).copied().filter(|name| !name.is_empty()),
            _ => None,
        };
        let takes_operation = !modern && matches!(id, 2 | 3 | 15);
        let takes_stream = takes_operation && id != 15 && operation != 0;
        let valid = (takes_stream || stream == 0)
            && if takes_operation { operation_name.is_some() } else { operation == 0 };
        match (names::message(self.generation, id), operation_name) {
            (Some(name), Some(operation)) if valid && takes_stream => {
                write!(self.f, "sendmsg({name}, {operation}, {stream})")
            }
            (Some(name), Some(operation)) if valid => write!(self.f, "sendmsg({name}, {operation})"),
            (Some(name), None) if valid => write!(self.f, "sendmsg({name})"),
            _ if id | operation << 4 | stream << 8 == value => {
                write!(self.f, "sendmsg({id}, {operation}, {stream})")
            }
            _ => write!(self.f, "{value}"),
        }
    }

    pub(super) fn hardware_register(&mut self, value: u16) -> fmt::Result {
        let (id, offset, width) = (value & 63, value >> 6 & 31, (value >> 11) + 1);
        self.f.write_str("hwreg(")?;
        match names::hardware_register(self.generation, id) {
            Some(name) => self.f.write_str(name)?,
            None => write!(self.f, "{id}")?,
        }
        if (offset, width) != (0, 32) {
            write!(self.f, ", {offset}, {width}")?;
        }
        self.f.write_str(")")
    }

    /// The generation that code is for, and its flags.
    pub(super) fn version(&mut self, value: u16) -> fmt::Result {
        const FLAGS: [(u16, &str); 3] = [
            (1 << 13, "UC_VERSION_W64_BIT"),
            (1 << 14, "UC_VERSION_W32_BIT"),
            (1 << 15, "UC_VERSION_MDP_BIT"),
        ];
        self.f.write_str(" ")?;
        if value & 0x1f00 != 0 {
            return write!(self.f, "{value:#x}");
        }
        let set = FLAGS.iter().filter(|(bit, _)| value & bit != 0).count();
        // LLVM builds a sum of terms from the left.
        self.f.write_str(&"(".repeat(set.saturating_sub(1)))?;
        match names::version(value & 0xff) {
            Some(name) => self.f.write_str(name)?,
            None => write!(self.f, "{}", value & 0xff)?,
        }
        for (index, (_, name)) in FLAGS.iter().filter(|(bit, _)| value & bit != 0).enumerate() {
            write!(self.f, "|{name}{}", if index + 1 < set { ")" } else { "" })?;
        }
        Ok(())
    }

    /// Which operands are indexed on gfx9.
    pub(super) fn gpr_index(&mut self, value: u16) -> fmt::Result {
        if value > 15 {
            return write!(self.f, "{value:#x}");
        }
        self.f.write_str("gpr_idx(")?;
        let mut comma = "";
        for (bit, name) in ["SRC0", "SRC1", "SRC2", "DST"].into_iter().enumerate() {
            if value >> bit & 1 != 0 {
                write!(self.f, "{comma}{name}")?;
                comma = ",";
            }
        }
        self.f.write_str(")")
    }

    pub(super) fn swizzle(&mut self, value: u16) -> fmt::Result {
        if value == 0 {
            return Ok(());
        }
        self.f.write_str(" offset:")?;
        match value {
            0xe000.. => return write!(self.f, "swizzle(FFT,{})", value & 31),
            0xc000..=0xdfff => {
                return write!(self.f, "swizzle(ROTATE,{},{})", value >> 10 & 1, value >> 5 & 31);
            }
            0x8100..=0xbfff => return write!(self.f, "{value}"),
            0x8000..=0x80ff => {
                let lane = |index: u16| value >> (2 * index) & 3;
                return write!(self.f, "swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
            }
            _ => {}
        }
        let (and, or, xor) = (value & 31, value >> 5 & 31, value >> 10 & 31);
        if and == 31 && or == 0 && xor.is_power_of_two() {
            return write!(self.f, "swizzle(SWAP,{xor})");
        }
        if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
            return write!(self.f, "swizzle(REVERSE,{})", xor + 1);
        }
        let group = 32 - and;
        if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
            return write!(self.f, "swizzle(BROADCAST,{group},{or})");
        }
        self.f.write_str("swizzle(BITMASK_PERM,\"")?;
        for bit in (0..5).rev() {
            let after = |lane: u16| ((lane & and) | or) ^ xor;
            let (of_zero, of_one) = (after(0) >> bit & 1, after(31) >> bit & 1);
            self.f.write_str(match (of_zero, of_one) {
                (0, 0) => "0",
                (1, 1) => "1",
                (0, _) => "p",
                _ => "i",
            })?;
        }
        self.f.write_str("\")")
    }

    pub(super) fn buffer_format(&mut self) -> fmt::Result {
        let format = self.inst.mem.format;
        if !self.generation.is_cdna() {
            return match format::name(self.generation, format) {
                _ if format == 1 => Ok(()),
                Some(name) => write!(self.f, " format:[{name}]"),
                None => write!(self.f, " format:{format}"),
            };
        }
        let (data, number) = (usize::from(format & 15), usize::from(format >> 4));
        match (data, number) {
            (1, 0) => Ok(()),
            (_, 0) => write!(self.f, " format:[{}]", format::DATA_NAMES[data]),
            (1, _) => write!(self.f, " format:[{}]", format::NUMBER_NAMES[number]),
            _ => write!(self.f, " format:[{},{}]", format::DATA_NAMES[data], format::NUMBER_NAMES[number]),
        }
    }

    /// Cache scope and temporal hint of gfx12.
    pub(super) fn scope_and_hint(&mut self) -> fmt::Result {
        let (mem, op) = (self.inst.mem, self.inst.op);
        let kind = match op.signature().src[1].exists() {
            _ if op.is_atomic() => Access::Atomic,
            true => Access::Store,
            false => Access::Load,
        };
        self.scope_and_hint_of(kind, mem.temporal, mem.scope)
    }

    pub(super) fn scope_and_hint_of(&mut self, kind: Access, hint: u8, scope: u8) -> fmt::Result {
        let name = match (hint, kind) {
            (1, Access::Atomic) => "RETURN",
            (2, Access::Atomic) => "NT",
            (3, Access::Atomic) => "NT_RETURN",
            (4 | 5, Access::Atomic) if scope >= 2 => "CASCADE_RT",
            (6 | 7, Access::Atomic) if scope >= 2 => "CASCADE_NT",
            (_, Access::Atomic) => "",
            (1, _) => "NT",
            (2, _) => "HT",
            (3, _) if scope == 3 => "BYPASS",
            (3, Access::Store) => "WB",
            (3, Access::Load) => "LU",
            (4, _) => "NT_RT",
            (5, _) => "RT_NT",
            (6, _) => "NT_HT",
            (7, Access::Store) => "NT_WB",
            _ => "",
        };
        let prefix = match kind {
            Access::Load => "LOAD",
            Access::Store => "STORE",
            Access::Atomic => "ATOMIC",
        };
        match (name, kind) {
            _ if hint == 0 => {}
            ("", Access::Load) => write!(self.f, " th:{hint:#x}")?,
            ("", _) => write!(self.f, " th:TH_{prefix}_{hint:#x}")?,
            (name, _) => write!(self.f, " th:TH_{prefix}_{name}")?,
        }
        self.f.write_str(["", " scope:SCOPE_SE", " scope:SCOPE_DEV", " scope:SCOPE_SYS"][usize::from(scope)])
    }
}

/// What an instruction does to memory, which decides the names of temporal hints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Load,
    Store,
    Atomic,
}
