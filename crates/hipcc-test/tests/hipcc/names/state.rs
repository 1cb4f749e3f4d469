//! What becomes of a name, as CUDA's headers for AMD targets say.

use std::collections::{BTreeMap, BTreeSet};

use super::data::{Kind, Name};
use super::read;

/// What becomes of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is HIP's, or made of HIP's.
    Works,
    /// A type or a number that only CUDA has, as CUDA's headers have it.
    Declared,
    /// The function is a row of a header, and returns "not supported".
    Refused(String),
    /// The function calls one that is not in the HIP library of this workspace, which says so.
    Lacking(String),
    /// A compile error that gives the reason.
    Error(String),
}

/// Headers that are an error.
pub(super) const ERROR_HEADERS: [&str; 4] =
    ["cudaEGL.h", "cudaVDPAU.h", "cuda_egl_interop.h", "cuda_vdpau_interop.h"];
const FOLDER: &str = "crates/device-compiler/cuda";
/// Headers with rows of functions that are not supported, and the macros of the rows.
const REFUSED: [&str; 4] =
    ["ferrocm_runtime_refused.h", "ferrocm_driver_refused.h", "ferrocm_gl_runtime.h", "ferrocm_gl_driver.h"];
/// Rows that a program of the host can call.
pub(super) const ROWS: [&str; 2] = ["__CUDA_REFUSED", "__CU_REFUSED"];
const DEVICE_ROW: &str = "__CUDA_REFUSED_ON_DEVICE";
/// Headers with types and numbers that only CUDA has.
const DECLARED: [&str; 6] = [
    "ferrocm_aligned_vectors.h",
    "ferrocm_driver_types.h",
    "ferrocm_gl_driver.h",
    "ferrocm_gl_runtime.h",
    "ferrocm_runtime_types.h",
    "ferrocm_values_begin.h",
];
/// Headers that map names to HIP's, the later ones after the earlier.
const MAPS: [&str; 11] = [
    "ferrocm_runtime_table.h",
    "ferrocm_runtime_names.h",
    "ferrocm_library_names.h",
    "ferrocm_driver_table.h",
    "ferrocm_launch.h",
    "ferrocm_runtime_functions.h",
    "ferrocm_runtime_composed.h",
    "ferrocm_driver_refused.h",
    "ferrocm_driver_composed.h",
    "ferrocm_gl_runtime.h",
    "ferrocm_gl_driver.h",
];
/// Headers with functions of ours.
const OWN: [&str; 5] = [
    "ferrocm_launch.h",
    "ferrocm_runtime_functions.h",
    "ferrocm_runtime_composed.h",
    "ferrocm_entries.h",
    "ferrocm_driver_composed.h",
];

/// The states of all names.
pub(super) struct States {
    states: BTreeMap<String, State>,
    /// The functions that a program of the host calls in vain, with the macro of the row.
    pub(super) rows: Vec<(String, String)>,
}

fn header(name: &str) -> String {
    read(&format!("{FOLDER}/{name}"))
}

/// The identifiers of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The functions that the HIP library of this workspace has.
fn implemented() -> BTreeSet<String> {
    let text = read("crates/hip-on-hsa/src/api/table.rs");
    let list = text.split("\nfunctions! {").nth(1).and_then(|rest| rest.split("\n}").next()).expect("a list");
    words(list).filter(|word| word.contains("hip")).map(str::to_owned).collect()
}

/// All functions of HIP's libraries.
fn symbols() -> BTreeSet<String> {
    let text = read("crates/hip-sys/src/table.rs");
    let rows = text.split("    pub ").skip(1).filter_map(|row| row.split_once(": unsafe extern \"C\" fn("));
    rows.map(|(name, _)| name.to_owned()).collect()
}

