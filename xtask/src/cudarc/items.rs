//! The public items of a crate, read from rustdoc's pages.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

/// An item's kind and declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: &'static str,
    /// The declaration without argument names and spaces.
    pub(super) declaration: String,
}

/// Items by their paths without the crate's name; members of a type are below its path.
pub(super) type Items = BTreeMap<String, Item>;

const KINDS: &[&str] = &["struct", "enum", "union", "trait", "fn", "type", "constant", "static", "macro"];

/// Reads all pages that `all.html` lists.
pub(super) fn read(folder: &Path) -> Result<Items> {
    let list = std::fs::read_to_string(folder.join("all.html"))
        .with_context(|| format!("{} has no list of items", folder.display()))?;
    let mut items = Items::new();
    for link in list.split("<li><a href=\"").skip(1) {
        let Some((address, rest)) = link.split_once('"') else { continue };
        let path =
            text(rest.split_once('>').map_or("", |(_, rest)| rest).split("</a>").next().unwrap_or_default());
        let path = path.trim_end_matches('!');
        let file = address.rsplit('/').next().unwrap_or_default();
        let Some(kind) = KINDS.iter().find(|kind| file.starts_with(&format!("{kind}."))) else { continue };
        let page = std::fs::read_to_string(folder.join(address))
            .with_context(|| format!("{address} is listed but cannot be read"))?;
        read_page(path, kind, &page, &mut items);
    }
    Ok(items)
}

