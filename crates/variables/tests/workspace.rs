//! Compares the table with the workspace: its page, and every name in code and documentation. A published
//! crate has neither.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use variables::{ALL, Reader, TEST_PREFIX};

/// Names that are not environment variables: a symbol version, macros of device code, and values that a build
/// script passes to its own crate.
const OTHERS: [&str; 4] = ["FERROCM_1", "FERROCM_CUDA", "FERROCM_NO_WMMA", "FERROCM_VGPU_OPT_LEVEL"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The variables of a reader as a table.
fn table(reader: Reader) -> String {
    let mut text = String::from("| variable | meaning | value | default |\n|---|---|---|---|\n");
    for variable in ALL.iter().filter(|variable| variable.reader == reader) {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            variable.name, variable.meaning, variable.values, variable.default
        );
    }
    text
}

#[test]
fn the_page_has_what_the_table_has() {
    let file = root().join("docs/generated/variables.md");
    let Ok(mut page) = std::fs::read_to_string(&file) else { return };
    let bless = variables::BLESS.text().unwrap().is_some();
    for (name, reader) in [
        ("program", Reader::Program),
        ("virtual GPU", Reader::VirtualGpu),
        ("build", Reader::Build),
        ("models", Reader::Models),
        ("tool", Reader::Tool),
        ("test", Reader::Test),
    ] {
        let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let from = page.find(&start).unwrap_or_else(|| panic!("{start}")) + start.len();
        let to = page.find(&end).unwrap_or_else(|| panic!("{end}"));
        let text = table(reader);
        assert!(bless || page[from..to] == text, "{name}: FERROCM_BLESS=1 writes it");
        page.replace_range(from..to, &text);
    }
    if bless {
        std::fs::write(file, page).unwrap();
    }
}

/// The files below a folder that have one of the endings.
fn files(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if name != "target" && name != ".git" {
                files(&path, endings, found);
            }
        } else if endings.iter().any(|ending| name.to_string_lossy().ends_with(ending)) {
            found.push(path);
        }
    }
}

/// Whether a file is C or C++, where words that are not strings are macros and types.
fn is_of_c(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ["cu", "cuh", "h", "cpp", "c"].iter().any(|of_c| ending == *of_c))
}

/// Every word of a text that begins like a variable's name, or every string that does.
fn names(text: &str, only_strings: bool) -> impl Iterator<Item = &str> {
    let is_of_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let found = text.match_indices("FERROCM_");
    found.filter(move |(at, _)| !only_strings || text[..*at].ends_with('"')).map(move |(at, _)| {
        let length = text.as_bytes()[at..].iter().take_while(|byte| is_of_name(**byte)).count();
        text[at..at + length].trim_end_matches('_')
    })
}

#[test]
fn every_name_in_the_workspace_is_in_the_table() {
    let known: BTreeSet<_> = ALL.iter().map(|variable| variable.name).chain(OTHERS).collect();
    let mut all = Vec::new();
    for folder in ["crates", "xtask", "benches", "examples", "fuzz", "ci", "docs", "kernels"] {
        files(
            &root().join(folder),
            &[".rs", ".md", ".toml", ".cu", ".cuh", ".h", ".cpp", ".c", ".py", ".sh"],
            &mut all,
        );
    }
    let mut unknown = BTreeSet::new();
    for path in all {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for name in names(&text, is_of_c(&path)) {
            // A bare prefix, such as `FERROCM_VGPU_…`, is not a name.
            let is_known = known.contains(name)
                || name.starts_with(TEST_PREFIX.trim_end_matches('_'))
                || known
                    .iter()
                    .any(|known| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('_')));
            if !is_known && name != "FERROCM" {
                unknown.insert(format!("{name} in {}", path.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "not in crates/variables/src/table.rs: {unknown:#?}");
}

/// Variables read without this crate: in crates that use nothing else of the workspace, in tests, and
/// secrets, which no error may show.
const BY_THEMSELVES: [&str; 3] =
    ["crates/librocm-smi/src/driver.rs", "crates/test-skip/src/lib.rs", "xtask/package/src/sign.rs"];

/// Reading a variable without this crate would ignore invalid values.
#[test]
fn no_other_crate_reads_a_variable_of_the_table_by_itself() {
    let mut all = Vec::new();
    files(&root().join("crates"), &[".rs"], &mut all);
    files(&root().join("xtask"), &[".rs"], &mut all);
    let mut readers = BTreeSet::new();
    let is_test = |path: &Path| {
        path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "examples")
    };
    let is_exempt = |path: &Path| BY_THEMSELVES.iter().any(|exempt| path.ends_with(exempt));
    for path in all.iter().filter(|path| !is_test(path) && !is_exempt(path)) {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        // Assumes no attributes or comments between a call and its argument.
        let joined: String = text.split_whitespace().collect();
        for call in ["env::var(", "env::var_os("] {
            for (at, _) in joined.match_indices(call) {
                let argument = joined[at + call.len()..].split(')').next().unwrap_or_default();
                let is_constant = |name: &str| joined.contains(&format!("const{name}:&str=\"FERROCM_"));
                let is_of_tests = argument.contains(TEST_PREFIX) || argument.contains(variables::BLESS.name);
                if argument.starts_with("\"FERROCM_") && !is_of_tests || is_constant(argument) {
                    readers.insert(format!("{argument} in {}", path.display()));
                }
            }
        }
    }
    assert!(readers.is_empty(), "read them with crates/variables: {readers:#?}");
}
