//! Nothing but a `Cargo.toml`: dependencies that are listed only for their features.
//!
//! Cargo builds `xtask` alone (`cargo xtask`), and then compiles what `xtask` depends on with the features
//! that `xtask` asks for. A build of the whole workspace, such as `cargo xtask` starts, has the features that
//! any member asks for. Wherever the two differ, a dependency, and all that depends on it, is compiled twice.
//! `xtask` therefore depends on this package, which asks for the features that other members ask for.
