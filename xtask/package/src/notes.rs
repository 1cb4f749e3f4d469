//! `cargo xtask release --dry-run`: checks whether everything is ready, and writes the release notes from the
//! reports in `docs`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use setup::run;

use crate::about::{About, NAME, workspace};
use crate::crates;
use crate::metadata::Metadata;

/// A report for the notes.
struct Source {
    title: &'static str,
    /// The page.
    path: &'static str,
    /// Whether the page's first table is copied.
    shown: bool,
}

static REPORTS: [Source; 10] = [
    Source { title: "Coverage of AMD's libraries", path: "docs/generated/coverage.md", shown: true },
    Source { title: "ABI of HIP", path: "docs/generated/abi/hip.md", shown: false },
    Source { title: "ABI of hiprtc", path: "docs/generated/abi/hiprtc.md", shown: false },
    Source { title: "ABI of HSA", path: "docs/generated/abi/hsa.md", shown: false },
    Source { title: "ABI of RCCL", path: "docs/generated/abi/rccl.md", shown: false },
    Source { title: "ABI of CUDA", path: "docs/generated/abi/cuda.md", shown: false },
    Source { title: "ABI of rocBLAS", path: "docs/generated/abi/rocblas.md", shown: false },
    Source { title: "Kernels", path: "docs/generated/kernels-checked.md", shown: false },
    Source { title: "Kernels' work", path: "docs/generated/kernels-bench.md", shown: false },
    Source { title: "Benchmarks", path: "docs/contribute/benchmarks.md", shown: false },
];

/// The maximum number of rows listed per kind; the others are counted.
const LISTED: usize = 12;

/// Checks, writes the notes, and prints the next manual steps.
pub(crate) fn release(out: &Path) -> Result<()> {
    let about = About::of_workspace(None)?;
    let metadata = Metadata::of_members(workspace())?;
    let order = crates::order(&metadata.packages)?;
    let tag = format!("v{}", about.version);
    let tags = git(&["tag", "--list", "v*", "--sort=-v:refname", "--merged", "HEAD"])?;
    let previous = tags.lines().find(|one| *one != tag);

    let notes = notes(&about, previous)?;
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let path = out.join("NOTES.md");
    fs::write(&path, notes).with_context(|| format!("cannot write {}", path.display()))?;
    println!(
        "notes: {} ({})",
        path.display(),
        previous.map_or("there is no earlier release".to_owned(), |tag| format!("since {tag}"))
    );

    let mut problems = Vec::new();
    let changes = git(&["status", "--porcelain"])?;
    if !changes.is_empty() {
        problems.push(format!("the checkout has changes that are not committed:\n{}", changes.trim_end()));
    }
    for package in &order {
        if package.version != about.version {
            problems.push(format!("{} has version {}, not {}", package.name, package.version, about.version));
        }
        let is_other = |req: &str| req != "*" && req.trim_start_matches(['^', '=']) != about.version;
        let members = package.dependencies.iter().filter(|one| one.path.is_some());
        for dependency in members.filter(|one| is_other(&one.req)) {
            problems.push(format!(
                "{} asks for {} {}, not {}",
                package.name, dependency.name, dependency.req, about.version
            ));
        }
    }
    if tags.lines().any(|one| one == tag) && git(&["rev-list", "-1", &tag])? != git(&["rev-parse", "HEAD"])? {
        problems.push(format!("the tag {tag} is on another commit: this version is released"));
    }
    if !problems.is_empty() {
        bail!("not ready for a release:\n  {}", problems.join("\n  ").replace('\n', "\n  "));
    }
    println!(
        "\nReady. A person does the rest:\n  git tag -s {tag} && git push --tags\n  cargo xtask package --key KEY && cargo xtask package --check"
    );
    println!(
        "  cargo publish --workspace, in the folder that `cargo xtask package crates` has packed, which publishes"
    );
    for package in order {
        println!("    {} {}", package.name, package.version);
    }
    Ok(())
}

fn git(arguments: &[&str]) -> Result<String> {
    Ok(run::capture(Command::new("git").args(arguments).current_dir(workspace()))?)
}

/// The notes: the reports, and their changes since the tag.
fn notes(about: &About, previous: Option<&str>) -> Result<String> {
    let mut text = format!("# {NAME} {}\n", about.version);
    for Source { title, path, shown } in &REPORTS {
        let file = workspace().join(path);
        let now = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        // A new page has no earlier version.
        let before = previous.map(|tag| git(&["show", &format!("{tag}:{path}")]).unwrap_or_default());
        let section = section(&now, before.as_deref(), *shown);
        if !section.is_empty() {
            let _ = write!(text, "\n## {title}\n\n{section}\nAll of it: `{path}`.\n");
        }
    }
    if let Some(tag) = previous {
        let _ = write!(text, "\n## Commits since {tag}\n\n");
        for line in git(&["log", "--no-merges", "--format=%s", &format!("{tag}..HEAD")])?.lines() {
            let _ = writeln!(text, "- {line}");
        }
    }
    Ok(text)
}

/// A row's place: the headings above it, and its first cell.
type Place = (String, String);

