//! What clang reads instead of texts in CUDA's dialect: the rules, in the order in which they apply.

use crate::{launches, members, pragmas, ptx};

/// The rules that look at a text by itself.
const RULES: [fn(&str) -> Option<String>; 3] = [launches::rewrite, members::rewrite, pragmas::rewrite];

/// The texts of a program, the source and the headers that it reads, as clang reads them; `None` for those
/// that stay. PTX may be in macros of any of them, and in those that options define.
pub(crate) fn rewritten<'a>(
    texts: &[&str],
    options: impl IntoIterator<Item = &'a str>,
) -> Vec<Option<String>> {
    let by_rules = |text: &&str| {
        let apply = |changed: Option<String>, rule: &fn(&str) -> Option<String>| {
            rule(changed.as_deref().unwrap_or(text)).or(changed)
        };
        RULES.iter().fold(None, apply)
    };
    let changed: Vec<Option<String>> = texts.iter().map(by_rules).collect();
    let current = || texts.iter().zip(&changed).map(|(text, changed)| changed.as_deref().unwrap_or(text));
    if !current().any(|text| text.contains("asm")) {
        return changed;
    }
    let defined = defined(options);
    let definitions = ptx::Definitions::of(current())
        .with_options(defined.iter().map(|(name, body)| (name.as_str(), body.as_str())));
    let without_ptx: Vec<Option<String>> =
        current().map(|text| ptx::rewrite_with(text, &definitions)).collect();
    without_ptx.into_iter().zip(changed).map(|(last, first)| last.or(first)).collect()
}

/// The macros that options define, each with its parameters and its body.
fn defined<'a>(options: impl IntoIterator<Item = &'a str>) -> Vec<(String, String)> {
    let mut options = options.into_iter();
    let mut found = Vec::new();
    while let Some(option) = options.next() {
        let Some(text) = option.strip_prefix("-D") else { continue };
        let text = if text.is_empty() { options.next().unwrap_or_default() } else { text };
        let (name, body) = text.split_once('=').unwrap_or((text, "1"));
        found.push((name.to_owned(), body.to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_applies_and_the_rest_stays() {
        let texts = [
            "void f() { k << <1, 2>> >(); }\n",
            "int untouched;\n",
            "__device__ void g() { BARRIER; }\n#define BARRIER asm(\"bar.sync 0;\")\n",
            "__device__ void h() { asm(NAMED); }\n",
        ];
        let found = rewritten(&texts, ["-O2", "-DNAMED=\"bar.sync 0;\""]);
        assert!(found[0].as_ref().is_some_and(|text| text.contains("<<<")), "{found:?}");
        assert_eq!(found[1], None);
        assert!(found[2].as_ref().is_some_and(|text| !text.contains("asm(\"bar")), "{found:?}");
        assert!(found[3].as_ref().is_some_and(|text| !text.contains("asm(")), "{found:?}");
    }
}
