//! Interrupts: how a kernel signals a change to the host.

use std::sync::OnceLock;

static HANDLER: OnceLock<fn(u32)> = OnceLock::new();

/// Sets the handler of interrupts. When a kernel sends one (`s_sendmsg MSG_INTERRUPT`, with the event's
/// number in M0), the thread that runs the wave calls the handler with that number. Only the first handler of
/// the process counts; without a handler, interrupts are ignored.
pub fn on_interrupt(handler: fn(u32)) {
    HANDLER.get_or_init(|| handler);
}

pub(crate) fn interrupt(event: u32) {
    if let Some(handler) = HANDLER.get() {
        handler(event);
    }
}
