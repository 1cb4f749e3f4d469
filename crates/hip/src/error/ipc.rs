//! Errors of handles from other processes.

/// Why a handle cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IpcError {
    /// The number of bytes is not that of a handle.
    #[error("a handle of {what} has {expected} bytes, not {got}")]
    Length {
        /// The expected kind of handle.
        what: &'static str,
        /// The size of such a handle, bytes.
        expected: usize,
        /// How many bytes were given.
        got: usize,
    },

    /// The bytes do not begin like a handle: they are something else, or come from another version of this
    /// crate.
    #[error("the bytes are not a handle of {what}")]
    Kind {
        /// The expected kind of handle.
        what: &'static str,
    },

    /// The bytes have changed since they were written.
    #[error("the handle was damaged in transit")]
    Damaged,

    /// This process made the handle, and has the object itself.
    #[error("the handle was made by this process; only other processes can open it")]
    SameProcess,

    /// The object belongs to a different device than the one to open it on.
    #[error("the handle is of device {shared}, not of {device}")]
    OtherDevice {
        /// UUID of the device in the handle.
        shared: String,
        /// The device to open it on, with its UUID.
        device: String,
    },

    /// The elements are of a different type than requested.
    #[error("the handle is of `{shared}`, {size} bytes each, not of `{wanted}`, {wanted_size} bytes each")]
    Element {
        /// The elements' type, without paths.
        shared: String,
        /// The size of one in bytes.
        size: usize,
        /// The type that was asked for, without paths.
        wanted: String,
        /// Its size in bytes.
        wanted_size: usize,
    },
}
