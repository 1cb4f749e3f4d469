//! Bad input and bad environments: each gives an error that names the cause, and nothing is lost.

use std::fs;

use kernel_build::{Builder, CompilerError, Error, Severity, Translate};

use crate::support::{self, Folder, KERNEL, LAUNCHES, script, toolchain};

#[test]
fn compiler_errors_name_the_original_line_in_every_mode() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    let text =
        format!("// cudaMalloc\n#include \"a.cuh\"\n{KERNEL} k(int *p) {{\n    *p = cudaUndeclared;\n}}\n");
    let source = folder.write("a.cu", &text);
    folder.write("a.cuh", "// nothing\n");
    for mode in [Translate::None, Translate::Hipify] {
        let error = folder.builder().translate(mode).targets(["gfx1100", "gfx90a"]).build().unwrap_err();
        let Error::Compile { failures } = &error else { panic!("{error}") };
        assert_eq!(failures.len(), 2);
        let first = failures[0].diagnostics.iter().find(|d| d.severity == Severity::Error).unwrap();
        let place = first.place.as_ref().unwrap();
        assert_eq!((&place.file, place.line, place.column), (&source, 4, 10), "{mode:?}");
        assert!(first.message.contains("cudaUndeclared"), "{mode:?}: {}", first.message);
        let text = error.to_string();
        assert!(text.contains("does not compile for gfx1100, gfx90a:\n"), "{text}");
        assert!(text.contains(&format!("{}:4:10: error: ", source.display())), "{text}");
        assert!(text.contains("4 |     *p = "), "the source's line is shown: {text}");
    }
}

#[test]
fn ptx_without_an_equivalent_names_its_line_and_who_uses_it() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain.clone());
    let builder = || {
        Builder::new(folder.kernels()).toolchain(toolchain.clone()).cache(folder.cache()).targets(["gfx1100"])
    };
    let header = "template <bool Newer> __device__ void only_there() {\n    if constexpr (Newer)\n        asm volatile(\"wgmma.fence.sync.aligned;\" \
                  ::: \"memory\");\n}\n";
    let header = folder.write("a.cuh", header);
    let source = |newer| {
        format!("#include \"a.cuh\"\n{KERNEL} k(int *p) {{\n    *p = 1;\n    only_there<{newer}>();\n}}\n")
    };
    let path = folder.write("a.cu", &source("true"));
    let error = builder().build().unwrap_err();
    let Error::Compile { failures } = &error else { panic!("{error}") };
    let found: Vec<_> = failures[0].diagnostics.iter().map(|d| (d.severity, d.message.as_str())).collect();
    let message = "inline PTX: `wgmma.fence.sync.aligned` has no equivalent on AMD GPUs: products of a warp \
                   group from descriptors of shared memory";
    assert_eq!(found, [(Severity::Error, message), (Severity::Note, "called from here")]);
    let place =
        |i: usize| failures[0].diagnostics[i].place.as_ref().map(|place| (place.file.clone(), place.line));
    assert_eq!((place(0), place(1)), (Some((header, 3)), Some((path, 4))));
    // Unreachable code is not an error.
    folder.write("a.cu", &source("false"));
    builder().build().unwrap();
}

#[test]
fn a_folder_of_headers_that_does_not_exist_is_told() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    folder.write("a.cu", &format!("{KERNEL} k() {{}}"));
    let missing = folder.path().join("no/such/folder");
    let build = folder.builder().include(&missing).flag("--verbose").targets(["gfx1100"]).build().unwrap();
    assert_eq!((build.missing_includes, build.includes.len()), (vec![missing], 0));
}

