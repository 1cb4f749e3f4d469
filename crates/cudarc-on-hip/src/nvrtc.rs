//! Compiling kernels at run time.
//!
//! [`compile_ptx`] compiles CUDA C++ for the calling thread's device, or otherwise the first one. It uses
//! AMD's `libhiprtc` or this machine's device compiler. Sources are plain CUDA, and warps have 32 lanes on
//! every device.
//!
//! What CUDA calls PTX is AMD code in text form here, so that programs can store it as a string. Unlike PTX,
//! it is for one target.
//!
//! # Options
//! | NVRTC's option | meaning here |
//! |---|---|
//! | `--gpu-architecture=gfx…` | that target; NVIDIA's architectures have no effect |
//! | `--ftz=…`, `--fmad=…`, `--prec-div=…`, `--prec-sqrt=…`, `--use_fast_math` | the same; AMD's compiler has one setting for both precisions, which is precise if either is |
//! | `--include-path=…`, `-I…`, `--define-macro=…`, `-D…`, `--undefine-macro=…`, `-U…`, `--pre-include=…`, `--std=…` | the same |
//! | `--maxrregcount=…`, `--device-debug`, `--generate-line-info`, `--extra-device-vectorization`, `--restrict`, `--dopt=…`, `--split-compile=…` | no effect: the compiler decides how to optimise |
//! | `--relocatable-device-code=false`, `--device-as-default-execution-space`, `--builtin-…` | no effect: this is always so |
//! | others | passed on to the compiler, which refuses unknown options |

pub mod result;
pub mod safe;
pub mod sys;

pub use safe::*;
