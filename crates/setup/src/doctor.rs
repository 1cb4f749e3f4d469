//! A table of every tool and library, with advice for missing ones.

use std::path::{Path, PathBuf};

use device_compiler::nvcc;
use device_compiler::toolchain::{Finding, Need, Search};

use crate::prefix::Manifest;
use crate::table::bytes;
use crate::{Program, cuda, run, toolchain};

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    name: String,
    required: bool,
    version: String,
    place: Option<PathBuf>,
    /// What is wrong, and what to do about it.
    problem: Option<(String, String)>,
}

impl Row {
    /// A working item: its version or description, and its place.
    pub fn new(name: &str, version: impl Into<String>, place: Option<PathBuf>) -> Self {
        Self { name: name.to_owned(), required: false, version: version.into(), place, problem: None }
    }

    /// A missing item: why, and what to do about it; `required` if nothing works without it.
    pub fn missing(
        name: &str,
        required: bool,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let problem = Some((problem.into(), remedy.into()));
        Self { name: name.to_owned(), required, version: String::new(), place: None, problem }
    }

    fn of_finding(finding: Finding, search: &Search, program: &Program) -> Self {
        let required = finding.need == Need::Build;
        let problem = finding.problem.map(|problem| {
            let problem = match finding.need {
                Need::Build => problem,
                Need::Optional(what) => format!("{problem} (for {what})"),
            };
            let remedy = finding.remedy.unwrap_or_default();
            // The long form lists every option; here, the short one suffices, unless a variable is at fault.
            let is_free = search.clang.is_none() && search.hip_path.is_none();
            let is_long = is_free && remedy == search.remedy();
            (problem, if is_long { program.command("setup") } else { remedy })
        });
        Self {
            name: finding.name.to_owned(),
            required,
            version: finding.version.unwrap_or_default(),
            place: finding.path,
            problem,
        }
    }
}

/// All lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    rows: Vec<Row>,
}

/// Parts that every build needs are missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("required, but not in order: {}", names.join(", "))]
pub struct Incomplete {
    names: Vec<String>,
}

/// Examines this machine. `more` are lines specific to this program; they follow those of the toolchain.
#[must_use]
pub fn report(program: &Program, more: impl IntoIterator<Item = Row>) -> Report {
    let search = program.search();
    let mut rows = vec![linker()];
    rows.extend(search.survey().into_iter().map(|finding| Row::of_finding(finding, &search, program)));
    rows.push(nvcc(&cuda::search(program), program));
    rows.extend(more);
    rows.push(Row::new("vector units", vector_units(), None));
    match toolchain::cache_folder() {
        Ok(folder) => rows.extend(cache_rows(&folder)),
        Err(error) => rows.push(Row::missing("cache folder", true, error.to_string(), "set one of them")),
    }
    Report { rows }
}

impl Report {
    /// The table as text, followed by details that are too long for it.
    #[must_use]
    pub fn render(&self) -> String {
        render(&self.rows)
    }

    /// Whether every required part is present.
    ///
    /// # Errors
    /// [`Incomplete`] names the missing ones.
    pub fn check(&self) -> Result<(), Incomplete> {
        let is_missing = |row: &&Row| row.required && row.problem.is_some();
        let names: Vec<String> = self.rows.iter().filter(is_missing).map(|row| row.name.clone()).collect();
        if names.is_empty() { Ok(()) } else { Err(Incomplete { names }) }
    }
}

fn linker() -> Row {
    match run::find_program("cc") {
        Some(path) => {
            Row::new("C linker (cc)", run::output_of("cc", &["-dumpversion"]).unwrap_or_default(), Some(path))
        }
        None => Row::missing("C linker (cc)", true, "not found (Rust links with it)", "install gcc or clang"),
    }
}

/// NVIDIA's compiler.
fn nvcc(search: &nvcc::Search, program: &Program) -> Row {
    const NAME: &str = "nvcc";
    match search.find(None) {
        Ok(nvcc) => Row::new(NAME, nvcc.version(), Some(nvcc.path.clone())),
        Err(error) => {
            // As for clang, the short advice suffices unless a variable is at fault.
            let remedy = match &search.named {
                Some(_) => error.remedy.clone(),
                None => program.command(&format!("setup {}", nvcc::SETUP_OPTION)),
            };
            let mut reasons = error.attempts.iter().map(|attempt| &*attempt.reason);
            let problem = match reasons.all(|reason| matches!(reason, "no such file" | "no nvcc")) {
                true if search.named.is_none() => "not found (for NVIDIA GPUs)".to_owned(),
                _ => format!("{} (for NVIDIA GPUs)", error.places().trim_start()),
            };
            Row::missing(NAME, false, problem, remedy)
        }
    }
}

