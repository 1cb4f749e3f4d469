//! The functions of rocBLAS: a trait for each routine, and a row for each type that it supports.
//!
//! For each type, a routine has up to six functions: for one operation, for a strided batch and for a batch
//! by pointers, each with 32-bit and 64-bit sizes. The [`Call`] decides which one is called. The arguments of
//! the six differ in the types of sizes, in the strides of operands, and in the number of batches. The macros
//! here generate the six calls from one list of arguments.
//!
//! | argument | stands for |
//! |---|---|
//! | `val x` | an enum; `val x: type` in the definition of a [`routine`] |
//! | `int n` | a size |
//! | `ptr alpha` | a scalar or result, in the memory that the pointer mode selects |
//! | `at x` | a vector or matrix: its address, leading dimension or increment, and in strided batches its stride |
//! | `typed x` | the same, with its type after the address |
//! | `packed x` | the same without a leading dimension |
//! | `batch` | the number of operations, in batches |

use std::ffi::c_void;

use rocblas_sys::{Table, rocblas_datatype, rocblas_handle, rocblas_status};

use crate::error::{Error, Result};

/// The batch form of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A single operation.
    One,
    /// A batch by an array of pointers.
    Many,
    /// A strided batch.
    Strided,
}

/// The arguments of every function.
#[derive(Debug)]
pub struct Call<'a> {
    pub table: &'a Table,
    pub handle: rocblas_handle,
    pub form: Form,
    /// Whether a size needs more than 32 bits.
    pub wide: bool,
    pub batch: i64,
}

/// An operand in device memory.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// The address of the first element, or of an array of such addresses.
    pub address: Address,
    /// The leading dimension or increment.
    pub ld: i64,
    /// The stride in a strided batch.
    pub stride: i64,
    pub datatype: rocblas_datatype,
}

/// An address in device memory, or of a scalar on the host.
#[derive(Clone, Copy, Debug)]
pub struct Address(*mut c_void);

impl Address {
    pub fn device(address: hip::DeviceAddress) -> Self {
        Self(std::ptr::without_provenance_mut(address.0 as usize))
    }

    pub fn host<T>(value: *const T) -> Self {
        Self(value.cast_mut().cast())
    }

    pub const NULL: Self = Self(std::ptr::null_mut());
}

/// The type of a pointer that a function takes.
pub(crate) trait Pointer {
    fn of(address: Address) -> Self;
}

impl<T> Pointer for *const T {
    fn of(address: Address) -> Self {
        address.0.cast_const().cast()
    }
}

impl<T> Pointer for *mut T {
    fn of(address: Address) -> Self {
        address.0.cast()
    }
}

/// The type of a size that a function takes.
pub(crate) trait Int {
    fn of(size: i64) -> Self;
}

impl Int for i32 {
    /// Converts a size, which is known to fit: otherwise the call would be a wide one.
    fn of(size: i64) -> Self {
        debug_assert!(i32::try_from(size).is_ok(), "{size}");
        size as Self
    }
}

impl Int for i64 {
    fn of(size: i64) -> Self {
        size
    }
}

impl Call<'_> {
    /// Converts the result of a call.
    pub(crate) fn ended(&self, function: &'static str, status: rocblas_status) -> Result<()> {
        match status {
            rocblas_status::rocblas_status_success => Ok(()),
            rocblas_status::rocblas_status_not_implemented if !self.table.has(function) => {
                Err(Error::Missing { function, wide: self.wide })
            }
            code => Err(Error::Status { function, code }),
        }
    }

    /// The error if there is no function for 64-bit sizes.
    #[cold]
    pub(crate) fn too_large(&self, function: &'static str) -> Error {
        Error::Wide { function }
    }
}

