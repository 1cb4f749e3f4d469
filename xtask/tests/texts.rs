//! `cargo xtask`'s messages about set-up, which it shares with a program that users of a checkout need not
//! have.

use std::process::Command;

#[test]
fn messages_name_commands_of_this_program() {
    let folder = tempfile::tempdir().expect("temp folder");
    for command in ["doctor", "setup"] {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .arg(command)
            .env("FERROCM_CACHE", folder.path())
            .env("FERROCM_CLANG", "/no/such/clang")
            .env_remove("FERROCM_HIP_PATH")
            .output()
            .expect("starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{out}{err}");
        assert!(!out.contains("ferrocm setup") && !err.contains("ferrocm setup"), "{out}{err}");
        match command {
            "doctor" => assert!(out.contains("unset it and run `cargo xtask setup`"), "{out}"),
            _ => assert!(err.contains("clang: /no/such/clang: no such file"), "{err}"),
        }
    }
}
