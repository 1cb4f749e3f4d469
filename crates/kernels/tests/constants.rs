//! Numbers that launches and device code share are the same in both. A constant here says which one it
//! repeats: its documentation has "`NAME` of `kernels/FILE`".

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// The files below a folder with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path, ending)),
            false if path.extension().is_some_and(|extension| extension == ending) => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

/// A product, shift or quotient of numbers and constants.
fn value(expression: &str, constant: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
    let expression = expression.trim();
    if let Some((left, right)) = expression.rsplit_once("<<") {
        return Some(value(left, constant)? << value(right, constant)?);
    }
    if let Some(at) = expression.rfind(['*', '/']) {
        let (left, right) = (value(&expression[..at], constant)?, value(&expression[at + 1..], constant)?);
        return if expression[at..].starts_with('*') {
            left.checked_mul(right)
        } else {
            left.checked_div(right)
        };
    }
    expression.replace('_', "").parse().ok().or_else(|| constant(expression))
}

/// What a source of device code defines at its own level: `constexpr unsigned NAME = …, NAME = …;`.
fn defined(source: &str, name: &str) -> Option<u64> {
    let lines = source.lines().filter_map(|line| line.strip_prefix("constexpr unsigned ")?.split_once(';'));
    let mut definitions = lines.flat_map(|(line, _)| line.split(',')).filter_map(|part| part.split_once('='));
    let (_, expression) = definitions.find(|(defined, _)| defined.trim() == name)?;
    value(expression, &|name| defined(source, name))
}

/// A constant of a Rust source: its name, the expression, and its documentation.
struct Constant {
    name: String,
    expression: String,
    documentation: String,
}

fn constants(source: &str) -> Vec<Constant> {
    let (mut found, mut documentation) = (Vec::new(), String::new());
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            documentation += text;
            continue;
        }
        let item = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        let constant = item.strip_prefix("const ").and_then(|item| item.split_once(": "));
        if let Some((name, rest)) = constant
            && let Some((_, expression)) = rest.trim_end_matches(';').split_once(" = ")
        {
            let (name, expression) = (name.to_owned(), expression.to_owned());
            found.push(Constant { name, expression, documentation: std::mem::take(&mut documentation) });
        }
        documentation.clear();
    }
    found
}

/// Pairs of a name and a file of "`NAME` of `kernels/FILE`".
fn twins(documentation: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = documentation.split('`').collect();
    let named = |parts: &[&'_ str]| parts[1] == " of " && parts[2].starts_with("kernels/");
    (1..parts.len().saturating_sub(2))
        .step_by(2)
        .filter(|&at| named(&parts[at..]))
        .map(|at| (parts[at], parts[at + 2]))
        .collect()
}

#[test]
fn a_constant_has_the_value_of_the_one_that_it_repeats() {
    let root = root();
    let mut compared = BTreeMap::new();
    for path in files(&root.join("crates/kernels/src"), "rs") {
        let source = fs::read_to_string(&path).expect("a source");
        let all = constants(&source);
        let known = |name: &str| {
            let constant = all.iter().find(|constant| constant.name == name)?;
            value(&constant.expression, &|_| None)
        };
        for constant in &all {
            for (name, file) in twins(&constant.documentation) {
                let device = fs::read_to_string(root.join(file)).expect(file);
                let of = format!("{} in {}, {name} of {file}", constant.name, path.display());
                let theirs = defined(&device, name).unwrap_or_else(|| panic!("{of}: not defined there"));
                let ours = value(&constant.expression, &known);
                assert_eq!(ours, Some(theirs), "{of}");
                compared.insert((file.to_owned(), name.to_owned()), theirs);
            }
        }
    }
    assert!(compared.len() >= 18, "{compared:?}");
}

#[test]
fn expressions_are_computed_as_both_languages_do() {
    let source = "constexpr unsigned WARPS = 8;\nconstexpr unsigned A = 2, THREADS = 32 * WARPS; // threads\n\
                  constexpr unsigned BYTES = 128 << 10;\n    constexpr unsigned INNER = 3;\n";
    let names = ["WARPS", "A", "THREADS", "BYTES", "INNER", "WARP"];
    assert_eq!(
        names.map(|name| defined(source, name)),
        [Some(8), Some(2), Some(256), Some(131_072), None, None]
    );
    assert_eq!(value("8_192 / 2 * 3", &|_| None), Some(12_288));
    assert_eq!(value("4 * (A + 1)", &|_| None), None);
    let twins_of = "Rows: `ROWS` of `kernels/a.cuh`, and `THREADS` of `x`.";
    assert_eq!(twins(twins_of), [("ROWS", "kernels/a.cuh")]);
}
