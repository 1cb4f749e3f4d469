//! Fake libraries, made by a C compiler, in the place of AMD's.

mod bridge;
#[cfg(target_os = "linux")]
mod loading;
