//! Compressed bundles of code objects: their contents, and that clang's own tool reads them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use code_object::bundle;
use code_object::embedded;
use kernel_build::toolchain::Toolchain;
use kernel_build::{Build, BuiltObject};
use test_skip::{Lack, skip};

use crate::support::{Folder, KERNEL, toolchain};

const TARGETS: [&str; 4] = ["gfx90a:sramecc+:xnack-", "gfx90a", "gfx11-generic", "gfx1100"];

/// Builds a source with two kernels for these targets.
fn built(folder: &Folder, targets: &[&str]) -> Build {
    folder.write("a.cu", &format!("{KERNEL} k(int *p) {{ *p = 1; }}\n{KERNEL} l(int *p) {{ *p = 2; }}\n"));
    folder.builder().targets(targets).offload_compress(true).build().unwrap()
}

/// The file of a build's only module.
fn bytes(build: &Build) -> &[u8] {
    &build.modules[0].bundle.as_ref().unwrap().bytes
}

#[test]
fn a_bundle_has_what_fits_each_device_best() {
    let Some(toolchain) = toolchain() else { return };
    let folder = Folder::new(toolchain);
    let build = built(&folder, &TARGETS);
    let [module] = &build.modules[..] else { panic!() };
    let file: &'static [u8] = bytes(&build).to_vec().leak();
    let plain: usize = module.objects.iter().map(|object| object.bytes.len()).sum();
    assert!(file.len() < plain / 4, "{} of {plain}", file.len());

    // Like the generated module.
    let object = |object: &BuiltObject| embedded::CodeObject {
        target: object.target.to_string().leak(),
        bytes: file,
        hash: object.hash.clone().leak(),
    };
    let code_objects: Vec<_> = module.objects.iter().map(object).collect();
    let module = embedded::Module {
        id: 0,
        name: "a",
        source: "a.cu",
        kernels: &["k", "l"],
        code_objects: code_objects.leak(),
        cuda: &[],
    };
    for (device, expected) in [
        ("gfx90a:sramecc+:xnack-", 0),
        ("gfx90a:sramecc+:xnack+", 1),
        ("gfx90a:sramecc-:xnack-", 1),
        ("gfx1151", 2),
        ("gfx1100", 3),
    ] {
        let device = device.parse().unwrap();
        let object = module.for_device(&device).unwrap();
        let expected = &build.modules[0].objects[expected];
        assert_eq!(
            (object.target, object.hash),
            (&*expected.target.to_string(), &*expected.hash),
            "{device}"
        );
        assert!(object.code().unwrap() == expected.bytes, "{device}");
        assert!(bundle::code_for(file, &device).unwrap() == expected.bytes, "{device}");
    }
    assert!(module.for_device(&"gfx1030".parse().unwrap()).is_none());
}

#[test]
fn equal_code_gives_equal_bundles_from_the_cache_or_not() {
    let Some(toolchain) = toolchain() else { return };
    let (one, two) = (Folder::new(toolchain.clone()), Folder::new(toolchain));
    let first = built(&one, &TARGETS);
    assert!(bytes(&built(&two, &TARGETS)) == bytes(&first), "in another folder");
    let count = || {
        let folders = fs::read_dir(one.cache().join("objects")).unwrap();
        folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count()).sum::<usize>()
    };
    let before = count();
    assert_eq!(before, TARGETS.len() + 1, "one file more than code objects");
    let again = built(&one, &TARGETS);
    assert!(again.all_cached());
    assert!(bytes(&again) == bytes(&first));
    assert_eq!(count(), before);
    let plain = one.builder().targets(TARGETS).build().unwrap();
    assert!(plain.modules[0].bundle.is_none());
}

/// clang-offload-bundler, beside the compiler or on `PATH`.
fn bundler(toolchain: &Toolchain) -> Option<PathBuf> {
    let clang = fs::canonicalize(&toolchain.clang).ok()?;
    let major = toolchain.version.major;
    let names = ["clang-offload-bundler".to_owned(), format!("clang-offload-bundler-{major}")];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = clang.parent().map(Into::into).into_iter().chain(std::env::split_paths(&path));
    let mut programs = folders.flat_map(|folder: PathBuf| names.clone().map(|name| folder.join(name)));
    programs.find(|program| program.is_file())
}

#[test]
fn clangs_own_tool_reads_what_is_written() {
    let Some(toolchain) = toolchain() else { return };
    let Some(bundler) = bundler(&toolchain) else {
        skip(
            Lack::Tool,
            format_args!("no clang-offload-bundler beside {} or in PATH", toolchain.clang.display()),
        );
        return;
    };
    let folder = Folder::new(toolchain.clone());
    // The tool considers code for plain gfx90a equally suitable for every gfx90a, and clang refuses to mix it
    // with code that names features.
    let targets = ["gfx90a:sramecc+:xnack-", "gfx11-generic", "gfx1100"];
    let build = built(&folder, &targets);
    let input = folder.path().join("a.hipfb");
    fs::write(&input, bytes(&build)).unwrap();
    let run = |options: &[String]| {
        let mut command = Command::new(&bundler);
        command.args(["-type=o", &format!("-input={}", input.display())]).args(options);
        command.env("LD_LIBRARY_PATH", std::env::join_paths(&toolchain.library_path).unwrap());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{options:?}: {said}");
        (String::from_utf8(output.stdout).unwrap(), said)
    };
    let (list, _) = run(&["-list".into()]);
    let mut list: Vec<&str> = list.lines().collect();
    list.sort_unstable();
    let mut expected: Vec<String> = targets.map(|target| format!("hipv4-amdgcn-amd-amdhsa--{target}")).into();
    expected.push("host-x86_64-unknown-linux--".into());
    expected.sort();
    assert_eq!(list, expected);
    for object in &build.modules[0].objects {
        let output = folder.path().join("out.o");
        let (_, said) = run(&[
            "-unbundle".into(),
            "-verbose".into(),
            format!("-targets=hipv4-amdgcn-amd-amdhsa--{}", object.target),
            format!("-output={}", output.display()),
        ]);
        assert!(said.contains("Compressed bundle format version: 2"), "{said}");
        assert!(said.contains("Hashes match: Yes"), "{said}");
        assert!(fs::read(&output).unwrap() == object.bytes, "{}", object.target);
    }
}
