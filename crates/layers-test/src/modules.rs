//! The modules of a crate, and their uses of each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, ItemMacro, ItemMod, ItemUse, Meta, Stmt, Token, UseTree};

use crate::Layers;

/// A module's path from the crate's root; empty for the root.
type Name = Vec<String>;

/// The modules of a crate.
#[derive(Debug, Default)]
pub struct Modules {
    modules: BTreeMap<Name, Module>,
}

#[derive(Debug, Default)]
struct Module {
    /// Below `src`.
    file: PathBuf,
    /// The paths that it uses, from the crate's root.
    used: BTreeSet<Name>,
    /// Its imports, by name.
    imports: BTreeMap<String, Name>,
    /// Its macros that are exported to the root.
    exported: BTreeSet<String>,
}

impl Modules {
    /// Reads the sources of the crate in a folder, from `src/lib.rs` or `src/main.rs` on.
    ///
    /// # Panics
    /// If a file cannot be read or is not Rust.
    #[must_use]
    pub fn of_crate(folder: &Path) -> Self {
        let sources = folder.join("src");
        let root =
            ["lib.rs", "main.rs"].map(|name| sources.join(name)).into_iter().find(|path| path.is_file());
        let root = root.unwrap_or_else(|| panic!("{} has neither lib.rs nor main.rs", sources.display()));
        let mut modules = Self::default();
        modules.read(&sources, &root, &sources, Vec::new());
        let macros: Vec<(String, Name)> = modules
            .modules
            .iter()
            .flat_map(|(name, module)| {
                module.exported.iter().map(|exported| (exported.clone(), name.clone()))
            })
            .collect();
        if let Some(root) = modules.modules.get_mut(&Name::new()) {
            root.imports.extend(macros);
        }
        modules
    }

    /// Whether a module is the root or inline in its file.
    fn is_roof(&self, name: &[String]) -> bool {
        let file = |name: &[String]| self.modules.get(name).map(|module| &module.file);
        file(name) == file(&[])
    }

    /// Reads a file. `folder` contains the files of its modules.
    fn read(&mut self, sources: &Path, file: &Path, folder: &Path, name: Name) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.module(sources, file, folder, name, &parsed.items);
    }

    fn module(&mut self, sources: &Path, file: &Path, folder: &Path, name: Name, items: &[Item]) {
        let children: Vec<&ItemMod> = items
            .iter()
            .filter_map(|item| match item {
                Item::Mod(module) if !is_for_tests(&module.attrs) => Some(module),
                _ => None,
            })
            .collect();
        let below = file.strip_prefix(sources).unwrap_or(file).to_owned();
        let mut reader = Reader {
            name: &name,
            children: children.iter().map(|child| child.ident.to_string()).collect(),
            module: Module { file: below, ..Module::default() },
        };
        items.iter().for_each(|item| reader.visit_item(item));
        let module = reader.module;
        self.modules.insert(name.clone(), module);
        for child in children {
            let ident = child.ident.to_string();
            let own: Name = name.iter().cloned().chain([ident.clone()]).collect();
            let within = folder.join(&ident);
            match (&child.content, path_of(&child.attrs)) {
                (Some((_, items)), _) => self.module(sources, file, &within, own, items),
                (None, Some(path)) => {
                    let path = file.parent().unwrap_or(folder).join(path);
                    let within = path.parent().unwrap_or(folder).to_owned();
                    self.read(sources, &path, &within, own);
                }
                (None, None) => {
                    let beside = folder.join(format!("{ident}.rs"));
                    let path = if beside.is_file() { beside } else { within.join("mod.rs") };
                    self.read(sources, &path, &within, own);
                }
            }
        }
    }

    /// The module that defines a path, as far as modules and imports show; `None` for a path outside the
    /// crate.
    fn definer(&self, path: &[String]) -> Option<Name> {
        let mut path = path.to_vec();
        // Limits cycles of imports.
        for _ in 0..32 {
            let mut name = Name::new();
            let mut rest = path.iter();
            let next = loop {
                let Some(next) = rest.next() else { return Some(name) };
                name.push(next.clone());
                if !self.modules.contains_key(&name) {
                    name.pop();
                    break next;
                }
            };
            let Some(import) = self.modules.get(&name)?.imports.get(next) else { return Some(name) };
            // Imports from other crates have an empty path.
            if import.is_empty() {
                return None;
            }
            let renamed: Name = import.iter().chain(rest).cloned().collect();
            if renamed == path {
                return Some(name);
            }
            path = renamed;
        }
        None
    }

    /// The violations of the table, one per line.
    #[must_use]
    pub fn wrong(&self, layers: &Layers) -> Vec<String> {
        let mut wrong = BTreeSet::new();
        for name in layers.names().filter(|name| !self.modules.contains_key(*name)) {
            wrong.insert(format!("{} is in the table but not a module", name.join("::")));
        }
        for (name, module) in self.modules.iter().filter(|(name, _)| !self.is_roof(name)) {
            let Some(own) = layers.row(name) else {
                wrong.insert(format!("{} is in no layer", name[0]));
                continue;
            };
            for used in &module.used {
                let Some(definer) = self.definer(used) else { continue };
                let is_higher = match layers.row(&definer) {
                    Some(row) => row > own,
                    None => self.is_roof(&definer),
                };
                if is_higher {
                    let definer =
                        if self.is_roof(&definer) { "the root".to_owned() } else { definer.join("::") };
                    wrong.insert(format!("{} uses {} of {definer}", module.file.display(), used.join("::")));
                }
            }
        }
        wrong.into_iter().collect()
    }
}

