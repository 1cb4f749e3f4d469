//! Records and extraction on realistic files.

#[path = "../any_log/mod.rs"]
mod any_log;
mod damage;
mod formats;
mod property;
mod real;
mod schema;
mod seed;
mod speed;
