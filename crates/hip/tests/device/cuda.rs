//! Typical CUDA sources, compiled ahead of time and at run time, compared with results from the CPU.

use std::path::{Path, PathBuf};

use half::{bf16, f16};
use hip::rtc::{Compiler, Program};
use hip::{Backend, Device, DeviceBuffer, Module};
use test_skip::{Lack, skip};

use crate::common;

/// A source of `tests`, built by `kernel-build` and compiled at run time, both without options.
pub(crate) fn both_ways(device: &Device, folder: &str, source: &str) -> Vec<Module> {
    let built = common::code(folder, source, &device.target().processor, false);
    let built = Module::load(device, &built).unwrap();
    let text = std::fs::read_to_string(common::folder(folder).join(source)).unwrap();
    if device.backend() == Backend::Cuda {
        skip(
            Lack::Device,
            format_args!("NVRTC has no types of host code, and no headers of its own for {source}"),
        );
        return vec![built];
    }
    let compiler = Compiler::open().unwrap_or_else(|error| panic!("{error}"));
    if compiler.table().path().is_some() && (text.contains("<<<") || text.contains("<hip/")) {
        skip(
            Lack::Device,
            format_args!("AMD's run-time compiler has no headers and no types of host code for {source}"),
        );
        return vec![built];
    }
    let program = Program::new(text).name(source).option(format!("-I{}", headers().display()));
    let compiled = compiler.compile(&program, device.target()).unwrap_or_else(|error| panic!("{error}"));
    vec![built, compiled.load(device).unwrap()]
}

/// The headers that AMD's run-time compiler needs for bf16: those of the release that `cargo xtask test rocm`
/// names, else those that come with the device compiler.
fn headers() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    match (variable("FERROCM_ROCM_HEADERS"), variable("FERROCM_ROCM_RELEASE")) {
        (Some(folder), Some(release)) => Path::new(&folder).join(release).join("usr/include"),
        _ => kernel_build::toolchain::find().unwrap().hip_path.join("include"),
    }
}

/// The size of a CUDA warp, by its programming guide.
const WARP: usize = 32;

/// The columns of `warp.cu` for one thread.
fn expected(values: &[i32], thread: usize) -> [u32; 24] {
    let first = thread / WARP * WARP;
    let (warp, lane) = (&values[first..first + WARP], thread - first);
    let v = warp[lane];
    let own_if = |outside: bool, source: usize| if outside { v } else { warp[source] };
    let group = |width: usize| lane / width * width;
    let ballot =
        |of: &dyn Fn(i32) -> bool| (0..WARP).filter(|&l| of(warp[l])).fold(0_u32, |mask, l| mask | 1 << l);
    let hash = |v: i32| (v as u32).wrapping_mul(0x0100_0193);
    let half: Vec<usize> = (0..WARP).filter(|l| l / 16 == lane / 16).collect();
    let some = ballot(&|x| x % 4 != 0);
    let takes_part = some >> lane & 1 == 1;
    let xor = lane ^ 12;
    let bits: [u32; 21] = [
        WARP as u32,
        warp[(lane * 7 + 3) % WARP] as u32,
        warp[group(16) + 3] as u32,
        own_if(lane < 3, lane.wrapping_sub(3)) as u32,
        own_if(lane % 8 < 5, lane.wrapping_sub(5)) as u32,
        own_if(lane + 3 >= WARP, lane + 3) as u32,
        own_if(lane % 8 + 5 >= 8, lane + 5) as u32,
        warp[lane ^ 16] as u32,
        // Later groups are not accessible.
        own_if(xor >= group(8) + 8, xor) as u32,
        ballot(&|x| x % 3 == 0),
        u32::from(warp.iter().any(|x| *x > 990)),
        u32::from(warp.iter().all(|x| *x > 10)),
        u32::MAX,
        ballot(&|x| x % 5 == v % 5),
        // All threads of a warp belong to the same pair of warps.
        u32::MAX.wrapping_add(1),
        warp.iter().map(|x| x - 500).sum::<i32>() as u32,
        warp.iter().map(|x| x - 500).min().unwrap() as u32,
        warp.iter().map(|x| hash(*x)).max().unwrap(),
        warp.iter().fold(0, |all, x| all ^ *x as u32),
        half.iter().map(|l| warp[*l]).sum::<i32>() as u32,
        half.iter().filter(|l| warp[**l] & 1 == 1).fold(0, |mask, l| mask | 1 << l),
    ];
    let mut columns = [0; 24];
    columns[..21].copy_from_slice(&bits);
    if takes_part {
        let leader = warp[some.trailing_zeros() as usize];
        let largest = (0..WARP).filter(|l| some >> l & 1 == 1).map(|l| warp[l]).max().unwrap();
        columns[21..].copy_from_slice(&[some, ballot(&|x| x & 3 == v & 3), (leader + largest) as u32]);
    }
    columns
}

