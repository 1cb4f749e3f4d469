//! Raw bindings to AMD's HSA runtime: generated types and a function table loaded at run time.
#![warn(missing_docs)]
