//! Several CPU backends that share a model, each with threads of its own.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::Shard;
use crate::error::{Error, Result};

/// What ranks exchange, in turns.
#[derive(Debug, Default)]
struct State {
    /// What has come of this turn.
    parts: Vec<Option<Vec<u8>>>,
    /// What all have sent, until all have it.
    whole: Option<Arc<Vec<Vec<u8>>>>,
    /// Ranks that have not got it yet.
    waiting: usize,
    /// A rank is gone.
    is_broken: bool,
}

#[derive(Debug)]
struct Group {
    state: Mutex<State>,
    changed: Condvar,
}

impl Group {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the ranks.
#[derive(Debug)]
pub(super) struct Rank {
    group: Arc<Group>,
    pub(super) shard: Shard,
}

impl Rank {
    /// So many ranks.
    pub(super) fn all(size: usize) -> Vec<Self> {
        let state = State { parts: vec![None; size], ..State::default() };
        let group = Arc::new(Group { state: Mutex::new(state), changed: Condvar::new() });
        (0..size).map(|rank| Self { group: Arc::clone(&group), shard: Shard { rank, size } }).collect()
    }

    /// Sends bytes to all ranks, and waits for those of all, in their order.
    pub(super) fn exchange(&self, bytes: Vec<u8>) -> Result<Arc<Vec<Vec<u8>>>> {
        let Shard { rank, size } = self.shard;
        // The last turn's bytes may not have reached all.
        let mut state = self.wait(self.group.state(), |state| state.whole.is_none())?;
        state.parts[rank] = Some(bytes);
        if state.parts.iter().all(Option::is_some) {
            let parts = state.parts.iter_mut().filter_map(Option::take).collect();
            (state.whole, state.waiting) = (Some(Arc::new(parts)), size);
            self.group.changed.notify_all();
        }
        let mut state = self.wait(state, |state| state.whole.is_some())?;
        let whole = state.whole.clone();
        state.waiting -= 1;
        if state.waiting == 0 {
            state.whole = None;
            self.group.changed.notify_all();
        }
        whole.ok_or_else(gone)
    }

    fn wait<'s>(
        &self,
        mut state: MutexGuard<'s, State>,
        is_so: impl Fn(&State) -> bool,
    ) -> Result<MutexGuard<'s, State>> {
        while !is_so(&state) {
            if state.is_broken {
                return Err(gone());
            }
            state = self.group.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(state)
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        self.group.state().is_broken = true;
        self.group.changed.notify_all();
    }
}

fn gone() -> Error {
    Error::Unavailable { backend: "cpu".to_owned(), reason: "another rank is gone".to_owned() }
}
