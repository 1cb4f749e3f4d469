//! Templates for each system, from one description and the one table of [stages](crate::stages).
//!
//! What a writer may add to a step's shell text is nothing: a system's own part is how a job gets its machine, its sources, its
//! variables and the files of other jobs.

mod azure;
mod github;
mod gitlab;
mod stubs;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::description::{Component, Description, Tier};
use crate::rows::Rows;
use crate::stages::Each;
use crate::{Error, error};

/// The systems.
pub const SYSTEMS: [&str; 3] = ["github", "azure", "gitlab"];

/// A file of the templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it is in the repository.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
}

/// What a checked-in file has otherwise than the description gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The file is not there.
    Missing(PathBuf),
    /// The file has another text; the first line that differs, from 1.
    Changed(PathBuf, usize),
    /// The file is there, and the description does not give it.
    Left(PathBuf),
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(path) => write!(f, "{} is not there", path.display()),
            Self::Changed(path, line) => {
                write!(f, "{}:{line}: differs from what the description gives", path.display())
            }
            Self::Left(path) => write!(f, "{}: the description does not give it", path.display()),
        }
    }
}

/// What each generated file begins with.
const HEADER: &str = "Generated from ci/fleet.toml by `cargo xtask ci generate`. Do not edit.";

/// Folders that hold generated files and nothing else.
const FOLDERS: [&str; 4] = ["ci/azure", "ci/gitlab", "ci/matrix", "ci/stubs"];

/// What a system says of a build, as steps read it: the variable, and its text on GitHub, Azure and GitLab.
pub const CONTEXT: [(&str, [&str; 3]); 9] = [
    ("FLEET_SYSTEM", ["github", "azure", "gitlab"]),
    ("FLEET_EVENT", ["${{ github.event_name }}", "$(Build.Reason)", "$CI_PIPELINE_SOURCE"]),
    (
        "FLEET_REPOSITORY",
        ["${{ inputs.repository || github.repository }}", "${{ parameters.repository }}", "$CI_PROJECT_PATH"],
    ),
    ("FLEET_REF", ["${{ inputs.ref || github.ref }}", "$(Build.SourceBranch)", "$CI_COMMIT_REF_NAME"]),
    (
        "FLEET_BASE",
        [
            "${{ github.event.pull_request.base.sha }}",
            "$(System.PullRequest.TargetBranch)",
            "$CI_MERGE_REQUEST_DIFF_BASE_SHA",
        ],
    ),
    ("FLEET_BUILD", ["${{ github.run_number }}", "$(Build.BuildId)", "$CI_PIPELINE_IID"]),
    (
        "FLEET_CHANGE",
        [
            "${{ github.event.pull_request.number }}",
            "$(System.PullRequest.PullRequestId)",
            "$CI_MERGE_REQUEST_IID",
        ],
    ),
    (
        "FLEET_URL",
        [
            "${{ github.server_url }}/${{ github.repository }}/actions/runs/${{ github.run_id }}",
            "$(System.CollectionUri)$(System.TeamProject)/_build/results?buildId=$(Build.BuildId)",
            "$CI_PIPELINE_URL",
        ],
    ),
    (
        "FLEET_API",
        ["${{ github.api_url }}", "$(System.CollectionUri)$(System.TeamProject)/_apis", "$CI_API_V4_URL"],
    ),
];

/// The variables of the table for one system.
fn context(system: usize) -> impl Iterator<Item = (&'static str, &'static str)> {
    CONTEXT.iter().map(move |(name, values)| (*name, values[system]))
}

