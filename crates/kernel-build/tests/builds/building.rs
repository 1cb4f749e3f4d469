//! The results of a build, the contents of the cache, and the causes of recompilation.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use kernel_build::toolchain::{Origin, Toolchain};
use kernel_build::{Builder, Event, Severity};
use test_skip::{Lack, skip};

use crate::support::{Folder, KERNEL, TYPES, runs, toolchain};

#[test]
fn real_kernels_are_built_for_all_default_targets_and_reported() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain.clone());
    folder.write(
        "scale.cu",
        r#"
extern "C" __global__ void scale(float *x, float by, int n) {
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x & 63] = by;
    __syncthreads();
    if (i < n) x[i] = sinf(x[i]) * tile[(threadIdx.x + 1) & 63];
}"#,
    );
    folder.write("empty/no_kernels.cu", "__device__ int unused = 1;\n");
    let events = Arc::new(Mutex::new(Vec::new()));
    let build = |events: &Arc<Mutex<Vec<String>>>| {
        let events = events.clone();
        Builder::new(folder.kernels())
            .toolchain(toolchain.clone())
            .cache(folder.cache())
            .targets(["gfx1030", "gfx1100", "gfx90a"])
            .on_event(move |event| events.lock().unwrap().push(told(event)))
            .build()
            .unwrap()
    };

    let first = build(&events);
    assert!(!first.all_cached());
    let modules: Vec<_> = first.modules.iter().map(|m| (m.id, m.name.as_str(), m.ident.as_str())).collect();
    assert_eq!(modules, [(0, "empty/no_kernels", "empty_no_kernels"), (1, "scale", "scale")]);
    let uses: Vec<_> = first.kernel_uses().collect();
    let rows: Vec<_> = uses.iter().map(|u| (u.target.as_str(), u.kernel.as_str(), u.wave, u.lds)).collect();
    assert_eq!(
        rows,
        [("gfx1030", "scale", 32, 256), ("gfx1100", "scale", 32, 256), ("gfx90a", "scale", 64, 256)]
    );
    assert!(uses.iter().all(|u| u.vgprs > 0 && u.sgprs > 0 && u.code_bytes > 0 && u.vgpr_spills == 0));
    let mut told = std::mem::take(&mut *events.lock().unwrap());
    assert_eq!(told.remove(0), "planned 6");
    assert_eq!(told.len(), 12);
    assert!(told.contains(&"finished scale gfx90a false".to_owned()), "{told:?}");

    let second = build(&events);
    assert!(second.all_cached());
    for ((_, a), (_, b)) in first.objects().zip(second.objects()) {
        assert_eq!(
            (&a.bytes, &a.hash, a.code_object.kernels()),
            (&b.bytes, &b.hash, b.code_object.kernels())
        );
    }
    assert!(events.lock().unwrap().contains(&"finished scale gfx90a true".to_owned()));
}

fn told(event: Event<'_>) -> String {
    match event {
        Event::Planned { jobs } => format!("planned {jobs}"),
        Event::Started { module, target } => format!("started {module} {target}"),
        Event::Finished { module, target, cached, .. } => format!("finished {module} {target} {cached}"),
        Event::Failed { module, target } => format!("failed {module} {target}"),
        _ => String::new(),
    }
}

#[test]
fn generic_targets_and_feature_states_are_built() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    folder.write("a.cu", &format!("{KERNEL} k() {{}}"));
    let build = folder.builder().targets(["gfx90a:sramecc+:xnack-", "gfx11-generic"]).build().unwrap();
    let objects: Vec<_> =
        build.objects().map(|(_, o)| (o.target.to_string(), o.code_object.version())).collect();
    assert_eq!(objects, [("gfx90a:sramecc+:xnack-".to_owned(), 5), ("gfx11-generic".to_owned(), 6)]);
}

