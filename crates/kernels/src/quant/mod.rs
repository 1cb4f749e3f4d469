//! Quantised matrices: GGUF's block formats.

mod format;
mod launch;
mod matrix;
mod quantize;

pub use format::QuantType;
pub use matrix::{QuantMatrix, QuantVectors};
pub use quantize::Q8_1;
