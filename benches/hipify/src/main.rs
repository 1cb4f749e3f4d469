//! Measures how long the translation of a line takes, here and with hipify-perl on the same file.
//!
//! `cargo xtask bench hipify` runs it; docs/use/hipify.md has figures.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use clap::Parser;
use hipify::{Options, Tables, translate};

/// Measures the translation of CUDA sources, compared with hipify-perl if that is installed.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench hipify", bin_name = "cargo xtask bench hipify")]
struct Arguments {
    /// A source to translate [default: a made-up one, with names of every family]
    #[arg(value_name = "FILE")]
    source: Option<PathBuf>,
    /// Lines of the made-up source
    #[arg(long, default_value_t = 500, value_name = "NUMBER")]
    lines: usize,
    /// How often to measure each; the best counts
    #[arg(long, default_value_t = 5, value_name = "NUMBER")]
    repeat: usize,
    /// hipify-perl [default: the one of the toolchain]
    #[arg(long, value_name = "PATH")]
    hipify_perl: Option<PathBuf>,
}

/// A made-up source: a call of every name in turn, in code like other code.
fn made_up(lines: usize) -> String {
    let rows = Tables::get().rows().filter(|row| !row.kind.is_header() && row.hip.is_some());
    let mut text = String::from("#include <cuda_runtime.h>\n#include <cublas_v2.h>\n\n");
    for (number, row) in rows.cycle().step_by(7).enumerate().take(lines.saturating_sub(3)) {
        text += &match number % 8 {
            0 => format!("// what {} does, said in a line of words\n", row.name),
            1 => format!(
                "__global__ void kernel_{number}(float* x, int n) {{ if (threadIdx.x < n) x[threadIdx.x] += {number}; }}\n"
            ),
            2 => format!(
                "  kernel_{number}<float, {number}><<<dim3(n / 256, 1), 256, 0, stream>>>(pointer, {}, n);\n",
                row.name
            ),
            3 => format!("  printf(\"%s failed: %d\\n\", \"{}\", status);\n", row.name),
            _ => format!(
                "  auto value_{number} = {}(context, pointer + {number}, size * sizeof(float));\n",
                row.name
            ),
        };
    }
    text
}

/// The best of several runs.
fn best(repeat: usize, mut run: impl FnMut() -> io::Result<()>) -> io::Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..repeat.max(1) {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

fn row(what: &str, time: Duration, lines: usize) {
    let per_line = time.as_secs_f64() * 1e6 / lines.max(1) as f64;
    println!("{what:44} {:>12.3} ms {per_line:>12.3} µs a line", time.as_secs_f64() * 1e3);
}

fn perl(program: &Path, source: &Path, arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new("perl");
    command.arg(program).args(arguments).arg("--").arg(source).env("LC_ALL", "C");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if command.status()?.success() { Ok(()) } else { Err(io::Error::other("hipify-perl failed")) }
}

fn measure(arguments: &Arguments) -> io::Result<()> {
    let start = Instant::now();
    Tables::get();
    let start_up = start.elapsed();
    let folder = tempfile::tempdir()?;
    let text = match &arguments.source {
        Some(path) => fs::read(path)?,
        None => made_up(arguments.lines).into_bytes(),
    };
    let source = folder.path().join("source.cu");
    fs::write(&source, &text)?;
    let lines = text.iter().filter(|&&byte| byte == b'\n').count();
    println!("{lines} lines, {} bytes; the best of {}\n", text.len(), arguments.repeat.max(1));
    println!("{:44} {:>12.3} ms", "the tables, once", start_up.as_secs_f64() * 1e3);
    let mut options = Options::default();
    let time = best(arguments.repeat, || {
        std::hint::black_box(translate(&text, &options));
        Ok(())
    })?;
    row("hipify", time, lines);
    options.hip_launches = true;
    let time = best(arguments.repeat, || {
        std::hint::black_box(translate(&text, &options));
        Ok(())
    })?;
    row("hipify, launches as calls", time, lines);

    let installed = || device_compiler::toolchain::find().ok().and_then(|toolchain| toolchain.hipify);
    let Some(program) = arguments.hipify_perl.clone().or_else(installed) else {
        println!("hipify-perl is not installed; `cargo xtask setup` installs it");
        return Ok(());
    };
    // One run each, because it takes long enough.
    row("hipify-perl", best(1, || perl(&program, &source, &[]))?, lines);
    row("hipify-perl -quiet-warnings", best(1, || perl(&program, &source, &["-quiet-warnings"]))?, lines);
    Ok(())
}

fn main() -> ExitCode {
    match measure(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
