//! Notifications about which points of queues follow which, for code that keeps something until a point is
//! reached.

use std::sync::OnceLock;

use crate::queue::marker::Point;

type Listener = fn(before: Point, after: Point);

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// From now on, `listener` is called for each wait of a queue for a point of another one.
pub(crate) fn listen(listener: Listener) {
    let _ = LISTENER.set(listener);
}

/// Announces that work after a point of one queue also comes after a point of another queue.
pub(crate) fn follows(before: Point, after: Point) {
    if let Some(listener) = LISTENER.get() {
        listener(before, after);
    }
}
