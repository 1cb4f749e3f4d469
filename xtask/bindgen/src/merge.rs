//! Merges the declarations of all versions of a library's headers into a superset, and records the
//! differences of each older version.

use std::collections::{BTreeSet, HashSet};

use indexmap::{IndexMap, IndexSet};
use syn::{Attribute, ForeignItemFn, ReturnType, Type};

use crate::api::{Api, Kind, identifiers};
use crate::compare;
use crate::library::{Library, Vendor};
use crate::unexported::UNEXPORTED;

/// A set of versions of one library: bit 0 is the oldest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Versions(pub(crate) u8);

impl Versions {
    /// Every version of `library`.
    pub(crate) fn all(library: &Library) -> Self {
        Versions(u8::MAX >> (8 - library.versions.len()))
    }

    pub(crate) fn insert(&mut self, index: usize) {
        self.0 |= 1 << index;
    }

    pub(crate) fn contains(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }

    /// Describes these versions, unless they are all.
    pub(crate) fn describe(self, library: &Library) -> Option<String> {
        let count = library.versions.len();
        let what = library.what;
        let has: Vec<usize> = (0..count).filter(|&index| self.contains(index)).collect();
        let name = |index: usize| library.versions[index].version;
        match (has.first(), has.last()) {
            _ if has.len() == count => None,
            (None, _) | (_, None) => Some(format!("In no library of {what} that is known here.")),
            (Some(&first), Some(&last)) if last - first + 1 == has.len() => Some(match (first, last) {
                (first, last) if last == count - 1 => format!("Since {what} {}.", name(first)),
                (0, last) => format!("Up to {what} {}.", name(last)),
                (first, last) if first == last => format!("In {what} {} only.", name(first)),
                (first, last) => format!("From {what} {} to {}.", name(first), name(last)),
            }),
            _ => {
                let names: Vec<_> = has.into_iter().map(name).collect();
                Some(format!("In {what} {}.", names.join(", ")))
            }
        }
    }
}

/// A type of the superset, as declared by the newest version that has it.
pub(crate) struct MergedType {
    pub(crate) kind: Kind,
    pub(crate) versions: Versions,
    /// For an enum: the versions of each constant, and former names of its value.
    pub(crate) constants: IndexMap<String, (Versions, BTreeSet<String>)>,
}

/// A constant of the superset.
pub(crate) struct MergedConstant {
    pub(crate) item: syn::ItemConst,
    pub(crate) versions: Versions,
}

/// A function of the superset, as declared by the newest version that has it.
pub(crate) struct MergedFunction {
    pub(crate) item: ForeignItemFn,
    /// The versions whose headers declare it.
    pub(crate) declared: Versions,
    /// The versions whose libraries have it.
    pub(crate) exported: Versions,
}

/// The differences of one older version from the superset.
pub(crate) struct Legacy {
    /// Types with another layout or other values, or that refer to such types.
    pub(crate) types: IndexSet<String>,
    /// Those among them that are the same as in the previous version.
    pub(crate) as_before: HashSet<String>,
    /// Constants with another value.
    pub(crate) constants: Vec<String>,
    /// Functions that are called differently or pass such types.
    pub(crate) functions: Vec<String>,
}

/// All versions of a library.
pub(crate) struct Merged {
    pub(crate) library: &'static Library,
    /// One per version, oldest first.
    pub(crate) apis: Vec<Api>,
    pub(crate) types: IndexMap<String, MergedType>,
    pub(crate) constants: IndexMap<String, MergedConstant>,
    pub(crate) functions: IndexMap<String, MergedFunction>,
    /// Functions left out of the table: variadic ones, and those that never return.
    pub(crate) left_out: IndexSet<String>,
    /// One per version but the newest.
    pub(crate) legacy: Vec<Legacy>,
}

