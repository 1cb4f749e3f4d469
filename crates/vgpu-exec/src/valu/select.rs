//! From operations to handlers.

use super::lanewise::{Lanes, Op};
use crate::Handler;
use crate::level::{SimdBody, simd_handler};
use crate::lower::Context;

/// The handler of an operation. Operations without modifiers ignore those in the encoding.
pub(super) fn choose<O: Op>(context: &Context, modified: bool) -> Handler {
    match (O::MODS, modified) {
        (true, true) => simd_handler::<Lanes<O, true>, Lanes<O, true>>(context.level),
        (true, false) => simd_handler::<Lanes<O, false>, Lanes<O, true>>(context.level),
        (false, _) => simd_handler::<Lanes<O, false>, Lanes<O, false>>(context.level),
    }
}

/// The handler of a body.
pub(super) fn choose_body<B: SimdBody>(context: &Context) -> Handler {
    simd_handler::<B, B>(context.level)
}

/// Defines the function that finds an operation's handler; none if the operation belongs to another file. If
/// a generation has its own version of an operation, that is listed first.
macro_rules! table {
    ($($($op:ident)|+ $(, $generation:path)? => $type:ty,)*) => {
        /// The handler of an operation of this file.
        pub(super) fn handler(
            op: vgpu_isa::Op,
            context: &crate::lower::Context,
            modified: bool,
        ) -> Option<crate::Handler> {
            match op {
                $($(vgpu_isa::Op::$op)|+ $(if context.generation == $generation)? => Some(super::select::choose::<$type>(context, modified)),)*
                _ => None,
            }
        }
    };
}

pub(super) use table;