/// Collects the paths of one module.
struct Reader<'a> {
    name: &'a Name,
    children: BTreeSet<String>,
    module: Module,
}

impl Reader<'_> {
    /// A path from the crate's root; `None` if it begins elsewhere, or with a name in scope.
    fn absolute(&self, path: &[String]) -> Option<Name> {
        let (first, mut rest) = path.split_first()?;
        let mut found = match first.as_str() {
            "crate" => Name::new(),
            "self" => self.name.clone(),
            "super" => {
                let mut found = self.name.clone();
                found.pop()?;
                while rest.first().is_some_and(|next| next == "super") {
                    found.pop()?;
                    rest = &rest[1..];
                }
                found
            }
            child if self.children.contains(child) => {
                let mut found = self.name.clone();
                found.push(child.to_owned());
                found
            }
            _ => return None,
        };
        found.extend_from_slice(rest);
        Some(found)
    }

    fn note(&mut self, path: &[String]) {
        if let Some(path) = self.absolute(path).filter(|path| !path.is_empty()) {
            self.module.used.insert(path);
        }
    }

    fn import(&mut self, before: &[String], tree: &UseTree) {
        let with = |last: &syn::Ident| -> Name { before.iter().cloned().chain([last.to_string()]).collect() };
        let (path, known_as) = match tree {
            UseTree::Path(path) => return self.import(&with(&path.ident), &path.tree),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.import(before, item));
            }
            UseTree::Name(name) if name.ident == "self" => {
                (before.to_vec(), before.last().cloned().unwrap_or_default())
            }
            UseTree::Name(name) => (with(&name.ident), name.ident.to_string()),
            UseTree::Rename(rename) => (with(&rename.ident), rename.rename.to_string()),
            UseTree::Glob(_) => return self.note(before),
        };
        self.note(&path);
        let path = self.absolute(&path).unwrap_or_default();
        self.module.imports.insert(known_as, path);
    }

    /// Paths in a macro's arguments or definition: `crate::…`, `$crate::…`, `super::…`.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut trees = tokens.into_iter().peekable();
        let mut path: Vec<String> = Vec::new();
        while let Some(tree) = trees.next() {
            match tree {
                TokenTree::Ident(ident) => {
                    path.push(ident.to_string());
                    let mut colons = 0;
                    while trees
                        .next_if(|next| matches!(next, TokenTree::Punct(p) if p.as_char() == ':'))
                        .is_some()
                    {
                        colons += 1;
                    }
                    if colons == 2 {
                        continue;
                    }
                }
                TokenTree::Group(group) => self.tokens(group.stream()),
                _ => {}
            }
            let found = std::mem::take(&mut path);
            if matches!(found.first().map(String::as_str), Some("crate" | "super")) {
                self.note(&found);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            // Modules are read separately.
            Item::Mod(_) => return,
            Item::Const(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Macro(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Trait(item) => &item.attrs,
            Item::Type(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        if item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) {
            self.module.exported.extend(item.ident.as_ref().map(ToString::to_string));
        }
        visit::visit_item_macro(self, item);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let attributes: &[Attribute] = match statement {
            Stmt::Local(local) => &local.attrs,
            Stmt::Macro(invocation) => &invocation.attrs,
            Stmt::Expr(Expr::Block(block), _) => &block.attrs,
            Stmt::Expr(Expr::If(condition), _) => &condition.attrs,
            Stmt::Expr(Expr::Call(call), _) => &call.attrs,
            Stmt::Expr(Expr::MethodCall(call), _) => &call.attrs,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        match item.leading_colon {
            Some(_) => {}
            None => self.import(&[], &item.tree),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            if names.len() > 1 {
                self.note(&names);
            }
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        self.tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }

    // Attributes of macros such as `thiserror`'s hold expressions.
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
        }
    }
}

/// Whether an item exists only in test builds: `#[cfg(test)]`, `#[cfg(all(test, …))]`, `#[cfg(doctest)]`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            list.parse_args().is_ok_and(|meta| needs_test(&meta))
        }
        _ => false,
    })
}

