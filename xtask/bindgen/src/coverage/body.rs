//! Finds the calls in a function's body.
//!
//! Types are inferred only as far as needed to distinguish methods of the same name: for an expression, the
//! type of this crate that it is or wraps. If that is unknown, a call counts only if exactly one type has
//! such a method.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Fields, Item, Macro, Member, Pat, Stmt, Token, Type};

use super::calls::{Calls, FunctionId};
use super::names::{DefinitionId, Space, Target, segments};
use super::provided::symbols_in;
use super::source::ModuleId;

/// The context of a body, and the findings in it.
pub(super) struct Body<'a> {
    calls: &'a Calls<'a>,
    known: &'a BTreeSet<&'a str>,
    module: ModuleId,
    own: Option<DefinitionId>,
    variables: BTreeMap<String, Option<DefinitionId>>,
    /// C functions.
    pub(super) symbols: BTreeSet<String>,
    /// Functions of the crate.
    pub(super) callees: BTreeSet<FunctionId>,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        calls: &'a Calls<'a>,
        known: &'a BTreeSet<&'a str>,
        module: ModuleId,
        own: Option<DefinitionId>,
    ) -> Self {
        let variables = BTreeMap::new();
        Self { calls, known, module, own, variables, symbols: BTreeSet::new(), callees: BTreeSet::new() }
    }

    /// Records a variable's type.
    pub(super) fn declare(&mut self, name: &Ident, ty: Option<DefinitionId>) {
        self.variables.insert(name.to_string(), ty);
    }

    pub(super) fn read_block(&mut self, block: &Block) {
        self.visit_block(block);
    }

    /// Reads a macro's definition: C functions by name, functions by paths that begin with `$crate`.
    pub(super) fn read_macro_definition(&mut self, code: &Macro) {
        symbols_in(code.tokens.clone(), self.known, &mut self.symbols);
        self.crate_paths(code.tokens.clone());
    }

    fn crate_paths(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if ident == "crate" => path = vec!["crate".to_owned()],
                TokenTree::Ident(ident) if !path.is_empty() => path.push(ident.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == ':' => {}
                other => {
                    self.value(&std::mem::take(&mut path));
                    if let TokenTree::Group(group) = other {
                        self.crate_paths(group.stream());
                    }
                }
            }
        }
    }

    /// Records the use of a path as a value, and returns the functions that it names.
    fn value(&mut self, path: &[String]) -> Vec<FunctionId> {
        if let [name] = path
            && self.known.contains(name.as_str())
        {
            self.symbols.insert(name.clone());
        }
        let found = self.functions_at(path);
        self.callees.extend(&found);
        found
    }

    fn functions_at(&self, path: &[String]) -> Vec<FunctionId> {
        let Some((last, owner)) = path.split_last() else { return Vec::new() };
        if owner.is_empty() && self.variables.contains_key(last) {
            return Vec::new();
        }
        let names = &self.calls.names;
        let owner = match owner {
            [] => None,
            [own] if own == "Self" => self.own.map(Target::Definition),
            _ => names.resolve(self.module, owner, Space::Type),
        };
        if let Some(Target::Definition(owner)) = owner {
            return self.calls.method(owner, last);
        }
        match names.resolve(self.module, path, Space::Value) {
            Some(Target::Definition(id)) => self.calls.free(id).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn methods(&self, receiver: &Expr, name: &str) -> Vec<FunctionId> {
        match self.type_of(receiver) {
            Some(owner) => self.calls.method(owner, name),
            None => self.calls.method_of_unknown(name),
        }
    }

    /// The return type of functions, if they agree.
    fn returned(&self, functions: &[FunctionId]) -> Option<DefinitionId> {
        let mut types = functions.iter().map(|id| {
            let function = &self.calls.functions[*id];
            let output = &function.signature?.output;
            self.calls.names.output(function.module, output, function.owner)
        });
        let first = types.next()??;
        types.all(|other| other == Some(first)).then_some(first)
    }

    /// The type of this crate that an expression is or wraps, if it can be inferred.
    fn type_of(&self, expression: &Expr) -> Option<DefinitionId> {
        match expression {
            Expr::Path(expression) => {
                let path = segments(&expression.path);
                match path.as_slice() {
                    [name] if name == "self" => self.own,
                    [name] if self.variables.contains_key(name) => self.variables[name],
                    // A unit struct, or the variant of an enum.
                    [.., _] => {
                        let names = &self.calls.names;
                        let whole = names.definition(self.module, &expression.path, self.own);
                        whole.or_else(|| {
                            let enumeration = &path[..path.len() - 1];
                            match names.resolve(self.module, enumeration, Space::Type)? {
                                Target::Definition(id) => Some(id),
                                Target::Module(_) => None,
                            }
                        })
                    }
                    [] => None,
                }
            }
            Expr::Call(call) => {
                let Expr::Path(function) = &*call.func else { return None };
                let path = segments(&function.path);
                // The wrapped value matters.
                if let [name] = path.as_slice()
                    && matches!(name.as_str(), "Some" | "Ok")
                {
                    return call.args.first().and_then(|argument| self.type_of(argument));
                }
                if let [.., owner, last] = path.as_slice()
                    && matches!(
                        owner.as_str(),
                        "Arc" | "Box" | "Rc" | "Mutex" | "RwLock" | "RefCell" | "Cell"
                    )
                    && matches!(last.as_str(), "new" | "clone")
                {
                    return call.args.first().and_then(|argument| self.type_of(argument));
                }
                let functions = self.functions_at(&path);
                if functions.is_empty() { self.type_of(&call.func) } else { self.returned(&functions) }
            }
            Expr::MethodCall(call) => {
                let functions = self.methods(&call.receiver, &call.method.to_string());
                // A method of another crate's type is assumed to unwrap or pass on its receiver.
                if functions.is_empty() { self.type_of(&call.receiver) } else { self.returned(&functions) }
            }
            Expr::Field(field) => {
                let owner = self.type_of(&field.base)?;
                let definition = &self.calls.names.definitions[owner];
                let ty = field_type(definition.item, &field.member)?;
                self.calls.names.type_in(definition.module, ty, Some(owner))
            }
            Expr::Struct(expression) => self.calls.names.definition(self.module, &expression.path, self.own),
            Expr::Cast(cast) => self.calls.names.type_in(self.module, &cast.ty, self.own),
            Expr::Try(expression) => self.type_of(&expression.expr),
            Expr::Reference(expression) => self.type_of(&expression.expr),
            Expr::Paren(expression) => self.type_of(&expression.expr),
            Expr::Group(expression) => self.type_of(&expression.expr),
            Expr::Unary(expression) => self.type_of(&expression.expr),
            Expr::Index(expression) => self.type_of(&expression.expr),
            Expr::Unsafe(expression) => self.type_of_block(&expression.block),
            Expr::Block(expression) => self.type_of_block(&expression.block),
            Expr::If(expression) => self.type_of_block(&expression.then_branch),
            Expr::Match(expression) => expression.arms.iter().find_map(|arm| self.type_of(&arm.body)),
            _ => None,
        }
    }

    fn type_of_block(&self, block: &Block) -> Option<DefinitionId> {
        match block.stmts.last()? {
            Stmt::Expr(expression, None) => self.type_of(expression),
            _ => None,
        }
    }

    /// Declares the variables of a pattern that destructures a value of a type.
    fn bind(&mut self, pattern: &Pat, ty: Option<DefinitionId>) {
        match pattern {
            Pat::Ident(pattern) => {
                self.declare(&pattern.ident, ty);
                if let Some((_, inner)) = &pattern.subpat {
                    self.bind(inner, ty);
                }
            }
            Pat::Reference(pattern) => self.bind(&pattern.pat, ty),
            Pat::Paren(pattern) => self.bind(&pattern.pat, ty),
            Pat::Type(pattern) => {
                let ty = self.calls.names.type_in(self.module, &pattern.ty, self.own);
                self.bind(&pattern.pat, ty);
            }
            Pat::TupleStruct(pattern) => {
                let last = pattern.path.segments.last().map(|segment| segment.ident.to_string());
                let inner = if matches!(last.as_deref(), Some("Some" | "Ok")) { ty } else { None };
                pattern.elems.iter().for_each(|element| self.bind(element, inner));
            }
            Pat::Tuple(pattern) => pattern.elems.iter().for_each(|element| self.bind(element, None)),
            Pat::Slice(pattern) => pattern.elems.iter().for_each(|element| self.bind(element, ty)),
            Pat::Or(pattern) => pattern.cases.iter().for_each(|case| self.bind(case, ty)),
            Pat::Struct(pattern) => {
                let owner = self.calls.names.definition(self.module, &pattern.path, self.own);
                for field in &pattern.fields {
                    let ty = owner.and_then(|owner| {
                        let definition = &self.calls.names.definitions[owner];
                        let ty = field_type(definition.item, &field.member)?;
                        self.calls.names.type_in(definition.module, ty, Some(owner))
                    });
                    self.bind(&field.pat, ty);
                }
            }
            _ => {}
        }
    }

    /// The same for a `let` with a value.
    fn bind_value(&mut self, pattern: &Pat, value: &Expr) {
        match (pattern, value) {
            (Pat::Tuple(pattern), Expr::Tuple(value)) if pattern.elems.len() == value.elems.len() => {
                for (pattern, value) in pattern.elems.iter().zip(&value.elems) {
                    self.bind_value(pattern, value);
                }
            }
            _ => {
                let ty = self.type_of(value);
                self.bind(pattern, ty);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Body<'_> {
    fn visit_local(&mut self, local: &'ast syn::Local) {
        visit::visit_local(self, local);
        match &local.init {
            Some(init) => match &local.pat {
                Pat::Type(pattern) => self.bind(&Pat::Type(pattern.clone()), None),
                pattern => self.bind_value(pattern, &init.expr),
            },
            None => self.bind(&local.pat, None),
        }
    }

    fn visit_expr_let(&mut self, expression: &'ast syn::ExprLet) {
        visit::visit_expr_let(self, expression);
        self.bind_value(&expression.pat, &expression.expr);
    }

    fn visit_expr_for_loop(&mut self, expression: &'ast syn::ExprForLoop) {
        self.visit_expr(&expression.expr);
        self.bind_value(&expression.pat, &expression.expr);
        self.visit_block(&expression.body);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        self.visit_expr(&expression.expr);
        for arm in &expression.arms {
            self.bind_value(&arm.pat, &expression.expr);
            self.visit_arm(arm);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.visit_expr(&call.receiver);
        let found = self.methods(&call.receiver, &call.method.to_string());
        let passed = if found.is_empty() { self.type_of(&call.receiver) } else { None };
        self.callees.extend(found);
        for argument in &call.args {
            // `map` and similar methods pass their receiver's content to the closure.
            if let Expr::Closure(closure) = argument
                && let [parameter] = closure.inputs.iter().collect::<Vec<_>>().as_slice()
            {
                self.bind(parameter, passed);
                self.visit_expr(&closure.body);
            } else {
                self.visit_expr(argument);
            }
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        for parameter in &closure.inputs {
            self.bind(parameter, None);
        }
        self.visit_expr(&closure.body);
    }

    fn visit_expr_path(&mut self, expression: &'ast syn::ExprPath) {
        if let Some(of) = &expression.qself
            && let Some(last) = expression.path.segments.last()
        {
            // For a type parameter, only the trait is known.
            let names = &self.calls.names;
            let of_trait = || {
                let path: Vec<_> = segments(&expression.path).into_iter().take(of.position).collect();
                match names.resolve(self.module, &path, Space::Type)? {
                    Target::Definition(id) => Some(id),
                    Target::Module(_) => None,
                }
            };
            if let Some(owner) = names.type_in(self.module, &of.ty, self.own).or_else(of_trait) {
                self.callees.extend(self.calls.method(owner, &last.ident.to_string()));
            }
            return;
        }
        self.value(&segments(&expression.path));
    }

    fn visit_expr_field(&mut self, field: &'ast syn::ExprField) {
        if let Member::Named(name) = &field.member {
            let name = name.to_string();
            if self.known.contains(name.as_str()) {
                self.symbols.insert(name);
            }
        }
        visit::visit_expr_field(self, field);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if let Some(id) =
            call.path.segments.last().and_then(|last| self.calls.macro_named(&last.ident.to_string()))
        {
            self.callees.insert(id);
        }
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(call.tokens.clone());
        match arguments {
            Ok(arguments) => arguments.iter().for_each(|argument| self.visit_expr(argument)),
            Err(_) => symbols_in(call.tokens.clone(), self.known, &mut self.symbols),
        }
    }
}

/// The type of a field.
fn field_type<'a>(item: &'a Item, member: &Member) -> Option<&'a Type> {
    let Item::Struct(item) = item else { return None };
    match (&item.fields, member) {
        (Fields::Named(fields), Member::Named(name)) => {
            fields.named.iter().find(|field| field.ident.as_ref() == Some(name)).map(|field| &field.ty)
        }
        (Fields::Unnamed(fields), Member::Unnamed(index)) => {
            fields.unnamed.iter().nth(index.index as usize).map(|field| &field.ty)
        }
        _ => None,
    }
}
