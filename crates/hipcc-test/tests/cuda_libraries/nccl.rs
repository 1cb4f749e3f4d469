//! NCCL.

use std::collections::BTreeSet;

use crate::declare::{FIRST, enums, functions as declarations};
use crate::parse::{Function, enums as read_enums, functions};

const BINDINGS: &str = "crates/rccl-sys/src/bindings.rs";

/// NCCL's functions, as RCCL has them, and its own ones.
fn all() -> Vec<Function> {
    let mut all = functions("crates/rccl-sys/src/table.rs");
    let nccls = functions("crates/cuda-sys/src/nccl/table.rs");
    let names: BTreeSet<&str> = nccls.iter().map(|function| function.name.as_str()).collect();
    all.retain(|function| names.contains(function.name.as_str()));
    for function in &mut all {
        for (_, kind) in &mut function.arguments {
            *kind = kind.replace("hipStream_t", "cudaStream_t");
        }
    }
    all
}

/// The header. RCCL's versions of types are NCCL's of the same number.
pub(crate) fn header() -> String {
    let except = ["ncclRedOp_dummy_t"];
    let mut text = format!(
        "{FIRST}// NCCL's <nccl.h>, over RCCL.\n#pragma once\n#define NCCL_H_\n#include <cuda_runtime.h>\n#include <cuda_bf16.h>\n\
         #include <cuda_fp16.h>\n#include <cuda_fp8.h>\n#include <stddef.h>\n#include <stdint.h>\n"
    );
    text.push_str(&enums(&read_enums(BINDINGS), &except));
    text.push_str("#include \"ferrocm_nccl_structures.h\"\n");
    text.push_str(&declarations(all().iter()));
    text
}

/// The names of the functions, and of RCCL's, with a mark for those that return text.
pub(crate) fn names() -> String {
    let row = |function: &Function| {
        let mark = if function.result.ends_with("c_char") { " text" } else { "" };
        format!("{0} {0}{mark}\n", function.name)
    };
    all().iter().map(row).collect()
}
