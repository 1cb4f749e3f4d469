//! Records and extraction on files, as users have them.

#[path = "../any_log/mod.rs"]
mod any_log;
mod damage;
mod formats;
mod property;
mod real;
mod schema;
mod seed;
mod speed;
