//! The cache of kernels compiled at run time: which changes make a new entry, and how damaged entries are
//! handled.

use hip::TargetId;
use hip::rtc::Program;
use test_skip::{Lack, skip};

use crate::common::{SAXPY, compiler};

/// The target of the programs.
fn target() -> TargetId {
    "gfx1100".parse().unwrap()
}

#[test]
fn what_changes_the_result_is_another_entry() {
    let ((folder, compiler), target) = (compiler(), target());
    let program = Program::new(SAXPY);
    assert!(!compiler.compile(&program, &target).unwrap().cached);
    assert!(compiler.compile(&program, &target).unwrap().cached);
    for other in [
        Program::new(format!("{SAXPY} ")),
        program.clone().option("-DN=1"),
        program.clone().header("a.h", ""),
        program.clone().name("saxpy.hip"),
        program.clone().expression("saxpy"),
    ] {
        assert!(!compiler.compile(&other, &target).unwrap().cached, "{other:?}");
    }
    assert!(compiler.clone().cache(folder.path()).unwrap().compile(&program, &target).unwrap().cached);
    assert!(!compiler.clone().without_cache().compile(&program, &target).unwrap().cached);
    compiler.clear_cache().unwrap();
    assert!(!compiler.cache_limit(0).compile(&program, &target).unwrap().cached);
}

#[test]
fn what_several_compile_at_the_same_time_is_compiled_once() {
    let ((_folder, compiler), target) = (compiler(), target());
    let program = Program::new(SAXPY);
    let compile = || compiler.compile(&program, &target).unwrap().cached;
    let cached: Vec<bool> = std::thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(compile));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    assert_eq!(cached.iter().filter(|cached| !**cached).count(), 1);
}

#[test]
fn what_is_damaged_in_the_cache_is_compiled_again() {
    let ((folder, compiler), target) = (compiler(), target());
    let program = Program::new(SAXPY);
    let good = compiler.compile(&program, &target).unwrap().code;
    let mut damaged = 0;
    for prefix in std::fs::read_dir(folder.path().join("objects")).unwrap() {
        for object in std::fs::read_dir(prefix.unwrap().path()).unwrap() {
            let path = object.unwrap().path();
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(path, bytes).unwrap();
            damaged += 1;
        }
    }
    assert_eq!(damaged, 1);
    let again = compiler.compile(&program, &target).unwrap();
    assert!(!again.cached && again.code == good);
    assert!(compiler.compile(&program, &target).unwrap().cached);
}

#[test]
fn a_file_that_changes_or_appears_makes_another_result() {
    let ((folder, compiler), target) = (compiler(), target());
    if !compiler.is_caching() {
        return skip(Lack::Tool, "this compiler does not tell what it reads, and nothing is kept");
    }
    let (part, flag) = (folder.path().join("part.h"), folder.path().join("flag.h"));
    let kernel = "extern \"C\" __global__ void k(int *p) { *p = VALUE; }";
    let [name, asked] = [&part, &flag].map(|path| path.display());
    let write = |value: u32, age: u64| {
        std::fs::write(&part, format!("#define VALUE {value}\n")).unwrap();
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        std::fs::File::options().append(true).open(&part).unwrap().set_modified(time).unwrap();
    };
    write(1, 100);
    let programs = [
        format!("/**/ %:include \"{name}\"\n{kernel}"),
        format!("#if __has_include(\"{asked}\")\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n{kernel}"),
        format!("#if __has_include(<flag.h>)\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n{kernel}"),
    ];
    let programs =
        programs.map(|source| Program::new(source).option(format!("-I{}", folder.path().display())));
    let compile = || {
        programs.each_ref().map(|program| {
            let compiled = compiler.compile(program, &target).unwrap();
            (compiled.code, compiled.cached)
        })
    };
    let first = compile();
    let second = compile();
    for ((code, cached), (again, found)) in first.iter().zip(&second) {
        assert!(!cached && *found && code == again);
    }
    write(2, 50);
    std::fs::write(&flag, "").unwrap();
    for ((before, _), (code, cached)) in first.iter().zip(&compile()) {
        assert!(!cached && code != before);
    }
}

#[test]
fn a_folder_that_others_may_write_to_is_no_cache() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, compiler) = compiler();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let error = compiler.cache(folder.path()).unwrap_err().to_string();
    assert!(error.contains("0777") && error.contains("chmod"), "{error}");
}
