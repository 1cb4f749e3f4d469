//! Replay files: a run's code, data, commands and submissions, to run again.

pub(crate) mod contents;
mod encoding;
pub(crate) mod log;

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use self::contents::{ArgOf, Command, CommandsOf, Contents, Event, KernelOf, PlaceOf};
use crate::command::{Arg, CommandBuffer, Grid, Place, Usage};
use crate::device::{Affinity, Device};
use crate::error::{Error, Result};
use crate::executable::{CodeObjects, Executable};
use crate::memory::{Buffer, MemoryKind};
use crate::options::Options;
use crate::semaphore::Semaphore;

/// A run that can be run again. [`Device::capture`] has that of a device.
#[derive(Clone, PartialEq, Debug)]
pub struct Replay {
    contents: Contents,
    /// Where files that it refers to are looked for first.
    folders: Vec<PathBuf>,
}

/// A buffer that ended with other contents than in the captured run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Difference {
    /// The number of the buffer, in the order in which they were made.
    pub buffer: u32,
    /// Its size.
    pub size: u64,
    /// The first byte that differs.
    pub first: u64,
    /// Bytes that differ.
    pub bytes: u64,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { buffer, size, first, bytes } = self;
        write!(f, "buffer {buffer}: {bytes} of {size} bytes differ, from offset {first} on")
    }
}

impl Replay {
    pub(crate) fn new(contents: Contents) -> Self {
        Self { contents, folders: Vec::new() }
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// [`Error::Replay`]: they are not what this version writes, are damaged, or refer to what is not there.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let contents = Contents::parse(bytes);
        contents.map(Self::new).map_err(|problem| Error::Replay(format!("the replay file: {problem}").into()))
    }

    /// The bytes of a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.contents.to_bytes()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Open`], or as for [`parse`](Self::parse).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::parse(&fs::read(path).map_err(|error| Error::open(path, &error))?)
    }

    /// Writes a file.
    ///
    /// # Errors
    /// [`Error::Open`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        fs::write(path, self.to_bytes()).map_err(|error| Error::open(path, &error))
    }

    /// The target of the GPUs of the captured run.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.contents.target
    }

    /// Submissions.
    #[must_use]
    pub fn submissions(&self) -> usize {
        self.contents.events.iter().filter(|event| matches!(event, Event::Execute { .. })).count()
    }

    /// Buffers whose contents at the end are compared.
    #[must_use]
    pub fn compared(&self) -> usize {
        self.contents.last.len()
    }

    /// The files that it refers to: the captured run read parts of them.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.contents.events.iter().filter_map(|event| match event {
            Event::Read { path, .. } => Some(Path::new(path)),
            _ => None,
        })
    }

    /// Looks for the files that it refers to in this folder, by their names, before it looks at their paths.
    pub fn look_in(&mut self, folder: impl Into<PathBuf>) {
        self.folders.push(folder.into());
    }

    /// The bytes of a file that it refers to.
    fn part(&self, path: &str, at: u64, len: u64, hash: &[u8; 32]) -> Result<Vec<u8>> {
        let original = Path::new(path);
        let named = original.file_name().into_iter();
        let inside = named.flat_map(|name| self.folders.iter().map(move |folder| folder.join(name)));
        let path = inside.into_iter().find(|path| path.is_file()).unwrap_or_else(|| original.to_owned());
        let mut file = fs::File::open(&path).map_err(|error| Error::open(&path, &error))?;
        let mut bytes = Vec::new();
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.take(len).read_to_end(&mut bytes));
        if let Err(error) = read {
            return Err(Error::File {
                operation: "reading",
                path,
                offset: at + bytes.len() as u64,
                len: len - bytes.len() as u64,
                kind: error.kind(),
                reason: error.to_string().into(),
            });
        }
        let expected = blake3::Hash::from_bytes(*hash);
        if bytes.len() as u64 != len || blake3::hash(&bytes) != expected {
            let problem = format!(
                "{}: the {len} bytes at offset {at} are not those of the captured run, whose BLAKE3 hash is \
                 {expected}",
                path.display()
            );
            return Err(Error::Replay(problem.into()));
        }
        Ok(bytes)
    }

    /// Options with the device library of the captured run, for the device that [`run`](Self::run) gets.
    ///
    /// # Errors
    /// The library in the file is no code.
    pub fn options(&self) -> Result<Options> {
        let mut options = Options::default();
        if let Some(library) = self.contents.library.first() {
            options.library = Some(CodeObjects::new([library])?);
        }
        Ok(options)
    }

    /// Runs everything again, one submission after the other, and compares what buffers then have. Bytes that
    /// time stamps were written to are not compared.
    ///
    /// # Errors
    /// A file that it refers to is not there or has changed, the device has fewer GPUs, the code does not run
    /// on its target or the commands do not match it, or a submission fails.
    ///
    /// # Safety
    /// The file's kernels are run: they are as trustworthy as a program.
    pub unsafe fn run(&self, device: &Device) -> Result<Vec<Difference>> {
        let wanted = self.contents.members as usize;
        if device.members() < wanted {
            let problem =
                format!("it was captured on {wanted} GPUs, and the device has {}", device.members());
            return Err(Error::Replay(problem.into()));
        }
        let load = |code: &contents::Bytes| device.load(&CodeObjects::new([code])?);
        let codes: Vec<Executable> = self.contents.codes.iter().map(load).collect::<Result<_>>()?;
        let buffers: Vec<Buffer> =
            self.contents.buffers.iter().map(|of| zeros(device, of)).collect::<Result<_>>()?;
        let record = |of: &CommandsOf| {
            // SAFETY: the caller trusts the kernels; buffers and code live as long as the commands.
            unsafe { record(device, &codes, &buffers, of) }
        };
        let commands: Vec<CommandBuffer> =
            self.contents.commands.iter().map(record).collect::<Result<_>>()?;
        let mut stamps: Vec<(u32, u64)> = Vec::new();
        for event in &self.contents.events {
            match event {
                Event::Write { buffer, offset, bytes } => buffers[*buffer as usize].write(*offset, bytes)?,
                Event::Read { buffer, offset, path, at, len, hash } => {
                    buffers[*buffer as usize].write(*offset, &self.part(path, *at, *len, hash)?)?;
                }
                Event::Execute { commands: number, bindings } => {
                    let of = &self.contents.commands[*number as usize];
                    stamps.extend(of.list.iter().filter_map(|command| stamped(command, bindings)));
                    let bound: Vec<(Buffer, u64)> = bindings
                        .iter()
                        .map(|(buffer, offset)| (buffers[*buffer as usize].clone(), *offset))
                        .collect();
                    let first = of.member as usize * device.context().options.queues;
                    let queue = device.queue(Affinity(1 << first.min(63)))?;
                    let done = Semaphore::new(0);
                    queue.execute(&commands[*number as usize], &bound, &[], &[(&done, 1)])?;
                    done.wait(1, None)?;
                }
            }
        }
        let mut differences = Vec::new();
        for (number, expected) in &self.contents.last {
            let mut got = vec![0; expected.len()];
            buffers[*number as usize].read(0, &mut got)?;
            for (_, at) in stamps.iter().filter(|(buffer, _)| buffer == number) {
                let range = *at as usize..(*at as usize).saturating_add(8).min(got.len());
                got[range.clone()].copy_from_slice(&expected[range]);
            }
            let mut differing = (0u64..).zip(got.iter().zip(expected.iter())).filter(|(_, (a, b))| a != b);
            if let Some((first, _)) = differing.next() {
                let (buffer, size, bytes) = (*number, expected.len() as u64, 1 + differing.count() as u64);
                differences.push(Difference { buffer, size, first, bytes });
            }
        }
        Ok(differences)
    }
}

