//! Runs the tests of one program in separate processes.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::gtest::{self, Line, Outcome};
use super::table::Suite;

/// A test that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) test: String,
    pub(super) outcome: Outcome,
    /// For a failed test, the program's last message.
    pub(super) detail: String,
}

/// The time that a program may take before its first test and after its last.
pub(super) const AROUND: Duration = Duration::from_secs(600);

/// Kills a process and all its children, which form one group.
fn end(child: &mut Child) {
    let group = format!("-{}", child.id());
    // It is fine if the group no longer exists.
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    let _ = child.wait();
}

/// A program's list of tests, within a time limit. Fails if the program fails or takes longer.
pub(super) fn list(mut command: Command, filter: &str, log: &Path, limit: Duration) -> Result<Vec<String>> {
    command.arg("--gtest_list_tests").arg(format!("--gtest_filter={filter}"));
    command.stderr(File::create(log).with_context(|| log.display().to_string())?);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).spawn()?;
    let output = child.stdout.take();
    let (sender, listing) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.map_or(Ok(0), |mut output| output.read_to_end(&mut bytes));
        // After the limit, nobody receives this.
        let _ = sender.send(read.map(|_| bytes));
    });
    let program = setup::run::describe(&command);
    let Ok(bytes) = listing.recv_timeout(limit) else {
        end(&mut child);
        bail!("{program} has listed no tests in {} s", limit.as_secs());
    };
    let status = child.wait()?;
    end(&mut child);
    if !status.success() {
        bail!("{program} lists no tests ({status}); {} says why", log.display());
    }
    Ok(gtest::names(&String::from_utf8_lossy(&bytes?)))
}

/// Runs the tests in order in as few processes as possible. Each process ends at the first test that does not
/// pass, unless that is `known` to fail, and the next one continues after it.
pub(super) fn run(
    command: impl Fn() -> Result<Command>,
    tests: &[String],
    suite: &Suite,
    known: impl Fn(&str) -> bool,
    log: &Path,
) -> Result<Vec<Ran>> {
    let mut log = File::create(log).with_context(|| log.display().to_string())?;
    let mut ran: Vec<Ran> = Vec::new();
    loop {
        let done: HashSet<&str> = ran.iter().map(|ran| ran.test.as_str()).collect();
        let rest: Vec<String> = tests.iter().filter(|test| !done.contains(test.as_str())).cloned().collect();
        let Some(first) = rest.first() else { return Ok(ran) };
        let before = ran.len();
        process(command()?, &rest, suite, &known, &mut log, &mut ran)?;
        if ran.len() == before {
            // No test started. The test may not be at fault, but it was the next to run.
            let detail = "the program ended before the test started".to_owned();
            ran.push(Ran { test: first.clone(), outcome: Outcome::Crashed, detail });
        }
    }
}

fn process(
    mut command: Command,
    tests: &[String],
    suite: &Suite,
    known: impl Fn(&str) -> bool,
    log: &mut File,
    ran: &mut Vec<Ran>,
) -> Result<()> {
    command.arg(format!("--gtest_filter={}", tests.join(":"))).arg("--gtest_color=no");
    // One pipe for both, so that errors appear in order.
    let (output, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
    let limit = suite.limit();
    let mut child = command.spawn()?;
    // The command holds write ends, and the pipe closes with the last of them.
    drop(command);
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    let mut current: Option<String> = None;
    let mut said: Vec<String> = Vec::new();
    let mut deadline = Instant::now() + AROUND + limit;
    let last = ran.len() + tests.len();
    let mut done = |test: String, outcome: Outcome, said: &[String]| {
        let detail = if outcome > Outcome::Skipped { reason(said) } else { String::new() };
        ran.push(Ran { test, outcome, detail });
        ran.len()
    };
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(text) => {
                writeln!(log, "{text}")?;
                match gtest::line(&text) {
                    Line::Started(name) => {
                        if let Some(before) = current.replace(name.to_owned()) {
                            said.push("the program does not say how the test ended".to_owned());
                            done(before, Outcome::Failed, &said);
                        }
                        said.clear();
                        deadline = Instant::now() + limit;
                    }
                    Line::Ended(name, outcome) if current.as_deref() == Some(name) => {
                        let test = current.take().unwrap_or_default();
                        let goes_on = outcome <= Outcome::Skipped || suite.goes_on || known(&test);
                        let count = done(test, outcome, &said);
                        // A failed test must not affect the next one.
                        if !goes_on || count == last {
                            end(&mut child);
                            return Ok(());
                        }
                        deadline = Instant::now() + AROUND;
                    }
                    _ if current.is_some() && !text.trim().is_empty() && said.len() < MOST_LINES => {
                        said.push(text);
                    }
                    _ => {}
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                end(&mut child);
                if let Some(test) = current {
                    done(test, Outcome::OutOfTime, &said);
                }
                return Ok(());
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait()?;
                end(&mut child);
                if let Some(test) = current {
                    let how = match status.signal() {
                        Some(signal) => format!("{ENDED}by signal {signal}"),
                        None => format!("{ENDED}with exit code {}", status.code().unwrap_or(-1)),
                    };
                    said.push(how);
                    done(test, Outcome::Crashed, &said);
                }
                return Ok(());
            }
        }
    }
}

/// The number of kept output lines of a test.
const MOST_LINES: usize = 5000;

