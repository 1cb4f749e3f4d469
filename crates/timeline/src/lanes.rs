//! Tracks beside each other.

/// Distributes the activities of a queue, which may overlap, over `N` tracks, whose slices may not.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<const N: usize> {
    /// When the last activity of each ends.
    ends: [u64; N],
}

impl<const N: usize> Default for Lanes<N> {
    fn default() -> Self {
        Self { ends: [0; N] }
    }
}

impl<const N: usize> Lanes<N> {
    /// The first track that is free from `start` on, which is then taken until `end`; `None` if all are
    /// taken, so that the activity has to be left out.
    pub fn take(&mut self, start: u64, end: u64) -> Option<usize> {
        let lane = self.ends.iter().position(|last| *last <= start)?;
        self.ends[lane] = end.max(start);
        Some(lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_activities_have_tracks_of_their_own() {
        let mut lanes = Lanes::<2>::default();
        assert_eq!(lanes.take(10, 20), Some(0));
        assert_eq!(lanes.take(15, 40), Some(1));
        assert_eq!(lanes.take(19, 30), None);
        assert_eq!(lanes.take(20, 25), Some(0));
        assert_eq!(lanes.take(25, 3), Some(0));
        assert_eq!(lanes.take(25, 26), Some(0));
    }
}
