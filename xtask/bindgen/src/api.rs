//! The declarations of one version's headers, from bindgen's output.

use anyhow::{Context, Result, anyhow, bail};
use indexmap::IndexMap;
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Expr, ExprLit, Fields, ForeignItem, ForeignItemFn, ImplItem, Item, Lit, Meta, Stmt, Type,
};

use crate::comments;
use crate::library::Library;

/// A named value, with its documentation.
#[derive(Clone)]
pub(crate) struct Constant {
    /// The value.
    pub(crate) value: i128,
    /// Documentation only.
    pub(crate) docs: Vec<Attribute>,
}

/// A structure or union.
#[derive(Clone)]
pub(crate) struct Record {
    /// The `struct` or `union`.
    pub(crate) item: Item,
    /// Its implementations and layout assertions.
    pub(crate) with: Vec<Item>,
    /// Size and alignment in bytes; `None` for types that C leaves incomplete.
    pub(crate) layout: Option<(usize, usize)>,
    /// Name, type and offset of each field; no offset for bit fields.
    pub(crate) fields: Vec<Field>,
}

/// A field of a structure.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: String,
    pub(crate) offset: Option<usize>,
}

/// A type of the headers.
#[derive(Clone)]
pub(crate) enum Kind {
    Record(Box<Record>),
    /// A C enum: the underlying integer type and its constants.
    Enum {
        repr: String,
        docs: Vec<Attribute>,
        constants: IndexMap<String, Constant>,
    },
    /// A `type` or `pub use` item, and the name or type that it refers to.
    Alias {
        item: Box<Item>,
        target: String,
    },
}

/// Everything that one version's headers declare.
pub(crate) struct Api {
    pub(crate) types: IndexMap<String, Kind>,
    /// Macros with a number or text as value: the item and its text.
    pub(crate) constants: IndexMap<String, (syn::ItemConst, String)>,
    pub(crate) functions: IndexMap<String, ForeignItemFn>,
    /// Enums that come from another module.
    pub(crate) enums_elsewhere: &'static [&'static str],
    /// bindgen's own helper types.
    pub(crate) support: Vec<Item>,
}

impl Api {
    /// Sorts bindgen's output.
    pub(crate) fn parse(text: &str, library: &Library) -> Result<Self> {
        let file = syn::parse_file(text).context("parsing what bindgen wrote")?;
        let mut api = Api {
            types: IndexMap::new(),
            constants: IndexMap::new(),
            functions: IndexMap::new(),
            enums_elsewhere: library.imported_enums,
            support: Vec::new(),
        };
        let mut unnamed = Vec::new();
        let mut later = Vec::new();
        for mut item in file.items {
            rewrite_item_docs(&mut item);
            match item {
                Item::ForeignMod(block) => {
                    for item in block.items {
                        if let ForeignItem::Fn(mut function) = item {
                            rewrite_docs(&mut function.attrs);
                            function.attrs.retain(|attribute| attribute.path().is_ident("doc"));
                            api.functions.entry(function.sig.ident.to_string()).or_insert(function);
                        }
                    }
                }
                Item::Const(constant) if constant.ident == "_" => later.push(Item::Const(constant)),
                Item::Const(constant) => match type_name(&constant.ty) {
                    Some(owner) if owner.starts_with("_bindgen_ty_") => unnamed.push(constant),
                    _ => {
                        let value = constant.expr.to_token_stream().to_string().replace(' ', "");
                        api.constants.insert(constant.ident.to_string(), (constant, value));
                    }
                },
                Item::Struct(item) if is_support(&item.ident.to_string()) => {
                    api.support.push(Item::Struct(item))
                }
                Item::Struct(item) => {
                    let name = item.ident.to_string();
                    if !name.starts_with("_bindgen_ty_") || !is_newtype(&item.fields) {
                        api.types.insert(name, struct_kind(item));
                    }
                }
                Item::Union(item) => {
                    let name = item.ident.to_string();
                    let fields = item.fields.named.iter().map(field).collect();
                    let record = Record { item: Item::Union(item), with: Vec::new(), layout: None, fields };
                    api.types.insert(name, Kind::Record(Box::new(record)));
                }
                Item::Type(item) => {
                    let (name, target) = (item.ident.to_string(), tokens(&item.ty));
                    api.types.insert(name, Kind::Alias { item: Box::new(Item::Type(item)), target });
                }
                Item::Use(item) => {
                    let (target, name) = renamed(&item.tree)
                        .ok_or_else(|| anyhow!("an import of an unknown form: {}", tokens(&item)))?;
                    api.types.insert(name, Kind::Alias { item: Box::new(Item::Use(item)), target });
                }
                Item::Impl(item) => later.push(Item::Impl(item)),
                other => bail!("bindgen wrote an unexpected item: {}", tokens(&other)),
            }
        }
        for item in later {
            api.attach(item)?;
        }
        for constant in unnamed {
            api.fold(constant, library)?;
        }
        Ok(api)
    }

