//! Writes `table.rs`: the struct of function pointers, its stubs, its builder and its symbol list.

use anyhow::{Result, bail};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{FnArg, ReturnType, Type};

use crate::aliases::{self, Aliases};
use crate::api::doc;
use crate::bindings::origin;
use crate::library::{Library, Vendor};
use crate::merge::Merged;

/// Writes the table of all versions' functions.
pub(crate) fn generate(merged: &Merged, aliases: &Aliases) -> Result<String> {
    let library = merged.library;
    let mut fields = TokenStream::new();
    let mut setters = TokenStream::new();
    let mut initial = TokenStream::new();
    let mut stubs = TokenStream::new();
    let mut names: Vec<&String> = merged.functions.keys().collect();
    names.sort();

    for (function_name, function) in &merged.functions {
        let item = &function.item;
        let name = &item.sig.ident;
        let index =
            names.binary_search(&function_name).unwrap_or_else(|_| unreachable!("made of the same list"));
        let inputs = &item.sig.inputs;
        let types = inputs.iter().filter_map(|input| match input {
            FnArg::Typed(input) => Some(&*input.ty),
            FnArg::Receiver(_) => None,
        });
        let ignored = types.map(|ty| quote!(_: #ty));
        let output = &item.sig.output;
        let value = unsupported_value(library, output, function_name)?;
        let mut docs = item.attrs.clone();
        if docs.is_empty() {
            docs.push(doc(&match library.vendor {
                Vendor::Amd => format!("`{name}`; the header says no more."),
                Vendor::Nvidia => format!("`{name}`, as NVIDIA documents it."),
            }));
        }
        if let Some(line) = function.exported.describe(library) {
            docs.extend([doc(""), doc(&line)]);
        }
        let known_as = aliases::attributes(aliases.of(function_name));
        let short = format!(" Provides `{name}`.");
        fields.extend(quote! {
            #(#docs)*
            #(#known_as)*
            pub #name: unsafe extern "C" fn(#inputs) #output,
        });
        setters.extend(quote! {
            #[doc = #short]
            pub fn #name(&mut self, function: unsafe extern "C" fn(#inputs) #output) -> &mut Self {
                self.table.#name = function;
                self.table.origin.provided.insert(#index);
                self
            }
        });
        initial.extend(quote!(#name: stubs::#name,));
        stubs.extend(quote! {
            pub(super) unsafe extern "C" fn #name(#(#ignored),*) #output { #value }
        });
    }
    let count = names.len();
    let symbols = names.iter().map(|name| {
        let field = format_ident!("{name}");
        let literal = syn::LitCStr::new(
            &std::ffi::CString::new(name.as_str()).unwrap_or_default(),
            proc_macro2::Span::call_site(),
        );
        let versions = merged.functions[*name].exported.0;
        quote!(Symbol { name: #literal, offset: offset_of!(Table, #field), versions: #versions })
    });
    let versions: Vec<_> = library.versions.iter().map(|version| version.version).collect();
    let version_count = versions.len();
    let about = format!(
        " The functions of {}, as pointers: a real library's, this process's own, or stubs that report \"not supported\".",
        library.what
    );
    let known = format!(" The versions of {} that the bindings were made from, oldest first.", library.what);
    let file = syn::parse2(quote! {
        use std::mem::offset_of;

        use sys_load::{Origin, Symbol};

        use super::bindings::*;
        use super::{Builder, Extensions};

        #[doc = #known]
        pub const VERSIONS: [&str; #version_count] = [#(#versions),*];

        #[doc = #about]
        #[derive(Debug)]
        pub struct Table {
            #fields
            #[doc = " Functions that only this project's own implementations offer."]
            pub ext: Extensions,
            pub(super) origin: Origin,
        }

        impl Table {
            pub(super) const STUBS: Table = Table {
                #initial
                ext: Extensions::NONE,
                origin: Origin::NONE,
            };
        }

        #[doc = " Every symbol of the table, sorted by name; an index here is a bit of `Origin::provided`."]
        pub static SYMBOLS: [Symbol; #count] = [#(#symbols),*];

        impl Builder {
            #setters
        }

        mod stubs {
            use super::*;
            #stubs
        }
    })?;
    Ok(format!("{}{}", origin(library), prettyplease::unparse(&file)))
}

/// The return value of a stub with this return type.
fn unsupported_value(library: &Library, output: &ReturnType, name: &str) -> Result<TokenStream> {
    let ReturnType::Type(_, ty) = output else { return Ok(TokenStream::new()) };
    Ok(match &**ty {
        Type::Ptr(pointer) => {
            let elem = &pointer.elem;
            let target = quote!(#elem).to_string().replace(' ', "");
            if pointer.mutability.is_some() {
                quote!(::std::ptr::null_mut())
            } else if target.ends_with("c_char") {
                quote!(c"not supported by this library".as_ptr())
            } else {
                quote!(::std::ptr::null())
            }
        }
        Type::Path(path) => {
            let text = quote!(#path).to_string().replace(' ', "");
            if text == library.status {
                let (status, code) =
                    (format_ident!("{}", library.status), format_ident!("{}", library.unsupported));
                quote!(#status::#code)
            } else {
                match text.rsplit("::").next().unwrap_or_default() {
                    "u64" | "u32" | "i64" | "i32" | "usize" | "c_int" | "c_uint" | "hsa_signal_value_t" => {
                        quote!(0)
                    }
                    "bool" => quote!(false),
                    // The mode that every handle starts in, for host pointers.
                    "rocblas_pointer_mode" => quote!(rocblas_pointer_mode::rocblas_pointer_mode_host),
                    "hipChannelFormatDesc" => quote!(hipChannelFormatDesc::default()),
                    _ => bail!("{name} returns {text}: say in table.rs what its stub returns"),
                }
            }
        }
        other => bail!("{name} returns {}: say in table.rs what its stub returns", quote!(#other)),
    })
}
