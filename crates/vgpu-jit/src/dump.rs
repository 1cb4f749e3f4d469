//! Files with the code that was compiled, for those who work on the compiler.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use vgpu_exec::native::{Kind, Source, Step};

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Writes all code that is compiled from now on to files in a folder: `PROCESS-NUMBER.bin` has the native
/// code, and `PROCESS-NUMBER.txt` says where the code of each step begins. The first folder stays.
pub fn dump_to(folder: PathBuf) {
    FOLDER.get_or_init(|| folder);
}

/// What the code from each offset on does, in the order of its emission; nothing unless code is dumped.
#[derive(Debug)]
pub(crate) struct Listing(Option<Vec<(usize, String)>>);

impl Listing {
    pub(crate) fn new() -> Listing {
        Listing(FOLDER.get().map(|_| Vec::new()))
    }

    /// Adds a line, which is made only if somebody reads it.
    pub(crate) fn add(&mut self, at: usize, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.0 {
            lines.push((at, line()));
        }
    }

    /// Writes the files. Errors are printed: the code is fine without them.
    pub(crate) fn write(&self, title: &str, code: &[u8], address: *const u8) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (Some(folder), Some(lines)) = (FOLDER.get(), &self.0) else { return };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut text = format!("{title}, {} bytes at {address:p}\n", code.len());
        for (at, line) in lines {
            let _ = writeln!(text, "{at:#08x} {line}");
        }
        let name = format!("{}-{number}", std::process::id());
        let written = write(folder, &name, text.as_bytes(), code);
        if let Err(error) = written {
            eprintln!("ferrocm: native code was not dumped to {}: {error}", folder.display());
        }
    }
}

fn write(folder: &Path, name: &str, text: &[u8], code: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(format!("{name}.txt")), text)?;
    std::fs::write(folder.join(format!("{name}.bin")), code)
}

/// A step as a line: its number, what it does, its destination and its sources.
pub(crate) fn line(number: u32, step: &Step) -> String {
    let mut text = match step.kind {
        Kind::Operation(op) => format!("{number} {op:?}"),
        kind => format!("{number} {kind:?}"),
    };
    let _ = match step.dst {
        Some(register) if step.written != [0; 2] => write!(text, " v{register} ="),
        _ => write!(text, " s{} =", step.scalar),
    };
    for source in step.src {
        let _ = match source {
            Source::Vector(register) => write!(text, " v{register}"),
            Source::Scalar(slot) => write!(text, " s{slot}"),
            Source::Constant(value) => write!(text, " {value:#x}"),
            Source::Other => Ok(()),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compiled_is_written_to_files() {
        let folder = std::env::temp_dir().join(format!("vgpu-jit-dump-{}", std::process::id()));
        let listing = Listing(Some(vec![(0, "start".into()), (16, "0 VAddU32 v1 = v2 v3".into())]));
        FOLDER.get_or_init(|| folder.clone());
        listing.write("waves of 32", &[0xc3], [0u8; 1].as_ptr());
        let texts: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(texts.iter().any(|text| text.starts_with("waves of 32, 1 bytes at 0x")
            && text.ends_with("0x000000 start\n0x000010 0 VAddU32 v1 = v2 v3\n")));
    }
}
