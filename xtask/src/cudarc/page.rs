//! The coverage of cudarc, as a page, and as a test that the paths exist.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::VERSION;
use super::items::{Item, Items};

/// Modules of cudarc whose features do not compile here.
const ABSENT: &str =
    "`cudnn`, `cufft`, `cufile`, `cupti`, `cusolver`, `cusolvermg`, `cusparse`, `cutensor`, `nvtx`";
/// Compared modules whose features do not compile, or that are missing entirely.
const NOTHING: [&str; 2] = ["cudnn", "runtime"];

/// Whether an item exists here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Here,
    /// With another declaration.
    Otherwise,
    Missing,
}

/// cudarc's items, each with its state.
pub(super) struct Compared<'a> {
    items: Vec<(&'a str, &'a Item, State)>,
    ours: &'a Items,
}

/// The module of an item: its path without the names of types, functions and constants.
fn module(path: &str) -> &str {
    let (path, is_item) = path.split_once(' ').map_or((path, true), |(module, _)| (module, false));
    // A macro.
    if is_item && !path.contains("::") {
        return "";
    }
    const MODULES: [&str; 3] = ["safe", "result", "sys"];
    let mut end = 0;
    for (index, part) in path.split("::").enumerate() {
        let is_module = index == 0
            || !path[..end].ends_with("::sys")
                && (MODULES.contains(&part) || (index == 2 && path[end..].matches("::").count() > 1));
        if !is_module || part.chars().next().is_some_and(char::is_uppercase) {
            break;
        }
        end += part.len() + if index == 0 { 0 } else { 2 };
    }
    &path[..end]
}

impl<'a> Compared<'a> {
    pub(super) fn of(theirs: &'a Items, ours: &'a Items) -> Self {
        let state = |path: &str, item: &Item| match ours.get(path) {
            None => State::Missing,
            Some(our) if our.declaration == item.declaration && our.kind == item.kind => State::Here,
            Some(_) => State::Otherwise,
        };
        let relevant = |path: &str| !NOTHING.iter().any(|module| path.split("::").next() == Some(module));
        let items = theirs
            .iter()
            .filter(|(path, _)| relevant(path))
            .map(|(path, item)| (path.as_str(), item, state(path, item)))
            .collect();
        Self { items, ours }
    }

    fn count(&self, state: State, is_sys: bool) -> usize {
        let alike = |path: &str| path.contains("::sys::") == is_sys && !path.contains("::sys impl");
        self.items.iter().filter(|(path, _, found)| alike(path) && *found == state).count()
    }

    pub(super) fn summary(&self) -> String {
        let (here, otherwise) = (self.count(State::Here, false), self.count(State::Otherwise, false));
        let missing = self.count(State::Missing, false);
        let of_c = self.count(State::Here, true) + self.count(State::Otherwise, true);
        let of_all = of_c + self.count(State::Missing, true);
        format!(
            "{here} items as in cudarc, {otherwise} otherwise, {missing} missing; of `sys`, {of_c} of {of_all} names"
        )
    }

    pub(super) fn page(&self) -> String {
        let mut page = format!(
            "# cudarc\n\n\
             <!-- Written by `cargo xtask cudarc`. -->\n\n\
             `crates/cudarc-on-hip` is the package `cudarc` with the API of cudarc {VERSION}, over `hip`. It takes cudarc's place in a program by\n\n\
             ```toml\n\
             [patch.crates-io]\n\
             cudarc = {{ path = \"ferrocm/crates/cudarc-on-hip\" }}\n\
             ```\n\n\
             and `FERROCM_DEVICE` says on which devices the program runs. The documentation of the crate and of its modules says what is \
             otherwise: `cargo doc --open -p cudarc`.\n\n\
             This page lists each public item of cudarc's modules and whether it is here. `cargo xtask cudarc` compares what rustdoc makes of \
             both; `crates/cudarc-on-hip/tests/paths.rs`, which it writes, uses each path that is here. \"Otherwise\" is another declaration by \
             the same path.\n\n\
             {}.\n\n\
             Nothing is here of {ABSENT}, whose features are errors of the compiler that say so, and of `runtime`.\n",
            self.summary()
        );
        let mut modules: BTreeMap<&str, Vec<(&str, &Item, State)>> = BTreeMap::new();
        for (path, item, state) in &self.items {
            modules.entry(module(path)).or_default().push((path, item, *state));
        }
        for (name, items) in modules {
            let title = if name.is_empty() { "cudarc" } else { name };
            let _ = write!(page, "\n## `{title}`\n\n");
            if name.ends_with("::sys") {
                write_names(&mut page, name, &items);
            } else {
                write_rows(&mut page, name, &items);
            }
        }
        page
    }

