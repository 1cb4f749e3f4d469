//! Functions of `<cstring>` in host code: nvcc includes that header by itself, and HIP's headers do not.

use crate::cursor::Cursor;
use cpp_lexer::Kind;

/// The functions.
const FUNCTIONS: [&[u8]; 18] = [
    b"memchr",
    b"memcmp",
    b"memcpy",
    b"memmove",
    b"memset",
    b"strcat",
    b"strchr",
    b"strcmp",
    b"strcpy",
    b"strdup",
    b"strerror",
    b"strlen",
    b"strncat",
    b"strncmp",
    b"strncpy",
    b"strrchr",
    b"strstr",
    b"strtok",
];

/// Functions of CUDA's mathematics that nvcc has in host code, too, and HIP in device code only.
const OF_DEVICES: [&[u8]; 34] = [
    b"cospi",
    b"cospif",
    b"cyl_bessel_i0",
    b"cyl_bessel_i0f",
    b"cyl_bessel_i1",
    b"cyl_bessel_i1f",
    b"erfcinv",
    b"erfcinvf",
    b"erfcx",
    b"erfcxf",
    b"erfinv",
    b"erfinvf",
    b"fdividef",
    b"norm3d",
    b"norm3df",
    b"norm4d",
    b"norm4df",
    b"normcdf",
    b"normcdff",
    b"normcdfinv",
    b"normcdfinvf",
    b"rcbrt",
    b"rcbrtf",
    b"rhypot",
    b"rhypotf",
    b"rnorm3d",
    b"rnorm3df",
    b"rnorm4d",
    b"rnorm4df",
    b"rsqrt",
    b"rsqrtf",
    b"sincospi",
    b"sinpi",
    b"sinpif",
];

/// Functions that a host's code has from nvcc and not from HIP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Functions {
    /// Those of `<cstring>`.
    Strings,
    /// Those of CUDA's mathematics.
    Mathematics,
}

/// Headers that are known not to include it, with those of the C++ library of GCC 12.
const WITHOUT: &[&str] = &[
    "algorithm",
    "array",
    "assert.h",
    "atomic",
    "cassert",
    "cctype",
    "cfloat",
    "chrono",
    "climits",
    "cmath",
    "complex",
    "complex.h",
    "cooperative_groups.h",
    "cstddef",
    "cstdint",
    "cstdio",
    "cstdlib",
    "ctime",
    "ctype.h",
    "cublasLt.h",
    "cublas_v2.h",
    "cuda.h",
    "cuda_bf16.h",
    "cuda_fp16.h",
    "cuda_profiler_api.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "cufft.h",
    "curand.h",
    "cusparse.h",
    "device_launch_parameters.h",
    "errno.h",
    "exception",
    "fcntl.h",
    "filesystem",
    "float.h",
    "fstream",
    "functional",
    "future",
    "getopt.h",
    "initializer_list",
    "inttypes.h",
    "iomanip",
    "ios",
    "iosfwd",
    "iostream",
    "istream",
    "iterator",
    "limits",
    "limits.h",
    "list",
    "map",
    "math.h",
    "memory",
    "mutex",
    "numeric",
    "optional",
    "ostream",
    "queue",
    "random",
    "ratio",
    "regex",
    "set",
    "signal.h",
    "sstream",
    "stack",
    "stdbool.h",
    "stddef.h",
    "stdexcept",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "streambuf",
    "string",
    "string_view",
    "strings.h",
    "sys/stat.h",
    "sys/time.h",
    "sys/types.h",
    "thread",
    "time.h",
    "tuple",
    "type_traits",
    "typeinfo",
    "unistd.h",
    "unordered_map",
    "unordered_set",
    "utility",
    "valarray",
    "variant",
    "vector",
    "hip/hip_runtime.h",
    "hip/hip_runtime_api.h",
];

/// Whether a header is one of the C++ library or of CUDA, which declare no names that look like CUDA's but
/// are in no table.
pub(crate) fn is_known(header: &str) -> bool {
    const OTHERS: [&str; 3] = ["cstring", "memory.h", "string.h"];
    const FOLDERS: [&str; 3] = ["cub/", "cuda/", "thrust/"];
    WITHOUT.contains(&header)
        || OTHERS.contains(&header)
        || FOLDERS.iter().any(|folder| header.starts_with(folder))
}

/// Whether none of these headers declares the functions, as far as known.
pub(crate) fn lack<'a>(mut headers: impl Iterator<Item = &'a str>) -> bool {
    headers.all(|header| WITHOUT.contains(&header))
}

/// The calls in host code, as numbers of tokens.
pub(crate) fn calls(cursor: &Cursor<'_>, functions: Functions) -> Vec<usize> {
    let names: &[&[u8]] = if functions == Functions::Strings { &FUNCTIONS } else { &OF_DEVICES };
    let mut calls = Vec::new();
    // Whether each open brace is that of device code.
    let mut braces: Vec<bool> = Vec::new();
    let (mut device, mut host, mut directive) = (false, false, false);
    for (index, token) in cursor.tokens.iter().enumerate() {
        match (token.kind, token.text(cursor.source)) {
            (Kind::Hash, _) => directive = true,
            (Kind::End, _) => directive = false,
            (Kind::Punct, b"{") if !directive => {
                braces.push(braces.last() == Some(&true) || device && !host);
                (device, host) = (false, false);
            }
            (Kind::Punct, b"}") if !directive => {
                braces.pop();
                (device, host) = (false, false);
            }
            (Kind::Punct, b";") => (device, host) = (false, false),
            (Kind::Word, b"__global__" | b"__device__") => device = true,
            (Kind::Word, b"__host__") => host = true,
            (Kind::Word, word) if names.binary_search(&word).is_ok() => {
                let called = cursor.after(index).is_some_and(|next| cursor.is(next, b"("));
                let before = cursor.before(index);
                let member = before.is_some_and(|before| match cursor.text(before) {
                    b"." | b"->" => true,
                    b"::" => cursor.before(before).is_some_and(|name| !cursor.is(name, b"std")),
                    _ => false,
                });
                if called && !member && !directive && !braces.is_empty() && braces.last() != Some(&true) {
                    calls.push(index);
                }
            }
            _ => {}
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_sorted() {
        assert!(FUNCTIONS.is_sorted());
        assert!(OF_DEVICES.is_sorted());
    }

    #[test]
    fn calls_in_host_code_are_found() {
        for (source, expected) in [
            ("int main() { memcpy(a, b, 4); std::memset(a, 0, 4); }", 2),
            ("__global__ void k() { if (a) { memcpy(a, b, 4); } }", 0),
            ("__host__ __device__ void f() { memcpy(a, b, 4); }", 1),
            ("void f() { x.memcpy(a); mine::memcpy(a); }\n#define X { memcpy(a, b, 4); }", 0),
        ] {
            let tokens = cpp_lexer::tokens(source.as_bytes());
            let cursor = Cursor { source: source.as_bytes(), tokens: &tokens };
            assert_eq!(calls(&cursor, Functions::Strings).len(), expected, "{source}");
        }
    }
}
