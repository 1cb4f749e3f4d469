//! `docs/internals/blas-on-kernels.md` lists every function of the table, as implemented or with a reason why
//! not.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use rocblas_sys::Table;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/blas-on-kernels.md");
const FAMILIES: &str = include_str!("../functions.txt");
const BEGIN: &str = "<!-- generated: functions -->\n";
const END: &str = "<!-- end -->";

/// The table of operations, from `functions.txt`.
fn operations() -> String {
    let mut out = String::from("| function | types | forms | sizes |\n|---|---|---|---|\n");
    for line in FAMILIES.lines() {
        if let Some(level) = line.strip_prefix("# Level ") {
            let _ = writeln!(out, "| **level {level}** | | | |");
        }
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[pattern, types, arguments, _] = fields.as_slice() else { continue };
        if line.starts_with('#') {
            continue;
        }
        let name = pattern.replace("{}", "?").replace('@', "");
        let prefixes: Vec<_> = types.split_whitespace().map(|kind| kind.split(':').next().unwrap()).collect();
        let types = if prefixes == ["-"] { "arguments".to_owned() } else { prefixes.join(", ") };
        let all = "plain, batched, strided-batched";
        let (forms, sizes) = match arguments.split_whitespace().find(|token| token.starts_with('=')) {
            Some("=32") => (all, "32 bits"),
            Some("=batches") => ("batched, strided-batched", "32 and 64 bits"),
            Some("=one") => ("plain", "32 bits"),
            _ => (all, "32 and 64 bits"),
        };
        let _ = writeln!(out, "| `{name}` | {types} | {forms} | {sizes} |");
    }
    out
}

#[test]
fn the_page_lists_every_operation_that_is_there() {
    let page = std::fs::read_to_string(Path::new(PAGE)).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the table");
    let (listed, after) = rest.split_once(END).expect("the table ends");
    let wanted = operations();
    if std::env::var_os("FERROCM_BLESS").is_some() {
        std::fs::write(PAGE, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
    } else {
        assert_eq!(listed, wanted, "FERROCM_BLESS=1 writes it");
    }
}

/// The names in the first column of the page's section on missing functions.
fn missing_on_the_page() -> BTreeSet<String> {
    let page = std::fs::read_to_string(Path::new(PAGE)).unwrap();
    let section =
        page.split("\n## ").find(|section| section.starts_with("What is not there")).expect("the section");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split('|').next());
    rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn every_function_is_there_or_has_a_reason_why_not() {
    let there: BTreeSet<_> = blas_on_kernels::functions().collect();
    assert_eq!(there.len(), blas_on_kernels::functions().count(), "no name twice");
    let all: BTreeSet<_> = Table::symbols().collect();
    assert!(there.is_subset(&all));
    let missing: BTreeSet<String> = all.difference(&there).map(|name| (*name).to_owned()).collect();
    assert_eq!(missing_on_the_page(), missing);
    let page = std::fs::read_to_string(Path::new(PAGE)).unwrap();
    let line = format!("{} of the table's {} functions are there", there.len(), all.len());
    assert!(page.contains(&line), "the page says: {line}");
}

/// The function names in the sources of the device tests.
fn tested() -> BTreeSet<String> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/device"));
    let mut names = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        names.extend(words.filter(|word| word.starts_with("rocblas_")).map(str::to_owned));
    }
    names
}

#[test]
fn the_device_tests_name_every_function() {
    let tested = tested();
    let missing: Vec<_> = blas_on_kernels::functions().filter(|name| !tested.contains(*name)).collect();
    assert!(missing.is_empty(), "{} functions have no test: {missing:?}", missing.len());
}
