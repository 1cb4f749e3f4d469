//! The implementation's clock beside another one.

use hsa_sys::{hsa_status_t, hsa_system_info_t};

use super::{Calls, Errors};

/// Converts times of HSA's clock to nanoseconds of another one. The clocks are compared once, because both
/// run at a constant rate.
#[derive(Clone, Copy, Debug)]
pub struct ClockDifference {
    /// Ticks per second.
    frequency: u64,
    /// Nanoseconds that the other clock is ahead.
    ahead: i128,
}

impl ClockDifference {
    /// Compares HSA's clock with the one that `now` reads. The error is at most the duration of the two
    /// calls, and converted times are never too early. If HSA tells no time, the difference is 0.
    pub fn new<E: Errors>(hsa: Calls<E>, now: impl FnOnce() -> u64) -> Self {
        let mut clock = Self { frequency: hsa.timestamp_frequency().max(1), ahead: 0 };
        let mut ticks = 0u64;
        // SAFETY: the attribute's type is u64.
        let status = unsafe {
            let attribute = hsa_system_info_t::HSA_SYSTEM_INFO_TIMESTAMP;
            (hsa.table.hsa_system_get_info)(attribute, (&raw mut ticks).cast())
        };
        if status == hsa_status_t::HSA_STATUS_SUCCESS {
            clock.ahead = i128::from(now()) - clock.plain(ticks);
        }
        clock
    }

    fn plain(&self, ticks: u64) -> i128 {
        i128::from(ticks) * 1_000_000_000 / i128::from(self.frequency)
    }

    /// A time of HSA's clock as nanoseconds of the other one.
    #[must_use]
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        u64::try_from(self.plain(ticks) + self.ahead).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_of_the_other_clock() {
        let clock = ClockDifference { frequency: 100_000_000, ahead: -50 };
        assert_eq!((clock.nanoseconds(7), clock.nanoseconds(100_000_000)), (20, 999_999_950));
        // Before the other clock's beginning.
        assert_eq!(clock.nanoseconds(1), 0);
        let late = ClockDifference { frequency: 1, ahead: 0 };
        assert_eq!(late.nanoseconds(u64::MAX), 0);
        assert_eq!(late.nanoseconds(18), 18_000_000_000);
    }
}
