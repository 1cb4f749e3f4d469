//! Checks that take time and are off by default: for uninitialised values, for data races in LDS, and for
//! barriers that not all waves, or not all lanes, reach.
//!
//! | module | holds |
//! |---|---|
//! | `values` | which bits of registers were written, and what must not depend on unwritten ones |
//! | `memory` | the same for loads and stores: LDS, scratch and device memory |
//! | `vector` | the same for vector instructions |
//! | `exchange` | permutes, DPP and matrices |
//! | `transfer` | which bits of a result are determined by known bits of its sources |
//! | `depend` | which bits of a result depend on which bits of the sources |
//! | `twin` | single instructions, run in isolation |
//! | `shadow` | which bits of device memory were written, for all workgroups |
//! | `races` | which wave accessed which byte of LDS, and what orders accesses |
//! | `barriers` | which waves and lanes reach which barriers |
//!
//! All of these are observers of dispatches, and an unchecked dispatch has no observers. One more check, for
//! accesses beyond the end of LDS, is made in the LDS access itself.

mod barriers;
pub mod depend;
mod exchange;
mod memory;
mod races;
mod shadow;
mod transfer;
pub mod twin;
mod values;
mod vector;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use gpu_report::{Allocation, Checks, ChecksError};

use self::barriers::Barriers;
use self::depend::Dependences;
use self::races::Races;
use self::shadow::Shadows;
use self::values::Values;
use super::launch::Launch;
use super::observe::{DispatchObserver, GroupObserver, Instrument, Step, Verdict};
use crate::config::ConfigError;
use crate::exec::Wave;

/// Checks a machine's dispatches.
#[derive(Default, Debug)]
pub(super) struct Checker {
    /// The checks of dispatches that do not choose their own.
    checks: RwLock<Checks>,
    /// Whether some device always tracks uninitialised values.
    by_devices: AtomicBool,
    shadows: Arc<Shadows>,
}

impl Checker {
    /// Reads the checks from `FERROCM_VGPU_CHECK`.
    pub(super) fn read_environment(&self) -> Result<(), ConfigError> {
        let variable = variables::VGPU_CHECK;
        if let Some(text) = variable.text()? {
            self.set(text.parse().map_err(|error: ChecksError| variable.error(&text, error.to_string()))?);
        }
        Ok(())
    }

    pub(super) fn set(&self, checks: Checks) {
        *self.checks.write().unwrap_or_else(PoisonError::into_inner) = checks;
        self.shadows.switch(checks.tracks_values() || self.by_devices.load(Ordering::Relaxed));
    }

    /// Adds a device whose dispatches run with its own checks.
    pub(super) fn add(&self, checks: Option<Checks>) {
        if checks.is_some_and(Checks::tracks_values) {
            self.by_devices.store(true, Ordering::Relaxed);
            self.shadows.switch(true);
        }
    }

    pub(super) fn checks(&self) -> Checks {
        *self.checks.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instrument for Checker {
    fn begin(&self, launch: &Launch) -> Option<Box<dyn DispatchObserver>> {
        let checks = launch.checks;
        if !checks.tracks_values() {
            // What it writes is not tracked, so all memory counts as written from here on.
            self.shadows.forget();
        }
        let is_wanted = checks.tracks_values() || checks.races || checks.barriers;
        let shadows = || Arc::clone(&self.shadows);
        is_wanted.then(|| Box::new(Checked { checks, shadows: shadows(), dependences: Arc::default() }) as _)
    }

    fn allocated(&self, allocation: &Allocation) {
        self.shadows.allocated(allocation);
    }

    fn freed(&self, allocation: &Allocation) {
        self.shadows.freed(allocation);
    }

    fn written(&self, address: u64, size: u64) {
        self.shadows.written(address, size);
    }
}

/// A dispatch that is checked.
#[derive(Debug)]
struct Checked {
    checks: Checks,
    shadows: Arc<Shadows>,
    dependences: Arc<Dependences>,
}

impl DispatchObserver for Checked {
    fn group(&self, launch: &Launch, _: [u32; 3], size: [u32; 3]) -> Option<Box<dyn GroupObserver>> {
        let waves = (size.iter().product::<u32>() as usize).div_ceil(launch.lanes);
        let values = || {
            let (shadows, dependences) = (Arc::clone(&self.shadows), Arc::clone(&self.dependences));
            Values::new(launch, waves, self.checks, shadows, dependences)
        };
        let values = self.checks.tracks_values().then(values);
        let races = self.checks.races.then(|| Races::new(launch, waves));
        let items = size.iter().product::<u32>() as usize;
        let barriers = self.checks.barriers.then(|| Barriers::new(items, launch.lanes));
        Some(Box::new(CheckedGroup { values, races, barriers }))
    }
}

/// One of its workgroups.
struct CheckedGroup {
    values: Option<Values>,
    races: Option<Races>,
    barriers: Option<Barriers>,
}

impl GroupObserver for CheckedGroup {
    fn before(&mut self, step: &Step<'_>, wave: &Wave) -> Verdict {
        if let Some(barriers) = &mut self.barriers {
            barriers.step(step, wave)?;
        }
        if let Some(races) = &mut self.races {
            races.step(step, wave)?;
        }
        match &mut self.values {
            Some(values) => values.step(step, wave),
            None => Ok(()),
        }
    }

    fn after(&mut self, step: &Step<'_>, _: &Wave) -> Verdict {
        if let Some(races) = &mut self.races {
            races.done(step);
        }
        Ok(())
    }

    fn released(&mut self, wave: u32) {
        if let Some(races) = &mut self.races {
            races.released(wave);
        }
    }
}
