//! Writes the exported functions of a drop-in for a vendor's library: a row for each, and a macro that makes
//! it call the table's entry.

use std::fmt::Write as _;

use anyhow::Result;
use quote::quote;
use syn::{ReturnType, Signature, Type};

use crate::bindings::origin;
use crate::library::{Calls, DropIn, Library};
use crate::merge::Merged;

/// The exports of a crate.
pub(crate) struct Exports {
    /// A function for each export of the versions that the drop-in replaces.
    pub(crate) functions: String,
    /// The same functions under their other names, if the library has some.
    pub(crate) other_names: Option<String>,
}

/// How an exported function calls the table's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Direct,
    Observed,
    Optional,
}

impl Call {
    const ALL: [Self; 3] = [Self::Direct, Self::Observed, Self::Optional];

    /// The way for a function with the name `text`.
    fn of(calls: Calls, text: &str, output: &ReturnType, library: &Library) -> Self {
        match calls {
            Calls::Observed => Self::Observed,
            Calls::Optional(not) if is_status(output, library) && !not.contains(&text) => Self::Optional,
            Calls::Direct | Calls::Optional(_) => Self::Direct,
        }
    }

    /// The name of the macro.
    fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Observed => "observed",
            Self::Optional => "optional",
        }
    }

    /// The function body in the macro.
    fn body(self) -> &'static str {
        match self {
            Self::Direct => "unsafe { (crate::table().$name)($($argument),*) }",
            Self::Observed => {
                "crate::observe(stringify!($name), unsafe { (crate::table().$name)($($argument),*) })"
            }
            Self::Optional => "crate::call(|table| unsafe { (table.$name)($($argument),*) })",
        }
    }
}

/// An exported function.
struct Row<'a> {
    call: Call,
    /// The exported name, if it differs.
    symbol: Option<&'a str>,
    signature: &'a Signature,
}

/// Writes the functions that a crate exports.
pub(crate) fn generate(merged: &Merged, drop_in: DropIn) -> Result<Exports> {
    let newest = merged.library.versions.len() - 1;
    let versions = if drop_in.every_version { 0..=newest } else { newest..=newest };
    let (mut functions, mut other_names) = (Vec::new(), Vec::new());
    for function in merged.functions.values() {
        if !versions.clone().any(|version| function.exported.contains(version)) {
            continue;
        }
        let signature = &function.item.sig;
        let text = signature.ident.to_string();
        let call = Call::of(drop_in.calls, &text, &signature.output, merged.library);
        functions.push(Row { call, symbol: None, signature });
        for (symbol, _) in merged.library.other_names.iter().filter(|(_, function)| *function == text) {
            other_names.push(Row { call, symbol: Some(symbol), signature });
        }
    }
    let other_names = (!other_names.is_empty()).then(|| file(merged.library, &other_names)).transpose()?;
    Ok(Exports { functions: file(merged.library, &functions)?, other_names })
}

fn file(library: &Library, rows: &[Row<'_>]) -> Result<String> {
    let mut text = format!("{}use {}::bindings::*;\n", origin(library), library.module);
    for call in Call::ALL {
        let rows: Vec<&Row<'_>> = rows.iter().filter(|row| row.call == call).collect();
        let Some(first) = rows.first() else { continue };
        let (name, body) = (call.name(), call.body());
        let (pattern, symbol) = match first.symbol {
            Some(_) => ("$symbol:ident = $name:ident", "$symbol"),
            None => ("$name:ident", "$name"),
        };
        write!(
            text,
            "
macro_rules! {name} {{
    ($(fn {pattern}($($argument:ident: $type:ty),*) $(-> $output:ty)?;)*) => {{$(
        #[unsafe(no_mangle)]
        unsafe extern \"C\" fn {symbol}($($argument: $type),*) $(-> $output)? {{
            {body}
        }}
    )*}};
}}

{name}! {{
"
        )?;
        for row in rows {
            writeln!(text, "    {}", row.text()?)?;
        }
        text.push_str("}\n");
    }
    Ok(text)
}

impl Row<'_> {
    fn text(&self) -> Result<String> {
        let Signature { ident, inputs, output, .. } = self.signature;
        let file = syn::parse2(quote! { unsafe extern "C" { fn #ident(#inputs) #output; } })?;
        let printed = prettyplease::unparse(&file);
        // The text between the braces, in one line.
        let lines: Vec<&str> = printed.lines().map(str::trim).collect();
        let line = lines[1..lines.len() - 1].join(" ").replace("( ", "(").replace(", )", ")");
        Ok(match self.symbol {
            Some(symbol) => line.replacen("fn ", &format!("fn {symbol} = "), 1),
            None => line,
        })
    }
}

/// Whether a function returns the library's status.
fn is_status(output: &ReturnType, library: &Library) -> bool {
    matches!(output, ReturnType::Type(_, kind) if matches!(&**kind, Type::Path(path) if path.path.is_ident(library.status)))
}
