//! What is in a replay file.

use std::sync::Arc;

use super::encoding::{Kept, Read, Reader, kept_enums, kept_structs};

/// The first bytes of each file.
const MAGIC: &[u8; 16] = b"ferrocm replay\r\n";
/// The version of the format. Another one is refused.
const VERSION: u32 = 2;
/// Magic bytes, version, and the BLAKE3 hash of the contents, which follow.
const HEADER: usize = 16 + 4 + 32;

/// Data, held by everything that refers to it.
pub(crate) type Bytes = Arc<[u8]>;

kept_structs! {
    /// A run.
    Contents {
        /// The target of the GPUs that it ran on.
        target: String,
        /// How many of them the device had.
        members: u32,
        /// The device library, or nothing.
        library: Vec<Bytes>,
        /// Loaded code.
        codes: Vec<Bytes>,
        buffers: Vec<BufferOf>,
        commands: Vec<CommandsOf>,
        /// In the order in which they happened.
        events: Vec<Event>,
        /// What buffers had at the end, those that were still there.
        last: Vec<(u32, Bytes)>,
    }

    /// A buffer, of zeros at the beginning.
    BufferOf {
        /// 1 in the host's memory, 0 in a GPU's.
        is_host: u8,
        member: u32,
        size: u64,
    }

    /// A command buffer.
    CommandsOf {
        member: u32,
        list: Vec<Command>,
    }

    /// A kernel: which code, and its name.
    KernelOf {
        code: u32,
        name: String,
    }
}

kept_enums! {
    /// A range's beginning.
    PlaceOf {
        0 Buffer { buffer: u32, offset: u64, }
        1 Binding { slot: u32, offset: u64, }
    }

    /// An argument.
    ArgOf {
        0 At { place: PlaceOf, }
        1 Value { bytes: Bytes, }
    }

    /// A recorded command.
    Command {
        0 Barrier {}
        1 Dispatch { kernel: KernelOf, workgroups: [u32; 3], workgroup: [u32; 3], lds: u32, args: Vec<ArgOf>, }
        2 Indirect { kernel: KernelOf, workgroup: [u32; 3], lds: u32, counts: PlaceOf, args: Vec<ArgOf>, }
        3 Copy { to: PlaceOf, from: PlaceOf, len: u64, }
        4 Fill { to: PlaceOf, pattern: Bytes, len: u64, }
        5 Update { to: PlaceOf, bytes: Bytes, }
        6 TimeStamp { to: PlaceOf, }
    }

    /// What happened.
    Event {
        /// The host wrote, or read a file whose bytes are kept.
        0 Write { buffer: u32, offset: u64, bytes: Bytes, }
        /// Commands ran, with these buffers bound from these offsets on.
        1 Execute { commands: u32, bindings: Vec<(u32, u64)>, }
        /// The host read a part of a file, whose bytes have this BLAKE3 hash.
        2 Read { buffer: u32, offset: u64, path: String, at: u64, len: u64, hash: [u8; 32], }
    }
}

impl Contents {
    /// A run without anything.
    pub(crate) fn of(target: String, members: u32) -> Self {
        Self {
            target,
            members,
            library: Vec::new(),
            codes: Vec::new(),
            buffers: Vec::new(),
            commands: Vec::new(),
            events: Vec::new(),
            last: Vec::new(),
        }
    }

