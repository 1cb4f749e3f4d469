//! Reads a checked-in `table.rs`: the functions, and which versions of the library have them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use syn::{Expr, Item, Lit, Member, Type};

/// A function of a table.
pub(super) struct Function {
    pub(super) name: String,
    /// Bit i: the library's i-th version has it. `None` if the table does not say.
    pub(super) bits: Option<u64>,
}

/// The functions of a table, sorted by name.
pub(super) struct Functions {
    /// Versions, oldest first.
    pub(super) versions: Vec<String>,
    pub(super) functions: Vec<Function>,
}

impl Functions {
    /// The names of the functions.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(|function| function.name.as_str())
    }

    /// The versions that have a function, in words.
    pub(super) fn versions_of(&self, function: &Function) -> String {
        let Some(bits) = function.bits else { return "yes".to_owned() };
        let last = self.versions.len() - 1;
        let has = |index: usize| bits >> index & 1 != 0;
        let indices: Vec<usize> = (0..=last).filter(|index| has(*index)).collect();
        let name = |index: usize| self.versions[index].as_str();
        match *indices.as_slice() {
            [] => "not exported".to_owned(),
            [from, .., to] if to - from + 1 == indices.len() => match (from == 0, to == last) {
                (true, true) => "all".to_owned(),
                (true, false) => format!("until {}", name(to)),
                (false, true) => format!("since {}", name(from)),
                (false, false) => format!("{} to {}", name(from), name(to)),
            },
            [only] if last == 0 => {
                debug_assert_eq!(only, 0);
                "all".to_owned()
            }
            [0] => format!("until {}", name(0)),
            [only] if only == last => format!("since {}", name(only)),
            _ => indices.iter().map(|index| name(*index)).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Reads the text of a `table.rs`.
pub(super) fn read(text: &str) -> Result<Functions> {
    let file = syn::parse_file(text)?;
    let mut names = Vec::new();
    let mut versions = Vec::new();
    let mut symbols = None;
    for item in &file.items {
        match item {
            Item::Struct(item) if item.ident == "Table" => {
                let functions = item.fields.iter().filter(|field| matches!(field.ty, Type::BareFn(_)));
                names.extend(functions.filter_map(|field| Some(field.ident.as_ref()?.to_string())));
            }
            Item::Const(item) if item.ident == "VERSIONS" => {
                versions = elements(&item.expr)?.map(text_of).collect::<Result<_>>()?;
            }
            Item::Static(item) if item.ident == "SYMBOLS" => symbols = Some(&item.expr),
            Item::Const(item) if item.ident == "SYMBOLS" => symbols = Some(&item.expr),
            _ => {}
        }
    }
    ensure!(!names.is_empty(), "there is no `struct Table` with function pointers");
    names.sort();
    let mut bits = BTreeMap::new();
    if !versions.is_empty() {
        for symbol in elements(symbols.context("there are VERSIONS but no SYMBOLS")?)? {
            let (name, versions) = symbol_of(symbol)?;
            bits.insert(name, versions);
        }
    }
    let functions = names.into_iter().map(|name| {
        let found = bits.get(&name).copied();
        ensure!(versions.is_empty() || found.is_some(), "SYMBOLS does not say which versions have {name}");
        Ok(Function { name, bits: found })
    });
    let functions = functions.collect::<Result<_>>()?;
    Ok(Functions { versions, functions })
}

/// The elements of an array, or of a reference to one.
fn elements(expression: &Expr) -> Result<impl Iterator<Item = &Expr>> {
    match expression {
        Expr::Array(array) => Ok(array.elems.iter()),
        Expr::Reference(reference) => match &*reference.expr {
            Expr::Array(array) => Ok(array.elems.iter()),
            _ => bail!("SYMBOLS or VERSIONS is not an array"),
        },
        _ => bail!("SYMBOLS or VERSIONS is not an array"),
    }
}

/// Name and version bits of `Symbol { name: c"…", versions: 0b…, … }`.
fn symbol_of(expression: &Expr) -> Result<(String, u64)> {
    let Expr::Struct(symbol) = expression else { bail!("an element of SYMBOLS is not a `Symbol {{ … }}`") };
    let field = |wanted: &str| {
        let named = |member: &Member| matches!(member, Member::Named(name) if name == wanted);
        let field = symbol.fields.iter().find(|field| named(&field.member));
        field.map(|field| &field.expr).with_context(|| format!("a `Symbol` has no `{wanted}`"))
    };
    let name = text_of(field("name")?)?;
    match field("versions")? {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => Ok((name, number.base10_parse()?)),
            _ => bail!("the versions of {name} are not a number"),
        },
        _ => bail!("the versions of {name} are not a number"),
    }
}

fn text_of(expression: &Expr) -> Result<String> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Ok(text.value()),
            Lit::CStr(text) => Ok(text.value().into_string()?),
            _ => bail!("a name or version is not a string"),
        },
        _ => bail!("a name or version is not a string"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(symbols: &str) -> String {
        format!(
            "pub struct Table {{
                pub b: unsafe extern \"C\" fn(x: i32) -> i32,
                pub a: unsafe extern \"C\" fn(),
                pub ext: Extensions,
                pub(super) origin: Origin,
            }}
            {symbols}"
        )
    }

    #[test]
    fn functions_are_read_sorted_and_other_fields_are_not() {
        let functions = read(&table("")).unwrap();
        assert_eq!(functions.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(functions.versions_of(&functions.functions[0]), "yes");
        assert!(read("pub struct Other;").is_err());
    }

    #[test]
    fn versions_are_those_of_the_symbols() {
        let symbols = "pub const VERSIONS: [&str; 2] = [\"5.2\", \"7.2\"];
            static SYMBOLS: [Symbol; 2] = [
                Symbol { name: c\"a\", offset: offset_of!(Table, a), versions: 0b11 },
                Symbol { name: c\"b\", offset: offset_of!(Table, b), versions: 0b10 },
            ];";
        let functions = read(&table(symbols)).unwrap();
        let said: Vec<_> = functions.functions.iter().map(|f| functions.versions_of(f)).collect();
        assert_eq!(said, ["all", "since 7.2"]);
        let error = read(&table(&symbols.replace("c\"b\"", "c\"c\""))).err().unwrap();
        assert!(error.to_string().contains('b'), "{error}");
    }

    #[test]
    fn versions_in_words() {
        let versions = ["1", "2", "3", "4"].map(str::to_owned).to_vec();
        let functions = Functions { versions, functions: Vec::new() };
        let cases = [
            (0b1111, "all"),
            (0b0000, "not exported"),
            (0b0001, "until 1"),
            (0b0011, "until 2"),
            (0b1000, "since 4"),
            (0b1100, "since 3"),
            (0b0110, "2 to 3"),
            (0b0100, "3"),
            (0b1011, "1, 2, 4"),
        ];
        for (bits, words) in cases {
            let function = Function { name: String::new(), bits: Some(bits) };
            assert_eq!(functions.versions_of(&function), words, "{bits:04b}");
        }
        let single = Functions { versions: vec!["1".to_owned()], functions: Vec::new() };
        assert_eq!(single.versions_of(&Function { name: String::new(), bits: Some(1) }), "all");
    }
}
