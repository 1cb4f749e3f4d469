//! Counters and occupancy, compared with values computed by hand and with the compiler's remarks.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use test_skip::{Lack, skip};
use vgpu::isa::{Class, Isa, decode};
use vgpu::machine::{Counters, Dispatch, Limit, Occupancy, Resources, Target, Traffic};

use crate::common::{Arg, Gpu, TARGETS, objects, on_all};

/// The counters of a dispatch of whole workgroups.
fn counters(gpu: &Gpu, kernel: &str, groups: u32, workgroup: u32, args: &[Arg<'_>]) -> Arc<Counters> {
    let dispatch = gpu.prepare(kernel, [groups * workgroup, 1, 1], [workgroup, 1, 1], 0, args);
    let counted = Dispatch { counters: true, ..dispatch };
    let stats = gpu.dispatch(&counted).expect("a kernel without faults");
    stats.counters.expect("it counts")
}

#[test]
fn saxpy_reads_two_and_writes_one_float_per_element() {
    on_all("basics", |gpu| {
        let (groups, size) = (10u64, 256u64);
        let n = groups * size;
        let (dx, dy) = (gpu.upload(&vec![1f32; n as usize]), gpu.upload(&vec![2f32; n as usize]));
        let args = [Arg::F32(3.0), Arg::Pointer(dx), Arg::Pointer(dy), Arg::U32(n as u32)];
        let found = counters(gpu, "saxpy", groups as u32, size as u32, &args);
        let waves = n / gpu.wave() as u64;
        assert_eq!((found.workgroups, found.waves, found.wave_size), (groups, waves, gpu.wave() as u32));
        let expected =
            Traffic { loads: 2 * waves, stores: waves, atomics: 0, read_bytes: 8 * n, written_bytes: 4 * n };
        assert_eq!(found.global, expected, "{found}");
        assert_eq!((found.lds, found.scratch), (Traffic::default(), Traffic::default()));
        // The floats of a wave are adjacent, and buffers start at a cache line.
        let lines = 3 * n * 4 / u64::from(found.cache_line);
        assert_eq!((found.cache_lines.accesses, found.cache_lines.lines), (3 * waves, lines), "{found}");
        assert_eq!(found.lanes.active, found.lanes.possible, "{found}");
        assert_eq!(found.instructions[Class::VmemLoad], 2 * waves);
        assert_eq!(found.instructions[Class::VmemStore], waves);
        // All waves do the same, and `s_endpgm` is the last instruction.
        assert!(Class::ALL.iter().all(|class| found.instructions[*class].is_multiple_of(waves)), "{found}");
        assert_eq!((found.branches.partial_exec, found.branches.splits, found.barriers), (0, 0, 0));
        // Arguments: every wave reads each of their bytes at least once.
        assert!(found.constant.read_bytes >= 24 * waves, "{found}");
        let json = found.to_json();
        assert!(
            json.contains(r#""kernel":"saxpy""#) && json.contains(&format!(r#""vmem_store":{waves},"#)),
            "{json}"
        );
    });
}

#[test]
fn the_last_workgroup_has_idle_lanes() {
    on_all("basics", |gpu| {
        let data = gpu.upload(&[0f32; 128]);
        let args = [Arg::F32(3.0), Arg::Pointer(data), Arg::Pointer(data), Arg::U32(70)];
        let found = counters(gpu, "saxpy", 2, 64, &args);
        assert_eq!((found.global.read_bytes, found.global.written_bytes), (8 * 70, 4 * 70), "{found}");
        // The second workgroup's 6 threads leave one wave that diverges; with waves of 32, another wave has
        // nothing to do.
        assert_eq!(found.branches.splits, 1, "{found}");
        assert!(found.lanes.active < found.lanes.possible);
    });
}

#[test]
fn lds_banks_conflict_as_strides_say() {
    on_all("profile", |gpu| {
        let out = gpu.alloc(4 * 64);
        for (stride, factor) in [(1u64, 1), (2, 2), (3, 1), (16, 16), (32, 32)] {
            let found = counters(gpu, "lds_stride", 1, 64, &[Arg::Pointer(out), Arg::U32(stride as u32)]);
            let accesses = 64 / gpu.wave() as u64;
            let expected = Traffic {
                loads: accesses,
                stores: accesses,
                atomics: 0,
                read_bytes: 256,
                written_bytes: 256,
            };
            assert_eq!(found.lds, expected, "{found}");
            // 64 threads, 32 at a time, once to write and once to read.
            assert_eq!(
                (found.lds_banks.passes, found.lds_banks.cycles),
                (4, 4 * factor),
                "stride {stride}: {found}"
            );
            assert_eq!(found.lds_banks.conflicts(), 4 * factor - 4);
            // A workgroup of one wave needs no barrier, and the compiler knows this.
            let barriers = if accesses == 1 { 0 } else { accesses };
            assert_eq!(found.barriers, barriers, "{found}");
        }
    });
}

#[test]
fn scattered_loads_touch_more_cache_lines() {
    on_all("profile", |gpu| {
        let (x, out) = (gpu.upload(&vec![1f32; 64 * 64]), gpu.alloc(4 * 64));
        for stride in [1u64, 2, 8, 64] {
            let args = [Arg::Pointer(x), Arg::Pointer(out), Arg::U32(stride as u32)];
            let found = counters(gpu, "load_stride", 1, 64, &args);
            let line = u64::from(found.cache_line);
            let lines = |stride: u64| (64 * 4 * stride).div_ceil(line).min(64);
            assert_eq!(found.cache_lines.lines, lines(stride) + lines(1), "stride {stride}: {found}");
        }
    });
}

#[test]
fn branches_that_split_a_wave_are_counted() {
    on_all("profile", |gpu| {
        let out = gpu.upload(&[0i32; 64]);
        for (count, splits) in [(0, 0), (8, 1), (64, 0)] {
            let found = counters(gpu, "some_threads", 1, 64, &[Arg::Pointer(out), Arg::U32(count)]);
            assert_eq!(found.branches.splits, splits, "{count} threads: {found}");
            let waves = u64::from(count).div_ceil(gpu.wave() as u64);
            assert_eq!(found.global.atomics, waves, "{count} threads: {found}");
            let bytes = 4 * u64::from(count);
            assert_eq!((found.global.read_bytes, found.global.written_bytes), (bytes, bytes));
            // One branch per wave skips the body if EXEC is zero.
            let all = 64 / gpu.wave() as u64;
            let branches = found.branches;
            assert_eq!(
                (branches.conditional, branches.taken),
                (all, all - waves),
                "{count} threads: {found}"
            );
            assert_eq!(branches.partial_exec, splits, "{count} threads: {found}");
        }
        assert_eq!(gpu.download::<i32>(out, 64)[..9], [10, 10, 10, 10, 10, 10, 10, 10, 5]);
    });
}

#[test]
fn classes_and_scratch() {
    on_all("profile", |gpu| {
        let out = gpu.upload(&[0.25f32; 64]);
        let waves = 64 / gpu.wave() as u64;
        let found = counters(gpu, "functions", 1, 64, &[Arg::Pointer(out)]);
        assert_eq!(found.instructions[Class::Transcendental], 2 * waves, "{found}");
        let found = counters(gpu, "scratch", 1, 64, &[Arg::Pointer(out), Arg::U32(3)]);
        // Eight dwords are written and one is read by each of 64 threads.
        let Traffic { read_bytes, written_bytes, .. } = found.scratch;
        assert_eq!((read_bytes, written_bytes), (4 * 64, 8 * 4 * 64), "{found}");
        assert_eq!(
            found.global,
            Traffic { stores: waves, written_bytes: 256, ..Traffic::default() },
            "{found}"
        );
    });
}

/// The number after a name in the compiler's remarks.
pub(crate) fn remark(message: &str, name: &str) -> Option<u32> {
    message.trim().strip_prefix(name)?.trim_start_matches(": ").split(' ').next()?.parse().ok()
}

#[test]
fn occupancy_is_what_the_compiler_says() {
    let mut compared = 0;
    for object in objects() {
        let target = Target::by_name(&object.target.processor).expect("a supported target");
        let mut kernel = None;
        for diagnostic in &object.diagnostics {
            let message = diagnostic.message.trim();
            if let Some(name) = message.strip_prefix("Function Name: ") {
                let name = name.split(' ').next().unwrap_or_default();
                kernel = object.code_object.kernel(name);
            }
            let (Some(kernel), Some(expected)) = (kernel, remark(message, "Occupancy [waves/SIMD]")) else {
                continue;
            };
            let size = kernel.max_flat_workgroup_size;
            let resources = target.resources(&kernel.descriptor, size, kernel.group_segment_size);
            let found = Occupancy::new(&target.limits.unit, resources);
            assert_eq!(found.waves_per_simd, expected, "{} on {}: {found}", kernel.name, target.name);
            compared += 1;
        }
    }
    if compared == 0 {
        assert!(objects().is_empty(), "the compiler prints no remarks about occupancy");
        skip(Lack::Tool, "no toolchain");
    }
}

/// Vector registers and the waves that fit, from AMD's documents: MI200 has 512 registers per lane in eights;
/// RDNA 2 has 1024 in sixteens, and so have the smaller GPUs of RDNA 3; RDNA 3 and 4 as in Navi 31 and Navi
/// 48 have 1536 in 24s, for waves of 32.
#[test]
fn occupancy_by_registers_is_what_amd_publishes() {
    type Cases<'a> = (&'a [&'a str], u32, &'a [(u32, u32)]);
    let cases: [Cases<'_>; 5] = [
        (
            &["gfx90a"],
            64,
            &[(64, 8), (65, 7), (72, 7), (80, 6), (96, 5), (128, 4), (168, 3), (256, 2), (512, 1)],
        ),
        // NEW-TARGET: how many waves so many registers leave.
        (&["gfx942", "gfx950"], 64, &[(64, 8), (128, 4), (512, 1)]),
        (
            &[
                "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036", "gfx1102",
                "gfx1103", "gfx1150", "gfx1152", "gfx1153",
            ],
            32,
            &[(64, 16), (65, 12), (96, 10), (128, 8), (256, 4)],
        ),
        (
            &["gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201"],
            32,
            &[(96, 16), (97, 12), (120, 12), (144, 10), (168, 9), (192, 8), (240, 6), (256, 5)],
        ),
        (&["gfx1100"], 64, &[(48, 16), (96, 8), (192, 4)]),
    ];
    let named = |target: &Target| cases.iter().any(|(names, ..)| names.contains(&target.name));
    assert!(vgpu::machine::TARGETS.iter().all(named), "a target without a case");
    for (name, wave_size, counts) in
        cases.iter().flat_map(|(names, size, counts)| names.iter().map(|name| (*name, *size, *counts)))
    {
        let target = Target::by_name(name).expect("a supported target");
        for &(vgprs, waves) in counts {
            let resources = Resources { wave_size, vgprs, sgprs: 32, lds: 0, workgroup: 64, wgp_mode: false };
            let found = Occupancy::new(&target.limits.unit, resources);
            assert_eq!((found.by_vgprs, found.waves_per_simd), (waves, waves), "{vgprs} on {name}");
            let limit = if waves == found.max_waves_per_simd { Limit::WaveSlots } else { Limit::Vgprs };
            assert_eq!(found.limited_by, limit, "{vgprs} on {name}");
        }
    }
}

#[test]
fn occupancy_by_lds_counts_whole_workgroups() {
    // 64 KiB in units of 512 bytes: three workgroups of 20 KiB and four waves on four SIMD units.
    let target = Target::by_name("gfx90a").expect("a supported target");
    let resources =
        Resources { wave_size: 64, vgprs: 32, sgprs: 32, lds: 20 << 10, workgroup: 256, wgp_mode: false };
    let found = Occupancy::new(&target.limits.unit, resources);
    assert_eq!((found.waves_per_simd, found.limited_by, found.workgroups_per_unit), (3, Limit::Lds, 3));
    let found = Occupancy::new(&target.limits.unit, Resources { lds: (16 << 10) + 1, ..resources });
    assert_eq!(found.workgroups_per_unit, 3);
    // Workgroups of one wave need no barrier; for others there are 16.
    let small = Resources { lds: 0, workgroup: 64, ..resources };
    assert_eq!(Occupancy::new(&target.limits.unit, small).workgroups_per_unit, 32);
    let two = Occupancy::new(&target.limits.unit, Resources { workgroup: 128, ..small });
    assert_eq!((two.workgroups_per_unit, two.waves_per_simd), (16, 8));
    // Ten waves: three workgroups of them fit into 32 places.
    let odd = Occupancy::new(&target.limits.unit, Resources { workgroup: 640, ..small });
    assert_eq!((odd.workgroups_per_unit, odd.waves_per_simd), (3, 8));
    let scalar = Occupancy::new(&target.limits.unit, Resources { sgprs: 112, ..small });
    assert_eq!((scalar.waves_per_simd, scalar.limited_by), (7, Limit::Sgprs));
}

/// Runs in another process, for [`a_trace_is_the_disassembly`].
#[test]
fn something_to_trace() {
    on_all("basics", |gpu| {
        let (x, sums) = (gpu.upload(&[1i32; 192]), gpu.alloc(12));
        gpu.run("block_sum", 3, 64, &[Arg::Pointer(x), Arg::Pointer(sums), Arg::U32(192)]);
        assert_eq!(gpu.download::<i32>(sums, 3), [64; 3]);
    });
}

/// Runs [`something_to_trace`] in a separate process.
fn traced(trace: &str, counters: &str) -> Output {
    with_variables(&[("FERROCM_VGPU_TRACE", trace), ("FERROCM_VGPU_COUNTERS", counters)])
}

/// Runs that test in a separate process.
fn with_variables(variables: &[(&str, &str)]) -> Output {
    let program = std::env::current_exe().expect("this program");
    Command::new(program)
        .args(["--exact", "profile::something_to_trace", "--nocapture"])
        .envs(variables.iter().copied())
        .output()
        .expect("this program starts")
}

/// The address and text of each traced instruction, per dispatch.
fn steps(trace: &str) -> Vec<Vec<(u64, String)>> {
    let mut dispatches = Vec::new();
    for line in trace.lines() {
        if line.starts_with("dispatch ") {
            dispatches.push(Vec::new());
        } else if let Some((place, text)) = line.split_once(": ")
            && !line.starts_with(' ')
        {
            let (place, pc) = place.rsplit_once(" 0x").expect("an address");
            assert_eq!(place, format!("{} 1,0,0 w0", dispatches.len() - 1), "{line}");
            let pc = u64::from_str_radix(pc, 16).expect("an address");
            dispatches.last_mut().expect("a dispatch").push((pc, text.to_owned()));
        }
    }
    dispatches
}

#[test]
fn a_trace_is_the_disassembly() {
    if objects().is_empty() {
        skip(Lack::Tool, "no toolchain");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let files = ["trace-1.txt", "trace-2.txt"].map(|name| folder.join(name));
    let counted = folder.join("counters.json");
    let traces = files.map(|file| {
        let selection = format!("kernel=block_*,group=1.0.0,wave=0,file={}", file.display());
        let output = traced(&selection, &format!("json:{}", counted.display()));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(&file).expect("a trace")
    });
    let dispatches = steps(&traces[0]);
    assert_eq!(dispatches, steps(&traces[1]));
    assert_eq!(dispatches.len(), TARGETS.len());
    for (steps, target) in dispatches.iter().zip(TARGETS) {
        let objects = objects();
        let object = objects.iter().find(|object| {
            object.target.processor == *target && object.code_object.kernel("block_sum").is_some()
        });
        let object = object.expect("the code");
        let isa = Isa::by_name(target).expect("a supported target");
        for (pc, text) in steps {
            let range = object.code_object.file_range(*pc, 4).expect("code");
            let inst = decode(isa, &object.bytes[range.start..]).expect("an instruction");
            let expected = inst.text(isa);
            let expected = if isa.is_gfx9() { expected.wave64().to_string() } else { expected.to_string() };
            assert_eq!(*text, expected, "{target} at {pc:#x}");
        }
        assert_eq!(steps.last().expect("instructions").1, "s_endpgm");
    }
    // The first (or only) wave of the workgroup stores the sum of 64 ones.
    let stores =
        traces[0].lines().filter(|line| line.contains("write of 4 bytes per lane, global memory at 0x"));
    assert_eq!(stores.count(), TARGETS.len());
    assert!(traces[0].contains("=0x00000040 in all active lanes"), "{}", traces[0]);

    let json = std::fs::read_to_string(&counted).expect("counters");
    assert_eq!(json.lines().count(), TARGETS.len());
    for (line, target) in json.lines().zip(TARGETS) {
        let counters: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(counters["target"], *target);
        assert_eq!(counters["complete"], true);
        assert_eq!(counters["global"]["written_bytes"], 3 * 4);
        assert_eq!(counters["global"]["read_bytes"], 192 * 4);
        assert_eq!(counters["occupancy"]["resources"]["workgroup"], 64);
    }
}

#[test]
fn no_device_starts_with_settings_that_cannot_be_read() {
    if objects().is_empty() {
        skip(Lack::Tool, "no toolchain");
        return;
    }
    for (variable, value) in [
        ("FERROCM_VGPU_TRACE", "warp=1"),
        ("FERROCM_VGPU_COUNTERS", "xml"),
        ("FERROCM_VGPU_VECTORS", "sse9"),
        ("FERROCM_VGPU_ENGINE", "fast"),
        ("FERROCM_VGPU_THREADS", "none"),
    ] {
        let output = with_variables(&[(variable, value)]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(variable), "{said}");
    }
}
