//! The errors of calls.

use std::fmt;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation was refused or failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The HIP layer below failed: a kernel could not be loaded, a launch was refused, a stream has faulted.
    #[error(transparent)]
    Hip(#[from] hip::Error),

    /// A buffer does not have the number of elements that the operation needs.
    #[error("{operation}: `{buffer}` has {got} elements, but needs {expected}")]
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

    /// A tensor does not have the shape that the operation needs.
    #[error("{operation}: `{buffer}` has the shape {got:?}, but needs {expected:?}")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// The parameter's name.
        buffer: &'static str,
        /// The shape that the operation needs.
        expected: Box<[usize]>,
        /// The shape that the tensor has.
        got: Box<[usize]>,
    },

    /// A tensor must be contiguous (row by row without gaps) and is not.
    #[error("{operation}: `{buffer}` of shape {shape:?} has the strides {strides:?}, and must be contiguous")]
    NotContiguous {
        /// The operation.
        operation: &'static str,
        /// The parameter's name.
        buffer: &'static str,
        /// The shape.
        shape: Box<[usize]>,
        /// The strides.
        strides: Box<[usize]>,
    },

    /// An invalid layout.
    #[error(transparent)]
    Layout(#[from] crate::LayoutError),

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

    /// A number that the operation cannot work with.
    #[error("{operation}: `{parameter}` is {got}, {problem}")]
    Value {
        /// The operation.
        operation: &'static str,
        /// The parameter's name.
        parameter: &'static str,
        /// What was given.
        got: f64,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// Same as `Display`, because a program whose `main` returns the error prints this.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
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

/// Checks that a kernel can count to a size in 32 bits: a step of a workgroup's width beyond it must not
/// wrap.
pub(crate) fn check_counted(operation: &'static str, parameter: &'static str, got: usize) -> Result<u32> {
    const MOST: u32 = u32::MAX - 1024;
    let fits = u32::try_from(got).ok().filter(|size| *size <= MOST);
    fits.ok_or(Error::Size { operation, parameter, got, problem: "more than 4294966271" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kernels_count_to_leaves_room_for_a_step() {
        assert_eq!(check_counted("gemm", "k", 4_294_966_271).unwrap(), 4_294_966_271);
        let error = check_counted("gemm", "k", 4_294_966_272).unwrap_err();
        assert!(matches!(error, Error::Size { parameter: "k", got: 4_294_966_272, .. }), "{error}");
        assert!(error.to_string().contains("more than 4294966271"), "{error}");
    }

    #[test]
    fn what_main_prints_is_the_text() {
        let error = check_length("axpy", "y", 3, 4).unwrap_err();
        assert_eq!(format!("{error:?}"), "axpy: `y` has 3 elements, but needs 4");
        assert_eq!(
            format!("{:?}", Error::from(hip::Error::HostFunction)),
            hip::Error::HostFunction.to_string()
        );
    }
}
