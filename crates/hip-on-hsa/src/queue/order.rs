//! Which points of queues follow which: told to whoever keeps something until a point has been reached.

use std::sync::OnceLock;

use crate::queue::marker::Point;

type Listener = fn(before: Point, after: Point);

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// From now on, `listener` is told of each wait of a queue for a point of another one.
pub(crate) fn listen(listener: Listener) {
    let _ = LISTENER.set(listener);
}

/// Tells that what comes after a point of a queue comes after a point of another one, too.
pub(crate) fn follows(before: Point, after: Point) {
    if let Some(listener) = LISTENER.get() {
        listener(before, after);
    }
}
