//! Values as bytes: numbers little-endian, lists behind their length, variants behind a number.

use std::sync::Arc;

/// Bytes from outside.
#[derive(Debug)]
pub(super) struct Reader<'b> {
    whole: usize,
    rest: &'b [u8],
}

/// What is wrong, and where.
pub(super) type Read<T> = Result<T, String>;

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { whole: bytes.len(), rest: bytes }
    }

    fn bytes(&mut self, len: usize) -> Read<&'b [u8]> {
        match self.rest.split_at_checked(len) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(self.wrong(&format!("{len} bytes should follow, {} do", self.rest.len()))),
        }
    }

    pub(super) fn wrong(&self, problem: &str) -> String {
        format!("at byte {} of its contents: {problem}", self.whole - self.rest.len())
    }

    pub(super) fn end(&self) -> Read<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.wrong("nothing should follow")) }
    }
}

/// A value that is kept in a file.
pub(super) trait Kept: Sized {
    fn put(&self, to: &mut Vec<u8>);
    fn take(from: &mut Reader<'_>) -> Read<Self>;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Kept for $type {
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            fn take(from: &mut Reader<'_>) -> Read<Self> {
                let bytes = from.bytes(size_of::<Self>())?;
                Ok(Self::from_le_bytes(bytes.try_into().unwrap_or_else(|_| unreachable!("as many bytes"))))
            }
        }
    )*};
}
numbers!(u8, u32, u64);

impl Kept for [u32; 3] {
    fn put(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|number| number.put(to));
    }

    fn take(from: &mut Reader<'_>) -> Read<Self> {
        Ok([u32::take(from)?, u32::take(from)?, u32::take(from)?])
    }
}

impl Kept for [u8; 32] {
    fn put(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self);
    }

    fn take(from: &mut Reader<'_>) -> Read<Self> {
        Ok(from.bytes(32)?.try_into().unwrap_or_else(|_| unreachable!("as many bytes")))
    }
}

impl Kept for Arc<[u8]> {
    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u64).put(to);
        to.extend_from_slice(self);
    }

    fn take(from: &mut Reader<'_>) -> Read<Self> {
        let len = u64::take(from)?;
        Ok(from.bytes(usize::try_from(len).unwrap_or(usize::MAX))?.into())
    }
}

impl Kept for String {
    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u32).put(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut Reader<'_>) -> Read<Self> {
        let len = u32::take(from)?;
        let bytes = from.bytes(len as usize)?.to_vec();
        Self::from_utf8(bytes).map_err(|_| from.wrong("a text is not UTF-8"))
    }
}

/// Every kept value has at least one byte, so a list is never longer than what is there.
impl<T: Kept> Kept for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u32).put(to);
        self.iter().for_each(|value| value.put(to));
    }

    fn take(from: &mut Reader<'_>) -> Read<Self> {
        let len = u32::take(from)?;
        (0..len).map(|_| T::take(from)).collect()
    }
}

impl<A: Kept, B: Kept> Kept for (A, B) {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Read<Self> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

/// Defines structures whose fields are kept one after the other.
macro_rules! kept_structs {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub(crate) struct $name { $($(#[$field_doc])* pub(crate) $field: $type,)* }

        impl Kept for $name {
            fn put(&self, to: &mut Vec<u8>) {
                $(self.$field.put(to);)*
            }

            fn take(from: &mut Reader<'_>) -> Read<Self> {
                Ok(Self { $($field: Kept::take(from)?,)* })
            }
        }
    )*};
}

/// Defines variants, each with its number.
macro_rules! kept_enums {
    ($($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $number:literal $variant:ident { $($field:ident: $type:ty,)* })*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub(crate) enum $name { $($(#[$variant_doc])* $variant { $($field: $type,)* },)* }

        impl Kept for $name {
            fn put(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field,)* } => {
                        to.push($number);
                        $($field.put(to);)*
                    })*
                }
            }

            fn take(from: &mut Reader<'_>) -> Read<Self> {
                match u8::take(from)? {
                    $($number => Ok(Self::$variant { $($field: Kept::take(from)?,)* }),)*
                    number => Err(from.wrong(&format!(
                        "{} is no number of {}", number, stringify!($name)
                    ))),
                }
            }
        }
    )*};
}
pub(super) use {kept_enums, kept_structs};
