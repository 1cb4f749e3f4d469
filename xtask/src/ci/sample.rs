//! Runs the sample components from end to end, unmodified and with one fault each, which must be caught in
//! its stage.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use fleet::description::Tier;
use fleet::run::{Choice, Local};
use fleet::{Description, archive};
use setup::run;

use crate::tools;

/// The output folders of the sample's jobs, for checks against schemas.
pub(crate) struct Left {
    /// The unmodified sample.
    pub(crate) whole: PathBuf,
    /// The sample with a kernel that writes out of bounds.
    pub(crate) broken: PathBuf,
    /// The sample with a source that does not translate.
    pub(crate) untranslatable: PathBuf,
    /// The Rust crate.
    pub(crate) rust: PathBuf,
}

/// A text in a file and its replacement; with an empty text, the file is added.
type Edit = (&'static str, &'static str, &'static str);

/// The sample with a fault.
struct Variant {
    name: &'static str,
    edits: &'static [Edit],
    /// The stage that must fail; `None` if all must pass.
    fails: Option<&'static str>,
    /// Texts that its summary must contain.
    told: &'static [&'static str],
}

const OUT_OF_BOUNDS: Edit = ("src/scale.cu", "if (i < count)", "if (i <= count)");
const SETTINGS: &str = ".ferrocm/fleet.toml";
const LAST_SETTING: &str = "test-timeout = 120\n";

const VARIANTS: &[Variant] = &[
    Variant {
        name: "untranslatable",
        edits: &[(
            "src/tiles.cu",
            "",
            "#include <mma.h>\n\n#include <cuda.h>\n\nint tiles(CUmemGenericAllocationHandle* handle, const CUmulticastObjectProp* prop) {\n    return cuMulticastCreate(handle, prop);\n}\n",
        )],
        fails: Some("hipify"),
        told: &[
            "of CUDA's names will not translate",
            "ci/sample/src/tiles.cu:1",
            "`mma.h`",
            "`cuMulticastCreate`",
            "--stage hipify",
        ],
    },
    Variant {
        name: "syntax",
        edits: &[("src/scale.cu", "values[i] *= factor;", "values[i] *= facto;")],
        fails: Some("compile"),
        told: &["facto", "do not compile for gfx1100", "--stage compile --target gfx1100"],
    },
    Variant {
        name: "registers",
        edits: &[(
            "src/scale.cu",
            "if (i < count) values[i] *= factor;",
            "float all[120];\n    for (int k = 0; k < 120; k++) all[k] = values[(i * 120 + k) % count];\n    __syncthreads();\n    \
             float sum = 0;\n    for (int k = 0; k < 120; k++) sum += all[k] * all[119 - k] * factor;\n    if (i < count) values[i] = sum;",
        )],
        fails: Some("compile"),
        told: &["VGPRs", "scale", "64", "use more on gfx1100 than they may"],
    },
    Variant {
        name: "regression",
        // The build of the unmodified sample has written the baseline.
        edits: &[
            (
                "src/scale.cu",
                "values[i] *= factor;",
                "values[i] = sqrtf(values[i] * factor) / (factor + values[(i * 7) % count]);",
            ),
            (SETTINGS, LAST_SETTING, "baseline = \".ferrocm/kernels.json\"\n"),
        ],
        fails: Some("compile"),
        told: &["scale", "use more on gfx1100 than they may"],
    },
    Variant {
        name: "broken",
        edits: &[OUT_OF_BOUNDS],
        fails: Some("test"),
        told: &[
            "is outside every allocation",
            "| kernel | line | lane |",
            "`scale(float*, int, float)` (gfx1100)",
            "scale.cu:7:",
            " lane ",
            "--stage test --target gfx1100",
        ],
    },
    Variant {
        name: "wrong",
        edits: &[("src/sum.cu", "*result = parts[0];", "*result = parts[0] + 1;")],
        fails: Some("test"),
        told: &["#### `sum`", "the sum is", "2 run, 1 failed"],
    },
    Variant {
        name: "expected",
        edits: &[
            OUT_OF_BOUNDS,
            (SETTINGS, LAST_SETTING, "[[expected-failure]]\ntest = \"scale\"\nreason = \"issue 17\"\n"),
        ],
        fails: None,
        told: &["expected failure: issue 17"],
    },
    Variant {
        name: "fixed",
        edits: &[(SETTINGS, LAST_SETTING, "[[expected-failure]]\ntest = \"scale\"\nreason = \"issue 17\"\n")],
        fails: Some("test"),
        told: &["passes now: remove the row", "issue 17"],
    },
    Variant {
        name: "disabled",
        edits: &[
            ("src/sum.cu", "*result = parts[0];", "*result = parts[0] + 1;"),
            (
                SETTINGS,
                LAST_SETTING,
                "[[disabled]]\ntest = \"sum\"\ntargets = [\"gfx1100\"]\nreason = \"issue 18\"\n",
            ),
        ],
        fails: None,
        told: &["disabled: issue 18"],
    },
];

