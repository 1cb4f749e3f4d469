//! The user data for cloud-init, which sets up a machine at its first start.

use std::fmt::Write as _;
use std::path::Path;

use crate::table::key_file;
use crate::{Error, Result, Table, keys, read};

/// Scripts on machines, and their places.
const SCRIPTS: [(&str, &str); 5] = [
    ("ci/images/steps/machine-ready.sh", "/opt/ferrocm/machine-ready.sh"),
    ("ci/images/runners/common.sh", "/opt/ferrocm/runners/common.sh"),
    ("ci/images/runners/github.sh", "/opt/ferrocm/runners/github.sh"),
    ("ci/images/runners/azure.sh", "/opt/ferrocm/runners/azure.sh"),
    ("ci/images/runners/gitlab.sh", "/opt/ferrocm/runners/gitlab.sh"),
];
const SERVICE: (&str, &str) =
    ("ci/images/runners/runner.service", "/etc/systemd/system/ferrocm-runner.service");
/// Runs before anything else is set up.
const BEFORE: &str = "ci/images/steps/agent-after-setup.sh";

/// Text as a literal block of YAML, indented.
fn block(text: &str, indent: usize, name: &str) -> Result<String> {
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        // A block takes its indent from its first line, and must not have tabs or control characters before
        // text.
        let problem = match line {
            line if number == 0 && (line.is_empty() || line.starts_with(' ')) => {
                "it is the first, and blank or indented"
            }
            line if line.trim_start_matches(' ').starts_with('\t') => "it is indented by a tab",
            line if line.chars().any(|letter| letter.is_control() && letter != '\t') => {
                "it has a control character"
            }
            _ => {
                let _ =
                    writeln!(out, "{:indent$}{line}", "", indent = if line.is_empty() { 0 } else { indent });
                continue;
            }
        };
        return Err(Error::Script { script: name.to_owned(), line: number + 1, problem });
    }
    Ok(out)
}

/// A file to write on the machine.
fn file(path: &str, permissions: &str, text: &str, name: &str) -> Result<String> {
    let content = block(text, 6, name)?;
    Ok(format!(
        "  - path: {path}\n    owner: root:root\n    permissions: \"{permissions}\"\n    content: |\n{content}"
    ))
}

pub(crate) fn user_data(table: &Table, project: &Path) -> Result<String> {
    let mut out = String::from(
        "#cloud-config\n\
         # Made by `cargo xtask ci images` from ci/images/images.toml and the scripts beside it.\n\
         # Lines of the form @key NAME@ stand for keys; `cargo xtask ci images --keys FOLDER` puts these there.\n\n\
         # At each start, before anything else: the agent of Azure waits for all of this.\n\
         bootcmd:\n  - |\n",
    );
    out += &block(&read(&project.join(BEFORE))?, 4, BEFORE)?;
    let list = |items: &[String]| items.iter().map(|item| format!("  - {item}\n")).collect::<String>();
    let _ = write!(
        out,
        "\ngroups:\n{groups}\nusers:\n  - default\n  - name: {user}\n    gecos: Runs jobs\n    shell: /bin/bash\n    \
         lock_passwd: true\n    groups: [{in_groups}]\n\n# Keys and sources lie there before apt is asked for anything.\nwrite_files:\n",
        groups = list(&table.groups),
        user = table.user,
        in_groups = table.groups.join(", ")
    );
    for key in table.keys_on("machine") {
        out += &file(&key_file(&key.name), "0644", &keys::placeholder(&key.name), &key.name)?;
    }
    for source in table.sources_on("machine") {
        let path = format!("/etc/apt/sources.list.d/{}.sources", source.name);
        out += &file(&path, "0644", &source.stanza(&table.codename), &source.name)?;
        if let Some(preferences) = source.preferences() {
            let path = format!("/etc/apt/preferences.d/{}", source.name);
            out += &file(&path, "0644", &preferences, &source.name)?;
        }
    }
    for (script, path) in SCRIPTS {
        // Sourced files need not be executable.
        let permissions = if script.ends_with("/common.sh") { "0644" } else { "0755" };
        out += &file(path, permissions, &read(&project.join(script))?, script)?;
    }
    out += &file(SERVICE.1, "0644", &read(&project.join(SERVICE.0))?, SERVICE.0)?;
    let _ = write!(
        out,
        "\npackage_update: true\npackage_upgrade: false\npackages:\n{packages}\n\
         runcmd:\n  - [systemctl, daemon-reload]\n  - [systemctl, enable, --now, docker.service]\n  \
         # It says what is missing, and the machine goes on: somebody may want to look.\n  \
         - [sh, -c, \"/opt/ferrocm/machine-ready.sh {user} > /var/log/ferrocm-machine.log 2>&1 || true\"]\n  \
         # Without settings, /etc/ferrocm/runner.env, it does not start.\n  \
         - [systemctl, enable, --now, ferrocm-runner.service]\n",
        packages = list(&table.machine_packages),
        user = table.user
    );
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_lines_and_refuse_what_yaml_would_change() {
        assert_eq!(block("a\n\n  b\n", 4, "x").unwrap(), "    a\n\n      b\n");
        for (text, line) in [(" a\n", 1), ("\na\n", 1), ("a\n\tb\n", 2), ("a\nb\u{1b}\n", 2)] {
            let error = block(text, 4, "x").unwrap_err();
            assert!(matches!(error, Error::Script { line: found, .. } if found == line), "{text:?}: {error}");
        }
    }
}
