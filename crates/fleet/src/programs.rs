//! Test programs: each runs separately on a device, with a time limit. If it fails, its files are kept.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::Error;
use crate::component::{Exception, Settings};
use crate::junit::{Case, Outcome, Suite};

/// The exit code of a program that cannot run here, as in GNU's test programs.
const SKIPPED: i32 = 77;
/// How much of a program's output goes into JUnit; its folder has all of it.
const KEPT: usize = 1 << 20;

/// How to run programs.
#[derive(Debug, Clone)]
pub struct Runner<'a> {
    /// The folder of the programs.
    pub programs: PathBuf,
    /// The folder of `libamdhip64.so.7`.
    pub library: PathBuf,
    /// The device, as a URI.
    pub device: String,
    /// Its target.
    pub target: String,
    /// Which part of the programs, from 1, of how many.
    pub shard: (usize, usize),
    /// The component's settings for tests.
    pub settings: &'a Settings,
    /// The folders of failed programs are in `failed` below it.
    pub out: PathBuf,
}

/// The two numbers of `1/2`.
///
/// # Errors
/// The text has another form.
pub fn shard(text: &str) -> Result<(usize, usize), String> {
    let parsed = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    match parsed {
        Some((part, of)) if part >= 1 && part <= of => Ok((part, of)),
        _ => Err(format!("`{text}` is not a part of the tests; write one such as `1/2`")),
    }
}

impl Runner<'_> {
    /// Runs the programs of this part, and judges them.
    ///
    /// # Errors
    /// The folder has no programs, or a file cannot be read or written.
    pub fn run(&self, component: &str, mut tell: impl FnMut(&Case)) -> Result<Suite, Error> {
        let mut programs: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(&self.programs).map_err(Error::io("read", &self.programs))? {
            programs.push(entry.map_err(Error::io("read", &self.programs))?.path());
        }
        programs.sort();
        if programs.is_empty() {
            return Err(Error::input(&self.programs, "holds no test programs"));
        }
        let (part, of) = self.shard;
        let mut suite =
            Suite { name: format!("{component} {} on {}", self.target, self.device), cases: Vec::new() };
        for program in programs.iter().skip(part - 1).step_by(of) {
            let name =
                program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let disabled = self.disabled(&name);
            let mut single = Suite { name: String::new(), cases: Vec::new() };
            single.cases.push(match disabled {
                Some(row) => Case {
                    class: component.to_owned(),
                    name,
                    time: 0.0,
                    outcome: Outcome::Skipped(format!("disabled: {}", row.reason)),
                    output: String::new(),
                    error: String::new(),
                },
                None => self.run_one(component, program, name)?,
            });
            single.judge(&self.settings.expected_failure, &self.target, &self.device);
            single.cases.iter().for_each(&mut tell);
            suite.cases.append(&mut single.cases);
        }
        // A part of the tests does not show all names.
        if of == 1 {
            for rows in [&self.settings.disabled, &self.settings.expected_failure] {
                suite.refuse_rows_without_tests(rows, &self.target, &self.device);
            }
        }
        Ok(suite)
    }

    fn disabled(&self, name: &str) -> Option<&Exception> {
        self.settings.disabled.iter().find(|row| row.holds(name, &self.target, &self.device))
    }

    fn run_one(&self, component: &str, program: &Path, name: String) -> Result<Case, Error> {
        let folder = self.out.join("failed").join(&name);
        fs::create_dir_all(&folder).map_err(Error::io("make the folder", &folder))?;
        let (output, error) = (folder.join("stdout.txt"), folder.join("stderr.txt"));
        let create = |path: &Path| File::create(path).map_err(Error::io("write", path));
        let mut command = Command::new(program);
        command.current_dir(&folder).stdin(Stdio::null()).stdout(create(&output)?).stderr(create(&error)?);
        command.env("FERROCM_DEVICE", &self.device).env("LD_LIBRARY_PATH", &self.library);
        // Only the settings choose the checks, wherever the tests run.
        command.env("FERROCM_VGPU_CHECK", &self.settings.checks);
        let started = Instant::now();
        let child = command.spawn().map_err(Error::io("run", program))?;
        let limit = Duration::from_secs(self.settings.test_timeout);
        let status = wait(child, limit).map_err(Error::io("wait for", program))?;
        let outcome = match status {
            None => Outcome::Failed(format!("took longer than {} s, and was ended", limit.as_secs())),
            Some(status) if status.success() => Outcome::Passed,
            Some(status) if status.code() == Some(SKIPPED) => {
                Outcome::Skipped("the program cannot run here".into())
            }
            Some(status) => Outcome::Failed(status.to_string()),
        };
        let case = Case {
            class: component.to_owned(),
            name,
            time: started.elapsed().as_secs_f64(),
            output: text(&output)?,
            error: text(&error)?,
            outcome,
        };
        match case.outcome {
            Outcome::Failed(_) => self.keep(program, &case.name, &folder)?,
            _ => fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?,
        }
        Ok(case)
    }

    /// Puts the program, and a script to run it, beside its output.
    fn keep(&self, program: &Path, name: &str, folder: &Path) -> Result<(), Error> {
        let copy = folder.join(name);
        fs::copy(program, &copy).map_err(Error::io("write", &copy))?;
        let text = format!(
            "#!/bin/sh\n# Runs the program as the test did. LIBRARY is a folder with libamdhip64.so.7, which `cargo xtask dropin` makes.\n\
             cd \"$(dirname \"$0\")\" || exit\n\
             FERROCM_DEVICE='{}' FERROCM_VGPU_CHECK='{}' LD_LIBRARY_PATH=\"${{LIBRARY:?names no folder}}\" exec './{name}'\n",
            self.device, self.settings.checks
        );
        crate::error::write(&folder.join("reproduce.sh"), &text)
    }
}

