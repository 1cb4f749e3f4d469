//! The documentation: no link in it is dead, no other file names a page that is not there, and `docs/SUMMARY.md` lists every page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::tools;

/// Where readers of docs.rs find a file of the repository.
const REPOSITORY: &str = "https://github.com/ferrocm/ferrocm/blob/main/";

/// The folders of pages.
const FOLDERS: [&str; 4] = ["use", "internals", "contribute", "generated"];

/// A link, or the name of a page.
#[derive(Debug, PartialEq, Eq)]
struct Link {
    line: usize,
    target: String,
}

/// The lines of Markdown that are text, with their numbers: those of code blocks are not.
fn text_lines(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence = None;
    page.lines().enumerate().filter_map(move |(number, line)| {
        let mark = line.trim_start();
        let mark = &mark[..mark.len() - mark.trim_start_matches('`').len()];
        match fence {
            None if mark.len() >= 3 => fence = Some(mark.len()),
            None => return Some((number + 1, line)),
            Some(length) if mark.len() >= length => fence = None,
            Some(_) => {}
        }
        None
    })
}

/// A line without its code spans.
fn without_code(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        text += &rest[..start];
        let code = &rest[start..];
        let ticks = code.len() - code.trim_start_matches('`').len();
        let end = code[ticks..].find(&code[..ticks]);
        rest = end.map_or("", |end| &code[2 * ticks + end..]);
    }
    text + rest
}

/// The links of a page: `[text](target)` and `[name]: target`.
fn links(page: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (line, text) in text_lines(page) {
        let text = without_code(text);
        let mut add = |target: &str| links.push(Link { line, target: target.to_owned() });
        if let Some((name, target)) = text.split_once("]: ")
            && name.starts_with('[')
        {
            add(target.trim());
        }
        for rest in text.split("](").skip(1) {
            if let Some((target, _)) = rest.split_once(')') {
                add(target);
            }
        }
    }
    links
}

/// The names by which links find the headings of a page, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let mut anchors = BTreeSet::new();
    for (_, line) in text_lines(page) {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if !(1..=6).contains(&level) || !title.starts_with(' ') {
            continue;
        }
        let mut anchor = String::new();
        for character in without_targets(title.trim()).chars() {
            match character {
                ' ' => anchor.push('-'),
                '-' | '_' => anchor.push(character),
                _ if character.is_alphanumeric() => anchor.extend(character.to_lowercase()),
                _ => {}
            }
        }
        let before = seen.entry(anchor.clone()).or_default();
        if *before > 0 {
            anchor = format!("{anchor}-{before}");
        }
        *before += 1;
        anchors.insert(anchor);
    }
    anchors
}

/// A heading without what its links lead to.
fn without_targets(title: &str) -> String {
    let mut parts = title.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += part.split_once(')').map_or(part, |(_, rest)| rest);
    }
    text
}

/// What a file that is no page names: pages (`docs/use/guide.md`), and files of the repository by their address on the web.
fn names(text: &str) -> Vec<Link> {
    let is_of_path = |character: char| character.is_ascii_alphanumeric() || "_-./#".contains(character);
    let mut names = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices("docs/") {
            let before = &line[..at];
            let path = &line[at..];
            let path = &path[..path.find(|character| !is_of_path(character)).unwrap_or(path.len())];
            let path = path.trim_end_matches('.');
            let is_address = before.ends_with(REPOSITORY);
            let is_name = before.chars().next_back().is_none_or(|last| last == '/' || !is_of_path(last));
            let is_page = FOLDERS.iter().any(|folder| path[5..].starts_with(&format!("{folder}/")))
                || path.split('#').next().is_some_and(|file| file.ends_with(".md"));
            let is_elsewhere = before.contains("://") && !is_address;
            if is_name && is_page && !is_elsewhere {
                names.push(Link { line: number + 1, target: path.to_owned() });
            }
        }
    }
    names
}

/// A path without `.` and `..`; none if it leaves the workspace.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(normal)
}

/// The files of the workspace that may hold or name links, by their paths in it.
fn files() -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    collect(Path::new(""), &mut files);
    files
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, String>) {
    const ENDINGS: [&str; 12] =
        ["md", "rs", "toml", "sh", "yml", "yaml", "cu", "cuh", "h", "json", "txt", "py"];
    for entry in fs::read_dir(tools::workspace().join(folder)).expect("a folder").flatten() {
        let (path, kind) = (folder.join(entry.file_name()), entry.file_type().expect("what it is"));
        // A link to a page is that page.
        if kind.is_dir() && entry.file_name() != "target" && entry.file_name() != ".git" {
            collect(&path, files);
        } else if kind.is_file()
            && ENDINGS.iter().any(|ending| path.extension().is_some_and(|of| of == *ending))
        {
            let text = fs::read(entry.path()).expect("a file");
            files.insert(path, String::from_utf8_lossy(&text).into_owned());
        }
    }
}