#[test]
fn cuda_names_compile_as_they_are_and_translated() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain.clone());
    folder.write(
        "a.cu",
        "#include <cuda_fp16.h>\n#include \"a.cuh\"\nextern \"C\" __global__ void k(__half *p, cudaError_t *e) {\n    \
         *p = __float2half(VALUE);\n    *e = cudaSuccess;\n}\nvoid host(void *p) { cudaFree(p); }\n",
    );
    folder.write("a.cuh", "#define VALUE 1.5f\n");
    let build = |mode| {
        Builder::new(folder.kernels())
            .toolchain(toolchain.clone())
            .cache(folder.cache())
            .targets(["gfx90a"])
            .translate(mode)
            .build()
    };
    for mode in [Translate::None, Translate::Hipify] {
        let first = build(mode).unwrap();
        assert!(!first.all_cached());
        // An ignored status is fine for nvcc, but HIP warns.
        assert_eq!(first.warnings().is_empty(), mode == Translate::None);
        let again = build(mode).unwrap();
        assert!(again.all_cached());
        assert_eq!(again.modules[0].kernels, ["k"]);
    }
}

#[test]
fn all_failures_are_told_and_the_rest_is_kept() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    folder.write("bad1.cu", "#include \"bad.cuh\"\n");
    let header = folder.write("bad.cuh", "\n\nint x = ;\n");
    let bad = folder.write("bad2.cu", "#include \"missing.cuh\"\n");
    folder.write("good.cu", &format!("{KERNEL} k() {{}}"));
    let linked = folder.write(
        "unlinked.cu",
        &format!("extern \"C\" __attribute__((device)) void elsewhere();\n{KERNEL} k() {{ elsewhere(); }}"),
    );
    let error = folder.builder().build().unwrap_err();
    let Error::Compile { failures } = &error else { panic!("{error}") };
    assert_eq!(failures.len(), 3);
    let text = error.to_string();
    assert!(text.contains(&format!("{}:3:9: error: expected expression", header.display())), "{text}");
    assert!(text.contains(&format!("{}:1:10: fatal error: 'missing.cuh'", bad.display())), "{text}");
    assert_eq!(failures[2].source, linked);
    assert!(
        failures[2].diagnostics.iter().any(|d| d.place.is_none() && d.message.contains("elsewhere")),
        "{text}"
    );

    for name in ["bad1.cu", "bad2.cu", "unlinked.cu"] {
        fs::remove_file(folder.kernels().join(name)).unwrap();
    }
    assert!(folder.builder().build().unwrap().all_cached());
}

#[test]
fn kernels_of_one_name_are_told_in_a_source_and_kept_apart_in_two() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    let twice = folder.write("a.cu", &format!("{KERNEL} k() {{}}\n\n{KERNEL} k() {{}}\n"));
    let text = folder.builder().build().unwrap_err().to_string();
    assert!(text.contains(&format!("{}:3:42: error: redefinition of 'k'", twice.display())), "{text}");
    assert!(text.contains(&format!("{}:1:42: note: previous definition is here", twice.display())), "{text}");

    folder.write("a.cu", &format!("{KERNEL} k() {{}}\n"));
    folder.write("b.cu", &format!("{KERNEL} k(int *p) {{ *p = 1; }}\n"));
    let build = folder.builder().build().unwrap();
    let arguments = |module: usize| build.modules[module].objects[0].code_object.kernels()[0].args.len();
    assert_eq!((arguments(0), arguments(1)), (0, 1));
}

#[test]
fn what_cannot_be_read_is_named() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    // Not even root can read the beginning of this file.
    let source = folder.kernels().join("a.cu");
    std::os::unix::fs::symlink("/proc/self/mem", &source).unwrap();
    let text = folder.builder().build().unwrap_err().to_string();
    assert!(text.starts_with(&format!("cannot read {}: ", source.display())), "{text}");
}

/// Tells a child process what to do, in the folder that the other variable names.
const CASE: &str = "KERNEL_BUILD_TEST_CASE";
const FOLDER: &str = "KERNEL_BUILD_TEST_FOLDER";

