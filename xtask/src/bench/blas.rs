//! `cargo xtask bench blas`: matrix products on virtual GPUs, by `blas-on-kernels` and by AMD's rocBLAS with
//! its Tensile kernels, in the same program.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use gpu_report::{Class, Counters};
use setup::run;
use setup::table::{Align, Table};
use shared_commands::libraries::Own;
use shared_commands::rocm::program::Place;
use shared_commands::rocm::run::variables;

use crate::dropin;
use crate::rocm::{self, sysroot};

/// The release whose rocBLAS ours replaces.
const RELEASE: &str = "7.2";

/// What to compare, and where.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Options {
    /// The virtual GPUs: a target, optionally followed by parameters of the device URI
    #[arg(long = "target", value_name = "TARGET", default_values = ["gfx90a?cus=104", "gfx1100?cus=96"])]
    targets: Vec<String>,
    /// The products, TYPE:MxNxK or TYPE:MxNxKxBATCH, either with :tn, :nt or :tt for matrices that are stored
    /// transposed [default: a table of shapes]
    #[arg(long = "shape", value_name = "SHAPE")]
    shapes: Vec<Shape>,
    /// How often each product is timed
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    repeat: u32,
}

/// The measured products: squares; those of a transformer's layers with one token, a few, and a prompt;
/// batches as in attention.
const SHAPES: &[&str] = &[
    "f64:256x256x256",
    "f64:256x256x256:nt",
    "f64:256x256x256:tn",
    "f32:512x512x512",
    "f32:100x300x77",
    "f16:512x512x512",
    "f16:1x2048x2048:nt",
    "f16:1x576x1536:nt",
    "f16:4x2048x576:nt",
    "f16:8x2048x2048:nt",
    "f16:16x576x576:nt",
    "f16:64x576x576:nt",
    "f16:64x2048x576:nt",
    "f16:128x576x2048:nt",
    "f16:256x576x576:nt",
    "f16:512x1536x576:nt",
    "f16:128x128x64x9:nt",
    "f16:128x64x128x9",
    "f16:1x512x64x9:nt",
    "f16:1x64x512x9",
    "bf16:1x2048x2048:nt",
    "bf16:128x576x2048:nt",
    "f32:1x2048x2048:nt",
    "f32:64x576x576:nt",
    "f32:256x576x576:nt",
    "f32:128x128x64x9:nt",
];

/// A product of matrices, by rows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shape {
    element: String,
    m: u64,
    n: u64,
    k: u64,
    batch: u64,
    transposed: [bool; 2],
}

impl std::str::FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            |what: &str| format!("\"{text}\": {what}; expected TYPE:MxNxK, such as f16:128x1024x1024:nt");
        let mut parts = text.split(':');
        let element = parts.next().unwrap_or_default().to_owned();
        if !["f64", "f32", "f16", "bf16"].contains(&&*element) {
            return Err(wrong("the type is f64, f32, f16 or bf16"));
        }
        let sizes: Result<Vec<u64>, _> =
            parts.next().unwrap_or_default().split('x').map(str::parse).collect();
        let sizes = sizes.map_err(|_| wrong("the sizes are no numbers"))?;
        if sizes.iter().any(|size| !(1..=1 << 20).contains(size)) {
            return Err(wrong("each size is 1 to 1048576"));
        }
        let (m, n, k, batch) = match sizes[..] {
            [m, n, k] => (m, n, k, 1),
            [m, n, k, batch] => (m, n, k, batch),
            _ => return Err(wrong("there are three or four sizes")),
        };
        let transposed = match parts.next() {
            None | Some("nn") => [false, false],
            Some("nt") => [false, true],
            Some("tn") => [true, false],
            Some("tt") => [true, true],
            Some(_) => return Err(wrong("the matrices are nn, nt, tn or tt")),
        };
        if parts.next().is_some() {
            return Err(wrong("something follows it"));
        }
        Ok(Self { element, m, n, k, batch, transposed })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element, m, n, k, batch, transposed } = self;
        write!(f, "{element} {m}×{n}×{k}")?;
        if *batch != 1 {
            write!(f, ", {batch} of them")?;
        }
        match transposed {
            [false, false] => Ok(()),
            _ => write!(f, ", {}{}", letter(transposed[0]), letter(transposed[1])),
        }
    }
}

