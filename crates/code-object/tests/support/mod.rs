//! Code objects for tests: a synthetic one that needs no compiler, and real ones if clang is installed.
#![allow(dead_code, reason = "the tests of the virtual GPU and the fuzz targets use a part of it")]

use std::path::Path;

use serde_json::{Value, json};
use test_skip::{Lack, skip};

/// Where the parts of the synthetic code object are, for tests that change them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) program_headers: usize,
    pub(crate) section_headers: usize,
    pub(crate) note: usize,
    pub(crate) dynsym: usize,
    pub(crate) rela: usize,
    pub(crate) descriptor: usize,
}

/// The synthetic code object, part by part.
#[derive(Clone, Debug)]
pub(crate) struct Synthetic {
    pub(crate) abi_version: u8,
    pub(crate) flags: u32,
    pub(crate) metadata: Value,
    /// MessagePack to write in place of `metadata`.
    pub(crate) raw_metadata: Option<Vec<u8>>,
    /// Metadata of more notes, after the first.
    pub(crate) further: Vec<Value>,
    /// Machine code, at most 4096 bytes.
    pub(crate) text: Vec<u8>,
    pub(crate) descriptor: [u8; 64],
    pub(crate) symbols: Vec<(&'static str, u64, u64, u8, u16)>,
    pub(crate) relocations: Vec<(u64, u32, u32, i64)>,
    pub(crate) places: Places,
}

/// Address of the kernel descriptor, of the code and of the writable data.
pub(crate) const DESCRIPTOR: u64 = 0x1000;
pub(crate) const CODE: u64 = 0x2000;
pub(crate) const DATA: u64 = 0x3000;

const OBJECT: u8 = 1 << 4 | 1;
const FUNC: u8 = 1 << 4 | 2;

pub(crate) fn kernel_metadata() -> Value {
    json!({
        ".name": "axpy", ".symbol": "axpy.kd", ".kernarg_segment_size": 24, ".kernarg_segment_align": 8,
        ".group_segment_fixed_size": 512, ".private_segment_fixed_size": 16, ".wavefront_size": 32,
        ".max_flat_workgroup_size": 256, ".reqd_workgroup_size": [64, 2, 1], ".sgpr_count": 9, ".vgpr_count": 5,
        ".sgpr_spill_count": 1, ".vgpr_spill_count": 2, ".uses_dynamic_stack": false,
        ".uniform_work_group_size": 1, ".language": "OpenCL C", ".language_version": [2, 0],
        ".args": [
            {".name": "y", ".type_name": "float*", ".offset": 0, ".size": 8, ".value_kind": "global_buffer",
             ".address_space": "global", ".actual_access": "read_write"},
            {".offset": 8, ".size": 4, ".value_kind": "by_value"},
            {".offset": 12, ".size": 4, ".value_kind": "hidden_block_count_x"},
            {".offset": 16, ".size": 2, ".value_kind": "hidden_group_size_x"},
            {".offset": 18, ".size": 2, ".value_kind": "hidden_of_the_future"},
        ],
    })
}

impl Default for Synthetic {
    fn default() -> Self {
        let mut descriptor = [0u8; 64];
        descriptor[0..4].copy_from_slice(&512u32.to_le_bytes());
        descriptor[16..24].copy_from_slice(&(CODE as i64 - DESCRIPTOR as i64).to_le_bytes());
        descriptor[56..58].copy_from_slice(&(1u16 << 10 | 1 << 3).to_le_bytes());
        Self {
            abi_version: 3,
            flags: 0x41,
            raw_metadata: None,
            further: Vec::new(),
            // s_endpgm, s_code_end
            text: vec![0x00, 0x00, 0xb0, 0xbf, 0x00, 0x00, 0x9f, 0xbf],
            descriptor,
            metadata: json!({
                "amdhsa.version": [1, 2],
                "amdhsa.target": "amdgcn-amd-amdhsa--gfx1100",
                "amdhsa.kernels": [kernel_metadata()],
                "amdhsa.printf": ["unknown to us"],
            }),
            symbols: vec![
                ("axpy.kd", DESCRIPTOR, 64, OBJECT, 1),
                ("axpy", CODE, 8, FUNC, 2),
                ("table", DATA, 16, OBJECT, 3),
                ("elsewhere", 0, 0, 1 << 4, 0),
            ],
            relocations: vec![(DATA, 13, 0, CODE as i64), (DATA + 8, 3, 3, 4)],
            places: Places::default(),
        }
    }
}

fn align(out: &mut Vec<u8>, to: usize) -> usize {
    out.resize(out.len().next_multiple_of(to), 0);
    out.len()
}

impl Synthetic {
    pub(crate) fn kernel(&mut self) -> &mut Value {
        &mut self.metadata["amdhsa.kernels"][0]
    }

