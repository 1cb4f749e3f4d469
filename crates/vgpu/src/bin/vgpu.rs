//! Command-line tool of the virtual GPU.
//!
//! `vgpu disasm FILE` prints the machine code of a code object. `vgpu decode TARGET` prints the machine code
//! given as hexadecimal text on standard input. `vgpu occupancy FILE` prints how many waves of each kernel
//! fit on a device at once.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use code_object::CodeObject;
use vgpu::isa::{Isa, decode, listing};
use vgpu::machine::{Occupancy, Target};

const USAGE: &str = "\
usage:
  vgpu disasm FILE     print the instructions of an AMDGPU code object, as llvm-objdump -d does
  vgpu decode TARGET   print the instructions in the hexadecimal bytes on standard input, one line each
                       (TARGET: a processor, such as gfx1100)
  vgpu occupancy FILE [SIZE]
                       print how many waves of each kernel of a code object a SIMD unit holds, and what limits them,
                       in workgroups of SIZE work-items (else the largest that the kernel permits)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["disasm", file] => disassemble(file),
        ["decode", target] => decode_input(target),
        ["occupancy", file] => occupancy(file, None),
        ["occupancy", file, size] => occupancy(file, Some(size)),
        ["help" | "--help" | "-h"] => Ok(USAGE.to_owned()),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(text) => {
            // It is not an error if the reader stops early (`| head`).
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("vgpu: {message}");
            ExitCode::FAILURE
        }
    }
}

fn instruction_set(name: &str) -> Result<Isa, String> {
    Isa::by_name(name).ok_or_else(|| format!("cannot decode {name}; only {}", Target::names()))
}

fn disassemble(file: &str) -> Result<String, String> {
    let bytes = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let mut text = format!("\n{file}:\tfile format elf64-amdgpu\n");
    listing(&bytes, &mut text).map_err(|e| format!("{file}: {e}"))?;
    Ok(text)
}

fn occupancy(file: &str, size: Option<&str>) -> Result<String, String> {
    let bytes = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let object = CodeObject::parse(&bytes).map_err(|e| format!("{file}: {e}"))?;
    let processor = &object.target().processor;
    let target = Target::by_name(processor).ok_or_else(|| format!("unknown processor {processor}"))?;
    let asked = match size {
        None => None,
        Some(size) => match size.parse::<u32>() {
            Ok(size) if (1..=target.limits.max_workgroup_size).contains(&size) => Some(size),
            _ => {
                return Err(format!(
                    "bad workgroup size {size}: must be 1 to {}",
                    target.limits.max_workgroup_size
                ));
            }
        },
    };
    let mut text = String::new();
    for kernel in object.kernels() {
        let largest = match kernel.max_flat_workgroup_size {
            0 => target.limits.max_workgroup_size,
            size => size,
        };
        let lds = kernel.group_segment_size;
        let resources = target.resources(&kernel.descriptor, asked.unwrap_or(largest), lds);
        let _ = writeln!(text, "{}: {}", kernel.name, Occupancy::new(&target.limits.unit, resources));
    }
    Ok(text)
}

fn decode_input(target: &str) -> Result<String, String> {
    let isa = instruction_set(target)?;
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).map_err(|e| format!("standard input: {e}"))?;
    let mut text = String::new();
    for (index, line) in input.lines().enumerate() {
        let digits: Vec<u8> = line
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .map(|byte| char::from(byte).to_digit(16).map(|digit| digit as u8))
            .collect::<Option<_>>()
            .filter(|digits: &Vec<u8>| digits.len().is_multiple_of(2))
            .ok_or_else(|| format!("line {}: expected pairs of hexadecimal digits", index + 1))?;
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match decode(isa, rest) {
                Ok(inst) => {
                    let _ = writeln!(text, "{}", inst.text(isa));
                    rest = &rest[usize::from(inst.size)..];
                }
                Err(error) => {
                    let _ = writeln!(text, "<{error}>");
                    rest = &rest[4.min(rest.len())..];
                }
            }
        }
    }
    Ok(text)
}
