//! Changes of a declaration between two versions of the headers.

use std::collections::HashSet;
use std::fmt;

use syn::{FnArg, ForeignItemFn, ReturnType};

use crate::api::{Api, Kind, Record, tokens};

/// One change of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Size {
        old: (usize, usize),
        new: (usize, usize),
    },
    Moved {
        field: String,
        old: usize,
        new: usize,
    },
    FieldAdded(String),
    FieldRemoved(String),
    FieldRenamed {
        old: String,
        new: String,
    },
    FieldRetyped {
        field: String,
        old: String,
        new: String,
    },
    Renumbered {
        constant: String,
        old: i128,
        new: i128,
    },
    ConstantAdded {
        constant: String,
        value: i128,
    },
    ConstantRemoved {
        constant: String,
        value: i128,
    },
    /// The value was renamed.
    ConstantRenamed {
        old: String,
        new: String,
        value: i128,
    },
    Retargeted {
        old: String,
        new: String,
    },
}

impl Change {
    /// Whether a program for one version would misinterpret a library of the other.
    pub(crate) fn breaks(&self) -> bool {
        match self {
            Self::Renumbered { constant, .. } => !is_sentinel(constant),
            Self::Size { .. } | Self::Moved { .. } => true,
            _ => false,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { old, new } if old.1 == new.1 => write!(f, "{} → {} bytes", old.0, new.0),
            Self::Size { old, new } => {
                write!(f, "{} → {} bytes, alignment {} → {}", old.0, new.0, old.1, new.1)
            }
            Self::Moved { field, old, new } => write!(f, "`{field}` moved from {old} to {new}"),
            Self::FieldAdded(field) => write!(f, "new field `{field}`"),
            Self::FieldRemoved(field) => write!(f, "field `{field}` removed"),
            Self::FieldRenamed { old, new } => write!(f, "field `{old}` is now `{new}`"),
            Self::FieldRetyped { field, old, new } => write!(f, "`{field}`: `{old}` → `{new}`"),
            Self::Renumbered { constant, old, new } => write!(f, "`{constant}`: {old} → {new}"),
            Self::ConstantAdded { constant, value } => write!(f, "new `{constant}` = {value}"),
            Self::ConstantRemoved { constant, value } => write!(f, "`{constant}` (was {value}) removed"),
            Self::ConstantRenamed { old, new, value } => write!(f, "{value}: `{old}` is now `{new}`"),
            Self::Retargeted { old, new } => write!(f, "`{old}` → `{new}`"),
        }
    }
}

/// Whether a constant only marks the end of its enum, so that its value does not matter.
fn is_sentinel(constant: &str) -> bool {
    const ENDS: [&str; 8] = [
        "Count",
        "NumOptions",
        "NumResults",
        "NumTypes",
        "LimitRange",
        "_LAST_EXTENSION",
        "ATTRIBUTE_MAX",
        "_NUM_OPTIONS",
    ];
    ENDS.iter().any(|end| constant.ends_with(end)) || constant.contains("RESERVED")
}

/// Whether two values are the same 32 bits: the compiler derives an enum's sign from its other constants.
pub(crate) fn same_bits(a: i128, b: i128) -> bool {
    (a ^ b) & 0xffff_ffff == 0
}

/// The changes of one type.
pub(crate) fn types(old_api: &Api, old: &Kind, new_api: &Api, new: &Kind) -> Vec<Change> {
    match (old, new) {
        (Kind::Enum { repr: a, constants: old, .. }, Kind::Enum { repr: b, constants: new, .. }) => {
            let mut changes = Vec::new();
            let (size_a, size_b) = (class(a, old_api), class(b, new_api));
            if size_a != size_b {
                changes.push(Change::Retargeted { old: a.clone(), new: b.clone() });
            }
            let mut renamed = HashSet::new();
            for (name, constant) in old {
                let value = constant.value;
                match new.get(name) {
                    Some(now) if !same_bits(now.value, value) => changes.push(Change::Renumbered {
                        constant: name.clone(),
                        old: value,
                        new: now.value,
                    }),
                    Some(_) => {}
                    None => {
                        let successor = new
                            .iter()
                            .find(|(now, constant)| constant.value == value && !old.contains_key(*now));
                        changes.push(match successor {
                            Some((now, _)) => {
                                renamed.insert(now.clone());
                                Change::ConstantRenamed { old: name.clone(), new: now.clone(), value }
                            }
                            None => Change::ConstantRemoved { constant: name.clone(), value },
                        });
                    }
                }
            }
            for (name, constant) in new {
                if !old.contains_key(name) && !renamed.contains(name) {
                    let value = constant.value;
                    changes.push(Change::ConstantAdded { constant: name.clone(), value });
                }
            }
            changes
        }
        (Kind::Record(old), Kind::Record(new)) => records(old, new),
        (Kind::Alias { target: old, .. }, Kind::Alias { target: new, .. }) if old == new => Vec::new(),
        _ => {
            let (a, b) = (describe(old), describe(new));
            if a == b { Vec::new() } else { vec![Change::Retargeted { old: a, new: b }] }
        }
    }
}

