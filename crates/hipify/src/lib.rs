//! Translates CUDA sources to HIP, line by line, and reports what does not translate.
//!
//! [`translate`] converts a source to HIP. It needs neither CUDA nor HIP nor a compiler: it knows the names
//! of CUDA's libraries ([`Tables`]) and just enough C++ to tell code from comments and strings, and to read
//! launches and calls. Everything stays on its line, so compiler messages about the translation apply to the
//! source; only HIP's header may need a line of its own, the first one. Translating a translation changes
//! nothing.
//!
//! ```
//! let source = b"#include <cuda_runtime.h>\nvoid f() { cudaDeviceSynchronize(); }\n";
//! let translation = hipify::translate(source, &hipify::Options::default());
//! assert_eq!(translation.text, b"#include <hip/hip_runtime.h>\nvoid f() { hipDeviceSynchronize(); }\n");
//! assert!(translation.findings.is_empty());
//! ```
//!
//! It does not parse C++, follow includes, expand macros, or know types. `docs/use/hipify.md` describes the
//! consequences and the differences from hipify-perl.
#![forbid(unsafe_code)]

mod conditions;
mod cursor;
mod declared;
mod edit;
mod finding;
mod forms;
mod implicit;
mod includes;
mod launch;
mod masks;
pub mod perl;
mod position;
mod stats;
mod symbols;
pub mod tables;
mod translate;

#[cfg(feature = "command")]
pub mod command;
#[cfg(feature = "command")]
mod diff;
#[cfg(feature = "command")]
mod error;
#[cfg(feature = "command")]
pub mod files;
#[cfg(feature = "command")]
pub mod report;
#[cfg(feature = "command")]
pub mod sarif;

#[cfg(feature = "command")]
mod tree;

#[cfg(feature = "command")]
pub use error::Error;
pub use finding::{Finding, Rule, Severity};
pub use stats::{Count, Stats};
pub use tables::Tables;
pub use translate::{Options, Translation, declared_names, translate};