/// The CPU features for the virtual GPU's fast paths.
fn vector_units() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let avx512 = std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512vl");
        let avx2 = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
        match (avx512, avx2) {
            (true, _) => "AVX-512 and AVX2".to_owned(),
            (false, true) => "AVX2".to_owned(),
            (false, false) => "SSE2 only: the virtual GPU will be slow".to_owned(),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        format!("{}: portable code", std::env::consts::ARCH)
    }
}

fn cache_rows(folder: &Path) -> Vec<Row> {
    let used = Row::new("cache folder", bytes(size_of(folder)), Some(folder.to_owned()));
    let prefix = folder.join("toolchain/current");
    let installed = match Manifest::read(&prefix) {
        Some(manifest) => Row::new("installed by setup", manifest.id, Some(prefix)),
        None => Row::new("installed by setup", "nothing", None),
    };
    let mut rows = vec![used, installed];
    let prefix = folder.join(nvcc::PREFIXES).join("current");
    if let Some(manifest) = Manifest::read(&prefix) {
        rows.push(Row::new("installed by setup --cuda", manifest.id, Some(prefix)));
    }
    rows
}

/// Bytes of all files below a folder, links not followed.
fn size_of(folder: &Path) -> u64 {
    let mut total = 0;
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => pending.push(entry.path()),
                Ok(meta) => total += meta.len(),
                Err(_) => {}
            }
        }
    }
    total
}

/// The maximum line length, except for single long words.
const WIDTH: usize = 100;
/// The maximum width of all columns but the last; longer texts continue below.
const WIDEST_CELL: usize = 28;
/// The indentation of continued cells.
const INDENT: &str = "    ";

fn is_short(text: &str) -> bool {
    text.chars().count() <= 72 && !text.contains('\n')
}