/// A report's current state, or its changes.
fn section(now: &str, before: Option<&str>, shown: bool) -> String {
    let mut text = String::new();
    if shown {
        for line in
            now.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'))
        {
            let _ = writeln!(text, "{}", without_anchors(line));
        }
    }
    let rows_now = rows(now);
    let Some(before) = before else {
        if !shown {
            let sections: std::collections::BTreeSet<&str> =
                rows_now.keys().map(|(heading, _)| heading.as_str()).collect();
            let _ = writeln!(text, "{} rows in {} tables.", rows_now.len(), sections.len());
        }
        return text;
    };
    let rows_before = rows(before);
    let new: Vec<String> =
        rows_now.keys().filter(|place| !rows_before.contains_key(*place)).map(told).collect();
    let gone: Vec<String> =
        rows_before.keys().filter(|place| !rows_now.contains_key(*place)).map(told).collect();
    let changed: Vec<String> = rows_now
        .iter()
        .filter_map(|(place, cells)| {
            let old = rows_before.get(place).filter(|old| *old != cells)?;
            Some(format!("{}: {} → {}", told(place), old.join(" | "), cells.join(" | ")))
        })
        .collect();
    for (title, list) in [("New", new), ("Gone", gone), ("Changed", changed)] {
        if list.is_empty() {
            continue;
        }
        let _ = write!(text, "\n{title}, {}:\n\n", list.len());
        for item in list.iter().take(LISTED) {
            let _ = writeln!(text, "- {item}");
        }
        if list.len() > LISTED {
            let _ = writeln!(text, "- … and {} more", list.len() - LISTED);
        }
    }
    text
}

fn told((heading, key): &Place) -> String {
    match heading.is_empty() {
        true => key.clone(),
        false => format!("{key} ({heading})"),
    }
}

/// Links inside a page would be dead in the notes.
fn without_anchors(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(open) = rest.find('[') {
        let Some((name, after)) = rest[open + 1..].split_once("](#") else { break };
        let Some((_, after)) = after.split_once(')') else { break };
        out.push_str(&rest[..open]);
        out.push_str(name);
        rest = after;
    }
    out + rest
}

/// The rows of all tables of a page.
fn rows(text: &str) -> BTreeMap<Place, Vec<String>> {
    let mut rows = BTreeMap::new();
    let mut headings: Vec<(usize, &str)> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let is_rule = |line: &str| line.starts_with('|') && line.chars().all(|c| "|-: ".contains(c));
    for (at, line) in lines.iter().enumerate() {
        let depth = line.bytes().take_while(|byte| *byte == b'#').count();
        if depth > 0 {
            headings.retain(|(other, _)| *other < depth);
            headings.push((depth, line[depth..].trim()));
        }
        let is_head = lines.get(at + 1).is_some_and(|next| is_rule(next));
        if !line.starts_with('|') || is_rule(line) || is_head {
            continue;
        }
        let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        let Some(key) = cells.next() else { continue };
        // The page's own title is left out.
        let below = headings.iter().filter(|(depth, _)| *depth > 1).map(|(_, heading)| *heading);
        rows.insert((below.collect::<Vec<_>>().join(", "), key), cells.collect());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "# Page\n\n| function | has |\n|---|--:|\n| `a` | 1 |\n| `b` | 1 |\n\n## More\n\n| x | y |\n|---|---|\n| `a` | 5 |\n";
    const NOW: &str = "# Page\n\n| function | has |\n|---|--:|\n| `a` | 2 |\n| `c` | 1 |\n\n## More\n\n| x | y |\n|---|---|\n| `a` | 5 |\n";

    #[test]
    fn rows_are_known_by_their_headings() {
        let found = rows(NOW);
        assert_eq!(found.len(), 3);
        assert_eq!(found[&(String::new(), "`a`".to_owned())], ["2"]);
        assert_eq!(found[&("More".to_owned(), "`a`".to_owned())], ["5"]);
    }

    #[test]
    fn notes_tell_what_is_new_gone_and_changed() {
        let text = section(NOW, Some(BEFORE), false);
        assert_eq!(text, "\nNew, 1:\n\n- `c`\n\nGone, 1:\n\n- `b`\n\nChanged, 1:\n\n- `a`: 1 → 2\n");
        assert_eq!(section(NOW, Some(NOW), false), "");
        assert_eq!(section(NOW, None, false), "3 rows in 2 tables.\n");
        assert!(section(NOW, None, true).starts_with("| function | has |\n|---|--:|\n| `a` | 2 |\n"));
        assert_eq!(without_anchors("| [HSA](#hsa) | [x](y.md) |"), "| HSA | [x](y.md) |");
    }

    #[test]
    fn every_report_is_there_and_has_tables() {
        let about = About::of_workspace(None).expect("the workspace");
        let notes = notes(&about, None).expect("notes");
        for Source { title, path, .. } in &REPORTS {
            assert!(notes.contains(&format!("\n## {title}\n")), "{title}");
            let text = fs::read_to_string(workspace().join(path)).expect(path);
            assert!(!rows(&text).is_empty(), "{path}");
        }
        assert!(notes.contains("\n| HIP | "), "{notes}");
    }
}