fn describe(kind: &Kind) -> String {
    match kind {
        Kind::Enum { repr, .. } => format!("an enum of {repr}"),
        Kind::Record(record) => match record.layout {
            Some((size, _)) => format!("a structure of {size} bytes"),
            None => "an incomplete structure".to_owned(),
        },
        Kind::Alias { target, .. } => target.clone(),
    }
}

fn records(old: &Record, new: &Record) -> Vec<Change> {
    let mut changes = Vec::new();
    if let (Some(a), Some(b)) = (old.layout, new.layout)
        && a != b
    {
        changes.push(Change::Size { old: a, new: b });
    }
    let mut renamed = Vec::new();
    for field in &old.fields {
        match new.fields.iter().find(|now| now.name == field.name) {
            Some(now) => {
                if let (Some(a), Some(b)) = (field.offset, now.offset)
                    && a != b
                {
                    changes.push(Change::Moved { field: field.name.clone(), old: a, new: b });
                }
                if field.ty != now.ty {
                    changes.push(Change::FieldRetyped {
                        field: field.name.clone(),
                        old: field.ty.clone(),
                        new: now.ty.clone(),
                    });
                }
            }
            None => {
                let successor = new.fields.iter().find(|now| {
                    now.offset.is_some()
                        && now.offset == field.offset
                        && now.ty == field.ty
                        && old.fields.iter().all(|before| before.name != now.name)
                });
                match successor {
                    Some(now) => {
                        renamed.push(now.name.clone());
                        changes.push(Change::FieldRenamed { old: field.name.clone(), new: now.name.clone() });
                    }
                    None => changes.push(Change::FieldRemoved(field.name.clone())),
                }
            }
        }
    }
    for field in &new.fields {
        if !renamed.contains(&field.name) && old.fields.iter().all(|before| before.name != field.name) {
            changes.push(Change::FieldAdded(field.name.clone()));
        }
    }
    changes
}

/// How a value of the type `text` is passed, as caller and callee must agree.
pub(crate) fn class(text: &str, api: &Api) -> String {
    let text = text.trim();
    if text.starts_with('*') || text.starts_with("::std::option::Option") {
        return "pointer".to_owned();
    }
    let name = text.rsplit("::").next().unwrap_or(text).trim();
    match name {
        "c_int" | "c_uint" | "u32" | "i32" => return "32 bits".to_owned(),
        "c_long" | "c_ulong" | "c_longlong" | "c_ulonglong" | "u64" | "i64" | "usize" | "isize" => {
            return "64 bits".to_owned();
        }
        "c_char" | "c_uchar" | "c_schar" | "u8" | "i8" | "bool" => return "8 bits".to_owned(),
        "c_short" | "c_ushort" | "u16" | "i16" => return "16 bits".to_owned(),
        "f32" => return "float".to_owned(),
        "f64" => return "double".to_owned(),
        _ => {}
    }
    match api.types.get(name) {
        Some(Kind::Alias { target, .. }) if target != name => class(target, api),
        Some(Kind::Enum { repr, .. }) => class(repr, api),
        Some(Kind::Record(record)) => format!("{name} of {:?} bytes", record.layout.map(|(size, _)| size)),
        _ if api.enums_elsewhere.contains(&name) => "32 bits".to_owned(),
        _ => text.to_owned(),
    }
}

/// The types of a function's arguments and of its result.
pub(crate) fn signature(function: &ForeignItemFn) -> (Vec<String>, String) {
    let arguments = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(input) => Some(tokens(&*input.ty)),
        FnArg::Receiver(_) => None,
    });
    let result = match &function.sig.output {
        ReturnType::Default => String::new(),
        ReturnType::Type(_, ty) => tokens(&**ty),
    };
    (arguments.collect(), result)
}

/// Whether calls of the two functions pass arguments differently, or point to structures with different
/// layouts.
pub(crate) fn called_differently(old: (&ForeignItemFn, &Api), new: (&ForeignItemFn, &Api)) -> bool {
    let classes = |(function, api): (&ForeignItemFn, &Api)| {
        let (arguments, result) = signature(function);
        let arguments: Vec<_> = arguments.iter().map(|argument| class(argument, api)).collect();
        (arguments, class(&result, api))
    };
    if classes(old) != classes(new) {
        return true;
    }
    let ((before, _), (now, _)) = (signature(old.0), signature(new.0));
    before.iter().zip(&now).filter(|(before, now)| before != now).any(|(before, now)| {
        match (pointee(before, old.1), pointee(now, new.1)) {
            (Some(before), Some(now)) => {
                records(before, now).iter().any(Change::breaks)
                    || before
                        .fields
                        .iter()
                        .map(|field| field.offset)
                        .ne(now.fields.iter().map(|field| field.offset))
            }
            _ => false,
        }
    })
}

/// The structure that a pointer of the type `text` points to.
fn pointee<'a>(text: &str, api: &'a Api) -> Option<&'a Record> {
    let mut name = text.strip_prefix("* const ").or_else(|| text.strip_prefix("* mut "))?;
    loop {
        match api.types.get(name)? {
            Kind::Record(record) if record.layout.is_some() => return Some(record),
            Kind::Alias { target, .. } => name = target,
            _ => return None,
        }
    }
}
