//! Quantised matrices: GGUF's block formats.

mod experts;
mod format;
mod launch;
mod matrix;
mod quantize;

pub use experts::ExpertRoutes;
pub use format::QuantType;
pub use matrix::{QuantMatrix, QuantVectors};
pub use quantize::Q8_1;
