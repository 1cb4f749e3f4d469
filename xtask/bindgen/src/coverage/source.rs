//! The modules of a crate, without its tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use proc_macro2::{Group, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Ident, Item, Meta, Token, Visibility, parenthesized, parse_quote, punctuated::Punctuated,
};

/// Index of a module of a crate; the root is 0.
pub(super) type ModuleId = usize;

/// One module: its own items, of which modules are in [`Crate::modules`].
pub(super) struct Module {
    pub(super) parent: Option<ModuleId>,
    pub(super) name: String,
    pub(super) public: bool,
    pub(super) items: Vec<Item>,
}

/// The modules of a crate.
pub(super) struct Crate {
    pub(super) modules: Vec<Module>,
}

/// The public module of a safe crate that is no part of its safe interface: what its objects are made of, for runtimes that do the same.
const RAW: &str = "raw";

impl Crate {
    /// Whether a module is below the safe interface.
    pub(super) fn is_raw(&self, module: ModuleId) -> bool {
        let above = |id: &ModuleId| self.modules[*id].parent;
        std::iter::successors(Some(module), above).any(|id| self.modules[id].name == RAW)
    }

    /// Reads a crate from its `lib.rs` and the files of its modules.
    pub(super) fn load(root: &Path) -> Result<Self> {
        let mut modules = Self { modules: Vec::new() };
        let folder = root.parent().unwrap_or(Path::new("")).to_owned();
        modules.add_file(None, String::new(), true, root, folder)?;
        Ok(modules)
    }

    /// A crate of one text, whose modules are all inline.
    #[cfg(test)]
    pub(super) fn parse(text: &str) -> Self {
        let mut modules = Self { modules: Vec::new() };
        let items = syn::parse_file(text).unwrap().items;
        modules.add(None, String::new(), true, items, PathBuf::from("/nowhere")).unwrap();
        modules
    }

    fn add_file(
        &mut self,
        parent: Option<ModuleId>,
        name: String,
        public: bool,
        path: &Path,
        children: PathBuf,
    ) -> Result<()> {
        let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let file = syn::parse_file(&text).with_context(|| format!("in {}", path.display()))?;
        self.add(parent, name, public, file.items, children)
    }

    /// Adds a module with the modules in it, whose files are in the folder `children`.
    fn add(
        &mut self,
        parent: Option<ModuleId>,
        name: String,
        public: bool,
        items: Vec<Item>,
        children: PathBuf,
    ) -> Result<()> {
        let id = self.modules.len();
        self.modules.push(Module { parent, name, public, items: Vec::new() });
        let items = expand(items);
        for item in items.into_iter().filter(|item| !attributes(item).iter().any(is_for_tests)) {
            let Item::Mod(module) = item else {
                self.modules[id].items.push(item);
                continue;
            };
            let name = module.ident.to_string();
            let public = is_public(&module.vis);
            let folder = children.join(&name);
            if let Some((_, items)) = module.content {
                self.add(Some(id), name, public, items, folder)?;
                continue;
            }
            let candidates = [children.join(format!("{name}.rs")), folder.join("mod.rs")];
            match candidates.iter().find(|path| path.is_file()) {
                Some(path) => self.add_file(Some(id), name, public, path, folder)?,
                None => bail!(
                    "module {name} is neither {}",
                    candidates.map(|c| c.display().to_string()).join(" nor ")
                ),
            }
        }
        Ok(())
    }
}

