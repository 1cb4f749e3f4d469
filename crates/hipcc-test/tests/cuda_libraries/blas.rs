//! cuBLAS and cuBLASLt.

use std::collections::{BTreeMap, BTreeSet};

use crate::FOLDER;
use crate::declare::{FIRST, declaration, enums, functions as declarations};
use crate::parse::{Function, counterparts, enums as read_enums, functions, macros, read};

/// What becomes of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is one of rocBLAS's.
    Counterpart(String),
    /// A function in C does it.
    Own,
    /// It returns `CUBLAS_STATUS_NOT_SUPPORTED`.
    Missing(String),
}

/// A function of cuBLAS.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) function: Function,
    pub(crate) state: State,
}

const ROCBLAS: &str = "crates/rocblas-sys/src/table.rs";
const WIDE: &str = "_64";

/// What the table in C's folder says of a name.
fn written() -> BTreeMap<String, State> {
    let mut found = BTreeMap::new();
    for line in read(&format!("{FOLDER}/cublas.txt")).lines().filter(|line| !line.starts_with('#')) {
        let (name, what) = line.split_once(' ').expect("a name and what becomes of it");
        let letters: &[&str] = if name.contains('?') { &["S", "D", "C", "Z"] } else { &[""] };
        for letter in letters {
            let state = match what.strip_prefix("- ") {
                Some(reason) => State::Missing(reason.to_owned()),
                None if what == "own" => State::Own,
                None => State::Counterpart(what.replace('?', &letter.to_lowercase())),
            };
            let before = found.insert(name.replace('?', letter), state);
            assert_eq!(before, None, "{name} has two rows");
        }
    }
    found
}

/// How a value is passed: the same letter in both libraries, unless it is changed.
fn class(kind: &str) -> char {
    match kind {
        "::std::ffi::c_int" | "rocblas_int" | "i32" => 'i',
        "i64" | "::std::ffi::c_longlong" | "rocblas_stride" | "usize" => 'l',
        "u32" => 'u',
        "cublasHandle_t" | "rocblas_handle" => 'h',
        "cublasOperation_t" | "rocblas_operation" => 'o',
        "cublasFillMode_t" | "rocblas_fill" => 'f',
        "cublasDiagType_t" | "rocblas_diagonal" => 'd',
        "cublasSideMode_t" | "rocblas_side" => 's',
        "cudaDataType" | "rocblas_datatype" => 't',
        "cudaStream_t" | "hipStream_t" => 'p',
        _ if kind.starts_with('*') => 'p',
        _ => '?',
    }
}

fn classes(function: &Function) -> String {
    function.arguments.iter().map(|(_, kind)| class(kind)).collect()
}

/// Functions of half precision, which C's headers of cuBLAS do not declare: rocBLAS's by another name.
fn half(name: &str, other: &Function) -> Function {
    let kind = |kind: &str| {
        let renamed = [
            ("rocblas_half", "__half"),
            ("rocblas_bfloat16", "__nv_bfloat16"),
            ("rocblas_handle", "cublasHandle_t"),
            ("rocblas_operation", "cublasOperation_t"),
            ("rocblas_stride", "::std::ffi::c_longlong"),
        ];
        renamed.into_iter().fold(kind.to_owned(), |kind, (from, to)| kind.replace(from, to))
    };
    let arguments = other.arguments.iter().map(|(name, of)| (name.clone(), kind(of))).collect();
    Function { name: name.to_owned(), arguments, result: "cublasStatus_t".to_owned() }
}

/// All functions of cuBLAS.
pub(crate) fn rows() -> Vec<Row> {
    let rocblas: BTreeMap<String, Function> =
        functions(ROCBLAS).into_iter().map(|function| (function.name.clone(), function)).collect();
    let (counterparts, mut written) = (counterparts(), written());
    let mut all = functions("crates/cuda-sys/src/cublas/table.rs");
    let known: BTreeSet<String> = all.iter().map(|function| function.name.clone()).collect();
    for (name, other) in
        counterparts.iter().filter(|(name, _)| name.starts_with("cublasH") || name.starts_with("cublasTS"))
    {
        if let Some(other) = rocblas.get(other).filter(|_| !known.contains(name)) {
            all.push(half(name, other));
        }
    }
    let mut used = BTreeSet::new();
    let mut rows = Vec::new();
    for function in all {
        let narrow = function.name.strip_suffix(WIDE);
        let base = narrow.unwrap_or(&function.name);
        let state = match written.get(base).or_else(|| written.get(&format!("{base}_v2"))) {
            Some(State::Counterpart(name)) if narrow.is_some() => State::Counterpart(format!("{name}{WIDE}")),
            Some(state) => state.clone(),
            None => {
                let base = base.strip_suffix("_v2").unwrap_or(base);
                let other = counterparts.get(base).unwrap_or_else(|| panic!("{base} has no row"));
                State::Counterpart(if narrow.is_some() { format!("{other}{WIDE}") } else { other.clone() })
            }
        };
        used.insert(base.to_owned());
        if let State::Counterpart(name) = &state {
            let other = rocblas.get(name).unwrap_or_else(|| panic!("rocBLAS has no {name}"));
            assert_eq!(classes(&function), classes(other), "{} and {name}", function.name);
        }
        rows.push(Row { function, state });
    }
    written.retain(|name, _| !used.contains(name));
    assert!(written.is_empty(), "rows of no function: {written:?}");
    rows
}