#[test]
fn a_changed_source_option_or_header_compiles_again() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    folder.write("a.cu", &format!("#include \"deep/a.cuh\"\n{KERNEL} k(int *p) {{ *p = VALUE; }}"));
    folder.write("deep/a.cuh", "#include \"b.cuh\"\n");
    folder.write("deep/b.cuh", "#define VALUE 1\n");
    let cached = || folder.builder().build().unwrap().all_cached();
    assert!(!cached());
    assert!(cached());

    folder.write("deep/b.cuh", "#define VALUE 2\n");
    assert!(!cached(), "a header of a header changed");
    folder.write("deep/b.cuh", "#define VALUE 1\n");
    assert!(cached(), "the old state is remembered");

    folder.write("a.cu", &format!("#include \"deep/a.cuh\"\n{KERNEL} k(int *p) {{ *p = VALUE + 1; }}"));
    assert!(!cached(), "the source changed");
    assert!(!folder.builder().define("OTHER", None).build().unwrap().all_cached(), "an option changed");

    let include = tempfile::tempdir().unwrap();
    let with_include = || folder.builder().include(include.path()).build().unwrap().all_cached();
    assert!(!with_include());
    assert!(with_include());
    fs::write(include.path().join("unrelated.h"), "").unwrap();
    assert!(!with_include(), "a new header may hide another one");
}

/// Two copies of a tree: what was compiled in the first one is found in the second, with its own paths.
#[test]
fn a_copy_of_the_sources_finds_what_was_compiled() {
    let Some(toolchain) = toolchain() else { return };
    let (cache, roots) = (tempfile::tempdir().unwrap(), [(); 2].map(|()| tempfile::tempdir().unwrap()));
    let write = |copy: usize, name: &str, text: &str| {
        let path = roots[copy].path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let build = |copy: usize| {
        let root = roots[copy].path();
        let builder = Builder::new(root.join("kernels")).include(root.join("include"));
        let builder = builder.toolchain(toolchain.clone()).cache(cache.path()).targets(["gfx1100"]);
        builder.define("SHOWN", None).build().unwrap()
    };
    for copy in [0, 1] {
        write(copy, "kernels/deep/own.cuh", "#define OWN 1\nstatic int unused() { int never; return 1; }\n");
        write(copy, "include/beside.cuh", "#define BESIDE 2\n");
        let source = "#include \"deep/own.cuh\"\n#include \"beside.cuh\"\n#warning seen\n";
        let text = format!("{source}{KERNEL} k(int *p) {{ *p = OWN + BESIDE + sizeof(__FILE__); }}");
        write(copy, "kernels/a.cu", &text);
    }
    let first = build(0);
    let second = build(1);
    assert!(!first.all_cached() && second.all_cached());
    let bytes = |build: &kernel_build::Build| build.modules[0].objects[0].bytes.clone();
    assert_eq!(bytes(&first), bytes(&second));
    for (copy, build) in [(0, &first), (1, &second)] {
        let told: String =
            build.objects().flat_map(|(_, object)| &object.diagnostics).map(ToString::to_string).collect();
        let [mine, other] = [copy, 1 - copy].map(|copy| roots[copy].path().to_str().unwrap());
        assert!(told.contains("seen") && told.contains(mine) && !told.contains(other), "{told}");
    }
    assert!(!String::from_utf8_lossy(&bytes(&first)).contains(roots[0].path().to_str().unwrap()));

    for (name, text) in
        [("kernels/deep/own.cuh", "#define OWN 3\n"), ("include/beside.cuh", "#define BESIDE 4\n")]
    {
        write(1, name, text);
        assert!(!build(1).all_cached(), "{name} changed in the copy");
        assert!(build(1).all_cached() && build(0).all_cached());
    }
    // What is outside of the copies' folders is not the same file for both.
    for copy in [0, 1] {
        write(copy, "elsewhere/far.cuh", &format!("#define FAR {copy}\n"));
        write(
            copy,
            "kernels/a.cu",
            &format!("#include \"../elsewhere/far.cuh\"\n{KERNEL} k(int *p) {{ *p = FAR; }}"),
        );
    }
    let [first, second] = [0, 1].map(build);
    assert!(!second.all_cached());
    assert_ne!(bytes(&first), bytes(&second));
    assert!(build(0).all_cached() && build(1).all_cached());
}

#[test]
fn a_file_that_a_source_asks_for_compiles_again_when_it_appears() {
    let Some(toolchain) = toolchain() else { return };
    let (folder, elsewhere) = (Folder::new(toolchain), tempfile::tempdir().unwrap());
    let asked = elsewhere.path().join("asked.h");
    folder.write(
        "a.cu",
        &format!("#if __has_include(\"{}\")\n#endif\n{KERNEL} k(int *p) {{ *p = 1; }}", asked.display()),
    );
    let cached = || folder.builder().build().unwrap().all_cached();
    assert!(!cached());
    assert!(cached());
    fs::write(&asked, "").unwrap();
    assert!(!cached());
    // A source that hides which file it asks for is compiled each time.
    folder
        .write("a.cu", &format!("#define NAME \"x.h\"\n#if __has_include(NAME)\n#endif\n{KERNEL} k() {{}}"));
    assert!(!cached() && !cached());
}

#[test]
fn a_header_that_changes_during_the_build_is_not_cached() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    folder.write("a.cu", &format!("#include \"a.cuh\"\n{KERNEL} k() {{}}"));
    let header = folder.write("a.cuh", "// one\n");
    let future = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::open(header).unwrap().set_modified(future).unwrap();
    assert!(!folder.builder().build().unwrap().all_cached());
    assert!(!folder.builder().build().unwrap().all_cached());
}

