//! Writes the functions that a drop-in for a vendor's library exports: each calls the table's entry.

use anyhow::Result;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{FnArg, Pat, ReturnType, Type};

use crate::bindings::origin;
use crate::library::{Calls, DropIn, Library};
use crate::merge::Merged;

/// What a crate exports.
pub(crate) struct Exports {
    /// A function for each one that the versions that the drop-in stands for export.
    pub(crate) functions: String,
    /// The same functions under their other names, if the library has some.
    pub(crate) other_names: Option<String>,
}

/// Writes the functions that a crate exports.
pub(crate) fn generate(merged: &Merged, drop_in: DropIn) -> Result<Exports> {
    let newest = merged.library.versions.len() - 1;
    let versions = if drop_in.every_version { 0..=newest } else { newest..=newest };
    let (mut functions, mut other_names) = (TokenStream::new(), TokenStream::new());
    for function in merged.functions.values() {
        if !versions.clone().any(|version| function.exported.contains(version)) {
            continue;
        }
        let signature = &function.item.sig;
        let (name, inputs, output) = (&signature.ident, &signature.inputs, &signature.output);
        let arguments = inputs.iter().filter_map(|input| match input {
            FnArg::Typed(input) => match &*input.pat {
                Pat::Ident(argument) => Some(&argument.ident),
                _ => None,
            },
            FnArg::Receiver(_) => None,
        });
        let arguments = quote! { #(#arguments),* };
        let call = quote! { unsafe { (crate::table().#name)(#arguments) } };
        let text = name.to_string();
        let body = match drop_in.calls {
            Calls::Observed => quote! { crate::observe(#text, #call) },
            Calls::Optional(not) if is_status(output, merged.library) && !not.contains(&text.as_str()) => {
                quote! { crate::call(|table| unsafe { (table.#name)(#arguments) }) }
            }
            Calls::Direct | Calls::Optional(_) => call,
        };
        let export = |symbol| {
            quote! {
                #[unsafe(no_mangle)]
                unsafe extern "C" fn #symbol(#inputs) #output {
                    #body
                }
            }
        };
        functions.extend(export(name.clone()));
        for (symbol, _) in merged.library.other_names.iter().filter(|(_, function)| *function == text) {
            other_names.extend(export(format_ident!("{symbol}")));
        }
    }
    let other_names = (!other_names.is_empty()).then(|| file(merged.library, &other_names)).transpose()?;
    Ok(Exports { functions: file(merged.library, &functions)?, other_names })
}

fn file(library: &Library, functions: &TokenStream) -> Result<String> {
    let module: syn::Path = syn::parse_str(library.module)?;
    let file = syn::parse2(quote! {
        use #module::bindings::*;

        #functions
    })?;
    Ok(format!("{}{}", origin(library), prettyplease::unparse(&file)))
}

/// Whether a function returns the library's status.
fn is_status(output: &ReturnType, library: &Library) -> bool {
    matches!(output, ReturnType::Type(_, kind) if matches!(&**kind, Type::Path(path) if path.path.is_ident(library.status)))
}