fn letter(transposed: bool) -> &'static str {
    if transposed { "t" } else { "n" }
}

impl Shape {
    fn operations(&self) -> u64 {
        2 * self.m * self.n * self.k * self.batch
    }

    fn arguments(&self, repeat: u32) -> Vec<String> {
        let mut arguments = vec![self.element.clone()];
        arguments.extend([self.m, self.n, self.k, self.batch].map(|size| size.to_string()));
        arguments.extend(self.transposed.map(|transposed| letter(transposed).to_owned()));
        arguments.push(repeat.to_string());
        arguments
    }
}

/// One library's figures for a product.
#[derive(Debug, Clone, PartialEq)]
struct Measured {
    kernels: Vec<String>,
    instructions: u64,
    lane_instructions: u64,
    bytes: u64,
    /// The median.
    seconds: f64,
}

impl Measured {
    fn new(counted: &[Counters], mut times: Vec<f64>) -> Result<Self> {
        if counted.is_empty() {
            bail!("no kernel ran");
        }
        times.sort_by(f64::total_cmp);
        let sum = |count: &dyn Fn(&Counters) -> u64| counted.iter().map(count).sum::<u64>();
        Ok(Self {
            kernels: counted.iter().map(|kernel| kernel.kernel.clone()).collect(),
            instructions: sum(&|kernel| kernel.instructions.total()),
            // Matrix instructions ignore EXEC: all lanes take part.
            lane_instructions: sum(&|kernel| {
                kernel.lanes.active + kernel.instructions[Class::Matrix] * u64::from(kernel.wave_size)
            }),
            bytes: sum(&|kernel| {
                kernel.global.read_bytes + kernel.global.written_bytes + kernel.constant.read_bytes
            }),
            seconds: *times.get(times.len() / 2).context("no product was timed")?,
        })
    }
}

/// Runs every product on every target with both libraries, and prints the figures.
pub(crate) fn bench(options: &Options) -> Result<()> {
    let shapes = match options.shapes.is_empty() {
        false => options.shapes.clone(),
        true => {
            SHAPES.iter().map(|shape| shape.parse().map_err(anyhow::Error::msg)).collect::<Result<_>>()?
        }
    };
    let release = sysroot::releases(&[RELEASE.to_owned()])?;
    let sysroot =
        sysroot::make(release.first().context("the table of releases has it")?, &sysroot::folder())?;
    let folder = tempfile::tempdir()?;
    let program = compile(folder.path())?;
    let place = |own| -> Result<Place> {
        Ok(rocm::place(sysroot.clone(), Vec::new(), dropin::before_amds(false, own)?))
    };
    let libraries = [Own { blas: true, ..Own::NONE }, Own::NONE];
    let places = [place(libraries[0])?, place(libraries[1])?];
    println!(
        "ours        blas-on-kernels on AMD's HIP {RELEASE}; AMD's is rocBLAS {RELEASE} with its Tensile kernels"
    );
    println!("lane        instructions times lanes that took part");
    println!("ratio       ours divided by AMD's: below 1, ours executes less");
    println!("time        of one product on the virtual GPU, median of {}\n", options.repeat);
    for target in &options.targets {
        let mut table = Table::new(&[
            ("product", Align::Left),
            ("lane instr., ours", Align::Right),
            ("AMD's", Align::Right),
            ("ratio", Align::Right),
            ("FLOP each", Align::Right),
            ("AMD's", Align::Right),
            ("instr. ratio", Align::Right),
            ("bytes ratio", Align::Right),
            ("time, ours", Align::Right),
            ("AMD's", Align::Right),
            ("kernels, ours", Align::Left),
            ("AMD's", Align::Left),
        ]);
        for shape in &shapes {
            let mut both = Vec::new();
            for (place, own) in places.iter().zip(libraries) {
                let measured = measure(place, own, &program, folder.path(), target, shape, options.repeat);
                both.push(measured.with_context(|| format!("{shape} on {target} by {}", own.name()))?);
            }
            let [ours, amds] = &both[..] else { bail!("two libraries") };
            let ratio = |of: fn(&Measured) -> u64| format!("{:.2}", of(ours) as f64 / of(amds) as f64);
            let each =
                |of: &Measured| format!("{:.2}", shape.operations() as f64 / of.lane_instructions as f64);
            table.row([
                shape.to_string(),
                ours.lane_instructions.to_string(),
                amds.lane_instructions.to_string(),
                ratio(|of| of.lane_instructions),
                each(ours),
                each(amds),
                ratio(|of| of.instructions),
                ratio(|of| of.bytes),
                format!("{:.2} ms", ours.seconds * 1e3),
                format!("{:.2} ms", amds.seconds * 1e3),
                ours.kernels.join(", "),
                amds.kernels.iter().map(|name| short(name)).collect::<Vec<_>>().join(", "),
            ]);
        }
        println!("{target}\n{}", table.render());
    }
    Ok(())
}

