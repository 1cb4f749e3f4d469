//! The contents of reports; their occupancy agrees with the compiler's.

use std::fmt::Write as _;

use kernel_build::report::{Figure, Limits, Report};
use kernel_build::{Build, Builder};

use crate::support::{Folder, KERNEL, toolchain};

/// Kernels whose names encode vector (v), scalar (s) and accumulation registers (a), LDS (l), the largest
/// workgroup (g) and the maximum number of waves at once (w).
fn source() -> String {
    let mut text = String::new();
    let mut kernel = |name: String, attributes: &str, body: &str| {
        writeln!(
            text,
            "extern \"C\" __attribute__((global)) __attribute__(({attributes})) void {name}(int *p) {{ {body} }}"
        )
        .unwrap();
    };
    let sizes = |largest: u32| format!("amdgpu_flat_work_group_size(1,{largest})");
    let uses = |kind: char, count: u32| format!("asm volatile(\"\" ::: \"{kind}{}\");", count - 1);
    for count in [8, 24, 25, 32, 36, 41, 48, 49, 64, 65, 72, 84, 96, 97, 128, 129, 168, 192, 256] {
        kernel(format!("v{count}"), &sizes(64), &uses('v', count));
    }
    // 81 to 88 and 97 to 100, including the six extra that every kernel may need, are counted differently.
    for count in [20, 70, 74, 86, 87] {
        kernel(format!("s{count}"), &sizes(64), &uses('s', count));
    }
    // LDS is allocated in units of 512 or 1280 bytes, which the compiler ignores.
    for lds in [2560, 5120, 10_240, 15_360, 20_480, 33_280, 64_000, 65_536] {
        let body =
            format!("__attribute__((shared)) static volatile char t[{lds}]; t[p[0]] = 1; p[1] = t[p[2]];");
        for largest in [32, 64, 256, 640, 1024] {
            kernel(format!("l{lds}_g{largest}"), &sizes(largest), &body);
        }
    }
    for largest in [96, 128, 320, 640, 768, 1000, 1024] {
        kernel(format!("g{largest}"), &sizes(largest), "p[0] = 1;");
    }
    kernel("w2".to_owned(), &format!("{}, amdgpu_waves_per_eu(1,2)", sizes(64)), "p[0] = 1;");
    kernel("w4".to_owned(), &format!("{}, amdgpu_waves_per_eu(1,4)", sizes(256)), "p[0] = 1;");
    text + "#ifdef ACCUMULATORS\n"
        + KERNEL
        + "a64_v64() { asm volatile(\"\" ::: \"a63\", \"v63\"); }\n"
        + KERNEL
        + "a100_v8() { asm volatile(\"\" ::: \"a99\", \"v7\"); }\n#endif\n"
}

/// Compares all kernels with the compiler's remarks; returns their number.
fn compare(builder: Builder) -> usize {
    let build = builder.flag("-Rpass-analysis=kernel-resource-usage").build().unwrap();
    let uses: Vec<_> = build.kernel_uses().collect();
    let mut compared = 0;
    for (_, object) in build.objects() {
        let target = object.target.to_string();
        let mut kernel = None;
        for diagnostic in &object.diagnostics {
            let message = diagnostic.message.trim();
            let after = |name: &str| message.strip_prefix(name).and_then(|rest| rest.split(' ').next());
            if let Some(name) = after("Function Name: ") {
                kernel = uses.iter().find(|used| used.kernel == name && used.target == target);
            }
            let (Some(used), Some(expected)) = (kernel, after("Occupancy [waves/SIMD]: ")) else { continue };
            assert_eq!(used.occupancy, Some(expected.parse().unwrap()), "{used:?}");
            compared += 1;
        }
    }
    compared
}

