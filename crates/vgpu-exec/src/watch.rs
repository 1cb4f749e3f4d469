//! What the run loop reports while a wave runs: nothing, unless there are observers.

use super::program::Unit;
use super::{Code, Wave};
use crate::WaveFault;

/// Observes every instruction that a wave executes.
pub trait Watch {
    /// Whether there is an observer; without one, the run loop has no calls to it.
    const ON: bool;

    /// The wave reaches the instruction that `code` belongs to.
    fn before(&mut self, wave: &Wave, unit: &Unit, code: &Code) -> Result<(), Box<WaveFault>>;

    /// The wave has executed it.
    fn after(&mut self, wave: &Wave, unit: &Unit, code: &Code) -> Result<(), Box<WaveFault>>;
}

/// No observer.
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
