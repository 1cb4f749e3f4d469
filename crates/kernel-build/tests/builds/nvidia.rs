//! Additional code for NVIDIA GPUs: nvcc's options, the cache, and errors for missing parts. A script stands
//! in for nvcc; one test runs a real one if available.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use code_object::embedded::CudaKind;
use code_object::{bundle, embedded};
use kernel_build::toolchain::{Search, cache_root};
use kernel_build::{Build, Builder, CompilerError, Error, Nvidia, Severity, Target};
use test_skip::{Lack, skip};

use crate::support::{Folder, KERNEL, TYPES, named_script, runs, toolchain};

/// The stand-in's version output.
const VERSION: &str = "Cuda compilation tools, release 13.0, V13.0.88";

/// A minimal nvcc: it records its options, rejects lines with `BAD`, writes an entry for each kernel, and
/// warns about each `wide`. It lists headers without reading them.
const SCRIPT: &str = r#"
here=$(dirname "$0")
if [ "$1" = --version ]; then echo 'nvcc: NVIDIA (R) Cuda compiler driver'; echo 'VERSION'; exit; fi
echo "$@" >> "$here/log"
for word in "$@"; do
    case "$before" in -o) out=$word;; -MF) list=$word;; esac
    case "$word" in -arch=*) arch=${word#-arch=};; esac
    before=$word
done
source=$word
name() { sed -n "s/.*$1.*global.*void *\([a-z0-9_]*\)(.*/\1/p" "$source"; }
grep -n BAD "$source" | while IFS=: read -r line rest; do
    printf '%s(%s): error: identifier "BAD" is undefined\n    %s\n    ^\n\n' "$source" "$line" "$rest" >&2
done
if grep -q BAD "$source"; then echo "1 error detected in the compilation of \"$source\"." >&2; exit 2; fi
for kernel in $(name wide); do
    printf '%s(1): warning #177-D: variable "wide" was declared but never referenced\n\n' "$source" >&2
    echo 'Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"' >&2
done
{ echo '.version 9.0'; echo ".target $arch"; for kernel in $(name ''); do echo ".visible .entry $kernel("; done; } > "$out"
echo "out : $source" $(find "$(dirname "$source")" -name '*.cuh') > "$list"
"#;

/// A folder with a stand-in beside the kernels.
struct Stage {
    folder: Folder,
    nvcc: PathBuf,
}

impl Stage {
    fn new() -> Option<Self> {
        let folder = Folder::new(toolchain()?);
        let nvcc = named_script(folder.path(), "nvcc", &SCRIPT.replace("VERSION", VERSION));
        Some(Self { folder, nvcc })
    }

    fn nvidia(&self) -> Nvidia {
        Nvidia::ptx().nvcc(&self.nvcc).archs(["sm_80"])
    }

    /// The stand-in's calls since the last query.
    fn asked(&self) -> Vec<String> {
        let log = self.folder.path().join("log");
        let text = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(log);
        text.lines().map(str::to_owned).collect()
    }
}

/// Module, architecture and text.
fn images(build: &Build) -> Vec<(String, String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    build
        .images()
        .map(|(module, image)| (module.name.clone(), image.arch.to_string(), text(&image.bytes)))
        .collect()
}

#[test]
fn ptx_is_built_beside_code_objects() {
    let Some(stage) = Stage::new() else { return };
    let folder = &stage.folder;
    folder.write("a.cu", &format!("{KERNEL} k() {{}}\n"));
    folder.write("deep/b.cu", &format!("{KERNEL} l() {{}}\n/* wide */ {KERNEL} m() {{}}\n"));
    let include = tempfile::tempdir().unwrap();
    let nvidia = || stage.nvidia().archs(["sm_80", "90a"]).flag("--ftz=true").flag("-Xptxas=-v");
    let builder = || {
        let builder = folder.builder().define("N", Some("3")).include(include.path()).nvidia(nvidia());
        // The stand-in's options.
        let builder = builder.flag("--expt-relaxed-constexpr").flag("-arch=sm_70").flag("-c");
        builder.flag_for("b.cu", "--maxrregcount=64").jobs(1)
    };
    let build = builder().build().unwrap();
    let ptx = |arch: &str, kernels: &str| format!(".version 9.0\n.target {arch}\n{kernels}");
    let row = |name: &str, arch: &str, kernels: &str| (name.to_owned(), arch.to_owned(), ptx(arch, kernels));
    let b = ".visible .entry l(\n.visible .entry m(\n";
    assert_eq!(
        images(&build),
        [
            row("a", "sm_80", ".visible .entry k(\n"),
            row("a", "sm_90a", ".visible .entry k(\n"),
            row("deep/b", "sm_80", b),
            row("deep/b", "sm_90a", b),
        ]
    );
    assert_eq!(build.objects().count(), 2);
    assert_eq!(build.modules[1].kernels, ["l", "m"]);
    assert!(build.modules[1].images.iter().all(|image| image.kernels == ["l", "m"]));
    let warnings: Vec<_> = build.warnings().iter().map(|warning| warning.message.clone()).collect();
    assert_eq!(warnings, ["variable \"wide\" was declared but never referenced"]);
    assert_eq!(build.nvcc.as_ref().unwrap().version(), "13.0, V13.0.88");

    // The builder's flags, without output settings and those for clang only, then the source's, then nvcc's
    // own.
    let include = fs::canonicalize(include.path()).unwrap();
    let kernels = folder.kernels();
    let expected = |arch: &str, own: &str, source: &str| {
        format!(
            "--ptx -arch={arch} -I {} -O3 -nogpuinc -nogpulib -DN=3 --expt-relaxed-constexpr {own}--ftz=true -Xptxas=-v \
             -MD -MT out -MF OUT.d -o OUT {}",
            include.display(),
            kernels.join(source).display()
        )
    };
    let asked = stage.asked();
    let plain: Vec<String> = asked
        .iter()
        .map(|line| {
            let out = line.split(" -o ").nth(1).unwrap().split(' ').next().unwrap();
            line.replace(out, "OUT")
        })
        .collect();
    assert_eq!(
        plain,
        [
            expected("sm_80", "", "a.cu"),
            expected("sm_90a", "", "a.cu"),
            expected("sm_80", "--maxrregcount=64 ", "deep/b.cu"),
            expected("sm_90a", "--maxrregcount=64 ", "deep/b.cu"),
        ]
    );

    let again = builder().build().unwrap();
    assert!(again.all_cached() && stage.asked().is_empty());
    assert_eq!(images(&again), images(&build));
    assert_eq!(again.warnings(), build.warnings());
}

#[test]
fn what_changes_nvccs_code_compiles_again() {
    let Some(stage) = Stage::new() else { return };
    let folder = &stage.folder;
    folder.write("a.cu", &format!("{KERNEL} k() {{}}\n"));
    folder.write("a.cuh", "#define A 1\n");
    let build = |nvidia: Nvidia| {
        folder.builder().nvidia(nvidia).build().unwrap();
        stage.asked().len()
    };
    assert_eq!((build(stage.nvidia()), build(stage.nvidia())), (1, 0));
    folder.write("a.cuh", "#define A 2\n");
    assert_eq!((build(stage.nvidia()), build(stage.nvidia())), (1, 0), "a header");
    folder.write("a.cuh", "#define A 1\n");
    assert_eq!(build(stage.nvidia()), 0, "the old state is remembered");
    assert_eq!(build(stage.nvidia().flag("-lineinfo")), 1, "an option");
    assert_eq!(build(stage.nvidia().archs(["sm_86"])), 1, "an architecture");
    folder.write("a.cu", &format!("{KERNEL} other() {{}}\n"));
    assert_eq!((build(stage.nvidia()), build(stage.nvidia())), (1, 0), "the source");
    named_script(folder.path(), "nvcc", &SCRIPT.replace("VERSION", &VERSION.replace("88", "89")));
    assert_eq!((build(stage.nvidia()), build(stage.nvidia())), (1, 0), "the compiler");
}

#[test]
fn errors_name_source_and_line_for_both_compilers_at_once() {
    let Some(stage) = Stage::new() else { return };
    let bad = stage.folder.write("a.cu", &format!("// one\n{KERNEL} k(int *p) {{\n    *p = BAD;\n}}\n"));
    stage.folder.write("b.cu", &format!("{KERNEL} l() {{}}\n"));
    let error = stage.folder.builder().nvidia(stage.nvidia()).build().unwrap_err();
    let Error::Compile { failures } = &error else { panic!("{error}") };
    let targets: Vec<_> = failures.iter().map(|failure| failure.target.to_string()).collect();
    assert_eq!(targets, ["gfx1100", "sm_80"]);
    assert!(matches!(failures[1].target, Target::Nvidia(_)) && failures[1].source == bad);
    let [diagnostic] = &failures[1].diagnostics[..] else { panic!("{failures:?}") };
    let place = diagnostic.place.as_ref().unwrap();
    assert_eq!((&place.file, place.line, diagnostic.severity), (&bad, 3, Severity::Error));
    let text = error.to_string();
    let expected = format!(
        "{0} does not compile for sm_80:\n{0}(3): error: identifier \"BAD\" is undefined\n        *p = BAD;\n    ^",
        bad.display()
    );
    assert!(text.ends_with(&expected), "{text}");
}

#[test]
fn an_nvcc_that_dies_or_lies_leaves_nothing_behind() {
    let Some(stage) = Stage::new() else { return };
    let folder = &stage.folder;
    folder.write("a.cu", &format!("{KERNEL} k() {{}}\n"));
    let fake = |body: &str| {
        let script =
            SCRIPT.replace("VERSION", VERSION).replace("\nsource=$word", &format!("\n{body}\nsource=$word"));
        named_script(folder.path(), "nvcc", &script);
        folder.builder().nvidia(stage.nvidia()).build().unwrap_err()
    };
    let killed = fake("echo half > \"$out\"; kill -9 $$");
    assert!(
        matches!(&killed, Error::Compiler(CompilerError::Program { program, .. }) if *program == stage.nvcc),
        "{killed}"
    );
    let empty = fake(": > \"$out\"; : > \"$list\"; exit 0");
    assert!(
        empty.to_string().contains("a.cu for sm_80: the compiler's output is not usable: it is not PTX"),
        "{empty}"
    );
    let full = fake("echo 'fatal: No space left on device' >&2; exit 1");
    assert!(full.is_disk_full(), "{full}");
    let fatal = fake("echo \"nvcc fatal   : Unsupported gpu architecture 'sm_80'\" >&2; exit 1");
    assert!(fatal.to_string().contains("a.cu does not compile for sm_80:\nnvcc fatal"), "{fatal}");

    named_script(folder.path(), "nvcc", &SCRIPT.replace("VERSION", VERSION));
    let cubin = Nvidia::cubin().nvcc(&stage.nvcc).archs(["sm_80"]);
    let text = folder.builder().nvidia(cubin).build().unwrap_err();
    assert!(text.to_string().contains("not usable: it is not a cubin"), "{text}");
    stage.asked();
    assert_eq!(fs::read_dir(folder.cache().join("tmp")).unwrap().count(), 0);
    folder.builder().nvidia(stage.nvidia()).build().unwrap();
    assert_eq!(stage.asked().len(), 1, "nothing false was kept");
}

#[test]
fn a_missing_nvcc_and_bad_architectures_are_told() {
    let Some(stage) = Stage::new() else { return };
    stage.folder.write("a.cu", "");
    let text = |nvidia: Nvidia| stage.folder.builder().nvidia(nvidia).build().unwrap_err().to_string();
    let missing = text(Nvidia::ptx().nvcc("/no/nvcc"));
    assert!(
        missing.starts_with(
            "no nvcc was found; tried\n  nvcc: the caller: /no/nvcc: no such file\n\
             To get one, correct what the caller names, or name none and run `"
        ),
        "{missing}"
    );
    let bad = text(stage.nvidia().archs(["gfx1100"]));
    assert_eq!(
        bad,
        "the caller's architectures: bad architecture `gfx1100`: write it as sm_80, sm_90a, 80 or 8.0"
    );
    let flags = stage.folder.builder().flag("-arch=native").nvidia(Nvidia::ptx().nvcc(&stage.nvcc));
    let flags = flags.build().unwrap_err().to_string();
    assert!(flags.starts_with("the flags: bad architecture `native`"), "{flags}");
    let path = stage.folder.path().join("liba.a");
    let library = stage.folder.builder().features("rocm", "cuda").build_lib(path);
    let library = library.unwrap_err().to_string();
    assert!(library.contains("liba.a: host code is compiled by AMD's compiler"), "{library}");
}

#[test]
fn bundles_and_libraries_can_have_ptx_beside_code_objects() {
    let Some(stage) = Stage::new() else { return };
    stage.folder.write("a.cu", &format!("{KERNEL} k() {{}}\n"));
    let builder = || stage.folder.builder().offload_compress(true).nvidia(stage.nvidia());
    let bytes = |build: &Build| build.modules[0].bundle.clone().unwrap().bytes;
    let build = builder().bundle_nvidia(true).build().unwrap();
    let ptx = build.images().next().unwrap().1.bytes.clone();
    assert_eq!(bundle::cuda_code_for(&bytes(&build), "sm_90").unwrap(), ptx);
    for (module, object) in build.objects() {
        let bundle = &module.bundle.as_ref().unwrap().bytes;
        assert_eq!(bundle::code_for(bundle, &object.target).unwrap(), object.bytes);
    }
    // Generated modules have it once, beside the bundle.
    let without = builder().build().unwrap();
    assert!(bundle::cuda_code_for(&bytes(&without), "sm_90").is_err());

    let path = stage.folder.path().join("liba.a");
    let builder = Builder::new(stage.folder.kernels()).cache(stage.folder.cache()).targets(["gfx1100"]);
    builder.nvidia(stage.nvidia()).build_lib(&path).unwrap();
    let library = fs::read(path).unwrap();
    let at = library.windows(bundle::MAGIC.len()).position(|part| part == bundle::MAGIC).unwrap();
    assert_eq!(bundle::cuda_code_for(&library[at..], "sm_90").unwrap(), ptx);
}

#[test]
fn architectures_in_flags_count_where_none_are_named() {
    let Some(stage) = Stage::new() else { return };
    stage.folder.write("a.cu", &format!("{KERNEL} k() {{}}\n"));
    let flags = ["-gencode=arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90"];
    let build = flags.iter().fold(stage.folder.builder(), Builder::flag);
    let build = build.nvidia(Nvidia::ptx().nvcc(&stage.nvcc)).build().unwrap();
    assert_eq!(build.cuda_archs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["sm_80", "sm_90"]);
    assert!(stage.asked().iter().all(|line| !line.contains("gencode")));
}

const PROGRAM: &str = r#"
#[deny(warnings, missing_docs)]
/// Generated.
pub mod generated { include!("kernels.rs"); }
fn main() {
    use generated::{A, ids, ptx};
    let [first, second] = A.cuda else { panic!() };
    assert_eq!((first.arch, second.arch), ("sm_80", "sm_90"));
    assert!(first.kind == types::CudaKind::Ptx && first.hash.len() == 64);
    assert_eq!(first.bytes, ptx::A.as_bytes());
    assert!(ptx::A.contains(".target sm_80") && second.bytes.ends_with(b".visible .entry k(\n"));
    assert_eq!((A.kernels, ids::a::K), (&["k"][..], 0));
    assert_eq!(A.code_objects.len(), OBJECTS);
}
"#;

#[test]
fn generated_modules_have_ptx_as_bytes_and_as_texts() {
    let Some(stage) = Stage::new() else { return };
    stage.folder.write("a.cu", &format!("{KERNEL} k() {{}}\n"));
    let nvidia = stage.nvidia().archs(["sm_80", "sm_90"]);
    let build = stage.folder.builder().offload_compress(true).nvidia(nvidia).build().unwrap();
    let out = tempfile::tempdir().unwrap();
    build.write_rust(out.path(), "kernels.rs", "crate::types").unwrap();
    runs(out.path(), &format!("{TYPES}{PROGRAM}const OBJECTS: usize = 1;"));
}

const COMPRESSED: &str = r#"
#[deny(warnings, missing_docs)]
/// Generated.
pub mod generated { include!("kernels.rs"); }
fn main() {
    use generated::{A, ids};
    let [first, second] = A.cuda else { panic!() };
    assert_eq!((first.arch, second.arch), ("sm_80", "sm_90"));
    assert!(std::ptr::eq(first.bytes, second.bytes) && first.bytes.starts_with(b"CCOB"));
    assert!(first.kind == types::CudaKind::Ptx && first.hash.len() == 64 && first.hash != second.hash);
    assert_eq!((A.kernels, ids::a::K, A.code_objects.len()), (&["k"][..], 0, 1));
    assert!(!A.code_objects[0].bytes.is_empty() && A.code_objects[0].bytes != first.bytes);
}
"#;

#[test]
fn compressed_code_of_all_architectures_is_in_one_file() {
    let Some(stage) = Stage::new() else { return };
    stage.folder.write("a.cu", &format!("{KERNEL} k() {{}}\n"));
    for of_amd in [false, true] {
        let nvidia = stage.nvidia().archs(["sm_80", "sm_90"]).compress(true);
        let build = stage.folder.builder().offload_compress(of_amd).nvidia(nvidia).build().unwrap();
        let out = tempfile::tempdir().unwrap();
        build.write_rust(out.path(), "kernels.rs", "crate::types").unwrap();
        let amd = if of_amd { "a.hipfb" } else { "a.gfx1100.hsaco" };
        assert_eq!(files_in(out.path()), [amd, "a.nvidia.hipfb", "kernels.rs"]);
        let bytes: &'static [u8] = fs::read(out.path().join("a.nvidia.hipfb")).unwrap().leak();
        for (arch, (_, image)) in ["sm_80", "sm_90"].into_iter().zip(build.images()) {
            let embedded = embedded::CudaImage { arch, kind: image.kind, bytes, hash: "" };
            assert_eq!(embedded.code().unwrap(), image.bytes);
            assert_eq!(blake3::hash(&image.bytes).to_hex().as_str(), image.hash);
        }
        runs(out.path(), &format!("{TYPES}{COMPRESSED}"));
        assert!(build.for_amd_only().modules.iter().all(|module| module.cuda_bundle.is_none()));
    }
}

/// The names of a folder's files, sorted.
fn files_in(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

/// Set for the build script of a package with compiled code: where another package has that for NVIDIA GPUs.
const NVIDIAS: &str = "FERROCM_TEST_NVIDIAS";

#[test]
fn packages_have_compiled_code_for_each_vendor() {
    if let Some(nvidias) = std::env::var_os(NVIDIAS) {
        let nvidia = Nvidia::ptx().default_archs(["sm_80"]).if_nvcc_is_found();
        let builder = Builder::new("kernels").nvidia_on_request("nvidia", nvidia).prebuilt_nvidia(nvidias);
        match builder.embed_prebuilt("prebuilt") {
            Ok(build) => println!("embedded, compiled: {}", build.is_some()),
            Err(error) => println!("failed: {error}"),
        }
        return;
    }
    let Some(stage) = Stage::new() else { return };
    stage.folder.write("a.cu", &format!("{KERNEL} k() {{}}\n"));
    let nvidia = stage.nvidia().archs(["sm_80", "sm_90a"]).compress(true);
    let build = stage.folder.builder().offload_compress(true).nvidia(nvidia).build().unwrap();
    let folder = stage.folder.path();
    let [package, nvidias, out] = ["the-crate", "the-crate-nvidia", "out"].map(|name| folder.join(name));
    let all = folder.join("all");
    for folder in [package.join("prebuilt"), all.join("the-crate"), out.clone()] {
        fs::create_dir_all(folder).unwrap();
    }
    build.write_prebuilt(&all.join("the-crate"), "kernels.rs", "crate::types").unwrap();
    assert_eq!(
        files_in(&all.join("the-crate/nvidia")),
        ["a.nvidia.hipfb", "beside.txt", "kernels.rs", "targets.txt"]
    );
    build.write_prebuilt(&package.join("prebuilt"), "kernels.rs", "crate::types").unwrap();
    fs::rename(package.join("prebuilt/nvidia"), &nvidias).unwrap();

    let script = |variables: &[(&str, &str)]| {
        fs::remove_dir_all(&out).unwrap();
        fs::create_dir(&out).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "nvidia::packages_have_compiled_code_for_each_vendor", "--nocapture"]);
        for name in ["FERROCM_TARGETS", "FERROCM_CUDA_ARCHS", "FERROCM_KERNEL_METRICS", "FERROCM_PREBUILT"] {
            child.env_remove(name);
        }
        // No compiler is needed.
        child.env("FERROCM_CLANG", "/no/clang").env("NVCC", "/no/nvcc").env_remove("CUDA_COMPUTE_CAP");
        child.env(NVIDIAS, &nvidias).env("OUT_DIR", &out).env("CARGO_MANIFEST_DIR", &package);
        child.current_dir(&package).envs(variables.iter().copied());
        let output = child.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let feature = ("CARGO_FEATURE_NVIDIA", "1");
    let rust = || fs::read_to_string(out.join("kernels.rs")).unwrap();
    let taken = "embedded, compiled: false";
    assert!(script(&[]).contains(taken));
    assert!(files_in(&out).iter().all(|name| !name.contains("nvidia")) && !rust().contains("CudaImage {"));
    let text = script(&[feature]);
    assert!(text.contains(taken) && text.contains(&format!("changed={}", nvidias.display())), "{text}");
    assert!(out.join("a.nvidia.hipfb").is_file() && rust().contains("arch: \"sm_90a\""));
    for archs in ["sm_80", "sm_86,sm_90a,sm_100"] {
        assert!(script(&[feature, ("FERROCM_CUDA_ARCHS", archs)]).contains(taken), "{archs}");
    }
    let text = script(&[feature, ("FERROCM_CUDA_ARCHS", "sm_75")]);
    assert!(text.contains("nothing for sm_75") && text.contains("it is for sm_80, sm_90a"), "{text}");

    // The folder of all takes the place of both packages.
    let all = all.to_str().unwrap();
    assert!(script(&[feature, ("FERROCM_PREBUILT", all)]).contains(taken));
    assert!(out.join("a.nvidia.hipfb").is_file());
    fs::rename(&nvidias, folder.join("gone")).unwrap();
    assert!(
        script(&[feature]).contains("there is no code for NVIDIA GPUs in this build: the package has none")
    );
    let text = script(&[("FERROCM_CUDA_ARCHS", "sm_80")]);
    assert!(text.contains("has no code for NVIDIA GPUs") && text.contains("names sm_80"), "{text}");
    assert!(script(&[feature, ("FERROCM_PREBUILT", all)]).contains(taken));
    let text = script(&[("FERROCM_PREBUILT", folder.to_str().unwrap())]);
    assert!(text.contains("targets.txt is missing"), "{text}");
    let text = script(&[("FERROCM_PREBUILT", package.to_str().unwrap())]);
    assert!(text.contains("the-crate is missing; FERROCM_PREBUILT"), "{text}");
}

/// Set for the child process that acts as a build script.
const CHILD: &str = "FERROCM_TEST_CHILD";

/// Set for a build script of a crate with NVIDIA's code as an extra: where AMD's toolchain may be.
const ON_REQUEST: &str = "FERROCM_TEST_ON_REQUEST";

/// The build script of a crate with features for both vendors, or with one for NVIDIA's.
fn build_script(folder: &str) {
    let folder = PathBuf::from(folder);
    let builder = Builder::new(folder.join("kernels")).cache(folder.join("cache")).runtime_header(false);
    let builder = builder.targets(["gfx1100"]).flag_amd("-nogpuinc").flag_amd("-nogpulib");
    let builder = match std::env::var_os(ON_REQUEST) {
        Some(prefix) => {
            let nvidia = Nvidia::ptx().default_archs(["sm_90a"]).if_nvcc_is_found();
            let search = Search { prefix: Some(prefix.into()), ..Search::from_env() };
            builder.toolchain(search.find().unwrap()).nvidia_on_request("cuda", nvidia)
        }
        None => builder.features("rocm", "cuda"),
    };
    match builder.embed() {
        Ok(build) => println!("built {} {}", build.objects().count(), build.images().count()),
        Err(error) => println!("failed: {error}"),
    }
}

#[test]
fn features_of_the_crate_say_for_which_gpus() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return build_script(folder.to_str().unwrap());
    }
    let Some(stage) = Stage::new() else { return };
    stage.folder.write("a.cu", &format!("{KERNEL} k() {{}}\n"));
    let out = stage.folder.path().join("out");
    let script = |variables: &[(&str, &str)]| {
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "nvidia::features_of_the_crate_say_for_which_gpus", "--nocapture"]);
        child
            .env_remove("CUDA_COMPUTE_CAP")
            .env_remove("NVCC_APPEND_FLAGS")
            .env("FERROCM_CUDA_ARCHS", "sm_80,sm_90");
        child.env(CHILD, stage.folder.path()).env("OUT_DIR", &out).env("NVCC", &stage.nvcc);
        let output = child.envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let files = || {
        let mut names: Vec<_> = fs::read_dir(&out).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let (rocm, cuda) = (("CARGO_FEATURE_ROCM", "1"), ("CARGO_FEATURE_CUDA", "1"));
    // An unneeded compiler may be missing.
    let (no_clang, no_nvcc) = (("FERROCM_CLANG", "/no/clang"), ("NVCC", "/no/nvcc"));

    assert!(script(&[rocm, cuda]).contains("built 1 2\n"));
    assert_eq!(files(), ["a.gfx1100.hsaco", "a.sm_80.ptx", "a.sm_90.ptx", "kernels.rs"]);
    assert!(script(&[rocm, no_nvcc]).contains("built 1 0\n"));
    assert_eq!(files(), ["a.gfx1100.hsaco", "kernels.rs"]);
    let text = script(&[cuda, no_clang]);
    assert!(text.contains("built 0 2\n"), "{text}");
    assert_eq!(files(), ["a.sm_80.ptx", "a.sm_90.ptx", "kernels.rs"]);
    for told in ["rerun-if-env-changed=NVCC", "rerun-if-env-changed=CUDA_COMPUTE_CAP"] {
        assert!(text.contains(told), "{told} in {text}");
    }
    assert!(text.contains(&format!("rerun-if-changed={}\n", stage.nvcc.display())), "{text}");

    let text = script(&[]);
    assert!(
        text.contains("failed: there is nothing to compile for: the features `rocm` (AMD GPUs)"),
        "{text}"
    );
    let text = script(&[rocm, no_clang]);
    assert!(
        text.contains("no device toolchain") && text.contains(", or build without the feature `rocm`."),
        "{text}"
    );
    let text = script(&[cuda, no_nvcc]);
    assert!(text.contains("nvcc: NVCC: /no/nvcc: no such file"), "{text}");
    assert!(
        text.contains("correct NVCC") && text.contains(", or build without the feature `cuda`."),
        "{text}"
    );
    assert_eq!(files(), [""; 0], "nothing half-written");
}