#[test]
fn a_build_script_that_fails_leaves_its_folder_as_it_was() {
    if let (Ok(case), Some(folder)) = (std::env::var(CASE), std::env::var_os(FOLDER)) {
        let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap());
        let builder = support::builder(folder.as_ref());
        match &*case {
            "embed" => builder.embed_or_exit(),
            _ => builder.build_lib_or_exit(out.join("libx.a")),
        };
        return;
    }
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let run = |case: &str, out: &std::path::Path| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args([
            "failing::a_build_script_that_fails_leaves_its_folder_as_it_was",
            "--exact",
            "--nocapture",
        ]);
        command.env(CASE, case).env(FOLDER, folder.path()).env("OUT_DIR", out).env_remove("TARGET");
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let files = || -> Vec<_> {
        let files = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        files.sort();
        files
    };

    let good = format!("{LAUNCHES}\n{KERNEL} k() {{}}\n");
    let bad = format!("#include \"missing.cuh\"\n{good}");
    let source = folder.write("a.cu", &bad);
    let expected =
        format!("cargo::error={}:1:10: fatal error: 'missing.cuh' file not found", source.display());
    for case in ["embed", "library"] {
        let (success, told) = run(case, &out);
        assert!(!success && told.contains(&expected), "{case}: {told}");
        // Cargo reruns the script when one of these changes.
        assert!(told.contains("cargo::rerun-if-env-changed=FERROCM_TARGETS\n"), "{case}: {told}");
        assert!(files().is_empty(), "{case}");
    }

    folder.write("a.cu", &good);
    assert!(run("embed", &out).0 && run("library", &out).0);
    let before = files();
    let names: Vec<_> = before.iter().map(|(path, _)| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["a.gfx1100.hsaco", "kernels.rs", "libx.a"]);
    folder.write("a.cu", &bad);
    assert!(!run("embed", &out).0 && !run("library", &out).0);
    assert!(files() == before);

    folder.write("a.cu", &good);
    let (success, told) = run("embed", &folder.path().join("missing"));
    assert!(!success && told.contains("cargo::error=cannot make a file in "), "{told}");
    assert!(told.contains("/missing: "), "{told}");
}

#[test]
fn damaged_cache_files_are_made_again() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    folder.write("a.cu", &format!("{KERNEL} k() {{}}"));
    let first = folder.builder().build().unwrap();
    for kind in ["objects", "manifests"] {
        let file = folder.only_file(kind);
        let good = fs::read(&file).unwrap();
        let mut flipped = good.clone();
        flipped[good.len() / 2] ^= 0x10;
        for damage in [&flipped[..], &good[..good.len() / 2], &[]] {
            fs::write(&file, damage).unwrap();
            let again = folder.builder().build().unwrap();
            assert!(!again.all_cached(), "{kind}");
            assert_eq!(again.modules[0].objects[0].bytes, first.modules[0].objects[0].bytes);
            assert!(folder.builder().build().unwrap().all_cached(), "{kind}");
        }
    }
}

