//! The call graph of a crate's functions, and the C functions that they call.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens;
use syn::{Attribute, FnArg, ImplItem, Item, ItemImpl, Pat, Signature, TraitItem};

use super::body::Body;
use super::names::{DefinitionId, Names, Space};
use super::source::{Crate, ModuleId, is_for_tests, is_public};

/// Index of a function in [`Calls::functions`].
pub(super) type FunctionId = usize;

/// A function, method or macro.
pub(super) struct Function<'a> {
    pub(super) module: ModuleId,
    /// Its type or trait.
    pub(super) owner: Option<DefinitionId>,
    /// Its public name, if it has one.
    pub(super) label: Option<String>,
    /// It is a `Drop::drop`.
    pub(super) is_drop: bool,
    /// It comes from a trait implementation.
    is_of_trait: bool,
    /// `None` for a macro.
    pub(super) signature: Option<&'a Signature>,
    body: Option<Code<'a>>,
    /// The C functions it calls.
    pub(super) symbols: BTreeSet<String>,
    /// The functions it calls.
    pub(super) callees: BTreeSet<FunctionId>,
    /// The C functions that its documentation names.
    pub(super) documented: BTreeSet<String>,
}

#[derive(Clone, Copy)]
enum Code<'a> {
    Block(&'a syn::Block),
    Macro(&'a syn::Macro),
}

/// The functions of a crate.
pub(super) struct Calls<'a> {
    pub(super) names: Names<'a>,
    pub(super) functions: Vec<Function<'a>>,
    free: BTreeMap<DefinitionId, FunctionId>,
    macros: BTreeMap<String, FunctionId>,
    methods: BTreeMap<(DefinitionId, String), Vec<FunctionId>>,
    by_name: BTreeMap<String, BTreeSet<DefinitionId>>,
    /// The traits of this crate, and their implementors.
    implementors: BTreeMap<DefinitionId, BTreeSet<DefinitionId>>,
}

/// Method names that types of other crates also have: a call says nothing about its receiver.
const COMMON: &[&str] = &[
    "abs",
    "add",
    "all",
    "any",
    "as_mut",
    "as_ptr",
    "as_ref",
    "as_slice",
    "as_str",
    "borrow",
    "cast",
    "chain",
    "check",
    "clear",
    "clone",
    "close",
    "collect",
    "contains",
    "copied",
    "copy",
    "default",
    "drop",
    "elements",
    "enter",
    "entry",
    "eq",
    "extend",
    "fill",
    "filter",
    "find",
    "finish",
    "first",
    "flush",
    "fmt",
    "from",
    "get",
    "get_mut",
    "hash",
    "index",
    "info",
    "insert",
    "into",
    "is_empty",
    "is_none",
    "is_null",
    "is_some",
    "iter",
    "join",
    "kind",
    "last",
    "len",
    "load",
    "lock",
    "map",
    "name",
    "new",
    "next",
    "ok",
    "open",
    "parse",
    "path",
    "pop",
    "position",
    "push",
    "read",
    "remove",
    "replace",
    "reset",
    "resize",
    "run",
    "set",
    "size",
    "slice",
    "sort",
    "split",
    "split_at",
    "split_at_mut",
    "start",
    "store",
    "swap",
    "take",
    "text",
    "to_vec",
    "truncate",
    "unwrap",
    "update",
    "wait",
    "with",
    "write",
    "zip",
];

impl<'a> Calls<'a> {
    /// Finds the calls in a crate called `name`; `symbols` are the C functions.
    pub(super) fn new(name: &str, source: &'a Crate, symbols: &BTreeSet<&str>) -> Self {
        let mut calls = Self {
            names: Names::new(name, source),
            functions: Vec::new(),
            free: BTreeMap::new(),
            macros: BTreeMap::new(),
            methods: BTreeMap::new(),
            by_name: BTreeMap::new(),
            implementors: BTreeMap::new(),
        };
        for id in 0..calls.names.definitions.len() {
            let definition = &calls.names.definitions[id];
            let (module, item) = (definition.module, definition.item);
            match item {
                Item::Fn(item) if definition.space == Space::Value => {
                    let label = calls.names.public_path(id).map(str::to_owned);
                    let body = Some(Code::Block(&item.block));
                    let function = calls.add(module, &item.sig, None, label, body);
                    calls.functions[function].documented = named(&item.attrs, symbols);
                    calls.free.insert(id, function);
                }
                Item::Trait(item) => {
                    for member in &item.items {
                        let TraitItem::Fn(member) = member else { continue };
                        let name = &member.sig.ident;
                        let label = calls.names.public_path(id).map(|path| format!("{path}::{name}"));
                        let body = member.default.as_ref().map(Code::Block);
                        calls.add(module, &member.sig, Some(id), label, body);
                    }
                }
                _ => {}
            }
        }
        for (module, parsed) in source.modules.iter().enumerate() {
            for item in &parsed.items {
                match item {
                    Item::Impl(item) => calls.add_impl(module, item, symbols),
                    Item::Macro(item) => calls.add_macro(module, item),
                    _ => {}
                }
            }
        }
        for id in 0..calls.functions.len() {
            let (found, callees) = calls.read(id, symbols);
            calls.functions[id].symbols = found;
            calls.functions[id].callees = callees;
        }
        calls
    }

    fn add(
        &mut self,
        module: ModuleId,
        signature: &'a Signature,
        owner: Option<DefinitionId>,
        label: Option<String>,
        body: Option<Code<'a>>,
    ) -> FunctionId {
        let id = self.functions.len();
        let name = signature.ident.to_string();
        if let Some(owner) = owner {
            self.methods.entry((owner, name.clone())).or_default().push(id);
            self.by_name.entry(name.clone()).or_default().insert(owner);
        }
        self.functions.push(Function {
            module,
            owner,
            label,
            is_drop: false,
            is_of_trait: false,
            signature: Some(signature),
            body,
            symbols: BTreeSet::new(),
            callees: BTreeSet::new(),
            documented: BTreeSet::new(),
        });
        id
    }

