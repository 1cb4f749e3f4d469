//! The meaning of paths in modules, and the public paths of items.

use std::collections::{BTreeMap, BTreeSet};

use syn::{
    GenericArgument, Item, Path, PathArguments, ReturnType, Type, TypeParamBound, UseTree, Visibility,
};

use super::source::{Crate, ModuleId, is_public};

/// Index of a definition in [`Names::definitions`].
pub(super) type DefinitionId = usize;

/// Types and functions have their own name spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
    Type,
    Value,
}

/// A struct, enum, union, trait or free function.
pub(super) struct Definition<'a> {
    pub(super) module: ModuleId,
    pub(super) space: Space,
    pub(super) item: &'a Item,
    visibility: &'a Visibility,
}

/// The target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Module(ModuleId),
    Definition(DefinitionId),
}

struct Import {
    public: bool,
    /// `None` for `*`.
    name: Option<String>,
    path: Vec<String>,
}

#[derive(Default)]
struct Scope {
    definitions: BTreeMap<(Space, String), DefinitionId>,
    modules: BTreeMap<String, ModuleId>,
    imports: Vec<Import>,
}

/// The names of a crate.
pub(super) struct Names<'a> {
    source: &'a Crate,
    pub(super) definitions: Vec<Definition<'a>>,
    scopes: Vec<Scope>,
    public: BTreeMap<DefinitionId, String>,
}

/// Limits cycles of imports.
const DEPTH: usize = 16;

impl<'a> Names<'a> {
    /// The names of a crate called `name`.
    pub(super) fn new(name: &str, source: &'a Crate) -> Self {
        let scopes = source.modules.iter().map(|_| Scope::default()).collect();
        let mut names = Self { source, definitions: Vec::new(), scopes, public: BTreeMap::new() };
        for (id, module) in source.modules.iter().enumerate() {
            if let Some(parent) = module.parent {
                names.scopes[parent].modules.insert(module.name.clone(), id);
            }
            for item in &module.items {
                names.add(id, item);
            }
        }
        names.publish(0, name, &mut BTreeSet::new());
        names
    }

    fn add(&mut self, module: ModuleId, item: &'a Item) {
        let (name, visibility, space) = match item {
            Item::Struct(item) => (&item.ident, &item.vis, Space::Type),
            Item::Enum(item) => (&item.ident, &item.vis, Space::Type),
            Item::Union(item) => (&item.ident, &item.vis, Space::Type),
            Item::Trait(item) => (&item.ident, &item.vis, Space::Type),
            Item::Fn(item) => (&item.sig.ident, &item.vis, Space::Value),
            Item::Use(item) => {
                let public = is_public(&item.vis);
                return imports(&item.tree, public, Vec::new(), &mut self.scopes[module].imports);
            }
            _ => return,
        };
        let id = self.definitions.len();
        self.scopes[module].definitions.insert((space, name.to_string()), id);
        self.definitions.push(Definition { module, space, item, visibility });
    }

    /// Records the shortest path to everything reachable in a public module.
    fn publish(&mut self, module: ModuleId, path: &str, done: &mut BTreeSet<(ModuleId, String)>) {
        if !done.insert((module, path.to_owned())) || done.len() > 10_000 {
            return;
        }
        let mut reached = Vec::new();
        let scope = &self.scopes[module];
        for ((_, name), id) in &scope.definitions {
            if is_public(self.definitions[*id].visibility) {
                reached.push((name.clone(), Target::Definition(*id)));
            }
        }
        for (name, id) in &scope.modules {
            if self.source.modules[*id].public && !self.source.is_raw(*id) {
                reached.push((name.clone(), Target::Module(*id)));
            }
        }
        let mut globs = Vec::new();
        for import in scope.imports.iter().filter(|import| import.public) {
            for space in [Space::Type, Space::Value] {
                match (self.resolve(module, &import.path, space), &import.name) {
                    (Some(target), Some(name)) => reached.push((name.clone(), target)),
                    (Some(Target::Module(target)), None) => globs.push(target),
                    _ => {}
                }
            }
        }
        for target in globs {
            self.publish(target, path, done);
        }
        for (name, target) in reached {
            let path = format!("{path}::{name}");
            match target {
                Target::Module(target) => self.publish(target, &path, done),
                Target::Definition(id) => {
                    let key = |path: &str| (path.matches("::").count(), path.to_owned());
                    if self.public.get(&id).is_none_or(|known| key(&path) < key(known)) {
                        self.public.insert(id, path);
                    }
                }
            }
        }
    }

    /// The public path of a definition, if there is one.
    pub(super) fn public_path(&self, id: DefinitionId) -> Option<&str> {
        self.public.get(&id).map(String::as_str)
    }

