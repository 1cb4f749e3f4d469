//! Global wave sync: counters on which the waves of a dispatch wait for each other, across workgroups.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The number of resources that instructions can select.
const RESOURCES: usize = 64;

/// The resources of one dispatch, created when its first instruction needs them.
///
/// Hardware has one set for many dispatches, and a kernel must initialise it before another kernel uses it.
/// Here, each dispatch starts with a fresh set: the first barrier on a resource initialises it with its own
/// count, which is what such a kernel would do.
#[derive(Debug, Default)]
pub struct WaveSync(OnceLock<Box<[Mutex<Resource>; RESOURCES]>>);

#[derive(Debug, Default, Clone, Copy)]
struct Resource {
    /// The number of waves that must still arrive before the last one.
    missing: Option<u32>,
    /// How often all waves have arrived.
    rounds: u64,
}

impl WaveSync {
    fn resource(&self, number: u32) -> MutexGuard<'_, Resource> {
        let all = self.0.get_or_init(|| Box::new(std::array::from_fn(|_| Mutex::default())));
        all[number as usize % RESOURCES].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `ds_gws_init`: sets how many `others` arrive at the next barrier besides the last wave.
    pub(crate) fn initialise(&self, number: u32, others: u32) {
        self.resource(number).missing = Some(others);
    }

    /// `ds_gws_barrier`: a wave arrives; in later rounds, `others` waves arrive besides the last one. Returns
    /// the round to wait for, or none if this wave was the last.
    pub(crate) fn arrive(&self, number: u32, others: u32) -> Option<u64> {
        let mut resource = self.resource(number);
        match resource.missing.unwrap_or(others) {
            0 => {
                resource.missing = Some(others);
                resource.rounds += 1;
                None
            }
            missing => {
                resource.missing = Some(missing - 1);
                Some(resource.rounds + 1)
            }
        }
    }

    /// Whether all waves have arrived in this round.
    pub(crate) fn has_reached(&self, number: u32, round: u64) -> bool {
        self.resource(number).rounds >= round
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_end_when_the_last_wave_arrives() {
        let sync = WaveSync::default();
        for round in 1..=3 {
            assert_eq!(sync.arrive(5, 2), Some(round));
            assert_eq!(sync.arrive(5, 2), Some(round));
            assert!(!sync.has_reached(5, round));
            assert_eq!(sync.arrive(5, 2), None);
            assert!(sync.has_reached(5, round) && !sync.has_reached(5, round + 1));
        }
        // Other resources are independent, and a single wave is always the last.
        assert_eq!(sync.arrive(6, 0), None);
        sync.initialise(7, 1);
        assert_eq!(sync.arrive(7, 0), Some(1));
        assert_eq!(sync.arrive(7, 0), None);
        assert_eq!(sync.arrive(7, 0), None);
    }
}
