//! Any bytes: the decoder returns an error or an instruction, never reads past it, and prints it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vgpu::isa::{Isa, Operand, decode};

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, code)) = bytes.split_first() else { return };
    let isa = Isa::ALL[usize::from(first) % Isa::ALL.len()];
    let Ok(inst) = decode(isa, code) else { return };
    let size = usize::from(inst.size);
    assert!(size % 4 == 0 && (4..=20).contains(&size) && size <= code.len());
    assert_eq!(decode(isa, &code[..size]), Ok(inst));
    assert!(!inst.text(isa).to_string().is_empty());
    assert!(!inst.text(isa).wave64().to_string().is_empty());
    let signature = inst.op.signature();
    for (operand, of) in inst.src.into_iter().zip(signature.src).chain([(inst.dst, signature.dst)]) {
        if let Operand::Sgpr(slot) = operand {
            assert!(slot < 128);
            assert!(u32::from(slot) + of.dwords() <= 128 || of.elem == vgpu::isa::Elem::Mask);
        }
    }
});