/// Variables that all jobs have, whatever they do.
fn all_jobs(description: &Description) -> [(&'static str, String); 1] {
    [("FLEET_CONTAINER_LIMIT", description.fleet.container_limit.to_string())]
}

/// The secrets that `publish` signs with: the variable that the step reads, and Azure's name of it.
const SIGNING: [(&str, &str); 2] =
    [("FERROCM_SIGNING_KEY", "FerrocmSigningKey"), ("FERROCM_SIGNING_PASSWORD", "FerrocmSigningPassword")];

/// Variables of jobs that run once: the first operating system and the first release.
fn once(description: &Description) -> [(&'static str, String); 4] {
    [
        ("FLEET_IMAGE", description.os[0].image.clone()),
        ("FLEET_OS", description.os[0].name.clone()),
        ("FLEET_PACKAGE_MANAGER", description.os[0].package_manager.name().to_owned()),
        ("FLEET_ROCM", description.rocm[0].release.clone()),
    ]
}

/// All files that a description gives.
#[must_use]
pub fn files(description: &Description) -> Vec<File> {
    let mut files = github::files(description);
    files.extend(azure::files(description));
    files.extend(gitlab::files(description));
    files.extend(description.component.iter().flat_map(|component| matrix(description, component)));
    files.extend(stubs::files(description));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The rows of a component, a file for each tier and kind of job, and the patterns of its files: for steps that choose at run time. A list
/// without its line ends is a line, so that no program is needed to read it.
fn matrix(description: &Description, component: &Component) -> Vec<File> {
    let rows = Rows::of(description, component);
    let folder = PathBuf::from(format!("ci/matrix/{}", component.name));
    let mut files = Vec::new();
    for tier in Tier::ALL {
        for each in [Each::Build, Each::Test, Each::Pool] {
            let list: Vec<_> = rows.of_tier(each, tier).into_iter().map(|row| row.fields()).collect();
            // Texts and numbers: none of it can fail.
            let text = serde_json::to_string_pretty(&list).unwrap_or_default() + "\n";
            files.push(File { path: folder.join(format!("{}-{}.json", tier.name(), each.name())), text });
        }
    }
    let paths = component.paths.iter().map(|path| prefixed(component, path) + "\n").collect();
    files.push(File { path: folder.join("paths.txt"), text: paths });
    files
}

/// A pattern of a component's files as one of its repository's files.
fn prefixed(component: &Component, path: &str) -> String {
    match component.folder.as_str() {
        "." => path.to_owned(),
        folder => format!("{}/{path}", folder.trim_end_matches('/')),
    }
}

/// Writes all files, and removes generated ones that are no longer given.
///
/// # Errors
/// A file cannot be written or removed.
pub fn write(description: &Description, root: &Path) -> Result<Vec<PathBuf>, Error> {
    let files = files(description);
    let mut changed = Vec::new();
    for difference in check(description, root)? {
        if let Difference::Left(path) = &difference {
            let full = root.join(path);
            std::fs::remove_file(&full).map_err(Error::io("remove", &full))?;
        }
        let (Difference::Missing(path) | Difference::Changed(path, _) | Difference::Left(path)) = difference;
        changed.push(path);
    }
    for file in &files {
        if changed.contains(&file.path) {
            error::write(&root.join(&file.path), &file.text)?;
        }
    }
    Ok(changed)
}

/// Compares what is checked in with what the description gives.
///
/// # Errors
/// A file cannot be read.
pub fn check(description: &Description, root: &Path) -> Result<Vec<Difference>, Error> {
    let files = files(description);
    let mut found = Vec::new();
    for file in &files {
        let path = root.join(&file.path);
        if !path.exists() {
            found.push(Difference::Missing(file.path.clone()));
            continue;
        }
        let there = error::read(&path)?;
        if there != file.text {
            let same = there.lines().zip(file.text.lines()).take_while(|(a, b)| a == b).count();
            found.push(Difference::Changed(file.path.clone(), same + 1));
        }
    }
    let given: BTreeSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    for folder in FOLDERS {
        for path in below(root, Path::new(folder))? {
            if !given.contains(path.as_path()) {
                found.push(Difference::Left(path));
            }
        }
    }
    Ok(found)
}

/// The files below a folder, sorted; none if it is not there.
fn below(root: &Path, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let full = root.join(folder);
    if !full.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&full).map_err(Error::io("read", &full))? {
        let entry = entry.map_err(Error::io("read", &full))?;
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            files.extend(below(root, &path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::tests::EXAMPLE;
    use crate::stages;

    fn example() -> Description {
        Description::parse(EXAMPLE).expect("the example")
    }

    #[test]
    fn what_is_written_is_what_is_checked() {
        let root = tempfile::tempdir().expect("a folder");
        let description = example();
        let written = write(&description, root.path()).expect("writes");
        assert_eq!(written.len(), files(&description).len());
        assert_eq!(check(&description, root.path()).expect("reads"), []);
        assert_eq!(write(&description, root.path()).expect("writes"), Vec::<PathBuf>::new());

        let stub = root.path().join("ci/stubs/reduce/github.yml");
        let text = std::fs::read_to_string(&stub).expect("a stub");
        std::fs::write(&stub, text.replacen("name: ", "name: my ", 1)).expect("writes");
        std::fs::write(root.path().join("ci/matrix/old.json"), "{}").expect("writes");
        std::fs::remove_file(root.path().join("ci/azure/fleet.yml")).expect("removes");
        let told: Vec<_> =
            check(&description, root.path()).expect("reads").iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "ci/azure/fleet.yml is not there",
                "ci/stubs/reduce/github.yml:4: differs from what the description gives",
                "ci/matrix/old.json: the description does not give it",
            ]
        );
        write(&description, root.path()).expect("writes");
        assert_eq!(check(&description, root.path()).expect("reads"), []);
    }

    /// The lines of a file that are shell, without the system's own first steps.
    fn steps_in(text: &str) -> Vec<String> {
        text.lines()
            .filter_map(|line| {
                Some(line[line.find("bash \"$FLEET_HOME")?..].trim_end_matches('\'').to_owned())
            })
            .collect()
    }

    #[test]
    fn every_system_runs_the_same_text_in_each_stage() {
        let all = files(&example());
        let text = |path: &str| &all.iter().find(|file| file.path == Path::new(path)).expect("a file").text;
        let mut expected: Vec<_> =
            stages::ALL.iter().flat_map(|stage| stage.steps).map(stages::Step::command).collect();
        let scripts: BTreeSet<_> = expected.iter().cloned().collect();
        expected.sort();
        for path in [".github/workflows/fleet.yml", "ci/azure/fleet.yml", "ci/gitlab/fleet.yml"] {
            let mut found = steps_in(text(path));
            assert_eq!(found.iter().cloned().collect::<BTreeSet<_>>(), scripts, "{path}");
            found.sort();
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn every_system_sets_what_a_developer_s_machine_sets() {
        let description = example();
        let local = crate::run::Local {
            home: "/home".into(),
            repo: "/repo".into(),
            work: "/here".into(),
            component: "reduce".into(),
            tier: Tier::Quick,
            event: "local".into(),
            store: None,
            xtask: None,
            dropin: None,
        };
        let all = files(&description);
        for job in crate::run::jobs(&description, &local, &crate::run::Choice::default()).expect("jobs") {
            for (name, _) in job.environment(&local, &description) {
                for folder in [".github/workflows/fleet.yml", "ci/azure/fleet.yml", "ci/gitlab"] {
                    let texts = all.iter().filter(|file| file.path.starts_with(folder));
                    let set = texts.map(|file| &file.text).any(|text| {
                        // GitHub's paths are set by a step.
                        text.contains(&format!("{name}: ")) || text.contains(&format!("echo \"{name}="))
                    });
                    assert!(set, "{name} is not set in {folder}");
                }
            }
        }
        let text = |path: &str| &all.iter().find(|file| file.path == Path::new(path)).expect("a file").text;
        for stage in stages::ALL {
            for path in [".github/workflows/fleet.yml", "ci/azure/fleet.yml", "ci/gitlab/fleet.yml"] {
                assert!(
                    text(path).contains(&format!("FLEET_STAGE: {}\n", stage.name)),
                    "{} in {path}",
                    stage.name
                );
            }
        }
    }

    #[test]
    fn every_script_is_there_and_no_other() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/steps");
        let there: BTreeSet<_> = std::fs::read_dir(folder)
            .expect("the scripts")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        let mut named: BTreeSet<_> = stages::ALL
            .iter()
            .flat_map(|stage| stage.steps)
            .map(|step| format!("{}.sh", step.name))
            .collect();
        named.insert("lib.sh".to_owned());
        assert_eq!(there, named);
    }

    #[test]
    fn the_page_names_every_stage_and_everything_that_steps_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let page = std::fs::read_to_string(root.join("docs/use/fleet.md")).expect("the page");
        for stage in stages::ALL {
            assert!(page.contains(&format!("\n| `{}` | ", stage.name)), "{}", stage.name);
        }
        // What `settings` gives a step is no input.
        let description = example();
        let component = description.component("reduce").expect("a component");
        let settings = crate::Settings::default().variables(&description, component);
        let given = names_in(&(settings + "FLEET_PLACE"));
        let mut read = BTreeSet::new();
        for entry in std::fs::read_dir(root.join("ci/steps")).expect("the steps") {
            read.extend(names_in(&std::fs::read_to_string(entry.expect("an entry").path()).expect("a step")));
        }
        read.extend(CONTEXT.map(|(name, _)| name.to_owned()));
        read.extend(crate::rows::VARIABLES.map(|(name, _)| name.to_owned()));
        let told = names_in(&page);
        // The store is in the settings, and may be in the environment as well.
        for name in read.iter().filter(|name| !given.contains(*name) || *name == "FLEET_STORE") {
            assert!(told.contains(name), "{name} is not in docs/use/fleet.md");
        }
        for name in &told {
            assert!(read.contains(name), "{name} is in docs/use/fleet.md, and no step reads it");
        }
    }

    /// The names of variables in a text.
    fn names_in(text: &str) -> BTreeSet<String> {
        let words = text.split(|c: char| !(c.is_ascii_uppercase() || c == '_'));
        words.filter(|word| word.starts_with("FLEET_")).map(str::to_owned).collect()
    }

    #[test]
    fn stubs_are_a_few_lines() {
        for file in stubs::files(&example()) {
            let lines =
                file.text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count();
            assert!(lines <= 45, "{}: {lines} lines", file.path.display());
        }
    }
}