/// Shortens Tensile's names, which list every tuned parameter.
fn short(kernel: &str) -> String {
    const MOST: usize = 40;
    match kernel.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &kernel[..end]),
        None => kernel.to_owned(),
    }
}

fn compile(folder: &Path) -> Result<PathBuf> {
    let source = folder.join("gemm.c");
    std::fs::write(&source, include_str!("gemm.c"))?;
    let program = folder.join("gemm");
    let compiler = std::env::var_os("CC").filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into());
    run::run(Command::new(compiler).args(["-O1", "-o"]).arg(&program).arg(source).arg("-ldl"))?;
    Ok(program)
}

/// One run is counted, another one timed, because counting takes time.
fn measure(
    place: &Place,
    own: Own,
    program: &Path,
    folder: &Path,
    target: &str,
    shape: &Shape,
    repeat: u32,
) -> Result<Measured> {
    let command = |repeat| -> Result<Command> {
        let mut command = place.command(program)?;
        command.args(shape.arguments(repeat));
        command.envs(variables(Some(&format!("vgpu:{target}")), own));
        Ok(command)
    };
    let counters = folder.join("counters.json");
    let _ = std::fs::remove_file(&counters);
    run::capture(command(1)?.env("FERROCM_VGPU_COUNTERS", format!("json:{}", counters.display())))?;
    let text = std::fs::read_to_string(&counters).with_context(|| counters.display().to_string())?;
    let counted = Counters::read_all(&format!("[{}]", text.trim().replace('\n', ",")))?;
    let times = run::capture(&mut command(repeat)?)?;
    let times: Result<Vec<f64>, _> = times.lines().map(|line| line.trim().parse()).collect();
    // Kernels that copy and clear matrices are not part of the product.
    let counted: Vec<_> =
        counted.into_iter().filter(|kernel| !kernel.kernel.starts_with("__amd_rocclr_")).collect();
    Measured::new(&counted, times.context("the program prints seconds")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_products_of_the_table_are_read() {
        for text in SHAPES {
            text.parse::<Shape>().unwrap_or_else(|error| panic!("{error}"));
        }
        let shape: Shape = "f16:128x64x32x12:nt".parse().expect("a shape");
        assert_eq!(shape.to_string(), "f16 128×64×32, 12 of them, nt");
        assert_eq!(shape.arguments(3).join(" "), "f16 128 64 32 12 n t 3");
        assert_eq!(shape.operations(), 2 * 128 * 64 * 32 * 12);
    }

    #[test]
    fn what_is_wrong_with_a_shape_is_told() {
        for (text, part) in [
            ("i8:1x1x1", "the type is"),
            ("f32:1x1", "three or four"),
            ("f32:1xax1", "no numbers"),
            ("f32", "no numbers"),
            ("f32:0x1x1", "1 to 1048576"),
            ("f32:1x1x1:ab", "nn, nt"),
            ("f32:1x1x1:nn:x", "follows"),
        ] {
            let error = text.parse::<Shape>().expect_err(text);
            assert!(error.contains(part) && error.contains(text), "{error}");
        }
    }
}
