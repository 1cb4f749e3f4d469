//! Runs stages on a developer's machine: the same scripts with the same variables, one job after the other.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Error;
use crate::description::{Description, Tier};
use crate::rows::{Row, Rows};
use crate::stages::{self, Each, Stage, When};

/// What to run, and where.
#[derive(Debug, Clone)]
pub struct Local {
    /// The checkout with the templates and steps.
    pub home: PathBuf,
    /// The component's checkout.
    pub repo: PathBuf,
    /// The folder of the jobs' output.
    pub work: PathBuf,
    /// The component.
    pub component: String,
    /// How much of the matrix.
    pub tier: Tier,
    /// The reason of the build: `local`, or the event to try out: `pull-request`, `push`, `tag`, `nightly`.
    pub event: String,
    /// Where to publish archives and fetch them from, if not the description's store.
    pub store: Option<String>,
    /// The `xtask` program, so that steps need not build it.
    pub xtask: Option<PathBuf>,
    /// A folder with the drop-in libraries, so that `dependencies` need not build them.
    pub dropin: Option<PathBuf>,
}

/// Which of the jobs are run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The stage; without one, all except those on pools and for releases.
    pub stage: Option<String>,
    /// Skip the stages that it needs, which have run before.
    pub only: bool,
    /// Targets; empty means all of the tier.
    pub targets: Vec<String>,
}

/// A job.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its stage.
    pub stage: &'static Stage,
    /// Its row, if the stage has several.
    pub row: Option<Row>,
}

/// A job that failed.
#[derive(Debug)]
pub struct Failure {
    /// The stage.
    pub stage: &'static str,
    /// The failure.
    pub error: Error,
    /// Its summary.
    pub summary: PathBuf,
}

/// The jobs to run, in order.
///
/// # Errors
/// There is no such component, stage or target.
pub fn jobs(description: &Description, local: &Local, choice: &Choice) -> Result<Vec<Job>, Error> {
    let component = description.component(&local.component)?;
    let rows = Rows::of(description, component);
    for target in &choice.targets {
        if !rows.builds.iter().any(|row| row.target == *target) {
            let mut known: Vec<&str> = rows.builds.iter().map(|row| row.target.as_str()).collect();
            known.dedup();
            known.sort_unstable();
            known.dedup();
            return Err(Error::unknown("target", target, known));
        }
    }
    let mut wanted: Vec<&str> = match &choice.stage {
        None => stages::ALL.iter().filter(|s| s.each != Each::Pool && !s.releases).map(|s| s.name).collect(),
        Some(name) => vec![stages::stage(name)?.name],
    };
    // Needed stages, except those on pools, which are not available here.
    let mut index = 0;
    while let (Some(name), false) = (wanted.get(index), choice.only) {
        let needs = stages::stage(name)?.needs.iter().copied();
        let more: Vec<_> = needs.filter(|name| *name != "gpu" && !wanted.contains(name)).collect();
        wanted.extend(more);
        index += 1;
    }
    // A requested target runs whatever its tier. Without one, the targets of the tier run, with one system
    // and one release.
    let chosen = |row: &&Row| match choice.targets.is_empty() {
        true => row.tier <= local.tier,
        false => choice.targets.contains(&row.target),
    };
    let first = |row: &&Row| row.os == rows.builds[0].os && row.rocm == description.rocm[0].release;
    let mut jobs = Vec::new();
    for stage in stages::ALL.iter().filter(|stage| wanted.contains(&stage.name)) {
        if stage.each == Each::Once {
            jobs.push(Job { stage, row: None });
            continue;
        }
        let rows = rows.each(stage.each).iter().filter(chosen).filter(first);
        jobs.extend(rows.map(|row| Job { stage, row: Some(row.clone()) }));
    }
    Ok(jobs)
}

impl Job {
    /// The folder for its output.
    #[must_use]
    pub fn out(&self, local: &Local) -> PathBuf {
        local.work.join("artifacts").join(self.stage.artifact(self.row.as_ref().map(|row| row.id.as_str())))
    }

    /// The variables of its steps.
    #[must_use]
    pub fn environment(&self, local: &Local, description: &Description) -> Vec<(String, String)> {
        let path = |path: &Path| path.display().to_string();
        let mut variables: Vec<(String, String)> = vec![
            ("FLEET_SYSTEM".into(), "local".into()),
            ("FLEET_EVENT".into(), local.event.clone()),
            ("FLEET_COMPONENT".into(), local.component.clone()),
            ("FLEET_TIER".into(), local.tier.name().into()),
            ("FLEET_HOME".into(), path(&local.home)),
            ("FLEET_REPO".into(), path(&local.repo)),
            ("FLEET_IN".into(), path(&local.work.join("artifacts"))),
            ("FLEET_OUT".into(), path(&self.out(local))),
            ("FLEET_STAGE".into(), self.stage.name.into()),
            ("FLEET_BUILD".into(), "local".into()),
        ];
        match &self.row {
            Some(row) => {
                variables.extend(row.variables().into_iter().map(|(name, value)| (name.to_owned(), value)))
            }
            None => variables.extend([
                ("FLEET_OS".to_owned(), description.os[0].name.clone()),
                ("FLEET_PACKAGE_MANAGER".to_owned(), description.os[0].package_manager.name().to_owned()),
                ("FLEET_ROCM".to_owned(), description.rocm[0].release.clone()),
            ]),
        }
        let optional = [
            ("FLEET_STORE", local.store.clone()),
            ("FLEET_XTASK", local.xtask.as_deref().map(path)),
            ("FLEET_DROPIN", local.dropin.as_deref().map(path)),
        ];
        variables.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        variables
    }

