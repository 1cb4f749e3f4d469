//! The arguments of a kernel.

use code_object::ArgKind;

use super::Place;
use crate::error::{Error, Result};
use crate::executable::Description;
use crate::memory::Buffer;

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// The address of a buffer, or of what a submission binds.
    At(Place<'a>),
    /// A value, as its bytes are in memory: `Arg::Bytes(&n.to_le_bytes())`.
    Bytes(&'a [u8]),
}

impl<'a> From<&'a Buffer> for Arg<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        Self::At(buffer.into())
    }
}

impl<'a> From<Place<'a>> for Arg<'a> {
    fn from(place: Place<'a>) -> Self {
        Self::At(place)
    }
}

/// An error unless the arguments match the kernel.
pub(super) fn check(kernel: &Description, args: &[Arg<'_>]) -> Result<()> {
    let bad = |problem: String| Err(Error::Arguments { kernel: kernel.name.clone(), problem });
    if args.len() != kernel.arguments.len() {
        return bad(format!("{} arguments, where it takes {}", args.len(), kernel.arguments.len()));
    }
    for (index, (arg, (_, size, kind))) in args.iter().zip(&kernel.arguments).enumerate() {
        match (arg, kind) {
            (Arg::Bytes(bytes), ArgKind::ByValue) if bytes.len() == *size => {}
            (Arg::Bytes(bytes), ArgKind::ByValue) => {
                return bad(format!("argument {index} has {} bytes, where it takes {size}", bytes.len()));
            }
            // A pointer in a structure is a value.
            (Arg::At(_), ArgKind::GlobalBuffer) => {}
            (Arg::At(_), ArgKind::ByValue) if *size == 8 => {}
            (Arg::At(_), _) => return bad(format!("argument {index} is a buffer, where it takes a value")),
            (Arg::Bytes(bytes), ArgKind::GlobalBuffer) if bytes.len() == 8 => {}
            (Arg::Bytes(_), _) => {
                return bad(format!("argument {index} is a value, where it takes a {kind:?}"));
            }
        }
    }
    Ok(())
}
