//! The loop of a shell script: one call of clang for each source and target, one after the other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use code_object::{CodeObject, TargetId};
use device_compiler::cuda::{self, Dialect};
use device_compiler::facts::SOURCE_LINES;
use kernel_build::toolchain::Toolchain;

use crate::arguments::Arguments;
use crate::tree::Tree;

/// Times the loop. It reads the same headers with the same options as a build, and writes code objects.
pub(crate) fn compile(
    toolchain: &Toolchain,
    arguments: &Arguments,
    tree: &Tree,
    sources: &[String],
    targets: &[TargetId],
    to: &Path,
) -> Result<Duration> {
    let headers = to.join("headers");
    write_headers(&headers)?;
    let mut work: Vec<(Command, PathBuf)> = Vec::new();
    for source in sources {
        for target in targets {
            let object = to.join(format!("{}.{target}.hsaco", source.replace('/', "_")));
            let mut command = toolchain.command();
            command.args(["--offload-device-only", "--no-gpu-bundle-output", "-O3"]).args(SOURCE_LINES);
            command.arg(format!("--offload-arch={target}"));
            command.arg(format!("-mcode-object-version={}", if target.is_generic() { 6 } else { 5 }));
            command.args(&arguments.flags);
            for folder in arguments.includes()? {
                command.arg("-I").arg(folder);
            }
            command.arg("-isystem").arg(&headers).arg("-include");
            match arguments.dialect() {
                Dialect::Cuda => {
                    command.arg(headers.join(cuda::RUNTIME_HEADER)).arg(cuda::DIALECT_OPTION);
                }
                Dialect::Hip => {
                    command.arg(cuda::HIP_RUNTIME_HEADER);
                }
            }
            command.arg(tree.folder.join(source)).arg("-o").arg(&object);
            work.push((command, object));
        }
    }

    let begin = Instant::now();
    for (command, _) in &mut work {
        let output = command.output().with_context(|| format!("run {}", toolchain.clang.display()))?;
        if !output.status.success() {
            bail!(
                "the plain loop does not compile this; leave it out with --no-loop, or with --only:\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
    let time = begin.elapsed();
    for (_, object) in work {
        let bytes = fs::read(&object).with_context(|| format!("read {}", object.display()))?;
        CodeObject::parse(&bytes).with_context(|| format!("read {}", object.display()))?;
    }
    Ok(time)
}

fn write_headers(folder: &Path) -> Result<()> {
    for (name, text) in cuda::HEADERS {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("make {}", parent.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}
