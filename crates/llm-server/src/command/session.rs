//! Saved conversations.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

/// Larger files are refused.
const LARGEST: u64 = 64 << 20;

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) model: String,
    pub(crate) system: Option<String>,
    pub(crate) turns: Vec<Turn>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) role: Role,
    pub(crate) content: String,
}

/// Who wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    User,
    Assistant,
}

/// The folder of saved conversations.
pub(crate) fn folder() -> anyhow::Result<PathBuf> {
    if let Some(folder) = variables::SESSIONS.path() {
        return Ok(folder);
    }
    let data = std::env::var_os("XDG_DATA_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let data = data.or_else(|| Some(std::env::home_dir()?.join(".local/share")));
    let data = data.with_context(|| format!("no home folder: set {}", variables::SESSIONS.name))?;
    Ok(data.join("ferrocm/sessions"))
}

/// The file of a conversation. Its name is a plain one.
fn file(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > 100 || name.starts_with('.') || !name.bytes().all(is_plain) {
        bail!("`{name}` is no name for a conversation: letters, digits, `-`, `_` and `.` are");
    }
    Ok(folder.join(format!("{name}.json")))
}

impl Session {
    /// Saves it, at once or not at all.
    pub(crate) fn save(&self, folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
        let file = file(folder, name)?;
        let context = || format!("cannot save {}", file.display());
        fs::create_dir_all(folder).with_context(context)?;
        let part = file.with_extension("json.part");
        let mut options = fs::File::options();
        options.write(true).create(true).truncate(true);
        // Conversations are private.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut writer = options.open(&part).with_context(context)?;
        serde_json::to_writer_pretty(&mut writer, self).with_context(context)?;
        writer.flush().with_context(context)?;
        fs::rename(&part, &file).with_context(context)?;
        Ok(file)
    }

    /// Reads a saved one.
    pub(crate) fn load(folder: &Path, name: &str) -> anyhow::Result<Self> {
        let file = file(folder, name)?;
        let context = || format!("cannot load {}", file.display());
        let size = fs::metadata(&file).with_context(context)?.len();
        if size > LARGEST {
            bail!("{}: it has {size} bytes, more than {LARGEST}", context());
        }
        serde_json::from_slice(&fs::read(&file).with_context(context)?).with_context(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_conversation_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let turns = vec![Turn { role: Role::User, content: "hi ✓".to_owned() }];
        let session = Session { model: "m".to_owned(), system: None, turns };
        session.save(&folder.path().join("new"), "one").unwrap();
        assert_eq!(Session::load(&folder.path().join("new"), "one").unwrap(), session);
    }

    #[test]
    fn names_do_not_leave_the_folder_and_broken_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["", "..", "a/b", "../a", ".a", "a b", "é"] {
            assert!(Session::default().save(folder.path(), name).is_err(), "{name}");
            assert!(Session::load(folder.path(), name).is_err(), "{name}");
        }
        fs::write(folder.path().join("bad.json"), "{\"turns\": 7}").unwrap();
        let error = format!("{:#}", Session::load(folder.path(), "bad").unwrap_err());
        assert!(error.contains("bad.json"), "{error}");
    }
}