#[test]
fn code_as_an_extra_is_built_on_request_and_where_there_is_nvcc() {
    let Some(stage) = Stage::new() else { return };
    stage.folder.write("a.cu", &format!("{KERNEL} k() {{}}\n"));
    let out = stage.folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let prefix = cache_root().map(|root| root.join("toolchain/current")).unwrap_or_default();
    let script = |variables: &[(&str, &str)]| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "nvidia::features_of_the_crate_say_for_which_gpus", "--nocapture"]);
        for name in ["FERROCM_CUDA_ARCHS", "CUDA_COMPUTE_CAP", "NVCC_APPEND_FLAGS"] {
            child.env_remove(name);
        }
        child.env(CHILD, stage.folder.path()).env("OUT_DIR", &out).env(ON_REQUEST, &prefix);
        child.env("NVCC", &stage.nvcc).env("CARGO_PKG_NAME", "the-crate");
        let output = child.envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let feature = ("CARGO_FEATURE_CUDA", "1");
    let text = script(&[]);
    assert!(text.contains("built 1 0\n") && !text.contains("cargo::warning"), "{text}");
    assert!(text.contains("rerun-if-env-changed=FERROCM_CUDA_ARCHS"), "{text}");
    assert!(script(&[feature]).contains("built 1 1\n"));
    assert!(out.join("a.sm_90a.ptx").is_file(), "the default one");
    assert!(script(&[("FERROCM_CUDA_ARCHS", "sm_80,sm_90")]).contains("built 1 2\n"));
    let text = script(&[("FERROCM_CUDA_ARCHS", "ampere")]);
    assert!(text.contains("failed: FERROCM_CUDA_ARCHS: bad architecture"), "{text}");
    let text = script(&[feature, ("NVCC", "/no/nvcc")]);
    assert!(text.contains("failed: no nvcc was found"), "a named one is binding: {text}");
    // A machine without nvcc, and without one of set-up.
    let place = |dir: &&&str| PathBuf::from(**dir).join("nvcc").exists();
    if let Some(dir) = ["/usr/bin", "/bin", "/usr/local/cuda/bin", "/opt/cuda/bin"].iter().find(place) {
        return skip(Lack::Machine, format_args!("there is an nvcc in {dir}"));
    }
    let cache = stage.folder.path().to_str().unwrap();
    let nowhere = [
        ("NVCC", ""),
        ("CUDA_HOME", ""),
        ("CUDA_PATH", ""),
        ("CUDA_ROOT", ""),
        ("CUDA_TOOLKIT_ROOT_DIR", ""),
        ("PATH", "/usr/bin:/bin"),
        ("FERROCM_CACHE", cache),
        ("FERROCM_SETUP", "the-program setup"),
        feature,
    ];
    let text = script(&nowhere);
    assert!(text.contains("built 1 0\n"), "{text}");
    let warning = "cargo::warning=there is no code for NVIDIA GPUs in this build, because no nvcc was found. To get one, \
                   run `the-program setup --cuda`, or";
    assert!(text.contains(warning) && text.contains("Then run `cargo clean -p the-crate`.\n"), "{text}");
}

