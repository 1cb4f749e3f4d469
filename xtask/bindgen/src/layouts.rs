//! Writes the tables of layouts that tests compare with a C compiler's.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use crate::api::{Api, Field, Kind, Record};
use crate::bindings::origin;
use crate::compare;
use crate::legacy::module_name;
use crate::merge::Merged;

/// Writes the table of one library.
pub(crate) fn generate(merged: &Merged, headers: &Path) -> Result<String> {
    let library = merged.library;
    let mut text = origin(library);
    text.push_str(
        "use std::mem::offset_of;\n\nuse test_support::layout::{Layout, Table, Version};\n\n\
         macro_rules! layout {\n    ($c:literal, $t:ty $(, $name:literal = $($field:tt).+)*) => {\n        \
         Layout {\n            c_name: $c,\n            size: size_of::<$t>(),\n            \
         align: align_of::<$t>(),\n            fields: &[$(($name, offset_of!($t, $($field).+))),*],\n        \
         }\n    };\n}\n\n",
    );
    let _ = write!(
        text,
        "pub(crate) static TABLE: Table = Table {{\n    library: {:?},\n    package: {:?},\n    headers: {:?},\n    \
         versions: &[\n",
        library.what, library.package, library.headers
    );
    for (index, version) in library.versions.iter().enumerate() {
        let include = headers.join(version.release).join("usr/include");
        let sources = sources(&include, library.report)?;
        let mut arguments = vec!["-D__HIP_PLATFORM_AMD__=1", "-DLITTLEENDIAN_CPU=1"];
        arguments.extend(version.clang);
        let _ = write!(
            text,
            "        Version {{\n            version: {:?},\n            release: {:?},\n            \
             arguments: &{arguments:?},\n            layouts: &[\n",
            version.version, version.release
        );
        let module = |name: &str| match merged.legacy.get(index) {
            Some(legacy) if legacy.types.contains(name) => {
                format!("{}::legacy::{}", library.module, module_name(version.version))
            }
            _ => library.module.to_owned(),
        };
        let api = &merged.apis[index];
        for (name, kind) in &api.types {
            let Kind::Record(record) = kind else { continue };
            if name.contains("__bindgen_ty_") || record.layout.is_none() {
                continue;
            }
            let mut fields = Vec::new();
            let ours =
                if module(name) == library.module { merged_record(merged, name) } else { Some(&**record) };
            // A structure that is complete only in older headers is used through pointers.
            let Some(ours) = ours.filter(|ours| ours.layout.is_some()) else { continue };
            flatten(merged, api, record, ours, "", "", &mut fields);
            let _ = write!(
                text,
                "                layout!({:?}, {}::{name}",
                c_name(name, &sources, api),
                module(name)
            );
            for (c, rust) in fields {
                let _ = write!(text, ", {c:?} = {rust}");
            }
            text.push_str("),\n");
        }
        text.push_str("            ],\n            constants: &[\n");
        for (name, kind) in &api.types {
            let Kind::Enum { constants, .. } = kind else { continue };
            let module = module(name);
            for (constant, value) in constants {
                // Constants that only count the others have the newest version's values.
                let known = match &merged.types[name].kind {
                    _ if module != library.module => true,
                    Kind::Enum { constants, .. } => constants
                        .get(constant)
                        .is_some_and(|ours| compare::same_bits(ours.value, value.value)),
                    _ => false,
                };
                if known {
                    let _ = writeln!(
                        text,
                        "                ({constant:?}, {module}::{name}::{constant}.0 as i128),"
                    );
                }
            }
        }
        for (name, (_, value)) in &api.constants {
            if crate::api::number(value).is_none() {
                continue;
            }
            let module = match merged.legacy.get(index) {
                Some(legacy) if legacy.constants.contains(name) => {
                    format!("{}::legacy::{}", library.module, module_name(version.version))
                }
                _ => library.module.to_owned(),
            };
            let _ = writeln!(text, "                ({name:?}, {module}::{name} as i128),");
        }
        text.push_str("            ],\n        },\n");
    }
    text.push_str("    ],\n};\n");
    Ok(text)
}

fn merged_record<'a>(merged: &'a Merged, name: &str) -> Option<&'a Record> {
    match &merged.types.get(name)?.kind {
        Kind::Record(record) => Some(record),
        _ => None,
    }
}

/// Lists the fields that both `theirs` (a version's) and `ours` (the Rust type's) have, including those of
/// nested unnamed types.
fn flatten(
    merged: &Merged,
    api: &Api,
    theirs: &Record,
    ours: &Record,
    c: &str,
    rust: &str,
    found: &mut Vec<(String, String)>,
) {
    for field in theirs.fields.iter().filter(|field| field.offset.is_some()) {
        if !ours.fields.iter().any(|our| our.name == field.name) {
            continue;
        }
        let rust = format!("{rust}{}", field.name);
        let is_unnamed = field.name.starts_with("__bindgen_anon_");
        let c = if is_unnamed { c.to_owned() } else { format!("{c}{}", c_field(field)) };
        if !is_unnamed {
            found.push((c.clone(), rust.clone()));
        }
        if field.ty.contains("__bindgen_ty_")
            && let Some(Kind::Record(theirs)) = api.types.get(&field.ty)
        {
            let same = std::ptr::eq(ours, theirs.as_ref());
            let ours = if same { None } else { merged_record(merged, &field.ty) };
            let separator = if is_unnamed { "" } else { "." };
            let ours = ours.unwrap_or(theirs);
            flatten(merged, api, theirs, ours, &format!("{c}{separator}"), &format!("{rust}."), found);
        }
    }
}

/// The field's name in C: Rust's reserved words got an underscore.
fn c_field(field: &Field) -> &str {
    match field.name.as_str() {
        "type_" | "mod_" | "ref_" | "in_" | "fn_" | "use_" => &field.name[..field.name.len() - 1],
        name => name,
    }
}

/// The C name of a type: the name after its body, else its tag, even if bindgen prefixed the enclosing type's
/// name.
fn c_name(name: &str, sources: &str, api: &Api) -> String {
    let is_named_after_its_body = sources.match_indices(name).any(|(at, _)| {
        sources[..at].trim_end().ends_with('}') && sources[at + name.len()..].trim_start().starts_with(';')
    });
    if is_named_after_its_body {
        return name.to_owned();
    }
    if let Some(tag) = tag(name, sources) {
        return tag;
    }
    let inner = api
        .types
        .keys()
        .filter_map(|outer| name.strip_prefix(outer.as_str())?.strip_prefix('_'))
        .find_map(|inner| tag(inner, sources));
    inner.unwrap_or_else(|| name.to_owned())
}

/// `struct name`, if the headers define it, possibly with attributes between the two words.
fn tag(name: &str, sources: &str) -> Option<String> {
    sources.match_indices(name).find_map(|(at, _)| {
        let line = sources[..at].rfind('\n').map_or(0, |at| at + 1);
        let mut before = sources[line..at].split_whitespace();
        let starts_word = sources[line..at].ends_with(char::is_whitespace);
        let is_defined = starts_word && sources[at + name.len()..].trim_start().starts_with('{');
        let kind = before.find(|word| ["struct", "union"].contains(word))?;
        is_defined.then(|| format!("{kind} {name}"))
    })
}

/// The text of a library's headers.
fn sources(include: &Path, library: &str) -> Result<String> {
    let folder = include.join(if library == "hiprtc" { "hip" } else { library });
    let mut text = String::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "h") {
                let bytes = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
    }
    Ok(text)
}
