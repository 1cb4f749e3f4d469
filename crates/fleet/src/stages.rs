//! The stages of a pipeline, the same for all components and all systems: one table, for writing templates
//! and for running stages on a developer's machine.

use crate::Error;

/// How many jobs a stage has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Each {
    /// One.
    Once,
    /// One for each build: operating system, ROCm, target.
    Build,
    /// One for each build and shard of its tests, on virtual GPUs.
    Test,
    /// One for each pool, number of GPUs, and ROCm.
    Pool,
}

impl Each {
    /// The name of its list in `ci/matrix`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Build => "builds",
            Self::Test => "tests",
            Self::Pool => "pools",
        }
    }
}

/// When a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// If all steps before it have passed.
    Passed,
    /// If one before it has failed.
    Failed,
    /// In any case.
    Always,
}

/// A script of `ci/steps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The script's name without `.sh`.
    pub name: &'static str,
    /// What it does, for people.
    pub title: &'static str,
    /// When it runs.
    pub when: When,
}

impl Step {
    /// The shell command, the same on every system and on a developer's machine.
    #[must_use]
    pub fn command(&self) -> String {
        format!("bash \"$FLEET_HOME/ci/steps/{}.sh\"", self.name)
    }
}

/// The inputs of a job from earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// The output of a stage that runs once.
    Of(&'static str),
    /// The output of its row's build.
    Build,
    /// The output of all jobs of a stage.
    All(&'static str),
}

/// A stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// How many jobs it has.
    pub each: Each,
    /// The stages that must have passed. One with an empty matrix counts as passed.
    pub needs: &'static [&'static str],
    /// The inputs of its jobs.
    pub takes: &'static [Take],
    /// Whether its jobs leave files for other jobs or for people: an artifact named after the stage and the
    /// row.
    pub leaves: bool,
    /// Its scripts, in order.
    pub steps: &'static [Step],
    /// Whether it runs only for nightly builds and tags.
    pub releases: bool,
    /// Whether it runs this project's programs, whose build outputs are cached between builds.
    pub cache: bool,
}

const fn step(name: &'static str, title: &'static str) -> Step {
    Step { name, title, when: When::Passed }
}

const PACKAGES: Step = step("packages", "What the system has to have");
const DIAGNOSE: Step =
    Step { name: "diagnose", title: "Devices, driver, packages, processes, kernel log", when: When::Failed };
const CONTAINER: Step = Step { name: "container", title: "Container of a failed job", when: When::Failed };
const SUMMARY: Step = Step { name: "summary", title: "Summary of the job", when: When::Always };

