//! Measures which kernel computes matrix products fastest, by their sizes, and writes the rows of
//! `tuning.txt`.
//!
//! `cargo xtask tune` runs it; docs/internals/blas-on-kernels.md describes how it decides.

use std::error::Error;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::time::Instant;

use blas_on_kernels::tune::{Family, families, force};
use hip::{Backend, Device, DeviceBuffer, Stream};
use rocblas_sys::{
    Table, rocblas_datatype, rocblas_gemm_algo, rocblas_handle, rocblas_operation, rocblas_status,
};

/// Measured sizes, and the limits up to which each applies: rows, columns, depth.
const ROWS: &[(usize, &str)] = &[(64, "128"), (512, "1024"), (1152, "*")];
const COLUMNS: &[(usize, &str)] = &[(1, "4"), (16, "16"), (64, "96"), (192, "*")];
const DEPTHS: &[(usize, &str)] = &[(128, "256"), (512, "1024"), (1152, "*")];
/// The numbers of waves that may share the depth, and the minimum depth of each.
const PARTS: &[u16] = &[1, 2, 4, 8];
const LEAST_DEPTH: usize = 128;

/// The devices without `--device`: one of each class, with the compute units of a large one.
const DEVICES: &[&str] = &["vgpu:gfx90a?cus=104", "vgpu:gfx1100?cus=96", "vgpu:gfx1030?cus=80"];

/// The model of a GPU that converts counters to cycles. A SIMD unit issues an instruction of a wave every 4
/// cycles. A wave loads 8 KiB of operands at once and waits a thousand cycles for them. A launch takes 4096
/// cycles.
const SIMDS: u64 = 4;
const CYCLES_OF_INSTRUCTION: u64 = 4;
const BYTES_UNDER_WAY: u64 = 8192;
const CYCLES_OF_BYTES: u64 = 1000;
const CYCLES_OF_LAUNCH: u64 = 4096;
/// A choice executes at most this many times the instructions of the choice with the fewest.
const MOST_INSTRUCTIONS: u64 = 2;
/// How often each product is timed; the shortest time counts.
const REPEAT: usize = 9;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let (mut devices, mut out, mut timed, mut kind) = (Vec::new(), None, false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--device" => devices.push(value()?),
            "--out" => out = Some(value()?),
            "--time" => timed = true,
            "--type" => kind = Some(value()?),
            _ => {
                return Err(
                    format!("{argument}: expected --device URI, --out FILE, --type TYPE or --time").into()
                );
            }
        }
    }
    let mut opened: Vec<Device> = devices.iter().map(Device::open).collect::<hip::Result<_>>()?;
    if devices.is_empty() && timed {
        opened.push(Device::open_default()?);
    } else if devices.is_empty() {
        for uri in DEVICES {
            opened.push(Device::open(uri)?);
        }
    }
    if timed && let Some(device) = opened.iter().find(|device| device.backend() == Backend::Virtual) {
        return Err(format!("{} is virtual: its times say nothing of a GPU's", device.uri()).into());
    }
    // Those of NVIDIA's have a table of their own, which `crates/kernels/examples/tune_tiles.rs` writes.
    opened.retain(|device| device.backend() != Backend::Cuda);
    if opened.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = opened.iter().map(|device| device.uri().to_string()).collect();
    let how = if timed { "the shortest time" } else { "counters of the virtual GPU" };
    let mut text = format!(
        "# Which kernel computes a product: written by `cargo xtask tune` from {how} on {}.\n\
         # The first row of a problem's class, type and way whose sizes are not less holds; `*` is any size.\n\
         # class type way, rows columns depth, tile parts\n",
        names.join(", ")
    );
    for device in &opened {
        let tuner = Tuner::new(device, timed)?;
        let wanted = |family: &Family| kind.as_ref().is_none_or(|kind| kind == family.kind);
        for family in families(&tuner.processor).into_iter().filter(wanted) {
            let rows = tuner.family(&family)?;
            text += &rows;
            if family.kind == "f16" {
                // Named like kernels.
                text += &rows.replace(" f16 ", " bf16 ");
            }
        }
    }
    match out {
        Some(file) => std::fs::write(file, text)?,
        None => print!("{text}"),
    }
    Ok(())
}

struct Tuner {
    stream: Stream,
    table: &'static Table,
    handle: rocblas_handle,
    processor: String,
    compute_units: u64,
    timed: bool,
}

/// The cost of a choice.
#[derive(Clone, Copy, Debug)]
struct Cost {
    instructions: u64,
    /// Cycles, or nanoseconds.
    time: u64,
}

fn expect(status: rocblas_status) -> Result<()> {
    if status == rocblas_status::rocblas_status_success { Ok(()) } else { Err(format!("{status:?}").into()) }
}

impl Tuner {
    fn new(device: &Device, timed: bool) -> Result<Self> {
        let stream = device.stream()?;
        device.make_current()?;
        let table = blas_on_kernels::table(device.table())?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointers are valid, and the stream lives as long as the handle.
        unsafe {
            expect((table.rocblas_create_handle)(&mut handle))?;
            expect((table.rocblas_set_stream)(handle, stream.as_raw()))?;
        }
        let processor = device.target().processor.clone();
        let compute_units = u64::from(device.properties().compute_units);
        Ok(Self { stream, table, handle, processor, compute_units, timed })
    }

    /// The rows of a family.
    fn family(&self, family: &Family) -> Result<String> {
        let mut text = String::new();
        for (n, most_n) in COLUMNS {
            for (m, most_m) in ROWS {
                for (k, most_k) in DEPTHS {
                    let (tile, parts) = self.best(family, [*m, *n, *k])?;
                    let Family { class, kind, way, .. } = family;
                    writeln!(text, "{class} {kind} {way} {most_m} {most_n} {most_k} {tile} {parts}")?;
                }
            }
        }
        eprintln!("{} {} {}", family.class, family.kind, family.way);
        Ok(text)
    }

