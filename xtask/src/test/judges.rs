//! `cargo xtask test judges`: the tests that need programs that neither set-up nor the steps of a run fetch:
//! debuggers, GnuPG, nvcc.

use test_skip::Lack;

use super::shared::{Shared, execute};
use super::skips;
use super::steps::Step;

/// The test that has nvcc compile all kernels for three architectures: three minutes of two processors, so
/// only this suite has it.
pub(super) const ALL_BY_NVCC: &str = "a_real_nvcc_compiles_all_kernels_of_the_workspace";

/// The tests that skip themselves in other runs if their program is missing.
const TESTS: [&str; 5] = [
    "gdb_runs_the_batch_script_and_the_process_goes_on",
    "lldb_runs_its_batch_script_and_the_process_goes_on",
    "keys_stand_in_the_user_data_if_they_are_those_of_the_table",
    "a_real_nvcc_compiles_the_same_sources",
    ALL_BY_NVCC,
];

pub(super) fn steps(shared: &Shared) -> Vec<Step<'_>> {
    vec![Step::new("tests by other judges", || {
        let mut command = shared.tests(&filter(), None)?;
        skips::require(&mut command, &[Lack::Tool, Lack::Judge]);
        execute(command)
    })]
}

/// The nextest filter for only these tests, with module paths.
fn filter() -> String {
    format!("test(/(^|::)({})$/)", TESTS.join("|"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;
    use crate::tools;

    /// The enclosing function of each place where a test reports a missing judge.
    fn judged(text: &str) -> Vec<String> {
        let places = text.match_indices("skip(Lack::Judge");
        let name = |(place, _): (usize, &str)| {
            let (_, rest) = text[..place].rsplit_once("\nfn ").expect("a function");
            rest.split('(').next().expect("a name").to_owned()
        };
        places.map(name).collect()
    }

    #[test]
    fn every_test_that_lacks_a_judge_runs_and_no_other() {
        let mut files = Vec::new();
        for folder in ["crates", "benches", "examples"] {
            skips::sources(&tools::workspace().join(folder), &mut files);
        }
        let texts = files.iter().filter(|file| !file.ends_with("crates/test-skip/src/lib.rs"));
        let found: BTreeSet<String> =
            texts.flat_map(|file| judged(&fs::read_to_string(file).unwrap())).collect();
        let expected: BTreeSet<String> = TESTS.map(str::to_owned).into();
        assert_eq!(found, expected);
    }

    #[test]
    fn tests_are_named_whole_whatever_their_module() {
        let filter = filter();
        assert!(filter.starts_with("test(/(^|::)(gdb_runs_"), "{filter}");
        assert!(filter.ends_with("|a_real_nvcc_compiles_all_kernels_of_the_workspace)$/)"), "{filter}");
    }
}