#[test]
fn warps_have_32_lanes_on_every_wave() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let threads = 2 * 224;
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as i32 % 1000
    };
    // Votes differ between warps: whole ones above 10, and one with a value above 990.
    let mut values: Vec<i32> = (0..threads).map(|_| random().min(990)).collect();
    values[2 * WARP..3 * WARP].iter_mut().for_each(|v| *v = (*v).max(11));
    values[5 * WARP + 7] = 995;
    for module in both_ways(&device, "cuda", "warp.cu") {
        let kernel = module.function("warp").unwrap();
        let input = DeviceBuffer::from_slice(&stream, &values).unwrap();
        let mut output = DeviceBuffer::<u32>::zeroed(&stream, threads * 24).unwrap();
        // SAFETY: each thread reads one value and writes 24.
        unsafe { kernel.launch(&stream).grid(2).block(224).arg(&input).arg(&mut output).enqueue().unwrap() };
        let output = output.to_vec(&stream).unwrap();
        for (thread, columns) in output.chunks(24).enumerate() {
            assert_eq!(columns, expected(&values, thread), "thread {thread}");
        }
    }
}

#[test]
fn cudas_headers_and_names_are_there() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let next = |i: usize| if i % WARP == WARP - 1 { i } else { i + 1 };
    for module in both_ways(&device, "cuda", "headers.cu") {
        const N: usize = 128;
        let bytes: Vec<u8> = (0..N).map(|i| i as u8 * 2).collect();
        let halves: Vec<f16> = (0..N).map(|i| f16::from_bits(0x3c00 + i as u16)).collect();
        let brains: Vec<bf16> = (0..N).map(|i| bf16::from_bits(0x3f80 + i as u16)).collect();
        let longs: Vec<i64> = (0..N).map(|i| (i as i64) << 33 | 5).collect();
        let doubles: Vec<f64> = (0..N).map(|i| i as f64 / 3.0).collect();
        let pairs: Vec<[f32; 2]> = (0..N).map(|i| [i as f32, -(i as f32)]).collect();
        let mut d = DeviceBuffer::from_slice(&stream, &doubles).unwrap();
        let mut l = DeviceBuffer::from_slice(&stream, &longs).unwrap();
        let mut h = DeviceBuffer::from_slice(&stream, &halves).unwrap();
        let mut b = DeviceBuffer::from_slice(&stream, &brains).unwrap();
        let mut c = DeviceBuffer::from_slice(&stream, &bytes).unwrap();
        let mut f = DeviceBuffer::from_slice(&stream, &pairs).unwrap();
        let types = module.function("types").unwrap();
        let launch = types.launch(&stream).grid(1).block(N as u32);
        let launch = launch.arg(&mut d).arg(&mut l).arg(&mut h).arg(&mut b).arg(&mut c).arg(&mut f);
        // SAFETY: each of 128 threads reads and writes one element of each.
        unsafe { launch.enqueue().unwrap() };
        assert_eq!(d.to_vec(&stream).unwrap(), (0..N).map(|i| doubles[next(i)]).collect::<Vec<_>>());
        assert_eq!(l.to_vec(&stream).unwrap(), (0..N).map(|i| longs[next(i)]).collect::<Vec<_>>());
        assert_eq!(h.to_vec(&stream).unwrap(), (0..N).map(|i| halves[next(i)]).collect::<Vec<_>>());
        assert_eq!(b.to_vec(&stream).unwrap(), (0..N).map(|i| brains[next(i)]).collect::<Vec<_>>());
        assert_eq!(c.to_vec(&stream).unwrap(), (0..N).map(|i| bytes[next(i)]).collect::<Vec<_>>());
        assert_eq!(f.to_vec(&stream).unwrap(), (0..N).map(|i| pairs[next(i)]).collect::<Vec<_>>());

        let numbers: Vec<f32> = (0..1000).map(|i| (i % 17) as f32).collect();
        let input = DeviceBuffer::from_slice(&stream, &numbers).unwrap();
        let mut sum = DeviceBuffer::<f32>::zeroed(&stream, 1).unwrap();
        let block_sum = module.function("block_sum").unwrap();
        let launch = block_sum.launch(&stream).grid(1).block(192).arg(&input).arg(&mut sum).arg(1000_i32);
        // SAFETY: the kernel reads 1000 elements and adds to one.
        unsafe { launch.enqueue().unwrap() };
        // Small integers: exact in any order.
        assert_eq!(sum.to_vec(&stream).unwrap(), [numbers.iter().sum::<f32>()]);

        let mut out = DeviceBuffer::<f32>::zeroed(&stream, 9).unwrap();
        let names = module.function("names").unwrap();
        // SAFETY: one thread writes nine elements.
        unsafe { names.launch(&stream).grid(1).block(1).arg(&mut out).enqueue().unwrap() };
        // (1 + 2i)(3 + 4i); 0.3125 is the nearest of OCP's E4M3; 10 + 1·127 + 2·1 + 3·−1 + 4·2.
        let expected = [-5.0, 10.0, 1.5, 2.5, 0.3125, f32::INFINITY, 1.0, 144.0, -4.0];
        assert_eq!(out.to_vec(&stream).unwrap(), expected);
    }
}