    pub(crate) fn build(&mut self) -> Vec<u8> {
        let mut out = vec![0u8; 64];
        self.places.program_headers = out.len();
        out.resize(out.len() + 5 * 56, 0);

        let note = out.len();
        let description =
            self.raw_metadata.clone().unwrap_or_else(|| rmp_serde::to_vec_named(&self.metadata).unwrap());
        let further = self.further.iter().map(|metadata| rmp_serde::to_vec_named(metadata).unwrap());
        for (index, description) in std::iter::once(description).chain(further).enumerate() {
            for word in [7, description.len() as u32, 32] {
                out.extend_from_slice(&word.to_le_bytes());
            }
            out.extend_from_slice(b"AMDGPU\0\0");
            if index == 0 {
                self.places.note = out.len();
            }
            out.extend_from_slice(&description);
            align(&mut out, 4);
        }
        let note_size = out.len() - note;
        align(&mut out, 8);

        let (mut strings, dynsym) = (vec![0u8], out.len());
        self.places.dynsym = dynsym;
        out.resize(out.len() + 24, 0);
        for &(name, value, size, info, section) in &self.symbols {
            out.extend_from_slice(&(strings.len() as u32).to_le_bytes());
            out.extend_from_slice(&[info, 0]);
            out.extend_from_slice(&section.to_le_bytes());
            out.extend_from_slice(&value.to_le_bytes());
            out.extend_from_slice(&size.to_le_bytes());
            strings.extend_from_slice(name.as_bytes());
            strings.push(0);
        }
        let (dynsym_size, dynstr) = (out.len() - dynsym, out.len());
        out.extend_from_slice(&strings);

        let rela = align(&mut out, 8);
        self.places.rela = rela;
        for &(offset, kind, symbol, addend) in &self.relocations {
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&(u64::from(symbol) << 32 | u64::from(kind)).to_le_bytes());
            out.extend_from_slice(&addend.to_le_bytes());
        }
        let rela_size = out.len() - rela;

        let rodata = align(&mut out, 64);
        self.places.descriptor = rodata;
        out.extend_from_slice(&self.descriptor);
        let (text, text_size) = (align(&mut out, 64), self.text.len());
        assert!(text_size as u64 <= DATA - CODE, "no room for the code");
        out.extend_from_slice(&self.text);
        let data = align(&mut out, 64);
        out.extend_from_slice(&[0; 16]);
        let section_strings = out.len();
        out.push(0);
        self.places.section_headers = align(&mut out, 8);

        let mut section =
            |kind: u32, flags: u64, addr: u64, offset: usize, size: usize, link: u32, entry: u64| {
                out.extend_from_slice(&0u32.to_le_bytes());
                out.extend_from_slice(&kind.to_le_bytes());
                for word in [flags, addr, offset as u64, size as u64] {
                    out.extend_from_slice(&word.to_le_bytes());
                }
                out.extend_from_slice(&link.to_le_bytes());
                out.extend_from_slice(&0u32.to_le_bytes());
                out.extend_from_slice(&8u64.to_le_bytes());
                out.extend_from_slice(&entry.to_le_bytes());
            };
        section(0, 0, 0, 0, 0, 0, 0);
        section(1, 2, DESCRIPTOR, rodata, 64, 0, 0);
        section(1, 6, CODE, text, text_size, 0, 0);
        section(1, 3, DATA, data, 16, 0, 0);
        section(11, 2, 0, dynsym, dynsym_size, 5, 24);
        section(3, 2, 0, dynstr, strings.len(), 0, 0);
        section(4, 2, 0, rela, rela_size, 4, 24);
        section(3, 0, 0, section_strings, 1, 0, 0);
        section(8, 3, DATA + 16, data + 16, 240, 0, 0);