/// All stages, in order.
// NEW-STAGE: a row.
pub const ALL: &[Stage] = &[
    Stage {
        name: "preamble",
        about: "Decides what runs: the tier, whether files of the component have changed, the rows of the matrix.",
        each: Each::Once,
        needs: &[],
        takes: &[],
        leaves: false,
        steps: &[step("preamble", "What runs, and why")],
        releases: false,
        cache: false,
    },
    Stage {
        name: "dependencies",
        about: "Sets up the device compiler, builds what runs programs on virtual GPUs, and fetches the archives of the components that this one depends on.",
        each: Each::Once,
        needs: &["preamble"],
        takes: &[],
        leaves: true,
        steps: &[
            PACKAGES,
            step("dependencies", "Device compiler, virtual GPUs, archives of other components"),
            DIAGNOSE,
            CONTAINER,
            SUMMARY,
        ],
        releases: false,
        cache: true,
    },
    Stage {
        name: "hipify",
        about: "Translates CUDA sources, and fails if something does not translate: SARIF, annotations, a comment on the pull request.",
        each: Each::Once,
        needs: &["preamble"],
        takes: &[],
        leaves: true,
        steps: &[
            PACKAGES,
            step("hipify", "CUDA sources as HIP"),
            Step {
                name: "comment",
                title: "What does not translate, on the pull request",
                when: When::Always,
            },
            DIAGNOSE,
            CONTAINER,
            SUMMARY,
        ],
        releases: false,
        cache: true,
    },
    Stage {
        name: "compile",
        about: "Compiles kernels and programs for a target, and fails if a kernel uses more than its limits or its baseline.",
        each: Each::Build,
        needs: &["dependencies", "hipify"],
        takes: &[Take::Of("dependencies"), Take::Of("hipify")],
        leaves: true,
        steps: &[
            PACKAGES,
            step("compile", "Kernels and programs for a target"),
            DIAGNOSE,
            CONTAINER,
            SUMMARY,
        ],
        releases: false,
        cache: true,
    },
    Stage {
        name: "test",
        about: "Runs the tests on a virtual GPU of the target. A kernel that does wrong is named with its line and lane.",
        each: Each::Test,
        needs: &["compile"],
        takes: &[Take::Of("dependencies"), Take::Build],
        leaves: true,
        steps: &[PACKAGES, step("test", "Tests on a device"), DIAGNOSE, CONTAINER, SUMMARY],
        releases: false,
        cache: true,
    },
    Stage {
        name: "gpu",
        about: "Runs the same tests on the GPUs of a pool.",
        each: Each::Pool,
        needs: &["test"],
        takes: &[Take::Of("dependencies"), Take::Build],
        leaves: true,
        steps: &[
            PACKAGES,
            step("test", "Tests on a device"),
            Step { when: When::Always, ..DIAGNOSE },
            CONTAINER,
            SUMMARY,
        ],
        releases: false,
        cache: true,
    },
    Stage {
        name: "package",
        about: "Packs what was built into an archive that is equal for equal files, with a manifest as JSON and HTML; has the component's own commands make further packages; writes checksums of all of them, and the bill of materials of a Rust crate.",
        each: Each::Once,
        needs: &["compile", "test", "gpu"],
        takes: &[
            Take::Of("dependencies"),
            Take::Of("hipify"),
            Take::All("compile"),
            Take::All("test"),
            Take::All("gpu"),
        ],
        leaves: true,
        steps: &[
            PACKAGES,
            step("package", "Archive, manifest, further packages, checksums"),
            DIAGNOSE,
            CONTAINER,
            SUMMARY,
        ],
        releases: false,
        cache: true,
    },
    Stage {
        name: "publish",
        about: "Signs what was packed, if there is a key, puts it into the store, and starts the builds of the components that depend on this one.",
        each: Each::Once,
        needs: &["package"],
        takes: &[Take::Of("package")],
        leaves: true,
        steps: &[
            PACKAGES,
            step("publish", "Signatures, and packages into the store"),
            step("downstream", "Builds of the components that depend on this one"),
            SUMMARY,
        ],
        releases: true,
        cache: true,
    },
];

/// The stage with a name.
///
/// # Errors
/// There is no such stage; the error lists them.
pub fn stage(name: &str) -> Result<&'static Stage, Error> {
    let found = ALL.iter().find(|stage| stage.name == name);
    found.ok_or_else(|| Error::unknown("stage", name, ALL.iter().map(|stage| stage.name)))
}

impl Stage {
    /// The name of a job's artifact.
    #[must_use]
    pub fn artifact(&self, row: Option<&str>) -> String {
        match row {
            Some(row) => format!("{}-{row}", self.name),
            None => self.name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn stages_need_and_take_of_those_before_them() {
        let mut before = BTreeSet::new();
        for stage in ALL {
            for needed in stage.needs {
                assert!(before.contains(needed), "{} needs {needed}", stage.name);
            }
            let mut after: BTreeSet<&str> = stage.needs.iter().copied().collect();
            while let Some(more) = ALL
                .iter()
                .filter(|other| after.contains(other.name))
                .flat_map(|other| other.needs)
                .find(|name| !after.contains(*name))
            {
                after.insert(more);
            }
            for take in stage.takes {
                let of = match take {
                    Take::Of(name) | Take::All(name) => name,
                    Take::Build => "compile",
                };
                let other = self::stage(of).expect("a stage");
                assert!(after.contains(of) && other.leaves, "{} takes what {of} leaves", stage.name);
                assert_eq!(matches!(take, Take::Of(_)), other.each == Each::Once, "{} of {of}", stage.name);
                assert!(
                    *take != Take::Build || matches!(stage.each, Each::Test | Each::Pool),
                    "{}",
                    stage.name
                );
            }
            assert!(before.insert(stage.name), "{} is there twice", stage.name);
        }
    }

    #[test]
    fn an_unknown_stage_is_told_with_those_that_there_are() {
        let told = stage("build").expect_err("none").to_string();
        assert_eq!(
            told,
            "no stage `build`; there are preamble, dependencies, hipify, compile, test, gpu, package, publish"
        );
    }
}
