//! A parser for the parts of LLVM's textual IR that the facts need: metadata nodes, function headers, quoted
//! texts.
//!
//! The text comes from the compiler. Unexpected parts are skipped and never cause a panic.

use std::collections::HashMap;

/// The numbered nodes of a module's metadata.
#[derive(Debug, Default)]
pub(crate) struct Nodes<'a>(HashMap<u32, &'a str>);

impl<'a> Nodes<'a> {
    pub(crate) fn of(module: &'a str) -> Self {
        let node = |line: &'a str| {
            let (id, node) = line.strip_prefix('!')?.split_once(" = ")?;
            Some((id.parse().ok()?, node.strip_prefix("distinct ").unwrap_or(node)))
        };
        Self(module.lines().filter_map(node).collect())
    }

    pub(crate) fn get(&self, id: u32) -> Option<&'a str> {
        self.0.get(&id).copied()
    }

    /// All of a kind.
    pub(crate) fn of_kind(&self, wanted: &str) -> impl Iterator<Item = &'a str> {
        self.0.values().copied().filter(move |node| kind(node) == Some(wanted))
    }

    /// A number above those of all nodes.
    pub(crate) fn free(&self) -> u32 {
        self.0.keys().max().map_or(0, |last| last.saturating_add(1))
    }
}

/// `12` of `!12`.
pub(crate) fn reference(value: &str) -> Option<u32> {
    value.trim().strip_prefix('!')?.parse().ok()
}

/// The elements of `!{…}`.
pub(crate) fn elements(node: &str) -> Option<Vec<&str>> {
    let inner = node.strip_prefix("!{")?.strip_suffix('}')?;
    if inner.trim().is_empty() {
        return Some(Vec::new());
    }
    Some(split(inner, ',').into_iter().map(str::trim).collect())
}

/// The kind of a node: `DIBasicType` of `!DIBasicType(…)`.
pub(crate) fn kind(node: &str) -> Option<&str> {
    Some(node.strip_prefix('!')?.split_once('(')?.0)
}

/// The value of a field in a node `!Kind(field: value, …)` or in a whole line with one.
pub(crate) fn field<'a>(node: &'a str, name: &str) -> Option<&'a str> {
    let inner = node.split_once('(')?.1;
    let inner = &inner[..inner.rfind(')')?];
    split(inner, ',').into_iter().find_map(|pair| {
        let (key, value) = pair.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// The text of a quoted value.
pub(crate) fn text(value: &str) -> Option<String> {
    let quoted = value.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match (first, after.first(), digit(0), digit(1)) {
            (b'\\', Some(b'\\'), _, _) => {
                bytes.push(b'\\');
                rest = &after[1..];
            }
            (b'\\', _, Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

/// A text in the syntax of a node's element.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("!\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.push_str(&format!("\\{byte:02X}")),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:02X}")),
        }
    }
    out.push('"');
    out
}

/// Splits at separators outside quotes and brackets.
pub(crate) fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let mut depth = 0_usize;
    for (at, c) in unquoted(text) {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            _ if c == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The characters outside quotes, with their positions. A backslash hides no quote: LLVM writes one as `\22`.
fn unquoted(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut inside = false;
    text.char_indices().filter(move |(_, c)| {
        if *c == '"' {
            inside = !inside;
            return false;
        }
        !inside
    })
}

/// The head of a function's definition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    /// Everything before the name, such as the calling convention.
    pub(crate) before: &'a str,
    pub(crate) parameters: Vec<Parameter<'a>>,
    /// The node of its debug information.
    pub(crate) subprogram: Option<u32>,
}

/// A parameter of a [`Head`]: its type and attributes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parameter<'a>(Vec<&'a str>);

impl<'a> Head<'a> {
    /// Parses a line `define … @name(…) … {`.
    pub(crate) fn of(line: &'a str) -> Option<Self> {
        let define = line.strip_prefix("define ")?.strip_suffix('{')?;
        let at = unquoted(define).find(|(_, c)| *c == '@')?.0;
        let open = at + unquoted(&define[at..]).find(|(_, c)| *c == '(')?.0;
        let mut depth = 0_usize;
        let (close, _) = unquoted(&define[open..]).find(|(_, c)| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
        let (inner, after) = (&define[open + 1..open + close], &define[open + close + 1..]);
        let parameters = split(inner, ',').into_iter().filter(|text| !text.trim().is_empty());
        let parameters = parameters.map(|text| {
            Parameter(split(text.trim(), ' ').into_iter().filter(|part| !part.is_empty()).collect())
        });
        let subprogram = after.split_once("!dbg ").and_then(|(_, rest)| reference(rest.split(' ').next()?));
        Some(Self { before: &define[..at], parameters: parameters.collect(), subprogram })
    }
}

impl Parameter<'_> {
    /// Whether the caller passes a pointer, as opposed to a value in the argument segment.
    pub(crate) fn is_pointer(&self) -> bool {
        self.0.first() == Some(&"ptr") && !self.0.iter().any(|part| part.starts_with("byref("))
    }

    pub(crate) fn has(&self, attribute: &str) -> bool {
        self.0.contains(&attribute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_through_quotes_and_brackets() {
        let line = r#"define protected amdgpu_kernel void @"a(b, c"(i32 noundef %0, ptr addrspace(4) noundef readonly byref(%"struct.ns::Arr<int, (3)>") align 4 captures(none) %1, ptr addrspace(1) writeonly initializes((0, 4)) "x"="readonly" %2, { i32, [3 x i8] } %3, <4 x float> %4) local_unnamed_addr #0 comdat !dbg !12 !prof !13 {"#;
        let head = Head::of(line).unwrap();
        assert!(head.before.contains("amdgpu_kernel"));
        assert_eq!(head.subprogram, Some(12));
        let pointers: Vec<_> = head.parameters.iter().map(Parameter::is_pointer).collect();
        assert_eq!(pointers, [false, false, true, false, false]);
        assert!(head.parameters[2].has("writeonly") && !head.parameters[2].has("readonly"));
        assert_eq!(Head::of("define void @f() {").unwrap().parameters, []);
        for broken in
            ["", "define {", "define @ {", "define void @f( {", "declare void @f()", "define void @f) {"]
        {
            assert_eq!(Head::of(broken), None, "{broken}");
        }
    }

    #[test]
    fn fields_are_found_through_quotes() {
        let node =
            r#"!DIDerivedType(tag: DW_TAG_typedef, name: "a, size: 7 \22(", scope: !{!1, !2}, size: 64)"#;
        assert_eq!(field(node, "size"), Some("64"));
        assert_eq!(field(node, "scope"), Some("!{!1, !2}"));
        assert_eq!(text(field(node, "name").unwrap()).as_deref(), Some("a, size: 7 \"("));
        assert_eq!(field(node, "nothing"), None);
        assert_eq!((kind(node), kind("!{!1}")), (Some("DIDerivedType"), None));
        assert_eq!(elements("!{null, !3}").unwrap(), ["null", "!3"]);
        assert_eq!(elements("!{}").unwrap(), [""; 0]);
    }

    #[test]
    fn texts_go_both_ways() {
        for plain in ["", "float*", "a\"b\\c", "é\n", "operator\\22"] {
            let there = quoted(plain);
            assert!(there.is_ascii());
            assert_eq!(text(there.strip_prefix('!').unwrap()).as_deref(), Some(plain));
        }
        assert_eq!(text("\"\\\\\\41\\4\"").as_deref(), Some("\\A\\4"));
    }
}