/// The functions of ours, with the names in their bodies. A function with several forms has the last one's.
fn own() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in OWN {
        let text = header(file);
        for part in text.split("__CUDA_API ").chain(text.split("__CUDA_HOST ")).skip(1) {
            let Some((declared, _)) = part.split_once('(') else { continue };
            let Some(name) = words(declared).last() else { continue };
            let body = part.split("\n}\n").next().unwrap_or_default();
            let body = body.split_once("{ ").map_or(body, |(_, rest)| match rest.split_once(" }\n") {
                Some((line, _)) if !line.contains('\n') => line,
                _ => body,
            });
            found.insert(name.to_owned(), words(body).map(str::to_owned).collect());
        }
    }
    found
}

impl States {
    pub(super) fn of(names: &[Name]) -> Self {
        let (mut refused, mut rows, mut errors) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        for file in REFUSED {
            let mut reason = String::new();
            for line in header(file).lines() {
                if let Some(text) = line.strip_prefix("// ") {
                    reason = text.to_owned();
                }
                let line = line.strip_prefix("template <typename F> ").unwrap_or(line);
                let Some((row, rest)) = line.split_once('(') else { continue };
                let name = rest.split(',').next().unwrap_or_default().to_owned();
                if ROWS.contains(&row) || row == DEVICE_ROW {
                    if row != DEVICE_ROW && refused.insert(name.clone(), reason.clone()).is_none() {
                        rows.push((name, row.to_owned()));
                    } else {
                        refused.insert(name, reason.clone());
                    }
                } else if row == "__CUDA_UNAVAILABLE" {
                    let why = rest.split('"').nth(1).expect("a reason").to_owned();
                    errors.insert(rest.split(", ").nth(1).expect("a name").to_owned(), why);
                }
            }
        }
        let mut maps: BTreeMap<String, String> = BTreeMap::new();
        for file in MAPS {
            for line in header(file).lines() {
                let row = line.strip_prefix("#define ").and_then(|row| row.split_once(' '));
                if let Some((name, to)) = row.filter(|(_, to)| words(to).next() == Some(to)) {
                    maps.insert(name.to_owned(), to.to_owned());
                }
            }
        }
        let declared: BTreeSet<String> = DECLARED
            .iter()
            .flat_map(|file| words(&header(file)).map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let judge = Judge {
            refused,
            errors,
            maps,
            declared,
            own: own(),
            implemented: implemented(),
            symbols: symbols(),
        };
        let states = names.iter().map(|name| (name.name.clone(), judge.state(name))).collect();
        Self { states, rows }
    }

    pub(super) fn get(&self, name: &str) -> &State {
        &self.states[name]
    }
}

/// What the headers say.
struct Judge {
    refused: BTreeMap<String, String>,
    errors: BTreeMap<String, String>,
    maps: BTreeMap<String, String>,
    declared: BTreeSet<String>,
    own: BTreeMap<String, Vec<String>>,
    implemented: BTreeSet<String>,
    symbols: BTreeSet<String>,
}

impl Judge {
    fn state(&self, name: &Name) -> State {
        if ERROR_HEADERS.contains(&name.header.as_str()) {
            return State::Error(format!("HIP has no counterpart of {}", name.header));
        }
        match name.kind {
            Kind::Function => self.function(&name.name, 0),
            _ if self.declared.contains(&name.name) && !self.maps.contains_key(&name.name) => State::Declared,
            _ => State::Works,
        }
    }

    fn function(&self, name: &str, depth: usize) -> State {
        assert!(depth < 8, "{name} stands for itself");
        if let Some(reason) = self.refused.get(name) {
            return State::Refused(reason.clone());
        }
        if let Some(reason) = self.errors.get(name) {
            return State::Error(reason.clone());
        }
        if let Some(called) = self.own.get(name) {
            // What it calls has to be there.
            for word in called.iter().filter(|word| *word != name) {
                let is_own = self.own.contains_key(word) && word.starts_with("cu");
                if is_own || self.symbols.contains(word) {
                    match self.function(word, depth + 1) {
                        State::Works => {}
                        other => return other,
                    }
                }
            }
            return State::Works;
        }
        if let Some(other) = self.maps.get(name) {
            return self.function(other, depth + 1);
        }
        match self.symbols.contains(name) && !self.implemented.contains(name) {
            true => State::Lacking(name.to_owned()),
            false => State::Works,
        }
    }
}
