//! Translations with the library and with the command.

#[path = "../any_source/mod.rs"]
mod any_source;
mod cases;
#[cfg(feature = "command")]
mod command;
mod hipify_perl;
mod properties;
