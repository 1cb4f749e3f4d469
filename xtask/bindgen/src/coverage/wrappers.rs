//! The public items of a crate that call a C function.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Fields, Item};

use super::calls::{Calls, Function};
use super::names::DefinitionId;
use super::source::Crate;
use super::{Items, Wrappers};

/// For each of `symbols` that the crate calls, the public items that call it; empty if there are none. Calls
/// only from its module `raw` do not count.
///
/// Items that name the function in their documentation always count. Others count if they call it directly or
/// through private items, but not through another public item. Calls in `Drop` count for the public types
/// that own the dropped one.
pub(super) fn find(name: &str, source: &Crate, symbols: &BTreeSet<&str>) -> Wrappers {
    let calls = Calls::new(name, source, symbols);
    let callers = callers(&calls);
    let owners = owners(&calls);
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (id, function) in calls.functions.iter().enumerate() {
        for symbol in &function.symbols {
            found.entry(symbol).or_default().push(id);
        }
    }
    let is_raw = |id: &usize| source.is_raw(calls.functions[*id].module);
    let items_of = |(symbol, users): (&str, Vec<usize>)| {
        let only_raw = users.iter().all(is_raw);
        let (mut documented, mut others) = (BTreeSet::new(), BTreeSet::new());
        // Calls through a public item count only if documented.
        let mut seen: BTreeMap<usize, bool> = BTreeMap::new();
        let mut left: Vec<(usize, bool)> = users.into_iter().map(|id| (id, true)).collect();
        while let Some((id, direct)) = left.pop() {
            if seen.get(&id).is_some_and(|known| *known || !direct) {
                continue;
            }
            seen.insert(id, direct);
            let function = &calls.functions[id];
            if function.is_drop {
                if direct {
                    others.extend(dropped_with(&calls, &owners, function));
                }
                continue;
            }
            if let Some(label) = &function.label {
                if function.documented.contains(symbol) {
                    documented.insert(label.clone());
                } else if direct {
                    others.insert(label.clone());
                }
            }
            let direct = direct && function.label.is_none();
            left.extend(callers[id].iter().map(|caller| (*caller, direct)));
        }
        others.retain(|item| !documented.contains(item));
        let unused = only_raw && documented.is_empty() && others.is_empty();
        (!unused).then(|| (symbol.to_owned(), Items { documented, others }))
    };
    found.into_iter().filter_map(items_of).collect()
}

/// The callers of each function.
fn callers(calls: &Calls<'_>) -> Vec<BTreeSet<usize>> {
    let mut callers = vec![BTreeSet::new(); calls.functions.len()];
    for (id, function) in calls.functions.iter().enumerate() {
        for callee in &function.callees {
            callers[*callee].insert(id);
        }
    }
    callers
}

/// The public types whose drop runs `function`, a `drop`.
fn dropped_with(
    calls: &Calls<'_>,
    owners: &[BTreeSet<DefinitionId>],
    function: &Function<'_>,
) -> BTreeSet<String> {
    let mut items = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut left: Vec<DefinitionId> = function.owner.into_iter().collect();
    while let Some(id) = left.pop() {
        if !seen.insert(id) {
            continue;
        }
        match calls.names.public_path(id) {
            Some(path) => {
                items.insert(format!("{path} (drop)"));
            }
            None => left.extend(&owners[id]),
        }
    }
    items
}

