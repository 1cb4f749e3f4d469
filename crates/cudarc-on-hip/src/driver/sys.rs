//! CUDA's driver API, as far as this crate has it: types, values and functions with the names of its header.
//!
//! The contract of a function is the one in CUDA's documentation. Each calls its HIP counterpart on the
//! device of the calling thread's context. Where HIP lacks a counterpart, it returns
//! `CUDA_ERROR_NOT_SUPPORTED`. A function that is not listed here does not exist in this crate.
#![allow(missing_docs, reason = "names and contracts are those of CUDA's header")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the one in CUDA's documentation")]
#![allow(clippy::too_many_arguments, reason = "the arguments are CUDA's")]
#![allow(non_camel_case_types, non_snake_case, reason = "the names are CUDA's")]

mod attributes;
mod context;
mod copy2d;
mod device;
mod enums;
mod event;
mod external;
mod function;
mod graph;
mod memory;
mod module;
mod pool;
mod stream;
mod tensor_map;
mod types;

pub use context::*;
pub use copy2d::*;
pub use device::*;
pub use enums::*;
pub use event::*;
pub use external::*;
pub use function::*;
pub use graph::*;
pub use memory::*;
pub use module::*;
pub use pool::*;
pub use stream::*;
pub use tensor_map::*;
pub use types::*;

pub(crate) use module::load_bytes;

/// CUDA functions, whose bodies end in an outcome.
macro_rules! functions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)+) => {
        $(
            $(#[$attribute])*
            pub unsafe fn $name($($argument: $type),*) -> $crate::driver::sys::CUresult {
                #[allow(unused_unsafe, reason = "some only look at numbers")]
                // SAFETY: the caller keeps the contract in CUDA's documentation of this function, and HIP's
                // is the same: handles are from functions of this module, and each pointer is as documented.
                let run = move || -> $crate::backend::Outcome { unsafe { $body } };
                $crate::backend::status(run())
            }
        )+
    };
}
use functions;

/// A device address as HIP writes it.
fn address(address: CUdeviceptr) -> *mut std::ffi::c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// A device address as CUDA writes it.
fn number_of(address: *mut std::ffi::c_void) -> CUdeviceptr {
    address.expose_provenance() as CUdeviceptr
}