/// Why a link of a file leads nowhere. `bases` are the folders that its path may start from.
fn dead(target: &str, from: &Path, bases: &[&Path], files: &BTreeMap<PathBuf, String>) -> Option<String> {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let exists = |path: &PathBuf| tools::workspace().join(path).exists();
    let to = if path.is_empty() {
        from.to_owned()
    } else {
        let found = bases.iter().filter_map(|base| normal(&base.join(path))).find(exists);
        let Some(found) = found else { return Some(format!("there is no {path}")) };
        found
    };
    let in_docs = |path: &Path| path.starts_with("docs");
    if in_docs(from) && !in_docs(&to) {
        return Some(format!("{path} is not in the book, whose pages are those in docs"));
    }
    let anchor = anchor?;
    let page = files.get(&to)?;
    let known = anchors(page);
    (!known.contains(anchor)).then(|| format!("{} has no heading #{anchor}", to.display()))
}

#[test]
fn no_link_of_a_page_is_dead() {
    let files = files();
    let mut problems = Vec::new();
    let mut checked = 0;
    for (path, text) in files.iter().filter(|(path, _)| path.extension().is_some_and(|ending| ending == "md"))
    {
        let folder = path.parent().expect("a folder");
        for Link { line, target } in links(text) {
            let target = target.strip_prefix(REPOSITORY).map_or(target.clone(), |path| format!("/{path}"));
            if target.contains("://") {
                continue;
            }
            checked += 1;
            let (target, base) =
                target.strip_prefix('/').map_or((&*target, folder), |path| (path, Path::new("")));
            if let Some(why) = dead(target, path, &[base], &files) {
                problems.push(format!("{}:{line}: {why}", path.display()));
            }
        }
    }
    assert!(problems.is_empty(), "dead links:\n{}", problems.join("\n"));
    assert!(checked > 300, "only {checked} links were found");
}

#[test]
fn pages_that_sources_and_texts_name_are_there() {
    let files = files();
    let mut problems = Vec::new();
    let mut checked = 0;
    for (path, text) in &files {
        // This file has names of pages that do not exist.
        if path == Path::new("xtask/src/book.rs") {
            continue;
        }
        let mut bases = vec![Path::new("")];
        bases.extend(path.ancestors().skip(1));
        for Link { line, target } in names(text) {
            checked += 1;
            if let Some(why) = dead(&target, Path::new(""), &bases, &files) {
                problems.push(format!("{}:{line}: {why}", path.display()));
            }
        }
    }
    assert!(problems.is_empty(), "pages that are not there:\n{}", problems.join("\n"));
    assert!(checked > 50, "only {checked} names were found");
}

#[test]
fn the_book_and_its_index_have_each_page_once() {
    let docs = Path::new("docs");
    let files = files();
    let pages: BTreeSet<_> = files
        .keys()
        .filter(|path| path.starts_with(docs) && path.extension().is_some_and(|ending| ending == "md"))
        .filter(|path| **path != docs.join("SUMMARY.md"))
        .cloned()
        .collect();
    for page in &pages {
        let mut parts = page.components().skip(1);
        let folder = parts.next().and_then(|part| part.as_os_str().to_str()).unwrap_or_default();
        assert!(
            FOLDERS.contains(&folder) || folder == "README.md",
            "{} is in none of {FOLDERS:?}",
            page.display()
        );
    }
    let listed = |file: &str| -> Vec<PathBuf> {
        links(&files[&docs.join(file)])
            .iter()
            .filter(|link| !link.target.contains("://"))
            .map(|link| docs.join(link.target.split('#').next().unwrap_or_default()))
            .collect()
    };
    let summary = listed("SUMMARY.md");
    assert_eq!(summary.len(), summary.iter().collect::<BTreeSet<_>>().len(), "a page is listed twice");
    assert_eq!(summary.into_iter().collect::<BTreeSet<_>>(), pages, "docs/SUMMARY.md");
    let mut index: BTreeSet<_> = listed("README.md").into_iter().collect();
    index.insert(docs.join("README.md"));
    assert_eq!(index, pages, "docs/README.md");
}

/// `hip::docs` includes some pages. There, links to other pages lead to what `crates/hip/src/docs.rs` defines under the same names.
#[test]
fn pages_in_the_documentation_of_hip_link_by_names_that_it_defines() {
    let files = files();
    let module = &files[Path::new("crates/hip/src/docs.rs")];
    let mut checked = 0;
    for part in module.split("include_str!(\"../docs/").skip(1) {
        let page = part.split('"').next().expect("a file");
        let text = &files[&Path::new("docs/use").join(page)];
        for (number, line) in text_lines(text) {
            if let Some((name, _)) = line.split_once("]: ") {
                assert!(
                    module.contains(&format!("/// {name}]: ")),
                    "crates/hip/src/docs.rs lacks {name}] of {page}"
                );
                checked += 1;
            } else {
                let inline = without_code(line).split("](").skip(1).any(|target| !target.starts_with('#'));
                assert!(!inline, "docs/use/{page}:{number}: a link without a name");
            }
        }
    }
    assert!(checked > 10, "{checked}");
}

