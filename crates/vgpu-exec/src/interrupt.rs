//! Interrupts: how a kernel tells the host that it has changed something.

use std::sync::OnceLock;

static HANDLER: OnceLock<fn(u32)> = OnceLock::new();

/// Has `handler` called with the event's number whenever a kernel sends an interrupt (`s_sendmsg MSG_INTERRUPT`, the number in
/// M0), from the thread that runs the kernel's wave. Only the first handler of the process counts; without one, interrupts are
/// for nobody.
pub fn on_interrupt(handler: fn(u32)) {
    HANDLER.get_or_init(|| handler);
}

pub(crate) fn interrupt(event: u32) {
    if let Some(handler) = HANDLER.get() {
        handler(event);
    }
}
