//! How types of or-ed flags print.

use std::fmt;

use bitflags::{Bits, Flags};

/// Writes the names of the flags that are set, `A | B`, then bits without a name in hexadecimal; for no bit
/// at all, the name of the constant that is zero, or else `type_name(0)`.
///
/// # Errors
/// Those of the formatter.
pub fn debug_flags<F: Flags>(flags: &F, type_name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result
where
    F::Bits: fmt::LowerHex,
{
    let bits = flags.bits();
    if bits == F::Bits::EMPTY {
        return match F::FLAGS.iter().find(|flag| flag.is_named() && flag.value().bits() == F::Bits::EMPTY) {
            Some(flag) => f.write_str(flag.name()),
            None => write!(f, "{type_name}(0)"),
        };
    }
    let mut rest = bits;
    let mut first = true;
    for flag in F::FLAGS.iter().filter(|flag| flag.is_named()) {
        let value = flag.value().bits();
        if value != F::Bits::EMPTY && bits & value == value && rest & value != F::Bits::EMPTY {
            separate(&mut first, f)?;
            f.write_str(flag.name())?;
            rest = rest & !value;
        }
    }
    if rest != F::Bits::EMPTY {
        separate(&mut first, f)?;
        write!(f, "{rest:#x}")?;
    }
    Ok(())
}

fn separate(first: &mut bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if !std::mem::take(first) {
        f.write_str(" | ")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Example(u32);

    bitflags::bitflags! {
        impl Example: u32 {
            const NONE = 0;
            const READ = 1;
            const WRITE = 2;
            const BOTH = 3;
            const _ = !0;
        }
    }

    impl fmt::Debug for Example {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            debug_flags(self, "Example", f)
        }
    }

    #[test]
    fn flags_print_their_names_and_what_has_none() {
        assert_eq!(format!("{:?}", Example(0)), "NONE");
        assert_eq!(format!("{:?}", Example::READ | Example::WRITE), "READ | WRITE");
        assert_eq!(format!("{:?}", Example(0x102)), "WRITE | 0x100");
        assert_eq!(format!("{:?}", Example(0x80)), "0x80");
    }
}
