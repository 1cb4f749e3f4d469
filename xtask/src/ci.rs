//! `cargo xtask ci`: pipelines for many repositories, generated from `ci/fleet.toml` or run on this machine.

mod check;
mod programs;
mod sample;
mod systems;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use fleet::archive;
use fleet::description::Tier;
use fleet::junit::{Outcome, Suite};
use fleet::manifest::{Dependency, Manifest, SCHEMA};
use fleet::rows::Rows;
use fleet::run::{Choice, Local};
use fleet::{Description, Settings, findings, summary, write};
use setup::run;

use crate::{images, tools};

/// What `cargo xtask ci` does.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Writes the templates of all systems and the stubs from ci/fleet.toml
    Generate {
        /// Write nothing; fail if the checked-in files differ from the description
        #[arg(long)]
        check: bool,
    },
    /// Runs stages of a component's pipeline on this machine: the same steps, with the same variables
    Run(RunArguments),
    /// Checks the pipelines: schemas, linters, and the sample from end to end. Tools from PyPI, npm and
    /// crates.io are installed into the target folder
    Check(check::Options),
    /// Generates the images of a pool's machines and of its jobs' containers from ci/images/images.toml
    ///
    /// Rewrites cloud-init's user data and the Dockerfiles. docs/use/fleet-machines.md says more.
    Images(images::Options),
    /// For steps: prints a component's settings as bash variables
    Variables(OfComponent),
    /// For steps: converts a SARIF file's findings to annotations, a comment, and GitLab's report
    Findings(FindingsArguments),
    /// For steps: compiles a folder of CUDA or HIP sources to a library, its code objects, and a test program
    /// for each source with a `main`
    Programs(programs::Options),
    /// For steps: runs test programs on the device of the job
    Test {
        /// Folder of the programs
        #[arg(long, value_name = "DIR")]
        programs: PathBuf,
        /// Folder of libamdhip64.so.7
        #[arg(long, value_name = "DIR")]
        library: PathBuf,
        /// Folder for junit.xml and the files of failed programs
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// For steps: applies the component's expected failures to the results of another program's tests
    Judge {
        /// The results
        #[arg(long, value_name = "FILE")]
        junit: PathBuf,
        /// Folder for junit.xml
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// For steps: writes the checksums of files, the bill of materials of a component that is a Cargo
    /// workspace, and minisign signatures if FERROCM_SIGNING_KEY has a key
    Seal {
        /// The component
        #[arg(long, value_name = "NAME")]
        component: String,
        /// Folder of the files
        #[arg(long, value_name = "DIR")]
        files: PathBuf,
        /// The component's workspace, for the bill
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// For steps: packs files into a reproducible archive, with a manifest
    Package {
        /// The component
        #[arg(long, value_name = "NAME")]
        component: String,
        /// Folder of the files
        #[arg(long, value_name = "DIR")]
        files: PathBuf,
        /// Folder for the archive and the manifest
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// For steps: unpacks an archive of another component
    Unpack {
        /// The archive
        #[arg(long, value_name = "FILE")]
        archive: PathBuf,
        /// The folder
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
    },
    /// For steps: summarises the output of a job
    Summary {
        /// Folder of the output
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
        /// The file to write
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct OfComponent {
    /// The component
    #[arg(long, value_name = "NAME")]
    component: String,
    /// Its checkout
    #[arg(long, value_name = "DIR")]
    repo: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct FindingsArguments {
    /// The findings
    #[arg(long, value_name = "FILE")]
    sarif: PathBuf,
    /// The component
    #[arg(long, value_name = "NAME")]
    component: String,
    /// The system whose annotations go to the standard output: github, azure, gitlab or local
    #[arg(long, value_name = "SYSTEM")]
    system: String,
    /// The address of the build
    #[arg(long, default_value = "")]
    url: String,
    /// The file for the comment
    #[arg(long, value_name = "FILE")]
    comment: PathBuf,
    /// The file for GitLab's report
    #[arg(long, value_name = "FILE")]
    code_quality: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Stage to run, after those that it needs [default: all but those on pools of GPUs and publish]
    #[arg(long, value_name = "STAGE")]
    stage: Option<String>,
    /// Run only this stage, with the inputs from an earlier run
    #[arg(long, requires = "stage")]
    only: bool,
    /// Component [default: the one named like the folder in --repo]
    #[arg(long, value_name = "NAME")]
    component: Option<String>,
    /// Target to run for; may be repeated [default: those of the tier]
    #[arg(long, value_name = "TARGET", value_delimiter = ',')]
    target: Vec<String>,
    /// How much of the matrix: quick, standard or full
    #[arg(long, value_name = "TIER", default_value = "quick")]
    tier: String,
    /// Checkout of the component's repository
    #[arg(long, value_name = "DIR")]
    repo: PathBuf,
    /// Reason of the build: local, pull-request, push, tag or nightly
    #[arg(long, default_value = "local")]
    event: String,
    /// Folder or address of archives [default: the one in ci/fleet.toml]
    #[arg(long, value_name = "PLACE")]
    store: Option<String>,
    /// Folder with libamdhip64.so.7 and the link to it, to avoid building them
    #[arg(long, value_name = "DIR")]
    dropin: Option<PathBuf>,
    /// Folder for the jobs' output [default: fleet/NAME in the target folder]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn ci(task: Task) -> Result<ExitCode> {
    match task {
        Task::Generate { check } => generate(check),
        Task::Run(arguments) => run_stages(&arguments),
        Task::Check(options) => check::check(&options),
        Task::Images(options) => images::images(&options).map(|()| ExitCode::SUCCESS),
        Task::Variables(OfComponent { component, repo }) => {
            let description = description()?;
            let component = description.component(&component)?;
            let settings = Settings::read(&repo.join(&component.folder))?;
            print!("{}", settings.variables(&description, component));
            Ok(ExitCode::SUCCESS)
        }
        Task::Findings(arguments) => tell_findings(&arguments),
        Task::Programs(options) => programs::programs(&options).map(|()| ExitCode::SUCCESS),
        Task::Test { programs, library, out } => test(programs, library, out),
        Task::Judge { junit, out } => {
            let (component, settings) = of_environment()?;
            let mut suite = Suite::read(&junit)?;
            suite.name = format!("{component} {} on {}", needed("FLEET_TARGET")?, needed("FLEET_DEVICE")?);
            suite.judge(&settings.expected_failure, &needed("FLEET_TARGET")?, &needed("FLEET_DEVICE")?);
            if needed("FLEET_SHARD")? == "1/1" {
                // Disabled tests are not among the results.
                suite.refuse_rows_without_tests(
                    &settings.expected_failure,
                    &needed("FLEET_TARGET")?,
                    &needed("FLEET_DEVICE")?,
                );
            }
            finish(&suite, &out)
        }
        Task::Package { component, files, out } => {
            package(&component, &files, &out).map(|()| ExitCode::SUCCESS)
        }
        Task::Seal { component, files, workspace } => {
            let commit = needed("FLEET_COMMIT")?;
            let files = std::path::absolute(&files)?;
            let workspace = workspace.map(std::path::absolute).transpose()?;
            crate::package::seal(&component, &commit, commit_time(&commit)?, workspace.as_deref(), &files)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Unpack { archive, to } => {
            archive::unpack(&archive, &to)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Summary { from, out } => {
            let job = summary::Job {
                component: needed("FLEET_COMPONENT")?,
                stage: variable_or_empty("FLEET_STAGE"),
                row: variable_or_empty("FLEET_ROW"),
                target: variable_or_empty("FLEET_TARGET"),
                device: variable_or_empty("FLEET_DEVICE"),
                image: variable_or_empty("FLEET_IMAGE"),
                source: format!(
                    "{} {}",
                    variable_or_empty("FLEET_REPOSITORY"),
                    variable_or_empty("FLEET_COMMIT")
                ),
            };
            let text = summary::summary(&job, &from)?;
            std::fs::write(&out, text).with_context(|| out.display().to_string())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The description of this checkout.
fn description() -> Result<Description> {
    Ok(Description::read(&tools::workspace().join("ci/fleet.toml"))?)
}

fn generate(check: bool) -> Result<ExitCode> {
    let description = description()?;
    if check {
        let differences = write::check(&description, tools::workspace())?;
        if !differences.is_empty() {
            let lines: Vec<_> = differences.iter().map(|difference| format!("  {difference}")).collect();
            bail!("files differ from ci/fleet.toml; run `cargo xtask ci generate`:\n{}", lines.join("\n"));
        }
        println!("{} files match ci/fleet.toml", write::files(&description).len());
        return Ok(ExitCode::SUCCESS);
    }
    for path in write::write(&description, tools::workspace())? {
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn run_stages(arguments: &RunArguments) -> Result<ExitCode> {
    let description = description()?;
    let repo = std::path::absolute(&arguments.repo)?;
    let component = match &arguments.component {
        Some(name) => name.clone(),
        None => repo.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
    };
    if !["local", "pull-request", "push", "tag", "nightly"].contains(&arguments.event.as_str()) {
        bail!("no event `{}`; there are local, pull-request, push, tag and nightly", arguments.event);
    }
    let absolute = |path: &PathBuf| std::path::absolute(path);
    let local = Local {
        home: tools::workspace().to_owned(),
        work: match &arguments.work {
            Some(work) => absolute(work)?,
            None => tools::target_folder().join("fleet").join(&component),
        },
        repo,
        component,
        tier: Tier::parse(&arguments.tier)?,
        event: arguments.event.clone(),
        store: arguments.store.clone(),
        xtask: Some(std::env::current_exe().context("this program's own path")?),
        dropin: arguments.dropin.as_ref().map(absolute).transpose()?,
    };
    let choice =
        Choice { stage: arguments.stage.clone(), only: arguments.only, targets: arguments.target.clone() };
    let jobs = fleet::run::jobs(&description, &local, &choice)?;
    if jobs.is_empty() {
        bail!("there is no such job: neither the tier nor --target has one in the stage");
    }
    let failures = fleet::run::run(&description, &local, &jobs, |job| {
        let row = job.row.as_ref().map(|row| format!(" {}", row.id)).unwrap_or_default();
        println!("\n==== {}{row}", job.stage.name);
    });
    for failure in &failures {
        eprintln!("error: {}", failure.error);
        if failure.summary.exists() {
            eprintln!("  its summary:  {}", failure.summary.display());
        }
    }
    if failures.is_empty() {
        println!(
            "\n{} jobs passed; their output is in {}",
            jobs.len(),
            local.work.join("artifacts").display()
        );
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

fn tell_findings(arguments: &FindingsArguments) -> Result<ExitCode> {
    let found = findings::read(&arguments.sarif)?;
    print!("{}", findings::annotations(&found, &arguments.system)?);
    let write =
        |path: &Path, text: &str| std::fs::write(path, text).with_context(|| path.display().to_string());
    write(&arguments.comment, &findings::comment(&found, &arguments.component, &arguments.url))?;
    write(&arguments.code_quality, &findings::code_quality(&found))?;
    Ok(ExitCode::SUCCESS)
}

/// A variable that steps set.
fn needed(name: &str) -> Result<String> {
    tools::variable(name).with_context(|| format!("{name} is not set; steps of `cargo xtask ci run` set it"))
}

fn variable_or_empty(name: &str) -> String {
    tools::variable(name).unwrap_or_default()
}

/// The component named by a step, and its settings.
fn of_environment() -> Result<(String, Settings)> {
    let description = description()?;
    let component = description.component(&needed("FLEET_COMPONENT")?)?.clone();
    let settings = Settings::read(&PathBuf::from(needed("FLEET_REPO")?).join(&component.folder))?;
    Ok((component.name, settings))
}

fn test(programs: PathBuf, library: PathBuf, out: PathBuf) -> Result<ExitCode> {
    let (component, settings) = of_environment()?;
    let runner = fleet::programs::Runner {
        programs,
        library,
        device: needed("FLEET_DEVICE")?,
        target: needed("FLEET_TARGET")?,
        shard: fleet::programs::shard(&needed("FLEET_SHARD")?).map_err(anyhow::Error::msg)?,
        settings: &settings,
        out: out.clone(),
    };
    let suite = runner.run(&component, |case| match &case.outcome {
        Outcome::Passed => println!("passed   {} ({:.2} s)", case.name, case.time),
        Outcome::Skipped(why) => println!("skipped  {}: {why}", case.name),
        Outcome::Failed(how) => println!("FAILED   {}: {how}\n{}{}", case.name, case.output, case.error),
    })?;
    finish(&suite, &out)
}

/// Writes the results, and reports the number of failures.
fn finish(suite: &Suite, out: &Path) -> Result<ExitCode> {
    let path = out.join("junit.xml");
    std::fs::write(&path, suite.to_xml()).with_context(|| path.display().to_string())?;
    for case in &suite.cases {
        if let Outcome::Failed(how) = &case.outcome {
            println!("failed: {}: {}", case.name, how.lines().next().unwrap_or_default());
        }
    }
    let counts = suite.counts();
    println!("{} tests: {} failed, {} skipped", counts.tests, counts.failed, counts.skipped);
    Ok(if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The time of a commit of the component, in seconds since 1970.
fn commit_time(commit: &str) -> Result<u64> {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "-C", &needed("FLEET_REPO")?]);
    git.args(["show", "--no-patch", "--format=%ct", commit]);
    run::capture(&mut git)?.trim().parse().context("the time of the commit")
}

fn package(name: &str, files: &Path, out: &Path) -> Result<()> {
    let description = description()?;
    let component = description.component(name)?;
    let commit = needed("FLEET_COMMIT")?;
    let commit_time = commit_time(&commit)?;
    // The build output is there, in a folder with the row's name.
    let rows = Rows::of(&description, component);
    let built = || rows.builds.iter().filter(|row| files.join(&row.id).is_dir());
    let once = |values: Vec<String>| {
        values.into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    };
    let mut manifest = Manifest {
        schema: SCHEMA,
        component: name.to_owned(),
        build: needed("FLEET_BUILD")?,
        repository: needed("FLEET_REPOSITORY")?,
        r#ref: needed("FLEET_REF")?,
        commit: commit.clone(),
        commit_time,
        targets: once(built().map(|row| row.target.clone()).collect()),
        rocm: once(built().map(|row| row.rocm.clone()).collect()),
        dependencies: Vec::new(),
        files: Vec::new(),
    };
    let components = PathBuf::from(needed("FLEET_IN")?).join("dependencies/components");
    for needed in &component.depends {
        let folder = components.join(needed);
        let other = Manifest::read(&folder.join("manifest.json"))?;
        let sums = folder.join("archive.sha256");
        let text = std::fs::read_to_string(&sums).with_context(|| sums.display().to_string())?;
        let sha256 = text.split_whitespace().next().context("archive.sha256 is empty")?.to_owned();
        manifest.dependencies.push(Dependency { component: other.component, commit: other.commit, sha256 });
    }
    manifest.list(&archive::items(files)?)?;
    // The archive contains the manifest, too, which does not list itself.
    let path = out.join(format!("{name}.tar.gz"));
    let own = [path.as_path(), &out.join("manifest.json"), &out.join("manifest.html")];
    if let Some(taken) = own.into_iter().find(|path| path.exists()) {
        bail!(
            "{} already exists: a command of `package` in .ferrocm/fleet.toml has created it; use another name",
            taken.display()
        );
    }
    for (file, text) in [("manifest.json", manifest.to_json()), ("manifest.html", manifest.to_html())] {
        for folder in [files, out] {
            let path = folder.join(file);
            std::fs::write(&path, &text).with_context(|| path.display().to_string())?;
        }
    }
    let short = commit.get(..12).unwrap_or(&commit);
    archive::write(&path, &format!("{name}-{short}"), &archive::items(files)?, commit_time)?;
    println!("{} files, {} targets: {}", manifest.files.len(), manifest.targets.len(), path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_checked_in_is_what_the_description_gives() {
        let differences =
            write::check(&description().expect("ci/fleet.toml"), tools::workspace()).expect("reads");
        let told: Vec<_> = differences.iter().map(ToString::to_string).collect();
        assert!(told.is_empty(), "run `cargo xtask ci generate`: {told:#?}");
    }

    #[test]
    fn every_step_is_bash() {
        for entry in std::fs::read_dir(tools::workspace().join("ci/steps")).expect("the steps") {
            let path = entry.expect("an entry").path();
            let output = Command::new("bash").arg("-n").arg(&path).output().expect("bash");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    #[test]
    fn every_component_of_this_repository_has_settings_that_can_be_read() {
        let description = description().expect("ci/fleet.toml");
        for component in &description.component {
            if component.repository == description.fleet.repository {
                let folder = tools::workspace().join(&component.folder);
                assert!(folder.is_dir(), "{}", folder.display());
                Settings::read(&folder).expect("settings");
            }
        }
    }
}
