//! Every example runs to its end.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The example's program, which cargo builds with the tests.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    // target/debug/deps/examples-… beside target/debug/examples/…
    let folder = test.parent().and_then(Path::parent).expect("a folder of build results");
    folder.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

fn run(name: &str) {
    let program = program(name);
    assert!(program.exists(), "{} is not there: `cargo build --examples` makes it", program.display());
    let output = Command::new(&program).output().expect("the example starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {}\n{out}\n{err}", output.status);
}

macro_rules! examples {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                run(stringify!($name));
            }
        )*

        #[test]
        fn none_is_forgotten() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
            let mut files: Vec<String> = std::fs::read_dir(folder)
                .expect("the folder of examples")
                .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
                .collect();
            files.sort();
            let mut tested = vec![$(stringify!($name).to_owned()),*];
            tested.sort();
            assert_eq!(files, tested);
        }
    };
}

examples! {
    compile copies counters devices faults futures graphs host_memory ipc memory peers prepared reduction saxpy streams
    typed views
}
