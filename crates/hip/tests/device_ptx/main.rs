//! The forms of inline PTX that CUDA's trees have, and more: each is executed on the device in
//! `FERROCM_DEVICE`, else on virtual GPUs with waves of 32 and of 64 lanes, and compared with a model of
//! PTX's manual; those that are refused are errors with a reason. `forms.txt` lists them.

#![cfg(feature = "rtc")]

mod barriers;
mod cases;
mod number;
mod page;

use cases::{Case, Compare, Values};
use hip::rtc::Program;
use hip::{Backend, Device, DeviceBuffer};
use test_skip::{Lack, skip};

const THREADS: usize = 64;
const BLOCKS: usize = 8;
/// Of so many forms of a family, one is executed; all with `FERROCM_TEST_CASES=all`.
const SHARE: usize = 16;
/// Sources with so many kernels are compiled at once.
const CHUNK: usize = 150;

/// The kernel of a case.
fn kernel(index: usize, case: &Case) -> String {
    format!(
        "extern \"C\" __global__ void form{index}(const unsigned long long *in, unsigned long long *out) {{ \
         const unsigned t = blockIdx.x * {THREADS} + threadIdx.x; \
         const unsigned long long *a = in + t * {}; unsigned long long *o = out + t * {}; {}}}\n",
        stride(case.operands.len()),
        stride(case.results.len()),
        case.body
    )
}

/// Every thread's part is aligned to 32 bytes.
fn stride(words: usize) -> usize {
    words.next_multiple_of(4)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ self.0 >> 32;
        x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ x >> 29
    }
}

/// A value of an operand: an edge, or anything.
fn value(values: &Values, random: &mut Random) -> u64 {
    let choice = random.next();
    match values {
        Values::Whole(bits) => {
            let mask = u64::MAX >> (64 - bits);
            let top = 1 << (bits - 1);
            let edges = [
                0,
                1,
                2,
                mask,
                mask - 1,
                top,
                top - 1,
                top + 1,
                0x8080_8080_8080_8080,
                0x7f7f_7f7f_7f7f_7f7f,
                0x7fff_8000_7fff_8000,
                0xff,
            ];
            let bits = match choice % 3 {
                0 => edges[(random.next() % edges.len() as u64) as usize],
                1 => random.next() >> (random.next() % 60),
                _ => random.next(),
            };
            bits & mask
        }
        Values::Numbers(format, count) => (0..*count).fold(0, |all, i| {
            let (size, sign) = (format.sign() - 1, if random.next() & 1 == 0 { 0 } else { format.sign() });
            let one = format.code(1.0, number::Rounding::Nearest);
            let edges = [
                0,
                1,
                2,
                (1 << format.mantissa) - 1,
                1 << format.mantissa,
                one,
                one + 1,
                one - 1,
                format.largest,
                format.largest + 1,
                format.nan,
                format.code(0.5, number::Rounding::Nearest),
                format.code(3.0, number::Rounding::Nearest),
                format.code(255.5, number::Rounding::Nearest),
            ];
            let code = match random.next() % 4 {
                0 => edges[(random.next() % edges.len() as u64) as usize],
                // Near one, so that sums and products need rounding.
                1 => {
                    (one + (random.next() % (8 << format.mantissa))).wrapping_sub(4 << format.mantissa) & size
                }
                2 => {
                    format.code(
                        (random.next() as i64 >> (random.next() % 40 + 20)) as f64 / 256.0,
                        number::Rounding::Nearest,
                    ) & size
                }
                _ => random.next() & size,
            };
            all | (code | sign) << (i * format.bits())
        }),
        Values::F64 => {
            let edges = [
                0.0,
                1.0,
                f64::MIN_POSITIVE,
                f64::from_bits(1),
                f64::MAX,
                f64::INFINITY,
                f64::NAN,
                2_147_483_648.0,
                4_294_967_295.5,
                9.3e18,
                1.9e19,
                127.5,
                255.5,
                65504.0,
                65520.0,
                3.4e38,
                1e-40,
                16_777_217.0,
            ];
            let x = match choice % 4 {
                0 => edges[(random.next() % edges.len() as u64) as usize],
                1 => f64::from_bits(random.next()),
                _ => (random.next() as i64 >> (random.next() % 50)) as f64 / 1024.0,
            };
            if random.next() & 1 == 0 { x.to_bits() } else { (-x).to_bits() }
        }
        Values::Of(list) => list[(choice % list.len() as u64) as usize],
    }
}

