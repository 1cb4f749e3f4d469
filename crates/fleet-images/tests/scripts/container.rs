//! The step that keeps the container of a failed job.

use std::fs;
use std::process::Command;

use crate::stage::{Ended, Stage, project};

const STEP: &str = "ci/steps/container.sh";
const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
/// Programs that the step and the shared code of all steps need.
const TOOLS: [&str; 16] = [
    "basename", "bash", "dirname", "env", "git", "gzip", "head", "mkdir", "rm", "sed", "sh", "sleep", "tee",
    "timeout", "tr", "wc",
];

/// Runs the step like a GitHub job, in a container with these mounts.
fn run(stage: &Stage, mounts: &str, variables: &[(&str, &str)]) -> Ended {
    stage.file("root/proc/self/mountinfo", mounts);
    let (home, out) = (project().display().to_string(), stage.at("out").display().to_string());
    let mut all = vec![
        ("FLEET_HOME", home.as_str()),
        ("FLEET_REPO", home.as_str()),
        ("FLEET_OUT", out.as_str()),
        ("FLEET_COMPONENT", "sample"),
        ("FLEET_SYSTEM", "github"),
        ("FLEET_COMMIT", "0123456"),
        ("FLEET_REF", "refs/heads/main"),
        ("FLEET_CONTAINER_LIMIT", "1"),
    ];
    all.extend(variables);
    stage.script(STEP, &[], &all)
}

/// The mounts in containers of Docker and podman.
fn mounts(of: &str) -> String {
    let folder = match of {
        "docker" => "/var/lib/docker/containers",
        _ => "/var/lib/containers/storage/overlay-containers",
    };
    let userdata = if of == "podman" { "/userdata" } else { "" };
    format!(
        "610 500 0:52 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/ABC\n\
         612 610 254:1 {folder}/{ID}{userdata}/resolv.conf /etc/resolv.conf rw - ext4 /dev/vda1 rw\n\
         613 610 254:1 {folder}/{ID}{userdata}/hostname /etc/hostname rw - ext4 /dev/vda1 rw\n"
    )
}

const EXPORTS: &str = "case $2 in export) printf 'the files' ;; esac";

#[test]
fn a_container_is_kept_as_an_archive_of_its_files() {
    for program in ["docker", "podman"] {
        let stage = Stage::bare(&TOOLS);
        stage.program(program, EXPORTS);
        let ended = run(&stage, &mounts(program), &[]);
        assert_eq!(ended.status, 0, "{ended:?}");
        let calls = [
            format!("{program} [container] [inspect] [{ID}]"),
            format!("{program} [container] [export] [{ID}]"),
        ];
        assert_eq!(stage.calls(), calls);
        let archive = stage.at("out/container.tar.gz");
        let unpacked = Command::new("gzip").args(["-dc"]).arg(&archive).output().unwrap();
        assert_eq!(unpacked.stdout, b"the files");
        let again = format!("{program} import --change 'ENV PATH={}'", stage.at("bin").display());
        assert!(ended.out.contains(&again), "{ended:?}");
        assert_eq!(fs::read_to_string(stage.at("out/log/container.status")).unwrap(), "0\n");
    }
}

#[test]
fn what_is_not_kept_is_told_and_fails_nothing() {
    let docker = mounts("docker");
    let inspected = "case $2 in inspect) exit 0 ;; esac";
    // One and a half mebibytes of incompressible data.
    let large = "case $2 in export) head -c 1572864 /dev/urandom ;; esac";
    for (body, mounts, variables, told) in [
        (Some(large), &*docker, &[][..], "larger than 1 MiB"),
        (Some(&*format!("{inspected}; echo part; exit 3")), &docker, &[], "docker cannot export it (3)"),
        (Some("exit 1"), &docker, &[], "neither docker nor podman is here and knows 0123456789abcdef"),
        (None, &docker, &[], "neither docker nor podman is here"),
        (Some(EXPORTS), "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n", &[], "the list of mounts does not name"),
        (Some(EXPORTS), &docker, &[("FLEET_CONTAINER_LIMIT", "0")], "container-limit of ci/fleet.toml is 0"),
        (Some(EXPORTS), &docker, &[("FLEET_SYSTEM", "local")], "does not run in its own container"),
    ] {
        let stage = Stage::bare(&TOOLS);
        if let Some(body) = body {
            stage.program("docker", body);
        }
        let ended = run(&stage, mounts, variables);
        assert_eq!(ended.status, 0, "{told}: {ended:?}");
        assert!(ended.out.contains(told), "{told}: {ended:?}");
        assert!(!stage.at("out/container.tar.gz").exists(), "{told}");
    }
}