#[test]
fn equal_sources_elsewhere_give_equal_code() {
    let Some(toolchain) = toolchain() else { return };
    let source = format!(
        "__attribute__((device)) const char *file() {{ return __FILE__; }}\n{KERNEL} k(const char **p) {{ *p = file(); }}"
    );
    let hashes: Vec<_> = (0..2)
        .map(|_| {
            let folder = Folder::new(toolchain.clone());
            folder.write("a.cu", &source);
            folder.builder().build().unwrap().modules[0].objects[0].hash.clone()
        })
        .collect();
    assert_eq!(hashes[0], hashes[1]);
}

/// Another user's private toolchain is in another folder, and code objects contain lines of its headers.
#[test]
fn a_toolchain_elsewhere_gives_equal_code() {
    let Some(toolchain) = toolchain() else { return };
    let Origin::Prefix(root) = toolchain.origin.clone() else {
        skip(Lack::Machine, "the toolchain is that of the machine");
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let link = scratch.path().join("elsewhere");
    std::os::unix::fs::symlink(&root, &link).unwrap();
    let moved =
        |path: &Path| path.strip_prefix(&root).map_or_else(|_| path.to_owned(), |rest| link.join(rest));
    let mut elsewhere = toolchain.clone();
    elsewhere.origin = Origin::Prefix(link.clone());
    for path in [
        &mut elsewhere.clang,
        &mut elsewhere.linker,
        &mut elsewhere.hip_path,
        &mut elsewhere.device_libs,
        &mut elsewhere.cxx_headers,
    ] {
        *path = moved(path);
    }
    let (from, to) = (root.to_str().unwrap(), link.to_str().unwrap());
    for option in &mut elsewhere.args {
        *option = option.to_str().unwrap().replace(from, to).into();
    }
    let build = |toolchain: &Toolchain| {
        let folder = Folder::new(toolchain.clone());
        folder.write("a.cu", "extern \"C\" __global__ void f(int *x) { atomicAdd(x, threadIdx.x); }\n");
        let build = Builder::new(folder.kernels()).toolchain(toolchain.clone()).cache(folder.cache());
        build.targets(["gfx1100"]).flag("-gz=none").source_lines(true).build().unwrap().modules[0].objects[0]
            .bytes
            .clone()
    };
    let (here, there) = (build(&toolchain), build(&elsewhere));
    let names = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(names(&here, "toolchain/usr/include/hip") && !names(&here, from));
    assert!(here == there);
}

#[test]
fn warnings_are_returned_each_time() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    let source = folder.write("a.cu", &format!("{KERNEL} k() {{\n    int unused;\n}}"));
    for cached in [false, true] {
        let build = folder.builder().flag("-Wall").targets(["gfx1100", "gfx90a"]).build().unwrap();
        assert_eq!(build.all_cached(), cached);
        let warnings = build.warnings();
        assert_eq!(warnings.len(), 1, "the same text is told once: {warnings:?}");
        let place = warnings[0].place.as_ref().unwrap();
        assert_eq!((&place.file, place.line, place.column), (&source, 2, 9));
        assert_eq!(warnings[0].severity, Severity::Warning);
        assert!(warnings[0].message.contains("unused variable"));
    }
}

