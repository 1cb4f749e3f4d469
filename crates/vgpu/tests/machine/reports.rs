//! The contents of fault reports, for every kind of kernel error: the line, the lane, the workgroup and the
//! allocation.
use crate::common::{Arg, Gpu, on_all};
use vgpu::machine::{DispatchError, Fault, FaultKind, Site, SourceFrame};

const SOURCE: &str = include_str!("../device/reports.cu");

/// The number of the source line marked with a name.
fn line(name: &str) -> u32 {
    let mark = format!("// HERE {name}");
    let at = SOURCE.lines().position(|line| line.ends_with(&mark));
    at.unwrap_or_else(|| panic!("no line is marked {name}")) as u32 + 1
}

/// A kernel that faults in one work-item, and what the report must contain.
struct Case<'a> {
    kernel: &'a str,
    args: Vec<Arg<'a>>,
    /// The marks of the lines, innermost first.
    lines: &'a [&'a str],
    /// Parts of the report.
    says: Vec<String>,
    /// Whether the fault is that of work-item 37, or of the whole wave.
    lane: bool,
    lds: u32,
}

impl Default for Case<'_> {
    fn default() -> Self {
        Case { kernel: "", args: Vec::new(), lines: &[], says: Vec::new(), lane: true, lds: 0 }
    }
}

fn expect_fault(gpu: &Gpu, case: &Case<'_>) -> Fault {
    let mut dispatch = gpu.prepare(case.kernel, [4 * 64, 1, 1], [64, 1, 1], case.lds, &case.args);
    dispatch.timeout = Some(std::time::Duration::from_millis(300));
    match gpu.dispatch(&dispatch) {
        Err(DispatchError::Fault(fault)) => *fault,
        other => panic!("{} on {}: no fault but {other:?}", case.kernel, gpu.device.target().name),
    }
}

/// The lines in the test's source, without those of inlined functions from headers.
fn lines_of(site: &Site) -> Vec<u32> {
    let here = |frame: &&SourceFrame| frame.file.as_deref() == Some("reports.cu");
    site.source.frames().iter().filter(here).map(|frame| frame.line.unwrap_or(0)).collect()
}

fn check(gpu: &Gpu, case: &Case<'_>) -> Fault {
    let fault = expect_fault(gpu, case);
    let text = format!("{fault}");
    let context = format!("{} on {}:\n{text}", case.kernel, gpu.device.target().name);
    let expected: Vec<u32> = case.lines.iter().map(|name| line(name)).collect();
    assert_eq!(lines_of(&fault.at), expected, "{context}");
    for part in &case.says {
        assert!(text.contains(part.as_str()), "`{part}` is missing in {context}");
    }
    assert_eq!(fault.at.workgroup, [2, 0, 0], "{context}");
    let (wave, lane) = if case.lane { (37 / gpu.wave(), Some(37 % gpu.wave())) } else { (0, None) };
    assert_eq!((fault.at.wave as usize, fault.at.lane.map(usize::from)), (wave, lane), "{context}");
    assert_eq!(fault.at.work_item, case.lane.then_some([37, 0, 0]), "{context}");
    let illegal = matches!(fault.kind, FaultKind::IllegalInstruction { .. });
    assert_eq!(fault.at.instruction.is_empty(), illegal, "{context}");
    assert!(fault.kernel.contains(case.kernel), "{context}");
    fault
}

