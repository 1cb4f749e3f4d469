//! Opens libraries compiled for the tests.
#![cfg(unix)]

mod api;
mod finding;
mod workshop;
