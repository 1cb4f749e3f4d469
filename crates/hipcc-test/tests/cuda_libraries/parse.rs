//! Reads the functions, types and values of libraries from their bindings.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A function as a library's table has it.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Names and Rust types.
    pub(crate) arguments: Vec<(String, String)>,
    /// The Rust type; empty for none.
    pub(crate) result: String,
}

/// The text of a file of this workspace.
pub(crate) fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The functions of a table, in its order.
pub(crate) fn functions(path: &str) -> Vec<Function> {
    let text = read(path);
    let table = text.split("pub struct Table {").nth(1).and_then(|rest| rest.split("\n}\n").next());
    let mut found = Vec::new();
    for part in table.expect("a table").split("    pub ").skip(1) {
        let Some((name, rest)) = part.split_once(": unsafe extern \"C\" fn(") else { continue };
        let (arguments, rest) = rest.split_once(')').expect("a list of arguments");
        let arguments = arguments.split(',').map(str::trim).filter(|text| !text.is_empty());
        let arguments = arguments.map(|text| {
            let (name, kind) = text.split_once(": ").expect("name and type");
            (name.trim_end_matches('_').to_owned(), kind.to_owned())
        });
        let result = rest.split_once("-> ").filter(|(before, _)| before.trim().is_empty());
        let result = result.and_then(|(_, rest)| rest.split(',').next()).unwrap_or_default();
        let arguments = arguments.collect();
        found.push(Function { name: name.to_owned(), arguments, result: result.trim().to_owned() });
    }
    found
}

/// The values of the C enums among the bindings, by the enum's name.
pub(crate) fn enums(path: &str) -> Vec<(String, Vec<(String, i64)>)> {
    let text = read(path);
    let mut found: Vec<(String, Vec<(String, i64)>)> = Vec::new();
    for part in text.split("pub struct ").skip(1) {
        let Some((name, rest)) = part.split_once("(pub ::std::ffi::c_") else { continue };
        let rest = rest.split("pub struct ").next().unwrap_or_default();
        let mut values = Vec::new();
        for row in rest.split("pub const ").skip(1) {
            let Some((value_name, right)) = row.split_once(':') else { continue };
            let number = right.split_once('(').and_then(|(_, rest)| rest.split(')').next());
            let number = number.and_then(|text| text.trim().trim_end_matches(',').parse().ok());
            values.extend(number.map(|number| (value_name.to_owned(), number)));
        }
        found.push((name.to_owned(), values));
    }
    found
}

/// Numbers that are macros in C.
pub(crate) fn macros(path: &str, prefix: &str) -> Vec<(String, String)> {
    let text = read(path);
    let rows = text.lines().filter_map(|line| line.strip_prefix("pub const ")?.strip_suffix(';'));
    let rows = rows.filter_map(|row| {
        let (name, value) = row.split_once(" = ")?;
        let name = name.split(':').next()?;
        name.starts_with(prefix).then(|| (name.to_owned(), value.to_owned()))
    });
    rows.collect()
}

/// A Rust type as C writes it.
pub(crate) fn c_type(rust: &str) -> String {
    if let Some(inner) = rust.strip_prefix("*mut ") {
        return format!("{} *", c_type(inner)).replace("* *", "**");
    }
    if let Some(inner) = rust.strip_prefix("*const ") {
        return match inner.starts_with('*') {
            true => format!("{}const *", c_type(inner)),
            false => format!("const {} *", c_type(inner)),
        };
    }
    match rust {
        "::std::ffi::c_int" | "rocblas_int" | "i32" => "int",
        "::std::ffi::c_longlong" => "long long",
        "::std::ffi::c_uchar" => "unsigned char",
        "::std::ffi::c_char" => "char",
        "::std::ffi::c_void" => "void",
        "i64" | "rocblas_stride" => "int64_t",
        "u32" | "::std::ffi::c_uint" => "unsigned",
        "u64" => "uint64_t",
        "usize" => "size_t",
        "f32" => "float",
        "f64" => "double",
        "" => "void",
        name => name,
    }
    .to_owned()
}

/// Which function of rocBLAS hipify takes for each of cuBLAS.
pub(crate) fn counterparts() -> BTreeMap<String, String> {
    let text = read("crates/hipify/src/tables/cublas.txt");
    let rows = text.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let name = words.next()?;
        let other = words.find_map(|word| word.strip_prefix("roc=rocblas_"))?;
        Some((name.to_owned(), format!("rocblas_{other}")))
    });
    rows.collect()
}
