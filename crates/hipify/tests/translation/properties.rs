//! Properties of every translation, on sources composed of relevant pieces and on arbitrary bytes.

use proptest::prelude::*;

use crate::any_source;

/// Pieces of sources, some of which open what others close.
const PIECES: &[&str] = &[
    "cudaMalloc",
    "cudaMemcpyToSymbol",
    "cudaMemcpyFromSymbol",
    "cuOccupancyMaxPotentialBlockSize",
    "cudaFuncSetAttribute",
    "cudaGraphExecMemcpyNodeSetParamsFromSymbol",
    "cublasSgemm",
    "cusparseSpMV",
    "CUoccupancyB2DSize",
    "__nv_fp8_e4m3",
    "umin",
    "k",
    "a",
    "b",
    "0",
    "1",
    "2.5f",
    "dim3",
    "template",
    "operator",
    "return",
    "__global__",
    "__device__",
    "cub",
    "thrust",
    "cuda",
    "system",
    "using namespace",
    "HIP_SYMBOL",
    "hipMalloc",
    "cudaNoSuchThing",
    "::",
    ".",
    "->",
    ",",
    ";",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    ">>",
    "<<<",
    "##",
    "cudaGraphInstantiate",
    ">>>",
    ">>>>",
    "<<<1, 2>>>(",
    "k<<<1, 2, 3>>>(a)",
    "a<b, c><<<d, e>>>()",
    "&",
    "&&",
    "*",
    "/",
    "#",
    "\\",
    "\n",
    "\n\n",
    "\r\n",
    "\r\n\r\n",
    "\\\n",
    " ",
    "  ",
    "\t",
    "\"",
    "'",
    "R\"(",
    ")\"",
    "R\"x(",
    ")x\"",
    "//",
    "/*",
    "*/",
    "\"cuda_fp16.h\"",
    "\n#include <cuda.h>\n",
    "\n#include <cuda_runtime.h>",
    "\n#include \"cublas.h\"\n",
    "\n#include <device_launch_parameters.h>\n",
    "#include <cub/block/block_reduce.cuh>\n",
    "\n#ifdef A\n",
    "\n#ifndef G\n#define G\n",
    "\n#endif\n",
    "\n#define X ",
    "__has_include(<cuda_fp16.h>)",
    "asm volatile(\"mov.u32\")",
    "\u{e4}",
    "\u{1f600}",
    "\0",
];

/// A source that prints as text.
struct Source(Vec<u8>);

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

fn source() -> impl Strategy<Value = Source> {
    let piece = (0..PIECES.len()).prop_map(|number| PIECES[number].as_bytes().to_vec());
    let any = prop_oneof![30 => piece, 1 => proptest::collection::vec(any::<u8>(), 0..4)];
    proptest::collection::vec(any, 0..40).prop_map(|pieces| Source(pieces.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_stay_and_a_second_translation_changes_nothing(source in source()) {
        any_source::run(&source.0);
    }

    #[test]
    fn any_bytes_translate(source in proptest::collection::vec(any::<u8>(), 0..400)) {
        any_source::run(&source);
    }
}

#[test]
fn what_is_first_in_a_source_is_translated_at_once() {
    for source in [
        "template k<<<1, 2>>>(a)",
        "k<<<1, 2>>>(a)",
        "(k)<<<1, 2>>>(a)",
        "::k<<<1, 2>>>(a)",
        ".k<<<1, 2>>>(a)",
        "<<<1, 2>>>(a)",
    ] {
        any_source::run(source.as_bytes());
    }
}

#[test]
fn many_brackets_take_no_long_time() {
    for piece in ["<", "(", "k<<<", "a<", "cudaMemcpyToSymbol(", "R\"(", "/*", "\"", "k<<<a<", "f<(", ">>>"] {
        any_source::run(piece.repeat(3000).as_bytes());
    }
}
