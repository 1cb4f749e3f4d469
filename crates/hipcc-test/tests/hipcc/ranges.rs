//! NVTX's marks and ranges, of programs of `ferrocm nvcc`: on the timeline, in the log, for AMD's library, for a tool.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use timeline_test::{Slice, Timeline};

use crate::nvcc::nvcc;
use crate::{DEVICES, command, folder_with, succeeds};

const PROGRAM: (&str, &str) = ("ranges.cu", include_str!("../programs/ranges.cu"));

/// The program, without options for libraries: NVTX is headers only.
fn compiled(folder: &Path) -> Command {
    succeeds(&mut nvcc(folder, "-arch=gfx1100 -std=c++17 ranges.cu -o ranges"));
    let mut program = command(folder.join("ranges"), folder);
    program.env_remove("FERROCM_LIBRARIES").env("FERROCM_DEVICE", DEVICES[0]);
    program
}

fn only<'a>(slices: &[&'a Slice], name: &str) -> &'a Slice {
    let found: Vec<_> = slices.iter().filter(|slice| slice.name == name).collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0]
}

#[test]
fn marks_and_ranges_are_on_the_timeline() {
    let folder = folder_with(&[PROGRAM]);
    let trace = folder.path().join("trace.json");
    let mut program = compiled(folder.path());
    assert_eq!(succeeds(program.arg("tool").env("FERROCM_TRACE", &trace)), "PASSED\n");
    let timeline = Timeline::read(&trace);
    assert!(timeline.is_complete);
    let ranges = timeline.of("nvtx");
    let range = |name| only(&ranges, name);

    // Ranges of the first thread, and what HIP did in them.
    let (outer, inner, launch) = (range("outer"), range("inner \"quoted\""), range("launch"));
    assert!(outer.holds(inner) && inner.holds(launch) && !launch.holds(inner));
    assert_eq!(timeline.threads[&outer.track], "the first thread");
    let calls = timeline.of("hip");
    for call in ["hipLaunchKernel", "hipDeviceSynchronize"] {
        assert!(launch.holds(only(&calls, call)), "{call}");
    }
    assert_eq!(outer.values, serde_json::Value::Null);
    assert_eq!((inner.text("category"), inner.text("color")), ("steps", "#ff8800ff"));
    assert_eq!(inner.values["payload"].as_i64(), Some(-5));

    // Those of the other thread, in a domain.
    let (load, decoded, maybe) = (range("load"), range("decoded é😀"), range("maybe"));
    assert!(load.track != outer.track && load.holds(decoded) && load.holds(maybe));
    assert!(decoded.end <= maybe.start);
    for slice in [load, decoded, maybe] {
        assert_eq!(slice.text("domain"), "loader");
    }
    assert_eq!((load.text("color"), load.text("category")), ("#ff010203", "reading"));
    assert_eq!(load.values["payload"].as_f64(), Some(0.5));
    assert_eq!((decoded.number("payload"), decoded.number("category")), (1 << 63, 77));
    // A range that is never popped ends with its thread.
    let open = range("never popped");
    assert!(open.holds(load));

    // Ranges that may overlap others: those that any thread ends, and one that ends before the one inside it.
    let overlapping: BTreeMap<&str, &Slice> =
        timeline.overlapping.iter().map(|slice| (&*slice.name, slice)).collect();
    assert_eq!(overlapping.keys().copied().collect::<Vec<_>>(), ["far", "inner \"quoted\"", "moved"]);
    let far = overlapping["far"];
    assert!(
        far.track == outer.track && far.start <= load.start && far.end >= maybe.end && far.end <= load.end
    );
    let (crossed, crossing) = (overlapping["inner \"quoted\""], range("crossing"));
    assert!(crossed.start <= crossing.start && crossing.start <= crossed.end && crossed.end <= crossing.end);
    assert_eq!(crossed.text("domain"), "loader");
    // Categories belong to domains.
    assert_eq!(crossed.number("category"), 3);

    let marks: Vec<_> = timeline.instants.iter().map(|mark| (&*mark.name, mark)).collect();
    let names: Vec<_> = marks.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["inside maybe", "inside maybe", "invalid attributes"]);
    assert_eq!(marks[0].1.values["domain"], "loader");
    assert!(marks[0].1.track == maybe.track && maybe.is_at(marks[0].1.time) && !maybe.is_at(marks[1].1.time));
    assert_eq!(marks[2].1.track, outer.track);
    let known =
        ["outer", "inner \"quoted\"", "launch", "load", "decoded é😀", "maybe", "never popped", "crossing"];
    assert!(ranges.iter().all(|range| known.contains(&&*range.name)), "{ranges:?}");
}

