//! What is wrong with a handle of another process.

/// Why a handle cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IpcError {
    /// Another number of bytes than a handle has.
    #[error("a handle of {what} has {expected} bytes, not {got}")]
    Length {
        /// What the handle should be of.
        what: &'static str,
        /// Bytes of such a handle.
        expected: usize,
        /// Bytes that there are.
        got: usize,
    },

    /// The bytes do not begin as a handle does: they are something else, or of another version of this crate.
    #[error("the bytes are no handle of {what}")]
    Kind {
        /// What the handle should be of.
        what: &'static str,
    },

    /// The bytes were changed since they were written.
    #[error("the handle was damaged on its way")]
    Damaged,

    /// The handle was made by this process, which has the thing itself.
    #[error("the handle was made by this process; only others can open it")]
    SameProcess,

    /// The thing belongs to another device than the one to open it on.
    #[error("the handle is of device {shared}, not of {device}")]
    OtherDevice {
        /// UUID of the device in the handle.
        shared: String,
        /// The device to open it on, with its UUID.
        device: String,
    },

    /// The elements are of another type than they were taken for.
    #[error("the handle is of `{shared}`, {size} bytes each, not of `{wanted}`, {wanted_size} bytes each")]
    Element {
        /// The elements' type, without paths.
        shared: String,
        /// The size of one in bytes.
        size: usize,
        /// The type that was asked for, without paths.
        wanted: String,
        /// The size of that in bytes.
        wanted_size: usize,
    },
}