    fn add_impl(&mut self, module: ModuleId, item: &'a ItemImpl, symbols: &BTreeSet<&str>) {
        if item.attrs.iter().any(is_for_tests) {
            return;
        }
        let of_trait = item.trait_.as_ref().map(|(_, path, _)| path);
        let local_trait = of_trait.and_then(|path| self.names.definition(module, path, None));
        let own = match &*item.self_ty {
            syn::Type::Path(ty) => self.names.definition(module, &ty.path, None),
            _ => None,
        };
        if let (Some(own), Some(local_trait)) = (own, local_trait) {
            self.implementors.entry(local_trait).or_default().insert(own);
        }
        // A trait's methods on foreign types belong to the trait.
        let owner = own.or(local_trait);
        // Only this crate calls a private trait.
        let seen = local_trait.is_none_or(|id| self.names.public_path(id).is_some());
        let path = owner.and_then(|id| self.names.public_path(id)).filter(|_| seen).map(str::to_owned);
        for member in &item.items {
            let ImplItem::Fn(member) = member else { continue };
            if member.attrs.iter().any(is_for_tests) {
                continue;
            }
            let name = &member.sig.ident;
            let label = path.as_ref().and_then(|path| match of_trait.and_then(|path| path.segments.last()) {
                None => is_public(&member.vis).then(|| format!("{path}::{name}")),
                Some(last) => Some(format!("<{path} as {}>::{name}", last.ident)),
            });
            let is_drop =
                of_trait.is_some_and(|path| path.segments.last().is_some_and(|s| s.ident == "Drop"));
            let label = label.filter(|_| !is_drop);
            let id = self.add(module, &member.sig, owner, label, Some(Code::Block(&member.block)));
            self.functions[id].documented = named(&member.attrs, symbols);
            self.functions[id].is_drop = is_drop;
            self.functions[id].is_of_trait = of_trait.is_some();
        }
    }

    fn add_macro(&mut self, module: ModuleId, item: &'a syn::ItemMacro) {
        let id = self.functions.len();
        if let Some(name) = &item.ident {
            self.macros.insert(name.to_string(), id);
        }
        self.functions.push(Function {
            module,
            owner: None,
            label: None,
            is_drop: false,
            is_of_trait: false,
            signature: None,
            body: Some(Code::Macro(&item.mac)),
            symbols: BTreeSet::new(),
            callees: BTreeSet::new(),
            documented: BTreeSet::new(),
        });
    }

    fn read(&self, id: FunctionId, symbols: &BTreeSet<&str>) -> (BTreeSet<String>, BTreeSet<FunctionId>) {
        let function = &self.functions[id];
        let mut body = Body::new(self, symbols, function.module, function.owner);
        for input in function.signature.iter().flat_map(|signature| &signature.inputs) {
            if let FnArg::Typed(input) = input
                && let Pat::Ident(name) = &*input.pat
            {
                body.declare(&name.ident, self.names.type_in(function.module, &input.ty, function.owner));
            }
        }
        match function.body {
            Some(Code::Block(block)) => body.read_block(block),
            Some(Code::Macro(code)) => body.read_macro_definition(code),
            None => {}
        }
        (body.symbols, body.callees)
    }

    /// The function of a definition.
    pub(super) fn free(&self, id: DefinitionId) -> Option<FunctionId> {
        self.free.get(&id).copied()
    }

    /// The macro of that name.
    pub(super) fn macro_named(&self, name: &str) -> Option<FunctionId> {
        self.macros.get(name).copied()
    }

    /// The functions that a call of a type's or trait's `name` may mean: for a trait, those of all
    /// implementors.
    pub(super) fn method(&self, owner: DefinitionId, name: &str) -> Vec<FunctionId> {
        let of = |owner| self.methods.get(&(owner, name.to_owned())).into_iter().flatten().copied();
        let own: Vec<_> = of(owner).collect();
        // Inherent methods take precedence over a trait's.
        let inherent: Vec<_> = own.iter().copied().filter(|id| !self.functions[*id].is_of_trait).collect();
        if !inherent.is_empty() && !self.implementors.contains_key(&owner) {
            return inherent;
        }
        let implementors = self.implementors.get(&owner).into_iter().flatten();
        own.into_iter().chain(implementors.flat_map(|owner| of(*owner))).collect()
    }

    /// The functions that a call of `name` on an unknown receiver means, if unambiguous.
    pub(super) fn method_of_unknown(&self, name: &str) -> Vec<FunctionId> {
        if COMMON.contains(&name) {
            return Vec::new();
        }
        let Some(owners) = self.by_name.get(name) else { return Vec::new() };
        let traits = owners.iter().find(|owner| self.implementors.contains_key(owner));
        match (owners.len(), traits) {
            (1, _) => owners.iter().flat_map(|owner| self.method(*owner, name)).collect(),
            (_, Some(owner)) => {
                let implementors = &self.implementors[owner];
                let only = owners.iter().all(|other| other == owner || implementors.contains(other));
                if only { self.method(*owner, name) } else { Vec::new() }
            }
            _ => Vec::new(),
        }
    }
}

/// The `symbols` that documentation names, in its text or as an alias.
fn named(attributes: &[Attribute], symbols: &BTreeSet<&str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let text = attribute.meta.to_token_stream().to_string();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        found.extend(words.filter(|word| symbols.contains(word)).map(str::to_owned));
    }
    found
}
