//! Quantised matrices: GGUF's block formats.

mod format;
mod quantize;

pub use format::QuantType;
pub use quantize::Q8_1;
