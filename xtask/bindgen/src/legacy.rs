//! Writes `legacy.rs`: layouts, numbers and calls of older versions that differ from the superset.

use std::fmt::Write as _;

use quote::{format_ident, quote};
use syn::{Item, ItemMod};

use crate::api::{Kind, doc};
use crate::bindings::{enumeration, origin};
use crate::merge::{Merged, without_docs};

/// Writes the module; `None` when every version agrees with the superset.
pub(crate) fn generate(merged: &Merged) -> Option<String> {
    let library = merged.library;
    if merged.legacy.iter().all(|legacy| legacy.functions.is_empty() && legacy.types.is_empty()) {
        return None;
    }
    let mut text = origin(library);
    let _ = write!(
        text,
        "//! What older versions of {0} lay out, number or call otherwise than the newest.\n//!\n\
         //! Each module holds one version's types that differ, with their own layout assertions, the types of its\n\
         //! functions that are affected, and the list of those functions.\n\n",
        library.what
    );
    for (index, legacy) in merged.legacy.iter().enumerate() {
        let version = library.versions[index].version;
        let api = &merged.apis[index];
        let mut items: Vec<Item> = Vec::new();
        let before = index.checked_sub(1).map(|before| module_name(library.versions[before].version));
        let mut same: Vec<_> = legacy.as_before.iter().map(|name| format_ident!("{name}")).collect();
        same.sort();
        if let (Some(before), false) = (before, same.is_empty()) {
            let before = format_ident!("{before}");
            items.push(syn::parse_quote!(pub use super::#before::{#(#same),*};));
        }
        let note = doc(&format!("As {} {version} has it.", library.what));
        for name in legacy.types.iter().filter(|name| !legacy.as_before.contains(*name)) {
            match &api.types[name] {
                Kind::Record(record) => {
                    let mut item = without_docs(&record.item);
                    if let Item::Struct(syn::ItemStruct { attrs, .. })
                    | Item::Union(syn::ItemUnion { attrs, .. }) = &mut item
                    {
                        attrs.insert(0, note.clone());
                    }
                    items.push(item);
                    items.extend(record.with.iter().cloned());
                }
                Kind::Alias { item, .. } => items.push(without_docs(item)),
                Kind::Enum { repr, constants, .. } => {
                    let mut values: Vec<_> =
                        constants.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                    values.iter_mut().for_each(|(_, value)| value.docs.clear());
                    items.extend(enumeration(name, repr, std::slice::from_ref(&note), &values, false));
                }
            }
        }
        for name in &legacy.constants {
            items.push(Item::Const(api.constants[name].0.clone()));
        }
        for name in &legacy.functions {
            let function = &api.functions[name];
            let (ident, inputs, output) =
                (format_ident!("{name}"), &function.sig.inputs, &function.sig.output);
            let docs = doc(&format!("The type of `{name}` in {} {version}.", library.what));
            items.push(syn::parse_quote!(#docs pub type #ident = unsafe extern "C" fn(#inputs) #output;));
        }
        let (names, count) = (&legacy.functions, legacy.functions.len());
        let layout = " Functions that cannot be called as the newest version's are: they pass another layout, other \
                      numbers or other arguments.";
        items.push(syn::parse_quote!(
            #[doc = #layout]
            pub const AFFECTED: [&str; #count] = [#(#names),*];
        ));
        let (module, docs) =
            (format_ident!("{}", module_name(version)), format!(" {} {version}.", library.what));
        let mut parsed: ItemMod = syn::parse_quote!(
            #[doc = #docs]
            pub mod #module {
                #[allow(unused_imports, reason = "not every version needs it")]
                use super::super::bindings::*;
            }
        );
        if let Some((_, content)) = &mut parsed.content {
            content.extend(items);
        }
        let file =
            syn::parse2(quote!(#parsed)).unwrap_or_else(|error| unreachable!("a module is an item: {error}"));
        text.push_str(&prettyplease::unparse(&file));
    }
    Some(text)
}

/// `v5_2` for version 5.2.3.
pub(crate) fn module_name(version: &str) -> String {
    let mut parts = version.split('.');
    format!("v{}_{}", parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}
