//! The steps that pack and publish: the component's own commands, and the visibility of the signing key.

use std::fs;

use crate::stage::{Ended, Stage, project};

/// A stand-in for this project's program: it prints the settings, packs, and writes checksums.
const XTASK: &str = r#"
task="$2"
while [ $# -gt 1 ]; do
    case "$1" in --out | --files) folder="$2" ;; esac
    shift
done
case "$task" in
    variables) cat "$HOME/variables" ;;
    package) echo packed > "$folder/sample.tar.gz" ;;
    seal)
        echo "key of seal: ${FERROCM_SIGNING_KEY:-none}"
        (cd "$folder" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs -d '\n' sha256sum > SHA256SUMS)
        ;;
esac
"#;

/// Runs a step for a component with its own commands.
fn run(stage: &Stage, step: &str, commands: &[&str], variables: &[(&str, &str)]) -> Ended {
    let quoted: Vec<_> = commands.iter().map(|command| format!("'{command}'")).collect();
    let settings = format!("FLEET_KIND='cuda'\nFLEET_FOLDER='.'\nFLEET_COMMANDS=({})\n", quoted.join(" "));
    stage.file("home/variables", &settings);
    stage.file("in/compile-gfx942/kernels.json", "{}");
    stage.file("repo/version", "1.2\n");
    let path = |name: &str| stage.at(name).display().to_string();
    let (home, repo, input) = (project().display().to_string(), path("repo"), path("in"));
    let (out, store) = (path(&format!("in/{step}")), path("store"));
    let xtask = stage.program_at("xtask", XTASK).display().to_string();
    let mut all = vec![
        ("FLEET_HOME", home.as_str()),
        ("FLEET_REPO", repo.as_str()),
        ("FLEET_IN", input.as_str()),
        ("FLEET_OUT", out.as_str()),
        ("FLEET_STORE", store.as_str()),
        ("FLEET_XTASK", xtask.as_str()),
        ("FLEET_COMPONENT", "sample"),
        ("FLEET_SYSTEM", "github"),
        ("FLEET_COMMIT", "0123456"),
        ("FLEET_REF", "refs/heads/main"),
        ("FERROCM_SIGNING_KEY", "the key"),
    ];
    all.extend(variables);
    stage.script(&format!("ci/steps/{step}.sh"), &[], &all)
}

#[test]
fn what_own_commands_make_is_packed_sealed_and_published() {
    let stage = Stage::new();
    let commands = [
        "cp version \"$FLEET_PACKAGES/sample-$(cat version).txt\"",
        "mkdir \"$FLEET_PACKAGES/more\"; echo \"key of a command: ${FERROCM_SIGNING_KEY:-none}\" | tee \"$FLEET_PACKAGES/more/a b\"",
    ];
    let ended = run(&stage, "package", &commands, &[]);
    assert_eq!(ended.status, 0, "{ended:?}");
    // Nothing that runs for pull requests sees the key.
    assert!(
        ended.out.contains("key of a command: none\n") && ended.out.contains("key of seal: none\n"),
        "{ended:?}"
    );
    let listed = fs::read_to_string(stage.at("in/package/files/SHA256SUMS")).unwrap();
    let names: Vec<_> = listed.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
    assert_eq!(names, ["more/a b", "sample-1.2.txt", "sample.tar.gz"]);

    let ended = run(&stage, "publish", &commands, &[]);
    assert!(ended.status == 0 && ended.out.contains("key of seal: the key\n"), "{ended:?}");
    for file in ["SHA256SUMS", "more/a b", "sample-1.2.txt", "sample.tar.gz"] {
        assert!(stage.at("store/sample/0123456").join(file).is_file(), "{file}");
    }
    assert_eq!(fs::read_to_string(stage.at("store/sample/latest")).unwrap(), "0123456\n");
    // Azure does not expand unknown variables.
    let ended = run(&stage, "publish", &commands, &[("FERROCM_SIGNING_KEY", "$(FerrocmSigningKey)")]);
    assert!(ended.status == 0 && ended.out.contains("key of seal: none\n"), "{ended:?}");

    stage.file("in/package/files/sample-1.2.txt", "other");
    let ended = run(&stage, "publish", &commands, &[]);
    assert!(ended.status == 1 && ended.out.contains("is not what was packed"), "{ended:?}");
}

#[test]
fn a_command_that_fails_fails_the_step() {
    let stage = Stage::new();
    let ended = run(&stage, "package", &["false | true; exit 0", "touch never"], &[]);
    assert!(ended.status == 1 && ended.out.contains("ended with 1: false | true; exit 0"), "{ended:?}");
    assert!(!stage.at("repo/never").exists() && !stage.at("in/package/files/sample.tar.gz").exists());
}
