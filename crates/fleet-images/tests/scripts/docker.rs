//! The steps of the Dockerfiles, run with stand-ins for the package manager and other programs.

use std::fs;
use std::path::Path;

use crate::stage::{Stage, project};

/// Runs all steps of a Dockerfile like its shell, and returns the calls of the stand-ins.
fn run(stage: &Stage, file: &str) -> Vec<String> {
    let text = fs::read_to_string(project().join(file)).unwrap();
    let steps = fleet_images::run_steps(&text);
    assert_eq!(steps.len(), text.matches("\nRUN ").count());
    for program in ["apt-get", "rm", "rustup", "useradd", "groupadd", "cargo", "install"] {
        stage.program(program, "");
    }
    fs::create_dir_all(stage.at("root/etc/apt/sources.list.d")).unwrap();
    fs::create_dir_all(stage.at("root/etc/apt/preferences.d")).unwrap();
    let root = stage.at("root/etc").display().to_string();
    for step in steps {
        let step = step.replace("> /etc", &format!("> {root}"));
        let ended = stage.run(Path::new("/bin/bash"), &["-o", "pipefail", "-c", &step], &[]);
        assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{step}: {ended:?}");
    }
    stage.calls()
}

/// The words of the calls that install packages.
fn installed(calls: &[String]) -> Vec<&str> {
    let install = "apt-get [install] [--yes] [--no-install-recommends] ";
    let all = calls.iter().filter_map(|call| call.strip_prefix(install));
    all.flat_map(|words| words.split(' ')).map(|word| word.trim_matches(['[', ']'])).collect()
}

#[test]
fn the_build_image_installs_what_the_table_says() {
    let stage = Stage::new();
    let calls = run(&stage, "ci/images/build/Dockerfile");
    let table = fleet_images::table(project()).unwrap();
    assert_eq!(installed(&calls), table.build_packages);
    assert_eq!(calls[0], "apt-get [update]");
    assert!(calls[2].starts_with("rm [-rf] [/var/lib/apt/lists/"), "{calls:?}");
    assert!(calls.contains(&"cargo [xtask] [setup] [--yes]".to_owned()), "{calls:?}");
    let text = fs::read_to_string(project().join("ci/images/build/Dockerfile")).unwrap();
    let manifest = fs::read_to_string(project().join("Cargo.toml")).unwrap();
    let rust = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \""))
        .unwrap()
        .trim_end_matches('"');
    assert!(text.contains(&format!("\nFROM rust:{rust}-bookworm\n")), "{text}");
}

#[test]
fn the_test_image_knows_amd_s_packages_by_their_key() {
    let stage = Stage::new();
    let calls = run(&stage, "ci/images/test/Dockerfile");
    let table = fleet_images::table(project()).unwrap();
    let expected = [&["ca-certificates".to_owned()][..], &table.test_packages].concat();
    assert_eq!(installed(&calls), expected);
    let source = fs::read_to_string(stage.at("root/etc/apt/sources.list.d/rocm.sources")).unwrap();
    let expected = format!(
        "Types: deb\nURIs: https://repo.radeon.com/rocm/apt/{}\nSuites: noble\nComponents: main\nArchitectures: amd64\n\
         Signed-By: /etc/apt/keyrings/rocm.asc\n",
        table.rocm
    );
    assert_eq!(source, expected);
    let preferences = fs::read_to_string(stage.at("root/etc/apt/preferences.d/rocm")).unwrap();
    assert_eq!(preferences, "Package: *\nPin: origin repo.radeon.com\nPin-Priority: 600\n");
    let text = fs::read_to_string(project().join("ci/images/test/Dockerfile")).unwrap();
    assert!(text.contains("\nCOPY keys/rocm.asc /etc/apt/keyrings/rocm.asc\n"), "{text}");
}