fn zeros(device: &Device, of: &contents::BufferOf) -> Result<Buffer> {
    let kind = if of.is_host == 1 { MemoryKind::Host } else { MemoryKind::Device };
    let buffer = device.allocate_on(kind, of.member as usize, of.size)?;
    buffer.clear()?;
    Ok(buffer)
}

/// Where a command that ran wrote the time.
fn stamped(command: &Command, bindings: &[(u32, u64)]) -> Option<(u32, u64)> {
    let Command::TimeStamp { to } = command else { return None };
    match to {
        PlaceOf::Buffer { buffer, offset } => Some((*buffer, *offset)),
        PlaceOf::Binding { slot, offset } => {
            let (buffer, first) = bindings.get(*slot as usize)?;
            Some((*buffer, first.checked_add(*offset)?))
        }
    }
}

/// Records commands again.
///
/// # Safety
/// As for [`Recorder::dispatch`](crate::Recorder::dispatch).
unsafe fn record(
    device: &Device,
    codes: &[Executable],
    buffers: &[Buffer],
    of: &CommandsOf,
) -> Result<CommandBuffer> {
    fn place<'b>(buffers: &'b [Buffer], place: &PlaceOf) -> Place<'b> {
        match place {
            PlaceOf::Buffer { buffer, offset } => Place::Buffer(&buffers[*buffer as usize], *offset),
            PlaceOf::Binding { slot, offset } => Place::Binding(*slot as usize, *offset),
        }
    }
    fn arguments<'a>(buffers: &'a [Buffer], args: &'a [ArgOf]) -> Vec<Arg<'a>> {
        args.iter()
            .map(|arg| match arg {
                ArgOf::At { place: at } => Arg::At(place(buffers, at)),
                ArgOf::Value { bytes } => Arg::Bytes(bytes),
            })
            .collect()
    }
    let kernel = |of: &KernelOf| codes[of.code as usize].kernel(&of.name);
    let mut recorder = device.record(of.member as usize, Usage::Reusable)?;
    for command in &of.list {
        match command {
            Command::Barrier {} => recorder.barrier(),
            Command::Dispatch { kernel: of, workgroups, workgroup, lds, args } => {
                let grid = Grid { workgroups: *workgroups, workgroup: *workgroup, dynamic_lds: *lds };
                // SAFETY: as this function's contract.
                unsafe { recorder.dispatch(&kernel(of)?, grid, &arguments(buffers, args)) }?
            }
            Command::Indirect { kernel: of, workgroup, lds, counts, args } => {
                let (kernel, counts) = (kernel(of)?, place(buffers, counts));
                // SAFETY: as above.
                unsafe {
                    recorder.dispatch_indirect(&kernel, *workgroup, *lds, counts, &arguments(buffers, args))
                }?
            }
            Command::Copy { to, from, len } => {
                recorder.copy(place(buffers, to), place(buffers, from), *len)?
            }
            Command::Fill { to, pattern, len } => recorder.fill(place(buffers, to), pattern, *len)?,
            Command::Update { to, bytes } => recorder.update(place(buffers, to), bytes)?,
            Command::TimeStamp { to } => recorder.time_stamp(place(buffers, to))?,
        };
    }
    recorder.finish()
}