    /// Resolves a path in a module.
    pub(super) fn resolve(&self, module: ModuleId, path: &[String], space: Space) -> Option<Target> {
        self.resolve_path(module, path, space, 0)
    }

    fn resolve_path(&self, module: ModuleId, path: &[String], space: Space, depth: usize) -> Option<Target> {
        let (last, before) = path.split_last()?;
        let mut module = module;
        let mut first = true;
        for segment in before {
            module = match (segment.as_str(), first) {
                ("crate" | "$crate", true) => 0,
                ("self", true) => module,
                ("super", _) => self.source.modules[module].parent?,
                (name, _) => match self.resolve_name(module, name, Space::Type, depth)? {
                    Target::Module(module) => module,
                    Target::Definition(_) => return None,
                },
            };
            first = false;
        }
        match (last.as_str(), first) {
            ("crate" | "$crate", true) => Some(Target::Module(0)),
            ("self", true) => Some(Target::Module(module)),
            ("super", _) => self.source.modules[module].parent.map(Target::Module),
            (name, _) => self.resolve_name(module, name, space, depth),
        }
    }

    fn resolve_name(&self, module: ModuleId, name: &str, space: Space, depth: usize) -> Option<Target> {
        if depth > DEPTH {
            return None;
        }
        let scope = &self.scopes[module];
        if let Some(id) = scope.definitions.get(&(space, name.to_owned())) {
            return Some(Target::Definition(*id));
        }
        if space == Space::Type
            && let Some(id) = scope.modules.get(name)
        {
            return Some(Target::Module(*id));
        }
        let named = scope.imports.iter().filter(|import| import.name.as_deref() == Some(name));
        let found =
            named.filter_map(|import| self.resolve_path(module, &import.path, space, depth + 1)).next();
        let globs = || scope.imports.iter().filter(|import| import.name.is_none());
        found.or_else(|| {
            globs().find_map(|import| {
                match self.resolve_path(module, &import.path, Space::Type, depth + 1)? {
                    // A module that imports itself finds nothing new.
                    Target::Module(other) if other != module => {
                        self.resolve_name(other, name, space, depth + 1)
                    }
                    _ => None,
                }
            })
        })
    }

    /// The one type of this crate that a type is or wraps: `Stream` for `&Stream`, `Result<Self>` or
    /// `Option<Arc<Stream>>`.
    pub(super) fn type_in(
        &self,
        module: ModuleId,
        ty: &Type,
        own: Option<DefinitionId>,
    ) -> Option<DefinitionId> {
        let mut found = BTreeSet::new();
        self.types_in(module, ty, own, &mut found, &|_| true);
        let mut found = found.into_iter();
        found.next().filter(|_| found.next().is_none())
    }

    /// The type of what a function returns.
    pub(super) fn output(
        &self,
        module: ModuleId,
        output: &ReturnType,
        own: Option<DefinitionId>,
    ) -> Option<DefinitionId> {
        match output {
            ReturnType::Default => None,
            ReturnType::Type(_, ty) => self.type_in(module, ty, own),
        }
    }

    /// Adds the types of this crate that occur in a type, except those inside a wrapper that `enter` refuses,
    /// and behind references if it refuses `&`.
    pub(super) fn types_in(
        &self,
        module: ModuleId,
        ty: &Type,
        own: Option<DefinitionId>,
        found: &mut BTreeSet<DefinitionId>,
        enter: &dyn Fn(&str) -> bool,
    ) {
        match ty {
            Type::Path(ty) => {
                if let Some(id) = self.definition(module, &ty.path, own) {
                    found.insert(id);
                } else if let Some(last) = ty.path.segments.last()
                    && enter(&last.ident.to_string())
                    && let PathArguments::AngleBracketed(arguments) = &last.arguments
                {
                    // The error type is not the returned value.
                    let count = if last.ident == "Result" { 1 } else { usize::MAX };
                    for argument in arguments.args.iter().take(count) {
                        if let GenericArgument::Type(ty) = argument {
                            self.types_in(module, ty, own, found, enter);
                        }
                    }
                }
            }
            Type::Reference(ty) if enter("&") => self.types_in(module, &ty.elem, own, found, enter),
            Type::Ptr(ty) if enter("*") => self.types_in(module, &ty.elem, own, found, enter),
            Type::Slice(ty) => self.types_in(module, &ty.elem, own, found, enter),
            Type::Array(ty) => self.types_in(module, &ty.elem, own, found, enter),
            Type::Paren(ty) => self.types_in(module, &ty.elem, own, found, enter),
            Type::Group(ty) => self.types_in(module, &ty.elem, own, found, enter),
            Type::Tuple(ty) => {
                for ty in &ty.elems {
                    self.types_in(module, ty, own, found, enter);
                }
            }
            Type::ImplTrait(ty) => self.bounds(module, ty.bounds.iter(), own, found, enter),
            Type::TraitObject(ty) => self.bounds(module, ty.bounds.iter(), own, found, enter),
            _ => {}
        }
    }