/// Waits for a program, and kills it when its time is up.
fn wait(mut child: Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A program's output. If it is long, only the end, which says why the program failed.
fn text(path: &Path) -> Result<String, Error> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    Ok(String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(KEPT)..]).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn program(folder: &Path, name: &str, text: &str) {
        let path = folder.join("bin").join(name);
        fs::create_dir_all(folder.join("bin")).expect("a folder");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("writes");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }

    fn runner<'a>(folder: &Path, settings: &'a Settings) -> Runner<'a> {
        Runner {
            programs: folder.join("bin"),
            library: "/nowhere".into(),
            device: "vgpu:gfx942".into(),
            target: "gfx942".into(),
            shard: (1, 1),
            settings,
            out: folder.join("out"),
        }
    }

    #[test]
    fn programs_pass_fail_are_skipped_and_take_too_long() {
        let folder = tempfile::tempdir().expect("a folder");
        program(folder.path(), "a", "test \"$FERROCM_DEVICE\" = vgpu:gfx942");
        program(folder.path(), "b", "echo said; echo why >&2; exit 3");
        program(folder.path(), "c", "exit 77");
        program(folder.path(), "d", "exec sleep 60");
        program(folder.path(), "e", "exit 1");
        program(folder.path(), "f", "kill -SEGV $$");
        program(folder.path(), "g", "exit 1");
        let text = "test-timeout = 1\n[[disabled]]\ntest = \"e\"\nreason = \"flaky\"\n[[expected-failure]]\ntest = \"g\"\nreason = \"#9\"\n[[expected-failure]]\ntest = \"a\"\nreason = \"#8\"\n[[disabled]]\ntest = \"gone\"\nreason = \"#7\"\n";
        let settings = Settings::parse(text).expect("settings");
        let mut names = Vec::new();
        let suite =
            runner(folder.path(), &settings).run("x", |case| names.push(case.name.clone())).expect("runs");
        assert_eq!(names, ["a", "b", "c", "d", "e", "f", "g"]);
        let told: Vec<String> = suite
            .cases
            .iter()
            .map(|case| match &case.outcome {
                Outcome::Passed => "passed".to_owned(),
                Outcome::Failed(how) => how.lines().next().unwrap_or_default().to_owned(),
                Outcome::Skipped(why) => format!("skipped: {why}"),
            })
            .collect();
        assert_eq!(told[0], "passes now: remove the row");
        assert_eq!(told[1], "exit status: 3");
        assert_eq!(told[2], "skipped: the program cannot run here");
        assert_eq!(told[3], "took longer than 1 s, and was ended");
        assert_eq!(told[4], "skipped: disabled: flaky");
        assert!(told[5].starts_with("signal: 11"), "{}", told[5]);
        assert_eq!(told[6], "skipped: expected failure: #9 (exit status: 1)");
        assert_eq!((told[7].as_str(), told.len()), ("no test has this name: remove the row", 8));
        assert_eq!((suite.cases[1].output.as_str(), suite.cases[1].error.as_str()), ("said\n", "why\n"));
        // Failed programs can be run again.
        let kept = folder.path().join("out/failed/b");
        let again = Command::new("sh")
            .arg(kept.join("reproduce.sh"))
            .env("LIBRARY", "/nowhere")
            .output()
            .expect("sh");
        assert_eq!((again.status.code(), again.stdout.as_slice()), (Some(3), b"said\n".as_slice()));
        assert!(!folder.path().join("out/failed/c").exists());
    }

    #[test]
    fn shards_have_each_program_once() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a", "b", "c"] {
            program(folder.path(), name, "exit 0");
        }
        let settings = Settings::default();
        let names = |part: usize| {
            let runner = Runner { shard: (part, 2), ..runner(folder.path(), &settings) };
            let suite = runner.run("x", |_| {}).expect("runs");
            suite.cases.into_iter().map(|case| case.name).collect::<Vec<_>>()
        };
        assert_eq!((names(1), names(2)), (vec!["a".to_owned(), "c".into()], vec!["b".to_owned()]));
        assert_eq!(shard("2/3"), Ok((2, 3)));
        for bad in ["", "1", "0/1", "3/2", "a/b"] {
            assert!(shard(bad).is_err(), "{bad}");
        }
    }
}