/// Whether two words are the same as results.
fn agrees(compare: Compare, found: u64, expected: u64) -> bool {
    match compare {
        Compare::Bits => found == expected,
        Compare::F64 => {
            found == expected || f64::from_bits(found).is_nan() && f64::from_bits(expected).is_nan()
        }
        Compare::Format(format, count) => (0..count).all(|i| {
            let part = |x: u64| x >> (i * format.bits()) & (u64::MAX >> (64 - format.bits()));
            part(found) == part(expected) || format.is_nan(part(found)) && format.is_nan(part(expected))
        }),
        Compare::Near(format, count, relative, absolute) => (0..count).all(|i| {
            let part = |x: u64| format.value(x >> (i * format.bits()) & (u64::MAX >> (64 - format.bits())));
            let (found, expected) = (part(found), part(expected));
            found == expected
                || found.is_nan() && expected.is_nan()
                || (found - expected).abs() <= (relative * expected.abs()).max(absolute)
                // The largest numbers may be rounded to infinity.
                || found.is_infinite()
                    && expected.abs() > format.value(format.largest) * (1.0 - 2.0 * relative)
                    && found.signum() == expected.signum()
        }),
    }
}

/// Executes cases, and returns what differs.
fn execute(device: &Device, rows: &[(String, Case)]) -> Vec<String> {
    let stream = device.stream().unwrap();
    let mut wrong = Vec::new();
    for (first, chunk) in rows.chunks(CHUNK).enumerate() {
        let source: String = chunk.iter().enumerate().map(|(i, row)| kernel(i, &row.1)).collect();
        let module = match device.compile(Program::new(source).option("-std=c++17")) {
            Ok(module) => module,
            Err(error) => {
                let names: Vec<&str> = chunk.iter().map(|(name, _)| name.as_str()).collect();
                wrong.push(format!("{error} in {names:?}"));
                continue;
            }
        };
        for (i, (name, case)) in chunk.iter().enumerate() {
            let mut random = Random((first * CHUNK + i) as u64);
            let threads: Vec<Vec<u64>> = (0..THREADS * BLOCKS)
                .map(|_| case.operands.iter().map(|values| value(values, &mut random)).collect())
                .collect();
            let (width, height) = (stride(case.operands.len()).max(4), stride(case.results.len()));
            let mut words = vec![0_u64; THREADS * BLOCKS * width];
            for (at, operands) in threads.iter().enumerate() {
                words[at * width..at * width + operands.len()].copy_from_slice(operands);
            }
            let input = DeviceBuffer::from_slice(&stream, &words).unwrap();
            let mut output = DeviceBuffer::<u64>::zeroed(&stream, THREADS * BLOCKS * height).unwrap();
            let function = module.function(&format!("form{i}")).unwrap();
            let launch = function
                .launch(&stream)
                .grid(BLOCKS as u32)
                .block(THREADS as u32)
                .arg(&input)
                .arg(&mut output);
            // SAFETY: each thread has its operands and results in the buffers.
            unsafe { launch.enqueue() }.unwrap_or_else(|error| panic!("{name}: {error}"));
            let found = output.to_vec(&stream).unwrap_or_else(|error| panic!("{name}: {error}"));
            let expected: Vec<Vec<u64>> =
                threads.chunks(THREADS).flat_map(|block| (case.model)(block)).collect();
            let differs = expected.iter().enumerate().find_map(|(thread, expected)| {
                let found = &found[thread * height..thread * height + case.results.len()];
                let same = expected
                    .iter()
                    .zip(found)
                    .zip(&case.results)
                    .all(|((e, f), compare)| agrees(*compare, *f, *e));
                (!same).then(|| {
                    format!(
                        "{name}: of {:x?}, {found:x?}, not {expected:x?} (thread {thread})",
                        threads[thread]
                    )
                })
            });
            wrong.extend(differs);
        }
    }
    wrong
}

/// The device under test, or both kinds of virtual GPUs.
pub(crate) fn devices() -> Vec<Device> {
    let named = std::env::var("FERROCM_DEVICE").ok().filter(|uri| !uri.is_empty());
    let uris =
        named.map_or_else(|| vec!["vgpu:gfx1100".to_owned(), "vgpu:gfx90a".to_owned()], |uri| vec![uri]);
    uris.iter().map(|uri| Device::open(uri).unwrap_or_else(|error| panic!("{uri}: {error}"))).collect()
}

/// The forms of a family compute what the manual says.
fn check(family: &str) {
    for device in devices() {
        if device.backend() == Backend::Cuda {
            skip(Lack::Device, format_args!("NVIDIA's compiler has PTX itself"));
            return;
        }
        device.make_current().unwrap();
        let rows: Vec<_> = test_skip::cases(page::executed(family), SHARE).collect();
        let wrong = execute(&device, &rows);
        assert!(wrong.is_empty(), "{device}: {} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    }
}

macro_rules! families {
    ($($test:ident $family:literal)*) => { $(#[test] fn $test() { check($family); })* };
}

families! {
    whole_numbers_and_bits "integer"
    floating_point_numbers "float"
    conversions "convert"
    video_instructions "video"
    memory_and_barriers "memory"
    warps "warp"
    matrices "matrix"
}
