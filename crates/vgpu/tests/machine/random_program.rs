//! Any bytes as a program: a code object for one of the instruction sets, with whatever instructions the
//! bytes decode to. Running it may end in a fault, and never in anything else. The fuzz target `program` uses
//! this file too.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use vgpu::isa::{Isa, Target, decode};
use vgpu::machine::{Device, Dispatch, DispatchError, Machine, MemoryKind};

use crate::synthetic::{CODE, DESCRIPTOR, Synthetic};

/// The ELF header's flags of code for the processor that an instruction set is named after, with any state of
/// its features.
fn flags(isa: Isa) -> u32 {
    let processor = Target::by_name(isa.name()).expect("a target").processor;
    processor.mach | u32::from(processor.xnack) << 8 | u32::from(processor.sramecc) << 10
}

/// Bytes of the buffer that the kernel gets.
const BUFFER: usize = 16 << 10;
/// The maximum code size in bytes; there is room for the end after it.
const LONGEST: usize = 4000;
/// The bytes that describe how the kernel is started, followed by those of each instruction.
const HEAD: usize = 8;
const RECORD: usize = 13;

fn device(which: usize) -> &'static Arc<Device> {
    static DEVICES: OnceLock<Vec<Arc<Device>>> = OnceLock::new();
    let devices = DEVICES.get_or_init(|| {
        let machine = Machine::global();
        let attach = |isa: &Isa| {
            let index = machine.attach(&isa.name().parse().expect("a target")).expect("a device");
            machine.device(index).expect("the device")
        };
        Isa::ALL.iter().map(attach).collect()
    });
    &devices[which]
}

/// Instructions from records of a control byte and twelve other bytes. The control byte may request changes
/// that make them more useful.
fn text(isa: Isa, records: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for record in records.chunks_exact(RECORD) {
        let (control, mut bytes) = (record[0], record[1..].to_vec());
        if control & 1 != 0 {
            // Low registers; for an address, the scalar pair that holds the buffer's.
            for byte in &mut bytes[4..8] {
                *byte &= 7;
            }
        }
        if control & 2 != 0 {
            bytes[1] &= 0xf0;
        }
        if control & 4 != 0 && bytes[3] == 0xbf {
            // Short jumps, forward and backward.
            bytes[0] = (bytes[0] as i8 / 16) as u8;
            bytes[1] = if bytes[0] & 0x80 != 0 { 0xff } else { 0 };
        }
        let Ok(inst) = decode(isa, &bytes) else { continue };
        let size = usize::from(inst.size);
        if text.len() + size > LONGEST {
            break;
        }
        text.extend_from_slice(&bytes[..size]);
    }
    text.extend_from_slice(if matches!(isa, Isa::Gfx1100 | Isa::Gfx1201) {
        &[0, 0, 0xb0, 0xbf]
    } else {
        &[0, 0, 0x81, 0xbf]
    });
    text
}

/// Runs the program that the bytes describe; none if there are too few.
pub(crate) fn run(bytes: &[u8]) -> Option<Result<(), DispatchError>> {
    let (head, records) = bytes.split_at_checked(HEAD)?;
    let which = usize::from(head[0]) % Isa::ALL.len();
    let isa = Isa::ALL[which];
    let wave32 = !isa.is_gfx9() && head[1] & 1 != 0;
    let mut object =
        Synthetic { abi_version: 3, flags: flags(isa), text: text(isa, records), ..Synthetic::default() };
    object.metadata["amdhsa.target"] = format!("amdgcn-amd-amdhsa--{}", isa.name()).into();
    object.symbols[1].2 = object.text.len() as u64;
    object.relocations.clear();
    let kernel = object.kernel();
    kernel[".wavefront_size"] = if wave32 { 32 } else { 64 }.into();
    kernel[".group_segment_fixed_size"] = (u32::from(head[2]) * 16).into();
    kernel.as_object_mut().expect("a map").remove(".reqd_workgroup_size");
    let mut descriptor = [0u8; 64];
    descriptor[0..4].copy_from_slice(&(u32::from(head[2]) * 16).to_le_bytes());
    descriptor[4..8].copy_from_slice(&u32::from(head[3]).to_le_bytes());
    descriptor[8..12].copy_from_slice(&24u32.to_le_bytes());
    descriptor[16..24].copy_from_slice(&(CODE as i64 - DESCRIPTOR as i64).to_le_bytes());
    // Registers, float mode, accumulation offset; scratch, two user SGPRs, workgroup ids, work-item ids.
    let (rsrc1, rsrc2) = (
        u32::from(head[4] & 31) | u32::from(head[5]) << 12 | 0xf << 20 & u32::from(head[6]) << 16,
        1u32 | 2 << 1 | 7 << 7 | 2 << 11,
    );
    descriptor[44..48]
        .copy_from_slice(&u32::from(if isa.is_gfx9() { head[7] & 63 } else { 0 }).to_le_bytes());
    descriptor[48..52].copy_from_slice(&rsrc1.to_le_bytes());
    descriptor[52..56].copy_from_slice(&rsrc2.to_le_bytes());
    descriptor[56..58].copy_from_slice(&(u16::from(wave32) << 10 | 1 << 3).to_le_bytes());
    object.descriptor = descriptor;

    let device = device(which);
    let code = device.load(&object.build(), &mut |_| Some(0)).expect("a valid code object");
    let memory = device.memory();
    let buffer =
        memory.allocate(BUFFER as u64, 256, MemoryKind::Coarse, Some(device.index())).expect("memory");
    let words: Vec<u64> = (0..BUFFER as u64 / 8)
        .map(|i| if i % 4 == 3 { i } else { buffer + 64 * i % BUFFER as u64 })
        .collect();
    // SAFETY: the allocation has as many bytes, and nobody else knows it.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), buffer as *mut u64, words.len()) };
    let dispatch = Dispatch {
        kernel_object: code.kernel_object("axpy").expect("the kernel"),
        grid: [96, 2, 1],
        workgroup: [48, 1, 1],
        kernarg: buffer,
        group_segment_size: u32::from(head[2]) * 16,
        private_segment_size: u32::from(head[3]),
        timeout: Some(Duration::from_millis(40)),
        ..Dispatch::default()
    };
    // SAFETY: nothing on the host refers to memory that the machine knows.
    let result = unsafe { device.dispatch(&dispatch) };
    if let Err(error) = &result {
        // Reporting the fault must not fail either.
        assert!(!error.to_string().is_empty());
    }
    // SAFETY: nobody else knows the address.
    unsafe { memory.free(buffer) }.expect("memory that is still there");
    Some(result.map(|_| ()))
}
