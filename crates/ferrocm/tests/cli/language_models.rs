//! The commands that run language models, without a model.

use std::fs;
use std::process::Command;

use crate::{ferrocm, json, run};

/// The program with its caches, conversations and settings in a folder.
fn alone(folder: &tempfile::TempDir, arguments: &[&str]) -> Command {
    let mut command = ferrocm(arguments);
    for variable in ["FERROCM_MODEL", "FERROCM_CONFIG", "FERROCM_TEMPERATURE", "HF_HUB_CACHE", "HF_TOKEN"] {
        command.env_remove(variable);
    }
    for variable in ["FERROCM_CACHE", "FERROCM_SESSIONS", "HF_HOME", "XDG_CONFIG_HOME"] {
        command.env(variable, folder.path());
    }
    command
}

#[test]
fn a_model_that_is_not_named_or_not_there_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["generate", "chat", "serve", "embed", "bench-model"] {
        let ran = run(&mut alone(&folder, &[name]));
        // The first complaint of `generate` may be that there is no prompt.
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.err);
        let ran = run(alone(&folder, &[name])
            .env("FERROCM_MODEL", "/no/such.gguf")
            .env("FERROCM_PROMPT", "hi")
            .env("FERROCM_TEXT", "hi"));
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.err);
        assert!(ran.err.contains("/no/such.gguf"), "{name}: {}", ran.err);
    }
    let file = folder.path().join("bad.gguf");
    fs::write(&file, b"GGUF\x03\0\0\0").unwrap();
    let ran = run(&mut alone(
        &folder,
        &["generate", "--prompt", "hi", "--device", "cpu", "--model", file.to_str().unwrap()],
    ));
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("bad.gguf"), "{}", ran.err);
}

#[test]
fn values_from_variables_and_files_are_named_if_they_are_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(alone(&folder, &["generate", "--prompt", "hi"]).env("FERROCM_TEMPERATURE", "hot"));
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("the value comes from the variable FERROCM_TEMPERATURE"), "{}", ran.err);
    let ran = run(alone(&folder, &["generate", "--temperature", "hot"]).env("FERROCM_TEMPERATURE", "0"));
    assert!(ran.code == Some(2) && !ran.err.contains("comes from"), "{}", ran.err);
    let file = folder.path().join("settings.toml");
    fs::write(&file, "colour = 1\n").unwrap();
    let ran = run(&mut alone(&folder, &["serve", "--config", file.to_str().unwrap()]));
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("settings.toml: `colour`"), "{}", ran.err);
    let ran = run(&mut alone(&folder, &["serve", "--config", "/no/such.toml"]));
    assert!(ran.code == Some(2) && ran.err.contains("/no/such.toml"), "{}", ran.err);
}

#[test]
fn models_are_listed_and_what_is_not_there_cannot_be_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(&mut alone(&folder, &["models", "--json"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let listed = json(&ran.out);
    let models = listed["models"].as_array().unwrap();
    assert!(models.iter().any(|model| model["name"] == "smollm2" && model["path"].is_null()), "{listed}");
    for name in ["smollm2", "no-such-model"] {
        let ran = run(&mut alone(&folder, &["models", "delete", name]));
        assert!(ran.code == Some(1) && ran.err.contains(name), "{}", ran.err);
    }
}

#[test]
fn models_of_the_hub_are_found_in_its_cache_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let repository = folder.path().join("hub/models--owner--name");
    let snapshot = repository.join("snapshots").join(commit);
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(repository.join("refs")).unwrap();
    fs::write(repository.join("refs/main"), commit).unwrap();
    fs::write(snapshot.join("m-Q8_0.gguf"), b"GGUF").unwrap();
    let listed = json(&run(&mut alone(&folder, &["models", "--json"])).out);
    let models = listed["models"].as_array().unwrap();
    let found = models.iter().find(|model| model["name"] == "hf:owner/name/m-Q8_0.gguf").expect("the model");
    assert_eq!(found["bytes"], 4);
    let generate = |name: &str| {
        let arguments = ["generate", "--device", "cpu", "--prompt", "hi", "--model", name];
        run(alone(&folder, &arguments).env("HF_HUB_OFFLINE", "1"))
    };
    let ran = generate("hf:owner/name/m-Q8_0.gguf");
    assert!(ran.code == Some(1) && ran.err.contains("m-Q8_0.gguf: the file ends"), "{}", ran.err);
    let ran = generate("hf:owner/name:Q2_K");
    assert!(ran.code == Some(1) && ran.err.contains("HF_HUB_OFFLINE"), "{}", ran.err);
    let ran = generate("hf:owner");
    assert!(ran.code == Some(1) && ran.err.contains("hf:OWNER/NAME"), "{}", ran.err);
    let ran = run(&mut alone(&folder, &["models", "delete", "hf:owner/name"]));
    assert!(ran.code == Some(0) && !repository.exists(), "{}", ran.err);
}