fn read_page(path: &str, kind: &'static str, page: &str, items: &mut Items) {
    let declared =
        page.split("<pre class=\"rust item-decl\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let whole = declared.map(text).unwrap_or_default();
    // Members of types and traits are listed separately.
    let declaration = match kind {
        "fn" | "type" | "constant" | "static" => normal(&whole),
        _ => String::new(),
    };
    items.insert(path.to_owned(), Item { kind, declaration });
    if kind == "type" {
        // rustdoc shows members of the aliased type there.
        return;
    }
    let own = page.split("id=\"trait-implementations-list\"").next().unwrap_or_default();
    let behind =
        ["id=\"foreign-impls\"", "id=\"synthetic-implementations\"", "id=\"blanket-implementations\""];
    let own = behind.iter().fold(own, |own, mark| own.split(mark).next().unwrap_or_default());
    for (mark, kind) in [
        ("<section id=\"method.", "method"),
        ("<section id=\"tymethod.", "method"),
        ("<section id=\"associatedtype.", "type"),
        ("<section id=\"associatedconstant.", "constant"),
    ] {
        for section in own.split(mark).skip(1) {
            let Some((name, rest)) = section.split_once('"') else { continue };
            let header =
                rest.split("<h4 class=\"code-header\">").nth(1).and_then(|rest| rest.split("</h4>").next());
            if rest.starts_with(" class=\"method trait-impl\"") {
                continue;
            }
            let declaration = header.map(|header| normal(&text(header))).unwrap_or_default();
            // The spelling of values does not matter.
            let declaration = match kind {
                "constant" => declaration.split('=').next().unwrap_or_default().to_owned(),
                _ => declaration,
            };
            // rustdoc appends a number to repeated method names.
            let name = name.split_once('-').map_or(name, |(name, _)| name);
            items.insert(format!("{path}::{name}"), Item { kind, declaration });
        }
    }
    for (mark, kind) in [("id=\"variant.", "variant"), ("id=\"structfield.", "field")] {
        for section in own.split(mark).skip(1) {
            let Some((name, rest)) = section.split_once('"') else { continue };
            if name.contains('.') {
                continue;
            }
            let code = rest.split("<code>").nth(1).and_then(|rest| rest.split("</code>").next());
            let declaration = if kind == "field" { code.map(|code| normal(&text(code))) } else { None };
            items.insert(
                format!("{path}::{name}"),
                Item { kind, declaration: declaration.unwrap_or_default() },
            );
        }
    }
    let others = page.split("id=\"trait-implementations-list\"").nth(1).unwrap_or_default();
    let others = others.split("id=\"synthetic-implementations\"").next().unwrap_or_default();
    let foreign = page.split("id=\"foreign-impls\"").nth(1).unwrap_or_default();
    let foreign = foreign.split("id=\"implementors\"").next().unwrap_or_default();
    for part in [others, foreign] {
        for header in part.split("<h3 class=\"code-header\">").skip(1) {
            let header = text(header.split("</h3>").next().unwrap_or_default());
            let header =
                header.split("where").next().unwrap_or_default().split('\n').next().unwrap_or_default();
            if header.starts_with("impl") && !header.contains("Structural") {
                let place = path.rsplit_once("::").map_or("", |(module, _)| module);
                let name = header.split_whitespace().collect::<Vec<_>>().join(" ");
                items.insert(format!("{place} {name}"), Item { kind: "impl", declaration: String::new() });
            }
        }
    }
}

/// The text of HTML.
fn text(html: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for letter in html.chars() {
        match letter {
            '<' => in_tag = true,
            '>' if in_tag => in_tag = false,
            letter if !in_tag => text.push(letter),
            _ => {}
        }
    }
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    entities.iter().fold(text, |text, (entity, letter)| text.replace(entity, letter))
}

/// A declaration without argument names, spaces and irrelevant parts: `unsafe extern "C"`, and `mut` of
/// arguments.
fn normal(declaration: &str) -> String {
    let words: String = declaration.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut result = String::new();
    let mut rest = words.as_str();
    // An argument name follows a non-identifier, is lower case, and is followed by a colon and a space.
    while let Some(letter) = rest.chars().next() {
        let begins = result.chars().last().is_none_or(|last| matches!(last, '(' | ',' | ' '));
        let name: usize =
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').map(char::len_utf8).sum();
        let is_name = begins
            && name > 0
            && rest[name..].starts_with(": ")
            && !result.ends_with("where ")
            && (result.contains('(') || result.is_empty());
        if is_name && !rest.starts_with("Self") && result.matches('(').count() > result.matches(')').count() {
            rest = &rest[name + 2..];
            continue;
        }
        result.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    result.replace(' ', "").replace(",)", ")").replace(",>", ">").replace("where,", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_compared_without_names_and_space() {
        let one = "pub fn f<T: Copy>( &self, first: &T, second: Option<c_int>, ) -> Result<(), E>";
        let two = "pub fn f<T: Copy>(&self, a: &T, b: Option<c_int>) -> Result<(), E>";
        assert_eq!(normal(one), normal(two));
        assert_ne!(normal(one), normal(&two.replace("&T", "&mut T")));
        assert_ne!(normal(one), normal(&two.replace("T: Copy", "T: Clone")));
    }

    #[test]
    fn pages_tell_methods_variants_and_implementations() {
        let page = "<pre class=\"rust item-decl\"><code>pub enum E { A, }</code></pre>\
            <section id=\"variant.A\" class=\"variant\"><h3 class=\"code-header\">A</h3></section>\
            <section id=\"method.new\" class=\"method\"><h4 class=\"code-header\">pub fn <a>new</a>(n: u8) -&gt; Self</h4></section>\
            <div id=\"trait-implementations-list\"><section><h3 class=\"code-header\">impl <a>Clone</a> for <a>E</a></h3>\
            <section id=\"method.clone\" class=\"method trait-impl\"><h4 class=\"code-header\">fn clone(&amp;self)</h4></section>";
        let mut items = Items::new();
        read_page("m::E", "enum", page, &mut items);
        let names: Vec<_> = items.iter().map(|(name, item)| (name.as_str(), item.kind)).collect();
        let expected = [
            ("m impl Clone for E", "impl"),
            ("m::E", "enum"),
            ("m::E::A", "variant"),
            ("m::E::new", "method"),
        ];
        assert_eq!(names, expected);
        assert_eq!(items["m::E::new"].declaration, "pubfnnew(u8)->Self");
    }
}