const TARGET: &str = "gfx1100";

/// Runs everything in a folder, which is emptied first.
pub(crate) fn sample(description: &Description, folder: &Path, dropin: Option<&Path>) -> Result<Left> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let pipeline = Pipeline { description, folder, dropin };
    let whole = pipeline.repository("whole", &[])?;
    pipeline.refuses_without_archives(&whole)?;
    let left = pipeline.passes("sample", &whole, "whole")?;
    pipeline.packs_the_same_again(&whole, &left)?;
    let rust = pipeline.rust(&whole)?;

    let build = left.join(format!("artifacts/compile-{TARGET}-rocm7.2-debian-12"));
    for variant in VARIANTS {
        let repository = pipeline.repository(variant.name, variant.edits)?;
        let baseline = repository.join("ci/sample/.ferrocm/kernels.json");
        fs::copy(build.join("kernels.json"), &baseline).with_context(|| baseline.display().to_string())?;
        pipeline.is_caught(variant, &repository)?;
    }
    let of = |name: &str| folder.join("work").join(name).join("artifacts");
    Ok(Left {
        whole: left.join("artifacts"),
        broken: of("broken"),
        untranslatable: of("untranslatable"),
        rust,
    })
}

struct Pipeline<'a> {
    description: &'a Description,
    folder: &'a Path,
    dropin: Option<&'a Path>,
}

