//! Queues: the packets written to them, their progress, and what happens when they fail. Nothing here uses
//! streams.

pub(crate) mod arguments;
pub(crate) mod hostcall;
pub(crate) mod marker;
pub(crate) mod order;
pub(crate) mod print_buffer;
pub(crate) mod printf;
pub(crate) mod progress;
pub(crate) mod shown;
pub(crate) mod submitter;
pub(crate) mod worker;