/// The value of a code of OCP's 8-bit formats, E4M3 and E5M2: <https://www.opencompute.org/documents/ocp-8-bit-floating-point-specification-ofp8-revision-1-0-2023-12-01-pdf-1>.
fn ocp_fp8(code: u8, mantissa_bits: i32) -> f32 {
    let sign = if code >> 7 == 1 { -1.0 } else { 1.0 };
    let exponent_bits = 7 - mantissa_bits;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let largest = (1 << exponent_bits) - 1;
    let exponent = i32::from(code & 0x7f) >> mantissa_bits;
    let mantissa = i32::from(code) & ((1 << mantissa_bits) - 1);
    match (mantissa_bits, exponent == largest, mantissa) {
        (3, true, 7) => return f32::NAN,
        (2, true, 0) => return sign * f32::INFINITY,
        (2, true, _) => return f32::NAN,
        _ => {}
    }
    let (whole, scale) = if exponent == 0 { (0, 1) } else { (1 << mantissa_bits, exponent) };
    sign * (whole + mantissa) as f32 * 2_f32.powi(scale - bias - mantissa_bits)
}

#[test]
fn fp8_is_ocps_on_every_target() {
    let device = common::device();
    let stream = device.stream().unwrap();
    for module in both_ways(&device, "cuda", "headers.cu") {
        let mut values = [3, 2].map(|_| DeviceBuffer::<f32>::zeroed(&stream, 256).unwrap());
        let mut codes = [3, 2].map(|_| DeviceBuffer::<u8>::zeroed(&stream, 256).unwrap());
        let kernel = module.function("fp8").unwrap();
        let launch = kernel.launch(&stream).grid(1).block(256);
        let ([e4m3, e5m2], [from_e4m3, from_e5m2]) = (&mut values, &mut codes);
        let launch = launch.arg(e4m3).arg(e5m2).arg(from_e4m3).arg(from_e5m2);
        // SAFETY: each of 256 threads writes an element of each.
        unsafe { launch.enqueue().unwrap() };
        for ((mantissa_bits, values), codes) in [3, 2].into_iter().zip(&values).zip(&codes) {
            let (values, codes) = (values.to_vec(&stream).unwrap(), codes.to_vec(&stream).unwrap());
            for code in 0..=255_u8 {
                let expected = ocp_fp8(code, mantissa_bits);
                let found = values[usize::from(code)];
                assert!(found == expected || (found.is_nan() && expected.is_nan()), "{code:#x}: {found}");
                let back = ocp_fp8(codes[usize::from(code)], mantissa_bits);
                // CUDA's conversion turns infinity into the largest number.
                let expected = if expected.is_infinite() { expected.signum() * 57344.0 } else { expected };
                assert!(back == expected || (back.is_nan() && expected.is_nan()), "{code:#x}: {back}");
                assert!(back.is_nan() || back.is_sign_negative() == expected.is_sign_negative(), "{code:#x}");
            }
        }
    }
}

