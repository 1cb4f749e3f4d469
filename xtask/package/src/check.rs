//! Installs packages as users do and runs their programs: in a bare Debian 12, in a fresh virtual
//! environment, in fresh folders.

mod consumer;
mod debian;
mod models;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use test_support::program::{Place, Program};

use crate::about::{About, NAME, target_folder, workspace};
use crate::sign::SUMS;
use crate::{Kind, archive_name, deb};

/// The device that everything runs on.
pub(crate) const DEVICE: &str = "vgpu:gfx1100";
/// The HIP program to run, one of the drop-in library's own tests.
const SOURCE: &str = "crates/libamdhip64/tests/programs/saxpy.hip";

/// Observations about a package, or why it could not be checked.
type Seen = Result<Vec<String>>;

/// Checks each kind of package, and reports the observations.
///
/// # Errors
/// A package is missing or does not work, or this machine cannot run a check.
pub(crate) fn check(out: &Path, what: &[Kind]) -> Result<()> {
    let about = About::of_workspace(None)?;
    let out = out.canonicalize().with_context(|| format!("there are no packages in {}", out.display()))?;
    let scratch = target_folder().join("package-check");
    fs::create_dir_all(&scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    let place = Checks { about, out, scratch };
    let mut failed = Vec::new();
    let mut tell = |name: &str, seen: Seen| match seen {
        Ok(seen) => seen.iter().for_each(|line| println!("{name:<10} {line}")),
        Err(error) => {
            println!("{name:<10} FAILED: {}", format!("{error:#}").replace('\n', "\n           "));
            failed.push(name.to_owned());
        }
    };
    tell("checksums", place.sums());
    let program = match what.iter().any(|kind| *kind != Kind::Crates && *kind != Kind::Sbom) {
        true => place.program().map(Some),
        false => Ok(None),
    };
    match program {
        Ok(None) => {}
        Err(error) => tell("program", Err(error)),
        Ok(Some(program)) => {
            for (kind, name, run) in RUNS {
                if what.contains(&kind) {
                    tell(name, run(&place, Path::new(program.path())));
                }
            }
        }
    }
    if what.contains(&Kind::Crates) {
        tell("crates", consumer::crates(&place));
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    println!("All of it works.");
    Ok(())
}

/// The kinds of packages that can run a HIP program, and how.
// NEW-PACKAGE: a row, if a program can run from it.
type Run = (Kind, &'static str, fn(&Checks, &Path) -> Seen);
static RUNS: [Run; 4] = [
    (Kind::Tar, "tar", Checks::tar),
    (Kind::Deb, "deb", Checks::deb),
    (Kind::Wheel, "wheel", Checks::wheel),
    (Kind::Container, "container", Checks::container),
];

/// The folder of the packages, and the folder for unpacking.
pub(crate) struct Checks {
    pub(crate) about: About,
    pub(crate) out: PathBuf,
    pub(crate) scratch: PathBuf,
}

/// Runs a command that must succeed; returns its output.
pub(crate) fn succeeds(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => bail!(
            "{} ended with {}:\n{}{}",
            setup::run::describe(command),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

fn output(command: &mut Command) -> Result<Output> {
    // The caller's settings for devices and libraries do not apply here.
    for name in
        ["FERROCM_DEVICE", "FERROCM_LIBRARIES", "LD_LIBRARY_PATH", "PYTHONPATH", "FERROCM_HIP_LIBRARY"]
    {
        command.env_remove(name);
    }
    let output = command.stdin(Stdio::null()).output();
    output.with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))
}

impl Checks {
    /// An empty folder.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf> {
        let folder = self.scratch.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }

    /// The only file with this ending.
    fn file(&self, ending: &str) -> Result<PathBuf> {
        let entries =
            fs::read_dir(&self.out).with_context(|| format!("cannot read {}", self.out.display()))?;
        let files = entries.flatten().map(|entry| entry.path());
        let found: Vec<PathBuf> = files.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
        match &found[..] {
            [one] => Ok(one.clone()),
            [] => bail!("there is no {ending} in {}", self.out.display()),
            _ => bail!("there is more than one {ending} in {}", self.out.display()),
        }
    }

    fn sums(&self) -> Seen {
        succeeds(
            Command::new("sha256sum").args(["--check", "--strict", "--quiet", SUMS]).current_dir(&self.out),
        )?;
        Ok(vec![format!("{SUMS} holds")])
    }

    /// The unpacked archive.
    fn unpacked(&self) -> Result<PathBuf> {
        let folder = self.fresh("tar")?;
        let file = self.out.join(format!("{}.tar.gz", archive_name(&self.about)));
        succeeds(
            Command::new("tar").arg("--extract").arg("--file").arg(&file).arg("--directory").arg(&folder),
        )?;
        Ok(folder.join(archive_name(&self.about)))
    }

    /// A HIP program in C++, compiled by the device compiler and linked with the library of the archive, else
    /// of Debian's package.
    fn program(&self) -> Result<Program> {
        device_compiler::toolchain::find()?;
        let root = match self.out.join(format!("{}.tar.gz", archive_name(&self.about))).is_file() {
            true => self.unpacked()?,
            false => {
                let folder = self.fresh("deb")?;
                let file = self.out.join(deb::file_name(&self.about));
                succeeds(Command::new("dpkg-deb").arg("--extract").arg(file).arg(&folder))?;
                folder.join("usr")
            }
        };
        let library = root.join("lib").join(NAME).join("libamdhip64.so.7");
        // The program's folder lives as long as this process.
        let scratch: &'static str = self.scratch.to_str().context("a path in UTF-8")?.to_owned().leak();
        let place = Place { krate: env!("CARGO_MANIFEST_DIR"), scratch };
        let source = workspace().join(SOURCE);
        Ok(Program::link(&source, place, &["gfx1100"], &[], &library, library.clone()))
    }

    /// Runs the program directly, which must fail, and with `ferrocm run`, which must succeed.
    fn runs(&self, mut command: impl FnMut(&[&str]) -> Command, program: &str) -> Seen {
        let devices = succeeds(&mut command(&[NAME, "devices"]))?;
        if !devices.contains(DEVICE) {
            bail!("`{NAME} devices` does not list {DEVICE}:\n{devices}");
        }
        let mut seen =
            vec![format!("{NAME} devices: {} lines, {DEVICE} among them", devices.lines().count())];
        let doctor = output(&mut command(&[NAME, "doctor"]))?;
        let text =
            String::from_utf8_lossy(&doctor.stdout).into_owned() + &String::from_utf8_lossy(&doctor.stderr);
        // A long name has a line of its own.
        let row = text.split_once("default device").map_or("", |(_, row)| row);
        let table = row.lines().take(2).any(|line| line.contains("gfx"));
        // Without a device compiler, it reports that, and how to get one.
        let is_sane =
            doctor.status.success() || (doctor.status.code() == Some(1) && text.contains("ferrocm setup"));
        if !table || !is_sane {
            bail!("`{NAME} doctor` ended with {}:\n{text}", doctor.status);
        }
        seen.push(format!("{NAME} doctor: {} lines, {}", text.lines().count(), doctor.status));
        let alone = output(&mut command(&[program]))?;
        let told = String::from_utf8_lossy(&alone.stderr).into_owned();
        if alone.status.success() || !told.contains("libamdhip64.so.7") {
            bail!(
                "without `{NAME} run`, the program ended with {}: are the libraries in the loader's way? {told}",
                alone.status
            );
        }
        succeeds(&mut command(&[NAME, "run", "--device", DEVICE, "--", program]))?;
        seen.push(format!(
            "a HIP program in C++ ran on {DEVICE} by `{NAME} run`, and finds no HIP without it"
        ));
        Ok(seen)
    }

    fn tar(&self, program: &Path) -> Seen {
        let root = self.unpacked()?;
        let bin = root.join("bin").join(NAME);
        let mut seen = self.runs(|arguments| in_place_of(NAME, &bin, arguments), path_text(program)?)?;
        // The archive and a model, on a system with nothing else.
        let system = debian::system(&self.scratch)?;
        let place = system.path("opt/archive");
        if place.exists() {
            fs::remove_dir_all(&place).with_context(|| format!("cannot empty {}", place.display()))?;
        }
        fs::create_dir_all(&place).with_context(|| format!("cannot create {}", place.display()))?;
        succeeds(Command::new("cp").arg("--archive").arg(root.join(".")).arg(&place))?;
        system.put(&models::find(&bin)?, models::PLACE)?;
        let program = format!("/opt/archive/bin/{NAME}");
        let answered = models::answers(|arguments| system.command(arguments), &program);
        fs::remove_dir_all(&place).with_context(|| format!("cannot empty {}", place.display()))?;
        seen.extend(answered?);
        Ok(seen)
    }

    fn deb(&self, program: &Path) -> Seen {
        let system = debian::system(&self.scratch)?;
        let file = self.out.join(deb::file_name(&self.about));
        system.put(&file, "root/package.deb")?;
        system.put(program, "root/program")?;
        let installed = succeeds(&mut system.command(&["dpkg", "--install", "/root/package.deb"]));
        let seen = installed.and_then(|_| {
            let status = succeeds(&mut system.command(&[
                "dpkg-query",
                "--show",
                "--showformat",
                "${Status} ${Version}",
                NAME,
            ]))?;
            let mut seen = vec![format!("{}: {status}", system.name()?)];
            seen.extend(self.runs(|arguments| system.command(arguments), "/root/program")?);
            let unpacked = self.fresh("deb-for-model")?;
            succeeds(Command::new("dpkg-deb").arg("--extract").arg(&file).arg(&unpacked))?;
            system.put(&models::find(&unpacked.join("usr/bin").join(NAME))?, models::PLACE)?;
            seen.extend(models::answers(|arguments| system.command(arguments), NAME)?);
            let differences = succeeds(&mut system.command(&["dpkg", "--verify", NAME]))?;
            if !differences.is_empty() {
                bail!("dpkg --verify: {differences}");
            }
            Ok(seen)
        });
        // Whatever the result, the next run begins with the bare system.
        succeeds(&mut system.command(&["dpkg", "--purge", NAME]))?;
        if system.path(&format!("usr/lib/{NAME}")).exists() {
            bail!("dpkg --purge leaves /usr/lib/{NAME}");
        }
        let mut seen = seen?;
        seen.push("removed without a trace".to_owned());
        Ok(seen)
    }

    fn wheel(&self, program: &Path) -> Seen {
        let folder = self.fresh("venv")?;
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let python = folder.join("bin/python");
        let wheel = self.file(".whl")?;
        succeeds(
            Command::new(&python)
                .args(["-m", "pip", "install", "--no-index", "--no-deps", "--quiet"])
                .arg(&wheel),
        )?;
        let bin = folder.join("bin").join(NAME);
        let mut seen = self.runs(|arguments| in_place_of(NAME, &bin, arguments), path_text(program)?)?;
        // Like Python programs: load HIP by its unversioned name, and call it.
        let script = "import ctypes; hip = ctypes.CDLL('libamdhip64.so'); n = ctypes.c_int(); \
                      assert hip.hipGetDeviceCount(ctypes.byref(n)) == 0 and n.value == 2, n.value";
        let device = "vgpu:gfx1100?count=2";
        succeeds(
            Command::new(&bin).args(["run", "--device", device, "--"]).arg(&python).args(["-c", script]),
        )?;
        seen.push("Python, started by it, loads libamdhip64.so and counts two virtual GPUs".to_owned());
        succeeds(Command::new(&python).args(["-m", "pip", "check"]))?;
        Ok(seen)
    }

    fn container(&self, program: &Path) -> Seen {
        let image = self.fresh("image")?;
        succeeds(
            Command::new("tar")
                .arg("--extract")
                .arg("--file")
                .arg(self.file(".oci.tar")?)
                .arg("--directory")
                .arg(&image),
        )?;
        let root = self.fresh("rootfs")?;
        let json = |path: &Path| -> Result<serde_json::Value> {
            let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            serde_json::from_slice(&text).with_context(|| path.display().to_string())
        };
        let blob = |descriptor: &serde_json::Value| -> Result<PathBuf> {
            let digest = descriptor["digest"].as_str().and_then(|digest| digest.strip_prefix("sha256:"));
            Ok(image.join("blobs/sha256").join(digest.context("a digest")?))
        };
        let manifest = json(&blob(&json(&image.join("index.json"))?["manifests"][0])?)?;
        let layers = manifest["layers"].as_array().context("the image has no layers")?;
        for layer in layers {
            succeeds(
                Command::new("tar")
                    .arg("--extract")
                    .arg("--gzip")
                    .arg("--file")
                    .arg(blob(layer)?)
                    .arg("--directory")
                    .arg(&root),
            )?;
        }
        let system = debian::System::of(root);
        system.put(program, "work/program")?;
        let mut seen = self.runs(|arguments| system.command(arguments), "/work/program")?;
        system.put(&models::find(&system.path("usr/bin").join(NAME))?, models::PLACE)?;
        seen.extend(models::answers(|arguments| system.command(arguments), NAME)?);
        seen.push(format!("the {} layers are a system by themselves", layers.len()));
        Ok(seen)
    }
}

fn path_text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}

/// The command, with its program replaced by this one if it is ours.
fn in_place_of(name: &str, program: &Path, arguments: &[&str]) -> Command {
    let (first, rest) = arguments.split_first().unwrap_or((&"", &[]));
    let mut command = match *first == name {
        true => Command::new(program),
        false => Command::new(first),
    };
    command.args(rest);
    command
}
