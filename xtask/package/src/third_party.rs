//! The licences of the linked crates: most require that their texts are included.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use crate::metadata::{Metadata, Package};

/// A text with each crate, its licence, and its package's licence texts, each text once.
pub(crate) fn third_party(metadata: &Metadata) -> Result<String> {
    let mut text = "The programs and libraries of this package are linked with these crates:\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (package, _) in metadata.linked(&metadata.released()?)? {
        if package.source.is_none() {
            continue;
        }
        let name = format!("{} {}", package.name, package.version);
        let license = package.license.as_deref().unwrap_or("see its text");
        let _ = writeln!(
            text,
            "{name}: {license}{}",
            package.repository.as_ref().map(|at| format!(", {at}")).unwrap_or_default()
        );
        for found in texts_of(package)? {
            texts.entry(found).or_default().push(name.clone());
        }
    }
    let mut texts: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(text, names)| (names, text)).collect();
    texts.sort();
    for (names, license) in texts {
        let _ = write!(text, "\n{}\n{}\n\n{license}\n", "-".repeat(80), names.join(", "));
    }
    text.push_str(
        "\nRust's own library, which is linked, too: MIT OR Apache-2.0, https://github.com/rust-lang/rust\n",
    );
    Ok(text)
}

/// The texts beside a package's manifest.
fn texts_of(package: &Package) -> Result<Vec<String>> {
    let folder = package.folder();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut texts = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"]
                .iter()
                .any(|start| name.starts_with(start))
        {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            texts.push(String::from_utf8_lossy(&bytes).replace('\r', "").trim().to_owned());
        }
    }
    texts.sort();
    Ok(texts)
}
