//! The expansion of `#[derive(DeviceCopy)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Error, Result};

/// How a struct's layout is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    C,
    Transparent,
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let data = match &input.data {
        Data::Struct(data) => data,
        Data::Enum(_) => {
            let text = "an enum cannot be `DeviceCopy`: a device can write bytes that are not valid values; use an integer";
            return Err(Error::new_spanned(name, text));
        }
        Data::Union(_) => {
            let text = "a union cannot be `DeviceCopy`: bytes outside the active field are not initialised";
            return Err(Error::new_spanned(name, text));
        }
    };
    let layout = layout(input)?;
    let types: Vec<&syn::Type> = data.fields.iter().map(|field| &field.ty).collect();
    if !input.generics.params.is_empty() && (layout != Layout::Transparent || types.len() != 1) {
        let text = "a generic struct can only be `DeviceCopy` if it is `#[repr(transparent)]` with a single field: whether \
                    anything else has padding depends on the parameters";
        return Err(Error::new_spanned(&input.generics, text));
    }
    let mut generics = input.generics.clone();
    let checks = if generics.params.is_empty() {
        // A name that no field's type can refer to: constants inside the types, such as array lengths, can
        // see it.
        let plain = format_ident!("__device_copy_size_of_plain_data");
        let fields = types.iter().map(|ty| quote_spanned!(ty.span()=> #plain::<#ty>()));
        let padding = format!(
            "`{name}` has padding, which is not initialised: order the fields by alignment, or add fields that fill the gaps"
        );
        quote! {
            const fn #plain<T: ::hip::DeviceCopy>() -> ::core::primitive::usize {
                ::core::mem::size_of::<T>()
            }
            ::core::assert!(::core::mem::size_of::<#name>() == 0 #(+ #fields)*, #padding);
        }
    } else {
        let clause = generics.make_where_clause();
        clause.predicates.extend(types.iter().map(|ty| -> syn::WherePredicate {
            syn::parse_quote_spanned!(ty.span()=> #ty: ::hip::DeviceCopy)
        }));
        TokenStream::new()
    };
    let (parameters, arguments, clause) = generics.split_for_impl();
    // Every path is absolute, so that the program's own definitions of these names cannot change a check.
    Ok(quote! {
        const _: () = {
            #checks
        };
        // SAFETY: the fields are plain data, there are no bytes between or after them, and the layout is
        // fixed.
        #[automatically_derived]
        unsafe impl #parameters ::hip::DeviceCopy for #name #arguments #clause {
            const NUMBER: ::core::option::Option<::hip::Number> =
                ::hip::Number::of_all(&[#(<#types as ::hip::DeviceCopy>::NUMBER),*]);
        }
    })
}

/// The layout that `#[repr(…)]` asks for.
fn layout(input: &DeriveInput) -> Result<Layout> {
    let mut layout = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("C") {
                layout = Some(Layout::C);
            } else if meta.path.is_ident("transparent") {
                layout = Some(Layout::Transparent);
            } else if meta.input.peek(syn::token::Paren) {
                // `align(8)` and `packed(4)` change the size, which the check below covers.
                let size;
                syn::parenthesized!(size in meta.input);
                size.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    layout.ok_or_else(|| {
        let text = "`DeviceCopy` needs a fixed layout: add `#[repr(C)]`, or `#[repr(transparent)]` for a single field";
        Error::new_spanned(&input.ident, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(source: &str) -> String {
        derive(&syn::parse_str(source).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_checked_is_refused_with_a_reason() {
        assert!(refused("struct S { a: f32 }").contains("#[repr(C)]"));
        assert!(refused("#[repr(align(8))] struct S { a: f32 }").contains("#[repr(C)]"));
        assert!(refused("#[repr(C)] enum E { A, B }").contains("integer"));
        assert!(refused("#[repr(C)] union U { a: f32, b: u8 }").contains("not initialised"));
        assert!(refused("#[repr(C)] struct S<T> { a: T }").contains("#[repr(transparent)]"));
        assert!(refused("#[repr(transparent)] struct S<T> { a: T, b: () }").contains("single field"));
        assert!(refused("#[repr(C)] struct S<const N: usize>([f32; N]);").contains("single field"));
    }

    #[test]
    fn every_fixed_layout_is_taken() {
        for source in [
            "#[repr(C)] struct S { a: f32, b: [u8; 4] }",
            "#[repr(C)] struct S;",
            "#[repr(transparent)] struct S(f32);",
            "#[repr(C, align(16))] struct S([f32; 4]);",
            "#[repr(C, packed(2))] struct S(u8, u16);",
            "#[repr(transparent)] struct S<T>(T);",
            "#[repr(transparent)] struct S<T: Copy, const N: usize>([T; N]) where T: Send;",
        ] {
            let code = derive(&syn::parse_str(source).unwrap()).unwrap();
            syn::parse2::<syn::File>(code).unwrap();
        }
    }
}