/// Whether a condition holds only in test builds.
fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test") || path.is_ident("doctest"),
        Meta::List(list) => {
            let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            let parts = parts.unwrap_or_default();
            (list.path.is_ident("all") && parts.iter().any(needs_test))
                || (list.path.is_ident("any") && parts.iter().all(needs_test))
        }
        Meta::NameValue(_) => false,
    }
}

/// The text of `#[path = "…"]`.
fn path_of(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("path") => match &meta.value {
            Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: &[&[&str]] = &[&["ground"], &["walls::plain", "windows"], &["walls"], &["roof"]];

    /// The violations in a crate with these files.
    fn wrong(files: &[(&str, &str)]) -> Vec<String> {
        const ALL: [(&str, &str); 6] = [
            ("lib.rs", "mod ground; mod roof; mod walls; mod windows; pub use roof::Tile;"),
            ("ground.rs", "pub struct Stone;"),
            ("roof.rs", "pub struct Tile;"),
            ("walls/mod.rs", "pub mod plain; mod brick; pub use brick::Brick; pub use plain::Plain;"),
            ("walls/brick.rs", "pub struct Brick;"),
            ("walls/plain.rs", "pub struct Plain;"),
        ];
        let folder = tempfile::tempdir().unwrap();
        let others = ALL.iter().filter(|(name, _)| files.iter().all(|(other, _)| other != name));
        let windows =
            files.iter().all(|(name, _)| !name.starts_with("windows")).then_some(&("windows.rs", ""));
        for (name, text) in others.chain(files).chain(windows) {
            let path = folder.path().join("src").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Modules::of_crate(folder.path()).wrong(&Layers::new(LAYERS))
    }

    #[test]
    fn whoever_uses_what_stands_higher_is_named_however_it_is_written() {
        assert!(wrong(&[]).is_empty());
        for text in [
            "use crate::roof::Tile;",
            "use crate::{roof::Tile as T, walls};",
            "use super::roof;",
            // By its name in the root.
            "use crate::Tile;",
            "fn f() -> crate::roof::Tile { todo!() }",
            "fn f() { println!(\"{:?}\", crate::roof::Tile); }",
            "macro_rules! m { () => { $crate::roof::Tile }; }",
            "#[error(\"{}\", crate::Tile)] struct E;",
            "mod inner { use super::super::roof::Tile; }",
        ] {
            let found = wrong(&[("windows.rs", text)]);
            assert!(
                found.iter().any(|line| line.starts_with("windows.rs uses ") && line.ends_with(" of roof")),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn what_stands_lower_or_in_the_same_row_may_be_used() {
        let text = "use crate::ground::Stone; use crate::walls::Plain; use std::fmt; use self::inner::X; mod inner { pub struct X; }";
        assert_eq!(wrong(&[("windows.rs", text)]), [""; 0], "a re-export stands where it is defined");
        assert_eq!(
            wrong(&[("windows.rs", "use crate::walls::Brick;")]),
            ["windows.rs uses walls::Brick of walls::brick"]
        );
        assert_eq!(wrong(&[("walls/plain.rs", "use super::Brick;")]).len(), 1);
    }

    #[test]
    fn tests_and_documentation_do_not_count() {
        let text = "//! [`T`](crate::roof::Tile)\n#[cfg(test)] use crate::roof::Tile;\n\
                    #[cfg(all(test, unix))] mod more { use crate::roof::Tile; }\n/// `crate::roof::Tile`\npub struct X;\n\
                    #[cfg(test)]\nmod tests { use crate::roof::Tile; }";
        assert_eq!(wrong(&[("windows.rs", text)]), [""; 0]);
        let text = "fn f() { #[cfg(test)] if crate::roof::wet() {} #[cfg(test)] let x = crate::roof::X; }";
        assert_eq!(wrong(&[("windows.rs", text)]), [""; 0]);
        for condition in ["not(test)", "any(test, unix)", "unix"] {
            let text = format!("#[cfg({condition})] use crate::roof::Tile;");
            assert_eq!(wrong(&[("windows.rs", &text)]).len(), 1, "{condition}");
        }
    }

    #[test]
    fn table_and_crate_have_the_same_modules() {
        let lib = "mod ground; mod roof; mod walls; mod windows; mod cellar;";
        assert_eq!(wrong(&[("lib.rs", lib), ("cellar.rs", "")]), ["cellar is in no layer"]);
        let lib = "mod ground; mod roof; mod windows;";
        let found = wrong(&[("lib.rs", lib)]);
        assert_eq!(
            found,
            ["walls is in the table but not a module", "walls::plain is in the table but not a module"]
        );
        let lib = "mod ground; mod roof; mod walls; mod windows; pub struct Key;";
        assert_eq!(
            wrong(&[("lib.rs", lib), ("roof.rs", "use crate::Key;")]),
            ["roof.rs uses Key of the root"]
        );
    }
}
