//! Writes `docs/generated/coverage.md`: every C function, its implementations, and the safe API that calls it
//! or why there is none.
//!
//! | module | holds |
//! |---|---|
//! | `table` | the functions of a checked-in `table.rs`, and the versions that have them |
//! | `provided` | the functions that an implementation inside the process provides |
//! | `source`, `names` | a crate's modules; the meaning of paths in them, and the public paths of items |
//! | `calls`, `body` | which function of a crate calls which, and which C functions |
//! | `wrappers` | the public items that call a C function |
//! | `reasons` | why a function has no wrapper |
//! | `report` | the page |

mod body;
mod calls;
mod names;
mod provided;
mod reasons;
mod report;
mod source;
mod table;
mod wrappers;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use reasons::Topic;

/// The C functions of a crate's libraries, each with the public items that call it.
type Wrappers = BTreeMap<String, Items>;

/// Public items that call one C function.
#[derive(Clone, Debug, Default)]
struct Items {
    /// Those with documentation that names it.
    documented: BTreeSet<String>,
    others: BTreeSet<String>,
}

/// One library and its crates.
struct Library {
    /// Its name, also in `reasons`.
    name: &'static str,
    /// Folder of the raw crate.
    raw: &'static str,
    /// Its table, from that folder.
    table: &'static str,
    /// Name of the implementation inside the process, and its sources.
    implementation: Option<(&'static str, &'static str)>,
    /// Name of the safe crate.
    safe: &'static str,
}

const LIBRARIES: &[Library] = &[
    Library {
        name: "HSA",
        raw: "crates/hsa-sys",
        table: "src/table.rs",
        implementation: Some(("vgpu", "crates/vgpu/src/hsa")),
        safe: "hsa",
    },
    Library {
        name: "HIP",
        raw: "crates/hip-sys",
        table: "src/table.rs",
        implementation: Some(("hip-on-hsa", "crates/hip-on-hsa/src")),
        safe: "hip",
    },
    Library {
        name: "hiprtc",
        raw: "crates/hip-sys",
        table: "src/rtc/table.rs",
        implementation: Some(("hiprtc-on-clang", "crates/hiprtc-on-clang/src")),
        safe: "hip",
    },
    Library {
        name: "rocBLAS",
        raw: "crates/rocblas-sys",
        table: "src/table.rs",
        implementation: None,
        safe: "rocblas",
    },
    Library {
        name: "RCCL",
        raw: "crates/rccl-sys",
        table: "src/table.rs",
        implementation: Some(("rccl-on-hip", "crates/rccl-on-hip/src")),
        safe: "rccl",
    },
];

/// The facts about one function.
struct Row {
    name: String,
    versions: String,
    implemented: bool,
    coverage: Coverage,
}