    /// Runs its steps. Removes earlier output of a job with the same name.
    ///
    /// # Errors
    /// The first step that failed, or why one could not be started.
    pub fn run(&self, local: &Local, description: &Description) -> Result<(), Error> {
        let out = self.out(local);
        if out.exists() {
            std::fs::remove_dir_all(&out).map_err(Error::io("remove", &out))?;
        }
        std::fs::create_dir_all(&out).map_err(Error::io("make the folder", &out))?;
        let variables = self.environment(local, description);
        let mut failed = None;
        for step in self.stage.steps {
            let runs = match step.when {
                When::Passed => failed.is_none(),
                When::Failed => failed.is_some(),
                When::Always => true,
            };
            if !runs {
                continue;
            }
            let mut command = Command::new("bash");
            command.arg("-c").arg(step.command()).current_dir(&local.repo).stdin(Stdio::null());
            // Variables that a pipeline would not set must have no effect.
            for (name, _) in std::env::vars_os() {
                if name.to_string_lossy().starts_with("FLEET_") {
                    command.env_remove(name);
                }
            }
            let status = command.envs(variables.iter().map(|(name, value)| (name, value))).status();
            let status = status.map_err(Error::io("run", Path::new("bash")))?;
            if !status.success() && failed.is_none() {
                failed = Some(Error::Step {
                    stage: self.stage.name,
                    row: self.row.as_ref().map(|row| format!(" {}", row.id)).unwrap_or_default(),
                    step: step.name,
                    status: status.to_string(),
                    out: out.clone(),
                });
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

/// Runs jobs in order. If one fails, the others of its stage still run, but no later stage.
pub fn run(
    description: &Description,
    local: &Local,
    jobs: &[Job],
    mut tell: impl FnMut(&Job),
) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    for job in jobs {
        if failures.iter().any(|failure| failure.stage != job.stage.name) {
            break;
        }
        tell(job);
        if let Err(error) = job.run(local, description) {
            let summary = job.out(local).join("summary.md");
            failures.push(Failure { stage: job.stage.name, error, summary });
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::tests::EXAMPLE;

    fn local() -> Local {
        Local {
            home: "/home".into(),
            repo: "/repo".into(),
            work: "/elsewhere".into(),
            component: "reduce".into(),
            tier: Tier::Quick,
            event: "local".into(),
            store: None,
            xtask: None,
            dropin: None,
        }
    }

    fn names(choice: &Choice) -> Result<Vec<String>, String> {
        let description = Description::parse(EXAMPLE).expect("the example");
        let jobs = jobs(&description, &local(), choice).map_err(|error| error.to_string())?;
        let name = |job: &Job| job.stage.artifact(job.row.as_ref().map(|row| row.id.as_str()));
        Ok(jobs.iter().map(name).collect())
    }

    fn choice(stage: &str, targets: &[&str], only: bool) -> Choice {
        Choice { stage: Some(stage.into()), only, targets: targets.iter().map(|&t| t.to_owned()).collect() }
    }

    #[test]
    fn a_stage_runs_behind_those_that_it_needs() {
        assert_eq!(
            names(&choice("compile", &[], false)).expect("jobs"),
            ["preamble", "dependencies", "hipify", "compile-gfx942-rocm7.2-debian-13"]
        );
        assert_eq!(
            names(&choice("test", &["gfx1100"], true)).expect("jobs"),
            ["test-gfx1100-rocm7.2-debian-13-part-1", "test-gfx1100-rocm7.2-debian-13-part-2"]
        );
        let all = names(&Choice::default()).expect("jobs");
        assert_eq!(all.last().map(String::as_str), Some("package"));
        assert!(!all.iter().any(|name| name.starts_with("gpu") || name.starts_with("publish")), "{all:?}");
        assert_eq!(names(&choice("gpu", &[], true)).expect("jobs"), Vec::<String>::new());
        assert_eq!(names(&choice("gpu", &["gfx942"], true)).expect("jobs").len(), 2);
    }

    #[test]
    fn what_is_not_there_is_told() {
        let told = names(&choice("test", &["gfx90a"], false)).expect_err("no such target");
        assert_eq!(told, "no target `gfx90a`; there are gfx1100, gfx1201, gfx942");
        assert!(
            names(&choice("build", &[], false)).expect_err("no such stage").starts_with("no stage `build`")
        );
    }

    #[test]
    fn jobs_have_the_variables_that_templates_set() {
        let description = Description::parse(EXAMPLE).expect("the example");
        let jobs = jobs(&description, &local(), &choice("test", &[], true)).expect("jobs");
        let variables = jobs[0].environment(&local(), &description);
        let has = |name: &str| variables.iter().any(|(other, _)| other == name);
        for name in crate::rows::VARIABLES.map(|(name, _)| name) {
            assert!(has(name), "{name}");
        }
        for name in [
            "FLEET_HOME",
            "FLEET_REPO",
            "FLEET_IN",
            "FLEET_OUT",
            "FLEET_COMPONENT",
            "FLEET_TIER",
            "FLEET_SYSTEM",
        ] {
            assert!(has(name), "{name}");
        }
    }
}
