//! Calls whose arguments differ from HIP's: rocBLAS's and rocSPARSE's, and the forms of CUDA 12 and 13.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::cursor::{Argument, Cursor};

/// The table of calls.
const FORMS: &str = include_str!("tables/forms.txt");

/// A piece of HIP's argument list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// CUDA's arguments with these numbers, from 1.
    Same(usize, usize),
    /// CUDA's argument with this number must be null, and HIP has none.
    Null(usize),
    /// An additional argument.
    Text(&'static str),
    /// CUDA's argument with this number, which is a `cudaMemLocation`.
    Location(usize),
}

/// A call with a number of arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// The number of CUDA's arguments.
    pub(crate) arguments: usize,
    /// Whether it counts only for ROC's libraries.
    pub(crate) roc: bool,
    /// HIP's name; `None` for that of the other tables.
    pub(crate) to: Option<&'static str>,
    /// HIP's arguments; `None` if nobody but the programmer knows them.
    pub(crate) items: Option<Vec<Item>>,
}

fn item(text: &'static str) -> Option<Item> {
    if let Some(text) = text.strip_prefix('+') {
        return Some(Item::Text(text));
    }
    if let Some(number) = text.strip_prefix('!') {
        return number.parse().ok().map(Item::Null);
    }
    if let Some(number) = text.strip_prefix('@') {
        return number.parse().ok().map(Item::Location);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(Item::Same(first.parse().ok()?, last.parse().ok()?))
}

/// A line: the name, with a `?` or without, and the form.
fn form(line: &'static str) -> Option<(&'static str, Form)> {
    let mut fields = line.split(' ');
    let (name, arguments, to) = (fields.next()?, fields.next()?.parse().ok()?, fields.next()?);
    let (roc, to) = to.strip_prefix("roc:").map_or((false, to), |to| (true, to));
    let rest: Vec<_> = fields.collect();
    let items = if rest == ["by-hand"] {
        None
    } else {
        Some(rest.into_iter().map(item).collect::<Option<Vec<_>>>()?)
    };
    Some((name, Form { arguments, roc, to: (to != "=").then_some(to), items }))
}

fn lines() -> impl Iterator<Item = &'static str> {
    FORMS.lines().filter(|line| !line.starts_with('#'))
}

/// The forms by CUDA's name.
static BY_NAME: LazyLock<HashMap<String, Vec<Form>>> = LazyLock::new(|| {
    let mut forms: HashMap<String, Vec<Form>> = HashMap::new();
    for (name, form) in lines().filter_map(form) {
        let names = match name.split_once('?') {
            Some((start, end)) => ["S", "D", "C", "Z"].map(|letter| format!("{start}{letter}{end}")).to_vec(),
            None => vec![name.to_owned()],
        };
        for name in names {
            forms.entry(name).or_default().push(form.clone());
        }
    }
    forms
});

/// The form of a call of `name` with these arguments.
pub(crate) fn of(
    cursor: &Cursor<'_>,
    name: &[u8],
    arguments: &[Argument],
    roc: bool,
) -> Option<&'static Form> {
    let forms = BY_NAME.get(std::str::from_utf8(name).ok()?)?;
    forms.iter().find(|form| {
        let locations = form.items.iter().flatten().all(|item| match *item {
            Item::Location(number) => is_location(cursor, arguments, number),
            _ => true,
        });
        (roc || !form.roc) && form.arguments == arguments.len() && locations
    })
}

/// Whether an argument is a `cudaMemLocation`: by its text, or by a declaration in the source.
fn is_location(cursor: &Cursor<'_>, arguments: &[Argument], number: usize) -> bool {
    const TYPES: [&[u8]; 2] = [b"cudaMemLocation", b"CUmemLocation"];
    let Some(argument) = number.checked_sub(1).and_then(|index| arguments.get(index)) else { return false };
    let is_type = |index: usize| TYPES.contains(&cursor.text(index));
    if cursor.is(argument.first, b"{") || (argument.first..=argument.last).any(is_type) {
        return true;
    }
    let name = cursor.text(argument.first);
    argument.first == argument.last
        && (0..cursor.tokens.len()).any(|index| {
            is_type(index) && cursor.after(index).is_some_and(|declared| cursor.is(declared, name))
        })
}

/// Whether an argument is a null pointer.
pub(crate) fn is_null(cursor: &Cursor<'_>, argument: Argument) -> bool {
    argument.first == argument.last && matches!(cursor.text(argument.first), b"nullptr" | b"NULL" | b"0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Tables;

    #[test]
    fn every_line_is_a_form_with_arguments_that_exist() {
        for line in lines() {
            let (name, form) = form(line).unwrap_or_else(|| panic!("{line}"));
            assert!(form.to.is_some() || form.roc, "{line}");
            for item in form.items.iter().flatten() {
                let last = match *item {
                    Item::Same(first, last) if first <= last => last,
                    Item::Null(number) | Item::Location(number) => number,
                    Item::Text(_) => 1,
                    Item::Same(..) => 0,
                };
                assert!((1..=form.arguments).contains(&last), "{line}");
            }
            let name = name.replace('?', "S");
            let row = Tables::get().row(name.as_bytes());
            let row = row.unwrap_or_else(|| panic!("{name} is in no table"));
            assert!(form.to.is_some() || row.roc.is_some(), "{name} has no name in ROC's libraries");
        }
    }

    #[test]
    fn names_with_a_letter_for_a_type_have_four_forms() {
        for name in ["cusparseScsrmv", "cusparseDcsrmv", "cusparseCcsrmv", "cusparseZcsrmv"] {
            assert!(BY_NAME.contains_key(name));
        }
    }
}