/// How safe code uses a function.
enum Coverage {
    /// Through these items; empty if the crate only uses it internally.
    Wrapped(Items),
    /// Not at all.
    Unwrapped(&'static Topic),
}

/// The functions of one library.
struct Covered {
    library: &'static Library,
    /// Whether the safe crate exists.
    has_safe: bool,
    /// The versions whose headers the table was generated from.
    versions: Vec<String>,
    rows: Vec<Row>,
}

/// Writes the page for the workspace at `root`, from its checked-in tables and sources.
///
/// A library whose raw crate does not exist is left out.
///
/// # Errors
/// Unreadable sources, functions with neither a wrapper nor a reason, unused reasons.
pub(crate) fn generate(root: &Path) -> Result<String> {
    let present = || LIBRARIES.iter().filter(|library| root.join(library.raw).is_dir());
    let mut tables = Vec::new();
    for library in present() {
        let path = root.join(library.raw).join(library.table);
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let table = table::read(&text).with_context(|| format!("in {}", path.display()))?;
        tables.push((library, table));
    }
    let symbols: BTreeSet<&str> = tables.iter().flat_map(|(_, table)| table.names()).collect();

    let mut wrappers: BTreeMap<&str, Option<Wrappers>> = BTreeMap::new();
    for library in present() {
        let source = root.join("crates").join(library.safe).join("src/lib.rs");
        if wrappers.contains_key(library.safe) {
            continue;
        }
        let found = if source.is_file() {
            let modules = source::Crate::load(&source)?;
            Some(wrappers::find(library.safe, &modules, &symbols))
        } else {
            None
        };
        wrappers.insert(library.safe, found);
    }

    let mut problems = Vec::new();
    let mut covered = Vec::new();
    for (library, table) in &tables {
        let provided = match library.implementation {
            Some((_, sources)) => provided::read(&root.join(sources), &symbols)?,
            None => BTreeSet::new(),
        };
        let empty = Wrappers::new();
        let safe = wrappers.get(library.safe).and_then(Option::as_ref);
        let explained = explain(library.name, table.names(), safe.unwrap_or(&empty), reasons::TOPICS);
        let coverage = match explained {
            Ok(coverage) => coverage,
            Err(found) => {
                problems.extend(found);
                continue;
            }
        };
        let rows = table.functions.iter().zip(coverage).map(|(function, coverage)| Row {
            name: function.name.clone(),
            versions: table.versions_of(function),
            implemented: provided.contains(&function.name),
            coverage,
        });
        let rows = rows.collect();
        covered.push(Covered { library, has_safe: safe.is_some(), versions: table.versions.clone(), rows });
    }
    ensure!(
        problems.is_empty(),
        "xtask/bindgen/src/coverage/reasons.rs is not up to date:\n{}",
        problems.join("\n")
    );
    Ok(report::write(&covered))
}

/// The rows of a library's functions, or what is wrong with the reasons.
fn explain<'a>(
    library: &str,
    names: impl Iterator<Item = &'a str>,
    wrappers: &Wrappers,
    topics: &'static [&'static [Topic]],
) -> Result<Vec<Coverage>, Vec<String>> {
    let mut problems = Vec::new();
    let mut coverage = Vec::new();
    let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
    for name in names {
        if let Some(items) = wrappers.get(name) {
            coverage.push(Coverage::Wrapped(items.clone()));
        } else if let Some((topic, pattern)) = reasons::find(library, name, topics) {
            used.insert((topic.name, pattern));
            coverage.push(Coverage::Unwrapped(topic));
        } else {
            problems.push(format!("{library}: {name} has neither a safe wrapper nor a reason"));
        }
    }
    for topic in topics.iter().copied().flatten().filter(|topic| topic.library == library) {
        for pattern in topic.patterns.iter().filter(|pattern| !used.contains(&(topic.name, pattern))) {
            problems.push(format!(
                "{library}: `{pattern}` of \"{}\" is the reason of no function: none has such a name, all are wrapped, \
                 or an earlier row holds them",
                topic.name
            ));
        }
    }
    if problems.is_empty() { Ok(coverage) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TOPICS: &[&[Topic]] = &[&[
        Topic { library: "L", name: "one", reason: "", patterns: &["a_one"] },
        Topic { library: "L", name: "rest", reason: "", patterns: &["a_*"] },
    ]];

    fn problems(names: &[&str], wrapped: &[&str]) -> Vec<String> {
        let wrappers = wrapped.iter().map(|name| ((*name).to_owned(), Items::default())).collect();
        explain("L", names.iter().copied(), &wrappers, TOPICS).err().unwrap_or_default()
    }

    #[test]
    fn every_function_is_wrapped_or_has_a_reason() {
        assert!(problems(&["a_one", "a_two", "b"], &["b"]).is_empty());
        let found = problems(&["a_one", "a_two", "b"], &[]);
        assert_eq!(found, ["L: b has neither a safe wrapper nor a reason"]);
    }

    #[test]
    fn a_reason_for_nothing_is_a_problem() {
        for (names, wrapped) in [(&["a_two"][..], &[][..]), (&["a_one", "a_two"], &["a_one"])] {
            let found = problems(names, wrapped);
            assert!(found.len() == 1 && found[0].contains("`a_one` of \"one\""), "{found:?}");
        }
        let found = problems(&["a_one"], &[]);
        assert!(found.len() == 1 && found[0].contains("`a_*` of \"rest\""), "{found:?}");
    }

    #[test]
    fn this_workspace_is_covered() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let text = generate(root).unwrap();
        let row = |name: &str| text.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap();
        assert!(row("hipStreamSynchronize").contains("`hip::Stream::synchronize`"));
        assert!(row("hipModuleUnload").contains("`hip::Module` (drop)"));
        assert!(row("hipMemcpyAsync").contains("`hip::DeviceSlice::copy_to_host`"));
        assert!(row("hipModuleLaunchKernel").contains("`hip::Launch::enqueue`"));
        assert!(row("hsa_init").contains("`hsa::Runtime::new`"));
    }
}
