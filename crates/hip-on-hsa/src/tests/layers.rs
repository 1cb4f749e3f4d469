//! The order of the crate's folders: what stands lower knows nothing of what stands higher.

use std::fs;
use std::path::{Path, PathBuf};

/// Files and folders of `src`, the lowest first. Those of one row know each other.
const LAYERS: &[&[&str]] = &[
    &["error", "caller", "output", "patience", "registry", "release", "unseen", "visible"],
    &["runtime"],
    &["gpu"],
    &["queue"],
    &["devices"],
    &["memory"],
    &["object"],
    &["graph"],
    &["api"],
];

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// All sources below a file or folder.
fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| sources(&entry.unwrap().path(), found));
    } else {
        found.push(path.to_owned());
    }
}

/// The names that follow `crate::` in a source, but in comments and tests.
fn names(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code: String = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let list = match rest.strip_prefix('{') {
            Some(group) => {
                // Of a group, the first name of each path.
                let (mut depth, mut end, mut starts) = (0usize, 0, vec![0]);
                for (at, byte) in group.bytes().enumerate() {
                    match byte {
                        b'{' => depth += 1,
                        b'}' if depth == 0 => {
                            end = at;
                            break;
                        }
                        b'}' => depth -= 1,
                        b',' if depth == 0 => starts.push(at + 1),
                        _ => {}
                    }
                }
                starts.into_iter().filter(|&at| at < end).map(|at| group[at..].trim_start()).collect()
            }
            None => vec![rest],
        };
        for path in list {
            found.push(
                path.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                    .next()
                    .unwrap()
                    .to_owned(),
            );
        }
    }
    found
}

#[test]
fn no_layer_knows_a_higher_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if matches!(name.as_str(), "lib" | "tests") {
            continue;
        }
        let own = layer(&name).unwrap_or_else(|| panic!("{name} is in no layer"));
        let mut files = Vec::new();
        sources(&path, &mut files);
        for file in files {
            for used in names(&fs::read_to_string(&file).unwrap()) {
                if layer(&used).is_some_and(|layer| layer > own) {
                    wrong.push(format!("{} uses {used}", file.strip_prefix(&root).unwrap().display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn names_are_found_in_paths_and_groups() {
    let source = "use crate::a::{b, c};\nuse crate::{d, e::{f, g}, h};\n// crate::i\nlet x = crate::j::k();\n#[cfg(test)]\nmod tests { use crate::l; }";
    assert_eq!(names(source), ["a", "d", "e", "h", "j"]);
}
