//! Waiting for what nobody tells: a look again and again, first awake, as most waits are short, then with sleep in between.

use std::time::Duration;

/// Looks before a waiting thread sleeps between them, and how long it does then.
const SPINS: u32 = 1000;
const SLEEP: Duration = Duration::from_micros(50);

/// Waits until `is_there`, as long as `goes_on` says, which is asked before each sleep. What it fails with ends the wait.
pub(crate) fn wait_until<E>(
    mut is_there: impl FnMut() -> bool,
    mut goes_on: impl FnMut() -> Result<bool, E>,
) -> Result<(), E> {
    let mut looks = 0u32;
    while !is_there() {
        looks = looks.saturating_add(1);
        if looks < SPINS {
            std::hint::spin_loop();
        } else if goes_on()? {
            std::thread::sleep(SLEEP);
        } else {
            break;
        }
    }
    Ok(())
}