/// Adds the items that macros write: the module's own simple ones, which take identifiers, types of one name and literals, and nothing else;
/// and [`ROUTINE`], which is known here.
fn expand(items: Vec<Item>) -> Vec<Item> {
    let mut rules: BTreeMap<String, (Vec<String>, TokenStream)> = BTreeMap::new();
    let mut expanded = Vec::new();
    for item in items {
        if let Item::Macro(item) = &item {
            if let Some(name) = &item.ident {
                if let Some(rule) = rule_of(item.mac.tokens.clone()) {
                    rules.insert(name.to_string(), rule);
                }
            } else if item.mac.path.is_ident(ROUTINE)
                && let Ok(routine) = syn::parse2::<Routine>(item.mac.tokens.clone())
            {
                expanded.extend(routine.items());
            } else if let Some((parameters, body)) =
                item.mac.path.get_ident().and_then(|n| rules.get(&n.to_string()))
                && let Some(arguments) = arguments(item.mac.tokens.clone())
                && arguments.len() == parameters.len()
            {
                let pairs = parameters.iter().map(String::as_str).zip(arguments).collect();
                let written = syn::parse2::<syn::File>(substitute(body.clone(), &pairs));
                expanded.extend(written.map(|file| file.items).unwrap_or_default());
            }
        }
        expanded.push(item);
    }
    expanded
}

/// The macro of the crate `rocblas` that writes a trait and its implementations, each of which calls functions by another macro.
const ROUTINE: &str = "routine";

/// What stands in [`ROUTINE`]: `trait Gemm: six gemm(…); f32: rocblas_sgemm …; f64: …;`
struct Routine {
    visibility: Visibility,
    name: Ident,
    calls: Ident,
    method: Ident,
    /// The types, with the functions that are called for each.
    rows: Vec<(Ident, Vec<Ident>)>,
}

impl Parse for Routine {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Attribute::parse_outer(input)?;
        let visibility = input.parse()?;
        input.parse::<Token![trait]>()?;
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let (calls, method) = (input.parse()?, input.parse()?);
        let list;
        parenthesized!(list in input);
        list.parse::<TokenStream>()?;
        input.parse::<Token![;]>()?;
        let mut rows = Vec::new();
        while !input.is_empty() {
            let kind = input.parse()?;
            input.parse::<Token![:]>()?;
            let mut functions = Vec::new();
            while !input.peek(Token![;]) {
                functions.push(input.parse()?);
            }
            input.parse::<Token![;]>()?;
            rows.push((kind, functions));
        }
        Ok(Self { visibility, name, calls, method, rows })
    }
}

impl Routine {
    /// What the macro writes, as far as calls go.
    fn items(&self) -> Vec<Item> {
        let Self { visibility, name, calls, method, rows } = self;
        let mut items: Vec<Item> = vec![parse_quote! {
            #visibility trait #name: Sized {
                unsafe fn #method(call: &Call<'_>) -> Result<()>;
            }
        }];
        items.extend(rows.iter().map(|(kind, functions)| -> Item {
            parse_quote! {
                impl #name for #kind {
                    unsafe fn #method(call: &Call<'_>) -> Result<()> {
                        unsafe { #calls!(call: #(#functions)*;) }
                    }
                }
            }
        }));
        items
    }
}

/// What a parameter of a simple macro may be.
const SIMPLE: [&str; 3] = ["ident", "literal", "ty"];

/// Parameters and body of `($a:ident, $b:literal) => { … }`, if a macro is that.
fn rule_of(definition: TokenStream) -> Option<(Vec<String>, TokenStream)> {
    let tokens: Vec<TokenTree> = definition.into_iter().collect();
    let (parameters, body) = match tokens.as_slice() {
        [TokenTree::Group(parameters), TokenTree::Punct(_), TokenTree::Punct(_), TokenTree::Group(body)]
        | [
            TokenTree::Group(parameters),
            TokenTree::Punct(_),
            TokenTree::Punct(_),
            TokenTree::Group(body),
            TokenTree::Punct(_),
        ] => (parameters, body),
        _ => return None,
    };
    let parameters: Vec<TokenTree> = parameters.stream().into_iter().collect();
    let names = parameters.split(|token| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ','));
    let names = names.map(|parameter| match parameter {
        [TokenTree::Punct(_), TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Ident(kind)]
            if SIMPLE.iter().any(|simple| kind == simple) =>
        {
            Some(name.to_string())
        }
        _ => None,
    });
    Some((names.collect::<Option<_>>()?, body.stream()))
}

