//! Who used memory last.

use super::{CudaContext, CudaEvent, CudaStream, SyncOnDrop};

/// Events of the last reads and the last writes of memory; none where the program orders streams itself.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    pub(super) read: Option<CudaEvent>,
    pub(super) write: Option<CudaEvent>,
}

/// Of memory that has none, such as variables of modules.
pub(super) static UNTRACKED: Uses = Uses { read: None, write: None };

impl Uses {
    /// What has to be done before memory of `owner` is read.
    pub(super) fn before_read(&self, owner: &CudaContext) -> impl Iterator<Item = &CudaEvent> {
        let managed = owner.is_managing_stream_synchronization();
        self.write.iter().filter(move |_| managed)
    }

    /// What has to be done before memory of `owner` is written.
    pub(super) fn before_write(&self, owner: &CudaContext) -> impl Iterator<Item = &CudaEvent> {
        let managed = owner.is_managing_stream_synchronization();
        self.read.iter().chain(&self.write).filter(move |_| managed)
    }

    /// Has a stream wait until memory of `owner` can be read, and says what records the read when it has been submitted.
    pub(super) fn read<'a>(&'a self, owner: &CudaContext, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        for event in self.before_read(owner) {
            stream.context().record_err(stream.wait(event));
        }
        recorded(&self.read, owner, stream)
    }

    /// The same of a write.
    pub(super) fn write<'a>(&'a self, owner: &CudaContext, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        for event in self.before_write(owner) {
            stream.context().record_err(stream.wait(event));
        }
        recorded(&self.write, owner, stream)
    }
}

/// With one stream there is nobody to tell.
fn recorded<'a>(event: &'a Option<CudaEvent>, owner: &CudaContext, stream: &'a CudaStream) -> SyncOnDrop<'a> {
    match owner.is_managing_stream_synchronization() {
        true => SyncOnDrop::record_event(event, stream),
        false => SyncOnDrop::Record(None),
    }
}
