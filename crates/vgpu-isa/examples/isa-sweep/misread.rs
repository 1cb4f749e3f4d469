//! What LLVM prints where its disassembler takes the fields of DPP instructions for one another.
//!
//! It reads codes of constants by the position of an operand, and some forms with DPP lack an operand that it
//! counts.

use vgpu_isa::{Dpp, Fact, Inst, Operand};

/// Stands for an operand in a text. No encoding of the sweep has it for a literal.
const PLACEHOLDER: (i32, &str) = (0x7e57_7e57, "0x7e577e57");

/// The texts that LLVM prints instead of `inst`'s if it misreads it; `print` is how an instruction is
/// printed.
pub(crate) fn texts(inst: &Inst, print: impl Fn(&Inst) -> String) -> Vec<String> {
    let Some(dpp) = inst.dpp else { return Vec::new() };
    let plain = print(inst);
    let mut texts = vec![plain.clone()];
    if let Some(code) = code(inst.src[1]).filter(|_| inst.op.has(Fact::ACCUMULATES)) {
        // Sums: the code of a constant is printed, and a literal is not read.
        let mut other = *inst;
        other.src[1] = Operand::Imm(code);
        texts.push(print(&other));
    } else if let Some(index) = inst.src.iter().position(|source| matches!(source, Operand::Literal(_))) {
        // Others: a literal has the type of the operand before, which decides whether it is marked, and its
        // length.
        let Operand::Literal(value) = inst.src[index] else { return Vec::new() };
        let mut other = *inst;
        for source in other.src.iter_mut().filter(|source| matches!(source, Operand::Literal(_))) {
            *source = Operand::Imm(PLACEHOLDER.0);
        }
        let text = print(&other);
        for form in [format!("lit({value:#x})"), format!("{value:#x}"), format!("{:#x}", value & 0xffff)] {
            texts.push(text.replace(PLACEHOLDER.1, &form));
        }
    }
    // The selectors, or the control, as the code of a constant.
    let controls: Vec<Inst> = match dpp {
        Dpp::Eight { selectors, fetch_inactive } => constants(selectors)
            .into_iter()
            .map(|selectors| Dpp::Eight { selectors: selectors & 0xff_ffff, fetch_inactive })
            .map(|dpp| Inst { dpp: Some(dpp), ..*inst })
            .collect(),
        Dpp::Row { ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive } => constants(ctrl.into())
            .into_iter()
            // Of what is no control, LLVM says so, as here.
            .map(|ctrl| u16::try_from(ctrl).ok().filter(|&ctrl| ctrl < 0x100).unwrap_or(0x1ff))
            .map(|ctrl| Dpp::Row { ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive })
            .map(|dpp| Inst { dpp: Some(dpp), ..*inst })
            .collect(),
    };
    texts.extend(controls.iter().map(print));
    texts.retain(|text| *text != plain);
    texts
}

/// The code of a constant as an operand.
fn code(operand: Operand) -> Option<i32> {
    match operand {
        Operand::Int(value @ 0..) => Some(128 + i32::from(value)),
        Operand::Int(value) => Some(192 - i32::from(value)),
        Operand::Float(code) => Some(code.into()),
        Operand::Literal(_) => Some(255),
        _ => None,
    }
}

/// What the code of a constant may be taken for: an integer, or the bits of a float of some type.
fn constants(code: u32) -> Vec<u32> {
    const F32: [u32; 9] = [
        0x3f00_0000,
        0xbf00_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x4000_0000,
        0xc000_0000,
        0x4080_0000,
        0xc080_0000,
        0x3e22_f983,
    ];
    const F16: [u32; 9] = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];
    match code {
        128..=192 => vec![code - 128],
        193..=208 => vec![192_u32.wrapping_sub(code)],
        240..=248 => {
            let index = code as usize - 240;
            vec![F32[index], F32[index] >> 16, F16[index]]
        }
        _ => Vec::new(),
    }
}
