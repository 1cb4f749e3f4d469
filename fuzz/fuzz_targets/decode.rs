//! Any bytes: the decoder returns an error or an instruction, never reads past it, and prints it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vgpu::isa::{Inst, Isa, Register, decode, decode_wave64, scalar};

type Decode = fn(Isa, &[u8]) -> Result<Inst, vgpu::isa::DecodeError>;

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, code)) = bytes.split_first() else { return };
    let isa = Isa::ALL[usize::from(first) % Isa::ALL.len()];
    for (wave64, decode) in [(false, decode as Decode), (true, decode_wave64)] {
        let Ok(inst) = decode(isa, code) else { continue };
        let size = usize::from(inst.size);
        assert!(size % 4 == 0 && (4..=20).contains(&size) && size <= code.len());
        assert_eq!(decode(isa, &code[..size]), Ok(inst));
        assert!(!inst.text(isa).to_string().is_empty());
        assert!(!inst.text(isa).wave64().to_string().is_empty());
        let registers = inst.registers(if wave64 { 64 } else { 32 });
        for span in registers.read.iter().chain(&registers.written) {
            assert!(!span.to_string().is_empty());
            let count = u32::from(span.count);
            match span.first {
                // NULL is zero at every width.
                Register::Scalar(scalar::NULL) | Register::Scc => {}
                Register::Scalar(first) => assert!(u32::from(first) + count <= 128, "{inst:?}"),
                Register::Vector(first) => assert!(u32::from(first) % 256 + count <= 256, "{inst:?}"),
            }
        }
    }
});