#[test]
fn builders_may_race_for_one_cache() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    for name in ["a", "b", "c"] {
        folder.write(&format!("{name}.cu"), &format!("{KERNEL} {name}(int *p) {{ *p = 1; }}"));
    }
    let hashes: Vec<Vec<String>> = std::thread::scope(|scope| {
        let builders: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let build = folder.builder().build().unwrap();
                    build.objects().map(|(_, object)| object.hash.clone()).collect()
                })
            })
            .collect();
        builders.into_iter().map(|builder| builder.join().unwrap()).collect()
    });
    assert!(hashes.iter().all(|other| *other == hashes[0]));
    assert!(folder.builder().build().unwrap().all_cached());
    assert_eq!(fs::read_dir(folder.cache().join("tmp")).unwrap().count(), 0);
}

const PROGRAM: &str = r#"
#[deny(warnings, missing_docs)]
/// Generated.
pub mod generated { include!("kernels.rs"); }
#[deny(warnings)]
mod unused { include!("kernels.rs"); }
fn main() {
    use generated::{ALL, ALL_IDS, EMPTY, Id, QUANT_TYPE, SELF_, ids};
    assert_eq!(ALL_IDS, [Id::Empty, Id::Mod, Id::QuantType, Id::KSelf]);
    assert!(ALL_IDS.iter().enumerate().all(|(i, id)| id.index() == i && id.module().id == i));
    assert!(std::ptr::eq(Id::QuantType.module(), &QUANT_TYPE));
    assert_eq!(ALL.len(), 4);
    assert!(EMPTY.kernels.is_empty() && SELF_.kernels.is_empty() && EMPTY.code_objects.len() == 2);
    assert!(ALL.iter().enumerate().all(|(i, module)| module.id == i));
    assert_eq!((QUANT_TYPE.name, QUANT_TYPE.source), ("quant/type", "quant/type.cu"));
    assert_eq!(QUANT_TYPE.kernels[ids::quant_type::FIRST], "first");
    assert_eq!(QUANT_TYPE.kernels[ids::quant_type::SECOND], "second");
    assert_eq!((ids::r#mod::K, ids::r#mod::SECOND), (0, 1));
    for object in ALL.iter().flat_map(|module| module.code_objects) {
        assert!(object.bytes.starts_with(BEGINNING) && object.bytes.as_ptr() as usize % 4096 == 0);
        assert_eq!(object.hash.len(), 64);
    }
    assert!(ALL.iter().all(|module| module.cuda.is_empty()));
    let [a, b] = QUANT_TYPE.code_objects else { panic!() };
    assert_eq!(std::ptr::eq(a.bytes, b.bytes), ONE_FILE);
    let targets: Vec<_> = QUANT_TYPE.code_objects.iter().map(|object| object.target).collect();
    assert_eq!(targets, ["gfx1100", "gfx90a:xnack-"]);
}
"#;

#[test]
fn the_generated_module_compiles_and_is_deterministic() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    folder.write("quant/type.cu", &format!("{KERNEL} second() {{}}\n{KERNEL} first() {{}}"));
    folder.write("mod.cu", &format!("{KERNEL} k() {{}}\n{KERNEL} second() {{}}"));
    folder.write("empty.cu", "");
    folder.write("self.cu", "// no kernel\n");
    let build = folder.builder().targets(["gfx1100", "gfx90a:xnack-"]).build().unwrap();
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let generated = build.write_rust(one.path(), "kernels.rs", "crate::types").unwrap();
    let modified = fs::metadata(&generated).unwrap().modified().unwrap();
    build.write_rust(one.path(), "kernels.rs", "crate::types").unwrap();
    assert_eq!(
        fs::metadata(&generated).unwrap().modified().unwrap(),
        modified,
        "equal files are not touched"
    );
    build.write_rust(two.path(), "kernels.rs", "crate::types").unwrap();
    assert_eq!(fs::read(&generated).unwrap(), fs::read(two.path().join("kernels.rs")).unwrap());

    let consts = "const BEGINNING: &[u8] = b\"\\x7fELF\"; const ONE_FILE: bool = false;";
    runs(one.path(), &format!("{TYPES}{PROGRAM}{consts}"));

    // All of a module in one file.
    let build =
        folder.builder().targets(["gfx1100", "gfx90a:xnack-"]).offload_compress(true).build().unwrap();
    assert!(build.all_cached());
    let compressed = tempfile::tempdir().unwrap();
    build.write_rust(compressed.path(), "kernels.rs", "crate::types").unwrap();
    let mut files: Vec<_> =
        fs::read_dir(compressed.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["empty.hipfb", "kernels.rs", "mod.hipfb", "quant_type.hipfb", "self_.hipfb"]);
    let consts = "const BEGINNING: &[u8] = b\"CCOB\"; const ONE_FILE: bool = true;";
    runs(compressed.path(), &format!("{TYPES}{PROGRAM}{consts}"));
}

#[test]
fn programs_may_have_macros_of_one_capital_letter() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain.clone());
    // CUB's functions for whole devices need it.
    let has_hipcub = toolchain.hip_path.join("include/hipcub").is_dir();
    let needs_hipcub = |name: &str| name.starts_with("cub/device/") || name == "cub/util_allocator.cuh";
    // A header without a counterpart is an error.
    let is_an_error = |text: &str| text.contains("#pragma once\n#error");
    let headers: String = device_compiler::cuda::HEADERS
        .iter()
        .filter(|(_, text)| !is_an_error(text))
        .map(|(name, _)| *name)
        .filter(|name| !name.contains("ferrocm") && (has_hipcub || !needs_hipcub(name)))
        .map(|name| format!("#include <{name}>\n"))
        .collect();
    folder.write("all.cu", &format!("{headers}\nextern \"C\" __global__ void k(int *a) {{ a[N] = K; }}\n"));
    let mut builder =
        Builder::new(folder.kernels()).toolchain(toolchain).cache(folder.cache()).targets(["gfx1100"]);
    // clang itself reads headers first whose parameters use the other letters.
    for letter in ('A'..='Z').filter(|letter| !"BFT".contains(*letter)) {
        builder = builder.define(&letter.to_string(), None);
    }
    let build = builder.build().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(build.modules[0].kernels, ["k"]);
}

