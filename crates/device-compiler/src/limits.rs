//! Limits on a compiler's time and memory.
//!
//! A few lines of C++ can keep a compiler busy forever, or until the machine runs out of memory. Sources that
//! arrive at run time are therefore compiled with [`Limits`]. Builds have none: their sources are the user's
//! own, and the user can stop a build.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process_group};

/// What a compiler may use. `None` means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time from the start of each process to its end.
    pub time: Option<Duration>,
    /// Bytes of address space of each process, and of each file that it writes.
    pub memory: Option<u64>,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self { time: None, memory: None };
    /// Five minutes and 2 GiB. Compiling a kernel with HIP's headers takes clang a second and some 0.4 GiB of
    /// address space.
    pub const DEFAULT: Self = Self { time: Some(Duration::from_secs(300)), memory: Some(2 << 30) };

    /// The limits in `FERROCM_RTC_TIMEOUT` and `FERROCM_RTC_MEMORY`, `none` for no limit; else the
    /// [defaults](Self::DEFAULT).
    ///
    /// # Errors
    /// A variable has another value.
    pub fn from_env() -> Result<Self, variables::Error> {
        Ok(Self {
            time: variables::RTC_TIMEOUT.time_limit()?.unwrap_or(Self::DEFAULT.time),
            memory: variables::RTC_MEMORY.memory_limit()?.unwrap_or(Self::DEFAULT.memory),
        })
    }
}

/// The limit at which a compiler was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exceeded {
    /// [`Limits::time`].
    Time(Duration),
    /// [`Limits::memory`].
    Memory(u64),
    /// It printed more than this many bytes.
    Output(u64),
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(limit) => {
                write!(f, "the compiler was stopped after {limit:?}, its time limit")
            }
            Self::Memory(limit) => {
                write!(f, "the compiler was stopped at {limit} bytes, its memory limit")
            }
            Self::Output(limit) => {
                write!(f, "the compiler was stopped because it printed over {limit} bytes")
            }
        }
    }
}

/// The bytes that a compiler with limits may print.
const PRINTED: u64 = 32 << 20;
/// Messages of compilers, linkers and shells that run out of memory or exceed the file size limit.
const OUT_OF_MEMORY: [&str; 5] =
    ["out of memory", "bad_alloc", "Cannot allocate memory", "File too large", "File size limit exceeded"];

/// Runs a program until it ends or reaches a limit; then it is killed with its children.
///
/// # Errors
/// Those of running a program.
pub fn output(mut command: Command, limits: Limits) -> io::Result<Result<Output, Exceeded>> {
    if limits == Limits::NONE {
        return command.output().map(Ok);
    }
    let begin = Instant::now();
    let mut child = restricted(&command, limits).spawn()?;
    let group = Pid::from_child(&child);
    // The group exists until its first process has been waited for.
    let end = || {
        let _ = kill_process_group(group, Signal::KILL);
    };
    let (send, receive) = channel();
    let pipes: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as _),
        child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    let mut exceeded = None;
    let printed = std::thread::scope(|scope| {
        let readers = pipes.map(|pipe| {
            let send = send.clone();
            scope.spawn(move || pipe.map_or_else(Vec::new, |pipe| read(pipe, &send)))
        });
        drop(send);
        loop {
            let rest = limits.time.map(|time| time.saturating_sub(begin.elapsed()));
            let event = match rest {
                Some(rest) => receive.recv_timeout(rest),
                None => receive.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(TooMuch) => exceeded = exceeded.or(Some(Exceeded::Output(PRINTED))),
                Err(RecvTimeoutError::Timeout) => exceeded = exceeded.or(limits.time.map(Exceeded::Time)),
                // Both pipes are closed.
                Err(RecvTimeoutError::Disconnected) => break,
            }
            end();
            // Output printed before is still read.
            if receive.iter().next().is_none() {
                break;
            }
        }
        readers.map(|reader| reader.join().unwrap_or_default())
    });
    // A program that closes its output may continue to run.
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Some(time) = limits.time
            && begin.elapsed() >= time
        {
            end();
            exceeded = exceeded.or(Some(Exceeded::Time(time)));
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let [stdout, stderr] = printed;
    if exceeded.is_none() && !status.success() {
        let text = String::from_utf8_lossy(&stderr);
        if status.signal() == Some(Signal::XCPU.as_raw()) {
            exceeded = limits.time.map(Exceeded::Time);
        } else if status.signal() == Some(Signal::XFSZ.as_raw())
            || OUT_OF_MEMORY.iter().any(|words| text.contains(words))
        {
            exceeded = limits.memory.map(Exceeded::Memory);
        }
    }
    Ok(exceeded.map_or(Ok(Output { status, stdout, stderr }), Err))
}

