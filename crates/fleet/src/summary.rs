//! The summary of a job, in Markdown: which tests failed and how, which kernel faulted and where, and how to
//! reproduce it.

use std::fmt::Write;
use std::path::Path;

use crate::findings::Level;
use crate::junit::{Outcome, Suite};
use crate::{Error, faults, findings};

/// The job of a summary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Job {
    /// The component.
    pub component: String,
    /// The stage.
    pub stage: String,
    /// The row of the matrix; empty for a job that runs once.
    pub row: String,
    /// The target; empty for a job that runs once.
    pub target: String,
    /// The device of its tests; empty if there are none.
    pub device: String,
    /// The container image, if there is one.
    pub image: String,
    /// The repository and the commit.
    pub source: String,
}

/// The number of lines shown of a failed step's output.
const LINES: usize = 60;
/// The number of failed tests shown in full.
const TESTS: usize = 20;

/// A step, according to its files in the log folder.
struct Ran {
    name: String,
    status: i32,
    log: String,
}

/// Summarises the output of a job.
///
/// # Errors
/// A file cannot be read, or is not the output of a step.
pub fn summary(job: &Job, out: &Path) -> Result<String, Error> {
    let ran = steps(out)?;
    let failed: Vec<&Ran> = ran.iter().filter(|step| step.status != 0).collect();
    let row = if job.row.is_empty() { String::new() } else { format!(" {}", job.row) };
    let verdict = if failed.is_empty() { "passed" } else { "failed" };
    let mut text = format!("## {}{row}: {verdict}\n\n`{}`, {}\n", job.stage, job.component, job.source);

    let sarif = out.join("hipify.sarif");
    if sarif.exists() {
        translation(&mut text, &findings::read(&sarif)?);
    }
    let junit = out.join("junit.xml");
    if junit.exists() {
        tests(&mut text, &Suite::read(&junit)?);
    }
    for step in &failed {
        let lines: Vec<&str> = step.log.lines().collect();
        let shown = &lines[lines.len().saturating_sub(LINES)..];
        let _ = writeln!(text, "\n### Step `{}` ended with {}\n", step.name, step.status);
        text.push_str(&block(&shown.join("\n")));
    }
    if !failed.is_empty() {
        reproduce(&mut text, job, out.join("container.tar.gz").exists());
    }
    Ok(text)
}

fn steps(out: &Path) -> Result<Vec<Ran>, Error> {
    let folder = out.join("log");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut ran = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(Error::io("read", &folder))? {
        let path = entry.map_err(Error::io("read", &folder))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".status")) else {
            continue;
        };
        let status = crate::error::read(&path)?;
        let status = status.trim().parse().map_err(|_| Error::input(&path, "holds no exit status"))?;
        let log = path.with_extension("log");
        let bytes = std::fs::read(&log).map_err(Error::io("read", &log))?;
        ran.push(Ran { name: name.to_owned(), status, log: plain(&String::from_utf8_lossy(&bytes)) });
    }
    ran.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(ran)
}

fn translation(text: &mut String, findings: &[findings::Finding]) {
    let errors: Vec<_> = findings.iter().filter(|finding| finding.level == Level::Error).collect();
    if errors.is_empty() {
        text.push_str("\nAll CUDA sources translate.\n");
        return;
    }
    let _ = writeln!(text, "\n### {} of CUDA's names will not translate\n", errors.len());
    for finding in errors {
        let _ =
            writeln!(text, "- `{}:{}` {}", finding.path, finding.line, finding.message.replace('\n', " "));
    }
}

fn tests(text: &mut String, suite: &Suite) {
    let counts = suite.counts();
    let _ = writeln!(
        text,
        "\n### Tests: {} run, {} failed, {} skipped",
        counts.tests, counts.failed, counts.skipped
    );
    let failed = suite.cases.iter().filter_map(|case| match &case.outcome {
        Outcome::Failed(how) => Some((case, how)),
        _ => None,
    });
    for (index, (case, how)) in failed.enumerate() {
        if index == TESTS {
            let _ = writeln!(text, "\n{} more failed; `junit.xml` has them.", counts.failed - TESTS);
            break;
        }
        let _ = writeln!(text, "\n#### `{}`: {}\n", case.name, plain(how).lines().next().unwrap_or_default());
        let written = plain(&format!("{how}\n{}\n{}", case.output, case.error));
        let faults = faults::find(&written);
        for fault in &faults {
            let _ = writeln!(text, "{}\n", fault.what);
            text.push_str("| kernel | line | lane |\n|---|---|---|\n");
            let source = fault.source.as_deref().unwrap_or("(no debug information)");
            let _ = writeln!(
                text,
                "| `{}` ({}) | `{source}` | workgroup {} |\n",
                fault.kernel, fault.target, fault.place
            );
            text.push_str(&block(&fault.text));
        }
        if faults.is_empty() {
            let lines: Vec<&str> = written.trim().lines().collect();
            text.push_str(&block(&lines[lines.len().saturating_sub(LINES)..].join("\n")));
        }
    }
    let skipped: Vec<_> = suite
        .cases
        .iter()
        .filter_map(|case| match &case.outcome {
            Outcome::Skipped(why) => Some(format!("- `{}`: {why}", case.name)),
            _ => None,
        })
        .collect();
    if !skipped.is_empty() {
        let _ = writeln!(text, "\nSkipped, or failed as expected:\n\n{}", skipped.join("\n"));
    }
}