#[test]
fn a_source_without_any_header_is_cudas() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let source = r#"extern "C" __global__ void sum(float* x) {
        float v = x[threadIdx.x];
        for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
        x[threadIdx.x] = v;
    }"#;
    let sum = device.compile(source).unwrap().function("sum").unwrap();
    let mut x = DeviceBuffer::from_slice(&stream, &(0..64).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    // SAFETY: 64 threads read and write an element each.
    unsafe { sum.launch(&stream).grid(1).block(64).arg(&mut x).enqueue().unwrap() };
    let x = x.to_vec(&stream).unwrap();
    assert_eq!((x[0], x[32]), ((0..32).sum::<i32>() as f32, (32..64).sum::<i32>() as f32));
}

/// Headers in folders include each other, and nvcc accepts an `int` in braces for a `bool`.
#[test]
fn a_source_has_the_headers_behind_its_headers() {
    let device = common::device();
    if Compiler::open_for(&device).unwrap_or_else(|error| panic!("{error}")).table().path().is_some() {
        skip(
            Lack::Device,
            "the vendor's run-time compiler has no headers of the C++ library, which <cuda/std> is made of",
        );
        return;
    }
    let stream = device.stream().unwrap();
    let source = r#"#include <cooperative_groups/memcpy_async.h>
struct Flag { bool set; };
extern "C" __global__ void staged(const int *in, int *out) {
    __shared__ int values[64];
    auto block = cooperative_groups::this_thread_block();
    cooperative_groups::memcpy_async(block, values, in, sizeof(values));
    cooperative_groups::wait(block);
    const Flag flag = Flag{values[threadIdx.x]};
    out[threadIdx.x] = flag.set ? values[63 - threadIdx.x] : -1;
}
"#;
    let staged = device.compile(source).unwrap_or_else(|error| panic!("{error}")).function("staged").unwrap();
    let values: Vec<i32> = (0..64).map(|i| i % 3 * i).collect();
    let input = DeviceBuffer::from_slice(&stream, &values).unwrap();
    let mut output = DeviceBuffer::<i32>::zeroed(&stream, 64).unwrap();
    // SAFETY: 64 threads read and write an element each.
    unsafe { staged.launch(&stream).grid(1).block(64).arg(&input).arg(&mut output).enqueue().unwrap() };
    let expected: Vec<i32> = (0..64).map(|i| if values[i] != 0 { values[63 - i] } else { -1 }).collect();
    assert_eq!(output.to_vec(&stream).unwrap(), expected);
}

#[test]
fn sources_of_hips_keep_waves_and_their_masks() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let wave = device.properties().wave_size as usize;
    for module in both_ways(&device, "hip_dialect", "wave.cu") {
        let mut out = DeviceBuffer::<u64>::zeroed(&stream, 128 * 3).unwrap();
        let kernel = module.function("wave").unwrap();
        // SAFETY: each of 128 threads writes three elements.
        unsafe { kernel.launch(&stream).grid(1).block(128).arg(&mut out).enqueue().unwrap() };
        let votes = (0..wave).filter(|lane| lane % 3 == 0).fold(0_u64, |mask, lane| mask | 1 << lane);
        for (thread, found) in out.to_vec(&stream).unwrap().chunks(3).enumerate() {
            assert_eq!(found, [wave as u64, votes, (thread ^ (wave / 2)) as u64], "thread {thread}");
        }
    }
}