/// The precompiled headers in the cache: the only files here above a megabyte.
fn precompiled(folder: &Folder) -> Vec<PathBuf> {
    let folders = fs::read_dir(folder.cache().join("objects")).unwrap().flatten();
    let files = folders.flat_map(|inner| fs::read_dir(inner.path()).unwrap().flatten());
    files.filter(|file| file.metadata().unwrap().len() > 1 << 20).map(|file| file.path()).collect()
}

#[test]
fn headers_that_are_read_once_change_nothing() {
    let Some(toolchain) = toolchain() else { return };
    let source = "#include <cuda_fp16.h>\n#include <cstdio>\n__device__ int count;\n__constant__ float table[4];\n\
        template <typename T> __device__ T twice(T x) { return x + x; }\n\
        extern \"C\" __global__ void f(float *x, __half *y, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
        \x20   if (i < n) x[i] = sinf(twice(x[i])) * table[i & 3] + __half2float(y[i]);\n    if (i == n) printf(\"%d\\n\", atomicAdd(&count, 1));\n}\n";
    for (lines, target) in [(false, "gfx1100"), (true, "gfx90a")] {
        let objects = |others: usize| {
            let folder = Folder::new(toolchain.clone());
            folder.write("a.cu", source);
            for other in 0..others {
                folder.write(&format!("b{other}.cu"), "extern \"C\" __global__ void g(int *x) { *x = 1; }\n");
            }
            let build = Builder::new(folder.kernels()).toolchain(toolchain.clone()).cache(folder.cache());
            let build = build.targets([target]).source_lines(lines).jobs(1).build().unwrap();
            assert_eq!(precompiled(&folder).len(), others, "one for the target, if there is another source");
            build.modules[0].objects.iter().map(|object| object.bytes.clone()).collect::<Vec<_>>()
        };
        assert!(objects(0) == objects(1), "with lines: {lines}");
    }
}

#[test]
fn a_single_source_has_its_headers_precompiled_from_the_second_time_on() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain.clone());
    for (edit, expected) in [0, 1, 1].into_iter().enumerate() {
        if edit == 2 {
            // A damaged one is replaced.
            let file = precompiled(&folder).remove(0);
            let bytes = fs::read(&file).unwrap();
            fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        }
        folder.write("a.cu", &format!("extern \"C\" __global__ void f(int *x) {{ *x = {edit}; }}\n"));
        let build = Builder::new(folder.kernels()).toolchain(toolchain.clone()).cache(folder.cache());
        assert!(!build.targets(["gfx1100"]).build().unwrap().all_cached());
        let files = precompiled(&folder);
        assert_eq!(files.len(), expected, "edit {edit}");
        for file in files {
            let hash = blake3::hash(&fs::read(&file).unwrap()).to_hex();
            assert!(file.ends_with(hash.as_str()), "edit {edit}");
        }
    }
    // Errors are reported as without them, at the same line.
    folder.write("a.cu", "extern \"C\" __global__ void f(int *x) {\n    *x = y;\n}\n");
    let build = Builder::new(folder.kernels()).toolchain(toolchain.clone()).cache(folder.cache());
    let error = build.targets(["gfx1100"]).build().unwrap_err().to_string();
    assert!(error.contains("a.cu:2:10: error: use of undeclared identifier 'y'"), "{error}");
}

