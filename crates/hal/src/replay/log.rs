//! Takes down what a device does.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::contents::{ArgOf, BufferOf, Bytes, Command, CommandsOf, Contents, Event, PlaceOf};
use crate::command::{Arg, Place};
use crate::error::{Error, Result};
use crate::memory::buffer::{Buffer, WeakBuffer};

/// What a device has done since it was opened.
///
/// An event is taken down before anything can wait for it. So the order of events is one in which all of them
/// can happen one after the other.
#[derive(Debug)]
pub(crate) struct Log {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    contents: Contents,
    buffers: Vec<WeakBuffer>,
}

impl Log {
    pub(crate) fn new(target: String, members: usize) -> Self {
        let contents = Contents::of(target, members as u32);
        Self { state: Mutex::new(State { contents, buffers: Vec::new() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device library.
    pub(crate) fn library(&self, code: &[u8]) {
        self.state().contents.library = vec![code.into()];
    }

    /// Code; gives its number.
    pub(crate) fn code(&self, code: &[u8]) -> u32 {
        add(&mut self.state().contents.codes, code.into())
    }

    /// A buffer; gives its number.
    pub(crate) fn buffer(&self, is_host: bool, member: usize, size: u64) -> u32 {
        let of = BufferOf { is_host: is_host.into(), member: member as u32, size };
        add(&mut self.state().contents.buffers, of)
    }

    /// The object of the buffer with the next number.
    pub(crate) fn holds(&self, number: u32, buffer: WeakBuffer) {
        let mut state = self.state();
        let place = number as usize;
        if state.buffers.len() <= place {
            state.buffers.resize(place + 1, WeakBuffer::default());
        }
        state.buffers[place] = buffer;
    }

    /// The host wrote to a buffer.
    pub(crate) fn wrote(&self, buffer: u32, offset: u64, bytes: &[u8]) {
        self.state().contents.events.push(Event::Write { buffer, offset, bytes: bytes.into() });
    }

    /// The host read bytes of a file to a buffer.
    pub(crate) fn read(&self, buffer: u32, offset: u64, path: &str, at: u64, bytes: &[u8]) {
        let (path, len, hash) = (path.to_owned(), bytes.len() as u64, blake3::hash(bytes).into());
        self.state().contents.events.push(Event::Read { buffer, offset, path, at, len, hash });
    }

    /// A command buffer; gives its number.
    pub(crate) fn commands(&self, member: usize, list: Vec<Command>) -> u32 {
        add(&mut self.state().contents.commands, CommandsOf { member: member as u32, list })
    }

    /// Commands were submitted.
    pub(crate) fn executed(&self, commands: u32, bindings: &[(Buffer, u64)]) {
        let bindings = bindings.iter().map(|(buffer, offset)| (buffer.number(), *offset)).collect();
        self.state().contents.events.push(Event::Execute { commands, bindings });
    }

    /// Everything so far, with the contents of buffers now.
    ///
    /// # Errors
    /// HSA cannot read a buffer.
    pub(crate) fn contents(&self) -> Result<Contents> {
        let (mut contents, buffers) = {
            let state = self.state();
            (state.contents.clone(), state.buffers.clone())
        };
        for (number, buffer) in buffers.iter().enumerate() {
            if let Some(buffer) = buffer.upgrade() {
                let mut bytes = vec![0; buffer.size() as usize];
                buffer.read(0, &mut bytes)?;
                contents.last.push((number as u32, bytes.into()));
            }
        }
        Ok(contents)
    }
}

fn add<T>(list: &mut Vec<T>, value: T) -> u32 {
    list.push(value);
    (list.len() - 1) as u32
}

impl From<Place<'_>> for PlaceOf {
    fn from(place: Place<'_>) -> Self {
        match place {
            Place::Buffer(buffer, offset) => Self::Buffer { buffer: buffer.number(), offset },
            Place::Binding(slot, offset) => Self::Binding { slot: slot as u32, offset },
        }
    }
}

/// The arguments of a kernel, whose description says which are addresses.
///
/// # Errors
/// An address is a value, so that it would mean something else when the file is replayed.
pub(crate) fn arguments(kernel: &crate::executable::Description, args: &[Arg<'_>]) -> Result<Vec<ArgOf>> {
    let one = |(index, (arg, (_, _, kind))): (usize, (&Arg<'_>, &(usize, usize, code_object::ArgKind)))| {
        match arg {
            Arg::At(place) => Ok(ArgOf::At { place: (*place).into() }),
            Arg::Bytes(bytes)
                if *kind == code_object::ArgKind::GlobalBuffer && bytes.iter().any(|byte| *byte != 0) =>
            {
                Err(Error::Replay(
                    format!("argument {index} of kernel {} is an address without its buffer", kernel.name)
                        .into(),
                ))
            }
            Arg::Bytes(bytes) => Ok(ArgOf::Value { bytes: Bytes::from(*bytes) }),
        }
    };
    args.iter().zip(&kernel.arguments).enumerate().map(one).collect()
}