/// The most useful part of a failed test's output: a failed check with the lines after it, or else the last
/// line.
fn reason(said: &[String]) -> String {
    const SIGNS: [&str; 6] = [": Failure", "Assertion", "fault", "terminate called", "ERROR", "rror:"];
    let is_sign = |line: &String| SIGNS.iter().any(|sign| line.contains(sign));
    let from = said.iter().position(is_sign).unwrap_or(said.len().saturating_sub(1));
    let mut lines: Vec<&str> = said[from..].iter().take(4).map(|line| line.trim()).collect();
    let end = said.last().map(String::as_str).filter(|line| line.starts_with(ENDED));
    lines.extend(end.filter(|end| !lines.contains(end)));
    lines.join("; ")
}

/// The start of the line that says how a process ended.
const ENDED: &str = "the process ended ";

#[cfg(test)]
mod tests {
    use super::super::table::PLAIN;
    use super::*;

    /// A program that behaves like a GoogleTest program: it runs the filtered tests, and their names
    /// determine the results.
    const PROGRAM: &str = r#"
for argument; do case $argument in --gtest_filter=*) filter=${argument#*=};; esac; done
IFS=:
for test in $filter; do
  echo "[ RUN      ] $test"
  case $test in
    *ok*) echo "[       OK ] $test (1 ms)";;
    *bad*) echo 'file.cc:7: Failure'; echo "[  FAILED  ] $test (1 ms)";;
    *worse*) echo 'file.cc:8: Failure'; echo "[  FAILED  ] $test, where GetParam() = { n: 1 }"; echo ' (1 ms)';;
    *mute*) ;;
    *skip*) echo "[  SKIPPED ] $test (0 ms)";;
    *slow*) sleep 60 & wait;;
    *crash*) kill -SEGV $$;;
    *exit*) exit 3;;
  esac
done
"#;

    #[test]
    fn each_test_has_its_outcome_and_none_ends_the_others() {
        let folder = tempfile::tempdir().expect("folder");
        let command = || {
            let mut command = Command::new("sh");
            command.args(["-c", PROGRAM, "program"]);
            Ok(command)
        };
        let names = [
            "A.ok1", "A.bad", "A.skip", "A.slow", "A.ok2", "A.crash", "A.exit", "A.worse", "A.mute", "A.ok3",
        ];
        let tests = names.map(str::to_owned);
        let log = folder.path().join("log");
        let started = Instant::now();
        let ran = run(command, &tests, &Suite { seconds: 1, ..PLAIN }, |_| false, &log).expect("runs");
        assert!(started.elapsed() < Duration::from_secs(30));
        use Outcome::*;
        let outcomes = [Passed, Failed, Skipped, OutOfTime, Passed, Crashed, Crashed, Failed, Failed, Passed];
        assert_eq!(ran.iter().map(|ran| ran.test.as_str()).collect::<Vec<_>>(), names);
        assert_eq!(ran.iter().map(|ran| ran.outcome).collect::<Vec<_>>(), outcomes);
        assert_eq!(ran[1].detail, "file.cc:7: Failure");
        assert_eq!(ran[3].detail, "");
        assert_eq!(ran[5].detail, "the process ended by signal 11");
        assert_eq!(ran[6].detail, "the process ended with exit code 3");
        assert_eq!(ran[7].detail, "file.cc:8: Failure");
        assert_eq!(ran[8].detail, "the program does not say how the test ended");
    }

    #[test]
    fn a_process_goes_on_behind_a_test_that_is_known_to_fail() {
        let folder = tempfile::tempdir().expect("folder");
        let started = std::cell::Cell::new(0);
        let command = || {
            started.set(started.get() + 1);
            let mut command = Command::new("sh");
            command.args(["-c", PROGRAM, "program"]);
            Ok(command)
        };
        let tests = ["A.bad1", "A.ok1", "A.bad2", "A.ok2"].map(str::to_owned);
        let log = folder.path().join("log");
        let ran = run(command, &tests, &PLAIN, |test| test == "A.bad1", &log).expect("runs");
        use Outcome::*;
        assert_eq!(ran.iter().map(|ran| ran.outcome).collect::<Vec<_>>(), [Failed, Passed, Failed, Passed]);
        assert_eq!(started.get(), 2);
    }

    #[test]
    fn a_listing_has_an_end() {
        let folder = tempfile::tempdir().expect("folder");
        let listed = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            list(command, "*", &folder.path().join("log"), Duration::from_secs(1))
        };
        assert_eq!(listed("echo A.; echo '  b'").expect("lists"), ["A.b"]);
        assert_eq!(listed("true").expect("has none"), [""; 0]);
        let failed = listed("echo A.; exit 3").expect_err("fails").to_string();
        assert!(failed.contains("exit status: 3") && failed.contains("log says why"), "{failed}");
        let started = Instant::now();
        let slow = listed("echo A.; sleep 60").expect_err("is slow").to_string();
        assert!(slow.contains("no tests in 1 s") && started.elapsed() < Duration::from_secs(30), "{slow}");
    }

    #[test]
    fn a_program_that_starts_nothing_fails_every_test() {
        let folder = tempfile::tempdir().expect("folder");
        let command = || Ok(Command::new("true"));
        let tests = ["A.a".to_owned(), "A.b".to_owned()];
        let ran = run(command, &tests, &PLAIN, |_| false, &folder.path().join("log")).expect("runs");
        assert!(ran.len() == 2 && ran.iter().all(|ran| ran.outcome == Outcome::Crashed), "{ran:?}");
    }
}
