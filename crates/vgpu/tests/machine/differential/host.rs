//! The same programs, compiled for this CPU.

use std::path::Path;
use std::process::Command;

use kernel_build::toolchain::Toolchain;
use libloading::{Library, Symbol};

use super::generate::{ITEM_BYTES, Program, SHARED_WORDS};
use super::{Left, input, shared};

/// Runs one workgroup. The arguments are the input, the output, the atomic variables, the workgroup's number
/// and its size.
type Run = unsafe extern "C" fn(*const u32, *mut u8, *mut u64, u32, u32);

/// Compiled programs.
pub(super) struct Host {
    libraries: Vec<Library>,
}

impl Host {
    /// Compiles all programs in a folder, or returns why this is impossible here.
    pub(super) fn build(toolchain: &Toolchain, folder: &Path) -> Result<Host, String> {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            return Err("programs are compiled for x86-64 Linux only".to_owned());
        }
        #[cfg(target_arch = "x86_64")]
        if !(is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")) {
            // Without these, the compiler calls library functions for f16 and fused multiplication.
            return Err("this CPU has no FMA and F16C".to_owned());
        }
        let mut sources: Vec<_> = std::fs::read_dir(folder)
            .map_err(|error| error.to_string())?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
            .collect();
        sources.sort();
        let mut libraries = Vec::new();
        for source in sources {
            let (object, library) = (source.with_extension("o"), source.with_extension("so"));
            let mut compile = Command::new(&toolchain.clang);
            // `-O1` is practically a different compiler from the devices' `-O3`.
            compile
                .args([
                    "--no-default-config",
                    "--target=x86_64-unknown-linux-gnu",
                    "-march=x86-64-v3",
                    "-x",
                    "c++",
                ])
                .args(["-std=c++20", "-O1", "-fPIC", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-w"])
                .args([
                    "-ffp-contract=off",
                    "-fwrapv",
                    "-fno-strict-aliasing",
                    "-Xclang",
                    "-ffloat16-excess-precision=none",
                ])
                .arg("-c")
                .arg(&source)
                .arg("-o")
                .arg(&object);
            succeed(compile, toolchain);
            let mut link = Command::new(&toolchain.linker);
            link.args(["-flavor", "gnu", "-shared", "-o"]).arg(&library).arg(&object);
            succeed(link, toolchain);
            // SAFETY: the library has no initialisers, and was made from the sources of this test.
            libraries.push(unsafe { Library::new(&library) }.map_err(|error| error.to_string())?);
        }
        Ok(Host { libraries })
    }

    /// The memory after the program has run.
    pub(super) fn run(&self, program: &Program) -> Left {
        let (input, mut shared) = (input(), shared());
        let mut out = vec![0u8; (program.groups * program.group_size) as usize * ITEM_BYTES];
        // SAFETY: every function of these libraries has this type.
        let found =
            self.libraries.iter().find_map(|library| unsafe { library.get(program.name.as_bytes()).ok() });
        let run: Symbol<'_, Run> = found.expect("the program's function");
        for group in 0..program.groups {
            // SAFETY: the program stays within these sizes, as on the devices, where that is checked.
            unsafe { run(input.as_ptr(), out.as_mut_ptr(), shared.as_mut_ptr(), group, program.group_size) };
        }
        debug_assert_eq!(shared.len(), SHARED_WORDS);
        Left { out, shared }
    }
}

fn succeed(mut command: Command, toolchain: &Toolchain) {
    if !toolchain.library_path.is_empty() {
        command.env("LD_LIBRARY_PATH", std::env::join_paths(&toolchain.library_path).expect("paths"));
    }
    let output = command.output().expect("the compiler starts");
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}