#[test]
fn a_cache_that_was_copied_or_moved_is_still_one() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain.clone());
    let build = |cache: &Path, value: u32| {
        for name in ["a.cu", "b.cu"] {
            folder.write(name, &format!("extern \"C\" __global__ void f(int *x) {{ *x = {value}; }}\n"));
        }
        let builder = Builder::new(folder.kernels()).toolchain(toolchain.clone()).cache(cache);
        builder.targets(["gfx1100"]).build().unwrap_or_else(|error| panic!("{error}"))
    };
    assert!(!build(&folder.cache(), 1).all_cached());
    assert_eq!(precompiled(&folder).len(), 1);
    let copy = folder.path().join("copy");
    let copied = std::process::Command::new("cp").arg("-a").args([&folder.cache(), &copy]).status();
    assert!(copied.unwrap().success());
    // The precompiled headers there name files of the first cache, which has not gone.
    assert!(build(&copy, 1).all_cached());
    assert!(!build(&copy, 2).all_cached());
    let moved = folder.path().join("moved");
    fs::rename(folder.cache(), &moved).unwrap();
    assert!(build(&moved, 1).all_cached());
    assert!(!build(&moved, 3).all_cached());
}

#[test]
fn links_to_files_are_files_where_they_are() {
    use std::os::unix::fs::symlink;
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain.clone());
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let value = "asm(\"mov.b32 %0, 7;\" : \"=r\"(x));";
    for (name, text) in [
        (
            "a.cu",
            format!(
                "#include \"p.cuh\"\nextern \"C\" __global__ void k(int *p) {{ int x; {value} *p = x + q(); }}\n"
            ),
        ),
        ("p.cuh", "#pragma once\n#include \"q.cuh\"\n#include \"deep/r.cuh\"\n".to_owned()),
        ("r.cuh", format!("#pragma once\n__device__ inline int q() {{ int x; {value} return x; }}\n")),
    ] {
        fs::write(elsewhere.join(name), text).unwrap();
    }
    fs::create_dir(folder.kernels().join("deep")).unwrap();
    // One file under two names, which must be read only once.
    for (name, real) in [("a.cu", "a.cu"), ("p.cuh", "p.cuh"), ("q.cuh", "r.cuh"), ("deep/r.cuh", "r.cuh")] {
        symlink(elsewhere.join(real), folder.kernels().join(name)).unwrap();
    }
    let build =
        Builder::new(folder.kernels()).toolchain(toolchain).cache(folder.cache()).targets(["gfx1100"]);
    let build = build.build().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(build.modules[0].kernels, ["k"]);
}