    /// The bytes of a file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut contents = Vec::new();
        self.put(&mut contents);
        let mut file = Vec::with_capacity(HEADER + contents.len());
        file.extend_from_slice(MAGIC);
        file.extend_from_slice(&VERSION.to_le_bytes());
        file.extend_from_slice(blake3::hash(&contents).as_bytes());
        file.extend_from_slice(&contents);
        file
    }

    /// Reads a file, and checks that everything in it refers to something in it.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn parse(bytes: &[u8]) -> Read<Self> {
        if !bytes.starts_with(MAGIC) {
            return Err("it does not begin as a replay file does".to_owned());
        }
        let version = bytes.get(16..20).and_then(|version| version.try_into().ok()).map(u32::from_le_bytes);
        let (Some(version), Some((header, contents))) = (version, bytes.split_at_checked(HEADER)) else {
            return Err(format!("it has {} bytes, and its header {HEADER}", bytes.len()));
        };
        if version != VERSION {
            return Err(format!("it has version {version} of the format; this program reads {VERSION}"));
        }
        if header[20..] != *blake3::hash(contents).as_bytes() {
            return Err("it is damaged: its hash is not that of its contents".to_owned());
        }
        let mut reader = Reader::new(contents);
        let contents = Self::take(&mut reader)?;
        reader.end()?;
        contents.check()?;
        Ok(contents)
    }

    fn check(&self) -> Read<()> {
        if self.library.len() > 1 {
            return Err(format!("it has {} device libraries", self.library.len()));
        }
        if self.members == 0 {
            return Err("its device has no GPU".to_owned());
        }
        for buffer in &self.buffers {
            self.is_member(buffer.member)?;
            if buffer.is_host > 1 || buffer.size == 0 || buffer.size > i64::MAX as u64 {
                return Err(format!("there is no such buffer: {buffer:?}"));
            }
        }
        for commands in &self.commands {
            self.is_member(commands.member)?;
            commands.list.iter().try_for_each(|command| self.check_command(command))?;
        }
        for event in &self.events {
            match event {
                Event::Write { buffer, offset, bytes } => {
                    self.is_range(*buffer, *offset, bytes.len() as u64)?
                }
                Event::Read { buffer, offset, at, len, .. } => {
                    self.is_range(*buffer, *offset, *len)?;
                    if at.checked_add(*len).is_none_or(|end| end > i64::MAX as u64) {
                        return Err(format!("no file has {len} bytes at offset {at}"));
                    }
                }
                Event::Execute { commands, bindings } => {
                    is_in("command buffers", *commands, self.commands.len())?;
                    bindings.iter().try_for_each(|(buffer, offset)| self.is_range(*buffer, *offset, 0))?;
                }
            }
        }
        for (buffer, bytes) in &self.last {
            self.is_range(*buffer, 0, bytes.len() as u64)?;
            let size = self.buffers[*buffer as usize].size;
            if bytes.len() as u64 != size {
                return Err(format!("buffer {buffer} of {size} bytes ends with {}", bytes.len()));
            }
        }
        Ok(())
    }

    fn check_command(&self, command: &Command) -> Read<()> {
        let place = |place: &PlaceOf| match place {
            PlaceOf::Buffer { buffer, offset } => self.is_range(*buffer, *offset, 0),
            PlaceOf::Binding { .. } => Ok(()),
        };
        let kernel = |kernel: &KernelOf| is_in("code objects", kernel.code, self.codes.len());
        let all = |args: &[ArgOf]| {
            args.iter().try_for_each(|arg| match arg {
                ArgOf::At { place: at } => place(at),
                ArgOf::Value { .. } => Ok(()),
            })
        };
        match command {
            Command::Barrier {} => Ok(()),
            Command::Dispatch { kernel: of, args, .. } => kernel(of).and_then(|()| all(args)),
            Command::Indirect { kernel: of, counts, args, .. } => {
                kernel(of).and_then(|()| place(counts)).and_then(|()| all(args))
            }
            Command::Copy { to, from, .. } => place(to).and_then(|()| place(from)),
            Command::Fill { to, .. } | Command::Update { to, .. } | Command::TimeStamp { to } => place(to),
        }
    }

    fn is_member(&self, member: u32) -> Read<()> {
        is_in("GPUs", member, self.members as usize)
    }

    fn is_range(&self, buffer: u32, offset: u64, len: u64) -> Read<()> {
        is_in("buffers", buffer, self.buffers.len())?;
        let size = self.buffers[buffer as usize].size;
        if offset > size || len > size - offset {
            return Err(format!(
                "{len} bytes at offset {offset} are outside buffer {buffer} of {size} bytes"
            ));
        }
        Ok(())
    }
}

fn is_in(what: &str, number: u32, count: usize) -> Read<()> {
    if (number as usize) < count {
        Ok(())
    } else {
        Err(format!("it has {count} {what}, and uses number {number}"))
    }
}

#[cfg(test)]
mod tests;