#[test]
fn without_anyone_who_listens_nothing_happens() {
    let folder = folder_with(&[PROGRAM]);
    let mut program = compiled(folder.path());
    // A library that is named and not there is none.
    program.env("FERROCM_ROCTX_LIBRARY", "/nowhere/libroctx64.so");
    assert_eq!(succeeds(&mut program), "PASSED\n");
}

#[test]
fn ranges_are_in_the_log_if_it_is_asked_for() {
    let folder = folder_with(&[PROGRAM]);
    let output = compiled(folder.path()).arg("tool").env("FERROCM_LOG", "trace").output().expect("run");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    for line in ["range begins", "range ends", "range starts", "range stops", "mark", "inside maybe"] {
        assert!(text.lines().any(|found| found.contains(line)), "{line}: {text}");
    }
}

/// A library with the functions of AMD's that says what it gets.
const ROCTX: &str = "#include <stdint.h>\n#include <stdio.h>\nstatic __thread int depth;\n\
     void roctxMarkA(const char *text) { printf(\"mark %s\\n\", text); }\n\
     int roctxRangePushA(const char *text) { printf(\"push %s\\n\", text); return depth++; }\n\
     int roctxRangePop(void) { puts(\"pop\"); return depth ? --depth : -2; }\n\
     uint64_t roctxRangeStartA(const char *text) { printf(\"start %s\\n\", text); return 7; }\n\
     void roctxRangeStop(uint64_t id) { printf(\"stop %d\\n\", (int)id); }\n";
/// Marks and ranges for it.
const TEXTS: &str = "#include <nvtx3/nvtx3.hpp>\nstruct other { static constexpr const char *name = \"other\"; };\n\
     struct text { static constexpr const wchar_t *message = L\"\\u00e9\"; };\n\
     int main() {\n  nvtxMark(\"one\");\n  nvtxRangePushW(L\"\\u20ac\");\n  {\n    nvtx3::scoped_range_in<other> range{\"in\"};\n\
     nvtx3::mark_in<other>(nvtx3::registered_string_in<other>::get<text>());\n  }\n  nvtxRangePop();\n\
     nvtxRangeEnd(nvtxRangeStart(\"far\"));\n  return nvtxRangePop() != -2;\n}\n";

#[test]
fn amds_library_gets_texts_of_all_kinds() {
    let folder = folder_with(&[("roctx.c", ROCTX), ("texts.cu", TEXTS)]);
    let here = folder.path();
    succeeds(&mut nvcc(here, "-shared -Xcompiler -fPIC roctx.c -o libroctx.so"));
    succeeds(&mut nvcc(here, "-arch=gfx1100 texts.cu -o texts"));
    let mut program = command(here.join("texts"), here);
    let said = succeeds(
        program.env_remove("FERROCM_LIBRARIES").env("FERROCM_ROCTX_LIBRARY", here.join("libroctx.so")),
    );
    assert_eq!(said, "mark one\npush €\npush in\nmark é\npop\npop\nstart far\nstop 7\npop\n");
}

/// A tool: a library that takes over one function of each of two modules.
const TOOL: &str = "#include <stdint.h>\n#include <stdio.h>\ntypedef void (*Function)(void);\n\
     struct Callbacks { size_t size; int (*table)(int, Function ***, unsigned *); };\n\
     static int push(const char *text) { printf(\"tool: %s\\n\", text); return 40; }\n\
     static void stream(void *object, const char *name) { printf(\"stream %d: %s\\n\", object != 0, name); }\n\
     int InitializeInjectionNvtx2(const void *(*tables)(uint32_t)) {\n\
     const struct Callbacks *callbacks = tables(1);\n  Function **core, **runtime;\n  unsigned size;\n\
     if (!callbacks->table(1, &core, &size) || size < 10) return 0;\n  *core[9] = (Function)push;\n\
     if (!callbacks->table(4, &runtime, &size) || size < 4) return 0;\n  *runtime[3] = (Function)stream;\n  return 1;\n}\n";
const TOOLED: &str = "#include <nvtx3/nvToolsExtCudaRt.h>\n\
     int main() {\n  if (nvtxRangePush(\"text\") != 40 || nvtxRangePop() != NVTX_NO_PUSH_POP_TRACKING) return 1;\n\
     nvtxNameCudaStream(nullptr, \"main\");\n}\n";

#[test]
fn a_tool_that_is_named_gets_the_calls() {
    let folder = folder_with(&[("tool.c", TOOL), ("tooled.cu", TOOLED)]);
    let here = folder.path();
    succeeds(&mut nvcc(here, "-shared -Xcompiler -fPIC tool.c -o libtool.so"));
    succeeds(&mut nvcc(here, "-arch=gfx1100 tooled.cu -o tooled"));
    let mut program = command(here.join("tooled"), here);
    let said = succeeds(
        program.env_remove("FERROCM_LIBRARIES").env("NVTX_INJECTION64_PATH", here.join("libtool.so")),
    );
    assert_eq!(said, "tool: text\nstream 0: main\n");
}