#[test]
fn outside_of_build_scripts_there_are_no_features() {
    let folder = tempfile::tempdir().unwrap();
    if std::env::var_os("OUT_DIR").is_none() {
        let error = Builder::new(folder.path()).features("rocm", "cuda").build().unwrap_err();
        assert!(matches!(error, Error::NotABuildScript { name: "OUT_DIR" }), "{error}");
    }
}

#[test]
fn a_real_nvcc_compiles_the_same_sources() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain.clone());
    let source = folder.write(
        "scale.cu",
        "#include <cuda_fp16.h>\n#include \"factor.cuh\"\nnamespace { __device__ int count; }\n\
         extern \"C\" __global__ void scale(float *x, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
         \x20   if (i < n) x[i] *= FACTOR;\n    else count++;\n}\n\
         template <typename T> __global__ void fill(T *x) { x[threadIdx.x] = T(BY); }\n\
         template __global__ void fill<float>(float *);\n",
    );
    folder.write("factor.cuh", "#define FACTOR 7.0f\n");
    let build = |nvidia: Nvidia| {
        let builder = Builder::new(folder.kernels()).toolchain(toolchain.clone()).cache(folder.cache());
        let builder = builder.targets(["gfx1100"]).define("BY", Some("3")).flag("--expt-relaxed-constexpr");
        builder.nvidia(nvidia).build()
    };
    let first = match build(Nvidia::ptx().archs(["sm_80"])) {
        Err(Error::Compiler(CompilerError::Toolchain(error))) if error.what == "nvcc" => {
            skip(Lack::Judge, error);
            return;
        }
        result => result.unwrap(),
    };
    let [module] = &first.modules[..] else { panic!() };
    assert_eq!(module.kernels, ["_Z4fillIfEvPT_", "scale"], "of both compilers");
    let [image] = &module.images[..] else { panic!() };
    assert_eq!((&image.kernels, image.kind), (&module.kernels, CudaKind::Ptx));
    let text = String::from_utf8(image.bytes.clone()).unwrap();
    assert!(text.contains("\n.target sm_80\n"), "{text}");
    // The bits of 7.0f, and of 3.0f in either notation.
    assert!(text.contains("0f40E00000"), "{text}");
    assert!(text.contains("0f40400000") || text.contains("1077936128"), "{text}");
    assert!(build(Nvidia::ptx().archs(["sm_80"])).unwrap().all_cached());
    folder.write("factor.cuh", "#define FACTOR 5.0f\n");
    let changed = build(Nvidia::ptx().archs(["sm_80"])).unwrap();
    assert!(!changed.modules[0].images[0].cached);
    assert!(String::from_utf8_lossy(&changed.modules[0].images[0].bytes).contains("0f40A00000"));

    let cubins = build(Nvidia::cubin().archs(["sm_80", "sm_90"])).unwrap();
    for image in &cubins.modules[0].images {
        assert_eq!((&image.kernels, image.kind), (&module.kernels, CudaKind::Cubin));
        assert!(image.bytes.starts_with(b"\x7fELF"));
    }

    let both =
        || build(Nvidia::ptx_and_cubin().archs(["sm_80", "sm_90a"]).flag("-include").flag("cuda_bf16.h"));
    let images = both().unwrap().modules.remove(0).images;
    let kinds: Vec<_> = images.iter().map(|image| (image.arch.to_string(), image.kind)).collect();
    let [ptx, cubin] = [CudaKind::Ptx, CudaKind::Cubin];
    // PTX of sm_90a serves no other GPU than its cubin.
    let expected = [("sm_80", ptx), ("sm_80", cubin), ("sm_90a", cubin)];
    assert_eq!(kinds, expected.map(|(arch, kind)| (arch.to_owned(), kind)));
    assert!(images.iter().all(|image| image.kernels == module.kernels));
    assert!(both().unwrap().all_cached());

    folder.write(
        "scale.cu",
        "#include \"factor.cuh\"\n__global__ void k(float *x) {\n    *x = y;\n    int unused = 1;\n}\n",
    );
    let error = build(Nvidia::ptx().archs(["sm_80"])).unwrap_err();
    let Error::Compile { failures } = &error else { panic!("{error}") };
    let failure = failures.iter().find(|failure| matches!(failure.target, Target::Nvidia(_))).unwrap();
    let is_error = |d: &&kernel_build::Diagnostic| d.severity == Severity::Error;
    let place = failure.diagnostics.iter().find(is_error).and_then(|d| d.place.clone()).unwrap();
    assert_eq!((place.file, place.line), (source, 3), "{error}");
}

/// The architectures and options are those of the crate `kernels`. Results are kept in the user's cache, like
/// those of builds.
#[test]
fn a_real_nvcc_compiles_all_kernels_of_the_workspace() {
    let Some(toolchain) = toolchain() else { return };
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels");
    let nvidia = Nvidia::cubin().archs(["sm_80", "sm_90a", "sm_100"]);
    let build = match Builder::new(kernels).toolchain(toolchain).targets(["gfx1100"]).nvidia(nvidia).build() {
        Err(Error::Compiler(CompilerError::Toolchain(error))) if error.what == "nvcc" => {
            skip(Lack::Judge, error);
            return;
        }
        result => result.unwrap(),
    };
    for module in &build.modules {
        assert_eq!(module.images.len(), 3, "{}", module.name);
        assert!(module.images.iter().all(|image| !image.kernels.is_empty()), "{}", module.name);
    }
}
