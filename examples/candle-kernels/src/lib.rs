//! The kernels of `candle-kernels`, compiled from its sources as they are: the modules that candle loads, and
//! the launchers that it links.

#[cfg(not(own_kernels))]
pub mod launchers;

/// The modules of the kernels.
pub mod kernels {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}
