//! What ends when a queue stops.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::Error;
use crate::events;

/// Something that ends when a queue fails.
pub(crate) trait Dependant: Send + Sync {
    /// The queue has failed.
    fn queue_failed(self: Arc<Self>, error: &Error);
}

/// What ends when a queue fails.
#[derive(Default)]
pub(crate) struct Dependants {
    list: Mutex<Vec<Weak<dyn Dependant>>>,
}

impl Dependants {
    fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn Dependant>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, dependant: Weak<dyn Dependant>) {
        let mut list = self.lock();
        if list.len() == list.capacity() {
            list.retain(|known| known.strong_count() != 0);
        }
        list.push(dependant);
    }

    /// The queue has failed. This may be HSA's own thread.
    pub(crate) fn fail(&self, error: &Error) {
        let list = std::mem::take(&mut *self.lock());
        for dependant in list.iter().filter_map(Weak::upgrade) {
            dependant.clone().queue_failed(error);
            events::let_go(dependant);
        }
    }
}