impl Merged {
    /// Merges the versions of `library`, oldest first.
    pub(crate) fn new(library: &'static Library, apis: Vec<Api>) -> Self {
        let mut merged = Merged {
            library,
            types: IndexMap::new(),
            constants: IndexMap::new(),
            functions: IndexMap::new(),
            left_out: IndexSet::new(),
            legacy: Vec::new(),
            apis,
        };
        for index in (0..merged.apis.len()).rev() {
            merged.add(index);
        }
        merged.mark_also_exported();
        // A symbol of CUDA's driver keeps its arguments: what takes others has another name, and structures
        // grow where they were reserved.
        let older = if library.vendor == Vendor::Amd { merged.apis.len().saturating_sub(1) } else { 0 };
        merged.legacy = (0..older).map(|index| merged.legacy_of(index)).collect();
        for index in 1..merged.legacy.len() {
            merged.legacy[index].as_before = merged.same_as_before(index);
        }
        merged
    }

    /// The newest version.
    pub(crate) fn newest(&self) -> &Api {
        &self.apis[self.apis.len() - 1]
    }

    /// The newest version's API that declares a type of the superset.
    fn api_of(&self, versions: Versions) -> &Api {
        &self.apis[usize::try_from(7 - versions.0.leading_zeros()).unwrap_or(0)]
    }

    /// Adds version `index` to the newer versions.
    fn add(&mut self, index: usize) {
        let api = &self.apis[index];
        for (name, kind) in &api.types {
            let merged = self.types.entry(name.clone()).or_insert_with(|| MergedType {
                kind: kind.clone(),
                versions: Versions::default(),
                constants: IndexMap::new(),
            });
            merged.versions.insert(index);
            let (Kind::Enum { constants: old, .. }, Kind::Enum { constants, .. }) = (kind, &mut merged.kind)
            else {
                continue;
            };
            for (constant, value) in old {
                if !constants.contains_key(constant) {
                    let successor = constants
                        .iter()
                        .find(|(_, now)| now.value == value.value)
                        .map(|(name, _)| name.clone());
                    if let Some(now) = successor {
                        // Its value has a new name, under which it is found.
                        merged.constants.entry(now).or_default().1.insert(constant.clone());
                        continue;
                    }
                    constants.insert(constant.clone(), value.clone());
                }
                merged.constants.entry(constant.clone()).or_default().0.insert(index);
            }
        }
        for (name, (item, _)) in &api.constants {
            let merged = self
                .constants
                .entry(name.clone())
                .or_insert_with(|| MergedConstant { item: item.clone(), versions: Versions::default() });
            merged.versions.insert(index);
        }
        let version = self.library.versions[index].version;
        for (name, function) in &api.functions {
            // Rust cannot define a variadic stub, and a stub that never returns cannot report an error.
            let is_endless =
                matches!(&function.sig.output, ReturnType::Type(_, ty) if matches!(**ty, Type::Never(_)));
            if function.sig.variadic.is_some() || is_endless {
                self.left_out.insert(name.clone());
                continue;
            }
            let merged = self.functions.entry(name.clone()).or_insert_with(|| MergedFunction {
                item: function.clone(),
                declared: Versions::default(),
                exported: Versions::default(),
            });
            merged.declared.insert(index);
            let absent = UNEXPORTED.iter().any(|(library, versions, symbol)| {
                *library == self.library.report && symbol == name && versions.contains(&version)
            });
            if !absent {
                merged.exported.insert(index);
            }
        }
    }

    /// Marks the symbols that libraries export though a version's headers do not declare them.
    fn mark_also_exported(&mut self) {
        for (symbol, versions) in self.library.also_exported {
            let Some(function) = self.functions.get_mut(*symbol) else { continue };
            for (index, known) in self.library.versions.iter().enumerate() {
                if versions.contains(&known.version) {
                    function.exported.insert(index);
                }
            }
        }
    }

