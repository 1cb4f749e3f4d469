//! The list of forms, and the page that shows it.

use std::collections::{BTreeMap, HashSet};

use crate::cases::{self, Case};

/// Patterns of names, and the trees that have them.
const FORMS: &str = include_str!("forms.txt");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/generated/ptx.md");

/// A form's state: none if it is translated, else the reason.
fn refusal(name: &str) -> Option<String> {
    let statement = cases::case(name).map_or_else(|| format!("asm(\"{name};\");"), |case| case.body);
    let text =
        device_compiler::ptx::rewrite(&statement).unwrap_or_else(|| panic!("{name} is no PTX: {statement}"));
    let (_, rest) = text.split_once(&format!("`{name}` has no equivalent on AMD GPUs: "))?;
    Some(rest.split('"').next().unwrap_or_default().to_owned())
}

/// The names of a pattern: `{a,b}` stands for either.
fn names(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let (choices, after) = rest.split_once('}').unwrap_or_else(|| panic!("{pattern}"));
    let after = names(after);
    choices
        .split(',')
        .flat_map(|choice| {
            after.iter().map(move |after| format!("{before}{choice}{after}").replace("..", "."))
        })
        .map(|name| name.trim_end_matches('.').to_owned())
        .collect()
}

fn patterns() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMS
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_once('\t').unwrap_or_else(|| panic!("{line}")))
}

/// The forms of a family that are executed, with their cases: of those that become the same C++, one.
pub(crate) fn executed(family: &str) -> Vec<(String, Case)> {
    let mut seen = HashSet::new();
    patterns()
        .flat_map(|(pattern, _)| names(pattern))
        .filter_map(|name| Some((cases::family(&name)?, name)))
        .filter(|((of, _), _)| *of == family)
        .map(|((_, case), name)| (name, case))
        .filter(|(_, case)| {
            let text = device_compiler::ptx::rewrite(&case.body).unwrap_or_default();
            !text.contains("__cuda_no_ptx") && seen.insert(text)
        })
        .collect()
}

/// The page.
fn page() -> String {
    let mut out = String::from(
        "# Forms of inline PTX\n\
         The test `device_ptx` of `crates/hip` writes this page (`FERROCM_BLESS=1`) from its list of forms: those in the CUDA sources of\n\
         llama.cpp (`ggml-cuda`), CUTLASS (`include`) and CCCL (CUB, `libcudacxx` with `cuda::ptx`), and further ones. A form that is\n\
         translated is executed on virtual GPUs with waves of 32 and of 64 lanes, with edges and random operands, and compared with a\n\
         model of PTX's manual; of forms that become the same C++, one is. A form that is refused is a compile error with this reason,\n\
         where it is not removed as dead code. `{a,b}` stands for one of these, and nothing in it for nothing.\n\n",
    );
    let mut groups: BTreeMap<&str, Vec<(&str, &str, String)>> = BTreeMap::new();
    let (mut translated, mut refused) = (0, 0);
    for (pattern, trees) in patterns() {
        let mut states: Vec<Option<String>> = names(pattern).iter().map(|name| refusal(name)).collect();
        let count = states.len();
        states.dedup();
        let [state] = &states[..] else { panic!("{pattern}: {states:?}, so it is more than one pattern") };
        for name in names(pattern).iter().filter(|_| state.is_none()) {
            assert!(cases::case(name).is_some(), "{name} is translated and has no model");
        }
        *(if state.is_none() { &mut translated } else { &mut refused }) += count;
        let first = pattern.split(['.', '{']).next().unwrap_or_default();
        let state =
            state.as_ref().map_or_else(|| "translated".to_owned(), |reason| format!("refused: {reason}"));
        groups.entry(first).or_default().push((pattern, trees, state));
    }
    out += &format!(
        "{translated} forms are translated, {refused} are refused.\n\n| form | in | state |\n|---|---|---|\n"
    );
    for (pattern, trees, state) in groups.into_values().flatten() {
        out += &format!("| `{pattern}` | {trees} | {state} |\n");
    }
    out
}

#[test]
fn the_page_has_every_form_with_its_state() {
    let page = page();
    if std::env::var_os("FERROCM_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(PAGE, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(PAGE).unwrap_or_default(), page, "FERROCM_BLESS=1 writes it");
}