/// A program printed more than allowed.
struct TooMuch;

fn read(mut pipe: impl Read, send: &Sender<TooMuch>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Output before an error counts.
    let _ = pipe.by_ref().take(PRINTED).read_to_end(&mut bytes);
    if bytes.len() as u64 == PRINTED && pipe.read(&mut [0]).is_ok_and(|more| more > 0) {
        let _ = send.send(TooMuch);
        let _ = io::copy(&mut pipe, &mut io::sink());
    }
    bytes
}

/// Another program in the same environment and folder, without arguments.
pub(crate) fn copy(command: &Command, program: &OsStr) -> Command {
    let mut copy = Command::new(program);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => copy.env(name, value),
            None => copy.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        copy.current_dir(folder);
    }
    copy
}

/// The same command, started by a shell that first sets limits for itself and its children.
fn restricted(command: &Command, limits: Limits) -> Command {
    let within = |resource: Resource, limit: u64| {
        getrlimit(resource).maximum.map_or(limit, |allowed| limit.min(allowed))
    };
    let mut script = String::from("ulimit -c 0; ");
    if let Some(memory) = limits.memory {
        // Shells count memory in KiB, and files in blocks of 512 bytes.
        script.push_str(&format!("ulimit -v {}; ", within(Resource::As, memory) >> 10));
        script.push_str(&format!("ulimit -f {}; ", within(Resource::Fsize, memory) >> 9));
    }
    // In case this process dies before it can kill it.
    if let Some(time) = limits.time {
        script.push_str(&format!("ulimit -t {}; ", within(Resource::Cpu, time.as_secs().saturating_add(1))));
    }
    script.push_str("exec \"$0\" \"$@\"");
    let mut restricted = copy(command, "/bin/sh".as_ref());
    restricted.arg("-c").arg(script).arg(command.get_program()).args(command.get_args());
    restricted.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    restricted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limits: Limits) -> Result<Output, Exceeded> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        output(command, limits).unwrap()
    }

    #[test]
    fn the_table_of_variables_has_the_defaults() {
        let seconds = Limits::DEFAULT.time.map(|time| format!("{} s", time.as_secs()));
        let memory = Limits::DEFAULT.memory.map(|bytes| format!("{} GiB", bytes >> 30));
        assert_eq!(seconds.as_deref(), Some(variables::RTC_TIMEOUT.default));
        assert_eq!(memory.as_deref(), Some(variables::RTC_MEMORY.default));
    }

    #[test]
    fn what_ends_by_itself_gives_what_it_printed() {
        for limits in [Limits::NONE, Limits::DEFAULT] {
            let done = run("echo out; echo err >&2; exit 3", limits).unwrap();
            assert_eq!((&done.stdout[..], &done.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
            assert_eq!(done.status.code(), Some(3));
        }
    }

    #[test]
    fn what_takes_too_long_is_ended_with_its_children() {
        let time = Duration::from_millis(200);
        let limits = Limits { time: Some(time), memory: None };
        // A child that keeps the pipes open, and a program that has closed them.
        for script in ["sleep 1000 & sleep 1000; wait", "exec >&- 2>&-; sleep 1000"] {
            assert_eq!(run(script, limits).unwrap_err(), Exceeded::Time(time), "{script}");
        }
    }

    #[test]
    fn what_takes_too_much_memory_or_makes_too_long_a_file_is_ended() {
        let memory = 256 << 20;
        let limits = Limits { time: None, memory: Some(memory) };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let long = format!("head -c 300M /dev/zero > {}", file.display());
        // LLVM's message, and the limit of the process.
        let said = "[ $(ulimit -v) = 262144 ] && echo 'LLVM ERROR: out of memory' >&2; exit 1";
        for script in [said, &long] {
            assert_eq!(run(script, limits).unwrap_err(), Exceeded::Memory(memory), "{script}");
        }
    }

    #[test]
    fn what_prints_without_an_end_is_ended() {
        assert_eq!(run("yes", Limits::DEFAULT).unwrap_err(), Exceeded::Output(PRINTED));
        assert_eq!(run("yes >&2", Limits::DEFAULT).unwrap_err(), Exceeded::Output(PRINTED));
    }
}
