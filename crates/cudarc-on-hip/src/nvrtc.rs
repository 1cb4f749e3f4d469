//! Compiling kernels when the program runs.
//!
//! [`compile_ptx`] takes CUDA's C++ and gives code for the calling thread's device, or else the first one: AMD's `libhiprtc` compiles, or
//! the device compiler that this machine has. Sources are plain CUDA, and warps have 32 lanes on every device.
//!
//! What CUDA calls PTX is the code as text here, so that programs can keep it as a string. It is for one target, in contrast to PTX.
//!
//! # Options
//! | NVRTC's | means here |
//! |---|---|
//! | `--gpu-architecture=gfx…` | that target; NVIDIA's architectures say nothing |
//! | `--ftz=…`, `--fmad=…`, `--prec-div=…`, `--prec-sqrt=…`, `--use_fast_math` | the same; AMD's compiler knows both precisions as one, and it is precise if either is |
//! | `--include-path=…`, `-I…`, `--define-macro=…`, `-D…`, `--undefine-macro=…`, `-U…`, `--pre-include=…`, `--std=…` | the same |
//! | `--maxrregcount=…`, `--device-debug`, `--generate-line-info`, `--extra-device-vectorization`, `--restrict`, `--dopt=…`, `--split-compile=…` | nothing: how the code is optimised is the compiler's business |
//! | `--relocatable-device-code=false`, `--device-as-default-execution-space`, `--builtin-…` | nothing: it is so |
//! | others | passed on to the compiler, which refuses what it does not know |

pub mod result;
pub mod safe;
pub mod sys;

pub use safe::*;