    fn best(&self, family: &Family, size: [usize; 3]) -> Result<(&'static str, u16)> {
        let mut costs = Vec::new();
        let product = Product::new(self, family, size)?;
        for tile in family.tiles.iter().copied() {
            let mut least = u64::MAX;
            for parts in PARTS.iter().copied() {
                if parts > 1 && size[2] / usize::from(parts) < LEAST_DEPTH {
                    continue;
                }
                if !force(Some((tile, parts))) {
                    return Err(format!("{tile} is not a tile").into());
                }
                let cost = product.cost()?;
                costs.push((cost, (tile, parts)));
                // More waves only add instructions.
                if cost.time > least {
                    break;
                }
                least = cost.time;
            }
        }
        let fewest = costs.iter().map(|(cost, _)| cost.instructions).min().unwrap_or_default();
        let allowed = |cost: &Cost| self.timed || cost.instructions <= MOST_INSTRUCTIONS * fewest;
        let best = costs.iter().filter(|(cost, _)| allowed(cost)).min_by_key(|(cost, _)| cost.time);
        Ok(best.ok_or("there is no kernel")?.1)
    }
}

/// A product whose operands are zeros.
struct Product<'a> {
    tuner: &'a Tuner,
    size: [usize; 3],
    across: [bool; 2],
    types: [rocblas_datatype; 3],
    operands: [DeviceBuffer<u8>; 3],
}

impl<'a> Product<'a> {
    fn new(tuner: &'a Tuner, family: &Family, size: [usize; 3]) -> Result<Self> {
        let [m, n, k] = size;
        let f32 = rocblas_datatype::rocblas_datatype_f32_r;
        let (types, bytes) = match family.kind {
            "f64" => ([rocblas_datatype::rocblas_datatype_f64_r; 3], [8, 8]),
            "f32" => ([f32; 3], [4, 4]),
            "f16" => {
                let f16 = rocblas_datatype::rocblas_datatype_f16_r;
                ([f16, f16, f32], [2, 2])
            }
            "i8" => {
                let i32 = rocblas_datatype::rocblas_datatype_i32_r;
                ([rocblas_datatype::rocblas_datatype_i8_r, i32, i32], [1, 4])
            }
            other => return Err(format!("{other} is not a type").into()),
        };
        let zeros = |bytes: usize| DeviceBuffer::from_slice(&tuner.stream, &vec![0_u8; bytes]);
        let operands = [zeros(m * k * bytes[0])?, zeros(k * n * bytes[0])?, zeros(m * n * bytes[1])?];
        Ok(Self { tuner, size, across: family.across, types, operands })
    }

    fn run(&self) -> Result<()> {
        let [m, n, k] = self.size;
        let [a, b, d] = self.operands.each_ref().map(|buffer| -> *mut c_void {
            std::ptr::with_exposed_provenance_mut(buffer.address().0 as usize)
        });
        let [none, transpose] =
            [rocblas_operation::rocblas_operation_none, rocblas_operation::rocblas_operation_transpose];
        // By columns, A lies along the depth if it is transposed, and B if it is not.
        let (a_how, lda) = if self.across[0] { (none, m) } else { (transpose, k) };
        let (b_how, ldb) = if self.across[1] { (transpose, n) } else { (none, k) };
        let [kind, result, compute] = self.types;
        let one = match compute {
            rocblas_datatype::rocblas_datatype_f64_r => 1_f64.to_bits(),
            rocblas_datatype::rocblas_datatype_i32_r => 1,
            _ => 1_f32.to_bits().into(),
        };
        let algorithm = rocblas_gemm_algo::rocblas_gemm_algo_standard;
        // The first bytes also serve as a narrower number.
        let factor = |x: &u64| std::ptr::from_ref(x).cast();
        // SAFETY: the buffers have as many elements as the sizes say, and factors have at most 64 bits.
        let status = unsafe {
            (self.tuner.table.rocblas_gemm_ex)(
                self.tuner.handle,
                a_how,
                b_how,
                m as i32,
                n as i32,
                k as i32,
                factor(&one),
                a,
                kind,
                lda as i32,
                b,
                kind,
                ldb as i32,
                factor(&0),
                d,
                result,
                m as i32,
                d,
                result,
                m as i32,
                compute,
                algorithm,
                0,
                0,
            )
        };
        expect(status)
    }

    fn cost(&self) -> Result<Cost> {
        let stream = &self.tuner.stream;
        if self.tuner.timed {
            self.run()?;
            stream.synchronize()?;
            let mut shortest = u64::MAX;
            for _ in 0..REPEAT {
                let begin = Instant::now();
                self.run()?;
                stream.synchronize()?;
                shortest = shortest.min(begin.elapsed().as_nanos() as u64);
            }
            return Ok(Cost { instructions: 0, time: shortest });
        }
        stream.set_counters(true)?;
        self.run()?;
        stream.synchronize()?;
        stream.set_counters(false)?;
        let mut cost = Cost { instructions: 0, time: 0 };
        for kernel in stream.take_counters()? {
            let (waves, instructions) = (kernel.waves.max(1), kernel.instructions.total());
            let bytes = kernel.global.read_bytes;
            let each = CYCLES_OF_INSTRUCTION * instructions / waves
                + CYCLES_OF_BYTES * bytes / waves / BYTES_UNDER_WAY;
            cost.instructions += instructions;
            cost.time += CYCLES_OF_LAUNCH + each * waves.div_ceil(SIMDS * self.tuner.compute_units);
        }
        Ok(cost)
    }
}
