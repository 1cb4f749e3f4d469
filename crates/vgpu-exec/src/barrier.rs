//! The barrier of a workgroup.

/// The state of a workgroup's barrier. Waves signal and wait separately; `s_barrier` does both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Barrier {
    /// Waves that have not ended.
    members: u32,
    /// The number of signals since the barrier was last complete.
    signals: u32,
    /// How often it was complete.
    completed: u64,
}

impl Barrier {
    /// The barrier of a workgroup with this many waves.
    pub fn new(members: u32) -> Self {
        Barrier { members, ..Barrier::default() }
    }

    /// A wave signals. Returns whether it is the first since the barrier was last complete.
    pub fn signal(&mut self) -> bool {
        let first = self.signals == 0;
        self.signals += 1;
        self.check();
        first
    }

    /// A wave ends; the others no longer wait for it.
    pub fn leave(&mut self) {
        self.members = self.members.saturating_sub(1);
        self.check();
    }

    fn check(&mut self) {
        if self.signals != 0 && self.signals >= self.members {
            self.signals = 0;
            self.completed += 1;
        }
    }

    /// Waves that have not ended.
    pub fn members(&self) -> u32 {
        self.members
    }

    /// How often it was complete.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// The value of `s_get_barrier_state`: the valid flag in bit 0, members from bit 4 on, signals from bit
    /// 16 on.
    pub fn state(&self) -> u32 {
        1 | (self.members & 0x7f) << 4 | (self.signals & 0x7f) << 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completes_when_every_member_has_signalled() {
        let mut barrier = Barrier::new(3);
        assert_eq!([barrier.signal(), barrier.signal()], [true, false]);
        assert_eq!((barrier.completed(), barrier.state()), (0, 1 | 3 << 4 | 2 << 16));
        assert!(!barrier.signal());
        assert_eq!((barrier.completed(), barrier.state()), (1, 1 | 3 << 4));
        assert!(barrier.signal());
    }

    #[test]
    fn the_end_of_the_last_missing_wave_completes_it() {
        let mut barrier = Barrier::new(2);
        barrier.leave();
        assert_eq!(barrier.completed(), 0);
        barrier.signal();
        assert_eq!(barrier.completed(), 1);
        let mut barrier = Barrier::new(2);
        barrier.signal();
        barrier.leave();
        assert_eq!(barrier.completed(), 1);
    }
}
