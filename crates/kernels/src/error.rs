//! What can be wrong with a call.

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The HIP layer below failed: a kernel could not be loaded, a launch was refused, a stream has faulted.
    #[error(transparent)]
    Hip(#[from] hip::Error),

    /// A buffer has another number of elements than the operation needs.
    #[error("{operation}: `{buffer}` has {got} elements, {expected} are needed")]
    Length {
        /// The operation.
        operation: &'static str,
        /// The parameter's name.
        buffer: &'static str,
        /// Elements that the operation needs.
        expected: usize,
        /// Elements that the buffer has.
        got: usize,
    },

    /// A size that the operation cannot work with.
    #[error("{operation}: `{parameter}` is {got}, {problem}")]
    Size {
        /// The operation.
        operation: &'static str,
        /// The parameter's name.
        parameter: &'static str,
        /// What was given.
        got: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// Checks a buffer's length.
pub(crate) fn check_length(
    operation: &'static str,
    buffer: &'static str,
    got: usize,
    expected: usize,
) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::Length { operation, buffer, expected, got }) }
}

/// Checks that a size fits a kernel's 32-bit parameter.
pub(crate) fn check_u32(operation: &'static str, parameter: &'static str, got: usize) -> Result<u32> {
    u32::try_from(got).map_err(|_| Error::Size { operation, parameter, got, problem: "more than 4294967295" })
}
