//! The list of names.

use super::read;

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Function,
    Type,
    Enum,
    Value,
    Macro,
}

/// A name of CUDA's.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) header: String,
    /// The enum of a value: its position in the list.
    pub(super) of: usize,
    /// A type's size, or the number of a value or a macro. The versions may differ, then the second is
    /// 13.0's.
    pub(super) numbers: Vec<i64>,
    /// The only version that has it.
    pub(super) version: Option<String>,
}

/// All names, in the order of the file.
pub(super) fn names() -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    let (mut header, mut of) = (String::new(), 0);
    for line in read("crates/hipcc-test/tests/hipcc/names/names.txt").lines() {
        let mut words: Vec<&str> = line.split(' ').collect();
        let kind = match words[0] {
            "#" => continue,
            "header" => {
                header = words[1].to_owned();
                continue;
            }
            "function" => Kind::Function,
            "type" => Kind::Type,
            "enum" => Kind::Enum,
            "value" => Kind::Value,
            "macro" => Kind::Macro,
            other => panic!("{other} is no kind of name"),
        };
        let version = words.pop_if(|last| ["12.8", "13.0"].contains(last)).map(str::to_owned);
        let numbers =
            words.get(2).map(|text| text.split('|').map(|number| number.parse().expect("a number")));
        if kind == Kind::Enum {
            of = names.len();
        }
        names.push(Name {
            name: words[1].to_owned(),
            kind,
            header: header.clone(),
            of,
            numbers: numbers.map(Iterator::collect).unwrap_or_default(),
            version,
        });
    }
    assert!(names.len() > 3000);
    names
}
