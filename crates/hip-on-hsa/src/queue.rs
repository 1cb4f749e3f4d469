//! Queues: what is written to them, how far they have come, and what becomes of it when they fail. Nothing here knows streams.

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