/// The tags by which `CONTRIBUTING.md` leads to the places of an addition.
#[test]
fn tags_of_additions_are_in_the_sources_and_in_contributing() {
    let tags = |text: &str| -> BTreeSet<String> {
        text.split(|character: char| !character.is_ascii_uppercase() && character != '-')
            .filter(|word| word.starts_with("NEW-") && word.len() > 4)
            .map(str::to_owned)
            .collect()
    };
    let files = files();
    let told = tags(&files[Path::new("CONTRIBUTING.md")]);
    let is_source = |path: &Path| {
        path.extension().is_some_and(|ending| ending != "md") && path != Path::new("xtask/src/book.rs")
    };
    let found: BTreeSet<_> =
        files.iter().filter(|(path, _)| is_source(path)).flat_map(|(_, text)| tags(text)).collect();
    assert_eq!(told, found);
    assert!(told.len() > 5, "{told:?}");
}

/// Paths of this workspace in code spans: `crates/hip/src/uri.rs`. Those with a pattern or a placeholder (`NAME`) are none, nor are files in
/// the first folder: `kernels/vectors.cu` may be a reader's.
fn paths(page: &str) -> Vec<Link> {
    const FOLDERS: [&str; 7] = ["benches/", "ci/", "crates/", "examples/", "fuzz/", "kernels/", "xtask/"];
    let is_name = |part: &str| {
        !part.is_empty()
            && part.chars().all(|character| character.is_ascii_alphanumeric() || "_-.".contains(character))
            && (part.chars().any(|character| !character.is_ascii_uppercase()))
    };
    let is_path = |code: &str| {
        FOLDERS.iter().any(|folder| code.starts_with(folder))
            && code.trim_end_matches('/').split('/').all(is_name)
            && (code.matches('/').count() > 1 || !code.contains('.'))
    };
    let mut paths = Vec::new();
    for (line, text) in text_lines(page) {
        let codes = text.split('`').skip(1).step_by(2).filter(|code| is_path(code));
        paths.extend(codes.map(|code| Link { line, target: code.to_owned() }));
    }
    paths
}

#[test]
fn paths_that_pages_name_are_there() {
    let files = files();
    let mut problems = Vec::new();
    let mut checked = 0;
    for (path, text) in &files {
        let is_page = path.extension().is_some_and(|ending| ending == "md") && path.starts_with("docs");
        if !is_page && path != Path::new("CONTRIBUTING.md") && path != Path::new("README.md") {
            continue;
        }
        for Link { line, target } in paths(text) {
            checked += 1;
            if !tools::workspace().join(&target).exists() {
                problems.push(format!("{}:{line}: there is no {target}", path.display()));
            }
        }
    }
    assert!(problems.is_empty(), "paths that are not there:\n{}", problems.join("\n"));
    assert!(checked > 100, "only {checked} paths were found");
}

#[test]
fn links_of_code_are_none() {
    let page = "[a](b.md#c) `[x](y)` [`t`](d.md)\n```\n[x](y)\n```\n[e]: f.md\n";
    let found: Vec<_> = links(page).into_iter().map(|link| (link.line, link.target)).collect();
    let expected = [(1, "b.md#c"), (1, "d.md"), (5, "f.md")];
    assert_eq!(found, expected.map(|(line, target)| (line, target.to_owned())));
}

#[test]
fn headings_have_the_names_that_web_pages_give_them() {
    let page =
        "# `hip`: the safe API\n## A: `x_y`, z\n## A\n```\n# no heading\n```\n### [A](b.md)\n#no heading\n";
    let expected = ["hip-the-safe-api", "a-x_y-z", "a", "a-1"];
    assert_eq!(anchors(page), expected.map(str::to_owned).into());
}

#[test]
fn dead_links_are_found() {
    let page = PathBuf::from("docs/README.md");
    let files = BTreeMap::from([(page.clone(), "# A page\n".to_owned())]);
    let dead = |target: &str| dead(target, &page, &[Path::new("docs")], &files);
    assert_eq!(dead("#a-page"), None);
    assert_eq!(dead("README.md#a-page"), None);
    assert_eq!(dead("#another").as_deref(), Some("docs/README.md has no heading #another"));
    assert_eq!(dead("absent.md").as_deref(), Some("there is no absent.md"));
    assert_eq!(dead("../../absent.md").as_deref(), Some("there is no ../../absent.md"));
    assert_eq!(
        dead("../Cargo.toml").as_deref(),
        Some("../Cargo.toml is not in the book, whose pages are those in docs")
    );
    let text = format!("see docs/use/absent.md.\n{REPOSITORY}docs/old.md#x\nhttps://example.org/docs/a.md");
    let found: Vec<_> = names(&text).into_iter().map(|link| (link.line, link.target)).collect();
    assert_eq!(found, [(1, "docs/use/absent.md".to_owned()), (2, "docs/old.md#x".to_owned())]);
}
