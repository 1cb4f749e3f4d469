//! Waiting for what nobody tells: a look again and again, first awake, as most waits are short, then with sleep in between. The longer it has
//! been, the longer the sleep: many waiting threads would otherwise take the processors from those that they wait for.

use std::time::{Duration, Instant};

/// Looks before a waiting thread sleeps between them.
const SPINS: u32 = 1000;
/// How long it sleeps then: this part of how long it has waited, and at least and at most so long.
const PART: u32 = 16;
const LEAST: Duration = Duration::from_micros(50);
const MOST: Duration = Duration::from_millis(2);

/// Waits until `is_there`, as long as `goes_on` says, which is asked before each sleep. What it fails with ends the wait.
pub(crate) fn wait_until<E>(
    mut is_there: impl FnMut() -> bool,
    mut goes_on: impl FnMut() -> Result<bool, E>,
) -> Result<(), E> {
    let (mut looks, mut began) = (0u32, None);
    while !is_there() {
        looks = looks.saturating_add(1);
        if looks < SPINS {
            std::hint::spin_loop();
        } else if goes_on()? {
            let waited = began.get_or_insert_with(Instant::now).elapsed();
            std::thread::sleep((waited / PART).clamp(LEAST, MOST));
        } else {
            break;
        }
    }
    Ok(())
}