fn says(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

#[test]
fn accesses_to_global_memory() {
    on_all("reports", |gpu| {
        let buffer = gpu.alloc(1000);
        let out = gpu.alloc(4096);
        let range = format!("1000 bytes of device memory at {:#x}..{:#x}", buffer, buffer + 1000);
        let (p, out) = (Arg::Pointer(buffer), Arg::Pointer(out));
        let after = format!("0 bytes after the end of {range}");
        let before = format!("1 bytes before the start of {range}");
        let stores = |at, says| Case {
            kernel: "store_byte",
            args: vec![p, Arg::I64(at)],
            lines: &["store_byte"],
            says,
            ..Case::default()
        };
        let store = "write of 1 bytes";
        check(gpu, &stores(1000, vec![store.to_owned(), after.clone()]));
        check(gpu, &stores(-1, vec![store.to_owned(), before.clone()]));
        let loads = |kernel, at, lines, says| Case {
            kernel,
            args: vec![p, Arg::I64(at), out],
            lines,
            says,
            ..Case::default()
        };
        let one = "read of 1 bytes".to_owned();
        check(gpu, &loads("load_byte", 1000, &["load_byte"], vec![one.clone(), after.clone()]));
        check(gpu, &loads("load_byte", -1, &["load_byte"], vec![one, before.clone()]));
        // One byte of the access is outside, at either end.
        let over = format!("the last 1 bytes are after the end of {range}");
        check(gpu, &loads("load_across", 997, &["load_across"], vec![over]));
        check(gpu, &loads("load_across", -1, &["load_across"], vec![before.clone()]));
        let over = format!("the last 8 bytes are after the end of {range}");
        check(gpu, &loads("load_wide", 62, &["load_wide"], vec!["read of 16 bytes".to_owned(), over]));
        let args = vec![p, Arg::I64(1000)];
        let add = vec!["atomic access of 4 bytes".to_owned(), after];
        check(gpu, &Case { kernel: "add_at", args, lines: &["add_at"], says: add, ..Case::default() });
        let args = vec![p, Arg::I64(250), Arg::I32(0)];
        let add = vec!["write of 4 bytes".to_owned(), format!("after the end of {range}")];
        check(
            gpu,
            &Case { kernel: "flat_store", args, lines: &["flat_store"], says: add, ..Case::default() },
        );
    });
}

#[test]
fn scalar_loads() {
    on_all("reports", |gpu| {
        let buffer = gpu.alloc(1000);
        let out = gpu.alloc(4096);
        let case = Case {
            kernel: "load_scalar",
            args: vec![Arg::Pointer(buffer), Arg::I64(250), Arg::Pointer(out)],
            ..Case::default()
        };
        // Every workgroup does this; which one is reported is not determined.
        let fault = expect_fault(gpu, &case);
        let text = fault.to_string();
        assert_eq!(lines_of(&fault.at), [line("load_scalar")], "{text}");
        assert!(text.contains("0 bytes after the end of 1000 bytes of device memory"), "{text}");
        assert!(text.contains("s_load_"), "{text}");
        assert_eq!(fault.at.lane, None, "{text}");
    });
}

#[test]
fn memory_that_is_not_the_kernels() {
    on_all("reports", |gpu| {
        let case = |kernel, args, lines, parts: &[&str]| {
            check(gpu, &Case { kernel, args, lines, says: says(parts), ..Case::default() })
        };
        let memory = gpu.device.memory();
        let kind = vgpu::machine::MemoryKind::Coarse;
        let freed = memory.allocate(4096, 256, kind, Some(gpu.device.index())).unwrap();
        gpu.free(freed);
        let range = format!("5 bytes into 4096 bytes of device memory at {freed:#x}");
        case("store_byte", vec![Arg::Pointer(freed), Arg::I64(5)], &["store_byte"], &["after free", &range]);

        let null = vec![Arg::Pointer(0), Arg::I64(12)];
        case("store_byte", null, &["store_byte"], &["at 0xc", "looks like a null pointer plus 12"]);

        let host = [7u8; 64];
        let args = vec![Arg::Pointer(host.as_ptr() as u64), Arg::I64(3)];
        case("store_byte", args, &["store_byte"], &["is outside every allocation"]);
        assert_eq!(host, [7; 64]);

        let code = gpu.code.kernel_object("store_byte").unwrap();
        let args = vec![Arg::Pointer(code), Arg::I64(0)];
        case("store_byte", args, &["store_byte"], &["read-only memory", "constants of a code object"]);
        let entry = gpu.code.symbol_address("store_byte").unwrap();
        let args = vec![Arg::Pointer(entry), Arg::I64(0)];
        case("store_byte", args, &["store_byte"], &["read-only memory", "bytes of code at"]);
        let parts = ["write of 4 bytes", "read-only memory", "constants of a code object"];
        case("store_constant", vec![Arg::I32(3)], &["store_constant"], &parts);
    });
}

#[test]
fn misaligned_accesses() {
    on_all("reports", |gpu| {
        let buffer = Arg::Pointer(gpu.alloc(1000));
        let case = |kernel, args, lines, lds, parts: &[&str]| {
            check(gpu, &Case { kernel, args, lines, says: says(parts), lds, ..Case::default() })
        };
        let inside = "2 bytes into 1000 bytes of device memory at 0x";
        let four = ["global memory address", "aligned to 4 bytes", "atomic", inside];
        case("add_at", vec![buffer, Arg::I64(2)], &["add_at"], 0, &four);
        let eight = ["global memory address", "aligned to 8 bytes", "atomic"];
        case("add_wide_at", vec![buffer, Arg::I64(4)], &["add_wide_at"], 0, &eight);
        let lds = ["LDS address", "aligned to 4 bytes", "ds_add_"];
        case("lds_add", vec![Arg::I32(9), buffer], &["lds_add"], 256, &lds);
    });
}

#[test]
fn lds_and_scratch_memory_beyond_their_size() {
    on_all("reports", |gpu| {
        let out = Arg::Pointer(gpu.alloc(1024));
        let case = |kernel, args, lines, lds, parts: &[&str]| {
            check(gpu, &Case { kernel, args, lines, says: says(parts), lds, ..Case::default() })
        };
        let beyond = ["write of 4 bytes at LDS address 0x100 is beyond its 256 bytes", "ds_"];
        case("lds_store", vec![Arg::I32(64), out], &["lds_store"], 256, &beyond);
        let flat = ["write of 4 bytes at LDS address", "is beyond its"];
        case("flat_store", vec![out, Arg::I64(1 << 12), Arg::I32(1)], &["flat_store"], 0, &flat);
        let scratch = ["write of 4 bytes at scratch memory address", "is beyond its"];
        case("scratch_store", vec![Arg::I32(100_000), out], &["scratch_store"], 0, &scratch);
    });
}

#[test]
fn a_stack_that_overflows() {
    on_all("reports", |gpu| {
        let out = Arg::Pointer(gpu.alloc(1024));
        let case = Case { kernel: "overflow", args: vec![Arg::I32(3), out], ..Case::default() };
        let dispatch = gpu.prepare(case.kernel, [64, 1, 1], [64, 1, 1], 0, &case.args);
        gpu.dispatch(&dispatch).unwrap();
        let case = Case { kernel: "overflow", args: vec![Arg::I32(4000), out], ..Case::default() };
        let fault = expect_fault(gpu, &case);
        let text = fault.to_string();
        assert!(text.contains("scratch memory address") && text.contains("is beyond its"), "{text}");
        assert!(fault.at.function.as_ref().is_some_and(|(name, _)| name.contains("deep")), "{text}");
        assert_eq!(
            fault.at.source.frame().and_then(|frame| frame.function.as_deref()),
            Some("deep(int, int volatile*)"),
            "{text}"
        );
    });
}

#[test]
fn functions_inlined_and_called() {
    on_all("reports", |gpu| {
        let buffer = Arg::Pointer(gpu.alloc(1000));
        let args = || vec![buffer, Arg::I64(250)];
        let lines = &["inlined", "caller", "kernel"];
        let fault = check(gpu, &Case { kernel: "inlined", args: args(), lines, ..Case::default() });
        let functions: Vec<_> =
            fault.at.source.frames().iter().map(|frame| frame.function.as_deref().unwrap_or("")).collect();
        assert_eq!(functions, ["store", "through", "inlined"]);
        let text = fault.to_string();
        let told = format!("inlined at reports.cu:{}:", line("kernel"));
        assert!(text.contains(&told), "{told} is missing in:\n{text}");

        let fault =
            check(gpu, &Case { kernel: "called", args: args(), lines: &["apart"], ..Case::default() });
        assert_eq!(fault.at.function.as_ref().map(|(name, _)| name.as_str()), Some("_Z5apartPil"), "{fault}");
        assert!(fault.to_string().contains("<apart(int*, long)+0x"), "{fault}");

        let kernel = "_Z9templatedILi5EEvPil";
        let parts = says(&["kernel      void templated<5>(int*, long) (gfx"]);
        check(gpu, &Case { kernel, args: args(), lines: &["templated"], says: parts, ..Case::default() });
    });
}

#[test]
fn instructions_that_end_a_kernel() {
    on_all("reports", |gpu| {
        let out = Arg::Pointer(gpu.alloc(1024));
        let case = |kernel, args, lines, parts: &[&str]| {
            check(gpu, &Case { kernel, args, lines, says: says(parts), lane: false, ..Case::default() })
        };
        for kernel in ["trapped", "aborted"] {
            let says = says(&["trap 2: the kernel aborted", "s_trap 2"]);
            let fault =
                check(gpu, &Case { kernel, args: vec![out], lines: &[kernel], says, ..Case::default() });
            assert_eq!(fault.kind, FaultKind::Trap { id: 2 });
        }
        // No allocation, and memory that is not code.
        let constants = gpu.code.kernel_object("jump_away").unwrap();
        for to in [16, constants, 0x7fff_0000_0000] {
            let target = format!("jump to {to:#x}, where there is no code");
            let parts = [target.as_str(), "s_setpc_b64 s["];
            case("jump_away", vec![Arg::U64(to)], &["jump_away"], &parts);
        }
        case("illegal_here", vec![out], &["illegal_here"], &["illegal instruction, bytes ff ff ff ff"]);
    });
}

#[test]
fn waves_that_never_meet() {
    on_all("reports", |gpu| {
        let flag = Arg::Pointer(gpu.alloc(1024));
        let mut dispatch = gpu.prepare("stuck", [256, 1, 1], [256, 1, 1], 0, &[flag]);
        dispatch.timeout = Some(std::time::Duration::from_millis(100));
        let Err(DispatchError::Fault(fault)) = gpu.dispatch(&dispatch) else { panic!("no fault") };
        let text = fault.to_string();
        assert_eq!(lines_of(&fault.at), [line("stuck")], "{text}");
        let (what, other) = fault.other.as_ref().expect("where the others wait");
        assert_eq!(*what, "a wave waits at the barrier");
        assert_eq!(
            other.source.frames().last().and_then(|frame| frame.line),
            Some(line("barrier")),
            "{text}"
        );
        assert!(other.instruction.starts_with("s_barrier"), "{text}");
        assert_eq!((fault.at.wave, other.wave), (0, 1), "{text}");
    });
}
