//! Keys: inserted into the user data after a check.

use std::path::{Path, PathBuf};
use std::process::Command;

use setup::run;

use crate::{Error, Result, Table, USER_DATA, read};

/// The placeholder for a key.
pub(crate) fn placeholder(name: &str) -> String {
    format!("@key {name}@\n")
}

/// A folder of keys, a file `NAME.asc` for each.
#[derive(Debug, Clone)]
pub struct Keys {
    folder: PathBuf,
}

impl Keys {
    /// Keys in a folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where a key is.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.asc"))
    }

    /// Fetches all keys of the table (`ci/images/keys/fetch.sh`), or checks the existing ones.
    ///
    /// # Errors
    /// [`Error::Run`]; a wrong key is not kept.
    pub fn fetch(&self, table: &Table, project: &Path) -> Result<()> {
        for key in &table.keys {
            let mut command = Command::new("sh");
            command.arg(project.join("ci/images/keys/fetch.sh")).arg(&self.folder);
            command.args([&key.name, &key.url, &key.fingerprint]);
            run::capture(&mut command)?;
        }
        Ok(())
    }

    /// The user data with the keys inserted. `gpg` checks each key again.
    ///
    /// # Errors
    /// [`Error::File`] for a missing key, [`Error::Key`] for one that differs from the table, and errors
    /// about the table.
    pub fn user_data(&self, table: &Table, project: &Path) -> Result<String> {
        let mut text = crate::files(project)?
            .into_iter()
            .find(|made| made.path == USER_DATA)
            .map(|made| made.text)
            .unwrap_or_default();
        for key in table.keys_on("machine") {
            let path = self.file(&key.name);
            let armored = read(&path)?;
            let problem = |problem: String| Error::Key { path: path.clone(), problem };
            let armored = armored.trim();
            let (begin, end) = ("-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----");
            if !armored.starts_with(begin) || !armored.ends_with(end) {
                return Err(problem("it is not an armoured public key".to_owned()));
            }
            let found = fingerprint(&path)?;
            if found.as_deref() != Some(&key.fingerprint) {
                let found = found.as_deref().unwrap_or("none");
                return Err(problem(format!("it is the key {found}, not {}", key.fingerprint)));
            }
            let line = format!("      {}", placeholder(&key.name));
            let lines = armored.lines().map(|line| match line.trim_end() {
                "" => "\n".to_owned(),
                line => format!("      {line}\n"),
            });
            text = text.replace(&line, &lines.collect::<String>());
        }
        Ok(text)
    }
}

/// The fingerprint of the first primary key in a file.
fn fingerprint(path: &Path) -> Result<Option<String>> {
    // gpg needs a home folder even to read a file.
    let home = tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    let mut command = Command::new("gpg");
    command.arg("--homedir").arg(home.path());
    command.args(["--batch", "--no-options", "--show-keys", "--with-colons"]).arg(path);
    let listing = run::capture(&mut command)?;
    let line = listing.lines().find(|line| line.starts_with("fpr:"));
    Ok(line.and_then(|line| line.split(':').nth(9)).map(str::to_owned))
}
