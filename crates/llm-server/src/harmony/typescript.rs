//! JSON schemas as the TypeScript that GPT-OSS was trained with. The layout, which is not always that of a
//! tidy program, is that of OpenAI's own renderer.

use crate::engine::{TemplateValue, ValueKind};
use crate::formats::json_text;

/// Schemas that are nested deeper are `any`.
const DEEPEST: usize = 64;

/// The declaration of a function.
pub(super) fn function(name: &str, description: Option<&str>, parameters: Option<&TemplateValue>) -> String {
    let mut text: String =
        description.unwrap_or_default().lines().map(|line| format!("// {line}\n")).collect();
    match parameters {
        Some(schema) => text.push_str(&format!("type {name} = (_: {}) => any;\n", type_of(schema, "", 0))),
        None => text.push_str(&format!("type {name} = () => any;\n")),
    }
    text
}

fn get(schema: &TemplateValue, name: &str) -> Option<TemplateValue> {
    schema.get_attr(name).ok().filter(|value| !value.is_undefined())
}

fn string(schema: &TemplateValue, name: &str) -> Option<String> {
    get(schema, name)?.as_str().map(str::to_owned)
}

fn list(schema: &TemplateValue, name: &str) -> Option<Vec<TemplateValue>> {
    let value = get(schema, name)?;
    // Texts and objects can be iterated, too.
    (value.kind() == ValueKind::Seq).then(|| value.try_iter().map(Iterator::collect).ok())?
}

fn is_enum(schema: &TemplateValue) -> bool {
    list(schema, "enum").is_some_and(|values| !values.is_empty())
}

/// What stands after `default: `. Strings are in quotes, unless `is_bare`.
fn default_of(schema: &TemplateValue, is_bare: bool) -> Option<String> {
    let value = get(schema, "default")?;
    Some(match value.as_str() {
        Some(text) if !is_enum(schema) => format!("\"{text}\""),
        Some(text) if is_bare => text.to_owned(),
        _ => json_text(&value),
    })
}

/// The type of an alternative or a property, which may also be null.
fn nullable(schema: &TemplateValue, indent: &str, depth: usize) -> String {
    let text = type_of(schema, indent, depth + 1);
    let may_be_null = get(schema, "nullable").is_some_and(|value| value == TemplateValue::from(true));
    if may_be_null && !text.contains("null") { format!("{text} | null") } else { text }
}

fn type_of(schema: &TemplateValue, indent: &str, depth: usize) -> String {
    if depth > DEEPEST {
        return "any".to_owned();
    }
    if let Some(variants) = list(schema, "oneOf") {
        let variant = |variant: &TemplateValue| {
            let mut text = format!("\n{indent} | {}", nullable(variant, &format!("{indent}   "), depth));
            let default = default_of(variant, false).map(|default| format!("default: {default}"));
            let comments: Vec<String> = string(variant, "description").into_iter().chain(default).collect();
            if !comments.is_empty() {
                text.push_str(&format!(" // {}", comments.join(" ")));
            }
            text
        };
        return variants.iter().map(variant).collect();
    }
    if let Some(names) = list(schema, "type") {
        let names: Vec<&str> = names.iter().filter_map(TemplateValue::as_str).map(simple).collect();
        if !names.is_empty() {
            return names.join(" | ");
        }
    }
    match string(schema, "type").as_deref() {
        Some("object") => object(schema, indent, depth),
        Some("string") => {
            let values = list(schema, "enum").unwrap_or_default();
            let values: Vec<String> =
                values.iter().filter_map(|value| value.as_str().map(|text| format!("\"{text}\""))).collect();
            if values.is_empty() { "string".to_owned() } else { values.join(" | ") }
        }
        Some(name @ ("number" | "integer" | "boolean")) => simple(name).to_owned(),
        Some("array") => match get(schema, "items") {
            Some(items) => format!("{}[]", type_of(&items, indent, depth + 1)),
            None => "Array<any>".to_owned(),
        },
        _ => "any".to_owned(),
    }
}

fn simple(name: &str) -> &str {
    if name == "integer" { "number" } else { name }
}

fn object(schema: &TemplateValue, indent: &str, depth: usize) -> String {
    let mut text = String::new();
    if let Some(description) = string(schema, "description") {
        text.push_str(&format!("{indent}// {description}\n"));
    }
    text.push_str("{\n");
    let required = list(schema, "required").unwrap_or_default();
    let properties = get(schema, "properties");
    for key in properties.iter().flat_map(|properties| properties.try_iter().into_iter().flatten()) {
        let Some(value) = properties.as_ref().and_then(|all| all.get_item(&key).ok()) else { continue };
        let mark = if required.contains(&key) { "" } else { "?" };
        text.push_str(&property(&format!("{key}{mark}"), &value, indent, depth));
    }
    text + indent + "}"
}

fn property(name: &str, value: &TemplateValue, indent: &str, depth: usize) -> String {
    let mut text = String::new();
    let description = string(value, "description");
    let variants = list(value, "oneOf");
    if let Some(title) = string(value, "title") {
        text.push_str(&format!("{indent}// {title}\n{indent}//\n"));
    }
    if let (Some(description), None) = (&description, get(value, "oneOf")) {
        text.push_str(&format!("{indent}// {description}\n"));
    }
    let examples = list(value, "examples").unwrap_or_default();
    if !examples.is_empty() {
        text.push_str(&format!("{indent}// Examples:\n"));
        for example in examples.iter().filter_map(TemplateValue::as_str) {
            text.push_str(&format!("{indent}// - \"{example}\"\n"));
        }
    }
    let Some(variants) = variants else {
        let kind = nullable(value, &format!("{indent}    "), depth);
        text.push_str(&format!("{indent}{name}: {kind},"));
        if let (Some(default), None) = (default_of(value, true), get(value, "oneOf")) {
            text.push_str(&format!(" // default: {default}"));
        }
        return text + "\n";
    };
    // A description that the first alternative has, too, is written there.
    let of_first = variants.first().and_then(|first| string(first, "description"));
    let is_above = description.is_some() && description != of_first;
    if let Some(description) = description.as_ref().filter(|_| is_above) {
        text.push_str(&format!("{indent}// {description}\n"));
    }
    if let Some(default) = default_of(value, true) {
        text.push_str(&format!("{indent}// default: {default}\n"));
    }
    text.push_str(&format!("{indent}{name}:\n"));
    for (index, variant) in variants.iter().enumerate() {
        text.push_str(&format!("{indent} | {}", nullable(variant, &format!("{indent}   "), depth)));
        let own = string(variant, "description").filter(|own| Some(own) != description.as_ref());
        let own = own.filter(|_| index > 0 || !is_above);
        let default = default_of(variant, true).map(|default| format!("default: {default}"));
        let comments: Vec<String> = own.into_iter().chain(default).collect();
        if !comments.is_empty() {
            text.push_str(&format!(" // {}", comments.join(" ")));
        }
        text.push('\n');
    }
    text + indent + ",\n"
}