/// The parts of a list with commas.
fn arguments(tokens: TokenStream) -> Option<Vec<TokenStream>> {
    let mut list: Vec<TokenStream> = vec![TokenStream::new()];
    for token in tokens {
        match token {
            TokenTree::Punct(comma) if comma.as_char() == ',' => list.push(TokenStream::new()),
            TokenTree::Group(_) => return None,
            token => list.last_mut()?.extend([token]),
        }
    }
    // A comma may stand behind the last one.
    list.pop_if(|last| last.is_empty());
    Some(list)
}

/// Writes an argument for each `$name`.
fn substitute(body: TokenStream, arguments: &BTreeMap<&str, TokenStream>) -> TokenStream {
    let mut written = TokenStream::new();
    let mut tokens = body.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let token = match token {
            TokenTree::Punct(dollar) if dollar.as_char() == '$' => match tokens.peek() {
                Some(TokenTree::Ident(name)) if arguments.contains_key(name.to_string().as_str()) => {
                    let name = name.to_string();
                    tokens.next();
                    written.extend(arguments[name.as_str()].clone());
                    continue;
                }
                _ => TokenTree::Punct(dollar),
            },
            TokenTree::Group(group) => {
                TokenTree::Group(Group::new(group.delimiter(), substitute(group.stream(), arguments)))
            }
            other => other,
        };
        written.extend([token]);
    }
    written
}

/// Whether everyone who sees the module sees the item.
pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether an attribute keeps an item out of everything but tests.
pub(super) fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<Meta>().is_ok_and(|meta| needs_test(&meta))
}

fn needs_test(meta: &Meta) -> bool {
    match meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|parts| parts.iter().any(needs_test)),
        _ => false,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;

    use super::*;

    #[test]
    fn tests_are_left_out() {
        let parsed = Crate::parse(
            "fn a() {}
             #[cfg(test)] fn b() {}
             #[cfg(all(test, unix))] mod c { fn d() {} }
             #[cfg(not(test))] mod e { #[cfg(test)] mod f {} }
             #[cfg(any(test, unix))] fn g() {}",
        );
        assert_eq!(parsed.modules.iter().map(|module| module.name.as_str()).collect::<Vec<_>>(), ["", "e"]);
        assert_eq!(parsed.modules[0].items.len(), 2);
        assert_eq!(parsed.modules[1].parent, Some(0));
    }

    #[test]
    fn simple_macros_are_expanded() {
        let parsed = Crate::parse(
            "macro_rules! both { ($a:ident, $b:ident) => { impl $a { fn of(&self) -> &$b { &self.$b } } }; }
             both!(X, y);
             macro_rules! many { ($($a:ident)+) => { $(struct $a;)+ }; }
             many!(A B);
             other!(X, y);",
        );
        let items = &parsed.modules[0].items;
        let expected: Item = syn::parse_str("impl X { fn of(&self) -> &y { &self.y } }").unwrap();
        assert_eq!(items.iter().filter(|item| !matches!(item, Item::Macro(_))).count(), 1);
        let written = items.iter().find(|item| matches!(item, Item::Impl(_))).unwrap();
        assert_eq!(written.to_token_stream().to_string(), expected.to_token_stream().to_string());
    }

    #[test]
    fn routines_are_expanded() {
        let parsed = Crate::parse(
            "routine! {
                 /// Doc.
                 pub trait Dot: six dot(val t: Trans, int n, at x, batch);
                 f32: rocblas_sdot rocblas_sdot_64;
                 f64: rocblas_ddot;
             }
             routine!(something else);",
        );
        let items = &parsed.modules[0].items;
        let written: Vec<String> = items
            .iter()
            .filter(|item| matches!(item, Item::Impl(_)))
            .map(|item| item.to_token_stream().to_string())
            .collect();
        assert_eq!(written.len(), 2);
        assert!(written[0].contains("impl Dot for f32") && written[0].contains("rocblas_sdot rocblas_sdot_64"));
        assert!(written[1].contains("impl Dot for f64") && written[1].contains("six ! (call : rocblas_ddot ;)"));
        assert!(items.iter().any(|item| matches!(item, Item::Trait(item) if item.ident == "Dot")));
    }
}
