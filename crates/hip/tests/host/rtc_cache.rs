//! The cache of kernels that are compiled at run time: what is an entry of its own, and what becomes of damaged ones.

use hip::TargetId;
use hip::rtc::Program;

use crate::common::{SAXPY, compiler};

/// What the programs are compiled for.
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
    // Files of the machine may change without a trace in the key.
    let reads = program.clone().option(format!("-I{}", folder.path().display()));
    for _ in 0..2 {
        assert!(!compiler.compile(&reads, &target).unwrap().cached);
    }
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