/// Generates one call: processes the arguments one by one and appends their expansions.
macro_rules! invoke {
    ($call:ident $function:ident $form:ident [$($done:expr),*]) => {{
        let status = ($call.table.$function)($call.handle, $($done),*);
        $call.ended(stringify!($function), status)
    }};
    ($call:ident $function:ident one [$($done:expr),*] batch $(, $($rest:tt)*)?) => {
        invoke!($call $function one [$($done),*] $($($rest)*)?)
    };
    ($call:ident $function:ident $form:ident [$($done:expr),*] batch $(, $($rest:tt)*)?) => {
        invoke!($call $function $form [$($done,)* crate::functions::Int::of($call.batch)] $($($rest)*)?)
    };
    ($call:ident $function:ident $form:ident [$($done:expr),*] val $x:ident $(, $($rest:tt)*)?) => {
        invoke!($call $function $form [$($done,)* $x] $($($rest)*)?)
    };
    ($call:ident $function:ident $form:ident [$($done:expr),*] int $x:ident $(, $($rest:tt)*)?) => {
        invoke!($call $function $form [$($done,)* crate::functions::Int::of($x)] $($($rest)*)?)
    };
    ($call:ident $function:ident $form:ident [$($done:expr),*] ptr $x:ident $(, $($rest:tt)*)?) => {
        invoke!($call $function $form [$($done,)* crate::functions::Pointer::of($x)] $($($rest)*)?)
    };
    ($call:ident $function:ident strided [$($done:expr),*] at $x:ident $(, $($rest:tt)*)?) => {
        invoke!($call $function strided [
            $($done,)* crate::functions::Pointer::of($x.address), crate::functions::Int::of($x.ld), $x.stride
        ] $($($rest)*)?)
    };
    ($call:ident $function:ident $form:ident [$($done:expr),*] at $x:ident $(, $($rest:tt)*)?) => {
        invoke!($call $function $form [
            $($done,)* crate::functions::Pointer::of($x.address), crate::functions::Int::of($x.ld)
        ] $($($rest)*)?)
    };
    ($call:ident $function:ident strided [$($done:expr),*] typed $x:ident $(, $($rest:tt)*)?) => {
        invoke!($call $function strided [
            $($done,)* crate::functions::Pointer::of($x.address), $x.datatype, crate::functions::Int::of($x.ld), $x.stride
        ] $($($rest)*)?)
    };
    ($call:ident $function:ident $form:ident [$($done:expr),*] typed $x:ident $(, $($rest:tt)*)?) => {
        invoke!($call $function $form [
            $($done,)* crate::functions::Pointer::of($x.address), $x.datatype, crate::functions::Int::of($x.ld)
        ] $($($rest)*)?)
    };
    ($call:ident $function:ident strided [$($done:expr),*] packed $x:ident $(, $($rest:tt)*)?) => {
        invoke!($call $function strided [$($done,)* crate::functions::Pointer::of($x.address), $x.stride] $($($rest)*)?)
    };
    ($call:ident $function:ident $form:ident [$($done:expr),*] packed $x:ident $(, $($rest:tt)*)?) => {
        invoke!($call $function $form [$($done,)* crate::functions::Pointer::of($x.address)] $($($rest)*)?)
    };
}

/// Calls the right one of six functions.
macro_rules! six {
    ($call:ident: $($function:ident)*; [$($list:tt)*]) => {
        six!($call: $($function)*; $($list)*)
    };
    ($call:ident: $one:ident $one_64:ident $many:ident $many_64:ident $strided:ident $strided_64:ident; $($list:tt)*) => {
        match ($call.form, $call.wide) {
            (crate::functions::Form::One, false) => invoke!($call $one one [] $($list)*),
            (crate::functions::Form::One, true) => invoke!($call $one_64 one [] $($list)*),
            (crate::functions::Form::Many, false) => invoke!($call $many many [] $($list)*),
            (crate::functions::Form::Many, true) => invoke!($call $many_64 many [] $($list)*),
            (crate::functions::Form::Strided, false) => invoke!($call $strided strided [] $($list)*),
            (crate::functions::Form::Strided, true) => invoke!($call $strided_64 strided [] $($list)*),
        }
    };
}

/// Calls the right one of three functions, for a routine with only 32-bit sizes.
macro_rules! three {
    ($call:ident: $($function:ident)*; [$($list:tt)*]) => {
        three!($call: $($function)*; $($list)*)
    };
    ($call:ident: $one:ident $many:ident $strided:ident; $($list:tt)*) => {
        match ($call.form, $call.wide) {
            (_, true) => Err($call.too_large(stringify!($one))),
            (crate::functions::Form::One, _) => invoke!($call $one one [] $($list)*),
            (crate::functions::Form::Many, _) => invoke!($call $many many [] $($list)*),
            (crate::functions::Form::Strided, _) => invoke!($call $strided strided [] $($list)*),
        }
    };
}