fn render(rows: &[Row]) -> String {
    const HEADER: [&str; 4] = ["what", "state", "version", "where, or what to do"];
    let mut cells = Vec::new();
    let mut details = String::new();
    for row in rows {
        let state = match (&row.problem, row.required) {
            (None, _) => "ok",
            (Some(_), true) => "MISSING",
            (Some(_), false) => "missing",
        };
        let place = row.place.as_deref().map(|place| place.display().to_string()).unwrap_or_default();
        let last = match &row.problem {
            None => place,
            Some((problem, remedy)) if is_short(problem) => {
                format!("{problem}: {remedy}")
            }
            Some((problem, remedy)) => {
                details.push_str(&format!("\n{}:\n", row.name));
                for part in problem.lines().flat_map(|line| line.split("; ")) {
                    for line in wrapped(part, WIDTH - 2) {
                        details.push_str(&format!("  {line}\n"));
                    }
                }
                format!("{remedy} (details below)")
            }
        };
        cells.push([row.name.clone(), state.to_owned(), row.version.clone(), last]);
    }
    let width = |column: usize| {
        let lengths =
            cells.iter().map(|row| row[column].chars().count()).filter(|length| *length <= WIDEST_CELL);
        lengths.chain([HEADER[column].len()]).max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    let rule = widths.map(|width| "-".repeat(width));
    let mut text = String::new();
    line_of(&mut text, &HEADER.map(str::to_owned), widths);
    line_of(
        &mut text,
        &[&rule[0], &rule[1], &rule[2], &"-".repeat(HEADER[3].len())].map(String::clone),
        widths,
    );
    for row in &cells {
        line_of(&mut text, row, widths);
    }
    text + &details
}

/// Adds a row; cells that do not fit continue on lines below.
fn line_of(text: &mut String, row: &[String; 4], widths: [usize; 3]) {
    let mut line = String::new();
    let mut below = Vec::new();
    for (cell, width) in row.iter().zip(widths) {
        let fits = cell.chars().count() <= width;
        if !fits {
            below.push(cell);
        }
        let shown = if fits { cell.as_str() } else { "" };
        line.push_str(&format!("{shown:width$}  "));
    }
    match row[3].chars().count() <= WIDTH - line.chars().count() {
        true => line.push_str(&row[3]),
        false => below.push(&row[3]),
    }
    text.push_str(line.trim_end());
    text.push('\n');
    for cell in below {
        for part in wrapped(cell, WIDTH - INDENT.len()) {
            text.push_str(&format!("{INDENT}{part}\n"));
        }
    }
}

/// A text wrapped to this width, except for longer words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_things_say_what_to_do() {
        let text = render(&[
            Row::new("lld", "22.1.8", Some("/usr/bin/lld".into())),
            Row::missing("clang", true, "not found", "ferrocm setup"),
            Row::missing("libclang", false, "a: no; ".repeat(20), "ferrocm setup"),
        ]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[2].starts_with("lld       ok ") && lines[2].ends_with("22.1.8   /usr/bin/lld"),
            "{text}"
        );
        assert!(lines[3].contains("MISSING") && lines[3].ends_with("not found: ferrocm setup"), "{text}");
        assert!(lines[4].contains("missing") && lines[4].ends_with("(details below)"), "{text}");
        assert!(text.contains("\nlibclang:\n  a: no\n  a: no\n"), "{text}");
    }

    #[test]
    fn places_have_a_line_each_below_the_table() {
        let text = render(&[Row::missing("clang", true, "a: no\nb: no", "ferrocm setup")]);
        assert!(text.contains("  ferrocm setup (details below)\n\nclang:\n  a: no\n  b: no\n"), "{text}");
    }

    #[test]
    fn no_line_is_longer_than_a_terminal_unless_a_path_is() {
        let path = format!("/{}", "folder/".repeat(20));
        let text = render(&[
            Row::new("clang", "22.1.8", Some("/usr/bin/clang-22".into())),
            Row::new("default device", "vgpu:gfx1100, a virtual AMD GPU with many words about itself", None),
            Row::new("HIP headers", "7.2.4", Some(path.clone().into())),
            Row::missing(
                "a library",
                false,
                "not found",
                "install one of ".to_owned() + &"several packages ".repeat(9),
            ),
            Row::missing("libclang", false, "a reason with several words ".repeat(9), "ferrocm setup"),
        ]);
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert_eq!(long, [format!("    {path}")], "{text}");
        assert!(text.contains("\nclang           ok       22.1.8   /usr/bin/clang-22\n"), "{text}");
        assert!(
            text.contains("\ndefault device  ok\n    vgpu:gfx1100, a virtual AMD GPU with many words"),
            "{text}"
        );
    }

    #[test]
    fn only_what_is_required_makes_a_machine_incomplete() {
        let optional = Row::missing("hipify-perl", false, "not found", "ferrocm setup");
        let report = Report { rows: vec![Row::new("lld", "22", None), optional.clone()] };
        assert_eq!(report.check(), Ok(()));
        let clang = Row::missing("clang", true, "not found", "ferrocm setup");
        let error = Report { rows: vec![clang, optional] }.check().unwrap_err();
        assert_eq!(error.to_string(), "required, but not in order: clang");
    }

    #[test]
    fn the_remedy_is_a_command_of_the_program_unless_a_variable_is_at_fault() {
        let program = Program { name: "the-program", also_needs: &[] };
        let search = Search {
            clang: None,
            hip_path: None,
            rocm: Vec::new(),
            path: Vec::new(),
            system: Vec::new(),
            prefix: Some("/no/prefix".into()),
            clang_args: Vec::new(),
            setup: Some(program.command("setup")),
        };
        let remedies = |search: &Search| -> Vec<String> {
            let rows = search.survey().into_iter().map(|finding| Row::of_finding(finding, search, &program));
            rows.filter(|row| row.required).map(|row| row.problem.expect("missing").1).collect()
        };
        assert_eq!(remedies(&search), ["the-program setup"; 5]);
        let bound = Search { clang: Some("/no/clang".into()), ..search };
        let expected = "correct FERROCM_CLANG, or unset it and run `the-program setup`";
        assert_eq!(remedies(&bound), [expected; 5]);
    }

    #[test]
    fn nvcc_is_optional_and_says_what_to_do() {
        let program = Program { name: "the-program", also_needs: &[] };
        let search = nvcc::Search {
            named: None,
            roots: Vec::new(),
            path: Vec::new(),
            system: vec!["/no/cuda".into()],
            prefix: Some("/no/prefix".into()),
            setup: Some(program.command("setup")),
        };
        let row = nvcc(&search, &program);
        let missing = Row::missing("nvcc", false, "not found (for NVIDIA GPUs)", "the-program setup --cuda");
        assert_eq!(row, missing);
        let row = nvcc(&search.or_only(Some("/no/nvcc".into())), &program);
        let (problem, remedy) = row.problem.expect("missing");
        assert_eq!(problem, "nvcc: the caller: /no/nvcc: no such file (for NVIDIA GPUs)");
        assert!(remedy.ends_with("and run `the-program setup --cuda`"), "{remedy}");
    }

    #[test]
    fn folders_are_measured_without_following_links() {
        let folder = tempfile::tempdir().expect("temp folder");
        std::fs::create_dir(folder.path().join("sub")).expect("folder");
        std::fs::write(folder.path().join("sub/file"), [0; 100]).expect("write");
        std::os::unix::fs::symlink("/usr", folder.path().join("link")).expect("link");
        let size = size_of(folder.path());
        assert!((100..300).contains(&size), "{size}");
        assert_eq!(size_of(Path::new("/nonexistent")), 0);
    }
}