        let mut at = self.places.program_headers;
        let mut program =
            |kind: u32, flags: u32, offset: usize, vaddr: u64, file: usize, mem: u64, align: u64| {
                out[at..at + 4].copy_from_slice(&kind.to_le_bytes());
                out[at + 4..at + 8].copy_from_slice(&flags.to_le_bytes());
                for (i, word) in
                    [offset as u64, vaddr, vaddr, file as u64, mem, align].into_iter().enumerate()
                {
                    out[at + 8 + i * 8..at + 16 + i * 8].copy_from_slice(&word.to_le_bytes());
                }
                at += 56;
            };
        program(1, 4, rodata, DESCRIPTOR, 64, 64, 64);
        program(1, 5, text, CODE, text_size, text_size as u64, 256);
        program(1, 6, data, DATA, 16, 256, 64);
        program(4, 4, note, 0, note_size, note_size as u64, 4);
        // PT_GNU_STACK, which is never loaded.
        program(0x6474_e551, 6, 0, 0, 0, 0, 16);

        out[..20].copy_from_slice(&[
            0x7f,
            b'E',
            b'L',
            b'F',
            2,
            1,
            1,
            64,
            self.abi_version,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            3,
            0,
            224,
            0,
        ]);
        out[20] = 1;
        out[32..40].copy_from_slice(&(self.places.program_headers as u64).to_le_bytes());
        out[40..48].copy_from_slice(&(self.places.section_headers as u64).to_le_bytes());
        out[48..52].copy_from_slice(&self.flags.to_le_bytes());
        for (i, half) in [64u16, 56, 5, 64, 9, 7].into_iter().enumerate() {
            out[52 + i * 2..54 + i * 2].copy_from_slice(&half.to_le_bytes());
        }
        out
    }
}

/// The length that AMD's HIP runtime computes for a file at an address: up to the section that begins last,
/// or the table of sections. It uses the entry size of the format, whatever the header says. `None` if it
/// reads behind the end to find out.
pub(crate) fn counted_as_amd_does(file: &[u8]) -> Option<usize> {
    let word = |at: usize| Some(u64::from_le_bytes(*file.get(at..)?.first_chunk()?));
    let half = |at: usize| Some(u64::from(u16::from_le_bytes(*file.get(at..)?.first_chunk()?)));
    let table = word(40)?;
    let (size, count) = (half(58)?, half(60)?);
    let (mut last, mut end) = (table, table.checked_add(size * count)?);
    for index in 0..count {
        let section = usize::try_from(table.checked_add(index * 64)?).ok()?;
        let kind = u32::from_le_bytes(*file.get(section.checked_add(4)?..)?.first_chunk()?);
        let (offset, size) = (word(section.checked_add(24)?)?, word(section.checked_add(32)?)?);
        if last < offset {
            last = offset;
            end = if kind == 8 { offset } else { offset.checked_add(size)? };
        }
    }
    usize::try_from(end).ok()
}

/// Compiles OpenCL C without headers or libraries; `None` if clang is missing.
pub(crate) fn compile(folder: &Path, source: &str, target: &str, version: u8) -> Option<Vec<u8>> {
    let toolchain = device_compiler::toolchain::find().inspect_err(|error| skip(Lack::Tool, error)).ok()?;
    let (input, output) = (folder.join("source.cl"), folder.join("object.hsaco"));
    std::fs::write(&input, source).unwrap();
    let run = toolchain
        .command()
        .args([
            "-Wno-unused-command-line-argument",
            "-x",
            "cl",
            "-cl-std=CL2.0",
            "-target",
            "amdgcn-amd-amdhsa",
            "-nogpulib",
            "-O2",
        ])
        .arg(format!("-mcpu={target}"))
        .arg(format!("-mcode-object-version={version}"))
        .arg("-o")
        .args([&output, &input])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(std::fs::read(&output).unwrap())
}
