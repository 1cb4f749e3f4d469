//! Programs that mention names.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::data::{Kind, Name};
use super::state::{ERROR_HEADERS, ROWS, State, States};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Cuda,
    Cpp,
    C,
}

/// Headers whose names CUDA has in C++ only, or in its own sources.
const OF_CPP: [&str; 9] = [
    "channel_descriptor.h",
    "cuda_device_runtime_api.h",
    "cuda_runtime.h",
    "device_atomic_functions.h",
    "device_types.h",
    "sm_60_atomic_functions.h",
    "surface_indirect_functions.h",
    "texture_indirect_functions.h",
    "vector_functions.h",
];
/// What a program includes to have all names. Guards leave each once.
const FIRST: &str = "#include <cuda.h>\n#include <cuda_runtime_api.h>\n#include <cudaGL.h>\n#include <cudaProfiler.h>\n\
                     #include <cuda_gl_interop.h>\n#include <cuda_profiler_api.h>\n#include <library_types.h>\n";
/// Whether two lists have equal numbers at the same places. C++ then has to take all values as cases of one
/// switch.
const DISTINCT: &str = "template <int N> constexpr bool as_distinct(const long long (&a)[N], const long long (&b)[N]) {\n\
                        for (int i = 0; i < N; ++i)\n    for (int j = 0; j < i; ++j)\n\
                        if ((a[i] == a[j]) != (b[i] == b[j])) return false;\n  return true;\n}\n\
                        template <int N> constexpr bool are_same(const long long (&a)[N], const long long (&b)[N]) {\n\
                        for (int i = 0; i < N; ++i)\n    if (a[i] != b[i]) return false;\n  return true;\n}\n";
/// Attributes of devices that are one with another in HIP, which does not tell the sides of arrays apart.
const ONE_IN_HIP: [&str; 26] = [
    "cudaDevAttrGpuOverlap",
    "cudaDevAttrMaxTexture2DLayeredHeight",
    "cudaDevAttrMaxTexture2DGatherHeight",
    "cudaDevAttrMaxTexture3DHeightAlt",
    "cudaDevAttrMaxTexture3DDepthAlt",
    "cudaDevAttrMaxSurface2DHeight",
    "cudaDevAttrMaxSurface3DHeight",
    "cudaDevAttrMaxSurface3DDepth",
    "cudaDevAttrMaxSurface2DLayeredHeight",
    "cudaDevAttrMaxTexture2DLinearHeight",
    "cudaDevAttrMaxTexture2DLinearPitch",
    "cudaDevAttrMaxTexture2DMipmappedHeight",
    "CU_DEVICE_ATTRIBUTE_GPU_OVERLAP",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_HEIGHT",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH",
    "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT",
    "CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1",
];

/// A program that mentions every name that is no error, and compares numbers and sizes of what is CUDA's
/// alone.
pub(super) fn mentions(names: &[Name], states: &States, language: Language) -> String {
    let mut text = FIRST.to_owned();
    if language != Language::C {
        text.push_str(DISTINCT);
    }
    let mut enums: BTreeMap<usize, Vec<&Name>> = BTreeMap::new();
    for (at, name) in names.iter().enumerate() {
        let is_of_cpp = OF_CPP.contains(&name.header.as_str());
        if ERROR_HEADERS.contains(&name.header.as_str()) || (language != Language::Cuda && is_of_cpp) {
            continue;
        }
        if matches!(states.get(&name.name), State::Error(_)) {
            continue;
        }
        if name.kind == Kind::Value {
            enums.entry(name.of).or_default().push(name);
        }
        let is_cudas = *states.get(&name.name) == State::Declared && name.numbers.len() == 1;
        let said = &name.name;
        let _ = match (name.kind, language) {
            (Kind::Function, Language::C) => writeln!(text, "void *f{at}(void) {{ return (void *){said}; }}"),
            (Kind::Function, _) => writeln!(text, "namespace n{at} {{ using ::{said}; }}"),
            (Kind::Value, Language::C) => {
                writeln!(text, "long long v{at}(void) {{ return (long long){said}; }}")
            }
            (Kind::Value, _) => writeln!(text, "constexpr long long v{at} = (long long){said};"),
            (Kind::Macro, Language::C) => writeln!(text, "#if !defined({said})\n#error {said}\n#endif"),
            (Kind::Macro, _) if name.numbers.is_empty() => {
                writeln!(text, "#if !defined({said})\n#error {said}\n#endif")
            }
            (Kind::Macro, _) => match is_cudas {
                true => {
                    writeln!(text, "static_assert((long long)({said}) == {}LL, \"{said}\");", name.numbers[0])
                }
                false => writeln!(text, "const long long m{at} = (long long)({said});"),
            },
            // In C, structures and enums are named by their tags, which HIP has others of.
            (Kind::Enum | Kind::Type, Language::C) => Ok(()),
            (Kind::Enum, _) if said == "-" => Ok(()),
            (Kind::Type, _) if is_cudas && name.numbers[0] > 0 => {
                writeln!(text, "static_assert(sizeof({said}) == {}, \"{said}\");", name.numbers[0])
            }
            (Kind::Enum | Kind::Type, _) => writeln!(text, "typedef {said} *t{at};"),
        };
    }
    if language != Language::C {
        for (at, values) in enums {
            distinct(&mut text, at, &values, states);
        }
    }
    text
}

/// The values of an enum are as distinct as CUDA's, and those of an enum that HIP lacks are CUDA's.
fn distinct(text: &mut String, at: usize, values: &[&Name], states: &States) {
    let values: Vec<&&Name> = values
        .iter()
        .filter(|name| name.numbers.len() == 1 && !ONE_IN_HIP.contains(&name.name.as_str()))
        .collect();
    let list = |number: &dyn Fn(&Name) -> String| {
        values.iter().map(|name| number(name)).collect::<Vec<_>>().join(", ")
    };
    let ours = list(&|name| format!("(long long){}", name.name));
    let cudas = list(&|name| format!("{}LL", name.numbers[0]));
    let _ = writeln!(
        text,
        "constexpr long long a{at}[] = {{{ours}}}, b{at}[] = {{{cudas}}};\n\
         static_assert(as_distinct(a{at}, b{at}), \"the values of {}\");",
        values[0].name
    );
    if values.iter().all(|name| *states.get(&name.name) == State::Declared) {
        let _ = writeln!(text, "static_assert(are_same(a{at}, b{at}), \"{}\");", values[0].name);
    }
}

/// A program that calls each function that is not supported, with zeros.
pub(super) fn refused(states: &States) -> String {
    let mut text = format!(
        "{FIRST}#include <cstdio>\n\
         template <typename R, typename... P> R called(R (*function)(P...)) {{ return function(P()...); }}\n\
         __global__ void kernel() {{}}\nint main() {{\n  int wrong = 0;\n\
         const auto expect = [&](const char *name, cudaError_t status) {{\n\
         if (status != cudaErrorNotSupported) std::printf(\"%s: %d\\n\", name, (int)status), ++wrong;\n  }};\n"
    );
    for (name, row) in &states.rows {
        assert!(ROWS.contains(&row.as_str()));
        let call = match name.starts_with("cudaOccupancy") {
            true => format!("{name}((int *)nullptr, kernel, (const cudaLaunchConfig_t *)nullptr)"),
            false => format!("called({name})"),
        };
        let _ = writeln!(text, "  expect(\"{name}\", {call});");
    }
    text.push_str("  std::puts(wrong ? \"FAILED\" : \"PASSED\");\n}\n");
    text
}
