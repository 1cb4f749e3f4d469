//! Libraries that a C compiler makes, in the place of AMD's.

mod bridge;
#[cfg(target_os = "linux")]
mod loading;
