//! The timeline file: who creates it, and how complete events are appended.

use std::ffi::OsString;
use std::fs::{self, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{RwLock, TryLockError as Busy};
use std::time::{Duration, Instant};

use crate::Track;
use crate::event::{self, Text, Value};

/// How much of a file is read to find its owner. The first line is shorter than this.
const FIRST_LINE: u64 = 4096;
/// The field of the first line that distinguishes a process from earlier ones with the same id.
const PROCESS: &str = "ferrocm";
/// How long to wait for another copy to write the first line.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a process that ends waits for a thread that is writing an event.
const LAST_EVENT: Duration = Duration::from_millis(200);
/// The end of the array. Only processes that end normally write it.
const END: &str = "\n]\n";

/// The file that this process appends to.
#[derive(Debug)]
pub(crate) struct File {
    file: fs::File,
    path: PathBuf,
    process: u32,
    /// Writing failed; nothing more is written.
    has_failed: AtomicBool,
    /// The process is ending; nothing more is written. Held while an event is written.
    is_closed: RwLock<bool>,
}

impl File {
    /// Creates the file, or continues one that another copy of this crate in this process created. If the
    /// file belongs to another process, a file with this process's id in its name is used instead.
    ///
    /// # Errors
    /// The problem as text.
    pub(crate) fn open(named: &Path) -> Result<Self, String> {
        let process = std::process::id();
        let path = with_process(named, process);
        if let Some(file) = Self::begin(&path, process)? {
            return Ok(file);
        }
        let other = beside(&path, process);
        let file = Self::begin(&other, process)?
            .ok_or_else(|| format!("the file belongs to another process, and so does {}", other.display()))?;
        // Several copies of this crate get here; the one that created the file reports it.
        if file.is_first() {
            // If standard error is closed, nobody reads this.
            let _ = writeln!(
                io::stderr(),
                "{} belongs to another process; the timeline of this process is {}",
                path.display(),
                other.display()
            );
        }
        Ok(file)
    }

    /// Returns none if the file belongs to another process.
    fn begin(path: &Path, process: u32) -> Result<Option<Self>, String> {
        let explain = |error: io::Error| format!("the file cannot be opened: {error}");
        match fs::metadata(path) {
            // Opening anything else may block or have side effects.
            Ok(metadata) if !metadata.is_file() => return Err("it is not a regular file".to_owned()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(explain(error)),
            _ => {}
        }
        let opened = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut file = match opened {
            Ok(file) => file,
            // A file that only others may write belongs to them.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && path.exists() => {
                return Ok(None);
            }
            Err(error) => return Err(explain(error)),
        };
        // Whoever finds the file empty writes the first line. Two copies of this crate can get here at the
        // same time.
        lock(&file).map_err(explain)?;
        let begun = Self::first_line(&mut file, process).inspect(|is_ours| {
            if *is_ours {
                writers::join(&file);
            }
        });
        let unlocked = file.unlock();
        let is_ours = begun.and_then(|is_ours| unlocked.map(|()| is_ours)).map_err(explain)?;
        let made = || Self {
            file,
            path: path.to_owned(),
            process,
            has_failed: AtomicBool::new(false),
            is_closed: RwLock::new(false),
        };
        Ok(is_ours.then(made))
    }

    /// Whether the file belongs to this process. Writes the first line if the file is empty, and removes the
    /// end that a copy wrote which was unloaded before.
    fn first_line(file: &mut fs::File, process: u32) -> io::Result<bool> {
        let mut begin = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.take(FIRST_LINE).read_to_end(&mut begin)?;
        let track = Track { process, thread: process };
        let values = [(PROCESS, Value::Text(&identity(process)))];
        let Text(line) = event::name("process_name", track, &program(), &values);
        let line = format!("[{line}");
        if begin.is_empty() {
            file.write_all(line.as_bytes())?;
            return Ok(true);
        }
        if !begin.starts_with(line.as_bytes()) {
            return Ok(false);
        }
        let whole = file.metadata()?.len();
        if let Some(length) = whole.checked_sub(END.len() as u64) {
            let mut end = Vec::new();
            file.seek(SeekFrom::Start(length))?;
            file.take(END.len() as u64).read_to_end(&mut end)?;
            if end == END.as_bytes() {
                file.set_len(length)?;
            }
        }
        Ok(true)
    }

    /// Nothing more is written. The last copy of this crate that does this closes the array.
    pub(crate) fn close(&self) {
        // A forked process is a different one.
        if std::process::id() != self.process {
            return;
        }
        // If `exit` was called by a signal's handler, it may have interrupted a write of this thread.
        let begun = Instant::now();
        loop {
            match self.is_closed.try_write() {
                Ok(mut is_closed) => {
                    *is_closed = true;
                    break;
                }
                Err(Busy::Poisoned(_)) => return,
                Err(Busy::WouldBlock) if begun.elapsed() > LAST_EVENT => return,
                Err(Busy::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        // Meanwhile, no other copy opens the file.
        if lock(&self.file).is_err() {
            return;
        }
        if writers::leave(&self.file) && !self.has_failed.load(Ordering::Relaxed) {
            // A file without its end is readable, too.
            let _ = (&self.file).write_all(END.as_bytes());
        }
        let _ = self.file.unlock();
    }

    /// Whether the file holds only its first line.
    fn is_first(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.len() < FIRST_LINE)
    }

    /// Appends an event.
    pub(crate) fn append(&self, Text(event): &Text) {
        // A forked process is a different one, and its GPUs are not usable.
        if self.has_failed.load(Ordering::Relaxed) || std::process::id() != self.process {
            return;
        }
        let Ok(is_closed) = self.is_closed.read() else { return };
        if *is_closed {
            return;
        }
        let line = format!(",\n{event}");
        // A single write: the system appends it as a whole, even if others append at the same time.
        let written = loop {
            match (&self.file).write(line.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => break written,
            }
        };
        let problem = match written {
            Ok(length) if length == line.len() => return,
            Ok(_) => "no space left".to_owned(),
            Err(error) => error.to_string(),
        };
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            let _ = writeln!(
                io::stderr(),
                "the timeline {} ends here, because it cannot be written: {problem}",
                self.path.display()
            );
        }
    }
}

/// The copies of this crate that write to a file: each has a lock on a byte far behind its end, through its
/// own open file.
#[cfg(target_os = "linux")]
mod writers {
    use std::fs::File;
    use std::os::fd::AsRawFd as _;

    const BYTE: libc::off_t = libc::off_t::MAX - 1;

    fn set(file: &File, kind: libc::c_int) -> bool {
        // SAFETY: all fields are numbers.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = BYTE;
        lock.l_len = 1;
        // SAFETY: the descriptor is the file's, and the lock is read only.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) == 0 }
    }

    /// The owner of this open file writes from now on.
    pub(super) fn join(file: &File) {
        set(file, libc::F_RDLCK);
    }

    /// It writes nothing more. True if nobody else does.
    pub(super) fn leave(file: &File) -> bool {
        let is_last = set(file, libc::F_WRLCK);
        set(file, libc::F_UNLCK);
        is_last
    }
}

#[cfg(not(target_os = "linux"))]
mod writers {
    pub(super) fn join(_file: &std::fs::File) {}

    /// Nobody knows who else writes.
    pub(super) fn leave(_file: &std::fs::File) -> bool {
        false
    }
}

/// Locks a file briefly. Others hold the lock only while they write the first line.
fn lock(file: &fs::File) -> io::Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() > end => {
                return Err(io::Error::other("another process has locked it"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Replaces `%p` in the name by the process id.
fn with_process(path: &Path, process: u32) -> PathBuf {
    match path.to_str() {
        Some(text) => text.replace("%p", &process.to_string()).into(),
        None => path.to_owned(),
    }
}

/// Inserts the process id before the file extension.
fn beside(path: &Path, process: u32) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(format!(".{process}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// Identifies this process among all since the machine booted: its id and its start time.
fn identity(process: u32) -> String {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is the program's name in parentheses, which can contain any character. The 22nd is the
    // start time.
    let begun = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{process} {} {}", begun.unwrap_or("0"), boot.trim())
}

/// The program's name.
fn program() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &Path) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(path).unwrap();
        serde_json::from_str(&format!("{text}]")).unwrap()
    }

    /// The events of a complete file.
    fn complete(path: &Path) -> Option<usize> {
        serde_json::from_str::<Vec<serde_json::Value>>(&fs::read_to_string(path).unwrap())
            .ok()
            .map(|all| all.len())
    }

    #[test]
    fn the_last_copy_that_ends_closes_the_array() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let (first, second) = (File::open(&path).unwrap(), File::open(&path).unwrap());
        first.append(&event("a"));
        first.close();
        assert_eq!(complete(&path), None);
        second.append(&event("b"));
        first.append(&event("too late"));
        second.close();
        assert_eq!(complete(&path), Some(3));
        second.append(&event("too late"));
        assert_eq!(complete(&path), Some(3));
        // A library that is loaded again continues.
        let third = File::open(&path).unwrap();
        third.append(&event("c"));
        assert_eq!((complete(&path), lines(&path).len()), (None, 4));
        third.close();
        assert_eq!(complete(&path), Some(4));
    }

    #[test]
    fn a_copy_that_ends_waits_for_an_event_that_is_written_but_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let file = File::open(&path).unwrap();
        std::thread::scope(|scope| {
            let writing = file.is_closed.read().unwrap();
            let ends = scope.spawn(|| file.close());
            std::thread::sleep(Duration::from_millis(10));
            assert!(!ends.is_finished() && complete(&path).is_none());
            drop(writing);
        });
        assert_eq!(complete(&path), Some(1));
        let file = File::open(&path).unwrap();
        let _writing = file.is_closed.read().unwrap();
        file.close();
        assert_eq!(complete(&path), None);
    }

    fn event(text: &str) -> Text {
        event::name("thread_name", Track { process: 1, thread: 1 }, text, &[])
    }

    #[test]
    fn copies_in_one_process_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let first = File::open(&path).unwrap();
        let second = File::open(&path).unwrap();
        std::thread::scope(|scope| {
            for file in [&first, &second] {
                scope.spawn(|| (0..1000).for_each(|_| file.append(&event(&"x".repeat(300)))));
            }
        });
        assert_eq!(lines(&path).len(), 2001);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn many_that_come_at_once_begin_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| File::open(&path).unwrap().append(&event("x")));
            }
        });
        assert_eq!(lines(&path).len(), 9);
    }

    #[test]
    fn what_another_process_has_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        for content in ["fn main() {}\n", "[{\"ph\":\"M\",\"pid\":1,\"tid\":1}"] {
            let path = folder.path().join("a.b.json");
            fs::write(&path, content).unwrap();
            let file = File::open(&path).unwrap();
            file.append(&event("x"));
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            let other = folder.path().join(format!("a.b.{}.json", std::process::id()));
            assert_eq!(file.path, other);
            assert_eq!(lines(&other).len(), 2);
            fs::remove_file(other).unwrap();
        }
    }

    #[test]
    fn the_process_id_can_stand_in_the_name() {
        let folder = tempfile::tempdir().unwrap();
        File::open(&folder.path().join("t-%p.json")).unwrap();
        assert_eq!(lines(&folder.path().join(format!("t-{}.json", std::process::id()))).len(), 1);
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["/dev/zero", "/dev/full", "/nowhere/at/all", "", "\0", folder.path().to_str().unwrap()] {
            assert!(File::open(Path::new(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn a_file_that_somebody_keeps_locked_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let other = fs::File::create(&path).unwrap();
        other.lock().unwrap();
        assert!(File::open(&path).unwrap_err().contains("locked"));
    }
}
