//! The kernels of candle-kernels on the device in `FERROCM_DEVICE`, else on a virtual gfx1100, against
//! candle's CPU backend.
//!
//! Each kernel gets the arguments and the launch dimensions that candle's CUDA backend gives it.

mod common;
mod record;

mod conv;
mod elementwise;
mod indexing;
#[cfg(not(own_kernels))]
mod launchers;
mod quantized;
mod reduce;
mod sort;
mod training;
