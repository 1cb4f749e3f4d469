//! Polling for conditions that send no notification: first without sleeping, as most waits are short, then
//! with sleeps in between. The sleeps grow with the time waited; otherwise many waiting threads would take
//! the processors from the threads that they wait for.

use std::time::{Duration, Instant};

/// Polls before a waiting thread starts to sleep.
const SPINS: u32 = 1000;
/// The length of a sleep: this part of the time waited so far, with a minimum and a maximum.
const PART: u32 = 16;
const LEAST: Duration = Duration::from_micros(50);
const MOST: Duration = Duration::from_millis(2);

/// Waits until `is_there` is true. `goes_on` is called before each sleep; its failure ends the wait.
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
