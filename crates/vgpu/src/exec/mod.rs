//! Execution: what each operation does to a wave, written once for all generations.
//!
//! Decoded instructions are lowered once per kernel into [`Code`]: a handler chosen for the operation, the wave size and the
//! CPU's vector extensions, with operands resolved to offsets. Running a wave is a loop over handlers.

mod wave;

pub(crate) use wave::{Code, Flow, Handler, Src, Wave};
