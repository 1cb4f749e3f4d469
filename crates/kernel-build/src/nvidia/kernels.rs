//! The kernels in NVIDIA's files.

use object::LittleEndian;
use object::elf::{FileHeader64, SHT_SYMTAB, STB_LOCAL, STT_FUNC};
use object::read::elf::{FileHeader as _, Sym as _};

/// NVIDIA's machine in ELF headers.
const EM_CUDA: u16 = 190;
/// In a symbol's `st_other`: the function is a kernel.
const STO_CUDA_ENTRY: u8 = 0x10;

/// The kernels that a program can look up in a PTX text, sorted.
///
/// # Errors
/// The bytes are not PTX.
pub(super) fn of_ptx(bytes: &[u8]) -> Result<Vec<String>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    let mut lines = text.lines().map(str::trim).peekable();
    let header = [".version ", ".target "];
    if !header.iter().all(|directive| lines.any(|line| line.starts_with(directive))) {
        return Err("it is not PTX: it has no `.version` and `.target`".into());
    }
    let name = |line: &str| {
        let entry = line.strip_prefix(".visible ").or_else(|| line.strip_prefix(".weak "))?;
        let name = entry.strip_prefix(".entry ")?.trim_start();
        Some(name.split(['(', ' ', '{']).next().unwrap_or(name).to_owned())
    };
    Ok(sorted(lines.filter_map(name).collect()))
}

/// The same for a cubin.
///
/// # Errors
/// The bytes are not a cubin.
pub(super) fn of_cubin(bytes: &[u8]) -> Result<Vec<String>, String> {
    let bad = |error: object::Error| format!("it is not a cubin: {error}");
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(bad)?;
    let machine = header.e_machine.get(LittleEndian);
    if machine != EM_CUDA {
        return Err(format!("it is not a cubin: its machine is {machine}, not {EM_CUDA}"));
    }
    let sections = header.sections(LittleEndian, bytes).map_err(bad)?;
    let symbols = sections.symbols(LittleEndian, bytes, SHT_SYMTAB).map_err(bad)?;
    let mut names = Vec::new();
    for symbol in symbols.iter() {
        let is_kernel = symbol.st_type() == STT_FUNC && symbol.st_other() & STO_CUDA_ENTRY != 0;
        if is_kernel && symbol.st_bind() != STB_LOCAL {
            let name = symbols.symbol_name(LittleEndian, symbol).map_err(bad)?;
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(sorted(names))
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_ptx_are_its_visible_entries() {
        let text = "//\n// Generated\n.version 9.0\n.target sm_80\n.address_size 64\n\n\
            \t// .globl\tb\n.visible .func (.param .b32 r) f()\n{ }\n.visible .entry b(\n\t.param .u64 p\n)\n{ ret; }\n\
            .weak .entry _Z1aIfEvv()\n{ ret; }\n.entry hidden()\n{ ret; }\n";
        assert_eq!(of_ptx(text.as_bytes()).unwrap(), ["_Z1aIfEvv", "b"]);
        assert!(of_ptx(b"hello\n").unwrap_err().contains("not PTX"));
        assert_eq!(of_ptx(b"\xff").unwrap_err(), "it is not text");
    }

    /// An ELF file of a machine with these symbols: name, `st_info`, `st_other`.
    fn elf(machine: u16, symbols: &[(&str, u8, u8)]) -> Vec<u8> {
        let mut names = vec![0];
        let mut table = vec![0; 24];
        for (name, info, other) in symbols {
            table.extend((names.len() as u32).to_le_bytes());
            table.extend([*info, *other, 1, 0]);
            table.extend([0; 16]);
            names.extend(name.as_bytes());
            names.push(0);
        }
        let sections = 64 + table.len() + names.len();
        let mut file = b"\x7fELF\x02\x01\x01\x33".to_vec();
        file.resize(16, 0);
        file.extend([2, 0]);
        file.extend(machine.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        file.extend([0; 16]);
        file.extend((sections as u64).to_le_bytes());
        file.extend([0; 4]);
        for half in [64_u16, 0, 0, 64, 3, 2] {
            file.extend(half.to_le_bytes());
        }
        file.extend(&table);
        file.extend(&names);
        file.resize(sections + 64, 0);
        // Type, place, size, string table, size of an entry.
        for (kind, at, size, link, entry) in
            [(2_u32, 64, table.len(), 2_u32, 24_u64), (3, 64 + table.len(), names.len(), 0, 0)]
        {
            file.extend([0; 4]);
            file.extend(kind.to_le_bytes());
            file.extend([0; 16]);
            file.extend((at as u64).to_le_bytes());
            file.extend((size as u64).to_le_bytes());
            file.extend(link.to_le_bytes());
            file.extend([0; 12]);
            file.extend(entry.to_le_bytes());
        }
        file
    }

    #[test]
    fn kernels_of_a_cubin_are_its_global_entries() {
        let symbols =
            [("b", 0x12, 0x10), ("a", 0x22, 0x10), ("f", 0x12, 0), ("hidden", 0x02, 0x10), ("v", 0x11, 0)];
        assert_eq!(of_cubin(&elf(EM_CUDA, &symbols)).unwrap(), ["a", "b"]);
        assert_eq!(of_cubin(&elf(EM_CUDA, &[])).unwrap(), [""; 0]);
        let other = of_cubin(&elf(224, &symbols)).unwrap_err();
        assert_eq!(other, "it is not a cubin: its machine is 224, not 190");
        let whole = elf(EM_CUDA, &symbols);
        for length in 0..whole.len() - 64 {
            assert!(of_cubin(&whole[..length]).is_err(), "{length}");
        }
    }
}
