//! Which of a repository's files are the model.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::name::{HubName, Wanted, is_path};
use super::{HubError, io_error};

/// Files beside safetensors that a model's folder has, if the repository has them.
const BESIDE: [&str; 6] = [
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "1_Pooling/config.json",
    INDEX,
];
/// The files without which a folder is no model.
const NEEDED: [&str; 2] = ["config.json", "tokenizer.json"];
const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";
/// What is taken of several GGUF files, in this order, if the name does not say.
const USUAL_KINDS: [&str; 2] = ["Q4_K_M", "Q8_0"];

/// Files that are a model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Selected {
    /// Paths in the repository. Of a GGUF model, the first one opens it.
    pub(super) files: Vec<String>,
    /// Whether other files of the repository could have led to another choice.
    pub(super) is_guess: bool,
}

impl Selected {
    /// Whether the model is a folder with safetensors.
    pub(super) fn is_folder(&self) -> bool {
        !self.files.iter().any(|file| is_gguf(file))
    }

    /// What opens the model.
    pub(super) fn path(&self, snapshot: &Path) -> PathBuf {
        match self.files.first().filter(|_| !self.is_folder()) {
            Some(first) => snapshot.join(first),
            None => snapshot.to_owned(),
        }
    }
}

fn is_gguf(path: &str) -> bool {
    path.ends_with(".gguf")
}

/// The first part's path without `-00001-of-00003.gguf`, and the number of parts.
fn split(path: &str) -> Option<(&str, usize, usize)> {
    let stem = path.strip_suffix(".gguf")?;
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (base, part) = rest.rsplit_once('-')?;
    let number = |digits: &str| {
        (digits.len() == 5 && digits.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| digits.parse().ok())?
    };
    Some((base, number(part)?, number(count)?))
}

/// All parts of the model that a file is the first part of.
fn parts(name: &HubName, path: &str) -> Result<Vec<String>, HubError> {
    match split(path) {
        None => Ok(vec![path.to_owned()]),
        // More parts than any model has are a name's mistake.
        Some((base, 1, count)) if (1..=999).contains(&count) => {
            Ok((1..=count).map(|part| format!("{base}-{part:05}-of-{count:05}.gguf")).collect())
        }
        Some(_) => Err(selection(name, format!("means the file {path}: name the first part"))),
    }
}

fn selection(name: &HubName, problem: String) -> HubError {
    HubError::Selection { name: name.to_string(), problem }
}

