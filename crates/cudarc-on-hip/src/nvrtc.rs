//! Compiling kernels at run time.
//!
//! [`compile_ptx`] compiles CUDA C++ for the calling thread's device, or otherwise the first one. For AMD's
//! GPUs it uses AMD's `libhiprtc` or this machine's device compiler, for NVIDIA's GPUs NVRTC. Without a
//! device, the architecture that the options name chooses the compiler. Sources are plain CUDA, and warps
//! have 32 lanes on every device.
//!
//! What CUDA calls PTX is machine code in text form here, so that programs can store it as a string. Unlike
//! PTX, it is for one target.
//!
//! # NVIDIA's GPUs
//! NVRTC gets sources and options as they are, except for the architecture:
//!
//! | architecture | code |
//! |---|---|
//! | none | machine code for the device |
//! | `sm_90a`, and the device runs it | machine code for that |
//! | `sm_80`, and the device does not run it | PTX, as for `compute_80` |
//! | `compute_90` | PTX, which the driver compiles when it loads it; `nvrtcGetCUBINSize` gives 0 |
//!
//! # Options for AMD's GPUs
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