    fn legacy_of(&self, index: usize) -> Legacy {
        let api = &self.apis[index];
        let mut types: IndexSet<String> = IndexSet::new();
        for (name, kind) in &api.types {
            let merged = &self.types[name];
            let changes = compare::types(api, kind, self.api_of(merged.versions), &merged.kind);
            // bindgen renumbers the unnamed types of a structure in each version: they follow the structure.
            if !name.contains("__bindgen_ty_") && changes.iter().any(compare::Change::breaks) {
                types.insert(name.clone());
            }
        }
        loop {
            let before = types.len();
            for (name, kind) in &api.types {
                let is_part =
                    name.split_once("__bindgen_ty_").is_some_and(|(owner, _)| types.contains(owner));
                if is_part || references(kind).iter().any(|used| types.contains(used)) {
                    types.insert(name.clone());
                }
            }
            if types.len() == before {
                break;
            }
        }
        types.sort_by_key(|name| api.types.get_index_of(name));
        let constants = api.constants.iter().filter(|(name, (_, value))| {
            let newest = self.api_of(self.constants[*name].versions);
            newest.constants.get(*name).is_some_and(|(_, now)| now != value)
        });
        let functions = api.functions.iter().filter(|(name, function)| {
            let Some(merged) = self.functions.get(*name) else { return false };
            let newest = self.api_of(merged.declared);
            identifiers(&function.sig).iter().any(|used| types.contains(used))
                || compare::called_differently((function, api), (&merged.item, newest))
        });
        Legacy {
            constants: constants.map(|(name, _)| name.clone()).collect(),
            functions: functions.map(|(name, _)| name.clone()).collect(),
            types,
            as_before: HashSet::new(),
        }
    }

    /// The legacy types of version `index` that are the same in version `index - 1`.
    fn same_as_before(&self, index: usize) -> HashSet<String> {
        let (before, now) = (&self.legacy[index - 1], &self.legacy[index]);
        let mut same: HashSet<String> = now
            .types
            .iter()
            .filter(|name| before.types.contains(*name))
            .filter(|name| {
                let (a, b) = (&self.apis[index - 1].types[*name], &self.apis[index].types[*name]);
                shape(a) == shape(b)
            })
            .cloned()
            .collect();
        loop {
            let different: Vec<String> = same
                .iter()
                .filter(|name| {
                    references(&self.apis[index].types[*name]).iter().any(|used| {
                        (now.types.contains(used) || before.types.contains(used)) && !same.contains(used)
                    })
                })
                .cloned()
                .collect();
            if different.is_empty() {
                return same;
            }
            different.iter().for_each(|name| {
                same.remove(name);
            });
        }
    }
}

/// The types that a type contains or points to.
fn references(kind: &Kind) -> Vec<String> {
    match kind {
        Kind::Record(record) => {
            let own = match &record.item {
                syn::Item::Struct(item) => item.ident.to_string(),
                syn::Item::Union(item) => item.ident.to_string(),
                _ => String::new(),
            };
            identifiers(&without_docs(&record.item)).into_iter().filter(|name| *name != own).collect()
        }
        Kind::Enum { .. } => Vec::new(),
        Kind::Alias { target, item } => {
            let mut found = vec![target.clone()];
            if let syn::Item::Type(item) = &**item {
                found.extend(identifiers(&*item.ty));
            }
            found
        }
    }
}

/// Everything in a type's declaration that matters to a program.
fn shape(kind: &Kind) -> String {
    match kind {
        Kind::Record(record) => {
            let item = crate::api::tokens(&without_docs(&record.item));
            let offsets: Vec<_> = record.fields.iter().map(|field| field.offset).collect();
            format!("{item} {:?} {offsets:?}", record.layout)
        }
        Kind::Enum { repr, constants, .. } => {
            let constants: Vec<_> = constants.iter().map(|(name, constant)| (name, constant.value)).collect();
            format!("{repr} {constants:?}")
        }
        Kind::Alias { target, .. } => target.clone(),
    }
}

/// The item without its documentation.
pub(crate) fn without_docs(item: &syn::Item) -> syn::Item {
    let is_other = |attribute: &Attribute| !attribute.path().is_ident("doc");
    let mut item = item.clone();
    match &mut item {
        syn::Item::Struct(item) => {
            item.attrs.retain(is_other);
            item.fields.iter_mut().for_each(|field| field.attrs.retain(is_other));
        }
        syn::Item::Union(item) => {
            item.attrs.retain(is_other);
            item.fields.named.iter_mut().for_each(|field| field.attrs.retain(is_other));
        }
        syn::Item::Type(item) => item.attrs.retain(is_other),
        _ => {}
    }
    item
}
