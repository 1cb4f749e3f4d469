//! GGUF files, versions 1 to 3, whole or split into several files.
//!
//! A file is a header of named values, a list of tensors, and their data. [`Gguf::read`] reads the header and
//! checks that all tensors lie inside the file; [`GgufFile`] is one or more files on disk, whose tensors are
//! read piece by piece. Nothing is mapped into memory.
//!
//! Format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

mod file;
mod header;
mod tensor;
mod value;

pub use file::GgufFile;
pub use header::{DEFAULT_ALIGNMENT, Gguf, GgufError};
pub use tensor::{TensorInfo, TensorType};
pub use value::{Array, Metadata, MetadataError, Value};
