//! Attributes of kernel nodes.

use crate::devices::attributes::Window;

/// Attributes of a kernel node that have no effect here.
#[derive(Clone, Copy, Default)]
pub(crate) struct Attributes {
    pub(crate) priority: i32,
    pub(crate) window: Window,
}