    /// Adds an implementation, an enum constant or a layout assertion to its type.
    fn attach(&mut self, item: Item) -> Result<()> {
        match &item {
            Item::Impl(block) => {
                let owner = match &*block.self_ty {
                    Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
                    _ => None,
                };
                let owner = owner.ok_or_else(|| anyhow!("an implementation for no named type"))?;
                if is_support(&owner) {
                    self.support.push(item);
                    return Ok(());
                }
                match self.types.get_mut(&owner) {
                    Some(Kind::Record(record)) => record.with.push(item),
                    // Only constants are needed, not the operators that bindgen adds to bit-field enums.
                    Some(Kind::Enum { constants, .. }) => {
                        for item in &block.items {
                            let ImplItem::Const(constant) = item else { continue };
                            let value = newtype_value(&constant.expr)?;
                            let docs = constant.attrs.clone();
                            constants.insert(constant.ident.to_string(), Constant { value, docs });
                        }
                    }
                    _ if owner.starts_with("_bindgen_ty_") => {}
                    _ => bail!("an implementation for {owner}, which is not a type here"),
                }
            }
            Item::Const(assertion) => {
                let (owner, layout, offsets) = assertions(&assertion.expr)?;
                let Some(Kind::Record(record)) = self.types.get_mut(&owner) else {
                    bail!("assertions about {owner}, which is not a structure here")
                };
                record.layout = Some(layout);
                for field in &mut record.fields {
                    field.offset = offsets.get(&field.name).copied();
                }
                record.with.push(item);
            }
            _ => unreachable!("only implementations and assertions wait until the types are known"),
        }
        Ok(())
    }

    /// Moves a constant of an unnamed enum to the named type that it extends.
    fn fold(&mut self, constant: syn::ItemConst, library: &Library) -> Result<()> {
        let name = constant.ident.to_string();
        let target = library.folded.iter().find(|(prefix, _)| name.starts_with(prefix));
        let Some((_, target)) = target else {
            bail!("{name} is in an unnamed enum: say in library.rs which type it belongs to")
        };
        let Some(Kind::Enum { constants, .. }) = self.types.get_mut(*target) else {
            bail!("{name} should go to {target}, which is not an enum here")
        };
        let value = newtype_value(&constant.expr)?;
        constants.insert(name, Constant { value, docs: constant.attrs });
        Ok(())
    }
}

