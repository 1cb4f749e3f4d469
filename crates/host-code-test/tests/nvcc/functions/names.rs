//! Every name of CUDA's mathematics API has a row in a table of tests, or one that says why it is not there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kernel_build::Builder;

use super::tables;
use crate::model::rows;

/// A function of the API.
struct Entry<'a> {
    header: &'a str,
    both: bool,
    name: &'a str,
    parameters: Vec<&'a str>,
}

fn api() -> Vec<Entry<'static>> {
    let mut header = "";
    let mut all = Vec::new();
    for line in include_str!("api.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            header = name.strip_suffix(']').unwrap();
            continue;
        }
        let (head, parameters) = line.strip_suffix(')').unwrap().split_once('(').unwrap();
        let (place, _) = head.split_once(' ').unwrap();
        let name = head.rsplit(' ').next().unwrap();
        let parameters = parameters.split(", ").filter(|each| !each.is_empty()).collect();
        all.push(Entry { header, both: place == "both", name, parameters });
    }
    assert!(all.len() > 1000);
    all
}

/// What is not there: the start of a name, its header, and what the compiler says.
fn absent() -> Vec<[&'static str; 3]> {
    let rows = include_str!("absent.txt").lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| <[&str; 3]>::try_from(line.splitn(3, ' ').collect::<Vec<_>>()).unwrap()).collect()
}

/// A type of C as the tables name it. None: an address, behind which a function puts a result or finds a
/// vector.
fn code(name: &str) -> Option<&str> {
    let name = name.trim_start_matches("const ").trim_end_matches('&');
    Some(match name {
        "int" | "bool" => "i32",
        "unsigned" => "u32",
        "long" => "il",
        "unsigned long" => "ul",
        "long long" => "i64",
        "unsigned long long" => "u64",
        "float" => "f32",
        "double" | "long double" => "f64",
        "short" => "i16",
        "unsigned short" => "u16",
        "__half" => "f16",
        "__half2" => "h2",
        "__nv_bfloat16" => "b16",
        "__nv_bfloat162" => "b2",
        "float2" => "f2",
        "char4" => "c4",
        "uchar4" => "uc4",
        "short2" => "s2",
        "ushort2" => "us2",
        "cudaRoundMode" => "mode",
        name if name.ends_with('*') => return None,
        name => name,
    })
}

#[test]
fn every_function_of_the_api_has_a_test_or_a_reason() {
    // The parameters of each function in the tables, and whether host code has it.
    let mut tested: BTreeMap<&str, BTreeSet<(Vec<&str>, bool)>> = BTreeMap::new();
    let tables = tables();
    for function in tables.iter().flatten() {
        tested.entry(function.name).or_default().insert((function.parameters.clone(), function.both));
    }
    let conversions = rows(include_str!("../../../kernels/conversions.inc"));
    for row in &conversions {
        tested.entry(row.name).or_default().insert((vec![row.columns[0]], row.kind == "BOTH"));
    }
    let arithmetic = rows(include_str!("../../../kernels/arithmetic.inc"));
    for row in &arithmetic {
        let count = match row.kind {
            "ONE" => 1,
            "TWO" => 2,
            _ => 3,
        };
        tested.entry(row.name).or_default().insert((vec![row.columns[0]; count], false));
    }
    // Conversions of one float to 8 bits and to pairs of 4 bits are compared with a model there.
    let narrow = include_str!("../../../../cuda-trees-test/headers/narrow.cu");
    let absent = absent();
    let missing: Vec<String> = api()
        .iter()
        .filter(|entry| {
            !absent.iter().any(|[start, header, _]| entry.name.starts_with(start) || entry.header == *header)
        })
        .filter(|entry| {
            let Some(rows) = tested.get(entry.name) else {
                let named = |line: &str| {
                    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == entry.name)
                };
                return !narrow.lines().any(named);
            };
            let codes: Vec<Option<&str>> = entry.parameters.iter().map(|name| code(name)).collect();
            // A function with addresses is called with what is behind them, or without; one for narrow types
            // with each format.
            let by_name = codes.contains(&None) || entry.name.starts_with("__nv_cvt_");
            let mut codes: Vec<&str> = codes.into_iter().flatten().collect();
            match entry.name {
                "operator++" | "operator--" => codes.truncate(1),
                name if name.starts_with("__shfl") => codes = vec![codes[1]],
                _ => {}
            }
            !rows.iter().any(|(parameters, both)| (by_name || *parameters == codes) && (*both || !entry.both))
        })
        .map(|entry| format!("{}: {}({})", entry.header, entry.name, entry.parameters.join(", ")))
        .collect();
    assert!(missing.is_empty(), "{}\n{} without a row", missing.join("\n"), missing.len());
    for [start, header, _] in absent {
        let any = api().iter().any(|entry| entry.name.starts_with(start) || entry.header == header);
        assert!(any, "{start} is not in the API");
    }
}

/// A call of each function that is not there, in kernels of their own.
#[test]
fn what_is_not_there_is_refused_with_its_reason() {
    for [start, header, reason] in absent() {
        let names: BTreeSet<&str> =
            api().iter().filter(|entry| entry.name.starts_with(start)).map(|entry| entry.name).collect();
        let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("absent{start}"));
        std::fs::create_dir_all(&folder).unwrap();
        let mut source = String::from("#include <cuda_fp16.h>\n");
        if header != "-" {
            writeln!(source, "#include <{header}>").unwrap();
        }
        for (index, name) in names.iter().enumerate() {
            writeln!(source, "__global__ void use_{index}(double *x) {{ x[0] = {name}(x[0]); }}").unwrap();
        }
        std::fs::write(folder.join("absent.cu"), source).unwrap();
        let error = Builder::new(&folder)
            .targets(["gfx1100"])
            .flag("-ferror-limit=0")
            .build()
            .unwrap_err()
            .to_string();
        if header != "-" {
            assert!(error.contains(reason), "{header}: {error}");
            continue;
        }
        for name in names {
            let said = error.lines().any(|line| line.contains(&format!("'{name}")) && line.contains(reason));
            assert!(said, "{name} is not refused with \"{reason}\": {error}");
        }
    }
}