#[test]
fn occupancy_is_what_the_compiler_says() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    folder.write("k.cu", &source());
    let kernels = source().matches("void ").count();
    let all = [
        "gfx900",
        "gfx906",
        "gfx1010",
        "gfx1030",
        "gfx1100",
        "gfx1102",
        "gfx1103",
        "gfx1150",
        "gfx1151",
        "gfx1152",
        "gfx1200",
        "gfx1201",
        "gfx9-generic",
        "gfx10-1-generic",
        "gfx10-3-generic",
        "gfx11-generic",
        "gfx12-generic",
    ];
    assert_eq!(compare(folder.builder().targets(all)), (kernels - 2) * all.len());
    let with_accumulators = ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx9-4-generic"];
    let builder = folder.builder().targets(with_accumulators).define("ACCUMULATORS", None);
    assert_eq!(compare(builder), kernels * with_accumulators.len());
    let wide = ["gfx1010", "gfx1030", "gfx1100", "gfx1103", "gfx1200"];
    let builder = folder.builder().targets(wide).flag("-mwavefrontsize64");
    assert_eq!(compare(builder), (kernels - 2) * wide.len());
    let alone = ["gfx1010", "gfx1100"];
    assert_eq!(compare(folder.builder().targets(alone).flag("-mcumode")), (kernels - 2) * alone.len());
}

#[test]
fn registers_and_lds_are_given_out_in_pieces() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    // A wave gets 96 or 112 of 800 scalar registers here, and a workgroup 22016 of 65536 bytes. The compiler
    // says 9, 8 and 3.
    let text = format!(
        "{KERNEL} s81() {{ asm volatile(\"\" ::: \"s81\"); }}\n{KERNEL} s93() {{ asm volatile(\"\" ::: \"s93\"); }}\n\
         extern \"C\" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1,256))) void lds(int *p) {{\n\
         __attribute__((shared)) static volatile char t[21845]; t[p[0]] = 1; p[1] = t[p[2]]; }}\n"
    );
    folder.write("k.cu", &text);
    let build = folder.builder().targets(["gfx906", "gfx90a"]).build().unwrap();
    let uses: Vec<_> = build.kernel_uses().collect();
    for target in ["gfx906", "gfx90a"] {
        for (kernel, sgprs, waves) in [("s81", 81..=88, 8), ("s93", 97..=100, 7), ("lds", 0..=80, 2)] {
            let used = uses.iter().find(|used| used.kernel == kernel && used.target == target).unwrap();
            assert!(sgprs.contains(&used.sgprs) && used.occupancy == Some(waves), "{used:?}");
        }
    }
}

#[test]
fn targets_of_unknown_registers_have_no_occupancy() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    folder.write("k.cu", &format!("{KERNEL} k(int *p) {{ *p = 1; }}"));
    let build = folder.builder().targets(["gfx1250", "gfx803"]).build().unwrap();
    assert!(build.kernel_uses().all(|used| used.occupancy.is_none()));
}

#[test]
fn a_report_tells_what_an_edit_costs() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    let report = |body: &str| {
        folder
            .write("a.cu", &format!("{KERNEL} k(int *p) {{ {body} }}\n{KERNEL} same(int *p) {{ *p = 2; }}"));
        let build: Build = folder.builder().targets(["gfx1100", "gfx90a"]).build().unwrap();
        Report::new(&build)
    };
    let small = report("*p = 1;");
    assert_eq!(small.to_json().unwrap(), report("*p = 1;").to_json().unwrap());
    let json = small.to_json().unwrap();
    let home = folder.path().to_str().unwrap();
    assert!(!json.contains(home) && json.contains("clang version"), "{json}");

    let large = report("asm volatile(\"\" ::: \"v127\"); *p = 1;");
    let changes = large.changes_since(&small);
    assert!(changes.worse.iter().all(|c| c.kernel == "k"), "{changes:?}");
    let rose = |target: &str, figure| {
        changes.worse.iter().find(|c| c.target == target && c.figure == figure).unwrap()
    };
    assert_eq!(rose("gfx1100", Figure::Vgprs).after, 128);
    assert_eq!((rose("gfx90a", Figure::Occupancy).before, rose("gfx90a", Figure::Occupancy).after), (8, 4));
    let excesses = Limits::parse(["vgprs=100"]).unwrap().check(&large).unwrap();
    let names: Vec<_> = excesses.iter().map(|e| (&*e.kernel, &*e.target, e.found)).collect();
    assert_eq!(names, [("k", "gfx1100", 128), ("k", "gfx90a", 128)]);
}