/// The text of some syntax, without unnecessary spaces between tokens.
pub(crate) fn tokens(syntax: &impl ToTokens) -> String {
    normalised(&quote!(#syntax))
}

fn normalised(stream: &TokenStream) -> String {
    let text = stream.to_string();
    let text = text.replace(" :: ", "::").replace(":: ", "::").replace(" ,", ",").replace(" ;", ";");
    text.replace("* const::", "* const ::").replace("* mut::", "* mut ::")
}

/// Every identifier in some syntax.
pub(crate) fn identifiers(syntax: &impl ToTokens) -> Vec<String> {
    fn collect(stream: TokenStream, found: &mut Vec<String>) {
        for tree in stream {
            match tree {
                TokenTree::Ident(ident) => found.push(ident.to_string()),
                TokenTree::Group(group) => collect(group.stream(), found),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    collect(syntax.to_token_stream(), &mut found);
    found
}

fn is_support(name: &str) -> bool {
    name.starts_with("__Bindgen") || name.starts_with("__Incomplete")
}

fn is_newtype(fields: &Fields) -> bool {
    matches!(fields, Fields::Unnamed(fields) if fields.unnamed.len() == 1)
}

fn struct_kind(item: syn::ItemStruct) -> Kind {
    if is_newtype(&item.fields) {
        let repr = item.fields.iter().next().map(|field| tokens(&field.ty)).unwrap_or_default();
        let docs = docs_of(&item.attrs);
        return Kind::Enum { repr, docs, constants: IndexMap::new() };
    }
    let fields = item.fields.iter().map(field).collect();
    Kind::Record(Box::new(Record { item: Item::Struct(item), with: Vec::new(), layout: None, fields }))
}

fn field(field: &syn::Field) -> Field {
    let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    Field { name, ty: tokens(&field.ty), offset: None }
}

/// `a` and `b` of `pub use self::a as b;`.
fn renamed(tree: &syn::UseTree) -> Option<(String, String)> {
    match tree {
        syn::UseTree::Path(path) => renamed(&path.tree),
        syn::UseTree::Rename(rename) => Some((rename.ident.to_string(), rename.rename.to_string())),
        _ => None,
    }
}

/// The number in `hsa_thing_t(3)`.
fn newtype_value(expression: &Expr) -> Result<i128> {
    let Expr::Call(call) = expression else { bail!("not the value of an enum: {}", tokens(expression)) };
    let argument = call.args.first().context("a value without a number")?;
    number(&tokens(argument)).with_context(|| format!("not a number: {}", tokens(argument)))
}

/// Parses a number in Rust or C syntax.
pub(crate) fn number(text: &str) -> Option<i128> {
    let text = text.replace([' ', '_'], "");
    text.trim_end_matches("usize").parse().ok()
}

type Layout = (usize, usize);

/// bindgen's assertions about one type: its name, size and alignment, and the offsets of its fields.
fn assertions(expression: &Expr) -> Result<(String, Layout, IndexMap<String, usize>)> {
    let Expr::Block(block) = expression else { bail!("assertions of an unknown form") };
    let (mut owner, mut size, mut align) = (String::new(), 0, 0);
    let mut offsets = IndexMap::new();
    for statement in &block.block.stmts {
        let Stmt::Expr(Expr::Index(index), _) = statement else { continue };
        let (Expr::Array(label), Expr::Binary(difference)) = (&*index.expr, &*index.index) else { continue };
        let Some(Expr::Lit(ExprLit { lit: Lit::Str(label), .. })) = label.elems.first() else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Int(value), .. }) = &*difference.right else { continue };
        let (label, value) = (label.value(), value.base10_parse::<usize>()?);
        if let Some(name) = label.strip_prefix("Size of ") {
            (owner, size) = (name.to_owned(), value);
        } else if label.starts_with("Alignment of ") {
            align = value;
        } else if let Some((_, field)) = label.rsplit_once("::") {
            offsets.insert(field.to_owned(), value);
        }
    }
    if owner.is_empty() || align == 0 {
        bail!("assertions that say no size: {}", tokens(expression));
    }
    Ok((owner, (size, align), offsets))
}

fn type_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

/// The documentation among `attributes`.
pub(crate) fn docs_of(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect()
}

fn rewrite_item_docs(item: &mut Item) {
    match item {
        Item::Struct(item) => {
            rewrite_docs(&mut item.attrs);
            item.fields.iter_mut().for_each(|field| rewrite_docs(&mut field.attrs));
        }
        Item::Union(item) => {
            rewrite_docs(&mut item.attrs);
            item.fields.named.iter_mut().for_each(|field| rewrite_docs(&mut field.attrs));
        }
        Item::Impl(item) => {
            for item in &mut item.items {
                if let ImplItem::Const(constant) = item {
                    rewrite_docs(&mut constant.attrs);
                }
            }
        }
        Item::Type(item) => rewrite_docs(&mut item.attrs),
        Item::Const(item) => rewrite_docs(&mut item.attrs),
        _ => {}
    }
}

/// Replaces the Doxygen comment among `attributes`, if any, by Markdown.
fn rewrite_docs(attributes: &mut Vec<Attribute>) {
    let mut comment = String::new();
    attributes.retain(|attribute| {
        if let Meta::NameValue(meta) = &attribute.meta
            && meta.path.is_ident("doc")
            && let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &meta.value
        {
            comment.push_str(&text.value());
            comment.push('\n');
            return false;
        }
        true
    });
    let markdown = comments::to_markdown(&comment);
    let docs: Vec<Attribute> = markdown.lines().map(doc).collect();
    attributes.splice(0..0, docs);
}

/// One line of documentation.
pub(crate) fn doc(line: &str) -> Attribute {
    let line = if line.is_empty() { String::new() } else { format!(" {line}") };
    syn::parse_quote!(#[doc = #line])
}
