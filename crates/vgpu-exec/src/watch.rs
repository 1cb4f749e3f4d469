//! What the run loop tells while a wave runs: nothing, unless somebody watches.

use super::program::Unit;
use super::{Code, Wave};
use crate::WaveFault;

/// Hears of every instruction that a wave executes.
pub trait Watch {
    /// Whether anybody listens; the run loop that nobody watches has none of the calls.
    const ON: bool;

    /// The wave comes to the instruction that `code` belongs to.
    fn before(&mut self, wave: &Wave, unit: &Unit, code: &Code) -> Result<(), Box<WaveFault>>;

    /// The wave executed it.
    fn after(&mut self, wave: &Wave, unit: &Unit, code: &Code) -> Result<(), Box<WaveFault>>;
}

/// Nobody watches.
pub struct Unwatched;

impl Watch for Unwatched {
    const ON: bool = false;

    fn before(&mut self, _: &Wave, _: &Unit, _: &Code) -> Result<(), Box<WaveFault>> {
        Ok(())
    }

    fn after(&mut self, _: &Wave, _: &Unit, _: &Code) -> Result<(), Box<WaveFault>> {
        Ok(())
    }
}
