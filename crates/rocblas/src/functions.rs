//! The functions of rocBLAS: a trait for each routine, and a row for each type that the routine exists for.
//!
//! A routine has up to six functions for a type: for one operation, for a strided batch and for a batch by pointers, each with sizes of 32
//! and of 64 bits. Which one is called, the [`Call`] says. What the six take differs in the types of sizes, in whether operands
//! have a stride, and in how many batches there are: the macros here write the six calls from one list of arguments.
//!
//! | argument | stands for |
//! |---|---|
//! | `val x` | an enum; `val x: type` where a [`routine`] is written |
//! | `int n` | a size |
//! | `ptr alpha` | a scalar or result, where the pointer mode says |
//! | `at x` | a vector or matrix: its address, leading dimension or increment, and in strided batches its stride |
//! | `typed x` | the same, with its type behind the address |
//! | `packed x` | the same without a leading dimension |
//! | `batch` | how many there are, in batches |

use std::ffi::c_void;

use rocblas_sys::{Table, rocblas_datatype, rocblas_handle, rocblas_status};

use crate::error::{Error, Result};

/// How the operands of a call lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One of each.
    One,
    /// Several of each, by an array of pointers.
    Many,
    /// Several of each, at a fixed distance.
    Strided,
}

/// What every function is called with.
#[derive(Debug)]
pub struct Call<'a> {
    pub table: &'a Table,
    pub handle: rocblas_handle,
    pub form: Form,
    /// A size needs more than 32 bits.
    pub wide: bool,
    pub batch: i64,
}

/// An operand in device memory.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Of its first element, or of an array of such addresses.
    pub address: Address,
    /// Leading dimension or increment.
    pub ld: i64,
    /// Between two of a strided batch.
    pub stride: i64,
    pub datatype: rocblas_datatype,
}

/// Where something lies: in device memory, or a scalar on the host.
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
    /// The size, which has been found to fit: else the call would be a wide one.
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
    /// What became of a call.
    pub(crate) fn ended(&self, function: &'static str, status: rocblas_status) -> Result<()> {
        match status {
            rocblas_status::rocblas_status_success => Ok(()),
            rocblas_status::rocblas_status_not_implemented if !self.table.has(function) => {
                Err(Error::Missing { function, wide: self.wide })
            }
            code => Err(Error::Status { function, code }),
        }
    }

    /// There is no function for sizes of 64 bits.
    #[cold]
    pub(crate) fn too_large(&self, function: &'static str) -> Error {
        Error::Wide { function }
    }
}

/// Writes one call: takes the arguments one by one, and puts what each stands for behind those that it has.
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

/// Calls that one of six functions that is meant.
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

/// Calls that one of three functions that is meant, of a routine whose sizes have 32 bits.
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

/// Calls that one of the four functions of a routine for batches that is meant: one operation is a batch of one.
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

/// Calls the one function of a routine that has no batches and sizes of 32 bits.
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

/// Writes a routine: its trait, and the implementation for each of its types, which calls one of the functions of that.
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
    // What each argument is to the trait, and to the call.
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
            /// As the function asks.
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