fn reproduce(text: &mut String, job: &Job, container: bool) {
    let target = if job.target.is_empty() { String::new() } else { format!(" --target {}", job.target) };
    text.push_str("\n### To see it again\n\nIn a checkout of the repository with the templates:\n\n");
    text.push_str(&block(&format!(
        "cargo xtask ci run --component {} --stage {}{target} --repo DIR",
        job.component, job.stage
    )));
    if !job.image.is_empty() {
        let _ = writeln!(text, "\nThe job ran in the image `{}`.", job.image);
    }
    if container {
        text.push_str(
            "\nIts container, with what was installed there, is `container.tar.gz` in the artifact of this job; the log of the step \
             `container` has the command that starts it again.\n",
        );
    }
    if !job.device.is_empty() {
        let _ = writeln!(
            text,
            "\nThe artifact of this job has a folder for each failed test below `failed`: the program, what it wrote, `reproduce.sh`, \
             and its core dump if the system wrote one."
        );
    }
}

/// Text without terminal colours.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let code = &rest[at + 2..];
        let end = code.find(|c: char| c.is_ascii_alphabetic()).map_or(code.len(), |end| end + 1);
        rest = &code[end..];
    }
    out.push_str(rest);
    out
}

/// Any text as a code block.
fn block(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{text}\n{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::junit::Case;

    fn job() -> Job {
        Job {
            component: "reduce".into(),
            stage: "test".into(),
            row: "gfx942-rocm7.2-debian-13".into(),
            target: "gfx942".into(),
            device: "vgpu:gfx942".into(),
            image: "registry.example/debian".into(),
            source: "vision/reduce 0123456".into(),
        }
    }

    fn log(out: &Path, step: &str, status: i32, text: &str) {
        std::fs::create_dir_all(out.join("log")).expect("a folder");
        std::fs::write(out.join(format!("log/{step}.log")), text).expect("writes");
        std::fs::write(out.join(format!("log/{step}.status")), format!("{status}\n")).expect("writes");
    }

    #[test]
    fn a_fault_is_told_with_kernel_line_and_lane() {
        let out = tempfile::tempdir().expect("a folder");
        let report = "write of 4 bytes at 0x10 is outside every allocation\n  kernel      scale (gfx942)\n  source      src/scale.cu:7:5 in scale\n  pc          0x10\n  workgroup   3,0,0 wave 0 lane 40 (work-item 40,0,0)";
        let suite = Suite {
            name: "x".into(),
            cases: vec![Case {
                class: "tests".into(),
                name: "scale".into(),
                time: 0.1,
                outcome: Outcome::Failed("exit code 1".into()),
                output: String::new(),
                error: format!("\u{1b}[31merror\u{1b}[0m\n{report}\n"),
            }],
        };
        std::fs::write(out.path().join("junit.xml"), suite.to_xml()).expect("writes");
        log(out.path(), "test", 1, "the log\n```\n");
        log(out.path(), "packages", 0, "fine\n");
        std::fs::write(out.path().join("container.tar.gz"), "files").expect("writes");
        let text = summary(&job(), out.path()).expect("a summary");
        for part in [
            "## test gfx942-rocm7.2-debian-13: failed",
            "### Tests: 1 run, 1 failed, 0 skipped",
            "#### `scale`: exit code 1",
            "| `scale` (gfx942) | `src/scale.cu:7:5 in scale` | workgroup 3,0,0 wave 0 lane 40 (work-item 40,0,0) |",
            "### Step `test` ended with 1",
            "````text\nthe log\n```\n````",
            "cargo xtask ci run --component reduce --stage test --target gfx942 --repo DIR",
            "`registry.example/debian`",
            "Its container, with what was installed there, is `container.tar.gz`",
        ] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
        assert!(!text.contains('\u{1b}') && !text.contains("fine"), "{text}");
    }

    #[test]
    fn a_job_that_passed_needs_few_words() {
        let out = tempfile::tempdir().expect("a folder");
        log(out.path(), "compile", 0, "long\n");
        let text = summary(&Job { stage: "compile".into(), ..job() }, out.path()).expect("a summary");
        assert!(text.starts_with("## compile gfx942-rocm7.2-debian-13: passed\n"), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        std::fs::write(out.path().join("log/compile.status"), "x").expect("writes");
        assert!(
            summary(&job(), out.path()).expect_err("no status").to_string().contains("holds no exit status")
        );
    }
}
