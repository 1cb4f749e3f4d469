//! The one set of operations that all generations map to.

/// What an instruction does, independent of the generation and of the encoding it came in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u16)]
pub enum Op {
    /// `s_endpgm`
    SEndpgm,
}
