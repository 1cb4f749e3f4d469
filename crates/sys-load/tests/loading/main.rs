//! Opens libraries that the C compiler makes for the purpose.
#![cfg(unix)]

mod api;
mod finding;
mod workshop;