/// The header: types, and all functions.
pub(crate) fn header(rows: &[Row]) -> String {
    // The runtime's header has them.
    let except = [
        "cudaDataType_t",
        "cudaEmulationMantissaControl_t",
        "cudaEmulationSpecialValuesSupport_t",
        "cudaEmulationStrategy_t",
        "libraryPropertyType_t",
    ];
    let mut text = format!("{FIRST}// Types and functions of cuBLAS, for <cublas_api.h>.\n#pragma once\n");
    text.push_str(&enums(&read_enums("crates/cuda-sys/src/cublas/bindings.rs"), &except));
    text.push_str(
        "typedef cudaDataType cublasDataType_t;\nstruct cublasContext;\ntypedef struct cublasContext *cublasHandle_t;\n\
         typedef void (*cublasLogCallback)(const char *message);\n",
    );
    text.push_str(&declarations(rows.iter().map(|row| &row.function)));
    text.push_str("// The names without a version.\n#if defined(CUBLAS_V2_H_)\n");
    for row in rows {
        let name = &row.function.name;
        if name.contains("_v2") {
            text.push_str(&format!("#define {} {name}\n", name.replacen("_v2", "", 1)));
        }
    }
    text.push_str("#endif\n");
    text
}

/// The type by which C passes a value to rocBLAS.
fn passed(kind: &str) -> &'static str {
    match class(kind) {
        'l' => "int64_t",
        'u' => "unsigned",
        'h' => "void *",
        'p' => "const void *",
        _ => "int",
    }
}

/// The functions of rocBLAS that C code calls by `ROC(…)`, and by `SIZED(…)`, which stands for both sizes.
fn called_in_c() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in ["cublas.c", "cublas_sized.h", "cublaslt.c", "rocblas.h"] {
        let text = read(&format!("{FOLDER}/{file}"));
        for (mark, suffixes) in [("ROC(", &[""][..]), ("SIZED(", &["", WIDE][..])] {
            for part in text.split(mark).skip(1).filter(|part| part.starts_with("rocblas_")) {
                let name = part.split(')').next().unwrap_or_default();
                found.extend(suffixes.iter().map(|suffix| format!("{name}{suffix}")));
            }
        }
    }
    found
}

/// The functions of rocBLAS that are found when a program runs.
pub(crate) fn calls(rows: &[Row]) -> String {
    let mut called = called_in_c();
    for row in rows {
        if let State::Counterpart(name) = &row.state {
            called.insert(name.clone());
        }
    }
    let mut text = format!("{FIRST}// Functions of rocBLAS.\n");
    let all = functions(ROCBLAS);
    let all: Vec<&Function> = all.iter().filter(|function| called.remove(&function.name)).collect();
    assert!(called.is_empty(), "rocBLAS has none of {called:?}");
    for function in &all {
        let kinds: Vec<&str> = function.arguments.iter().map(|(_, kind)| passed(kind)).collect();
        text.push_str(&format!("typedef int {}_t({});\n", function.name, kinds.join(", ")));
    }
    text.push_str("enum {\n");
    all.iter().for_each(|function| text.push_str(&format!("    {}_at,\n", function.name)));
    text.push_str("    SLOTS\n};\nstatic const char *const slot_names[SLOTS] = {\n");
    all.iter().for_each(|function| text.push_str(&format!("    \"{}\",\n", function.name)));
    text.push_str("};\n");
    text
}

/// The functions of cuBLAS that are one of rocBLAS's, and those that are not supported.
pub(crate) fn wrappers(rows: &[Row]) -> String {
    let mut text = format!(
        "{FIRST}// Functions of cuBLAS that are one of rocBLAS's, and those that are not supported.\n"
    );
    for row in rows {
        let function = &row.function;
        match &row.state {
            State::Own => {}
            State::Missing(_) => {
                text.push_str(&format!(
                    "{} {{ return CUBLAS_STATUS_NOT_SUPPORTED; }}\n",
                    declaration(function)
                ));
            }
            State::Counterpart(name) => {
                let values: Vec<String> = function
                    .arguments
                    .iter()
                    .map(|(value, kind)| match class(kind) {
                        'h' => format!("{value}->roc"),
                        'o' => format!("operation({value})"),
                        'f' => format!("fill({value})"),
                        'd' => format!("diagonal({value})"),
                        's' => format!("side_of({value})"),
                        't' => format!("datatype({value})"),
                        _ => value.clone(),
                    })
                    .collect();
                let has_handle = function.arguments.iter().any(|(_, kind)| class(kind) == 'h');
                let check = match has_handle {
                    true => "    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;\n",
                    false => "    need();\n",
                };
                text.push_str(&format!(
                    "{} {{\n{check}    return status(ROC({name})({}));\n}}\n",
                    declaration(function),
                    values.join(", ")
                ));
            }
        }
    }
    text
}

/// The header of cuBLASLt. Structures are in another file.
pub(crate) fn lt_header() -> String {
    let bindings = "crates/cuda-sys/src/cublas/lt/bindings.rs";
    let blas: Vec<String> =
        read_enums("crates/cuda-sys/src/cublas/bindings.rs").into_iter().map(|(name, _)| name).collect();
    let mut except: Vec<&str> = blas.iter().map(String::as_str).collect();
    except.push("libraryPropertyType_t");
    let mut text = format!("{FIRST}// Values and functions of cuBLASLt, for <cublasLt.h>.\n#pragma once\n");
    text.push_str(&enums(&read_enums(bindings), &except));
    for (name, value) in macros(bindings, "CUBLASLT_") {
        text.push_str(&format!("#define {name} {value}ull\n"));
    }
    text.push_str("#include \"ferrocm_cublaslt_structures.h\"\n");
    text.push_str(&declarations(functions("crates/cuda-sys/src/cublas/lt/table.rs").iter()));
    text
}