impl Pipeline<'_> {
    /// A repository with the samples, edited.
    fn repository(&self, name: &str, edits: &[Edit]) -> Result<PathBuf> {
        let root = self.folder.join("repositories").join(name);
        for component in ["ci/sample", "ci/sample-rust"] {
            copy(&tools::workspace().join(component), &root.join(component))?;
        }
        for (file, from, to) in edits {
            let path = root.join("ci/sample").join(file);
            let text = if from.is_empty() {
                (*to).to_owned()
            } else {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                ensure!(text.contains(from), "`{from}` is not in {}", path.display());
                text.replacen(from, to, 1)
            };
            fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command
                .args(["-c", "user.name=fleet", "-c", "user.email=fleet@example.com", "-C"])
                .arg(&root)
                .args(arguments);
            // This gives equal commits for equal files.
            command.env("GIT_AUTHOR_DATE", "1790000000 +0000").env("GIT_COMMITTER_DATE", "1790000000 +0000");
            run::run(&mut command)
        };
        git(&["init", "--quiet", "--initial-branch", "main"])?;
        git(&["add", "--all"])?;
        git(&["commit", "--quiet", "--message", name])?;
        Ok(root)
    }

    fn local(&self, component: &str, repository: &Path, name: &str) -> Local {
        Local {
            home: tools::workspace().to_owned(),
            repo: repository.to_owned(),
            work: self.folder.join("work").join(name),
            component: component.to_owned(),
            tier: Tier::Quick,
            event: "nightly".to_owned(),
            store: Some(self.folder.join("store").display().to_string()),
            xtask: std::env::current_exe().ok(),
            dropin: self.dropin.map(Path::to_owned),
        }
    }

    /// Runs stages. Returns the failed stage and its summaries.
    fn run(
        &self,
        local: &Local,
        stage: Option<&str>,
        targets: &[&str],
    ) -> Result<Option<(&'static str, String)>> {
        let targets = targets.iter().map(|&target| target.to_owned()).collect();
        let choice = Choice { stage: stage.map(str::to_owned), only: false, targets };
        let jobs = fleet::run::jobs(self.description, local, &choice)?;
        ensure!(!jobs.is_empty(), "no jobs");
        let failures = fleet::run::run(self.description, local, &jobs, |job| {
            let row = job.row.as_ref().map(|row| format!(" {}", row.id)).unwrap_or_default();
            println!("\n==== {}: {}{row}", local.work.display(), job.stage.name);
        });
        let Some(first) = failures.first() else { return Ok(None) };
        let summaries = failures.iter().map(|failure| fs::read_to_string(&failure.summary));
        let text: String =
            summaries.collect::<Result<_, _>>().context("a job that failed left no summary")?;
        Ok(Some((first.stage, text)))
    }

    /// The sample passes all stages and is published.
    fn passes(&self, component: &str, repository: &Path, name: &str) -> Result<PathBuf> {
        let local = self.local(component, repository, name);
        if let Some((stage, text)) = self.run(&local, Some("publish"), &[])? {
            bail!("`{component}` as it is fails in {stage}:\n{text}");
        }
        let latest = self.folder.join("store").join(component).join("latest");
        let commit = fs::read_to_string(&latest).with_context(|| latest.display().to_string())?;
        let published = self.folder.join("store").join(component).join(commit.trim());
        for file in [&format!("{component}.tar.gz"), "manifest.json", "manifest.html"] {
            ensure!(published.join(file).is_file(), "{file} is not in {}", published.display());
        }
        let mut sums = Command::new("sha256sum");
        run::capture(sums.args(["--check", "--strict", "--quiet", "SHA256SUMS"]).current_dir(&published))?;
        Ok(local.work)
    }

    /// Equal files give an equal archive, regardless of time and folder.
    fn packs_the_same_again(&self, repository: &Path, left: &Path) -> Result<()> {
        let elsewhere = self.folder.join("repositories/elsewhere");
        copy(repository, &elsewhere)?;
        let local = self.local("sample", &elsewhere, "elsewhere");
        ensure!(self.run(&local, Some("package"), &[])?.is_none(), "the sample fails elsewhere");
        let hash = |work: &Path| archive::sha256(&work.join("artifacts/package/files/sample.tar.gz"));
        // The repository's name on this machine is part of the manifest.
        let (first, second) = (unpacked(left)?, unpacked(&local.work)?);
        ensure!(first.1 == second.1, "the same sources give other files: {:?}, {:?}", first.1, second.1);
        let again = self.local("sample", repository, "whole-again");
        ensure!(self.run(&again, Some("package"), &[])?.is_none(), "the sample fails the second time");
        ensure!(hash(left)? == hash(&again.work)?, "the same files give another archive the second time");
        Ok(())
    }

    /// A component reports a dependency that was never published.
    fn refuses_without_archives(&self, repository: &Path) -> Result<()> {
        let local = self.local("sample-rust", repository, "rust-alone");
        let Some((stage, text)) = self.run(&local, Some("dependencies"), &[])? else {
            bail!("`sample-rust` has its dependency from nowhere");
        };
        ensure!(
            stage == "dependencies" && text.contains("has no archive of sample; publish one first"),
            "{stage}: {text}"
        );
        Ok(())
    }

    /// The Rust crate is built from the archive of the sample, and its manifest names the archive.
    fn rust(&self, repository: &Path) -> Result<PathBuf> {
        let work = self.passes("sample-rust", repository, "rust")?;
        let artifacts = work.join("artifacts");
        let manifest = fleet::manifest::Manifest::read(&artifacts.join("package/files/manifest.json"))?;
        let archive = self.folder.join("store/sample").join(&manifest.commit).join("sample.tar.gz");
        let [dependency] = manifest.dependencies.as_slice() else { bail!("{:?}", manifest.dependencies) };
        ensure!(
            dependency.component == "sample" && dependency.sha256 == archive::sha256(&archive)?.0,
            "{dependency:?}"
        );
        self.has_the_packages_of_the_rust_crate(&artifacts.join("package/files"))?;
        // Each test ran in one of the shards.
        let mut tests = Vec::new();
        for part in 1..=2 {
            let path = artifacts.join(format!("test-{TARGET}-rocm7.2-debian-12-part-{part}/junit.xml"));
            tests.extend(fleet::junit::Suite::read(&path)?.cases.into_iter().map(|case| case.name));
        }
        tests.sort();
        let expected = [
            "an_empty_slice_has_no_memory_on_the_device",
            "elements_are_multiplied",
            "sums_of_whole_numbers_are_exact",
        ];
        ensure!(tests == expected, "{tests:?}");
        self.rust_tests_are_judged()?;
        Ok(artifacts)
    }

    /// A bill of materials, and the output of the component's own command: its package for the registry.
    fn has_the_packages_of_the_rust_crate(&self, files: &Path) -> Result<()> {
        let path = files.join("sample-rust.cdx.json");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let bill: serde_json::Value = serde_json::from_str(&text)?;
        let component = &bill["metadata"]["component"];
        ensure!(
            component["name"] == "sample-rust" && bill["components"][0]["name"] == "sample-rust",
            "{text}"
        );
        let listed = fs::read_to_string(files.join("SHA256SUMS"))?;
        let names: Vec<_> = listed.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
        let expected = [
            "manifest.html",
            "manifest.json",
            "sample-rust-0.1.0.crate",
            "sample-rust.cdx.json",
            "sample-rust.tar.gz",
        ];
        ensure!(names == expected, "{listed}");
        Ok(())
    }

    /// The component's rows are applied to cargo-nextest's results.
    fn rust_tests_are_judged(&self) -> Result<()> {
        let wrong: Edit = ("../sample-rust/tests/device.rs", "Ok(8_002_000.0)", "Ok(1.0)");
        let settings = |row: &'static str| ("../sample-rust/.ferrocm/fleet.toml", LAST_SETTING, row);
        let row = "[[expected-failure]]\ntest = \"sums_*\"\nreason = \"issue 19\"\n";
        let disabled = "[[disabled]]\ntest = \"sums_*\"\nreason = \"issue 20\"\n";
        for (name, edits, told) in [
            ("rust-wrong", vec![wrong], Some("`sums_of_whole_numbers_are_exact`")),
            ("rust-expected", vec![wrong, settings(row)], None),
            ("rust-fixed", vec![settings(row)], Some("passes now: remove the row")),
            ("rust-disabled", vec![wrong, settings(disabled)], None),
        ] {
            let repository = self.repository(name, &edits)?;
            let failed = self.run(&self.local("sample-rust", &repository, name), Some("test"), &[TARGET])?;
            match (&failed, told) {
                (Some(("test", text)), Some(told)) if text.contains(told) => {}
                (None, None) => {}
                _ => bail!("`{name}` was to tell {told:?}, and it is {failed:?}"),
            }
        }
        Ok(())
    }

    /// A fault is caught in its stage, with a text that describes it.
    fn is_caught(&self, variant: &Variant, repository: &Path) -> Result<()> {
        let Variant { name, fails, told, .. } = variant;
        let local = self.local("sample", repository, name);
        let failed = self.run(&local, Some("test"), &[TARGET])?;
        let text = match (&failed, fails) {
            (Some((stage, text)), Some(expected)) if stage == expected => text.clone(),
            (None, None) => {
                let path = local.work.join(format!("artifacts/test-{TARGET}-rocm7.2-debian-12/summary.md"));
                fs::read_to_string(&path).with_context(|| path.display().to_string())?
            }
            _ => bail!("`{name}` was to fail in {fails:?}, and it is {failed:?}"),
        };
        for part in *told {
            ensure!(text.contains(part), "`{name}`: `{part}` is not in its summary:\n{text}");
        }
        println!(
            "\n`{name}`: as expected, {}",
            fails.map_or("it passes".to_owned(), |stage| format!("caught in {stage}"))
        );
        Ok(())
    }
}

/// The files of a job's archive with their hashes, from its manifest.
fn unpacked(work: &Path) -> Result<(PathBuf, Vec<(String, String)>)> {
    let path = work.join("artifacts/package/files/manifest.json");
    let manifest = fleet::manifest::Manifest::read(&path)?;
    Ok((path, manifest.files.into_iter().map(|file| (file.path, file.sha256)).collect()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry.with_context(|| from.display().to_string())?;
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            if entry.file_name() != "target" {
                copy(&path, &copied)?;
            }
        } else {
            fs::copy(&path, &copied).with_context(|| copied.display().to_string())?;
        }
    }
    Ok(())
}
