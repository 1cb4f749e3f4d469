//! Listings of code objects, compared with llvm-objdump's.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use code_object::CodeObject;
use vgpu_isa::{Isa, Listed, listing};

/// llvm-objdump of LLVM 22 or later, if installed.
pub(crate) fn llvm_objdump() -> Option<PathBuf> {
    llvm_tool("llvm-objdump")
}

/// A tool of LLVM 22 or later, if installed: next to the compiler that would be used, or on `PATH`.
pub(crate) fn llvm_tool(name: &str) -> Option<PathBuf> {
    let mut candidates = Vec::new();
    if let Ok(toolchain) = kernel_build::toolchain::find() {
        let clang = toolchain.clang.canonicalize().unwrap_or(toolchain.clang);
        candidates.extend(clang.parent().map(|folder| folder.join(name)));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    candidates.extend(std::env::split_paths(&folders).map(|folder| folder.join(format!("{name}-22"))));
    candidates.into_iter().find(|path| path.is_file())
}

/// Lists a code object of a target that can be decoded, and compares the listing with llvm-objdump's. `place`
/// is where to write the object for it.
///
/// # Errors
/// It is not a code object, or a line differs; names the first such line.
pub(crate) fn check(bytes: &[u8], tool: Option<&Path>, place: &Path) -> Result<Listed, String> {
    let object = CodeObject::parse(bytes).map_err(|e| e.to_string())?;
    let mut text = String::new();
    let listed = listing(bytes, &mut text).map_err(|e| e.to_string())?;
    let Some(tool) = tool else { return Ok(listed) };
    std::fs::write(place, bytes).map_err(|e| format!("{}: {e}", place.display()))?;
    let gfx9 = Isa::by_name(&object.target().processor).is_some_and(Isa::is_gfx9);
    let wave64 = !gfx9 && object.kernels().iter().all(|kernel| kernel.wavefront_size == 64);
    match difference(tool, place, wave64 && !object.kernels().is_empty(), &text) {
        Some(found) => Err(found),
        None => Ok(listed),
    }
}

/// The first line in which llvm-objdump's listing of a file differs.
fn difference(tool: &Path, file: &Path, wave64: bool, ours: &str) -> Option<String> {
    let mut command = Command::new(tool);
    command.arg("-d").arg(file).stdout(Stdio::piped());
    if wave64 {
        command.arg("--mattr=+wavefrontsize64");
    }
    let mut child = command.spawn().expect("llvm-objdump starts");
    let mut theirs = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    // An empty line, and the name and the format of the file.
    let heading: Vec<_> = theirs.by_ref().take(2).collect::<Result<_, _>>().expect("read");
    assert!(heading.len() == 2 && heading[1].contains("file format elf64-amdgpu"), "{heading:?}");
    let mut ours = ours.lines();
    let found = loop {
        let line = theirs.next().transpose().expect("read");
        match (line, ours.next()) {
            (None, None) => break None,
            (Some(line), Some(here)) if without_warning(&line) == here.trim_end() => {}
            (line, here) => break Some(format!("LLVM {line:?}\nhere {here:?}")),
        }
    };
    // It may still be writing.
    drop(theirs);
    let _ = child.wait();
    found
}

/// A line without LLVM's remark on misaligned registers, which it lists as the aligned ones.
fn without_warning(line: &str) -> &str {
    line.split_once(" ; Warning: ").map_or(line, |(listed, _)| listed).trim_end()
}
