//! Where the headers and a C compiler are.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Table, Version};

/// The variable that names the folder of the headers of all releases.
pub const FOLDER_VARIABLE: &str = "FERROCM_ROCM_HEADERS";

/// The include folder of a version; the error says why it cannot be used.
pub fn include_folder(folder: &Path, table: &Table, version: &Version) -> Result<PathBuf, String> {
    let release = folder.join(version.release);
    let include = release.join("usr/include");
    if !include.is_dir() {
        return Err(format!("{} does not exist", include.display()));
    }
    // A folder made by hand has no manifest; its owner is responsible for its contents.
    match version_in_manifest(&release.join("manifest.json"), table.package)? {
        Some(found) if upstream(&found) != version.version => {
            Err(format!("{} holds {} {found}", include.display(), table.package))
        }
        _ => Ok(include),
    }
}

/// The version of a package that a manifest lists; `None` without a manifest.
fn version_in_manifest(path: &Path, package: &str) -> Result<Option<String>, String> {
    let Ok(text) = std::fs::read(path) else { return Ok(None) };
    let unreadable = || format!("{} does not say the version of {package}", path.display());
    let manifest: serde_json::Value = serde_json::from_slice(&text).map_err(|_| unreadable())?;
    let packages = manifest.get("packages").and_then(serde_json::Value::as_array).ok_or_else(unreadable)?;
    let found = packages.iter().find(|entry| entry.get("name").is_some_and(|name| name == package));
    let version = found.and_then(|entry| entry.get("version")?.as_str()).ok_or_else(unreadable)?;
    Ok(Some(version.to_owned()))
}

/// The upstream part of a Debian version: `7.2.4+dfsg-1~exp1` is `7.2.4`.
fn upstream(version: &str) -> &str {
    let version = version.split_once(':').map_or(version, |(_epoch, rest)| rest);
    version.split(['-', '+', '~']).next().unwrap_or(version)
}

/// A C compiler of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    program: &'static str,
}

impl Compiler {
    /// The first of `cc`, `gcc` and `clang` that starts.
    pub fn find() -> Option<Self> {
        ["cc", "gcc", "clang"]
            .into_iter()
            .find(|program| {
                Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
            })
            .map(|program| Self { program })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.program
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        // The messages are parsed below, so they must not be translated.
        command.env("LC_ALL", "C");
        command
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const VERSION: Version =
        Version { version: "6.1.2", release: "5.7", arguments: &[], layouts: &[], constants: &[] };
    const TABLE: Table = Table { library: "HSA", package: "hsa-dev", headers: "", versions: &[VERSION] };

    #[test]
    fn upstream_versions_are_cut_out() {
        for (debian, expected) in [("1:7.2.4+dfsg-1~exp1", "7.2.4"), ("6.1.2-3", "6.1.2"), ("5", "5")] {
            assert_eq!(upstream(debian), expected);
        }
    }

    #[test]
    fn headers_of_another_version_are_not_compared() {
        let folder = tempfile::tempdir().expect("temp folder");
        let find = || include_folder(folder.path(), &TABLE, &VERSION);
        assert!(find().expect_err("nothing there").ends_with("5.7/usr/include does not exist"));
        let release = folder.path().join("5.7");
        fs::create_dir_all(release.join("usr/include")).expect("folders");
        assert_eq!(find(), Ok(release.join("usr/include")), "a folder without a manifest is taken as it is");
        let manifest = |text: &str| fs::write(release.join("manifest.json"), text).expect("write");
        manifest(r#"{"packages": [{"name": "hsa-dev", "version": "6.1.2-3"}]}"#);
        assert_eq!(find(), Ok(release.join("usr/include")));
        manifest(r#"{"packages": [{"name": "hsa-dev", "version": "6.4.3+dfsg-5"}]}"#);
        assert!(find().expect_err("another version").ends_with("holds hsa-dev 6.4.3+dfsg-5"));
        for text in ["{}", "no json", r#"{"packages": []}"#] {
            manifest(text);
            assert!(find().expect_err("no version").ends_with("does not say the version of hsa-dev"));
        }
    }
}