#[test]
fn a_compiler_that_dies_or_lies_leaves_nothing_behind() {
    let Some(real) = toolchain() else { return };
    let folder = Folder::new(real.clone());
    folder.write("a.cu", &format!("{KERNEL} k() {{}}"));
    // The argument after -o is the output.
    let half =
        "while [ \"$1\" != -o ]; do shift; done; printf '\\177ELF\\002\\001' > \"$2\"; : > \"${2%.hsaco}.d\"";
    let fake = |body: &str| {
        let clang = script(folder.path(), body);
        folder
            .builder()
            .toolchain(kernel_build::toolchain::Toolchain { clang, ..real.clone() })
            .build()
            .unwrap_err()
    };

    let killed = fake(&format!("{half}\nkill -9 $$"));
    assert!(
        matches!(&killed, Error::Compiler(CompilerError::Program { program, reason })
        if program.ends_with("clang") && reason.contains("signal: 9")),
        "{killed}"
    );
    let truncated = fake(half);
    assert!(
        matches!(&truncated, Error::Output { reason, .. } if reason.contains("truncated")),
        "{truncated}"
    );
    let full = fake("echo 'LLVM ERROR: IO failure on output stream: No space left on device' >&2; exit 1");
    assert!(full.is_disk_full() && full.to_string().contains("cache/tmp"), "{full}");
    let other = fake(
        &format!("{} \"$@\"", real.clang.display())
            .replace("\"$@\"", "$(echo \"$@\" | sed s/gfx1100/gfx1030/)"),
    );
    assert!(matches!(&other, Error::Output { reason, .. } if reason == "it is for gfx1030"), "{other}");
    let missing = kernel_build::toolchain::Toolchain { clang: "/no/such/clang".into(), ..real.clone() };
    let error = folder.builder().toolchain(missing).build().unwrap_err();
    assert!(error.to_string().starts_with("cannot run /no/such/clang"), "{error}");

    assert_eq!(fs::read_dir(folder.cache().join("tmp")).unwrap().count(), 0);
    assert!(!folder.builder().build().unwrap().all_cached(), "nothing false was kept");
    assert!(folder.builder().build().unwrap().all_cached());
}

#[test]
fn a_killed_build_is_continued() {
    // A killed build leaves its work folder, which does not disturb the next build.
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    folder.write("a.cu", &format!("{KERNEL} k() {{}}"));
    let left = folder.cache().join("tmp/work-killed");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("out.hsaco"), b"\x7fELF").unwrap();
    fs::create_dir_all(folder.cache().join("objects/ab")).unwrap();
    assert!(!folder.builder().build().unwrap().all_cached());
    assert!(folder.builder().build().unwrap().all_cached());
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    let file = folder.write("a.cu", &format!("{KERNEL} k() {{}}"));
    // A file, a folder below a file, and a read-only file system.
    for cache in [file.clone(), file.join("below"), "/proc/self".into()] {
        let error = folder.builder().cache(&cache).build().unwrap_err();
        assert!(
            matches!(&error, Error::Compiler(CompilerError::Io { path, .. }) if path.starts_with(&cache)),
            "{error}"
        );
    }
}

#[test]
fn bad_targets_folders_and_cargo_variables_are_named() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    let text = |error: Error| error.to_string();
    let empty = text(folder.builder().build().unwrap_err());
    assert!(empty.starts_with("no .cu file in "), "{empty}");
    folder.write("a.cu", "");
    let target = text(folder.builder().targets(["gfx1100", "gfx11xx"]).build().unwrap_err());
    assert!(target.contains("the caller's targets: bad target id `gfx11xx`"), "{target}");
    let none: [&str; 0] = [];
    let none = text(folder.builder().targets(none).build().unwrap_err());
    assert_eq!(none, "the caller's targets: no target is named");
    for outside in ["../b.cu", "/kernels/b.cu"] {
        let pattern = text(folder.builder().source(outside).build().unwrap_err());
        assert!(pattern.contains(outside) && pattern.contains("leads out of the folder"), "{pattern}");
    }
    let missing = text(Builder::new("/no/such/folder").build().unwrap_err());
    assert!(missing.starts_with("cannot find the folder /no/such/folder"), "{missing}");
    let include = text(folder.builder().include(folder.kernels().join("a.cu")).build().unwrap_err());
    assert!(include.contains("a.cu: not a directory"), "{include}");
    // The compiler itself reports a target that it does not know.
    let unknown = text(folder.builder().targets(["gfx1399"]).build().unwrap_err());
    assert!(
        unknown.contains("does not compile for gfx1399") && unknown.contains("unsupported HIP gpu"),
        "{unknown}"
    );
    if std::env::var_os("OUT_DIR").is_none() {
        assert!(matches!(folder.builder().embed(), Err(Error::NotABuildScript { name: "OUT_DIR" })));
    }
}
