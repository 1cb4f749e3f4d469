//! The kinds of numbers in parameter types, by the type names in code objects.

use crate::memory::Number;

/// Names in C++ and HIP, without typedefs. Types that are not listed may be anything.
const NAMES: &[(&str, Number)] = &[
    ("bool", Number::I8),
    ("char", Number::I8),
    ("signed char", Number::I8),
    ("unsigned char", Number::I8),
    ("char8_t", Number::I8),
    ("short", Number::I16),
    ("unsigned short", Number::I16),
    ("char16_t", Number::I16),
    ("int", Number::I32),
    ("unsigned int", Number::I32),
    ("char32_t", Number::I32),
    ("wchar_t", Number::I32),
    ("long", Number::I64),
    ("unsigned long", Number::I64),
    ("long long", Number::I64),
    ("unsigned long long", Number::I64),
    ("__int128", Number::I128),
    ("unsigned __int128", Number::I128),
    ("_Float16", Number::F16),
    ("__fp16", Number::F16),
    ("__half", Number::F16),
    ("__half2", Number::F16),
    ("__bf16", Number::BF16),
    ("__hip_bfloat16", Number::BF16),
    ("__hip_bfloat162", Number::BF16),
    ("hip_bfloat16", Number::BF16),
    ("float", Number::F32),
    ("double", Number::F64),
];

/// The vectors of one to four elements: `float4`.
const VECTORS: &[(&str, Number)] = &[
    ("char", Number::I8),
    ("uchar", Number::I8),
    ("short", Number::I16),
    ("ushort", Number::I16),
    ("int", Number::I32),
    ("uint", Number::I32),
    ("long", Number::I64),
    ("ulong", Number::I64),
    ("longlong", Number::I64),
    ("ulonglong", Number::I64),
    ("float", Number::F32),
    ("double", Number::F64),
];

/// The kind of number in a value of this type, if it is known.
pub(crate) fn of_value(name: &str) -> Option<Number> {
    // Clang's vectors: the element, then the number of elements.
    let name = name.split_once(" __attribute__((ext_vector_type(").map_or(name, |(element, _)| element);
    let find = |table: &[(&str, Number)], name: &str| {
        table.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
    };
    find(NAMES, name).or_else(|| find(VECTORS, name.strip_suffix(['1', '2', '3', '4'])?))
}

/// The kind of number that a pointer or reference of this type refers to, if it is known.
pub(crate) fn behind(name: &str) -> Option<Number> {
    // `float (*)[4]` points to arrays.
    if let Some((element, _)) = name.split_once(" (")
        && !element.contains("__attribute__")
    {
        return of_value(element);
    }
    let pointee = name.trim_end_matches('&');
    let pointee = if pointee.len() < name.len() { pointee } else { name.strip_suffix('*')? };
    // To the host, addresses are 64-bit numbers.
    if pointee.ends_with('*') { Some(Number::I64) } else { of_value(pointee) }
}

/// Whether memory or a value of one kind can be passed where the other is expected. Unknown kinds match.
#[inline]
pub(crate) fn fits(expected: Option<Number>, given: Option<Number>) -> bool {
    match (expected, given) {
        (Some(expected), Some(given)) => expected == given,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_are_understood() {
        for (name, number) in [
            ("float*", Some(Number::F32)),
            ("unsigned char*", Some(Number::I8)),
            ("float4*", Some(Number::F32)),
            ("ulonglong2*", Some(Number::I64)),
            ("__half2*", Some(Number::F16)),
            ("float __attribute__((ext_vector_type(4)))*", Some(Number::F32)),
            ("double&", Some(Number::F64)),
            ("int&&", Some(Number::I32)),
            ("short (*)[4][2]", Some(Number::I16)),
            ("float**", Some(Number::I64)),
            ("void*", None),
            ("ns::Pair*", None),
            ("ns::float4*", None),
            ("float5*", None),
            ("float", None),
            ("", None),
            ("*", None),
        ] {
            assert_eq!(behind(name), number, "{name}");
        }
        assert_eq!(of_value("unsigned int"), Some(Number::I32));
        assert_eq!(of_value("float3"), Some(Number::F32));
        assert_eq!(of_value("Float3"), None);
        assert_eq!(of_value("4"), None);
    }
}