/// Calls the right one of four functions, for a routine with only batches: a single operation is a batch of
/// one.
macro_rules! four {
    ($call:ident: $($function:ident)*; [$($list:tt)*]) => {
        four!($call: $($function)*; $($list)*)
    };
    ($call:ident: $many:ident $many_64:ident $strided:ident $strided_64:ident; $($list:tt)*) => {
        match ($call.form, $call.wide) {
            (crate::functions::Form::Many, false) => invoke!($call $many many [] $($list)*),
            (crate::functions::Form::Many, true) => invoke!($call $many_64 many [] $($list)*),
            (_, false) => invoke!($call $strided strided [] $($list)*),
            (_, true) => invoke!($call $strided_64 strided [] $($list)*),
        }
    };
}

/// Calls the only function of a routine without batches and with 32-bit sizes.
macro_rules! single {
    ($call:ident: $($function:ident)*; [$($list:tt)*]) => {
        single!($call: $($function)*; $($list)*)
    };
    ($call:ident: $one:ident; $($list:tt)*) => {
        match ($call.form, $call.wide) {
            (_, true) => Err($call.too_large(stringify!($one))),
            (crate::functions::Form::One, _) => invoke!($call $one one [] $($list)*),
            _ => Err(Error::Batched { function: stringify!($one) }),
        }
    };
}

/// Defines a routine: its trait, and an implementation for each of its types that calls one of the type's
/// functions.
macro_rules! routine {
    (
        $(#[$doc:meta])* $visibility:vis trait $trait:ident: $calls:ident $name:ident($($list:tt)*);
        $($type:ident: $($function:ident)*;)*
    ) => {
        routine! {
            @arguments call [$(#[$doc])* $visibility $trait $calls $name] [$([$type: $($function)*])*]
            [call: &crate::functions::Call<'_>] [] $($list)*
        }
    };
    // Expands each argument for the trait and for the call.
    (@arguments $call:ident $what:tt $rows:tt [$($typed:tt)*] [$($list:tt)*] val $x:ident: $type:ty $(, $($rest:tt)*)?) => {
        routine! { @arguments $call $what $rows [$($typed)*, $x: $type] [$($list)* val $x,] $($($rest)*)? }
    };
    (@arguments $call:ident $what:tt $rows:tt [$($typed:tt)*] [$($list:tt)*] int $x:ident $(, $($rest:tt)*)?) => {
        routine! { @arguments $call $what $rows [$($typed)*, $x: i64] [$($list)* int $x,] $($($rest)*)? }
    };
    (@arguments $call:ident $what:tt $rows:tt [$($typed:tt)*] [$($list:tt)*] ptr $x:ident $(, $($rest:tt)*)?) => {
        routine! {
            @arguments $call $what $rows [$($typed)*, $x: crate::functions::Address] [$($list)* ptr $x,] $($($rest)*)?
        }
    };
    (@arguments $call:ident $what:tt $rows:tt [$($typed:tt)*] [$($list:tt)*] batch $(, $($rest:tt)*)?) => {
        routine! { @arguments $call $what $rows [$($typed)*] [$($list)* batch,] $($($rest)*)? }
    };
    (@arguments $call:ident $what:tt $rows:tt [$($typed:tt)*] [$($list:tt)*] $kind:ident $x:ident $(, $($rest:tt)*)?) => {
        routine! {
            @arguments $call $what $rows [$($typed)*, $x: &crate::functions::Operand] [$($list)* $kind $x,] $($($rest)*)?
        }
    };
    (@arguments $call:ident $what:tt $rows:tt [$($typed:tt)*] $list:tt) => {
        routine! { @items $call $what $rows ($($typed)*) $list }
    };
    (
        @items $call:ident [$(#[$doc:meta])* $visibility:vis $trait:ident $calls:ident $name:ident]
        [$([$type:ident: $($function:ident)*])*] $typed:tt $list:tt
    ) => {
        $(#[$doc])*
        $visibility trait $trait: Sized {
            /// # Safety
            /// As the function requires.
            unsafe fn $name $typed -> crate::error::Result<()>;
        }
        $(
            impl $trait for $type {
                unsafe fn $name $typed -> crate::error::Result<()> {
                    // SAFETY: the caller vouches for all of it.
                    unsafe { $calls!($call: $($function)*; $list) }
                }
            }
        )*
    };
}

mod extensions;
mod general;
mod matrices;
mod mixed;
mod rotations;
mod symmetric;
mod symmetric_updates;
mod triangular;
mod vectors;

pub(crate) use extensions::*;
pub(crate) use general::*;
pub(crate) use matrices::*;
pub(crate) use mixed::*;
pub(crate) use rotations::*;
pub(crate) use symmetric::*;
pub(crate) use symmetric_updates::*;
pub(crate) use triangular::*;
pub(crate) use vectors::*;