    fn bounds<'b>(
        &self,
        module: ModuleId,
        bounds: impl Iterator<Item = &'b TypeParamBound>,
        own: Option<DefinitionId>,
        found: &mut BTreeSet<DefinitionId>,
        enter: &dyn Fn(&str) -> bool,
    ) {
        for bound in bounds {
            if let TypeParamBound::Trait(bound) = bound {
                let ty = Type::Path(syn::TypePath { qself: None, path: bound.path.clone() });
                self.types_in(module, &ty, own, found, enter);
            }
        }
    }

    /// The type or trait of this crate that a path names.
    pub(super) fn definition(
        &self,
        module: ModuleId,
        path: &Path,
        own: Option<DefinitionId>,
    ) -> Option<DefinitionId> {
        if path.is_ident("Self") {
            return own;
        }
        match self.resolve(module, &segments(path), Space::Type)? {
            Target::Definition(id) => Some(id),
            Target::Module(_) => None,
        }
    }
}

/// The names of a path.
pub(super) fn segments(path: &Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

fn imports(tree: &UseTree, public: bool, mut path: Vec<String>, found: &mut Vec<Import>) {
    match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.to_string());
            imports(&tree.tree, public, path, found);
        }
        UseTree::Name(tree) if tree.ident == "self" => {
            found.push(Import { public, name: path.last().cloned(), path });
        }
        UseTree::Name(tree) => {
            path.push(tree.ident.to_string());
            found.push(Import { public, name: path.last().cloned(), path });
        }
        UseTree::Rename(tree) => {
            if tree.ident != "self" {
                path.push(tree.ident.to_string());
            }
            found.push(Import { public, name: Some(tree.rename.to_string()), path });
        }
        UseTree::Glob(_) => found.push(Import { public, name: None, path }),
        UseTree::Group(tree) => {
            for tree in &tree.items {
                imports(tree, public, path.clone(), found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        mod hidden { pub struct Shown; pub struct Unseen; pub(crate) struct Inner; pub fn run() {} }
        pub mod open { pub struct Deep; pub use super::hidden::Shown as Alias; pub use crate::hidden::*; }
        pub use hidden::{Shown, run};
        use open::Deep;
        mod user { use super::*; use crate::open::{self, Deep as D}; struct Own; }
    ";

    fn path<'a>(names: &'a Names<'_>, name: &str) -> Option<&'a str> {
        let all = names.scopes.iter().flat_map(|scope| &scope.definitions);
        let (_, id) = all.into_iter().find(|((_, defined), _)| defined == name).unwrap();
        names.public_path(*id)
    }

    #[test]
    fn the_shortest_public_path_counts() {
        let source = Crate::parse(SOURCE);
        let names = Names::new("c", &source);
        assert_eq!(path(&names, "Shown"), Some("c::Shown"));
        assert_eq!(path(&names, "run"), Some("c::run"));
        assert_eq!(path(&names, "Deep"), Some("c::open::Deep"));
        assert_eq!(path(&names, "Unseen"), Some("c::open::Unseen"));
        assert_eq!(path(&names, "Inner"), None);
        assert_eq!(path(&names, "Own"), None);
    }

    #[test]
    fn types_are_found_through_imports_and_wrappers() {
        let source = Crate::parse(SOURCE);
        let names = Names::new("c", &source);
        let module = source.modules.iter().position(|module| module.name == "user").unwrap();
        let name = |text: &str| {
            let ty = syn::parse_str(text).unwrap();
            let id = names.type_in(module, &ty, None)?;
            let scopes = names.scopes.iter().flat_map(|scope| &scope.definitions);
            scopes.into_iter().find(|(_, defined)| **defined == id).map(|((_, name), _)| name.as_str())
        };
        assert_eq!(name("&Own"), Some("Own"));
        assert_eq!(name("Result<Option<D>, Own>"), Some("Deep"));
        assert_eq!(name("open::Deep"), Some("Deep"));
        assert_eq!(name("super::hidden::Inner"), Some("Inner"));
        assert_eq!(name("Arc<Mutex<Shown>>"), Some("Shown"));
        assert_eq!(name("impl Into<Own>"), Some("Own"));
        assert_eq!(name("(Own, D)"), None);
        assert_eq!(name("std::string::String"), None);
    }
}
