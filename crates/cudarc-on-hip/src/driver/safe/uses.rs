//! The last uses of memory.

use super::{CudaContext, CudaEvent, CudaStream, SyncOnDrop};

/// Events of the last reads and the last writes of memory; none if the program orders streams itself.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    pub(super) read: Option<CudaEvent>,
    pub(super) write: Option<CudaEvent>,
}

/// For memory without events, such as variables of modules.
pub(super) static UNTRACKED: Uses = Uses { read: None, write: None };

impl Uses {
    /// What must be done before memory of `owner` is read.
    pub(super) fn before_read(&self, owner: &CudaContext) -> impl Iterator<Item = &CudaEvent> {
        let managed = owner.is_managing_stream_synchronization();
        self.write.iter().filter(move |_| managed)
    }

    /// What must be done before memory of `owner` is written.
    pub(super) fn before_write(&self, owner: &CudaContext) -> impl Iterator<Item = &CudaEvent> {
        let managed = owner.is_managing_stream_synchronization();
        self.read.iter().chain(&self.write).filter(move |_| managed)
    }

    /// Makes a stream wait until memory of `owner` can be read, and returns what records the read once it has
    /// been submitted.
    pub(super) fn read<'a>(&'a self, owner: &CudaContext, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        for event in self.before_read(owner) {
            stream.context().record_err(stream.wait(event));
        }
        recorded(&self.read, owner, stream)
    }

    /// The same for a write.
    pub(super) fn write<'a>(&'a self, owner: &CudaContext, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        for event in self.before_write(owner) {
            stream.context().record_err(stream.wait(event));
        }
        recorded(&self.write, owner, stream)
    }
}

/// With a single stream, nothing needs to wait.
fn recorded<'a>(event: &'a Option<CudaEvent>, owner: &CudaContext, stream: &'a CudaStream) -> SyncOnDrop<'a> {
    match owner.is_managing_stream_synchronization() {
        true => SyncOnDrop::record_event(event, stream),
        false => SyncOnDrop::Record(None),
    }
}