/// The types that own a field of each type, not counting borrowed ones.
fn owners(calls: &Calls<'_>) -> Vec<BTreeSet<DefinitionId>> {
    let names = &calls.names;
    let mut owners = vec![BTreeSet::new(); names.definitions.len()];
    for (owner, definition) in names.definitions.iter().enumerate() {
        let fields: Vec<&Fields> = match definition.item {
            Item::Struct(item) => vec![&item.fields],
            Item::Enum(item) => item.variants.iter().map(|variant| &variant.fields).collect(),
            _ => continue,
        };
        let mut owned = BTreeSet::new();
        for field in fields.into_iter().flatten() {
            let enter = |wrapper: &str| !matches!(wrapper, "&" | "*" | "Weak" | "PhantomData");
            names.types_in(definition.module, &field.ty, Some(owner), &mut owned, &enter);
        }
        for id in owned {
            owners[id].insert(owner);
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: [&str; 6] = ["x_init", "x_make", "x_free", "x_copy", "x_text", "x_set"];

    fn wrappers_of(source: &str, symbol: &str) -> Vec<String> {
        let source = Crate::parse(source);
        let found = find("c", &source, &SYMBOLS.into());
        let items = found.get(symbol).cloned().unwrap_or_default();
        items.documented.into_iter().chain(items.others).collect()
    }

    #[test]
    fn a_public_function_or_method_is_its_own_wrapper() {
        let source = "
            pub fn start(table: &Table) { unsafe { (table.x_init)() } }
            pub struct Thing { table: &'static Table }
            impl Thing {
                pub fn make(&self) { unsafe { call!(self.table, x_make(1, 2)) }.unwrap() }
                pub fn all(&self) { self.make() }
            }
            mod inner { pub fn start(table: &Table) { unsafe { (table.x_init)() } } }";
        assert_eq!(wrappers_of(source, "x_init"), ["c::start"]);
        assert_eq!(wrappers_of(source, "x_make"), ["c::Thing::make"]);
    }

    #[test]
    fn a_private_helper_counts_for_the_public_items_that_reach_it() {
        let source = "
            mod raw {
                pub(crate) struct Raw { table: &'static Table }
                impl Raw {
                    pub(crate) fn allocate() -> Result<Self> { copy(); unsafe { (table.x_make)() } }
                    pub(crate) fn usage(&self) -> &Usage { &self.usage }
                }
                unsafe fn copy() { call!(table, x_copy()) }
                #[derive(Default)]
                pub(crate) struct Usage;
                impl Usage { pub(crate) fn read(&self) { call!(t, x_set(1)) } }
            }
            use raw::Raw;
            pub struct Buffer<T> { raw: Raw }
            impl<T> Buffer<T> {
                pub fn new() -> Result<Self> { let raw = Raw::allocate()?; Ok(Self { raw }) }
                pub fn read(&self) { helper(self) }
                fn helper(&self) {}
            }
            fn helper<T>(buffer: &Buffer<T>) { buffer.raw.usage().read() }";
        assert_eq!(wrappers_of(source, "x_make"), ["c::Buffer::new"]);
        assert_eq!(wrappers_of(source, "x_copy"), ["c::Buffer::new"]);
        assert_eq!(wrappers_of(source, "x_set"), ["c::Buffer::read"]);
    }

    #[test]
    fn what_is_dropped_counts_for_its_public_owners() {
        let source = "
            pub struct Thing(std::sync::Arc<Inner>);
            pub struct Looker { inner: std::sync::Weak<Inner> }
            struct Inner { table: &'static Table }
            impl Drop for Inner { fn drop(&mut self) { self.destroy() } }
            impl Inner { fn destroy(&mut self) { note(unsafe { call!(self.table, x_free(self.raw)) }) } }
            pub struct Direct;
            impl Drop for Direct { fn drop(&mut self) { (self.table.x_free)(1) } }";
        assert_eq!(wrappers_of(source, "x_free"), ["c::Direct (drop)", "c::Thing (drop)"]);
    }

    #[test]
    fn methods_of_the_same_name_are_told_apart() {
        let source = "
            pub struct A { b: B }
            pub struct B;
            pub struct C;
            impl A {
                pub fn one(&self, b: &B) { b.go() }
                pub fn two(&self) { for b in self.all()? { b.go() } }
                pub fn three(&self) { self.c().map(|c| c.go()); }
                pub fn four(&self, unknown: u32) { unknown.go() }
                fn all(&self) -> Result<Vec<B>> { todo!() }
                fn c(&self) -> Option<C> { None }
            }
            impl B { fn go(&self) { (t.x_make)() } }
            impl C { fn go(&self) { (t.x_free)() } }";
        assert_eq!(wrappers_of(source, "x_make"), ["c::A::one", "c::A::two"]);
        assert_eq!(wrappers_of(source, "x_free"), ["c::A::three"]);
    }

    #[test]
    fn traits_lead_to_what_implements_them() {
        let source = "
            pub trait Open { fn open(&self); }
            trait Hidden { fn hidden(&self); }
            pub struct A;
            impl Open for A { fn open(&self) { (t.x_make)() } }
            impl Hidden for A { fn hidden(&self) { (t.x_free)() } }
            impl std::fmt::Display for A { fn fmt(&self) { (t.x_text)() } }
            pub fn use_it(x: &impl Hidden) { x.hidden() }";
        assert_eq!(wrappers_of(source, "x_make"), ["<c::A as Open>::open"]);
        assert_eq!(wrappers_of(source, "x_free"), ["c::use_it"]);
        assert_eq!(wrappers_of(source, "x_text"), ["<c::A as Display>::fmt"]);
    }

    #[test]
    fn macros_and_unreached_functions_are_internal_or_found() {
        let source = "
            macro_rules! text { ($t:expr) => { $crate::check($t, ($t.x_text)()) } }
            fn check(table: &Table) { (table.x_init)() }
            pub fn say() { text!(t) }
            fn unreached() { (t.x_make)() }
            #[cfg(test)] mod tests { fn f() { (t.x_free)() } }";
        assert_eq!(wrappers_of(source, "x_text"), ["c::say"]);
        assert_eq!(wrappers_of(source, "x_init"), ["c::say"]);
        let source = Crate::parse(source);
        let found = find("c", &source, &SYMBOLS.into());
        assert!(found["x_make"].others.is_empty() && !found.contains_key("x_free"));
    }

    #[test]
    fn what_documentation_names_comes_first() {
        let source = "
            pub struct A;
            impl A {
                pub fn a(&self) { self.helper() }
                /// Does it all (`x_make`).
                pub fn z(&self) { self.through() }
                #[doc(alias = \"x_make\")]
                pub fn y(&self) { self.z() }
                /// See [`x_make_all`], and `x_make`, which this does not call.
                pub fn never(&self) {}
                pub fn through(&self) { self.helper() }
                fn helper(&self) { (t.x_make)() }
            }";
        assert_eq!(wrappers_of(source, "x_make"), ["c::A::y", "c::A::z", "c::A::a", "c::A::through"]);
    }

    #[test]
    fn functions_passed_by_name_are_called() {
        let source = "
            pub fn first() { list.iter().map(Thing::go); }
            pub fn second() { list.iter().map(helper); }
            fn helper() { (t.x_make)() }
            struct Thing;
            impl Thing { fn go(&self) { (t.x_free)() } }";
        assert_eq!(wrappers_of(source, "x_free"), ["c::first"]);
        assert_eq!(wrappers_of(source, "x_make"), ["c::second"]);
    }
}
