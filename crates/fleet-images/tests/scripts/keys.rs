//! Keys that sign packages.

use std::fs;
use std::path::Path;
use std::process::Command;

use fleet_images::{Error, Keys, TABLE, Table, USER_DATA};
use test_skip::{Lack, skip};

use crate::stage::{Stage, project};

const SCRIPT: &str = "ci/images/keys/fetch.sh";
const FINGERPRINT: &str = "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C";

#[test]
fn a_key_is_kept_if_it_is_the_one() {
    let stage = Stage::new();
    // Writes the fetched data to the file that --output names.
    stage.program("curl", "while [ \"$1\" != --output ]; do shift; done; echo armoured > \"$2\"");
    let lists = |fingerprint: &str| {
        format!(
            "printf 'pub:-:4096:1:9386B48A1A693C5C:1\\nfpr:::::::::{fingerprint}:\\nsub:-\\nfpr:::::::::OTHER:\\n'"
        )
    };
    stage.program("gpg", &lists("0000000000000000000000000000000000000000"));
    let folder = stage.at("keys").display().to_string();
    let words = [&folder, "rocm", "https://example.invalid/key", FINGERPRINT];
    let refused = stage.script(SCRIPT, &words, &[]);
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.err.contains("is 0000000000000000000000000000000000000000, not CA8BB4"), "{refused:?}");
    assert_eq!(fs::read_dir(stage.at("keys")).unwrap().count(), 0, "nothing is kept");

    stage.calls();
    stage.program("gpg", &lists(FINGERPRINT));
    let kept = stage.script(SCRIPT, &words, &[]);
    assert_eq!((kept.status, kept.out), (0, format!("{folder}/rocm.asc\n")));
    assert_eq!(fs::read_to_string(stage.at("keys/rocm.asc")).unwrap(), "armoured\n");
    let calls = stage.calls();
    assert!(calls[0].starts_with("curl [--fail]") && calls[0].contains("[--proto] [=https]"), "{calls:?}");
    // Existing keys are checked again, not fetched.
    assert_eq!(stage.script(SCRIPT, &words, &[]).status, 0);
    assert!(stage.calls().iter().all(|call| call.starts_with("gpg ")));
    stage.program("gpg", &lists("1111111111111111111111111111111111111111"));
    assert_eq!(stage.script(SCRIPT, &words, &[]).status, 1);

    stage.program("curl", "echo 'curl: (22) 404' >&2; exit 22");
    let words = [&folder, "other", "https://example.invalid/key", FINGERPRINT];
    let gone = stage.script(SCRIPT, &words, &[]);
    assert!(gone.status == 22 && gone.err.contains("404"), "{gone:?}");
    assert_eq!(stage.script(SCRIPT, &words[..2], &[]).status, 2);
    let without = Stage::bare(&["sh", "dirname", "mkdir"]).script(SCRIPT, &words, &[]);
    assert!(without.status == 1 && without.err.contains("curl is needed"), "{without:?}");
}

/// A new key pair: the public half in a file, and the fingerprint.
fn made_key(folder: &Path, name: &str) -> String {
    let home = folder.join("gnupg");
    fs::create_dir_all(&home).unwrap();
    let gpg = |words: &[&str]| {
        let mut command = Command::new("gpg");
        command.arg("--homedir").arg(&home).args(["--batch", "--quiet", "--passphrase", ""]).args(words);
        setup::run::capture(&mut command).unwrap_or_else(|error| panic!("{error}"))
    };
    gpg(&["--quick-gen-key", name, "ed25519", "sign", "never"]);
    fs::write(folder.join(format!("{name}.asc")), gpg(&["--armor", "--export", name])).unwrap();
    let listing = gpg(&["--list-keys", "--with-colons", name]);
    let line = listing.lines().find(|line| line.starts_with("fpr:")).unwrap();
    line.split(':').nth(9).unwrap().to_owned()
}

#[test]
fn keys_stand_in_the_user_data_if_they_are_those_of_the_table() {
    if setup::run::find_program("gpg").is_none() {
        skip(Lack::Judge, "there is no gpg here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut text = fs::read_to_string(project().join(TABLE)).unwrap();
    let before = Table::parse(&text).unwrap();
    let keys = Keys::new(folder.path());
    let missing = keys.user_data(&before, project()).unwrap_err();
    assert!(matches!(missing, Error::File { .. }) && missing.to_string().contains("docker.asc"), "{missing}");
    for key in &before.keys {
        text = text.replace(&key.fingerprint, &made_key(folder.path(), &key.name));
    }
    let another = keys.user_data(&before, project()).unwrap_err().to_string();
    assert!(
        another.contains("docker.asc: it is the key ") && another.contains(&before.keys[0].fingerprint),
        "{another}"
    );

    let table = Table::parse(&text).unwrap();
    let data = keys.user_data(&table, project()).unwrap();
    let template = fs::read_to_string(project().join(USER_DATA)).unwrap();
    assert!(template.contains("      @key docker@\n") && !data.contains("      @key "), "{data}");
    for key in &table.keys {
        let armored = fs::read_to_string(keys.file(&key.name)).unwrap();
        for line in armored.lines().filter(|line| !line.is_empty()) {
            assert!(data.contains(&format!("      {line}\n")), "{line}");
        }
    }
    fs::write(keys.file("docker"), "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nhalf\n").unwrap();
    let half = keys.user_data(&table, project()).unwrap_err().to_string();
    assert!(half.ends_with("docker.asc: it is not an armoured public key"), "{half}");
    // Stops the processes that gpg has started.
    let _ = Command::new("gpgconf")
        .env("GNUPGHOME", folder.path().join("gnupg"))
        .args(["--kill", "all"])
        .status();
}
