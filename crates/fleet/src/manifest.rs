//! The contents and the origin of an archive, as JSON and as a page for people. `ci/manifest.schema.json` is
//! the schema.

use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::archive::{self, Item};
use crate::{Error, error};

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// A manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The component.
    pub component: String,
    /// The number of the build, or `local`.
    pub build: String,
    /// The repository.
    pub repository: String,
    /// The branch or tag.
    pub r#ref: String,
    /// The commit: 40 hexadecimal digits.
    pub commit: String,
    /// The time of the commit, in seconds since 1970.
    pub commit_time: u64,
    /// The targets of its code.
    pub targets: Vec<String>,
    /// The releases of ROCm that it was built with.
    pub rocm: Vec<String>,
    /// The components that it was built from.
    pub dependencies: Vec<Dependency>,
    /// The files in the archive.
    pub files: Vec<FileEntry>,
}

/// A component that this one was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Dependency {
    /// Its name.
    pub component: String,
    /// Its commit.
    pub commit: String,
    /// The SHA-256 of its archive.
    pub sha256: String,
}

/// A file in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FileEntry {
    /// Its path.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Its SHA-256.
    pub sha256: String,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// The file cannot be read, or is not a manifest of this version.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let manifest: Self = serde_json::from_str(&error::read(path)?)
            .map_err(|e| Error::input(path, format!("is not a manifest: {e}")))?;
        if manifest.schema != SCHEMA {
            return Err(Error::input(
                path,
                format!("has schema {}, but this program knows only {SCHEMA}", manifest.schema),
            ));
        }
        Ok(manifest)
    }

    /// Lists the files of an archive.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn list(&mut self, items: &[Item]) -> Result<(), Error> {
        let entries = items.iter().map(|item| {
            let (sha256, size) = archive::sha256(&item.path)?;
            Ok(FileEntry { path: item.name.clone(), size, sha256 })
        });
        self.files = entries.collect::<Result<_, Error>>()?;
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    /// The manifest as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Only texts and numbers: this cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The manifest as a page.
    #[must_use]
    pub fn to_html(&self) -> String {
        let title = format!("{} {}", escape(&self.component), escape(&self.build));
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>\n\
             body {{ font-family: sans-serif; margin: 2em; }}\ntable {{ border-collapse: collapse; }}\n\
             th, td {{ border: 1px solid #bbb; padding: 0.2em 0.6em; text-align: left; }}\ntd.size {{ text-align: right; }}\n\
             </style>\n</head>\n<body>\n<h1>{title}</h1>\n<table>\n"
        );
        let mut row = |name: &str, value: &str| {
            let _ = writeln!(page, "<tr><th>{name}</th><td>{}</td></tr>", escape(value));
        };
        row("repository", &self.repository);
        row("ref", &self.r#ref);
        row("commit", &self.commit);
        row("targets", &self.targets.join(", "));
        row("ROCm", &self.rocm.join(", "));
        page.push_str("</table>\n");
        if !self.dependencies.is_empty() {
            page.push_str("<h2>Dependencies</h2>\n<table>\n<tr><th>component</th><th>commit</th><th>SHA-256</th></tr>\n");
            for dependency in &self.dependencies {
                let cells =
                    [&dependency.component, &dependency.commit, &dependency.sha256].map(|cell| escape(cell));
                let _ = writeln!(page, "<tr><td>{}</td></tr>", cells.join("</td><td>"));
            }
            page.push_str("</table>\n");
        }
        page.push_str("<h2>Files</h2>\n<table>\n<tr><th>path</th><th>bytes</th><th>SHA-256</th></tr>\n");
        for file in &self.files {
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td class=\"size\">{}</td><td>{}</td></tr>",
                escape(&file.path),
                file.size,
                escape(&file.sha256)
            );
        }
        page.push_str("</table>\n</body>\n</html>\n");
        page
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use boon::{Compiler, Schemas};
    use serde_json::{Value, json};

    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            schema: SCHEMA,
            component: "reduce".into(),
            build: "17".into(),
            repository: "vision/reduce".into(),
            r#ref: "refs/heads/<main>".into(),
            commit: "0123456789abcdef0123456789abcdef01234567".into(),
            commit_time: 1_790_000_000,
            targets: vec!["gfx942".into()],
            rocm: vec!["7.2".into()],
            dependencies: vec![Dependency {
                component: "base".into(),
                commit: "89abcdef0123456789abcdef0123456789abcdef".into(),
                sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".into(),
            }],
            files: Vec::new(),
        }
    }

    fn holds(value: &Value) -> bool {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/manifest.schema.json");
        let schema: Value =
            serde_json::from_str(&std::fs::read_to_string(path).expect("the schema")).expect("JSON");
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource("manifest.json", schema).expect("a resource");
        let index = compiler.compile("manifest.json", &mut schemas).expect("a schema");
        schemas.validate(value, index).is_ok()
    }

    #[test]
    fn manifests_keep_to_the_schema_and_are_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("tree");
        std::fs::create_dir(&root).expect("a folder");
        std::fs::write(root.join("a.txt"), "abc").expect("a file");
        let mut manifest = manifest();
        manifest.list(&archive::items(&root).expect("items")).expect("lists");
        let value: Value = serde_json::from_str(&manifest.to_json()).expect("JSON");
        assert!(holds(&value), "{value}");
        for (key, bad) in [
            ("commit", json!("main")),
            ("schema", json!(2)),
            ("files", json!([{ "path": "a" }])),
            ("more", json!(1)),
        ] {
            let mut changed = value.clone();
            changed[key] = bad;
            assert!(!holds(&changed), "{key}");
        }
        let path = folder.path().join("manifest.json");
        std::fs::write(&path, manifest.to_json()).expect("writes");
        assert_eq!(Manifest::read(&path).expect("reads"), manifest);
        std::fs::write(&path, manifest.to_json().replace("\"schema\": 1", "\"schema\": 9")).expect("writes");
        assert!(Manifest::read(&path).expect_err("another version").to_string().contains("has schema 9"));
    }

    #[test]
    fn pages_hold_no_markup_of_others() {
        let page = manifest().to_html();
        assert!(page.contains("refs/heads/&lt;main&gt;") && !page.contains("<main>"), "{page}");
        let body = page
            .strip_prefix("<!DOCTYPE html>\n")
            .expect("a document type")
            .replace("<meta charset=\"utf-8\">", "");
        roxmltree::Document::parse(&body).expect("each tag is closed");
    }
}