/// Whether a file's name has this kind, as a word of its own.
fn has_kind(path: &str, kind: &str) -> bool {
    let (path, kind) = (path.to_ascii_uppercase(), kind.to_ascii_uppercase());
    let is_border =
        |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    let bytes = path.as_bytes();
    path.match_indices(&kind).any(|(at, _)| {
        is_border(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && is_border(bytes.get(at + kind.len()))
    })
}

/// The files that a name means, of these.
pub(super) fn select(name: &HubName, files: &[String]) -> Result<Selected, HubError> {
    let files: BTreeSet<&str> = files.iter().map(String::as_str).filter(|path| is_path(path)).collect();
    // Images are read by a model of its own, beside the language model.
    let is_text = |path: &&&str| {
        let file = path.rsplit('/').next().unwrap_or(path);
        is_gguf(path) && !file.to_ascii_lowercase().contains("mmproj")
    };
    let models: Vec<&str> = files
        .iter()
        .filter(is_text)
        .filter(|path| split(path).is_none_or(|(_, part, _)| part == 1))
        .copied()
        .collect();
    let all = || models.join(", ");
    let (path, is_guess) = match &name.wanted {
        Wanted::File(file) if files.contains(file.as_str()) => (file.as_str(), false),
        Wanted::File(_) if models.is_empty() => {
            return Err(selection(name, "is not there: the repository has no GGUF file".to_owned()));
        }
        Wanted::File(_) => {
            return Err(selection(name, format!("is not there: the GGUF files are {}", all())));
        }
        Wanted::Kind(kind) => {
            let of_kind: Vec<&str> = models.iter().copied().filter(|path| has_kind(path, kind)).collect();
            match of_kind[..] {
                [one] => (one, true),
                [] if models.is_empty() => {
                    return Err(selection(name, "is not there: the repository has no GGUF file".to_owned()));
                }
                [] => return Err(selection(name, format!("is not there: the GGUF files are {}", all()))),
                _ => {
                    let which = of_kind.join(", ");
                    return Err(selection(name, format!("could be any of {which}: name the file")));
                }
            }
        }
        Wanted::Usual => {
            let usual = || {
                USUAL_KINDS.iter().find_map(|kind| {
                    let mut of_kind = models.iter().copied().filter(|path| has_kind(path, kind));
                    of_kind.next().filter(|_| of_kind.next().is_none())
                })
            };
            match models[..] {
                [] => return folder(name, &files),
                [one] => (one, true),
                _ => match usual() {
                    Some(one) => (one, true),
                    None => return Err(selection(name, format!("could be any of {}: name the file", all()))),
                },
            }
        }
    };
    let parts = parts(name, path)?;
    match parts.iter().find(|part| !files.contains(part.as_str())) {
        // The cache may lack parts; the server may not.
        Some(missing) => Err(selection(name, format!("is not whole: there is no file {missing}"))),
        None => Ok(Selected { files: parts, is_guess }),
    }
}

/// The files of a model in Hugging Face's layout.
fn folder(name: &HubName, files: &BTreeSet<&str>) -> Result<Selected, HubError> {
    let weights: Vec<&str> = if files.contains(INDEX) {
        let is_part = |path: &&str| path.ends_with(".safetensors") && !path.contains('/') && *path != SINGLE;
        files.iter().copied().filter(is_part).collect()
    } else {
        files.iter().copied().filter(|path| *path == SINGLE).collect()
    };
    let missing = NEEDED.iter().find(|needed| !files.contains(**needed));
    match missing {
        _ if weights.is_empty() => {
            let problem = "has no model that can be read: neither a GGUF file nor safetensors";
            Err(selection(name, problem.to_owned()))
        }
        Some(missing) => Err(selection(name, format!("has safetensors, but no file {missing}"))),
        None => {
            let beside = BESIDE.iter().copied().filter(|path| files.contains(path));
            Ok(Selected { files: beside.chain(weights).map(str::to_owned).collect(), is_guess: false })
        }
    }
}

/// Whether the safetensors files of a folder are all there.
pub(super) fn is_folder_complete(folder: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(folder.join(INDEX)) else { return folder.join(SINGLE).is_file() };
    let index: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let map = index.as_ref().and_then(|index| index.get("weight_map")?.as_object());
    map.is_some_and(|map| {
        let names: BTreeSet<&str> = map.values().filter_map(serde_json::Value::as_str).collect();
        !names.is_empty() && names.iter().all(|name| is_path(name) && folder.join(name).is_file())
    })
}

/// Paths of the files below a folder, with slashes, sorted.
pub(super) fn files_below(folder: &Path) -> Result<Vec<String>, HubError> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(place) = folders.pop() {
        let path = folder.join(&place);
        let entries = match std::fs::read_dir(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && place.is_empty() => continue,
            entries => entries.map_err(io_error("read", &path))?,
        };
        for entry in entries {
            let entry = entry.map_err(io_error("read", &path))?;
            let Ok(file) = entry.file_name().into_string() else { continue };
            let inner = if place.is_empty() { file } else { format!("{place}/{file}") };
            // A link to nothing is not there.
            let Ok(metadata) = std::fs::metadata(entry.path()) else { continue };
            // Depth is bounded by the length of paths; links to folders are none of the layout's.
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            match metadata.is_dir() {
                true if !is_link => folders.push(inner),
                true => {}
                false => found.push(inner),
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: &str, files: &[&str]) -> Result<Vec<String>, String> {
        let name: HubName = name.parse().expect("a name");
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        select(&name, &files).map(|selected| selected.files).map_err(|error| error.to_string())
    }

    #[test]
    fn the_name_or_what_is_usual_chooses_a_file() {
        let many = ["m-Q4_K_M.gguf", "m-Q4_K_S.gguf", "m.q8_0.gguf", "mmproj-Q8_0.gguf", "README.md"];
        for (name, files, expected) in [
            ("hf:a/b", &many[..], "m-Q4_K_M.gguf"),
            ("hf:a/b:q4_k_s", &many, "m-Q4_K_S.gguf"),
            ("hf:a/b:Q8_0", &many, "m.q8_0.gguf"),
            ("hf:a/b/mmproj-Q8_0.gguf", &many, "mmproj-Q8_0.gguf"),
            ("hf:a/b", &["x-F16.gguf"], "x-F16.gguf"),
            ("hf:a/b", &["x-F16.gguf", "x-Q8_0.gguf"], "x-Q8_0.gguf"),
        ] {
            assert_eq!(chosen(name, files), Ok(vec![expected.to_owned()]), "{name}");
        }
        let error = chosen("hf:a/b:Q4_K", &many).expect_err("no such kind");
        assert!(error.contains("m-Q4_K_M.gguf") && error.starts_with("hf:a/b:Q4_K is not there"), "{error}");
        let error = chosen("hf:a/b:F16", &["a-F16.gguf", "b-F16.gguf"]).expect_err("two");
        assert!(error.contains("any of a-F16.gguf, b-F16.gguf"), "{error}");
        assert!(chosen("hf:a/b", &["a-F16.gguf", "b-F16.gguf"]).is_err());
        assert!(chosen("hf:a/b", &["README.md"]).expect_err("none").contains("no model"));
    }

    #[test]
    fn a_split_model_is_all_of_its_parts() {
        let parts = ["Q4_0/m-00001-of-00002.gguf", "Q4_0/m-00002-of-00002.gguf"];
        assert_eq!(chosen("hf:a/b:Q4_0", &parts).expect("parts"), parts);
        assert_eq!(chosen("hf:a/b/Q4_0/m-00001-of-00002.gguf", &parts).expect("parts"), parts);
        assert!(chosen("hf:a/b:Q4_0", &parts[..1]).expect_err("a part is missing").contains(parts[1]));
        assert!(
            chosen("hf:a/b/Q4_0/m-00002-of-00002.gguf", &parts).expect_err("second").contains("first part")
        );
    }

    #[test]
    fn safetensors_come_with_what_belongs_to_them() {
        let files =
            ["config.json", "tokenizer.json", "model.safetensors", "pytorch_model.bin", "onnx/model.onnx"];
        assert_eq!(
            chosen("hf:a/b", &files).expect("a folder"),
            ["config.json", "tokenizer.json", "model.safetensors"]
        );
        let files = ["config.json", "tokenizer.json", INDEX, "model-1.safetensors", "model-2.safetensors"];
        assert_eq!(chosen("hf:a/b", &files).expect("a folder").len(), 5);
        assert!(
            chosen("hf:a/b", &["config.json", SINGLE]).expect_err("no tokenizer").contains("tokenizer.json")
        );
        assert!(chosen("hf:a/b", &["../x.gguf"]).is_err());
    }
}
