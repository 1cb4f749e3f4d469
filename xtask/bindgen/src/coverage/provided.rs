//! Finds the functions that an implementation inside the process provides.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::Item;

/// The functions among `symbols` that the sources in `folder` provide.
///
/// The sources list them in functions called `provide`, which call a builder's methods, or in macros that
/// generate such a function from a list.
pub(super) fn read(folder: &Path, symbols: &BTreeSet<&str>) -> Result<BTreeSet<String>> {
    let mut provided = BTreeSet::new();
    for path in sources(folder)? {
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        provided.extend(of_file(&text, symbols).with_context(|| format!("in {}", path.display()))?);
    }
    ensure!(!provided.is_empty(), "no function `provide` in {} names a C function", folder.display());
    Ok(provided)
}

fn of_file(text: &str, symbols: &BTreeSet<&str>) -> Result<BTreeSet<String>> {
    let mut provided = BTreeSet::new();
    for item in syn::parse_file(text)?.items {
        match item {
            Item::Fn(item) if item.sig.ident == "provide" => {
                symbols_in(item.block.to_token_stream(), symbols, &mut provided);
            }
            Item::Macro(item) if item.ident.is_none() => {
                symbols_in(item.mac.tokens, symbols, &mut provided);
            }
            _ => {}
        }
    }
    Ok(provided)
}

/// Adds the `symbols` that occur as identifiers.
pub(super) fn symbols_in(tokens: TokenStream, symbols: &BTreeSet<&str>, found: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => symbols_in(group.stream(), symbols, found),
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                if symbols.contains(name.as_str()) {
                    found.insert(name);
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Every Rust file below `folder`.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builders_and_lists_are_read() {
        let symbols = BTreeSet::from(["x_a", "x_b", "x_c", "x_d", "x_e"]);
        let text = "
            macro_rules! functions { ($($name:ident)+) => { fn provide() { x_e(); } } }
            functions! { module: x_a; }
            fn provide(builder: &mut Builder) {
                builder.x_b(one).also(two);
                orders!(builder, load, x_c);
            }
            fn other() { x_d(); }";
        assert_eq!(of_file(text, &symbols).unwrap(), ["x_a", "x_b", "x_c"].map(str::to_owned).into());
    }
}
