//! `#[derive(hip::DeviceCopy)]`: see `hip::DeviceCopy`, which re-exports it.
#![warn(missing_docs)]

mod device_copy;

use proc_macro::TokenStream;

/// Implements `hip::DeviceCopy` for a struct, and checks the trait's requirements at compile time.
///
/// - The layout is fixed: `#[repr(C)]` or `#[repr(transparent)]`.
/// - Every field is `DeviceCopy`.
/// - There is no padding: the size is the sum of the fields' sizes.
///
/// Type parameters need `#[repr(transparent)]` and a single field, because the size of any other generic
/// struct is only known where it is used. Enums and unions are refused, because a device can write bytes that
/// are not valid values.
///
/// The struct also has to be `Copy`, `Send`, `Sync` and `'static`.
#[proc_macro_derive(DeviceCopy)]
pub fn derive_device_copy(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    device_copy::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