    /// Uses of all existing paths.
    pub(super) fn test(&self) -> String {
        let mut test = "//! Uses each path of cudarc that docs/generated/cudarc.md says is here.\n//!\n//! Written by `cargo xtask cudarc`.\n\
            #![allow(unused_imports, reason = \"they are there, which is all\")]\n\n#[rustfmt::skip]\nmod paths {\n"
            .to_owned();
        for (path, item, state) in &self.items {
            let is_variant =
                item.kind == "variant" && self.ours.get(*path).is_some_and(|our| our.kind == "variant");
            let is_path = matches!(
                item.kind,
                "struct" | "enum" | "union" | "trait" | "fn" | "type" | "constant" | "static" | "macro"
            );
            let is_member = path
                .rsplit_once("::")
                .is_some_and(|(parent, _)| self.ours.get(parent).is_some_and(|parent| parent.kind != "mod"));
            if *state != State::Missing && ((is_path && !is_member) || is_variant) {
                if path.starts_with("nccl::") || item.kind == "macro" {
                    test.push_str("    #[cfg(feature = \"nccl\")]\n");
                }
                let _ = writeln!(test, "    use cudarc::{path} as _;");
            }
        }
        test.push_str("}\n\n#[test]\nfn paths_are_there() {\n    // This compiles.\n}\n");
        test
    }
}

/// C names, of which there are many.
fn write_names(page: &mut String, module: &str, items: &[(&str, &Item, State)]) {
    for (state, title) in
        [(State::Here, "Here"), (State::Otherwise, "Otherwise"), (State::Missing, "Missing")]
    {
        let names: Vec<String> = items
            .iter()
            .filter(|(path, item, found)| *found == state && item.kind != "impl" && path.len() > module.len())
            // Members of a missing type are missing along with it.
            .filter(|(path, ..)| {
                state != State::Missing || path[module.len() + 2..].matches("::").count() == 0
            })
            .map(|(path, ..)| format!("`{}`", &path[module.len() + 2..]))
            .collect();
        if !names.is_empty() {
            let _ = write!(page, "{title} ({}):\n{}\n\n", names.len(), names.join(" "));
        }
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
}

fn write_rows(page: &mut String, module: &str, items: &[(&str, &Item, State)]) {
    page.push_str("| item | kind | state |\n|---|---|---|\n");
    for (path, item, state) in items {
        let name = path[module.len()..].trim_start_matches("::").trim_start();
        let state = match state {
            State::Here => "here",
            State::Otherwise => "otherwise",
            State::Missing => "missing",
        };
        let _ = writeln!(page, "| `{}` | {} | {state} |", name.replace('|', "\\|"), item.kind);
    }
}

#[cfg(test)]
mod tests {
    use super::module;

    #[test]
    fn modules_are_told_from_what_is_in_them() {
        assert_eq!(module("driver::safe::CudaContext::new"), "driver::safe");
        assert_eq!(module("driver::result::stream::create"), "driver::result::stream");
        assert_eq!(module("driver::result::init"), "driver::result");
        assert_eq!(module("driver::sys::cuInit"), "driver::sys");
        assert_eq!(module("driver::sys::cudaError_enum::CUDA_SUCCESS"), "driver::sys");
        assert_eq!(module("driver::safe impl Clone for CudaSlice"), "driver::safe");
        assert_eq!(module("types::CudaTypeName"), "types");
        assert_eq!(module("types impl CudaTypeName for bool"), "types");
        assert_eq!(module("group"), "");
    }
}
