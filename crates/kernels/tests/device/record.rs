//! Records which kernels have run, and how far off their results were, for
//! `docs/generated/kernels-checked.md`.
//!
//! With `FERROCM_KERNEL_RESULTS`, the name of a folder, each [`Bench`](crate::common::Bench) leaves a file
//! there with a line for each kernel: kernel, target, largest difference. The virtual GPU reports which
//! kernels ran. A comparison counts for all kernels that ran since the previous comparison.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use kernels::Element;
use kernels::reference::{self, Comparison, Expected};

/// For a kernel that ran, but whose results no test has compared.
const NOT_COMPARED: &str = "ran";

thread_local! {
    static RECORD: RefCell<Record> = RefCell::default();
}

/// What a test has launched and compared.
#[derive(Default)]
struct Record {
    /// Kernels that ran since the last comparison, or before it if none has run since.
    current: BTreeSet<String>,
    /// Whether these have been compared.
    compared: bool,
    /// The largest difference of each kernel, if it has been compared.
    largest: BTreeMap<String, Option<f64>>,
}

impl Record {
    fn launched(&mut self, kernels: impl IntoIterator<Item = String>) {
        for kernel in kernels {
            if std::mem::take(&mut self.compared) {
                self.current.clear();
            }
            self.largest.entry(kernel.clone()).or_default();
            self.current.insert(kernel);
        }
    }

    fn compared(&mut self, difference: f64) {
        self.compared = true;
        for kernel in &self.current {
            let largest = self.largest.entry(kernel.clone()).or_default();
            *largest = Some(largest.map_or(difference, |largest| largest.max(difference)));
        }
    }
}

/// The folder for the files, if one is named.
pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os("FERROCM_KERNEL_RESULTS").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Remembers which kernels have run.
pub(crate) fn launched(kernels: impl IntoIterator<Item = String>) {
    RECORD.with_borrow_mut(|record| record.launched(kernels));
}

/// Leaves a file with what this thread has launched and compared; none if its test has failed.
pub(crate) fn leave(folder: &Path, target: &str) {
    let lines = take(target);
    if !lines.is_empty() {
        let mut file = tempfile::Builder::new().prefix("ran-").suffix(".tsv").tempfile_in(folder).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
        file.keep().unwrap();
    }
}

fn take(target: &str) -> String {
    let record = RECORD.take();
    if std::thread::panicking() {
        return String::new();
    }
    let line = |(kernel, largest): (String, Option<f64>)| match largest {
        Some(difference) => format!("{kernel}\t{target}\t{difference:e}\n"),
        None => format!("{kernel}\t{target}\t{NOT_COMPARED}\n"),
    };
    record.largest.into_iter().map(line).collect()
}

/// Remembers how far a result is from the expected one, relative to it if it is larger than one.
pub(crate) fn difference(found: f64, expected: f64) {
    let same = found == expected || found.is_nan() && expected.is_nan();
    let difference = if same { 0.0 } else { (found - expected).abs() / expected.abs().max(1.0) };
    RECORD.with_borrow_mut(|record| record.compared(difference));
}

/// Remembers that results are as expected, if they are. For `assert!`.
pub(crate) fn exact(is_expected: bool) -> bool {
    if is_expected {
        difference(0.0, 0.0);
    }
    is_expected
}

/// `assert_eq!` for results of kernels that must be exact.
macro_rules! assert_exact {
    ($($what:tt)+) => {{
        assert_eq!($($what)+);
        $crate::record::exact(true);
    }};
}
pub(crate) use assert_exact;

/// [`reference::compare`] for results of kernels.
pub(crate) fn compare<T: Element>(found: &[T], expected: impl IntoIterator<Item = Expected>) -> Comparison {
    let expected: Vec<Expected> = expected.into_iter().collect();
    for (found, expected) in found.iter().zip(&expected) {
        difference(found.to_f64(), expected.value);
    }
    reference::compare(found, expected)
}

#[test]
fn the_largest_difference_of_all_that_ran_since_the_last_comparison_counts() {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    launched(names(&["a", "b"]));
    difference(1.5, 1.0);
    difference(30.0, 40.0);
    launched(names(&["b"]));
    assert!(!exact(false) && exact(true));
    launched(names(&["c"]));
    assert_eq!(take("gfx1100"), "a\tgfx1100\t5e-1\nb\tgfx1100\t5e-1\nc\tgfx1100\tran\n");
    assert_eq!(take("gfx1100"), "");
}

/// Writes a file with the names of all kernels for the device: module, kernel, target.
#[test]
fn every_kernel_has_a_name_of_its_own() {
    let bench = crate::common::Bench::open();
    let target = &bench.kernels.device().target().processor;
    let mut all = BTreeMap::new();
    for module in kernels::modules::ALL {
        let object = module.code_objects.iter().find(|object| object.target == target);
        let object = object.unwrap_or_else(|| panic!("{} is not compiled for {target}", module.name));
        for kernel in code_object::CodeObject::parse(object.bytes).unwrap().kernels() {
            let other = all.insert(kernel.name.clone(), module.name);
            assert_eq!(other, None, "{} is in {}, too", kernel.name, module.name);
        }
    }
    assert!(all.len() > 991, "{}", all.len());
    if let Some(folder) = folder() {
        let lines: String =
            all.iter().map(|(kernel, module)| format!("{module}\t{kernel}\t{target}\n")).collect();
        std::fs::write(folder.join(format!("{target}.names")), lines).unwrap();
    }
}
