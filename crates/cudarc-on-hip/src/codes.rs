//! How enumerations of C are written, as in cudarc: for programs to match on.

/// A C enumeration as a Rust one, with the values that have several names as constants.
macro_rules! codes {
    (
        $repr:ident $name:ident $(= $alias:ident)?;
        $($variant:ident = $value:literal,)+
        $(; $($other:ident = $same:ident,)+)?
    ) => {
        #[repr($repr)]
        #[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
        pub enum $name {
            $($variant = $value,)+
        }

        $(pub use self::$name as $alias;)?

        #[allow(dead_code, reason = "every enumeration has them")]
        impl $name {
            $($(pub const $other: $name = Self::$same;)+)?

            /// The variant of this value, if it has a name.
            pub(crate) fn from_code(code: i64) -> Option<Self> {
                match code {
                    $($value => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The name in CUDA's header.
            pub(crate) fn c_name(self) -> &'static std::ffi::CStr {
                let name = match self {
                    $(Self::$variant => concat!(stringify!($variant), "\0"),)+
                };
                std::ffi::CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or(c"")
            }
        }
    };
}

/// A C enumeration whose values are combined.
macro_rules! flags {
    ($name:ident $(= $alias:ident)?; $($flag:ident = $value:literal,)+) => {
        #[repr(transparent)]
        #[derive(Debug, Copy, Clone, Hash, PartialOrd, Ord, PartialEq, Eq)]
        pub struct $name(pub std::ffi::c_uint);

        $(pub use self::$name as $alias;)?

        impl $name {
            $(pub const $flag: $name = Self($value);)+
        }

        impl std::ops::BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl std::ops::BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }

        impl std::ops::BitAnd for $name {
            type Output = Self;
            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }

        impl std::ops::BitAndAssign for $name {
            fn bitand_assign(&mut self, other: Self) {
                self.0 &= other.0;
            }
        }
    };
}

pub(crate) use {codes, flags};
